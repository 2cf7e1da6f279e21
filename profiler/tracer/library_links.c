/* Attaches to the functions of libraries while something is tagged. */

#include "profiler/tracer/library_links.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/tracer/library_calls.h"
#include "profiler/tracer/library_symbols.h"
#include "profiler/tracer/link_closer.h"
#include "profiler/tracer/probe_table.h"
#include "profiler/tracer/uprobe_links.h"
#include "symbolizer/base/file_gate.h"
#include "symbolizer/base/regular_file.h"

#define THREADS_MAX 16 /* that wait for the kernel */

/* A library that a file is. */
struct library {
	size_t number; /* in library_calls */
	struct usdt_site *sites;
	size_t n;
	struct library *next;
};

struct library_file {
	int fd; /* what was read is what is attached to, whatever the path leads to by then */
	struct library *libraries;
	struct open_link *open;
};

struct library_links {
	const struct bpf_program *on_call[LIBRARY_CALLS_MAX];
	struct link_closer *closer;
	struct library_file *files[LIBRARY_LINKS_FILES_MAX];
	bool hot;
	struct {
		bool seen, was_attached;
		int error;
	} state[LIBRARY_CALLS_MAX];
};

static const struct bpf_program *program_of_hook(const struct bpf_object *object, const char *hook)
{
	for (size_t i = 0; i < probe_table_len; i++)
		if (probe_table[i].kind == PROBE_LIBRARY && !strcmp(probe_table[i].hook, hook))
			return bpf_object__find_program_by_name(object, probe_table[i].program);
	return NULL;
}

struct library_links *library_links_new(const struct bpf_object *object, bool multi)
{
	struct library_links *links = calloc(1, sizeof(*links));

	if (!links)
		return NULL;
	for (size_t i = 0; object && i < library_calls_len; i++)
		links->on_call[i] = program_of_hook(object, library_calls[i].hook);
	links->closer = link_closer_new(multi ? THREADS_MAX : 1);
	if (links->closer)
		return links;
	free(links);
	return NULL;
}

static bool is_loaded(const struct bpf_program *program)
{
	return program && bpf_program__fd(program) >= 0;
}

/* Else its cause is switched off, or the kernel has refused its program: the probe table says so. */
static bool can_attach(const struct library_links *links, size_t library)
{
	return is_loaded(links->on_call[library]);
}

static int attach_library(struct library_links *links, struct library_file *file,
                          const struct library *library)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", file->fd);
	return uprobe_links_add(links->on_call[library->number], path, library->sites, library->n,
	                        &file->open);
}

static void detach(struct library_links *links, struct library_file *file)
{
	struct open_link *open = file->open;

	file->open = NULL;
	if (open)
		link_closer_close(links->closer, open);
}

static int attach(struct library_links *links, struct library_file *file)
{
	int err = 0;

	for (const struct library *library = file->libraries; library && !err; library = library->next)
		err = attach_library(links, file, library);
	for (const struct library *library = file->libraries; library; library = library->next) {
		links->state[library->number].error = err;
		links->state[library->number].was_attached |= !err;
	}
	if (err)
		detach(links, file);
	return err;
}

void library_links_set_hot(struct library_links *links, bool hot)
{
	if (links->hot == hot)
		return;
	links->hot = hot;
	for (size_t i = 0; i < LIBRARY_LINKS_FILES_MAX; i++) {
		if (links->files[i] && hot)
			attach(links, links->files[i]);
		else if (links->files[i])
			detach(links, links->files[i]);
	}
}

static void free_file(struct library_links *links, struct library_file *file)
{
	detach(links, file);
	while (file->libraries) {
		struct library *library = file->libraries;

		file->libraries = library->next;
		free(library->sites);
		free(library);
	}
	if (file->fd >= 0)
		file_gate_close(file->fd);
	free(file);
}

/* Of a library whose functions the file lacks nothing is kept. */
static int find_library(struct library_links *links, struct library_file *file, size_t number)
{
	struct library *library = calloc(1, sizeof(*library));
	int err = library ? library_symbols_sites(file->fd, &library_calls[number], &library->sites,
	                                          &library->n)
	                  : -ENOMEM;

	if (err || !library->n) {
		if (!err)
			free(library->sites);
		free(library);
		return err;
	}
	links->state[number].seen = true;
	library->number = number;
	library->next = file->libraries;
	file->libraries = library;
	return 0;
}

static int open_file(struct library_links *links, const char *path, uint32_t libraries,
                     struct library_file **out)
{
	struct library_file *file = calloc(1, sizeof(*file));
	int err;

	if (!file)
		return -ENOMEM;
	file->fd = regular_file_open(path, 0);
	err = file->fd < 0 ? file->fd : 0;
	for (size_t i = 0; i < library_calls_len && !err; i++)
		if (libraries >> i & 1 && can_attach(links, i))
			err = find_library(links, file, i);
	if (!err && links->hot)
		err = attach(links, file);
	if (err)
		free_file(links, file);
	else
		*out = file;
	return err;
}

int library_links_add(struct library_links *links, const char *path, uint32_t libraries)
{
	int at, err;

	for (at = 0; at < LIBRARY_LINKS_FILES_MAX && links->files[at]; at++)
		;
	if (at == LIBRARY_LINKS_FILES_MAX)
		return -ENOSPC;
	err = open_file(links, path, libraries, &links->files[at]);
	return err ? err : at;
}

void library_links_remove(struct library_links *links, int file)
{
	free_file(links, links->files[file]);
	links->files[file] = NULL;
}

void library_links_free(struct library_links *links)
{
	if (!links)
		return;
	for (int i = 0; i < LIBRARY_LINKS_FILES_MAX; i++)
		if (links->files[i])
			library_links_remove(links, i);
	link_closer_free(links->closer);
	free(links);
}

int library_links_error(const struct library_links *links, const char *cause, const char *hook)
{
	int error = -ENOENT;

	for (size_t i = 0; i < library_calls_len; i++) {
		if (strcmp(library_calls[i].cause, cause) || strcmp(library_calls[i].hook, hook))
			continue;
		if (links->state[i].error)
			return links->state[i].error;
		if (links->state[i].was_attached)
			error = 0;
		else if (links->state[i].seen && error)
			error = -EAGAIN;
	}
	return error;
}
