/* Reads the stack of a thread from outside (late_stack.h). */
#ifndef STALLPROF_PROFILER_REMOTE_STACK_H
#define STALLPROF_PROFILER_REMOTE_STACK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Reads up to `size` bytes from `sp` upwards, as far as pages are in memory or in swap. `switches` is the thread's count of voluntary switches at the sleep
 * in question. Returns the number of bytes; -EAGAIN if the count differs after the read, as the bytes are then of
 * another moment; or -errno.
 */
ssize_t remote_stack_read(uint32_t pid, uint32_t tid, uint64_t switches, uint64_t sp, void *buffer,
                          size_t size);

/* Reads up to `size` bytes from `at` upwards, as far as pages are mapped that can be read without waiting (remote_pages.h), whatever the thread
 * does meanwhile. Returns the number of bytes, or -errno: -EFAULT when there are none. */
ssize_t remote_stack_pages(uint32_t pid, uint64_t at, void *buffer, size_t size);

#endif
