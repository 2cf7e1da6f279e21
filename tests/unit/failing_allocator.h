/*
 * malloc, calloc, realloc, strdup and free of the code under test, for a test linked with -Wl,--wrap of each: the n-th
 * allocation fails, and what was allocated and not freed is counted. What the C library allocates for itself is not seen.
 */
#ifndef TESTS_UNIT_FAILING_ALLOCATOR_H
#define TESTS_UNIT_FAILING_ALLOCATOR_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LIVE_MAX (1u << 18) /* a power of two */

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
char *__real_strdup(const char *text);
void __real_free(void *block);

static uintptr_t live[LIVE_MAX]; /* open addressing; 0: free, 1: was used */
static size_t n_live;
static unsigned long n_allocations, fails_at; /* 0: none fails */
static bool has_failed;

static size_t place_of(uintptr_t block)
{
	size_t at = block * UINT64_C(0x9e3779b97f4a7c15) >> 46;

	while (live[at] && live[at] != block)
		at = (at + 1) % LIVE_MAX;
	return at;
}

static void *note(void *block)
{
	if (block) {
		live[place_of((uintptr_t)block)] = (uintptr_t)block;
		n_live++;
	}
	return block;
}

static void forget(uintptr_t block)
{
	size_t at = block ? place_of(block) : 0;

	if (block && live[at] == block) {
		live[at] = 1;
		n_live--;
	}
}

/* Between two runs nothing may be live. */
static void forget_all(void)
{
	memset(live, 0, sizeof(live));
	n_live = 0;
}

static bool fails(void)
{
	if (++n_allocations != fails_at)
		return false;
	has_failed = true;
	errno = ENOMEM;
	return true;
}

void *__wrap_malloc(size_t bytes)
{
	return fails() ? NULL : note(__real_malloc(bytes));
}

void *__wrap_calloc(size_t n, size_t bytes)
{
	return fails() ? NULL : note(__real_calloc(n, bytes));
}

void *__wrap_realloc(void *old, size_t bytes)
{
	uintptr_t before = (uintptr_t)old;
	void *block;

	if (fails())
		return NULL;
	block = __real_realloc(old, bytes);
	if (block)
		forget(before);
	return note(block);
}

char *__wrap_strdup(const char *text)
{
	return fails() ? NULL : note(__real_strdup(text));
}

void __wrap_free(void *block)
{
	forget((uintptr_t)block);
	__real_free(block);
}

#endif
