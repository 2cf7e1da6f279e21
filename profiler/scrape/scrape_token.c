/* Reads and compares bearer tokens. */

#include "profiler/scrape/scrape_token.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "profiler/output/push_secret.h"
#include "symbolizer/base/clock.h"

#define SECOND_NS 1000000000ULL
#define WAIT_NS   (SECOND_NS / 4)
#define BEARER    "Bearer "

struct scrape_token {
	atomic_uint owners;
	char *file;
	uint64_t read_ns;     /* when its last reading began */
	pthread_mutex_t lock; /* of what follows; held for a moment alone */
	pthread_cond_t was_read;
	char *secret;
	bool is_read; /* now, by a thread that has a share */
};

/* For CLOCK_MONOTONIC. */
static void init_locks(struct scrape_token *token)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&token->was_read, &attributes);
	pthread_condattr_destroy(&attributes);
	pthread_mutex_init(&token->lock, NULL);
}

struct scrape_token *scrape_token_new(const char *file, char *err, size_t err_len)
{
	struct scrape_token *token = calloc(1, sizeof(*token));
	int error = -ENOMEM;

	snprintf(err, err_len, "out of memory");
	if (token) {
		atomic_init(&token->owners, 1);
		init_locks(token);
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
	pthread_cond_destroy(&token->was_read);
	pthread_mutex_destroy(&token->lock);
	push_secret_free(token->secret);
	free(token->file);
	free(token);
}

/* A thread of its own, which a file system that does not answer may keep for ever. */
static void *read_file(void *ctx)
{
	struct scrape_token *token = ctx;
	char err[1024], *secret = NULL, *before = NULL;
	int error = push_secret_read_again(token->file, &secret, err, sizeof(err));

	pthread_mutex_lock(&token->lock);
	if (!error) {
		before = token->secret;
		token->secret = secret;
	}
	token->is_read = false;
	pthread_cond_broadcast(&token->was_read);
	pthread_mutex_unlock(&token->lock);
	push_secret_free(before);
	scrape_token_free(token);
	return NULL;
}

/* With the lock held. */
static void wait_for_reader(struct scrape_token *token, uint64_t until_ns)
{
	const struct timespec until = { .tv_sec = (time_t)(until_ns / SECOND_NS),
		                        .tv_nsec = (long)(until_ns % SECOND_NS) };

	while (token->is_read && !pthread_cond_timedwait(&token->was_read, &token->lock, &until))
		;
}

/* With the lock held. */
static void read_again(struct scrape_token *token)
{
	uint64_t now_ns = monotonic_ns();
	pthread_t reader;

	if (token->is_read || now_ns - token->read_ns < SECOND_NS)
		return;
	token->read_ns = now_ns;
	if (pthread_create(&reader, NULL, read_file, scrape_token_share(token))) {
		scrape_token_free(token);
		return;
	}
	pthread_detach(reader);
	token->is_read = true;
	wait_for_reader(token, now_ns + WAIT_NS);
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
	bool is_in;

	pthread_mutex_lock(&token->lock);
	read_again(token);
	is_in = authorization && !strncasecmp(authorization, BEARER, strlen(BEARER)) &&
	        is_secret(token->secret, authorization + strlen(BEARER));
	pthread_mutex_unlock(&token->lock);
	return is_in;
}
