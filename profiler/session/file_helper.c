/* Starts the process that asks file systems, and passes it questions and takes its answers by a socket. */

#include "profiler/session/file_helper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
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
#define ROOM_MS      20 /* the process takes questions at once, whatever file systems do */
#define END_NS       (200 * 1000000ULL)

struct file_helper {
	pid_t pid;
	int fd;
	bool ended;
};

/* In the new process: it has nothing open but the socket, so that nobody waits for it to close what it has inherited. */
static void run(int fd)
{
	int null = open("/dev/null", O_RDWR);

	for (int standard = 0; standard <= 2; standard++)
		dup2(null, standard);
	if (dup2(fd, 3) != 3)
		_exit(1);
	close_range(4, ~0U, 0);
	file_asker_run(3);
	_exit(0);
}

struct file_helper *file_helper_new(void)
{
	struct file_helper *helper = calloc(1, sizeof(*helper));
	const int bytes = SOCKET_BYTES;
	sigset_t all, before;
	int ends[2];

	if (!helper)
		return NULL;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) {
		free(helper);
		return NULL;
	}
	/* More than is usual needs a privilege; with less, questions may be refused. */
	if (setsockopt(ends[0], SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes)))
		setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	helper->fd = ends[0];
	/* It blocks them from its beginning on. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	helper->pid = fork();
	if (!helper->pid)
		run(ends[1]);
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(ends[1]);
	if (helper->pid > 0)
		return helper;
	close(ends[0]);
	free(helper);
	return NULL;
}

void file_helper_free(struct file_helper *helper)
{
	const struct timespec step = { .tv_nsec = 1000000 };
	uint64_t until = monotonic_ns() + END_NS;

	if (!helper)
		return;
	close(helper->fd);
	while (waitpid(helper->pid, NULL, WNOHANG) == 0 && monotonic_ns() < until)
		nanosleep(&step, NULL);
	free(helper);
}

int file_helper_fd(const struct file_helper *helper)
{
	return helper->fd;
}

uint32_t file_helper_pid(const struct file_helper *helper)
{
	return helper ? (uint32_t)helper->pid : 0;
}

bool file_helper_has_ended(const struct file_helper *helper)
{
	return helper->ended;
}

/* Nothing comes any more by the descriptor, which others may wait for. */
static void take_end(struct file_helper *helper)
{
	int silent = eventfd(0, EFD_CLOEXEC);

	helper->ended = true;
	if (silent < 0)
		return;
	dup3(silent, helper->fd, O_CLOEXEC);
	close(silent);
}

static int send_all(struct file_helper *helper, struct iovec *parts, size_t n)
{
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = n };
	struct pollfd room = { .fd = helper->fd, .events = POLLOUT };

	for (bool again = true;; again = false) {
		if (sendmsg(helper->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
			return 0;
		if (errno != EAGAIN)
			return errno == ECONNRESET ? -EPIPE : -errno;
		if (!again || poll(&room, 1, ROOM_MS) != 1)
			return -EAGAIN;
	}
}

int file_helper_ask(struct file_helper *helper, const struct file_question *question)
{
	const char *texts[FILE_ASKER_TEXTS] = { question->xattr, question->paths[0], question->paths[1] };
	struct file_asker_head head = { .kind = question->kind,
		                        .file = question->file,
		                        .context_size = (uint32_t)question->context_size };
	struct iovec parts[2 + FILE_ASKER_TEXTS] = { { &head, sizeof(head) },
		                                     { (void *)question->context, question->context_size } };

	if (helper->ended)
		return -EPIPE;
	if (question->context_size > FILE_HELPER_CONTEXT_MAX)
		return -ENAMETOOLONG;
	for (size_t i = 0; i < FILE_ASKER_TEXTS; i++) {
		const char *text = texts[i] ? texts[i] : "";

		if (strlen(text) >= FILE_HELPER_PATH_MAX)
			return -ENAMETOOLONG;
		parts[2 + i] = (struct iovec){ (void *)text, strlen(text) + 1 };
	}
	return send_all(helper, parts, 2 + FILE_ASKER_TEXTS);
}

bool file_helper_take(struct file_helper *helper, struct file_answer *answer)
{
	ssize_t size = helper->ended ? -1 : recv(helper->fd, answer, sizeof(*answer), MSG_DONTWAIT);

	if (size == 0)
		take_end(helper);
	return size >= (ssize_t)offsetof(struct file_answer, context) &&
	       answer->context_size <= (size_t)size - offsetof(struct file_answer, context);
}
