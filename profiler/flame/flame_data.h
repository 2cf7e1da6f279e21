/*
 * Profiles as the flame graph wants them: stacks as a trie of frames, samples summed by their leaf and by what
 * they can be filtered by, the ledger summed by class, process, state, cause and device.
 *
 *   data = flame_data_new()  ->  flame_add.h for each file  ->  flame_json.h, flame_folded.h, flame_svg.h
 *
 * Everything is interned: texts, frames, nodes and slices are numbers of records in the tables below, in the order
 * of their arrival, so that a node's parent has a smaller number than the node. Text 0 is "".
 */
#ifndef STALLPROF_PROFILER_FLAME_DATA_H
#define STALLPROF_PROFILER_FLAME_DATA_H

#include <stddef.h>
#include <stdint.h>

#include "pprof/pprof_intern.h"
#include "pprof/profile.h"

#define FLAME_TYPES_MAX 8
#define FLAME_NONE      UINT32_MAX

/* Bits of a frame's kind; the lowest two are enum loaded_frame_kind. */
#define FLAME_KIND_MASK 3u
#define FLAME_INLINED   4u  /* in the code of the frame outside of it */
#define FLAME_MODULE    8u  /* of a kernel module */
#define FLAME_LIBRARY   16u /* no code of the program's own */

struct flame_frame {
	uint32_t name, file; /* texts; file 0: not known */
	uint32_t line;       /* 0: not known */
	uint32_t kind;
};

struct flame_node {
	uint32_t parent; /* FLAME_NONE: an outermost frame */
	uint32_t frame;
};

/* What samples can be filtered by. */
enum flame_dimension {
	FLAME_CLASS, /* ai_tag */
	FLAME_STALL,
	FLAME_DEVICE,
	FLAME_WAKER,     /* who ended a wait that is no stall; of the ledger: not known */
	FLAME_INHERITED, /* what that one waited for meanwhile; of the ledger: not known */
	FLAME_PROCESS,
	FLAME_HOST,
	FLAME_SIDE, /* "" or, of what is compared with, "base" */
	FLAME_DIMENSIONS
};

/* The dimension's key in JSON. */
const char *flame_dimension_name(enum flame_dimension dimension);

struct flame_sample {
	uint32_t node; /* the innermost frame */
	uint32_t own;  /* the frame of the program's own code that waits (loaded_stack_own()) */
	uint32_t slice;
	uint32_t is_wait;                 /* blocked by what is no stall */
	uint32_t texts[FLAME_DIMENSIONS]; /* "" where it is not known */
};

/* When a sample's wait ended. */
struct flame_slice {
	int64_t begin_ns, end_ns; /* Unix time; end 0: where the next one begins. Both 0: not known */
};

struct flame_row {
	uint32_t state;                   /* enum ledger_state */
	uint32_t base;                    /* of the tag of a process */
	uint32_t texts[FLAME_DIMENSIONS]; /* FLAME_STALL: its cause, or the kind of wait */
};

struct flame_row_sum {
	int64_t ns;
	uint64_t count;
};

struct flame_data {
	struct pprof_arena arena;
	struct pprof_intern texts, frames, nodes, slices, samples, rows;
	int64_t *values; /* samples.n rows of type_count */
	size_t values_capacity;
	struct flame_row_sum *sums; /* rows.n */
	size_t sums_capacity;
	struct profile_value_type types[FLAME_TYPES_MAX]; /* texts of the arena */
	size_t type_count;
};

/* It takes half of loaded_bytes_max() at most: the sum of the profiles needs the other. NULL with errno ENOMEM. */
struct flame_data *flame_data_new(void);
void flame_data_free(struct flame_data *data);

/*
 * Each returns the number of the record, which is added if it is new, -ENOMEM, or -ENOSPC at that bound. Text NULL
 * is "". `parent` FLAME_NONE: an outermost frame. A sample's values (type_count of them) and a row's sums are added to
 * those that it has.
 */
int64_t flame_put_text(struct flame_data *data, const char *text);
int64_t flame_put_frame(struct flame_data *data, const struct flame_frame *frame);
int64_t flame_put_node(struct flame_data *data, uint32_t parent, uint32_t frame);
int64_t flame_put_slice(struct flame_data *data, int64_t begin_ns, int64_t end_ns);
int64_t flame_put_sample(struct flame_data *data, const struct flame_sample *sample, const int64_t *values);
int64_t flame_put_row(struct flame_data *data, const struct flame_row *row, int64_t ns, uint64_t count);

const char *flame_text(const struct flame_data *data, uint32_t text);
const struct flame_frame *flame_frame(const struct flame_data *data, uint32_t frame);
const struct flame_node *flame_node(const struct flame_data *data, uint32_t node);
const struct flame_sample *flame_sample(const struct flame_data *data, size_t sample);
const struct flame_row *flame_row(const struct flame_data *data, size_t row);
const struct flame_slice *flame_slice(const struct flame_data *data, size_t slice);
int64_t flame_value(const struct flame_data *data, size_t sample, size_t type);

/* The index of a value type, or -ENOENT. */
int flame_type(const struct flame_data *data, const char *type);

#endif
