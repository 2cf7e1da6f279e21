/*
 * push: a client of Pyroscope's push API, one profile a request.
 *
 *	char err[PUSH_ERR_MAX];
 *	struct push_opts opts = { .url = "http://127.0.0.1:4040" };
 *	struct push_client *client = push_client_new(&opts, err, sizeof(err));
 *	rc = push_client_send(client, labels, n, profile_gz, len, err, sizeof(err));
 *	push_client_free(client);
 *
 * What goes over the wire: POST <url>/push.v1.PusherService/Push, content type application/proto, the
 * message of push.proto, not compressed as a whole because the profile in it already is. One series a
 * request: the server accepts a request of several in part, and then nobody knows which part.
 *
 * Redirects are never followed (they would carry credentials and profiles elsewhere); schemes other than
 * http and https are refused; the environment's proxies (https_proxy, no_proxy) are honoured as curl
 * does, but for localhost.
 *
 * A client keeps its connection open between requests, for five minutes at most, as the name may lead elsewhere by then. No profile is
 * sent twice by one call, but for new credentials (-EPERM); a question (push_client_ask()) may be, by libcurl. It may be used by one
 * thread at a time, but for push_client_stop(); several clients may live side by side.
 */
#ifndef STALLPROF_PROFILER_PUSH_H
#define STALLPROF_PROFILER_PUSH_H

#include <stdbool.h>
#include <stddef.h>

#include "profiler/output/push_labels.h"

/* Room that every message fits in, the server's own words included (they are cut to what is left). */
#define PUSH_ERR_MAX 768

#define PUSH_TIMEOUT_MS 15000

/* All strings are copied. NULL stands for "none"; so does the empty string. */
struct push_opts {
	const char *url;                 /* http(s)://host[:port][/path]; no user, query or fragment in it */
	const char *tenant;              /* sent as X-Scope-OrgID */
	const char *basic_user;          /* needs basic_password_file */
	const char *basic_password_file; /* its first line is the password */
	const char *bearer_token_file;   /* its first line is the token; not together with basic_user */
	long timeout_ms; /* of a whole request; 0: PUSH_TIMEOUT_MS. Below 10 s a slow server is
	                    pushed to twice, for it stores what it answers too late */
};

struct push_client;

/*
 * Checks the options, reads the secret files and opens nothing yet. NULL with errno set and one line in
 * `err` when an option is wrong or a file can't be read. No secret ever gets into `err`.
 */
struct push_client *push_client_new(const struct push_opts *opts, char *err, size_t err_len);

/*
 * Sends one series with one profile and waits for the answer. `labels` must hold `__name__` and should
 * hold `service_name`; labels with an empty value are left out, as the server would. `profile_gz` is the
 * gzip'd pprof profile.
 *
 * 0		the server has it
 * -EAGAIN	not now: 429, but for -EDQUOT, or it was not reached (refused connection, timeout, no such host…). May
 *		be tried again
 * -EREMOTEIO	not now either: 5xx but 504, or the connection broke midway. The server has failed, or fails at this request
 * -ETIMEDOUT	not now either, but all of it was sent before the connection failed or fell silent, or somebody gave up waiting for
 *		who may have stored it: 408, 504. The server does not deduplicate, so a second try may count twice
 * -ECANCELED	push_client_stop(); the server may have it if push_client_sent_all()
 * -EPERM	401, 403, also with what the secret's file holds by now, which is read again then; or a certificate that can't
 *		be verified
 * -ENOENT	no Pyroscope at this URL: 404, 405, a redirect, 200 for something else, …
 * -EDQUOT	429 for want of room for another series, which other requests may not need. What it holds of series that the server
 *		has already may be stored
 * -EMSGSIZE	413: too large
 * -EINVAL	the request is refused (400, 422), and labels the server could not take, which are
 *		found before anything is sent
 * -ENOMEM	out of memory
 *
 * Unless 0, `err` holds one line: what the server said, where, and what to do about it.
 */
int push_client_send(struct push_client *client, const struct push_label *labels, size_t n,
                     const void *profile_gz, size_t len, char *err, size_t err_len);

/*
 * Asks whether the server answers now, by a request without any series: 0 whatever the answer is, else -EAGAIN (5xx as well),
 * -ETIMEDOUT, -ECANCELED or -ENOMEM as above.
 */
int push_client_ask(struct push_client *client, char *err, size_t err_len);

/* Whether the last request had been sent to its end, so that a server that did not answer may have stored it. */
bool push_client_sent_all(const struct push_client *client);

/* The next request gets a connection of its own, which those after it go on with: one that was idle may just be ending. */
void push_client_reconnect(struct push_client *client);

/* Makes a call of the above that is waiting, and all later ones, return -ECANCELED at once. Any thread may call
 * it. */
void push_client_stop(struct push_client *client);

/* Wipes the secrets. Takes NULL. */
void push_client_free(struct push_client *client);

#endif
