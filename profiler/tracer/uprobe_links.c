/* Links of programs to places of files, by uprobe_multi or perf events. */

#include "profiler/tracer/uprobe_links.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "profiler/tracer/link_closer.h"

/* What linux/bpf.h of Linux 6.6 has; ours may be older. */
#define UPROBE_MULTI ((enum bpf_attach_type)48)
struct uprobe_multi_attr {
	uint32_t program, target, type, flags;
	uint64_t path, offsets, semaphores, cookies;
	uint32_t n, multi_flags, pid;
};

static int create_multi(int program, const char *path, const struct usdt_site *sites, size_t n)
{
	uint64_t *offsets = calloc(n, 2 * sizeof(*offsets)), *semaphores = offsets + n;
	struct uprobe_multi_attr attr = { .program = (uint32_t)program,
		                          .type = UPROBE_MULTI,
		                          .path = (uintptr_t)path,
		                          .offsets = (uintptr_t)offsets,
		                          .semaphores = (uintptr_t)semaphores,
		                          .n = (uint32_t)n };
	int fd;

	if (!offsets)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		offsets[i] = sites[i].offset;
		semaphores[i] = sites[i].semaphore;
	}
	fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	fd = fd < 0 ? -errno : fd;
	free(offsets);
	return fd;
}

/* A kernel that has these links refuses a folder with a certain error; others do not know the type of link. */
bool uprobe_links_have_multi(void)
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

void uprobe_links_prepare(struct bpf_program *program)
{
	bpf_program__set_expected_attach_type(program, UPROBE_MULTI);
}

static bool is_multi(const struct bpf_program *program)
{
	return bpf_program__expected_attach_type(program) == UPROBE_MULTI;
}

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
	int err = 0;

	if (!link)
		return -ENOMEM;
	link->fd = -1;
	if (is_multi(program)) {
		link->fd = create_multi(bpf_program__fd(program), path, sites, n);
		err = link->fd < 0 ? link->fd : 0;
	} else {
		err = attach_by_event(program, path, sites, link);
	}
	if (err) {
		free(link);
		return err;
	}
	link->next = *list;
	*list = link;
	return 0;
}

int uprobe_links_add(const struct bpf_program *program, const char *path, const struct usdt_site *sites,
                     size_t n, struct open_link **list)
{
	size_t at_once = is_multi(program) ? n : 1;
	int err = 0;

	for (size_t i = 0; i < n && !err; i += at_once)
		err = add_link(program, path, sites + i, at_once, list);
	return err;
}
