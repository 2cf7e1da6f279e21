#include "profiler/probed_files.h"

#include <stdlib.h>
#include <uthash.h>

#include "profiler/tag_file.h"
#include "profiler/tracer.h"

struct file_key {
	uint64_t dev, inode;
};

struct probed_file {
	struct file_key key;
	bool attached;
	UT_hash_handle hh;
};

struct probed_files {
	struct tracer *tracer;
	probed_files_say_fn say;
	struct probed_file *by_key;
	uint64_t refused;
};

struct probed_files *probed_files_new(struct tracer *tracer, probed_files_say_fn say)
{
	struct probed_files *files = calloc(1, sizeof(*files));

	if (files) {
		files->tracer = tracer;
		files->say = say;
	}
	return files;
}

void probed_files_free(struct probed_files *files)
{
	struct probed_file *file, *next;

	if (!files)
		return;
	HASH_ITER (hh, files->by_key, file, next) {
		HASH_DEL(files->by_key, file);
		free(file);
	}
	free(files);
}

bool probed_files_attach(struct probed_files *files, dev_t dev, ino_t inode, const char *path,
                         uint32_t probes)
{
	struct file_key key = { .dev = dev, .inode = inode };
	struct probed_file *file;
	char err[512];

	HASH_FIND(hh, files->by_key, &key, sizeof(key), file);
	if (file)
		return file->attached;
	file = calloc(1, sizeof(*file));
	if (!file)
		return false;
	file->key = key;
	file->attached = !tracer_watch_file(files->tracer, path, probes & TAG_FILE_PROBE_CHANGE,
	                                    probes & TAG_FILE_PROBE_PROCESS, err, sizeof(err));
	if (!file->attached) {
		files->refused++;
		files->say(err);
	}
	HASH_ADD(hh, files->by_key, key, sizeof(file->key), file);
	return file->attached;
}

uint64_t probed_files_refused(const struct probed_files *files)
{
	return files->refused;
}
