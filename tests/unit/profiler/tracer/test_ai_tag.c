/*
 * Whose a request is by the tag that a patched kernel keeps in it (bpf/ai_tag.bpf.h). Such a kernel is played: it is this one, and the type
 * information that the programs are fitted to says that a field of that name is where a request, or its first bio, has its sector. So a
 * direct read of a loop device at sector N is kept under the id N, and at 0 under none. Needs root.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <bpf/btf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "profiler/tracer/tracer.h"
#include "symbolizer/base/process_stat.h"
#include "tests/unit/need_root.h"

#define SECTOR        512
#define BLOCK         4096
#define KNOWN_SECTOR  64
#define UNMET_SECTOR  128
#define FILE_BYTES    (1 << 20)
#define LOOP_ATTEMPTS 20
#define OWN_TAG       "own"
#define KNOWN_TAG     "known/write"

/* --- the kernel that is played --------------------------------------------------------------------------------- */

static struct btf_member *member_of(struct btf *btf, const char *type, const char *name)
{
	int id = btf__find_by_name_kind(btf, type, BTF_KIND_STRUCT);
	const struct btf_type *found = btf__type_by_id(btf, (uint32_t)id);

	assert_true(id > 0);
	for (int i = 0; i < btf_vlen(found); i++)
		if (!strcmp(btf__name_by_offset(btf, btf_members(found)[i].name_off), name))
			return &btf_members(found)[i];
	fail_msg("no %s.%s", type, name);
	return NULL;
}

/* The place of `type`'s member `given_up`, which no program reads, is taken by a u64 at that of the member `at`. */
static void put_field(struct btf *btf, const char *type, const char *given_up, const char *at,
                      const char *field)
{
	int name = btf__add_str(btf, field);
	int number = btf__find_by_name_kind(btf, "u64", BTF_KIND_TYPEDEF);
	struct btf_member *member = member_of(btf, type, given_up);

	assert_true(name > 0 && number > 0);
	member->offset = member_of(btf, type, at)->offset;
	member->name_off = (uint32_t)name;
	member->type = (uint32_t)number;
}

static void save(const struct btf *btf, char *path)
{
	uint32_t size;
	const void *bytes = btf__raw_data(btf, &size);
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	close(fd);
}

/* --- a disk -------------------------------------------------------------------------------------------------- */

struct disk {
	int loop;
	uint32_t dev; /* as the kernel has it */
};

/* Another may take the free device before us. */
static int free_loop(int file)
{
	char path[64];
	int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC), loop = -1;

	assert_true(control >= 0);
	for (int i = 0; i < LOOP_ATTEMPTS && loop < 0; i++) {
		snprintf(path, sizeof(path), "/dev/loop%d", ioctl(control, LOOP_CTL_GET_FREE));
		loop = open(path, O_RDWR | O_DIRECT | O_CLOEXEC);
		if (loop >= 0 && ioctl(loop, LOOP_SET_FD, file)) {
			close(loop);
			loop = -1;
		}
	}
	close(control);
	return loop;
}

static void disk_open(struct disk *disk)
{
	char path[] = "/var/tmp/stallprof-disk-XXXXXX";
	int file = mkstemp(path);
	struct stat info;

	assert_true(file >= 0);
	unlink(path);
	assert_int_equal(ftruncate(file, FILE_BYTES), 0);
	disk->loop = free_loop(file);
	assert_true(disk->loop >= 0);
	close(file);
	assert_int_equal(fstat(disk->loop, &info), 0);
	disk->dev = major(info.st_rdev) << 20 | minor(info.st_rdev);
}

static void disk_close(struct disk *disk)
{
	ioctl(disk->loop, LOOP_CLR_FD);
	close(disk->loop);
}

static void disk_read(const struct disk *disk, unsigned int sector)
{
	void *block = aligned_alloc(BLOCK, BLOCK);

	assert_non_null(block);
	assert_int_equal(pread(disk->loop, block, BLOCK, (off_t)sector * SECTOR), BLOCK);
	free(block);
}

/* --- what is recorded -------------------------------------------------------------------------------------------- */

struct seen {
	struct tracer *tracer;
	uint32_t dev;
	unsigned int own, known, unmet, others; /* reads of each tag */
};

static void on_event(void *ctx, const struct abi_event *event)
{
	(void)ctx;
	(void)event;
}

static void on_python(void *ctx, const struct abi_python_ask *ask)
{
	(void)ctx;
	(void)ask;
}

static int on_row(void *ctx, const struct abi_ledger_key *key, const struct abi_ledger_value *value)
{
	struct seen *seen = ctx;
	struct abi_tag tag = { .id = 0 };

	if (key->state != ABI_REQUESTS || key->dev != seen->dev || key->cause != ABI_REQUESTS_READ)
		return 0;
	tracer_find_tag(seen->tracer, key->tag, &tag);
	assert_int_equal(value->bytes, value->count * BLOCK);
	if (!strcmp(tag.name, OWN_TAG))
		seen->own += value->count;
	else if (!strcmp(tag.name, KNOWN_TAG) && tag.id == KNOWN_SECTOR)
		seen->known += value->count;
	else if (!strcmp(tag.name, "request") && tag.id == UNMET_SECTOR && tag.source == ABI_TAG_REQUEST)
		seen->unmet += value->count;
	else
		seen->others += value->count;
	return 0;
}

/* This process holds a tag of its own. */
static void hold_tag(struct tracer *tracer)
{
	struct abi_process_key key = { .tgid = (uint32_t)getpid() };
	struct abi_process process = { .base_tag = 0 };
	struct process_stat stat;
	uint64_t tag;

	assert_int_equal(process_stat_read("/proc", key.tgid, &stat), 0);
	key.start_ticks = stat.start_ticks;
	assert_int_equal(tracer_add_tag(tracer, OWN_TAG, 0, &tag), 0);
	process.base_tag = tag;
	assert_int_equal(tracer_set_process(tracer, &key, &process), 0);
}

/* What is told of three reads by a kernel with the types at `path`; NULL: its own. */
static struct seen read_under(const char *path)
{
	const struct tracer_opts opts = { .only_adopted = true, .btf_path = path };
	struct seen seen = { .own = 0 };
	struct disk disk;
	char err[2048] = "";
	uint64_t known;

	disk_open(&disk);
	seen.dev = disk.dev;
	seen.tracer = tracer_new(&opts, on_event, on_python, NULL, err, sizeof(err));
	if (!seen.tracer)
		fail_msg("%s", err);
	hold_tag(seen.tracer);
	assert_int_equal(tracer_add_tag(seen.tracer, KNOWN_TAG, KNOWN_SECTOR, &known), 0);
	if (tracer_attach(seen.tracer, err, sizeof(err)))
		fail_msg("%s", err);
	disk_read(&disk, 0);
	disk_read(&disk, KNOWN_SECTOR);
	disk_read(&disk, UNMET_SECTOR);
	disk_read(&disk, UNMET_SECTOR);
	tracer_detach(seen.tracer);
	assert_int_equal(tracer_take_ledger(seen.tracer, 2, on_row, &seen), 0);
	tracer_free(seen.tracer);
	disk_close(&disk);
	return seen;
}

static struct seen read_with(const char *type, const char *given_up, const char *at, const char *field)
{
	char path[] = "/tmp/stallprof-btf-XXXXXX";
	struct btf *btf = btf__parse("/sys/kernel/btf/vmlinux", NULL);
	struct seen seen;

	assert_non_null(btf);
	put_field(btf, type, given_up, at, field);
	save(btf, path);
	btf__free(btf);
	seen = read_under(path);
	unlink(path);
	return seen;
}

static void assert_kept(const struct seen *seen)
{
	assert_int_equal(seen->own, 1);
	assert_int_equal(seen->known, 1);
	assert_int_equal(seen->unmet, 2);
	assert_int_equal(seen->others, 0);
}

static void test_ai_tag__in_requests(void **state)
{
	struct seen seen;

	(void)state;
	need_root(PRIVILEGE_LOAD);
	seen = read_with("request", "fifo_time", "__sector", "ai_tag");
	assert_kept(&seen);
}

static void test_ai_tag__in_bios(void **state)
{
	struct seen seen;

	(void)state;
	need_root(PRIVILEGE_LOAD);
	seen = read_with("bio", "bi_private", "bi_iter", "bi_ai_tag");
	assert_kept(&seen);
}

/* All are the thread's. */
static void test_ai_tag__in_neither(void **state)
{
	struct seen seen;

	(void)state;
	need_root(PRIVILEGE_LOAD);
	seen = read_under(NULL);
	assert_int_equal(seen.own, 4);
	assert_int_equal(seen.known + seen.unmet + seen.others, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ai_tag__in_requests),
		cmocka_unit_test(test_ai_tag__in_bios),
		cmocka_unit_test(test_ai_tag__in_neither),
	};

	return cmocka_run_group_tests_name("ai_tag", tests, NULL, NULL);
}
