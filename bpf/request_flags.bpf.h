/* What the block layer says of a request in rq_flags. The bits have other numbers in other kernels; those before 6.10 have macros for
 * them, which BTF does not know. */
#ifndef STALLPROF_REQUEST_FLAGS_BPF_H
#define STALLPROF_REQUEST_FLAGS_BPF_H

#include "bpf/kernel.bpf.h"

/* Whatever they are here: CO-RE looks them up. */
enum rqf_flags { __RQF_FLUSH_SEQ = 1, __RQF_USE_SCHED, __RQF_IO_STAT, __RQF_STATS };

#define RQF_BIT(name) (1u << bpf_core_enum_value(enum rqf_flags, name))

/* When the request started; 0: that is not known, as its queue keeps no statistics (iostats), or it is a passthrough request. Newer kernels
 * (6.13) do not set `start_time_ns` then, so that it is of an earlier use. */
ALWAYS u64 request_start_ns(struct request *rq)
{
	u64 start_ns = BPF_CORE_READ(rq, start_time_ns);

	if (bpf_core_enum_value_exists(enum rqf_flags, __RQF_IO_STAT) &&
	    !(BPF_CORE_READ(rq, rq_flags) & RQF_BIT(__RQF_IO_STAT)))
		return 0;
	return start_ns;
}

/* Whether block_io_done will tell that the completion of the request is over. */
ALWAYS bool request_end_is_told(struct request *rq)
{
	if (bpf_core_enum_value_exists(enum rqf_flags, __RQF_IO_STAT))
		return rq->rq_flags &
		       (RQF_BIT(__RQF_IO_STAT) | RQF_BIT(__RQF_STATS) | RQF_BIT(__RQF_USE_SCHED));
	return rq->start_time_ns;
}

/* Whether the request's data is a part of a sequence with flushes: it completes once more behind that, and only then is its thread woken. */
ALWAYS bool completes_again(struct request *rq)
{
	u32 bit = 1u << 4; /* the macro's */

	if (bpf_core_enum_value_exists(enum rqf_flags, __RQF_FLUSH_SEQ))
		bit = RQF_BIT(__RQF_FLUSH_SEQ);
	return rq->rq_flags & bit;
}

/* Whether who waits for the request is woken behind the end of its completion: a passthrough command's, by a function of its own. */
ALWAYS bool wakes_behind_end(struct request *rq)
{
	return rq->end_io && !completes_again(rq);
}

#endif
