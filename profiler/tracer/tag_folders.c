/* Opens the folders whose files are tagged, and makes them, and the xattr that does, known to the BPF programs. */

#include "profiler/tracer/tag_folders.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/abi.h"
#include "bpf/stallprof.skel.h"
#include "profiler/config/config.h"
#include "profiler/tracer/task_walk.h"

#define TAGGED_FILES    65536
#define SYNCING_THREADS 4096
#define EVENT_BYTES     (4u << 20)
#define FIRST_ASKS      400 /* of files that are open already: what the ring has room for */

struct tag_folders {
	size_t n;
	struct {
		int fd;
		struct abi_folder names;
	} folder[];
};

static void set_names(struct abi_folder *names, const char *name)
{
	static const char *const of_call[ABI_FILE_CALLS] = {
		[ABI_FILE_READ] = "read", [ABI_FILE_WRITE] = "write"
	};

	for (size_t i = 0; i < ABI_FILE_CALLS; i++)
		names->len[i] = (uint32_t)snprintf(names->name[i], sizeof(names->name[i]), "%s_%s/", name,
		                                   of_call[i]);
}

int tag_folders_open(const struct config_tag_files *files, size_t n, struct tag_folders **out, char *err,
                     size_t err_len)
{
	struct tag_folders *folders;

	*out = NULL;
	if (!n)
		return 0;
	folders = calloc(1, sizeof(*folders) + n * sizeof(folders->folder[0]));
	if (!folders) {
		snprintf(err, err_len, "out of memory");
		return -ENOMEM;
	}
	for (; folders->n < n; folders->n++) {
		const struct config_tag_files *file = &files[folders->n];
		bool is_folder = !config_files_xattr(file);
		int fd = is_folder ? open(file->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
		int result = -errno;

		if (is_folder && fd < 0) {
			snprintf(err, err_len, "tags.files: %s: %s", file->folder, strerror(errno));
			tag_folders_close(folders);
			return result;
		}
		folders->folder[folders->n].fd = fd;
		set_names(&folders->folder[folders->n].names, file->name);
		folders->folder[folders->n].names.source = (uint32_t)folders->n;
	}
	*out = folders;
	return 0;
}

void tag_folders_close(struct tag_folders *folders)
{
	for (size_t i = 0; folders && i < folders->n; i++)
		if (folders->folder[i].fd >= 0)
			close(folders->folder[i].fd);
	free(folders);
}

static int run_once(const struct bpf_program *program)
{
	struct bpf_link *walk = NULL;
	int result = task_walk_make(program, &walk);

	if (!result && walk)
		result = task_walk_run(walk);
	bpf_link__destroy(walk);
	return result;
}

void tag_folders_prepare(const struct config_tag_files *files, size_t n, struct stallprof_bpf *bpf)
{
	bpf_map__set_max_entries(bpf->maps.tagged_files, TAGGED_FILES);
	bpf_map__set_max_entries(bpf->maps.file_syncs, SYNCING_THREADS);
	bpf_map__set_max_entries(bpf->maps.file_events, EVENT_BYTES);
	for (size_t i = 0; i < n; i++) {
		const char *xattr = config_files_xattr(&files[i]);

		if (!xattr)
			continue;
		/* Compared in words, which are zero behind the name. */
		memcpy((void *)bpf->rodata->tag_xattr, xattr, strnlen(xattr, CONFIG_XATTR_MAX));
		bpf->rodata->asks_xattrs = true;
		bpf_map__set_max_entries(bpf->maps.xattr_asked, TAGGED_FILES);
	}
}

void tag_folders_ask_again(const struct stallprof_bpf *bpf, uint64_t inode)
{
	bpf_map_delete_elem(bpf_map__fd(bpf->maps.xattr_asked), &inode);
}

/* By its xattr. */
int tag_folders_add_file(const struct stallprof_bpf *bpf, uint64_t inode,
                         const struct abi_tagged_file *tagged)
{
	uint32_t bit = abi_file_bit(inode);
	int files = bpf_map__fd(bpf->maps.tagged_files);
	struct abi_tagged_file known;

	__atomic_fetch_or((uint64_t *)&bpf->bss->file_bits[bit / 64], 1ULL << bit % 64, __ATOMIC_RELAXED);
	if (!bpf_map_update_elem(files, &inode, tagged, BPF_NOEXIST))
		return 0;
	if (errno != EEXIST)
		return -errno;
	/* Another inode was there before, whose end came while its attribute was read. */
	if (bpf_map_lookup_elem(files, &inode, &known) ||
	    (known.number == tagged->number && known.generation == tagged->generation))
		return 0;
	return bpf_map_update_elem(files, &inode, tagged, BPF_ANY) ? -errno : 0;
}

static int set_folder(const struct tag_folders *folders, size_t i, const struct stallprof_bpf *bpf)
{
	const uint64_t by_xattr = ABI_XATTR_FOLDER;
	int fd = folders->folder[i].fd;
	bool failed = fd >= 0 ? bpf_map_update_elem(bpf_map__fd(bpf->maps.folder_fds), &fd,
	                                            &folders->folder[i].names, BPF_ANY)
	                      : bpf_map_update_elem(bpf_map__fd(bpf->maps.tag_folders), &by_xattr,
	                                            &folders->folder[i].names, BPF_ANY);

	return failed ? -errno : 0;
}

int tag_folders_set(const struct tag_folders *folders, const struct stallprof_bpf *bpf)
{
	int result = 0;

	if (!folders)
		return 0;
	bpf->bss->xattr_asks = FIRST_ASKS;
	for (size_t i = 0; i < folders->n && !result; i++)
		result = set_folder(folders, i, bpf);
	for (int round = 0; round < 2 && !result; round++)
		result = run_once(bpf->progs.on_iter_file);
	return result ? result : run_once(bpf->progs.on_iter_mapping);
}
