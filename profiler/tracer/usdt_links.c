/* Attaches BPF programs to the USDT probes of a file, by uprobe_multi or perf events. */

#include "profiler/tracer/usdt_links.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "profiler/tracer/elf_headers.h"
#include "profiler/tracer/link_closer.h"
#include "profiler/tracer/usdt_notes.h"
#include "symbolizer/base/regular_file.h"

#define LISTENERS_MAX 8
#define SITES_MAX     8  /* of one probe in one file */
#define THREADS_MAX   64 /* that wait for the kernel */

/* What linux/bpf.h of Linux 6.6 has; ours may be older. */
#define UPROBE_MULTI ((enum bpf_attach_type)48)
struct uprobe_multi_attr {
	uint32_t program, target, type, flags;
	uint64_t path, offsets, semaphores, cookies;
	uint32_t n, multi_flags, pid;
};

struct usdt_links {
	struct link_closer *closer;
	struct open_link *files[USDT_LINKS_FILES_MAX]; /* none: the place is free */
};

/* --- what the kernel has -------------------------------------------------------------------------- */

static int create_multi(int program, const char *path, const struct usdt_site *sites, size_t n)
{
	uint64_t offsets[SITES_MAX], semaphores[SITES_MAX];
	struct uprobe_multi_attr attr = { .program = (uint32_t)program,
		                          .type = UPROBE_MULTI,
		                          .path = (uintptr_t)path,
		                          .offsets = (uintptr_t)offsets,
		                          .semaphores = (uintptr_t)semaphores,
		                          .n = (uint32_t)n };
	int fd;

	for (size_t i = 0; i < n; i++) {
		offsets[i] = sites[i].offset;
		semaphores[i] = sites[i].semaphore;
	}
	fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	return fd < 0 ? -errno : fd;
}

/* A kernel that has these links refuses a folder with a certain error; others do not know the type of link. */
bool usdt_links_have_multi(void)
{
	const struct bpf_insn nothing[] = { { .code = BPF_ALU64 | BPF_MOV | BPF_K },
		                            { .code = BPF_JMP | BPF_EXIT } };
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = UPROBE_MULTI);
	const struct usdt_site site = { 0 };
	int program = bpf_prog_load(BPF_PROG_TYPE_KPROBE, NULL, "GPL", nothing, 2, &options);
	int result;

	if (program < 0)
		return false;
	result = create_multi(program, "/", &site, 1);
	if (result >= 0)
		close(result);
	close(program);
	return result == -EBADF;
}

void usdt_links_prepare(struct bpf_program *program)
{
	bpf_program__set_expected_attach_type(program, UPROBE_MULTI);
}

static bool is_multi(const struct bpf_program *program)
{
	return bpf_program__expected_attach_type(program) == UPROBE_MULTI;
}

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

static int attach_by_event(const struct bpf_program *program, const char *path, const struct usdt_site *site,
                           struct open_link *out)
{
	LIBBPF_OPTS(bpf_uprobe_opts, options, .ref_ctr_offset = site->semaphore);

	out->link = bpf_program__attach_uprobe_opts(program, -1, path, site->offset, &options);
	return out->link ? 0 : -errno;
}

static int add_link(const struct bpf_program *program, const char *path, const struct usdt_site *sites,
                    size_t n, struct open_link **list)
{
	struct open_link *link = calloc(1, sizeof(*link));
	int err;

	if (!link)
		return -ENOMEM;
	link->fd = is_multi(program) ? create_multi(bpf_program__fd(program), path, sites, n) : -1;
	err = is_multi(program) ? (link->fd < 0 ? link->fd : 0) : attach_by_event(program, path, sites, link);
	if (err) {
		free(link);
		return err;
	}
	link->next = *list;
	*list = link;
	return 0;
}

static int add_links(const struct search *search, const char *path, struct open_link **list)
{
	int err = 0;

	for (size_t i = 0; i < search->n && !err; i++) {
		const struct bpf_program *program = search->listeners[i].program;
		size_t n = search->n_sites[i], at_once = is_multi(program) ? n : 1;

		for (size_t k = 0; k < n && !err; k += at_once)
			err = add_link(program, path, &search->sites[i][k], at_once, list);
	}
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
