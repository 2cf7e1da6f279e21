/*
 * frames SHAPE: ways down through frames of one shape each, for gdb to step through; without an argument one after
 * the other. Ends by itself.
 */
#include <alloca.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

static volatile int sink;
static jmp_buf back;

NOINLINE static int leaf(int n)
{
	return n * 3 + sink;
}

/* Saves every register that a function may have to. */
NOINLINE static int many_registers(int a, int b, int c, int d, int e, int f)
{
	int g = leaf(a), h = leaf(b), i = leaf(c), j = leaf(d), k = leaf(e), l = leaf(f);

	sink = g;
	return leaf(g * h + i * j - k * l) + leaf(a + b + c + d + e + f + g) + h + i + j + k + l;
}

NOINLINE static int with_alloca(int n)
{
	char *space = alloca((size_t)n * 16 + 1);

	memset(space, n, (size_t)n * 16);
	sink += space[n];
	return leaf(n) + space[n / 2];
}

/* Bigger than a page, so that the compiler may probe it step by step. */
NOINLINE static int large(int n)
{
	volatile char space[70000];

	space[n] = 1;
	space[69999 - n] = (char)leaf(n);
	return space[n] + space[69999 - n];
}

NOINLINE static int realigned(int n)
{
	volatile char space[256] __attribute__((aligned(128)));

	space[n] = 1;
	return with_alloca(n) + space[n];
}

/* Aligned, of a size known at run time only, and with arguments on the stack: all need a register of their own. */
NOINLINE static int realigned_dynamic(int a, int b, int c, int d, int e, int f, int g, int h)
{
	volatile char fixed[64] __attribute__((aligned(64)));
	char *space = alloca((size_t)(g + h) * 8);

	memset(space, a, (size_t)g);
	fixed[b] = space[c];
	return many_registers(a, b, c, d, e, f) + fixed[b] + h + space[g - 1];
}

NOINLINE static int variadic(int n, ...)
{
	va_list list;
	double sum = 0;

	va_start(list, n);
	while (n--)
		sum += va_arg(list, double);
	va_end(list);
	return leaf((int)sum);
}

NOINLINE static int tail_callee(int n)
{
	return leaf(n + 1) + leaf(n);
}

NOINLINE static int tail_caller(int n)
{
	sink += leaf(n);
	return tail_callee(n + sink);
}

NOINLINE __attribute__((noreturn)) static void leave(int n)
{
	sink = leaf(n);
	longjmp(back, 1);
}

/* Its last instruction is the call, so the return address belongs to another function. */
NOINLINE __attribute__((noreturn)) static void ends_in_a_call(int n)
{
	sink += leaf(n);
	leave(n);
}

NOINLINE static int behind_the_end(int n)
{
	if (!setjmp(back))
		ends_in_a_call(n);
	return leaf(n);
}

/* The part of it that is hardly ever needed lies elsewhere. */
__attribute__((cold)) NOINLINE static int seldom(int n)
{
	return leaf(n);
}

NOINLINE static int with_cold_part(int n)
{
	if (__builtin_expect(sink > n, 0)) {
		sink += seldom(n) + n;
		sink *= seldom(n + 1);
		return seldom(sink) - 1;
	}
	return leaf(n) + 1;
}

NOINLINE static int recursive(int n)
{
	volatile char space[200];
	int result;

	space[n % 200] = (char)n;
	result = n ? recursive(n - 1) : leaf(3);
	return result + space[n % 200];
}

static int compare(const void *a, const void *b)
{
	return leaf(*(const int *)a) - leaf(*(const int *)b);
}

NOINLINE static int sorted(int n)
{
	int values[8] = { 5, 3, 7, 1, 8, 2, 6, n };

	qsort(values, 8, sizeof(*values), compare);
	return values[0];
}

/* By way of the PLT, of which the first needs the address found, and the other does not. */
NOINLINE static int through_plt(int n)
{
	sink += (int)strtol("17", NULL, 10);
	sink += (int)strtol("18", NULL, 10);
	return abs(n) + sink;
}

NOINLINE static int cold(int n)
{
	sink = 10;
	return with_cold_part(n);
}

NOINLINE static int registers(int n)
{
	return many_registers(1, 2, 3, 4, 5, n);
}

NOINLINE static int dynamic(int n)
{
	return realigned_dynamic(1, 2, 3, 4, 5, 6, 7, n);
}

NOINLINE static int floating(int n)
{
	return variadic(3, 1.0, 2.0, (double)n);
}

static const struct shape {
	const char *name;
	int (*go)(int n);
	int argument;
} shapes[] = { { "registers", registers, 6 }, { "alloca", with_alloca, 7 },
	       { "large", large, 7 },         { "realigned", realigned, 7 },
	       { "dynamic", dynamic, 8 },     { "variadic", floating, 3 },
	       { "tail", tail_caller, 4 },    { "noreturn", behind_the_end, 4 },
	       { "cold", cold, 4 },           { "qsort", sorted, 4 },
	       { "plt", through_plt, 4 },     { "recursive", recursive, 3000 } };

int main(int argc, char **argv)
{
	const char *wanted = argc > 1 ? argv[1] : "all";
	size_t i;

	for (i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
		if (strcmp(wanted, "all") == 0 || strcmp(wanted, shapes[i].name) == 0)
			sink = shapes[i].go(shapes[i].argument) + 1;
	return 0;
}
