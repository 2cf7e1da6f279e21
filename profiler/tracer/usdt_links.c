/* Attaches BPF programs to the USDT probes of a file, by uprobe_multi or perf events. */

#include "profiler/tracer/usdt_links.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/tracer/elf_headers.h"
#include "profiler/tracer/link_closer.h"
#include "profiler/tracer/uprobe_links.h"
#include "profiler/tracer/usdt_notes.h"
#include "symbolizer/base/regular_file.h"

#define LISTENERS_MAX 8
#define SITES_MAX     8  /* of one probe in one file */
#define THREADS_MAX   64 /* that wait for the kernel */

struct usdt_links {
	struct link_closer *closer;
	struct open_link *files[USDT_LINKS_FILES_MAX]; /* none: the place is free */
};

/* --- where to listen ------------------------------------------------------------------------------ */

struct search {
	const struct elf_headers *headers;
	const struct usdt_listener *listeners;
	size_t n, n_sites[LISTENERS_MAX];
	struct usdt_site sites[LISTENERS_MAX][SITES_MAX];
	int err;
};

static void on_note(void *ctx, const struct usdt_note *note)
{
	struct search *search = ctx;

	for (size_t i = 0; i < search->n && !search->err; i++) {
		const struct usdt_listener *listener = &search->listeners[i];

		if (strcmp(note->provider, listener->provider) || strcmp(note->name, listener->probe))
			continue;
		if (search->n_sites[i] == SITES_MAX)
			search->err = -E2BIG;
		else
			search->err = usdt_note_site(search->headers, note,
			                             &search->sites[i][search->n_sites[i]++]);
	}
}

static int find_sites(int file, struct search *search)
{
	struct elf_headers headers;
	int err = elf_headers_read(file, &headers);

	if (err)
		return err;
	search->headers = &headers;
	err = usdt_notes_each(&headers, on_note, search);
	elf_headers_free(&headers);
	for (size_t i = 0; i < search->n && !err && !search->err; i++)
		if (!search->n_sites[i])
			err = -ENOENT;
	return err ? err : search->err;
}

/* --- links ---------------------------------------------------------------------------------------- */

static int add_links(const struct search *search, const char *path, struct open_link **list)
{
	int err = 0;

	for (size_t i = 0; i < search->n && !err; i++)
		err = uprobe_links_add(search->listeners[i].program, path, search->sites[i],
		                       search->n_sites[i], list);
	return err;
}

/* The kernel uses the file that was read, whatever the path leads to by then. */
static int attach(struct usdt_links *links, const char *path, struct search *search, struct open_link **list)
{
	int file = regular_file_open(path, 0), err;
	char same[32];

	if (file < 0)
		return file;
	snprintf(same, sizeof(same), "/proc/self/fd/%d", file);
	err = find_sites(file, search);
	if (!err)
		err = add_links(search, same, list);
	close(file);
	if (err && *list)
		link_closer_close(links->closer, *list);
	return err;
}

int usdt_links_attach(struct usdt_links *links, const char *path, const struct usdt_listener *listeners,
                      size_t n)
{
	struct search search = { .listeners = listeners, .n = n };
	struct open_link *list = NULL;
	int at, err;

	for (at = 0; at < USDT_LINKS_FILES_MAX && links->files[at]; at++)
		;
	if (at == USDT_LINKS_FILES_MAX)
		return -ENOSPC;
	if (!n || n > LISTENERS_MAX)
		return -EINVAL;
	err = attach(links, path, &search, &list);
	if (err)
		return err;
	links->files[at] = list;
	return at;
}

void usdt_links_detach(struct usdt_links *links, int file)
{
	struct open_link *list = links->files[file];

	links->files[file] = NULL;
	link_closer_close(links->closer, list);
}

struct usdt_links *usdt_links_new(bool multi)
{
	struct usdt_links *links = calloc(1, sizeof(*links));

	if (!links)
		return NULL;
	/* By perf events it is one after the other anyway, and attaching would have to wait for all of them. */
	links->closer = link_closer_new(multi ? THREADS_MAX : 1);
	if (links->closer)
		return links;
	free(links);
	return NULL;
}

void usdt_links_free(struct usdt_links *links)
{
	if (!links)
		return;
	for (int i = 0; i < USDT_LINKS_FILES_MAX; i++)
		usdt_links_detach(links, i);
	link_closer_free(links->closer);
	free(links);
}
