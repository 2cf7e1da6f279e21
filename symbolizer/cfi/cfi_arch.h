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
	 * The instructions that signal handlers return to, if they have no rules (on aarch64 Linux leaves these out:
	 * unwinders have to recognise the code), and the offset from the stack pointer at which the interrupted
	 * registers then are, all of them by number. 0: they have rules.
	 */
	uint64_t sigreturn_code;
	uint16_t signal_registers;
	/* The bits of a signed return address that are the address (Linux: 48 of them). */
	uint64_t unsigned_bits;
};

extern const struct cfi_arch cfi_arch_x86_64, cfi_arch_aarch64;

/* NULL: none of these processors. */
const struct cfi_arch *cfi_arch_of(uint16_t machine);

#endif
