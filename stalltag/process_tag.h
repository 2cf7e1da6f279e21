/*
 * The tag of a whole process tree, for programs that do not push tags themselves: `stallprof tag` sets it on itself
 * and then executes the command.
 *
 * It is passed on in two ways. The environment variable STALLPROF_TAG, "<id in decimal> <name>", is in
 * /proc/PID/environ of everything executed from then on (not of the caller itself: the kernel shows the environment
 * that a program was started with), so that an agent which starts later finds it, or one that is told too late of the
 * file which set it. And the USDT probe
 * stalltag:process (id in the first argument register, pointer to the name in the second) tells an agent that runs
 * already, which tags the calling task at once; its children inherit that.
 */
#ifndef STALLTAG_PROCESS_TAG_H
#define STALLTAG_PROCESS_TAG_H

#include <stddef.h>
#include <stdint.h>

#include "stalltag/stalltag.h"

#ifdef __cplusplus
extern "C" {
#endif

#define STALLTAG_PROCESS_ENV "STALLPROF_TAG"

/*
 * Call it in the process that is to be tagged, from its only thread. -EINVAL: no name, or a control character
 * in it; -ENAMETOOLONG: longer than STALLTAG_NAME_MAX bytes; -ENOMEM.
 */
int stalltag_process_set(uint64_t id, const char *name);

/*
 * Reads a value of STALLPROF_TAG back. name gets at most size bytes, the NUL included; STALLTAG_NAME_MAX + 1
 * are always enough. -EINVAL: not of that form; -ERANGE: the id is beyond 64 bits; -ENAMETOOLONG: the name is
 * longer than STALLTAG_NAME_MAX or does not fit. On failure nothing is written.
 */
int stalltag_process_parse(const char *value, uint64_t *id, char *name, size_t size);

#ifdef __cplusplus
}
#endif

#endif
