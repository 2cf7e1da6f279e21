/* Calculating so that the verifier can follow: with few ways through, and bounds that it sees. */
#ifndef STALLPROF_NUMBERS_BPF_H
#define STALLPROF_NUMBERS_BPF_H

#include "bpf/kernel.bpf.h"
#include "bpf/abi_known.h"

/* x, 0 if it is below that. Calculated, as the verifier follows both sides of a comparison with what it has learnt by it about x. */
ALWAYS u64 above_zero(s64 x)
{
	s64 mask = ~(x >> 63);

	barrier_var(mask); /* else the compiler makes a comparison of it */
	return x & mask;
}

/* Times lie less than 2^63 ns from each other. */
ALWAYS u64 since(u64 now, u64 then)
{
	return above_zero(now - then);
}

/* The shorter of two times, likewise. */
ALWAYS u64 shorter(u64 a, u64 b)
{
	return a - above_zero(a - b);
}

ALWAYS u64 at_most(u64 a, u64 b)
{
	return a < b ? a : b;
}

ALWAYS u32 bits_set(u64 x)
{
	x -= x >> 1 & 0x5555555555555555ULL;
	x = (x & 0x3333333333333333ULL) + (x >> 2 & 0x3333333333333333ULL);
	x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
	return x * 0x0101010101010101ULL >> 56;
}

/* `value`, cut to `max`, for lengths and offsets. The verifier of Linux 6.1 knows a bound only of the very register
 * that was compared, so the compiler must not compare a copy of it. */
ALWAYS u64 cut_to(u64 value, u64 max)
{
	barrier_var(value);
	return value <= max ? value : max;
}

/* The verifier neither calculates with pointers nor hands them to a function as a number. */
ALWAYS u64 as_number(const void *pointer)
{
	u64 kept = (u64)pointer, number = 0;

	bpf_probe_read_kernel(&number, sizeof(number), &kept);
	return number;
}

/* An argument of a module's tracepoint, as a plain number: newer verifiers take it for a pointer that may be NULL. */
#define ARGUMENT(pointer) ((typeof(pointer))as_number(pointer))

/* The lower half of the pointer, for a hash: after a move of 32 bits the verifier takes it for a number. */
ALWAYS u32 low_half(const void *pointer)
{
	u32 half;

	/* Else clang may load the half alone from the context, which the verifier refuses. */
	barrier_var(pointer);
	asm volatile("%0 = %1" : "=w"(half) : "w"((u32)(u64)pointer));
	return half;
}

/* Asks for the cache line of a map's value, which comes while the program goes on: to be done before the clock is read, as that waits for all
 * that was asked for, and what is asked for behind it is waited for once more. */
ALWAYS void fetch_early(const void *value)
{
	(void)*(const volatile u64 *)value;
}

ALWAYS u64 hash_mix(u64 hash, u64 word)
{
	return abi_hash_mix(hash, word);
}

#endif
