/* Register numbers and calling conventions of x86-64 and aarch64. */

#include "symbolizer/cfi/cfi_arch.h"

#include <elf.h>
#include <stddef.h>

/* As struct sigcontext has them: r8 to r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip. */
static const uint8_t x86_64_signal_order[] = { 8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7, 16 };

const struct cfi_arch cfi_arch_x86_64 = {
	.machine = EM_X86_64,
	.pc = 16,
	.sp = 7,
	.fp = 6,
	/* mov $15,%rax, or %eax; syscall */
	.sigreturn = { { 9, { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 } },
	               { 7, { 0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05 } } },
	.ucontext = 0,
	/* UC_SIGCONTEXT_SS, UC_STRICT_RESTORE_SS, and UC_FP_XSTATE where there is XSAVE */
	.uc_flags_least = 6,
	.uc_flags_most = 7,
	/* behind uc_flags, uc_link and uc_stack */
	.signal_registers = 8 + 8 + 24,
	.n_signal = sizeof(x86_64_signal_order),
	.signal_order = x86_64_signal_order,
	.unsigned_bits = UINT64_MAX
};

const struct cfi_arch cfi_arch_aarch64 = { .machine = EM_AARCH64,
	                                   .pc = 32,
	                                   .sp = 31,
	                                   .fp = 29,
	                                   .has_link = true,
	                                   /* mov x8, 139; svc 0 */
	                                   .sigreturn = { { 8,
	                                                    { 0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4 } } },
	                                   /* behind siginfo_t */
	                                   .ucontext = 128,
	                                   /* siginfo_t, ucontext_t up to uc_mcontext, fault_address */
	                                   .signal_registers = 128 + 176 + 8,
	                                   .n_signal = 33,
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
