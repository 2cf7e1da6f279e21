/* Reads and compares bearer tokens. */

#include "profiler/scrape/scrape_token.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "profiler/output/push_secret.h"
#include "symbolizer/base/clock.h"

#define SECOND_NS 1000000000ULL
#define BEARER    "Bearer "

struct scrape_token {
	atomic_uint owners;
	char *file, *secret;
	uint64_t read_ns; /* when it was, or was tried to be */
};

struct scrape_token *scrape_token_new(const char *file, char *err, size_t err_len)
{
	struct scrape_token *token = calloc(1, sizeof(*token));
	int error = -ENOMEM;

	snprintf(err, err_len, "out of memory");
	if (token) {
		atomic_init(&token->owners, 1);
		token->read_ns = monotonic_ns();
		token->file = strdup(file);
	}
	if (token && token->file)
		error = push_secret_read(file, &token->secret, err, err_len);
	if (!error)
		return token;
	scrape_token_free(token);
	errno = -error;
	return NULL;
}

struct scrape_token *scrape_token_share(struct scrape_token *token)
{
	if (token)
		atomic_fetch_add(&token->owners, 1);
	return token;
}

void scrape_token_free(struct scrape_token *token)
{
	if (!token || atomic_fetch_sub(&token->owners, 1) > 1)
		return;
	push_secret_free(token->secret);
	free(token->file);
	free(token);
}

static void read_again(struct scrape_token *token)
{
	uint64_t now_ns = monotonic_ns();
	char err[1024], *secret;

	if (now_ns - token->read_ns < SECOND_NS)
		return;
	token->read_ns = now_ns;
	if (push_secret_read(token->file, &secret, err, sizeof(err)))
		return;
	push_secret_free(token->secret);
	token->secret = secret;
}

/* Takes a time that depends on the length of what is given alone. */
static bool is_secret(const char *secret, const char *given)
{
	size_t length = strlen(secret), n = strlen(given), at = 0;
	volatile unsigned char differs = length != n;

	for (size_t i = 0; i < n; i++) {
		differs |= (unsigned char)(given[i] ^ secret[at]);
		at += at + 1 < length;
	}
	return !differs;
}

bool scrape_token_is_in(struct scrape_token *token, const char *authorization)
{
	read_again(token);
	return authorization && !strncasecmp(authorization, BEARER, strlen(BEARER)) &&
	       is_secret(token->secret, authorization + strlen(BEARER));
}
