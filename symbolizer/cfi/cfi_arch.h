/*
 * What unwinding has to know about a processor. Registers have DWARF's numbers (x86-64: psABI, 0 to 15 and 16
 * for the return address; aarch64: aadwarf64, x0 to x30, 31 sp, 32 pc).
 */
#ifndef SYMBOLIZER_CFI_ARCH_H
#define SYMBOLIZER_CFI_ARCH_H

#include <stdbool.h>
#include <stdint.h>

/* The most registers that any of them has. */
#define CFI_MAX_REGISTERS 33

struct cfi_arch {
	uint16_t machine; /* EM_* */
	uint8_t pc;       /* number of the pc: one above the registers that have rules */
	uint8_t sp, fp;
	/*
	 * A call leaves the return address in the register that the CIE names, and leaf functions keep it
	 * there. False: it is pushed, and what the CIE names is the pc itself.
	 */
	bool has_link;
	/*
	 * What signal handlers return to may have no rules: Linux has none for it on aarch64, and musl none on x86-64. It is
	 * recognised by its instructions, one sequence or another (length 0: none).
	 */
	struct cfi_sigreturn {
		uint8_t length, code[9];
	} sigreturn[2];
	/* Offsets from the stack pointer there: of the ucontext_t, and of the interrupted registers, n_signal of them, by number or in an order. */
	uint16_t ucontext, signal_registers;
	uint8_t uc_flags_least, uc_flags_most; /* what the kernel sets in uc_flags */
	uint8_t n_signal;
	const uint8_t *signal_order; /* NULL: by number */
	/* The bits of a signed return address that are the address (Linux: 48 of them). */
	uint64_t unsigned_bits;
};

extern const struct cfi_arch cfi_arch_x86_64, cfi_arch_aarch64;

/* NULL: none of these processors. */
const struct cfi_arch *cfi_arch_of(uint16_t machine);

#endif
