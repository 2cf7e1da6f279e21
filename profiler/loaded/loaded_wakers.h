/*
 * What the label woken_by names: the class of the tag that the thread which ended a wait held, or, of a thread without any, its program. The label
 * does not say which of the two; the ledger has all classes of the recording, and what it has not is a program.
 *
 *     loaded_wakers_build(&wakers, input->ledger)
 *     loaded_waker_text(text, sizeof(text), &wakers, "loader", true)         "tag loader (program python3)"
 *     loaded_wakers_free(&wakers)
 */
#ifndef STALLPROF_PROFILER_LOADED_WAKERS_H
#define STALLPROF_PROFILER_LOADED_WAKERS_H

#include <stdbool.h>
#include <stddef.h>

struct ledger;

#define LOADED_PROGRAMS_MAX 2

/* A class of tags, and the programs of its processes, as far as these are known. */
struct loaded_waker {
	const char *class;
	bool base; /* the tag of a process, that nobody pushes: the thread held no other */
	const char *program[LOADED_PROGRAMS_MAX];
	size_t programs; /* how many there are; may be more */
};

struct loaded_wakers {
	struct loaded_waker *waker;
	size_t count;
};

/* Texts are the ledger's. 0 or -ENOMEM; only after 0 is there something to free. */
int loaded_wakers_build(struct loaded_wakers *wakers, struct ledger *ledger);
void loaded_wakers_free(struct loaded_wakers *wakers);

/* "tag", "program"; "": no classes are known, as of other programs' profiles. */
const char *loaded_waker_kind(const struct loaded_wakers *wakers, const char *woken_by);

/* "tag loader", "program sshd"; with `programs` also "tag loader (program python3)" and "tag train.py (program python3, a thread without a tag
 * of its own)". `wakers` NULL, or without classes: the name alone. Returns text. */
const char *loaded_waker_text(char *text, size_t size, const struct loaded_wakers *wakers,
                              const char *woken_by, bool programs);

#endif
