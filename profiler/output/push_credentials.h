/*
 * Whom a push is from: a user with a password, or whoever has a bearer token. The secret is in a file, which others may replace at any
 * time: a Kubernetes Secret, Vault's agent.
 */
#ifndef STALLPROF_PROFILER_PUSH_CREDENTIALS_H
#define STALLPROF_PROFILER_PUSH_CREDENTIALS_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>

/* All NULL: none. */
struct push_credentials {
	char *user; /* NULL: the secret is a bearer token */
	char *file, *secret;
};

/* Fills one that is all NULL. No user: the file has a bearer token; no file: there are no credentials. 0 or -errno with one line in
 * `err`, which never has a secret. */
int push_credentials_read(struct push_credentials *credentials, const char *user, const char *file, char *err,
                          size_t err_len);
/* Reads the file again. False: it has the same secret, or cannot be used now, and nothing was changed. */
bool push_credentials_renew(struct push_credentials *credentials);
/* For the requests from now on. */
CURLcode push_credentials_set(const struct push_credentials *credentials, CURL *curl);
/* Wipes the secret. */
void push_credentials_free(struct push_credentials *credentials);

#endif
