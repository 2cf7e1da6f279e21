/* The URL that is pushed to. */
#ifndef STALLPROF_PROFILER_PUSH_URL_H
#define STALLPROF_PROFILER_PUSH_URL_H

#include <stddef.h>

/*
 * As it was given, without slashes at its end, plus the API's path; free() it. 0; -ENOMEM; -EINVAL: it is none, is for another
 * scheme than http and https, or has a user, password, query or fragment. On failure `err` has one line, without the URL: a password
 * may stand in it.
 */
int push_url_make(const char *given, char **made, char *err, size_t err_len);

#endif
