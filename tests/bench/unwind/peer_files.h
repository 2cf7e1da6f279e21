/* Maps a recording's files into memory, for the other unwinding libraries that read files through callbacks of ours. */
#ifndef STALLPROF_BENCH_PEER_FILES_H
#define STALLPROF_BENCH_PEER_FILES_H

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/bench/unwind/recording.h"

struct peer_file {
	uint64_t start, end; /* of all the file's mappings at run time */
	uint64_t bias;       /* run-time address - ELF address */
	const char *image;   /* NULL: not read yet, or not to be read */
	size_t len;
	const char *path; /* until it is read */
};

static inline const char *peer_map(const char *path, size_t *len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *image = MAP_FAILED;

	if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size) {
		*len = (size_t)st.st_size;
		image = mmap(NULL, *len, PROT_READ, MAP_PRIVATE, fd, 0);
	}
	if (fd >= 0)
		close(fd);
	return image == MAP_FAILED ? NULL : image;
}

/* A file's mappings follow each other in maps, the one of offset 0 first, which gives the bias. */
static inline size_t peer_files(const struct recording *r, struct peer_file *files, size_t max)
{
	size_t i, n = 0;

	for (i = 0; i < r->n_maps; i++) {
		const struct recording_map *m = &r->maps[i];

		if (n && i && m->path[0] == '/' && strcmp(m->path, r->maps[i - 1].path) == 0 && m->offset) {
			files[n - 1].end = m->end;
			continue;
		}
		if (m->path[0] != '/' || m->offset || n == max)
			continue;
		files[n++] = (struct peer_file){ .start = m->start, .end = m->end, .path = m->path };
	}
	return n;
}

/* Maps the file when it is needed for the first time, as ours are: that is a part of the first walk. */
static inline bool peer_file_read(struct peer_file *f)
{
	const char *path = f->path;

	if (!path)
		return f->image;
	f->path = NULL;
	f->image = peer_map(path, &f->len);
	if (!f->image || f->len <= 64 || f->image[0] != 0x7f)
		return false;
	/* ET_EXEC is linked at its address; anything else is at 0. */
	f->bias = f->image[16] == 2 ? 0 : f->start;
	return true;
}

#endif
