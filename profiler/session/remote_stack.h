/* The stack of a thread that sleeps, read from outside: for sleeps whose stack was not copied when they
 * began. */
#ifndef STALLPROF_PROFILER_REMOTE_STACK_H
#define STALLPROF_PROFILER_REMOTE_STACK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Reads up to `size` bytes from `sp` upwards. `switches` is the thread's count of voluntary switches at the
 * sleep in question: when it has changed after the read, the bytes are of another moment and -EAGAIN comes
 * back. Else the number of bytes, or -errno.
 */
ssize_t remote_stack_read(uint32_t pid, uint32_t tid, uint64_t switches, uint64_t sp, void *buffer,
                          size_t size);

#endif
