/* The HTTP server: its socket, its limits, who may ask, and what methods there are. */

#include "profiler/scrape/scrape_server.h"

#include <errno.h>
#include <microhttpd.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "profiler/config/listen_address.h"
#include "profiler/scrape/scrape_bytes.h"
#include "profiler/scrape/scrape_token.h"
#include "symbolizer/base/clock.h"

#define SECOND_NS      1000000000ULL
#define HEAD_BYTES     16384
#define IDLE_SECONDS   10u
#define BACKLOG        64
#define OF_CONNECTIONS (SCRAPE_CONNECTIONS + 4) /* libmicrohttpd may tell of one before its limit holds */

struct connection {
	int fd;
	bool used, asked; /* a whole request has come */
	uint64_t since_ns;
};

struct scrape_server {
	struct MHD_Daemon *daemon;
	struct scrape_handler handler;
	char address[LISTEN_ADDRESS_MAX];
	pthread_mutex_t lock;       /* of what follows; held for a moment alone */
	struct scrape_token *token; /* NULL: nobody needs one */
	uint64_t next_ns;           /* only in the server's thread: when the next connection is due */
	atomic_bool stops;          /* of all threads */
	struct connection connection[OF_CONNECTIONS];
};

struct scrape_request {
	struct MHD_Connection *connection;
	const atomic_bool *stops;
};

/* A request that is being answered. */
struct exchange {
	struct scrape_answer answer;
	bool is_get;
};

const char *scrape_request_parameter(const struct scrape_request *request, const char *name)
{
	return MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, name);
}

const atomic_bool *scrape_request_stops(const struct scrape_request *request)
{
	return request->stops;
}

/* --- connections that take too long ------------------------------------------------------------------------ */

/* Of each second, the connections of another second may come at once. */
static void wait_for_turn(struct scrape_server *server)
{
	const uint64_t step_ns = SECOND_NS / SCRAPE_RATE;
	uint64_t now_ns = monotonic_ns();

	if (server->next_ns + SECOND_NS < now_ns)
		server->next_ns = now_ns - SECOND_NS;
	server->next_ns += step_ns;
	if (server->next_ns > now_ns && !atomic_load(&server->stops))
		nanosleep(&(const struct timespec){ .tv_nsec = (long)step_ns }, NULL);
}

static void on_connection(void *ctx, struct MHD_Connection *connection, void **socket_context,
                          enum MHD_ConnectionNotificationCode what)
{
	const union MHD_ConnectionInfo *info =
	        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct scrape_server *server = ctx;
	struct connection *known = *socket_context;

	if (what == MHD_CONNECTION_NOTIFY_STARTED)
		wait_for_turn(server);
	pthread_mutex_lock(&server->lock);
	if (what == MHD_CONNECTION_NOTIFY_CLOSED && known) {
		known->used = false;
	} else if (what == MHD_CONNECTION_NOTIFY_STARTED && info) {
		for (size_t i = 0; i < OF_CONNECTIONS && !*socket_context; i++)
			if (!server->connection[i].used)
				*socket_context = &server->connection[i];
		known = *socket_context;
		if (known)
			*known = (struct connection){ .fd = info->connect_fd,
				                      .used = true,
				                      .since_ns = monotonic_ns() };
	}
	pthread_mutex_unlock(&server->lock);
}

static void has_asked(struct scrape_server *server, struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
	        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct connection *known = info ? info->socket_context : NULL;

	pthread_mutex_lock(&server->lock);
	if (known)
		known->asked = true;
	pthread_mutex_unlock(&server->lock);
}

/* The descriptor is closed only after on_connection() was told, which waits for the lock. */
void scrape_server_cut_slow(struct scrape_server *server)
{
	uint64_t now_ns = monotonic_ns(), to_ask_ns;
	size_t used = 0;

	pthread_mutex_lock(&server->lock);
	for (size_t i = 0; i < OF_CONNECTIONS; i++)
		used += server->connection[i].used;
	to_ask_ns = used < SCRAPE_CONNECTIONS ? SCRAPE_REQUEST_NS : SCRAPE_HURRY_NS;
	for (size_t i = 0; i < OF_CONNECTIONS; i++) {
		const struct connection *known = &server->connection[i];

		if (known->used && now_ns - known->since_ns > (known->asked ? SCRAPE_ANSWER_NS : to_ask_ns))
			shutdown(known->fd, SHUT_RDWR);
	}
	pthread_mutex_unlock(&server->lock);
}

/* --- who may ask ------------------------------------------------------------------------------------------- */

/* The token may keep us a moment (scrape_token.h), in which nobody waits for the lock. */
static bool may_ask(struct scrape_server *server, struct MHD_Connection *connection)
{
	const char *given =
	        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_AUTHORIZATION);
	struct scrape_token *token;
	bool may;

	pthread_mutex_lock(&server->lock);
	token = scrape_token_share(server->token);
	pthread_mutex_unlock(&server->lock);
	may = !token || scrape_token_is_in(token, given);
	scrape_token_free(token);
	return may;
}

void scrape_server_set_token(struct scrape_server *server, struct scrape_token *token)
{
	struct scrape_token *before;

	pthread_mutex_lock(&server->lock);
	before = server->token;
	server->token = scrape_token_share(token);
	pthread_mutex_unlock(&server->lock);
	scrape_token_free(before);
}

/* --- answers ------------------------------------------------------------------------------------------------ */

void scrape_answer_text(struct scrape_answer *answer, unsigned int status, const char *text)
{
	answer->status = status;
	answer->type = "text/plain; charset=utf-8";
	answer->body = scrape_bytes_text(text);
}

/* By the head alone. True: the answer says why. */
static bool is_refused(struct scrape_server *server, struct MHD_Connection *connection, const char *method,
                       struct exchange *exchange)
{
	exchange->is_get = !strcmp(method, MHD_HTTP_METHOD_GET);
	if (!may_ask(server, connection))
		scrape_answer_text(&exchange->answer, MHD_HTTP_UNAUTHORIZED,
		                   "The bearer token is missing or wrong.\n");
	else if (!exchange->is_get && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		scrape_answer_text(&exchange->answer, MHD_HTTP_METHOD_NOT_ALLOWED, "Only GET and HEAD.\n");
	return exchange->answer.status != 0;
}

static void drop_body(void *body)
{
	scrape_bytes_drop(body);
}

/* MHD_NO ends the connection. */
static enum MHD_Result send_answer(struct MHD_Connection *connection, struct scrape_answer *answer)
{
	struct scrape_bytes *body = answer->body;
	struct MHD_Response *response;
	enum MHD_Result result;

	answer->body = NULL;
	if (!body)
		return MHD_NO;
	response = MHD_create_response_from_buffer_with_free_callback_cls(
	        scrape_bytes_length(body), (void *)scrape_bytes_data(body), drop_body, body);
	if (!response) {
		scrape_bytes_drop(body);
		return MHD_NO;
	}
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer->type);
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
	MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	if (answer->status == MHD_HTTP_UNAUTHORIZED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
	if (answer->status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	result = MHD_queue_response(connection, answer->status, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *connection, const char *path,
                                  const char *method, const char *version, const char *data, size_t *size,
                                  void **of_request)
{
	struct scrape_server *server = ctx;
	const struct scrape_request request = { .connection = connection, .stops = &server->stops };
	struct exchange *exchange = *of_request;

	(void)version;
	(void)data;
	if (!exchange) { /* the head has come */
		*of_request = exchange = calloc(1, sizeof(*exchange));
		if (!exchange)
			return MHD_NO;
		return is_refused(server, connection, method, exchange)
		               ? send_answer(connection, &exchange->answer)
		               : MHD_YES;
	}
	if (*size) /* a body, which means nothing here and may have no end */
		return MHD_NO;
	has_asked(server, connection);
	server->handler.answer(server->handler.ctx, path, &request, &exchange->answer);
	return send_answer(connection, &exchange->answer);
}

static void on_completed(void *ctx, struct MHD_Connection *connection, void **of_request,
                         enum MHD_RequestTerminationCode why)
{
	struct scrape_server *server = ctx;
	struct exchange *exchange = *of_request;

	(void)connection;
	if (!exchange)
		return;
	if (why == MHD_REQUEST_TERMINATED_COMPLETED_OK && exchange->is_get && exchange->answer.taken.upto)
		server->handler.sent(server->handler.ctx, &exchange->answer);
	free(exchange);
	*of_request = NULL;
}

/* A path with a NUL in it is not the path before that: it stays as it came, and there is no such page. */
static size_t unescape(void *ctx, struct MHD_Connection *connection, char *text)
{
	(void)ctx;
	(void)connection;
	return strstr(text, "%00") ? strlen(text) : MHD_http_unescape(text);
}

/* --- begin and end ------------------------------------------------------------------------------------------- */

/* Says what to do about it. */
static void explain(const char *listen, int error, char *err, size_t err_len)
{
	const char *port = strrchr(listen, ':') + 1;

	if (error == EADDRINUSE)
		snprintf(err, err_len,
		         "scrape.listen: %s is in use by another program: stop that (`ss -ltnp sport = :%s` "
		         "names "
		         "it), or set another port",
		         listen, port);
	else if (error == EADDRNOTAVAIL)
		snprintf(err, err_len,
		         "scrape.listen: %s: this host does not have that address (`ip addr` lists its own)",
		         listen);
	else if (error == EACCES)
		snprintf(err, err_len, "scrape.listen: %s: not permitted: set a port from 1024 on", listen);
	else
		snprintf(err, err_len, "scrape.listen: %s: %s", listen, strerror(error));
}

/* The socket, which does not listen yet; or -errno. */
static int bind_socket(const struct listen_address *address)
{
	int fd = socket(address->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1, error;

	/* Else a restart would have to wait for connections that have just been closed. */
	if (fd >= 0 && !setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) &&
	    !bind(fd, (const struct sockaddr *)&address->address, address->length))
		return fd;
	error = errno;
	if (fd >= 0)
		close(fd);
	return -error;
}

/* The socket, or -errno. */
static int open_socket(const struct listen_address *address)
{
	int fd = bind_socket(address), error;

	if (fd < 0 || !listen(fd, BACKLOG))
		return fd;
	error = errno;
	close(fd);
	return -error;
}

/* A number that no other socket has; 0: that is no socket. */
static uint64_t cookie_of(int fd)
{
	uint64_t cookie = 0;
	socklen_t length = sizeof(cookie);

	return getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &length) ? 0 : cookie;
}

/*
 * Takes over the socket, also when it fails. 0 or -errno. libmicrohttpd 0.9.75 has closed it after some failures (no thread)
 * and not after others (no memory, no epoll): it is looked whether the descriptor still is that socket.
 */
static int start(struct scrape_server *server, int fd)
{
	uint64_t cookie = cookie_of(fd);
	sigset_t all, before;
	int error;

	errno = 0;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	server->daemon = MHD_start_daemon(
	        /* By the second one it is woken at its end: it does not listen while all places are taken. */
	        MHD_USE_AUTO_INTERNAL_THREAD | MHD_USE_ITC, 0, NULL, NULL, on_request, server,
	        MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, (unsigned int)SCRAPE_CONNECTIONS,
	        MHD_OPTION_CONNECTION_TIMEOUT, IDLE_SECONDS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
	        (size_t)HEAD_BYTES, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_UNESCAPE_CALLBACK, unescape,
	        NULL, MHD_OPTION_NOTIFY_COMPLETED, on_completed, server, MHD_OPTION_NOTIFY_CONNECTION,
	        on_connection, server, MHD_OPTION_END);
	error = errno;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (server->daemon)
		return 0;
	if (cookie && cookie_of(fd) == cookie)
		close(fd);
	return error ? -error : -EIO;
}

static int begin(struct scrape_server *server, const char *listen)
{
	struct listen_address address;
	struct sockaddr_storage bound;
	socklen_t length = sizeof(bound);
	int fd;

	if (!listen_address_parse(listen, &address))
		return -EINVAL;
	fd = open_socket(&address);
	if (fd < 0)
		return fd;
	if (!getsockname(fd, (struct sockaddr *)&bound, &length))
		listen_address_print(&bound, server->address);
	return start(server, fd);
}

struct scrape_server *scrape_server_new(const char *listen, struct scrape_token *token,
                                        const struct scrape_handler *handler, char *err, size_t err_len)
{
	struct scrape_server *server = calloc(1, sizeof(*server));
	int result;

	if (!server) {
		snprintf(err, err_len, "out of memory");
		return NULL;
	}
	pthread_mutex_init(&server->lock, NULL);
	server->handler = *handler;
	scrape_server_set_token(server, token);
	result = begin(server, listen);
	if (!result)
		return server;
	explain(listen, -result, err, err_len);
	scrape_server_free(server);
	errno = -result;
	return NULL;
}

int scrape_server_check(const char *listen, char *err, size_t err_len)
{
	struct listen_address address;
	int fd = listen_address_parse(listen, &address) ? bind_socket(&address) : -EINVAL;

	if (fd < 0) {
		explain(listen, -fd, err, err_len);
		return fd;
	}
	close(fd);
	return 0;
}

void scrape_server_free(struct scrape_server *server)
{
	if (!server)
		return;
	atomic_store(&server->stops, true);
	if (server->daemon)
		MHD_stop_daemon(server->daemon);
	scrape_token_free(server->token);
	pthread_mutex_destroy(&server->lock);
	free(server);
}

const char *scrape_server_address(const struct scrape_server *server)
{
	return server->address;
}
