/*
 * What a push and its pop cost while nobody listens: median of 7 runs, ns a pair, the loop included (the empty
 * loop says what that is). To be linked twice, with libstalltag.a and with libstalltag.so.
 * literal_N: a name of N bytes that is known when the caller is compiled; pointer_N: one found by strlen().
 *
 *	stalltag_push [--listening] [LABEL]	prints one JSON object
 *
 * --listening: somebody listens (stallprof record -- stalltag_push --listening), so that a pair takes longer, by other bounds.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "stalltag/stalltag.h"

#define RUNS 7

static uint64_t pairs = 5000000;

static const char *volatile name_16 = "shard_read/shard";
static const char *volatile name_40 = "checkpoint_write/run42/step80000/shard17";

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
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
		stalltag_push(i, "shard_read/shard");
		stalltag_pop();
	}
}

static void literal_40(void)
{
	for (uint64_t i = 1; i <= pairs; i++) {
		stalltag_push(i, "checkpoint_write/run42/step80000/shard17");
		stalltag_pop();
	}
}

static void pointer_16(void)
{
	for (uint64_t i = 1; i <= pairs; i++) {
		stalltag_push(i, name_16);
		stalltag_pop();
	}
}

static void pointer_40(void)
{
	for (uint64_t i = 1; i <= pairs; i++) {
		stalltag_push(i, name_40);
		stalltag_pop();
	}
}

/* As from a shared library or by a foreign function interface: nothing is inlined. */
static void called_40(void)
{
	void (*volatile push)(uint64_t, const char *) = stalltag_push;
	void (*volatile pop)(void) = stalltag_pop;

	for (uint64_t i = 1; i <= pairs; i++) {
		push(i, name_40);
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
	{ "called_40", called_40 },
};

#define CASES (sizeof(cases) / sizeof(cases[0]))

int main(int argc, char **argv)
{
	bool listening = argc > 1 && !strcmp(argv[1], "--listening");
	const char *label = argc > 1 + listening ? argv[1 + listening] : "";
	double ns[CASES][RUNS];

	if (listening)
		pairs = 5000;
	stalltag_push(1, "warm up");
	stalltag_pop();
	for (int run = 0; run < RUNS; run++) {
		for (size_t i = 0; i < CASES; i++) {
			double began = now_ns();

			cases[i].run();
			ns[i][run] = (now_ns() - began) / (double)pairs;
		}
	}
	printf("{\"linked\": \"%s\", \"runs\": %d, \"pairs\": %" PRIu64 ", \"required_ns\": %d", label, RUNS,
	       pairs, listening ? 100 : 5);
	for (size_t i = 0; i < CASES; i++) {
		qsort(ns[i], RUNS, sizeof(ns[i][0]), by_value);
		printf(", \"%s_ns\": %.2f", cases[i].label, ns[i][RUNS / 2]);
	}
	printf("}\n");
	return 0;
}
