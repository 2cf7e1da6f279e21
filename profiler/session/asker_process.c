/* Starts the process that asks file systems, and passes it questions and takes its answers by a socket. */

#include "profiler/session/asker_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "profiler/session/file_asker.h"
#include "symbolizer/base/clock.h"

#define SOCKET_BYTES (4 << 20)
#define BEGIN_MS     2000
#define ROOM_MS      20 /* the process takes questions at once, whatever file systems do */
#define END_NS       (200 * 1000000ULL)

struct asker_process {
	pid_t pid;
	int fd;
	bool ended;
};

/* It has nothing open but the socket, so that nobody waits for it to close what it would inherit. It blocks signals from its beginning on. */
static int spawn(int socket, pid_t *pid)
{
	char *const argv[] = { (char *)file_asker_name, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t all;
	int err;

	sigfillset(&all);
	posix_spawnattr_init(&attributes);
	posix_spawn_file_actions_init(&actions);
	err = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	err = err ? err : posix_spawnattr_setsigmask(&attributes, &all);
	err = err ? err : posix_spawn_file_actions_adddup2(&actions, socket, FILE_ASKER_FD);
	err = err ? err : posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
	err = err ? err : posix_spawn_file_actions_adddup2(&actions, 0, 1);
	err = err ? err : posix_spawn_file_actions_adddup2(&actions, 0, 2);
	err = err ? err : posix_spawn_file_actions_addclosefrom_np(&actions, FILE_ASKER_FD + 1);
	err = err ? err : posix_spawn(pid, "/proc/self/exe", &actions, &attributes, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return -err;
}

/* Until it takes questions: when the program's libraries are loaded. A byte that comes later is no answer. */
static void wait_for_begin(const struct asker_process *asker)
{
	struct pollfd begun = { .fd = asker->fd, .events = POLLIN };
	char byte;

	if (poll(&begun, 1, BEGIN_MS) == 1)
		recv(asker->fd, &byte, sizeof(byte), MSG_DONTWAIT);
}

struct asker_process *asker_process_new(void)
{
	struct asker_process *asker = calloc(1, sizeof(*asker));
	const int bytes = SOCKET_BYTES;
	int ends[2], err;

	if (!asker)
		return NULL;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) {
		free(asker);
		return NULL;
	}
	/* More than is usual needs a privilege; with less, questions may be refused. */
	if (setsockopt(ends[0], SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes)))
		setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	asker->fd = ends[0];
	err = spawn(ends[1], &asker->pid);
	close(ends[1]);
	if (!err) {
		wait_for_begin(asker);
		return asker;
	}
	close(ends[0]);
	free(asker);
	errno = -err;
	return NULL;
}

void asker_process_free(struct asker_process *asker)
{
	const struct timespec step = { .tv_nsec = 1000000 };
	uint64_t until = monotonic_ns() + END_NS;

	if (!asker)
		return;
	close(asker->fd);
	while (waitpid(asker->pid, NULL, WNOHANG) == 0 && monotonic_ns() < until)
		nanosleep(&step, NULL);
	free(asker);
}

int asker_process_fd(const struct asker_process *asker)
{
	return asker->fd;
}

uint32_t asker_process_pid(const struct asker_process *asker)
{
	return asker ? (uint32_t)asker->pid : 0;
}

bool asker_process_has_ended(const struct asker_process *asker)
{
	return asker->ended;
}

/* Nothing comes any more by the descriptor, which others may wait for. */
static void take_end(struct asker_process *asker)
{
	int silent = eventfd(0, EFD_CLOEXEC);

	asker->ended = true;
	if (silent < 0)
		return;
	dup3(silent, asker->fd, O_CLOEXEC);
	close(silent);
}

static int send_all(struct asker_process *asker, struct iovec *parts, size_t n)
{
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = n };
	struct pollfd room = { .fd = asker->fd, .events = POLLOUT };

	for (bool again = true;; again = false) {
		if (sendmsg(asker->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
			return 0;
		if (errno != EAGAIN)
			return errno == ECONNRESET ? -EPIPE : -errno;
		if (!again || poll(&room, 1, ROOM_MS) != 1)
			return -EAGAIN;
	}
}

int asker_process_ask(struct asker_process *asker, const struct file_question *question)
{
	const char *texts[FILE_ASKER_TEXTS] = { question->xattr, question->paths[0], question->paths[1] };
	struct file_asker_head head = { .kind = question->kind,
		                        .file = question->file,
		                        .context_size = (uint32_t)question->context_size };
	struct iovec parts[2 + FILE_ASKER_TEXTS] = { { &head, sizeof(head) },
		                                     { (void *)question->context, question->context_size } };

	if (asker->ended)
		return -EPIPE;
	if (question->context_size > ASKER_PROCESS_CONTEXT_MAX)
		return -ENAMETOOLONG;
	for (size_t i = 0; i < FILE_ASKER_TEXTS; i++) {
		const char *text = texts[i] ? texts[i] : "";

		if (strlen(text) >= ASKER_PROCESS_PATH_MAX)
			return -ENAMETOOLONG;
		parts[2 + i] = (struct iovec){ (void *)text, strlen(text) + 1 };
	}
	return send_all(asker, parts, 2 + FILE_ASKER_TEXTS);
}

bool asker_process_take(struct asker_process *asker, struct file_answer *answer)
{
	ssize_t size = asker->ended ? -1 : recv(asker->fd, answer, sizeof(*answer), MSG_DONTWAIT);

	/* It has ended and left questions unread: that is said once, and what it had answered comes behind. */
	if (!asker->ended && size < 0 && errno == ECONNRESET)
		size = recv(asker->fd, answer, sizeof(*answer), MSG_DONTWAIT);
	if (!asker->ended && size == 0)
		take_end(asker);
	return size >= (ssize_t)offsetof(struct file_answer, context) &&
	       answer->context_size <= (size_t)size - offsetof(struct file_answer, context);
}
