/* gzip in memory. */
#ifndef STALLPROF_PPROF_GZIP_H
#define STALLPROF_PPROF_GZIP_H

#include <stdbool.h>
#include <stddef.h>

bool pprof_is_gzip(const void *buf, size_t len);

/* *out is malloc'd. The same bytes in give the same bytes out. -ENOMEM, -EFBIG (above 2 GiB). */
int pprof_gzip_pack(const void *in, size_t len, void **out, size_t *out_len);

/*
 * Unpacks all members of `in`; *out is malloc'd. -ENOSPC: more than max_bytes would come out (nothing beyond
 * that is unpacked); -EBADMSG: damaged, *what says how; -ENOMEM.
 */
int pprof_gzip_unpack(const void *in, size_t len, size_t max_bytes, void **out, size_t *out_len,
                      const char **what);

#endif
