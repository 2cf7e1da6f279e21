/*
 * Whose requests the devices served: of each device that served a tag, its classes in order of the time that their
 * requests took, beside what is of no tag.
 *
 *     Whose requests the devices served, and how long one took:
 *       vda  checkpoint_write  812 MiB written in 1204, mean 31.7 ms, 75.2 % of the time (97 % by writeback)
 *       vda  data_load         1.10 GiB read in 3400, mean 3.53 ms, 23.7 % of the time
 *       vda  (no tag)          24.1 MiB written in 311, mean 1.80 ms, 1.1 % of the time
 */
#ifndef STALLPROF_PROFILER_TOP_REQUESTS_H
#define STALLPROF_PROFILER_TOP_REQUESTS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "profiler/format/request_rows.h"

struct json_writer;
struct loaded_profiles;

/* The requests of a class to a device, of one op. */
struct top_request {
	const char *device, *class;
	enum request_op op;
	uint64_t requests, bytes, ns;
	uint64_t writeback_bytes; /* a part of bytes */
	uint64_t device_ns;       /* of all requests that the device served */
};

struct top_requests {
	struct top_request *rows; /* by device, that with most time first; the class with most time first */
	size_t count;
};

/* Texts are the input's own. 0 or -ENOMEM; only after 0 is there something to free. */
int top_requests_build(struct top_requests *requests, const struct loaded_profiles *input);
void top_requests_free(struct top_requests *requests);

/* Prints a heading and at most `limit` lines (0: all) of `columns` (0: no bound); nothing when there are no rows. Returns the
 * number of lines. */
size_t top_text_requests(FILE *out, const struct top_requests *requests, size_t limit, size_t columns);

/* Writes the input's rows, of every device, as the value of the key "requests". */
void top_json_requests(struct json_writer *json, const struct loaded_profiles *input);

#endif
