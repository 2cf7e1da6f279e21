/* A recording of which it is known what its lines of code wait for: record() is a test's set-up, forget() its end; text_of() is what the
 * screen shows of it. */
#ifndef STALLPROF_TESTS_CODE_RECORDING_H
#define STALLPROF_TESTS_CODE_RECORDING_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "profiler/loaded/loaded_classes.h"
#include "profiler/top/top_code.h"
#include "profiler/top/top_code_text.h"
#include "profiler/loaded/loaded_frames.h"
#include "tests/unit/loaded_fixture.h"

static const struct loaded_filter all = { .waits = true };

/* --- a profile -------------------------------------------------------------------------------------------- */

enum { PROGRAM = 1, KERNEL, PYTHON, LIBC, LIBTORCH };

static inline struct profile *new_profile(void)
{
	static const char *const files[] = { "/usr/bin/python3.11", "[kernel.kallsyms]_stext", "[python]",
		                             "/usr/lib/libc.so.6", "/opt/libtorch_python.so" };
	struct profile *p = profile_new(types, 3, types[CPU], 1, 1 << 24);

	assert_non_null(p);
	for (uint64_t i = 0; i < COUNT(files); i++)
		assert_int_equal(
		        profile_mapping(p, 0x1000 * i + 1, 0x1000 * (i + 1), 0, files[i], NULL, true, true),
		        i + 1);
	return p;
}

static inline int64_t frame(struct profile *p, int64_t mapping, const char *function, const char *file,
                            uint32_t line)
{
	struct profile_frame frame = { .function = function, .file = file, .line = line };
	int64_t id = profile_location(p, mapping, 0, &frame, 1);

	assert_true(id > 0);
	return id;
}

#define LOADER "/usr/lib/python3/dist-packages/torch/utils/data/dataloader.py"

/* Stacks, leaf first. */
static inline size_t python_read(struct profile *p, int64_t *ids)
{
	size_t n = 0;

	ids[n++] = frame(p, KERNEL, "folio_wait_bit_common", NULL, 0);
	ids[n++] = frame(p, KERNEL, "filemap_read", NULL, 0);
	ids[n++] = frame(p, KERNEL, "__x64_sys_read", NULL, 0);
	ids[n++] = frame(p, KERNEL, "do_syscall_64", NULL, 0);
	ids[n++] = frame(p, LIBC, "__libc_read", "read.c", 26);
	ids[n++] = frame(p, LIBTORCH, "getRecord", NULL, 0);
	ids[n++] = frame(p, PYTHON, "load", "/usr/lib/python3/dist-packages/torch/serialization.py", 789);
	ids[n++] = frame(p, PROGRAM, "_PyEval_Vector", NULL, 0);
	ids[n++] = frame(p, PYTHON, "Samples.__getitem__", "/home/me/train.py", 35);
	ids[n++] = frame(p, PYTHON, "_worker_loop", LOADER, 302);
	ids[n++] = frame(p, PYTHON, "train", "/home/me/train.py", 88);
	ids[n++] = frame(p, PYTHON, "<module>", "/home/me/train.py", 99);
	return n;
}

static inline size_t python_poll(struct profile *p, int64_t *ids)
{
	size_t n = 0;

	ids[n++] = frame(p, KERNEL, "do_sys_poll", NULL, 0);
	ids[n++] = frame(p, KERNEL, "__x64_sys_poll", NULL, 0);
	ids[n++] = frame(p, LIBC, "__poll", "poll.c", 29);
	ids[n++] = frame(p, PYTHON, "_try_get_data", LOADER, 1132);
	ids[n++] = frame(p, PYTHON, "train", "/home/me/train.py", 80);
	return n;
}

static inline size_t c_fsync(struct profile *p, int64_t *ids)
{
	size_t n = 0;

	ids[n++] = frame(p, KERNEL, "folio_wait_writeback", NULL, 0);
	ids[n++] = frame(p, KERNEL, "__x64_sys_fsync", NULL, 0);
	ids[n++] = frame(p, LIBC, "__GI_fsync", "fsync.c", 27);
	ids[n++] = frame(p, PROGRAM, "fsync_inlined", "/usr/include/x86_64-linux-gnu/bits/unistd.h", 74);
	ids[n++] = frame(p, PROGRAM, "write_shard", "/src/train.c", 138);
	ids[n++] = frame(p, PROGRAM, "main", "/src/train.c", 171);
	return n;
}

static inline void sample(struct profile *p, const int64_t *ids, size_t n, int64_t ns, const char *class,
                          const char *stall, const char *device)
{
	const int64_t values[] = { 2, ns, 0 };
	const struct profile_label labels[] = { { .key = "ai_tag", .str = class },
		                                { .key = "stall", .str = stall },
		                                { .key = "device", .str = device } };

	assert_int_equal(profile_add_sample(p, ids, n, values, labels, 3), 0);
}

static inline void add(struct ledger *ledger, const char *tag, bool base, enum ledger_state state,
                       const char *cause, uint64_t ns)
{
	put_row(ledger, tag, (struct ledger_row){ .base = base }, state, cause, ns);
}

struct recording {
	struct profile *profile;
	struct loaded_profiles input;
	struct loaded_tags *tags;
};

static inline void fill_ledger(struct ledger *ledger)
{
	add(ledger, "data_load", false, LEDGER_STALL, "block_io", 50 * MS);
	add(ledger, "data_load", false, LEDGER_BLOCKED, "poll", 150 * MS);
	add(ledger, "ckpt", false, LEDGER_STALL, "writeback", 30 * MS);
	add(ledger, "ckpt", false, LEDGER_ONCPU, "", 10 * MS);
	add(ledger, "train.py", true, LEDGER_BLOCKED, "lock", 900 * MS);
}

static inline int record(void **state)
{
	struct recording *r = calloc(1, sizeof(*r));
	int64_t ids[32];

	r->profile = new_profile();
	r->input = (struct loaded_profiles){
		.profile = r->profile, .ledger = ledger_new(0), .stamp = stamp_new(), .files = 1
	};
	sample(r->profile, ids, python_read(r->profile, ids), 49 * MS, "data_load", "block_io", "vda");
	sample(r->profile, ids, c_fsync(r->profile, ids), MS, "data_load", "block_io", "vda");
	sample(r->profile, ids, c_fsync(r->profile, ids), 30 * MS, "ckpt", "writeback", "vdb");
	sample(r->profile, ids, python_poll(r->profile, ids), 150 * MS, "data_load", "poll", "");
	sample(r->profile, ids, python_poll(r->profile, ids) - 1, 900 * MS, "train.py", "lock", "");
	fill_ledger(r->input.ledger);
	r->tags = loaded_tags_new(&r->input);
	*state = r;
	return 0;
}

static inline int forget(void **state)
{
	struct recording *r = *state;

	loaded_tags_free(r->tags);
	ledger_free(r->input.ledger);
	stamp_free(r->input.stamp);
	profile_free(r->profile);
	free(r);
	return 0;
}

static inline char *text_of(struct recording *r, struct top_code_text what, size_t lines, size_t *told)
{
	struct top_sections sections;
	struct loaded_classes classes;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	what.input = &r->input;
	what.filter = &all;
	what.classes = &classes;
	assert_int_equal(loaded_classes_build(&classes, &r->input, &all, LOADED_LEVEL_CLASS), 0);
	assert_int_equal(top_sections_build(&sections, &r->input, r->tags, &all, DELAY, CONTENTIONS), 0);
	*told = top_text_sections(out, &what, &sections, lines);
	fclose(out);
	top_sections_free(&sections);
	loaded_classes_free(&classes);
	return text;
}

#endif
