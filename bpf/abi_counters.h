/* The counters of the BPF programs, as a part of bpf/abi.h. */
#ifndef STALLPROF_ABI_COUNTERS_H
#define STALLPROF_ABI_COUNTERS_H

/* Losses and oddities, each shown to the user by its name. */
#define ABI_COUNTERS(X)                                                                                      \
	X(ring_full, "events lost because the ring buffer was full")                                         \
	X(ring_full_ns, "nanoseconds of stalls whose stack was lost that way")                               \
	X(ledger_full, "ledger rows that did not fit, or could not be added just then")                      \
	X(ledger_full_ns, "nanoseconds that are in no ledger row for that reason")                           \
	X(tags_full, "tags whose name did not fit")                                                          \
	X(tags_too_deep, "pushes beyond 32 tags of a thread, whose time is in the tag at that depth")        \
	X(tag_names_cut, "pushes of a name longer than 255 bytes, which was cut")                            \
	X(tag_pops_stray, "pops without a push")                                                             \
	X(tags_without_memory, "pushes of threads that had no memory for tags")                              \
	X(threads_failed, "tagged threads for which no storage could be had")                                \
	X(threads_busy, "times a tagged thread was not found, as its CPU was at another's storage")          \
	X(slots_exhausted, "stalls without a user stack because too many threads waited at once")            \
	X(slots_lost, "stack buffers that could not be given back")                                          \
	X(stacks_not_copied,                                                                                 \
	  "kept waits whose user stack was not copied: not expected, or shorter than foreseen")              \
	X(stacks_truncated, "user stacks longer than the copy")                                              \
	X(stacks_faulted, "user stacks with pages that could not be read")                                   \
	X(python_frames, "Python frames that came with stacks")                                              \
	X(python_stacks_cut, "stacks with more Python frames than are sent")                                 \
	X(python_stacks_faulted, "stacks whose Python frames could not be read to the end")                  \
	X(python_threads_unseen, "stacks whose thread was not found in the interpreter's long list")         \
	X(contexts_kept, "times a thread context that was known could not be read any more: it stands")      \
	X(contexts_unreadable, "thread contexts that could not be read or made no sense")                    \
	X(tag_logs_unreadable, "times a thread's log of tag changes could not be read")                      \
	X(tag_changes_lost, "tag changes that were overwritten in a thread's log before they were read")     \
	X(wakes_unseen, "I/O waits whose wake was not seen, so that nobody was followed")                    \
	X(iowaits_unexplained, "sleeps that the kernel flags as I/O, with nothing that says which: "         \
	                       "blocked, or undecided if they began before the recording")                   \
	X(switch_ins_unseen,                                                                                 \
	  "times a thread ran without its switch-in being seen, so that its wait has no stack")              \
	X(follow_full, "wakes or requests that could not be followed because a table was full")              \
	X(device_unknown, "I/O waits whose request was not seen, so the device is unknown")                  \
	X(samples_skipped_ns, "nanoseconds that tagged threads ran without the samples that were due")       \
	X(cpu_samples_left_out,                                                                              \
	  "samples of CPUs that were left out, being too many: the others stand for them")                   \
	X(requests_unseen,                                                                                   \
	  "requests whose end was not seen, or whose tag was forgotten for another request's")               \
	X(dirty_forgotten,                                                                                   \
	  "files made dirty under a tag that more such files pushed out: what writes them later has no tag") \
	X(gpu_jobs_unseen, "jobs of GPUs that are in no row: too many at once, or the ring buffer was full") \
	X(file_events_lost,                                                                                  \
	  "events of tagged files that found no room in their ring, and files in the table")                 \
	X(file_xattrs_unasked, "opened files of which it was not asked whether they have the xattr, being "  \
	                       "too many at once: they are when they are opened again")                      \
	X(swiotlb_full, "DMA maps that found no room in the bounce buffers")                                 \
	X(iommu_faults, "accesses of devices that an IOMMU refused")

enum abi_counter {
#define ABI_COUNTER_ENUM(name, help) ABI_COUNT_##name,
	ABI_COUNTERS(ABI_COUNTER_ENUM)
#undef ABI_COUNTER_ENUM
	        ABI_COUNTER_MAX
};

#endif
