/* Opens the folders whose files are tagged, and makes them known to the BPF programs. */

#include "profiler/tracer/tag_folders.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/abi.h"
#include "bpf/stallprof.skel.h"
#include "profiler/config/config.h"
#include "profiler/tracer/task_walk.h"

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
		int fd = open(file->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), result = -errno;

		if (fd < 0) {
			snprintf(err, err_len, "tags.files: %s: %s", file->folder, strerror(errno));
			tag_folders_close(folders);
			return result;
		}
		folders->folder[folders->n].fd = fd;
		set_names(&folders->folder[folders->n].names, file->name);
	}
	*out = folders;
	return 0;
}

void tag_folders_close(struct tag_folders *folders)
{
	for (size_t i = 0; folders && i < folders->n; i++)
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

int tag_folders_set(const struct tag_folders *folders, const struct stallprof_bpf *bpf)
{
	int result = 0;

	if (!folders)
		return 0;
	for (size_t i = 0; i < folders->n && !result; i++)
		if (bpf_map_update_elem(bpf_map__fd(bpf->maps.folder_fds), &folders->folder[i].fd,
		                        &folders->folder[i].names, BPF_ANY))
			result = -errno;
	for (int round = 0; round < 2 && !result; round++)
		result = run_once(bpf->progs.on_iter_file);
	return result ? result : run_once(bpf->progs.on_iter_mapping);
}
