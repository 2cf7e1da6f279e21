/* An event's registers as the unwinder has them. */
#ifndef STALLPROF_PROFILER_EVENT_REGS_H
#define STALLPROF_PROFILER_EVENT_REGS_H

#include "bpf/abi.h"
#include "symbolizer/types.h"

static inline void event_regs(struct sym_regs *to, const struct abi_regs *from)
{
	*to = (struct sym_regs){
		.ip = from->ip,
		.sp = from->sp,
		.bp = from->bp,
		.bx = from->bx,
		.r12 = from->r12,
		.r13 = from->r13,
		.r14 = from->r14,
		.r15 = from->r15,
		.ax = from->ax,
		.cx = from->cx,
		.dx = from->dx,
		.si = from->si,
		.di = from->di,
		.r8 = from->r8,
		.r9 = from->r9,
		.r10 = from->r10,
		.r11 = from->r11,
	};
}

#endif
