/*
 * What a push and its pop cost while nobody listens: ns a pair, the loop included (the empty loop says what that is). The
 * fastest of 400 runs: what else keeps the core busy, or its other thread, only adds. To be linked twice, with libstalltag.a and with libstalltag.so.
 * literal_N: a name of N bytes that is known when the caller is compiled; pointer_N: one found by strlen();
 * built_N: one of 16 that lie in memory as if they had been built at run time; sized_N: the same with the length that snprintf() told.
 *
 *	stalltag_push [--listening] [LABEL]	prints one JSON object
 *
 * --listening: somebody listens (stallprof record -- stalltag_push --listening), so that a pair takes longer, by other bounds: the
 * median of 7 runs. 16 ids come again and again then; fresh_40 is what it costs if no id ever does. Of CPU time, as the listener shares the machine. And
 * work_ratio: what is left of a loop's work, in CPU time, when its tag changes 100,000 times a second.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "stalltag/stalltag.h"

#define RUNS_MAX 400
#define RUNS     7 /* while somebody listens */

#define IDS 16

static uint64_t pairs = 20000;
static uint64_t id_mask = UINT64_MAX; /* which bits of a counter make the ids */
static clockid_t clock_used = CLOCK_MONOTONIC;

static const char *volatile name_16 = "shard_read/shard";
static const char *volatile name_40 = "checkpoint_write/run42/step80000/shard17";

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(clock_used, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void empty_loop(void)
{
	for (uint64_t i = 1; i <= pairs; i++)
		__asm__ volatile("" ::"r"(i) : "memory");
}

static void literal_16(void)
{
	for (uint64_t i = 1; i <= pairs; i++) {
		stalltag_push((i & id_mask) + 1, "shard_read/shard");
		stalltag_pop();
	}
}

static void literal_40(void)
{
	for (uint64_t i = 1; i <= pairs; i++) {
		stalltag_push((i & id_mask) + 1, "checkpoint_write/run42/step80000/shard17");
		stalltag_pop();
	}
}

static void pointer_16(void)
{
	for (uint64_t i = 1; i <= pairs; i++) {
		stalltag_push((i & id_mask) + 1, name_16);
		stalltag_pop();
	}
}

static void pointer_40(void)
{
	for (uint64_t i = 1; i <= pairs; i++) {
		stalltag_push((i & id_mask) + 1, name_40);
		stalltag_pop();
	}
}

static char built_names[IDS][64];
static size_t built_bytes[IDS];

static void build_names(void)
{
	for (int n = 0; n < IDS; n++)
		built_bytes[n] = (size_t)snprintf(built_names[n], sizeof(built_names[n]),
		                                  "checkpoint_write/run42/step800%02d/shard17", n);
}

static void built_40(void)
{
	build_names();
	for (uint64_t i = 1; i <= pairs; i++) {
		stalltag_push((i & id_mask) + 1, built_names[i % IDS]);
		stalltag_pop();
	}
}

static void sized_40(void)
{
	build_names();
	for (uint64_t i = 1; i <= pairs; i++) {
		stalltag_push_sized((i & id_mask) + 1, built_names[i % IDS], built_bytes[i % IDS]);
		stalltag_pop();
	}
}

/* No id comes again. */
static void fresh_40(void)
{
	static uint64_t id = 1000;

	for (uint64_t i = 0; i < pairs; i++) {
		stalltag_push(id++, "checkpoint_write/run42/step80000/shard17");
		stalltag_pop();
	}
}

/* As from a shared library or by a foreign function interface: nothing is inlined. */
static void called_40(void)
{
	void (*volatile push)(uint64_t, const char *) = stalltag_push;
	void (*volatile pop)(void) = stalltag_pop;

	for (uint64_t i = 1; i <= pairs; i++) {
		push((i & id_mask) + 1, name_40);
		pop();
	}
}

static void nested_40(void)
{
	stalltag_push(1, "epoch/7");
	literal_40();
	stalltag_pop();
}

static int by_value(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static const struct {
	const char *label;
	void (*run)(void);
} cases[] = {
	{ "empty_loop", empty_loop }, { "literal_16", literal_16 }, { "literal_40", literal_40 },
	{ "pointer_16", pointer_16 }, { "pointer_40", pointer_40 }, { "nested_literal_40", nested_40 },
	{ "built_40", built_40 },     { "sized_40", sized_40 },     { "called_40", called_40 },
	{ "fresh_40", fresh_40 },
};

#define CASES (sizeof(cases) / sizeof(cases[0]))

#define WORK_ROUNDS   20000
#define WORK_TAGGED   10000 /* ns between two changes */
#define WORK_REQUIRED 0.98

static void work(void)
{
	for (uint64_t i = 0; i < 10000; i++)
		__asm__ volatile("" ::"r"(i) : "memory");
}

/* CPU time of the loop's work; `changes`: how often its tag changes in each round. */
static double work_ns(double changes)
{
	double due = 0, began = now_ns();
	bool pushed = false;

	for (int round = 0; round < WORK_ROUNDS; round++) {
		work();
		for (due += changes; due >= 1; due--, pushed = !pushed) {
			if (pushed)
				stalltag_pop();
			else
				stalltag_push((uint64_t)(round % IDS) + 1, "work/part");
		}
	}
	if (pushed)
		stalltag_pop();
	return now_ns() - began;
}

/* Alone and tagged in turns, the medians compared. */
static void print_work(void)
{
	double alone[RUNS], tagged[RUNS], changes = work_ns(0) / WORK_ROUNDS / WORK_TAGGED;

	for (int run = 0; run < RUNS; run++) {
		alone[run] = work_ns(0);
		tagged[run] = work_ns(changes);
	}
	qsort(alone, RUNS, sizeof(alone[0]), by_value);
	qsort(tagged, RUNS, sizeof(tagged[0]), by_value);
	printf(", \"work_alone_ns\": %.2f, \"work_tagged_ns\": %.2f, \"work_ratio\": %.4f, "
	       "\"required_work_ratio\": %.2f",
	       alone[RUNS / 2] / WORK_ROUNDS, tagged[RUNS / 2] / WORK_ROUNDS,
	       alone[RUNS / 2] / tagged[RUNS / 2], WORK_REQUIRED);
}

int main(int argc, char **argv)
{
	bool listening = argc > 1 && !strcmp(argv[1], "--listening");
	const char *label = argc > 1 + listening ? argv[1 + listening] : "";
	int runs = listening ? RUNS : RUNS_MAX;
	static double ns[CASES][RUNS_MAX];

	if (listening) {
		pairs = 50000;
		id_mask = IDS - 1;
		clock_used = CLOCK_THREAD_CPUTIME_ID;
	}
	stalltag_push(1, "warm up");
	stalltag_pop();
	for (int run = 0; run < runs; run++) {
		for (size_t i = 0; i < CASES; i++) {
			double began = now_ns();

			cases[i].run();
			ns[i][run] = (now_ns() - began) / (double)pairs;
		}
	}
	printf("{\"linked\": \"%s\", \"runs\": %d, \"pairs\": %" PRIu64 ", \"required_ns\": %d", label, runs,
	       pairs, listening ? 100 : 5);
	for (size_t i = 0; i < CASES; i++) {
		qsort(ns[i], (size_t)runs, sizeof(ns[i][0]), by_value);
		printf(", \"%s_ns\": %.2f", cases[i].label, ns[i][listening ? runs / 2 : 0]);
	}
	if (listening)
		print_work();
	printf("}\n");
	return 0;
}
