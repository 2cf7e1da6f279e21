/*
 * A client of Pyroscope's query API: posts a message, returns the answer's bytes.
 *
 * Credentials are as push's (output/push.h): from files, never on the command line. Redirects are not followed, since they would
 * carry credentials elsewhere. Used by one thread at a time.
 */
#ifndef STALLPROF_PROFILER_QUERY_CLIENT_H
#define STALLPROF_PROFILER_QUERY_CLIENT_H

#include <stddef.h>
#include <stdint.h>

#define QUERY_TIMEOUT_MS 60000
#define QUERY_BYTES_MAX  (1ul << 30) /* of one answer */

/* NULL or "" stand for "none". The caller's. */
struct query_access {
	const char *tenant; /* X-Scope-OrgID */
	const char *basic_user, *basic_password_file;
	const char *bearer_token_file; /* not together with basic_user */
};

struct query_answer {
	uint8_t *bytes;
	size_t size, room;
};

struct query_client;

/* url: http(s)://host:port. NULL with errno set and one line, without newline and without any secret, in err. */
struct query_client *query_client_new(const char *url, const struct query_access *access, char *err,
                                      size_t err_size);
void query_client_free(struct query_client *client);

/*
 * Posts `size` bytes to a method such as "Series" of the querier service. The answer's bytes are the client's until the next call.
 * 0; -EIO when the server cannot be reached or fails, -EPERM, -ENOENT, -EINVAL as it answers, -EFBIG above QUERY_BYTES_MAX,
 * -ENOMEM; with one line in err.
 */
int query_client_post(struct query_client *client, const char *method, const void *body, size_t size,
                      struct query_answer *answer, char *err, size_t err_size);

#endif
