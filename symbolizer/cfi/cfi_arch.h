/*
 * What unwinding has to know of a processor. Registers have DWARF's numbers of it (x86-64: psABI, 0 to 15 and 16
 * for the return address; aarch64: aadwarf64, x0 to x30, 31 sp, 32 pc).
 */
#ifndef SYMBOLIZER_CFI_ARCH_H
#define SYMBOLIZER_CFI_ARCH_H

#include <stdbool.h>
#include <stdint.h>

/* Room for the registers of any of them. */
#define CFI_MAX_REGISTERS 33

struct cfi_arch {
	uint16_t machine; /* EM_* */
	uint8_t pc;       /* its number, one above those that rules are for */
	uint8_t sp, fp;
	/*
	 * A call leaves the return address in the register that the CIE names, and leaf functions keep it
	 * there. False: it is pushed, and what the CIE names is the pc itself.
	 */
	bool has_link;
	/*
	 * The code to which the kernel has signal handlers return, where that has no rules (Linux leaves them out
	 * on aarch64, so that unwinders look for the code); and where from the stack pointer the interrupted
	 * registers are then, all of them by number. 0: it has rules.
	 */
	uint64_t sigreturn_code;
	uint16_t signal_registers;
	/* Of a return address that the program signed, these bits are the address (Linux: 48 of them). */
	uint64_t unsigned_bits;
};

extern const struct cfi_arch cfi_arch_x86_64, cfi_arch_aarch64;

/* NULL: not a processor that is unwound for. */
const struct cfi_arch *cfi_arch_of(uint16_t machine);

#endif
