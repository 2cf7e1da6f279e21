/* Tests of tag_folders.h with the iterators of the BPF programs: what they know of a folder whose path comes to lead elsewhere. Needs root. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpf/abi.h"
#include "bpf/stallprof.skel.h"
#include "profiler/config/config.h"
#include "profiler/tracer/tag_folders.h"
#include "tests/unit/need_root.h"

#define STEP_NS 10000000000ULL

static char said[1024], root[] = "/tmp/stallprof-folders-XXXXXX", path[64];
static struct config_tag_files files[2] = { { .folder = root, .name = "all" },
	                                    { .folder = path, .name = "checkpoint" } };
static uint64_t now_ns = STEP_NS;

static void say(const char *line)
{
	size_t n = strlen(said);

	snprintf(said + n, sizeof(said) - n, "%s\n", line);
}

/* Those programs alone: nothing is hooked. */
static struct stallprof_bpf *load(void)
{
	struct stallprof_bpf *bpf = stallprof_bpf__open();
	struct bpf_program *program;

	assert_non_null(bpf);
	bpf_object__for_each_program(program, bpf->obj) bpf_program__set_autoload(
	        program, program == bpf->progs.on_iter_file || program == bpf->progs.on_iter_mapping);
	bpf_map__set_max_entries(bpf->maps.stack_buffers, 3);
	tag_folders_prepare(files, 2, bpf);
	assert_int_equal(stallprof_bpf__load(bpf), 0);
	return bpf;
}

/* The inode that the programs know for the entry, which is the only one of it; 0: none. */
static uint64_t inode_of(const struct stallprof_bpf *bpf, uint32_t entry)
{
	int map = bpf_map__fd(bpf->maps.tag_folders);
	uint64_t key, *before = NULL, found = 0;
	struct abi_folder names;

	for (; !bpf_map_get_next_key(map, before, &key); before = &key) {
		assert_int_equal(bpf_map_lookup_elem(map, &key, &names), 0);
		if (names.source != entry)
			continue;
		assert_int_equal(found, 0);
		found = key;
	}
	return found;
}

/* What is said 10 s later. */
static const char *hold(struct tag_folders *folders, const struct stallprof_bpf *bpf)
{
	said[0] = '\0';
	now_ns += STEP_NS;
	tag_folders_hold(folders, bpf, now_ns, say);
	return said;
}

static void mount_anew(struct tag_folders *folders, const struct stallprof_bpf *bpf, const char *moved)
{
	uint64_t first = inode_of(bpf, 1), second, above = inode_of(bpf, 0);

	assert_true(first && above);
	assert_string_equal(hold(folders, bpf), "");
	assert_int_equal(mount("none", path, "tmpfs", 0, NULL), 0);
	tag_folders_hold(folders, bpf, now_ns + STEP_NS - 1, say);
	assert_string_equal(said, "");
	assert_string_equal(hold(folders, bpf), moved);
	second = inode_of(bpf, 1);
	assert_true(second && second != first);
	assert_string_equal(hold(folders, bpf), "");
	assert_int_equal(umount2(path, MNT_DETACH), 0);
	assert_int_equal(mount("none", path, "tmpfs", 0, NULL), 0);
	assert_string_equal(hold(folders, bpf), moved);
	assert_true(inode_of(bpf, 1) && inode_of(bpf, 1) != second);
	assert_int_equal(umount2(path, MNT_DETACH), 0);
	assert_string_equal(hold(folders, bpf), moved);
	assert_int_equal(inode_of(bpf, 0), above);
}

static void make_anew(struct tag_folders *folders, const struct stallprof_bpf *bpf, const char *moved)
{
	uint64_t first = inode_of(bpf, 1);
	char gone[256];

	snprintf(gone, sizeof(gone),
	         "tags.files: %s: No such file or directory; it is looked for again each 10 s\n", path);
	assert_int_equal(rmdir(path), 0);
	assert_string_equal(hold(folders, bpf), gone);
	assert_string_equal(hold(folders, bpf), "");
	assert_int_equal(inode_of(bpf, 1), first);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_string_equal(hold(folders, bpf), moved);
	assert_true(inode_of(bpf, 1) && inode_of(bpf, 1) != first);
}

static void test_tag_folders__another_is_found_at_the_path(void **state)
{
	struct tag_folders *folders;
	struct stallprof_bpf *bpf;
	char err[256] = "", moved[256];

	(void)state;
	need_root(PRIVILEGE_LOAD);
	assert_non_null(mkdtemp(root));
	snprintf(path, sizeof(path), "%s/in", root);
	assert_int_equal(mkdir(path, 0700), 0);
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		skip_for("mounts a file system");
	snprintf(moved, sizeof(moved),
	         "tags.files: %s leads to another folder now: the files there are tagged\n", path);
	bpf = load();
	assert_int_equal(tag_folders_open(files, 2, &folders, err, sizeof(err)), 0);
	assert_int_equal(tag_folders_set(folders, bpf), 0);
	mount_anew(folders, bpf, moved);
	make_anew(folders, bpf, moved);
	tag_folders_hold(NULL, bpf, now_ns, say);
	tag_folders_close(folders);
	stallprof_bpf__destroy(bpf);
	rmdir(path);
	rmdir(root);
}

static void test_tag_folders__one_that_is_not_there_is_refused(void **state)
{
	static const struct config_tag_files missing[] = {
		{ .folder = (char *)"/tmp", .name = (char *)"a" },
		{ .folder = (char *)"/nosuch", .name = (char *)"b" },
		{ .folder = (char *)"/proc/self/exe", .name = (char *)"c" }
	};
	struct tag_folders *folders;
	char err[256] = "";

	(void)state;
	assert_int_not_equal(tag_folders_open(missing, 2, &folders, err, sizeof(err)), 0);
	assert_null(folders);
	assert_string_equal(err, "tags.files: /nosuch: No such file or directory");
	assert_int_not_equal(tag_folders_open(missing + 2, 1, &folders, err, sizeof(err)), 0);
	assert_string_equal(err, "tags.files: /proc/self/exe: Not a directory");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tag_folders__another_is_found_at_the_path),
		cmocka_unit_test(test_tag_folders__one_that_is_not_there_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
