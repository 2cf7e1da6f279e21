/*
 * Who may ask: whoever has the bearer token that a file holds. Others may replace the file at any time: it is read again when somebody
 * asks, once a second at most, by a thread of its own, as its file system may not answer. Who asks waits for a quarter of a second at most, and
 * not again for the same reading. While the file cannot be used the last token holds.
 */
#ifndef STALLPROF_PROFILER_SCRAPE_TOKEN_H
#define STALLPROF_PROFILER_SCRAPE_TOKEN_H

#include <stdbool.h>
#include <stddef.h>

struct scrape_token;

/* Reads the file. NULL with errno set and one line in `err`, which does not have the token. */
struct scrape_token *scrape_token_new(const char *file, char *err, size_t err_len);
/* For another who may outlive the first: each frees it once. Returns `token`; both take NULL. */
struct scrape_token *scrape_token_share(struct scrape_token *token);
void scrape_token_free(struct scrape_token *token);

/* Whether a request with that header Authorization (NULL: it has none) may have an answer. In one thread at a time. */
bool scrape_token_is_in(struct scrape_token *token, const char *authorization);

#endif
