/* Register numbers and calling conventions of x86-64 and aarch64. */

#include "symbolizer/cfi/cfi_arch.h"

#include <elf.h>
#include <stddef.h>

const struct cfi_arch cfi_arch_x86_64 = {
	.machine = EM_X86_64, .pc = 16, .sp = 7, .fp = 6, .unsigned_bits = UINT64_MAX
};

const struct cfi_arch cfi_arch_aarch64 = { .machine = EM_AARCH64,
	                                   .pc = 32,
	                                   .sp = 31,
	                                   .fp = 29,
	                                   .has_link = true,
	                                   /* mov x8, 139; svc 0 */
	                                   .sigreturn_code = 0xd4000001d2801168,
	                                   /* siginfo_t, ucontext_t up to uc_mcontext, fault_address */
	                                   .signal_registers = 128 + 176 + 8,
	                                   .unsigned_bits = ((uint64_t)1 << 48) - 1 };

const struct cfi_arch *cfi_arch_of(uint16_t machine)
{
	switch (machine) {
	case EM_X86_64:
		return &cfi_arch_x86_64;
	case EM_AARCH64:
		return &cfi_arch_aarch64;
	default:
		return NULL;
	}
}
