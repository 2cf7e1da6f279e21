/*
 * An HTTP server that answers to GET and HEAD, by libmicrohttpd.
 *
 *     server = scrape_server_new("127.0.0.1:4041", token, &handler, err, sizeof(err))
 *     scrape_server_cut_slow(server)      some times a second
 *     scrape_server_free(server)          tells the answer that is being made to stop, and waits for it
 *
 * One thread of its own, with all signals blocked, serves all connections and calls the handler, so the handler's answers come
 * one after the other. It is made for few clients that behave, and bounded against those that do not: SCRAPE_CONNECTIONS at
 * once (further ones wait until there is a place, and those that have not asked yet have SCRAPE_HURRY_NS alone meanwhile), 16 KiB for a request's head, SCRAPE_REQUEST_NS to send it and SCRAPE_ANSWER_NS for
 * all, however many bytes trickle in meanwhile. Who may not ask, or asks by another method, is told so when the head has come; a request with a
 * body gets no answer. Each connection has one request, and there are SCRAPE_RATE of them a second, and so many at
 * once: more have to wait, as the agent's CPU time is for the recording.
 */
#ifndef STALLPROF_PROFILER_SCRAPE_SERVER_H
#define STALLPROF_PROFILER_SCRAPE_SERVER_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "profiler/scrape/scrape_readers.h"

#define SCRAPE_CONNECTIONS 32
#define SCRAPE_RATE        100
#define SCRAPE_REQUEST_NS  (5 * 1000000000ULL)
#define SCRAPE_HURRY_NS    (500 * 1000000ULL)
#define SCRAPE_ANSWER_NS   (30 * 1000000000ULL)

struct scrape_bytes;
struct scrape_request;
struct scrape_server;
struct scrape_token;

struct scrape_answer {
	unsigned int status;
	const char *type;          /* Content-Type */
	struct scrape_bytes *body; /* the server drops it; NULL: there was no memory */
	/* What that reader has then had, for `sent`; upto 0: nothing. */
	char reader[SCRAPE_READER_NAME_MAX];
	struct scrape_taken taken;
};

/* Makes it a plain text. */
void scrape_answer_text(struct scrape_answer *answer, unsigned int status, const char *text);

/* The value of ?name=value; NULL: there is none. */
const char *scrape_request_parameter(const struct scrape_request *request, const char *name);
/* Becomes true when the server is about to end: what takes long is given up then. */
const atomic_bool *scrape_request_stops(const struct scrape_request *request);

struct scrape_handler {
	void *ctx;
	/* Fills the answer to a GET of that path. */
	void (*answer)(void *ctx, const char *path, const struct scrape_request *request,
	               struct scrape_answer *answer);
	/* It was sent to its end. */
	void (*sent)(void *ctx, const struct scrape_answer *answer);
};

/*
 * `token`: whoever asks must have it, as Authorization: Bearer; NULL: nobody needs one. It is shared. NULL with errno set, and one
 * line in `err` that says what to do.
 */
struct scrape_server *scrape_server_new(const char *listen, struct scrape_token *token,
                                        const struct scrape_handler *handler, char *err, size_t err_len);
/* Whether it could listen there, without doing so. 0 or -errno with the line that scrape_server_new() would write. */
int scrape_server_check(const char *listen, char *err, size_t err_len);
/* Takes NULL. */
void scrape_server_free(struct scrape_server *server);

/* Any thread. */
void scrape_server_set_token(struct scrape_server *server, struct scrape_token *token);

/* Ends the connections that take longer than they may. */
void scrape_server_cut_slow(struct scrape_server *server);

/* Where it listens, with the port that the kernel chose. */
const char *scrape_server_address(const struct scrape_server *server);

#endif
