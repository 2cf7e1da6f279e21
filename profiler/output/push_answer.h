/*
 * What a Pyroscope server's answer to a push means: to the caller an error number, to the user a line.
 */
#ifndef STALLPROF_PROFILER_PUSH_ANSWER_H
#define STALLPROF_PROFILER_PUSH_ANSWER_H

#include <stddef.h>

/* How much of an answer's body is kept; the rest is read and dropped. */
#define PUSH_BODY_MAX 8192

/*
 * The error number for an HTTP status (as push_client_send returns it), and in `err` one line: where, the
 * status, the server's words if it had any, and what to do. `body` need not end in a NUL and is not trusted:
 * a Connect error (JSON with "code" and "message"), any other text, or nothing.
 */
int push_answer_judge(long status, const char *body, size_t len, const char *url, char *err, size_t err_len);

/*
 * Whether it was Pyroscope that answered 200: 0, or -ENOENT with one line in `err`. Sign-in pages and proxies' own pages are answered so,
 * too, but have another Content-Type ("": none).
 */
int push_answer_check_type(const char *type, const char *url, char *err, size_t err_len);

/*
 * Copies the server's own words from an answer's body to `out`, on one line, printable, and cut to its size. The
 * "message" of a Connect error, else the body's first line unless it is markup. "" when there are none.
 */
void push_answer_words(const char *body, size_t len, char *out, size_t out_len);

/* Removes " after 3 ms" from libcurl's message, so that one failure has the same text each time (sink.c). */
void push_answer_leave_time_out(char *words);

#endif
