/*
 * train: a training loop small enough for a demonstration, with the stalls of a large one.
 *
 *   train [--seconds S] [--dir DIR]
 *
 * The main thread computes steps (tag "step/N"), a loader thread keeps a few shards ahead of it
 * ("shard_read/epochE/shardS": direct reads that scatter), and every CHECKPOINT_EVERY steps the model is
 * written and synced by the main thread, in the way of the next step ("checkpoint_write/run1/stepN/shardM").
 * A step that finds no shard waits for the loader under its own tag.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stalltag/stalltag.h"
#include "tests/e2e/workload/clocks.h"
#include "tests/e2e/workload/coldfile.h"

#define DATA_BYTES        (128u << 20)
#define SHARD_BYTES       (1u << 20)
#define READ_BYTES        (32u << 10)
#define SHARDS_AHEAD      2
#define MODEL_SHARDS      4
#define MODEL_SHARD_BYTES (8u << 20)
#define CHECKPOINT_EVERY  40
#define COMPUTE_NS        20000000u

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned int ready, done;
};

static struct queue shards = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0 };
static const char *directory = "/var/tmp";
static volatile uint64_t gradient = 88172645463325252ull;

/* Waits until fewer than `most` shards lie ready; false once the training is over. */
static int queue_room(struct queue *queue, unsigned int most)
{
	int over;

	pthread_mutex_lock(&queue->lock);
	while (queue->ready >= most && !queue->done)
		pthread_cond_wait(&queue->changed, &queue->lock);
	over = queue->done;
	pthread_mutex_unlock(&queue->lock);
	return !over;
}

static void queue_put(struct queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	queue->ready++;
	pthread_cond_broadcast(&queue->changed);
	pthread_mutex_unlock(&queue->lock);
}

/* Takes a shard; false if the loader gave up. */
static int queue_take(struct queue *queue)
{
	int taken;

	pthread_mutex_lock(&queue->lock);
	while (!queue->ready && !queue->done)
		pthread_cond_wait(&queue->changed, &queue->lock);
	taken = queue->ready > 0;
	queue->ready -= (unsigned int)taken;
	pthread_cond_broadcast(&queue->changed);
	pthread_mutex_unlock(&queue->lock);
	return taken;
}

static void queue_end(struct queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	queue->done = 1;
	pthread_cond_broadcast(&queue->changed);
	pthread_mutex_unlock(&queue->lock);
}

static int read_shard(int fd, char *buffer, uint64_t *random)
{
	for (size_t have = 0; have < SHARD_BYTES; have += READ_BYTES) {
		uint64_t block = coldfile_random(random) % (DATA_BYTES / READ_BYTES);

		if (pread(fd, buffer, READ_BYTES, (off_t)(block * READ_BYTES)) != READ_BYTES)
			return -EIO;
	}
	return 0;
}

static void *load_shards(void *arg)
{
	char *buffer = coldfile_buffer(READ_BYTES), tag[64];
	uint64_t random = 0x9e3779b97f4a7c15ull;
	int fd = *(int *)arg, err = buffer ? 0 : -ENOMEM;

	for (unsigned int shard = 0; !err && queue_room(&shards, SHARDS_AHEAD); shard++) {
		snprintf(tag, sizeof(tag), "shard_read/epoch%u/shard%u", shard / (DATA_BYTES / SHARD_BYTES),
		         shard % (DATA_BYTES / SHARD_BYTES));
		stalltag_push(shard + 1, tag);
		err = read_shard(fd, buffer, &random);
		stalltag_pop();
		queue_put(&shards);
	}
	if (err)
		fprintf(stderr, "train: reading a shard: %s\n", strerror(-err));
	queue_end(&shards);
	free(buffer);
	return (void *)(intptr_t)err;
}

static void compute_step(void)
{
	uint64_t until = thread_cpu_ns() + COMPUTE_NS, sum = gradient;

	while (thread_cpu_ns() < until)
		for (int i = 0; i < 20000; i++)
			coldfile_random(&sum);
	gradient = sum;
}

static int write_model_shard(const char *model, unsigned int step, unsigned int shard)
{
	char path[4096];
	int fd, err = 0;

	snprintf(path, sizeof(path), "%s/train-%d-step%u-shard%u", directory, (int)getpid(), step, shard);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (write(fd, model, MODEL_SHARD_BYTES) != MODEL_SHARD_BYTES || fsync(fd))
		err = -EIO;
	close(fd);
	unlink(path);
	return err;
}

static int write_checkpoint(const char *model, unsigned int step)
{
	char tag[96];
	int err = 0;

	for (unsigned int shard = 0; !err && shard < MODEL_SHARDS; shard++) {
		snprintf(tag, sizeof(tag), "checkpoint_write/run1/step%u/shard%u", step, shard);
		stalltag_push(step * MODEL_SHARDS + shard, tag);
		err = write_model_shard(model, step, shard);
		stalltag_pop();
	}
	return err;
}

static int train(uint64_t until_ns, const char *model, unsigned int *steps)
{
	char tag[32];
	int err = 0;

	while (!err && monotonic_ns() < until_ns) {
		snprintf(tag, sizeof(tag), "step/%u", *steps);
		stalltag_push(*steps + 1, tag);
		err = queue_take(&shards) ? 0 : -EPIPE;
		compute_step();
		stalltag_pop();
		if (!err && ++*steps % CHECKPOINT_EVERY == 0)
			err = write_checkpoint(model, *steps);
	}
	return err;
}

static int run(double seconds)
{
	uint64_t began;
	unsigned int steps = 0;
	char *model = coldfile_buffer(MODEL_SHARD_BYTES);
	int fd = coldfile_make(directory, "train-data", DATA_BYTES, O_DIRECT), err;
	pthread_t loader;
	void *loader_err = NULL;

	if (!model || fd < 0) {
		fprintf(stderr, "train: %s: %s\n", directory, strerror(fd < 0 ? -fd : ENOMEM));
		return 1;
	}
	began = monotonic_ns();
	err = -pthread_create(&loader, NULL, load_shards, &fd);
	if (!err) {
		err = train(began + (uint64_t)(seconds * 1e9), model, &steps);
		queue_end(&shards);
		pthread_join(loader, &loader_err);
	}
	if (err)
		fprintf(stderr, "train: %s\n", strerror(-err));
	printf("train: %u steps and %u checkpoints in %.1f s\n", steps, steps / CHECKPOINT_EVERY,
	       (double)(monotonic_ns() - began) / 1e9);
	free(model);
	close(fd);
	return err || loader_err ? 1 : 0;
}

int main(int argc, char **argv)
{
	double seconds = 10;

	for (int i = 1; i < argc; i += 2) {
		if (i + 1 < argc && !strcmp(argv[i], "--seconds"))
			seconds = strtod(argv[i + 1], NULL);
		else if (i + 1 < argc && !strcmp(argv[i], "--dir"))
			directory = argv[i + 1];
		else {
			fprintf(stderr, "usage: train [--seconds S] [--dir DIR]\n");
			return 2;
		}
	}
	return run(seconds);
}
