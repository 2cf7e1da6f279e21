/*
 * Samples as they are looked at: what their labels say, whose tag they belong to, and whether the user
 * asked for them.
 */
#ifndef STALLPROF_PROFILER_LOADED_SAMPLE_H
#define STALLPROF_PROFILER_LOADED_SAMPLE_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pprof/profile.h"

struct ledger_row;
struct loaded_profiles;

/* The ledger's tags, by name and id: ids alone are shared. */
struct loaded_tags;

/* NULL with errno ENOMEM. input must outlive it. */
struct loaded_tags *loaded_tags_new(const struct loaded_profiles *input);
void loaded_tags_free(struct loaded_tags *tags);

/* Texts are "" where the sample has no such label. */
struct loaded_sample {
	struct profile_sample_view view;
	const char *tag;      /* the full name if the ledger knows it, else the class */
	const char *class;    /* label ai_tag */
	const char *id;       /* label span_id, 16 hex digits */
	const char *trace_id; /* 32 hex digits */
	const char *stall;
	const char *device;
	const char *
	        waker; /* label woken_by: the class, or the name, of the thread that ended a wait that is no stall */
	/* Labels inherited_*: what such a wait was for, through the one that ended it: whose wait that is, for what, on which device. */
	const char *inherited_from, *inherited_stall, *inherited_device;
	int64_t pid;                  /* 0: not known */
	const struct ledger_row *row; /* one of its tag; NULL: the ledger has none */
	bool is_wait;                 /* blocked by what is no stall: `stall` says the kind */
};

/* Fills `sample`. False: there is no sample with this index. */
bool loaded_sample_get(const struct loaded_profiles *input, const struct loaded_tags *tags, size_t index,
                       struct loaded_sample *sample);

/* Label inherited_stall where the thread was on a CPU, waited for one, or waited too shortly to be sampled. */
#define LOADED_ACTIVE "active"

/* "block_io on vda of loader", "loader active"; "": the sample inherits nothing. Returns text. */
const char *loaded_inherited_text(char *text, size_t size, const char *stall, const char *device,
                                  const char *from);

/* What the user asked for; NULL: all. tag is a class, a full name or a path that names begin with, an id of 16 hex
 * digits, or id=N. stall is a cause, a kind of wait, or LOADED_BLOCKED for all of those; without it waits that are no
 * stalls are left out unless `waits` says otherwise. */
struct loaded_filter {
	const char *tag;
	const char *stall;
	bool waits;
	const regex_t *focus;  /* a function, a file or a "function file:line" of the stack must match */
	const regex_t *ignore; /* none may */
};

/* The kind of a wait that is no stall, from 0 to ABI_WAIT_KINDS - 1, by its name; -1: it is none. */
int loaded_wait_kind(const char *stall);

#define LOADED_BLOCKED   "blocked"
#define LOADED_UNDECIDED "undecided" /* a wait that is not over and may turn out to be a stall */

bool loaded_filter_sample(const struct loaded_filter *filter, const struct loaded_profiles *input,
                          const struct loaded_sample *sample);
/* Filters by tag only, as a stall's share is of the tag's whole wall time. */
bool loaded_filter_row(const struct loaded_filter *filter, const struct ledger_row *row);
/* Filters by stall only. */
bool loaded_filter_cause(const struct loaded_filter *filter, const struct ledger_row *row);

#endif
