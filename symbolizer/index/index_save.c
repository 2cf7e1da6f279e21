/* A job that writes an index with copies of its new blocks, so that a thread of its own can do it. */

#include "symbolizer/index/index_save.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* An index takes a half of the folder at most; one that would be larger begins anew. */
static bool is_too_large(const struct index_dir *dir, const struct index_blocks *blocks,
                         const struct index_file *old)
{
	uint64_t sum = blocks->bytes;
	size_t i;

	for (i = 0; old && i < old->n_entries; i++)
		sum += old->entries[i].len + sizeof(*old->entries);
	return sum > index_dir_max_bytes(dir) / 2 ||
	       blocks->n + (old ? old->n_entries : 0) > INDEX_MAX_BLOCKS;
}

static int write_file(struct index_dir *dir, const struct index_key *key, const struct index_blocks *blocks,
                      const struct index_file *old, uint64_t *refused)
{
	char name[INDEX_NAME_SIZE];
	int fd = index_dir_begin(dir), err;

	if (fd < 0)
		return fd;
	index_key_name(key, name);
	err = index_file_write(fd, key, old, blocks->block, blocks->n, refused);
	return index_dir_end(dir, fd, name, err);
}

int index_save(struct index_dir *dir, const struct index_key *key, const struct index_blocks *blocks,
               struct index_save_result *result)
{
	struct index_file *old = NULL;
	int err = index_file_open(dir, key, &old);

	if (err && err != -ENOENT && err != -EBADMSG)
		return err; /* it may be sound, so it stays */
	if (old && is_too_large(dir, blocks, old)) {
		index_file_close(old);
		old = NULL;
		result->evicted++;
	}
	err = is_too_large(dir, blocks, old) ? -EDQUOT : write_file(dir, key, blocks, old, &result->refused);
	index_file_close(old);
	return err;
}

/* --- beside ------------------------------------------------------------------------------------------------ */

struct index_save_job {
	struct sym_job job; /* first: what it is known by there */
	atomic_uint owners;
	atomic_bool done;
	char *dir;
	uint64_t max_bytes;
	struct index_key key;
	struct index_blocks blocks;
	struct index_save_result result;
};

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

void index_save_release(struct index_save_job *job)
{
	size_t i;

	if (!job || atomic_fetch_sub(&job->owners, 1) != 1)
		return;
	for (i = 0; i < job->blocks.n; i++)
		free(job->blocks.block[i]);
	free(job->blocks.block);
	index_file_close(job->result.file);
	free(job->dir);
	free(job);
}

static int save_in(struct index_dir *dir, struct index_save_job *job)
{
	int err = index_dir_lock(dir, true);

	if (err)
		return err;
	err = index_save(dir, &job->key, &job->blocks, &job->result);
	if (!err)
		job->result.evicted += index_dir_trim(dir);
	index_dir_unlock(dir);
	if (!err && index_file_open(dir, &job->key, &job->result.file))
		job->result.file = NULL;
	return err;
}

static void work(struct sym_job *given)
{
	struct index_save_job *job = (struct index_save_job *)given;
	int64_t began = now_ns();
	struct index_dir *dir;
	int err = index_dir_open(job->dir, job->max_bytes, &dir);

	if (!err) {
		err = save_in(dir, job);
		index_dir_close(dir);
	}
	job->result.err = err;
	job->result.took_ns = now_ns() - began;
	atomic_store(&job->done, true);
	index_save_release(job);
}

static void drop(struct sym_job *given)
{
	struct index_save_job *job = (struct index_save_job *)given;

	job->result.err = -ECANCELED;
	atomic_store(&job->done, true);
	index_save_release(job);
}

static int copy_blocks(struct index_blocks *to, const struct index_blocks *from)
{
	to->block = calloc(from->n + 1, sizeof(struct index_block *));
	if (!to->block)
		return -ENOMEM;
	for (; to->n < from->n; to->n++) {
		size_t len = index_block_size(from->block[to->n]);

		to->block[to->n] = malloc(len);
		if (!to->block[to->n])
			return -ENOMEM;
		memcpy(to->block[to->n], from->block[to->n], len);
	}
	to->bytes = from->bytes;
	return 0;
}

struct index_save_job *index_save_begin(const struct sym_beside *beside, const struct index_dir *dir,
                                        const struct index_key *key, const struct index_blocks *blocks)
{
	struct index_save_job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	atomic_init(&job->owners, 1);
	job->job = (struct sym_job){ .work = work, .drop = drop, .bytes = blocks->bytes + sizeof(*job) };
	job->dir = strdup(index_dir_path(dir));
	job->max_bytes = index_dir_max_bytes(dir);
	job->key = *key;
	if (!job->dir || copy_blocks(&job->blocks, blocks)) {
		index_save_release(job);
		return NULL;
	}
	atomic_store(&job->owners, 2);
	beside->take(beside->context, &job->job);
	return job;
}

struct index_save_result *index_save_done(struct index_save_job *job)
{
	return atomic_load(&job->done) ? &job->result : NULL;
}

const struct index_blocks *index_save_blocks(const struct index_save_job *job)
{
	return &job->blocks;
}
