/* A job that writes an index with copies of its new blocks, so that a thread of its own can do it. */

#include "symbolizer/index/index_save.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* An index takes a half of the folder at most; one that would be larger begins anew. */
static bool is_too_large(const struct index_folder *folder, const struct index_blocks *blocks,
                         const struct index_file *old)
{
	uint64_t sum = blocks->bytes;
	size_t i;

	for (i = 0; old && i < old->n_entries; i++)
		sum += old->entries[i].len + sizeof(*old->entries);
	return sum > index_folder_max_bytes(folder) / 2 ||
	       blocks->n + (old ? old->n_entries : 0) > INDEX_MAX_BLOCKS;
}

static int write_file(struct index_folder *folder, const struct index_key *key,
                      const struct index_blocks *blocks, const struct index_file *old, uint64_t *refused)
{
	char name[INDEX_NAME_SIZE];
	int fd = index_folder_begin(folder), err;

	if (fd < 0)
		return fd;
	index_key_name(key, name);
	err = index_file_write(fd, key, old, blocks->block, blocks->n, refused);
	return index_folder_end(folder, fd, name, err);
}

int index_save(struct index_folder *folder, const struct index_key *key, const struct index_blocks *blocks,
               struct index_save_result *result)
{
	struct index_file *old = NULL;
	int err = index_file_open(folder, key, &old);

	if (err && err != -ENOENT && err != -EBADMSG)
		return err; /* it may be sound, so it stays */
	if (old && is_too_large(folder, blocks, old)) {
		index_file_close(old);
		old = NULL;
		result->evicted++;
	}
	err = is_too_large(folder, blocks, old) ? -EDQUOT
	                                        : write_file(folder, key, blocks, old, &result->refused);
	index_file_close(old);
	return err;
}

/* --- beside ------------------------------------------------------------------------------------------------ */

struct index_save_job {
	struct sym_job job; /* first: what it is known by there */
	atomic_uint owners;
	atomic_bool done;
	char *folder;
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
	free(job->folder);
	free(job);
}

static int save_in(struct index_folder *folder, struct index_save_job *job)
{
	int err = index_folder_lock(folder, true);

	if (err)
		return err;
	err = index_save(folder, &job->key, &job->blocks, &job->result);
	if (!err)
		job->result.evicted += index_folder_trim(folder);
	index_folder_unlock(folder);
	if (!err && index_file_open(folder, &job->key, &job->result.file))
		job->result.file = NULL;
	return err;
}

static void work(struct sym_job *given)
{
	struct index_save_job *job = (struct index_save_job *)given;
	int64_t began = now_ns();
	struct index_folder *folder;
	int err = index_folder_open(job->folder, job->max_bytes, &folder);

	if (!err) {
		err = save_in(folder, job);
		index_folder_close(folder);
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

struct index_save_job *index_save_begin(const struct sym_beside *beside, const struct index_folder *folder,
                                        const struct index_key *key, const struct index_blocks *blocks)
{
	struct index_save_job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	atomic_init(&job->owners, 1);
	job->job = (struct sym_job){ .work = work, .drop = drop, .bytes = blocks->bytes + sizeof(*job) };
	job->folder = strdup(index_folder_path(folder));
	job->max_bytes = index_folder_max_bytes(folder);
	job->key = *key;
	if (!job->folder || copy_blocks(&job->blocks, blocks)) {
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
