/*
 * USDT probes of our own, in the format that perf, bpftrace, libbpf and SystemTap read: a note in
 * .note.stapsdt that names the address of a nop, a 16-bit semaphore that counts the listeners, and the place
 * of each argument. https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation describes the note.
 *
 * The nop is one byte long, on purpose. Linux 6.18 turns a probed nop of five bytes into a call into a page that
 * forked children do not inherit. They do inherit the call, and die of SIGSEGV at their first change of tag. (Seen
 * on 6.18.44; tests/e2e/test_stalltag_readers forks under a live probe.) Data loaders fork.
 *
 * The arguments are in the first two argument registers of the calling convention at
 * the nop, so that a program on the probe can take them with PT_REGS_PARM1 and 2.
 *
 * Each probe must be in one function that is never inlined, so that it has one address per library.
 */
#ifndef STALLTAG_USDT_H
#define STALLTAG_USDT_H

#include <stdint.h>

#if defined(__x86_64__)
#define USDT_NOP   "nop\n"
#define USDT_ARG_1 "8@%%rdi"
#define USDT_ARG_2 "8@%%rdi 8@%%rsi"
#define USDT_REG_1 "rdi"
#define USDT_REG_2 "rsi"
#elif defined(__aarch64__)
#define USDT_NOP   "nop\n"
#define USDT_ARG_1 "8@x0"
#define USDT_ARG_2 "8@x0 8@x1"
#define USDT_REG_1 "x0"
#define USDT_REG_2 "x1"
#else
#error "stalltag knows the probe format of x86-64 and arm64 only"
#endif

/* Must lie in a file-backed, writable section of its own: the kernel counts listeners up in it. */
#define USDT_SEMAPHORE __attribute__((section(".probes"), used, visibility("hidden")))

#define USDT_SITE(provider, probe, semaphore, arguments)                                                     \
	"990:\n" USDT_NOP "	.pushsection .note.stapsdt, \"\", \"note\"\n"                                    \
	"	.balign 4\n"                                                                                       \
	"	.4byte 992f - 991f, 994f - 993f, 3\n"                                                              \
	"991:	.asciz \"stapsdt\"\n"                                                                          \
	"992:	.balign 4\n"                                                                                   \
	"993:	.8byte 990b\n"                                                                                 \
	"	.8byte _.stapsdt.base\n"                                                                           \
	"	.8byte " semaphore "\n"                                                                      \
	"	.asciz \"" provider "\"\n"                                                                   \
	"	.asciz \"" probe "\"\n"                                                                      \
	"	.asciz \"" arguments "\"\n"                                                                  \
	"994:	.balign 4\n"                                                                                   \
	"	.popsection\n"                                                                                     \
	"	.ifndef _.stapsdt.base\n"                                                                          \
	"	.pushsection .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat\n"                         \
	"	.weak _.stapsdt.base\n"                                                                            \
	"	.hidden _.stapsdt.base\n"                                                                          \
	"_.stapsdt.base:	.space 1\n"                                                                         \
	"	.size _.stapsdt.base, 1\n"                                                                         \
	"	.popsection\n"                                                                                     \
	"	.endif\n"

#define USDT_1(provider, probe, semaphore, a)                                                                \
	do {                                                                                                 \
		register uintptr_t usdt_a __asm__(USDT_REG_1) = (uintptr_t)(a);                              \
		__asm__ volatile(USDT_SITE(provider, probe, semaphore, USDT_ARG_1)::"r"(usdt_a) : "memory"); \
	} while (0)

#define USDT_2(provider, probe, semaphore, a, b)                                                             \
	do {                                                                                                 \
		register uintptr_t usdt_a __asm__(USDT_REG_1) = (uintptr_t)(a);                              \
		register uintptr_t usdt_b __asm__(USDT_REG_2) = (uintptr_t)(b);                              \
		__asm__ volatile(USDT_SITE(provider, probe, semaphore, USDT_ARG_2)::"r"(usdt_a), "r"(usdt_b) \
		                 : "memory");                                                                \
	} while (0)

#endif
