/* Opens the folders whose files are tagged, and makes them, and the xattr that does, known to the BPF programs. */

#include "profiler/tracer/tag_folders.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpf/abi.h"
#include "bpf/stallprof.skel.h"
#include "profiler/config/config.h"
#include "profiler/tracer/map_walk.h"
#include "profiler/tracer/task_walk.h"
#include "symbolizer/base/cached_path.h"
#include "symbolizer/base/file_gate.h"

#define TAGGED_FILES    65536
#define SYNCING_THREADS 4096
#define EVENT_BYTES     (4u << 20)
#define FIRST_ASKS      400 /* of files that are open already: what the ring has room for */
#define HOLD_NS         10000000000ULL

/* As long as it is open no other has the same. */
struct place {
	uint64_t inode, mount;
	uint32_t major, minor;
};

struct folder {
	const char *path;
	int fd; /* -1: files are tagged by their xattr */
	struct place place;
	bool gone; /* the path leads to none now: the last that it led to stays open */
	struct abi_folder names;
};

struct tag_folders {
	uint64_t held_ns; /* when they were looked at last */
	bool unset;       /* the programs do not know all of them yet */
	size_t n;
	struct folder folder[];
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

/* 0; -ENOTDIR: it is none; another -errno. */
static int find_place(int fd, struct place *place)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO | STATX_MNT_ID, &st))
		return -errno;
	*place = (struct place){ .inode = st.stx_ino,
		                 .mount = st.stx_mnt_id,
		                 .major = st.stx_dev_major,
		                 .minor = st.stx_dev_minor };
	return S_ISDIR(st.stx_mode) ? 0 : -ENOTDIR;
}

/* Its inode is all that is wanted: so no server is told that it is open. Returns the descriptor or -errno. */
static int open_folder(const char *path)
{
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int begin_folder(const struct config_tag_files *file, uint32_t source, struct folder *folder)
{
	*folder = (struct folder){ .path = file->folder, .fd = -1 };
	set_names(&folder->names, file->name);
	folder->names.source = source;
	if (config_files_xattr(file))
		return 0;
	folder->fd = open_folder(file->folder);
	return folder->fd < 0 ? folder->fd : find_place(folder->fd, &folder->place);
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
	for (uint32_t i = 0; i < n; i++) {
		int result = begin_folder(&files[i], i, &folders->folder[i]);

		folders->n++;
		if (result) {
			snprintf(err, err_len, "tags.files: %s: %s", files[i].folder, strerror(-result));
			tag_folders_close(folders);
			return result;
		}
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

/* --- paths that lead elsewhere -------------------------------------------------------------------------- */

/* Where the path leads now: a descriptor, or -errno; -EAGAIN: that cannot be told without waiting for a file system. */
static int find_folder(const char *path)
{
	int fd = cached_path_open("", path);

	if (fd != -EAGAIN)
		return fd;
	return file_gate_path("", path) ? open_folder(path) : -EAGAIN;
}

static void *close_it(void *ctx)
{
	close((int)(intptr_t)ctx);
	return NULL;
}

/* In a thread: it may be the last thing that is open of a file system that was unmounted lazily, which is written to its device then. Signals
 * are for the main thread. */
static void close_beside(int fd)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	pthread_t thread;
	int err;

	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&thread, &attributes, close_it, (void *)(intptr_t)fd);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	if (err)
		close(fd);
}

struct forgetting {
	int map;
	uint32_t source;
};

static void forget_inode(void *ctx, uint64_t inode)
{
	const struct forgetting *forgetting = ctx;
	struct abi_folder names;

	if (!bpf_map_lookup_elem(forgetting->map, &inode, &names) && names.source == forgetting->source)
		bpf_map_delete_elem(forgetting->map, &inode);
}

/* The programs know it no longer. */
static void forget_folder(const struct folder *folder, const struct stallprof_bpf *bpf)
{
	struct forgetting forgetting = { .map = bpf_map__fd(bpf->maps.tag_folders),
		                         .source = folder->names.source };

	bpf_map_delete_elem(bpf_map__fd(bpf->maps.folder_fds), &folder->fd);
	map_walk(forgetting.map, ABI_FOLDERS_MAX, forget_inode, &forgetting);
}

static bool is_same(const struct place *a, const struct place *b)
{
	return a->inode == b->inode && a->mount == b->mount && a->major == b->major && a->minor == b->minor;
}

/* Says once that there is none. */
static void tell_gone(struct folder *folder, int err, say_fn say)
{
	char line[PATH_MAX + 128];

	if (!folder->gone) {
		snprintf(line, sizeof(line), "tags.files: %s: %s; it is looked for again each %llu s",
		         folder->path, strerror(-err), HOLD_NS / 1000000000);
		say(line);
	}
	folder->gone = true;
}

/* Whether it is another one now, which is open, and the programs are to be told. */
static bool renew(struct folder *folder, const struct stallprof_bpf *bpf, say_fn say)
{
	int fd = find_folder(folder->path), err = fd < 0 ? fd : 0;
	char line[PATH_MAX + 128];
	struct place place;

	if (!err)
		err = find_place(fd, &place);
	if (err && err != -EAGAIN)
		tell_gone(folder, err, say);
	if (err || (!folder->gone && is_same(&place, &folder->place))) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	forget_folder(folder, bpf);
	close_beside(folder->fd);
	folder->fd = fd;
	folder->place = place;
	folder->gone = false;
	snprintf(line, sizeof(line), "tags.files: %s leads to another folder now: the files there are tagged",
	         folder->path);
	say(line);
	return true;
}

void tag_folders_hold(struct tag_folders *folders, const struct stallprof_bpf *bpf, uint64_t now_ns,
                      say_fn say)
{
	char line[128];
	int err;

	if (!folders || now_ns - folders->held_ns < HOLD_NS)
		return;
	folders->held_ns = now_ns;
	for (size_t i = 0; i < folders->n; i++)
		if (folders->folder[i].fd >= 0)
			folders->unset |= renew(&folders->folder[i], bpf, say);
	if (!folders->unset)
		return;
	err = tag_folders_set(folders, bpf);
	folders->unset = err != 0;
	if (!err)
		return;
	snprintf(line, sizeof(line), "tags.files: cannot look through open files: %s", strerror(-err));
	say(line);
}
