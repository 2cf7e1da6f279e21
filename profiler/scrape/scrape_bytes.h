/*
 * Bytes that are finished and that nobody changes any more, shared by those who hold them: what was made at the end of
 * a window is sent by the HTTP thread while the next window replaces it.
 */
#ifndef STALLPROF_PROFILER_SCRAPE_BYTES_H
#define STALLPROF_PROFILER_SCRAPE_BYTES_H

#include <stddef.h>

struct scrape_bytes;

/* Takes over `data`, which was malloc'd, also when it fails. One holder: the caller. NULL: no memory. */
struct scrape_bytes *scrape_bytes_new(void *data, size_t length);
/* A copy of a text, without its NUL. */
struct scrape_bytes *scrape_bytes_text(const char *text);

/* One holder more. Gives `bytes`; takes NULL. */
struct scrape_bytes *scrape_bytes_hold(struct scrape_bytes *bytes);
/* One holder less; the last one frees them. Takes NULL. By any thread. */
void scrape_bytes_drop(struct scrape_bytes *bytes);

const void *scrape_bytes_data(const struct scrape_bytes *bytes);
size_t scrape_bytes_length(const struct scrape_bytes *bytes);

#endif
