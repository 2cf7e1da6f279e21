/*
 * A window (push_window.h) as the bytes of a file in the spool, and back. All numbers are little-endian; texts have no
 * zero at their end.
 *
 *     "stallspl"                                  8 bytes
 *     version                                     u32: SPOOL_FILE_VERSION
 *     length and CRC-32 of the content            u32 u32
 *     progress: at, unanswered, failed, CRC-32    u32 u32 u32 u32, of the three before it
 *   content:
 *     number of labels; each: name, value         u32; u32 length, bytes, u32 length, bytes
 *     number of requests; each: series, body      u32; u32 length, bytes, u32 length, bytes
 *
 * The progress is what changes while the window is sent, and is written in place: which request is the next, how many tries of
 * that one the server may have taken, whether a part of the window is lost. Neither the server's URL nor any credential
 * is in it.
 *
 * Decoding trusts nothing: of bytes that were cut, damaged or made up, it says what is wrong.
 */
#ifndef STALLPROF_PROFILER_SPOOL_FILE_H
#define STALLPROF_PROFILER_SPOOL_FILE_H

#include <stddef.h>
#include <stdint.h>

struct push_window;

#define SPOOL_FILE_VERSION    1
#define SPOOL_FILE_MAX        ((size_t)64 << 20) /* a larger window is not put into the spool */
#define SPOOL_REQUESTS_MAX    10000
#define SPOOL_PROGRESS_OFFSET 20
#define SPOOL_PROGRESS_BYTES  16

/* 0 with bytes to be freed; -ENOMEM; -EFBIG: one of the above bounds; -EINVAL: the window has no request. */
int spool_file_encode(const struct push_window *window, uint8_t **bytes, size_t *len);

/* The progress alone, for SPOOL_PROGRESS_OFFSET. */
void spool_file_progress(const struct push_window *window, uint8_t progress[SPOOL_PROGRESS_BYTES]);

/*
 * Fills in labels and requests of a window that has none, and its progress if that is further than what it has. 0; -ENOMEM; -EBADMSG with a few words in *fault. On
 * failure the window is as it was. Takes `len` of memory, and 2 MiB more at most.
 */
int spool_file_decode(const uint8_t *bytes, size_t len, struct push_window *window, const char **fault);

#endif
