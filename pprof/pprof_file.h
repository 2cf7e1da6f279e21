/*
 * Profiles in files.
 *
 * All functions return 0 or -errno. On failure `err` has one line, without newline: what failed, where, and what
 * to do about it, if anything.
 */
#ifndef STALLPROF_PPROF_PPROF_FILE_H
#define STALLPROF_PPROF_PPROF_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "pprof/profile.h"

/* Reads a file, or a pipe to its end, gzip'd or plain; "/dev/stdin" is standard input from where it stands, whatever it is.
 * `max_bytes` as for profile_decode(), also for the file. */
int pprof_file_read(const char *path, size_t max_bytes, struct profile **out, char *err, size_t err_len);

/*
 * Writes the value types of the mask `types` (as in profile_encode()), gzip'd. At every moment `path` is either the
 * old file or the complete new one, on disk too: the new file is written beside it and renamed. It gets the
 * permissions of the file that it replaces; a symbolic link stays and its target is replaced. Devices and pipes are
 * written to as they are; so is a file that cannot be replaced, as it is mounted there by itself (a container's volume) or its folder is not
 * ours to write to: it is cut and written anew, and who reads it meanwhile, or after a failure or crash, finds a part.
 */
int pprof_file_write(const char *path, const struct profile *p, uint32_t types, char *err, size_t err_len);

/* The same with what profile_encode() has made, which may be written again when that fails. */
int pprof_file_write_bytes(const char *path, const void *bytes, size_t len, char *err, size_t err_len);

/* The same for a path that nothing is at: -EEXIST if something is, also what came while this was written. */
int pprof_file_write_new(const char *path, const void *bytes, size_t len, char *err, size_t err_len);

#endif
