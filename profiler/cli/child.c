/* Forks the recorded command, holds it until the recording has begun, executes and reaps it. */

#include "profiler/cli/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profiler/process/given_environment.h"

static int status_of(int error)
{
	return error == ENOENT ? 127 : 126;
}

/* In the child: waits to be let go, then executes. */
static void run(int release_fd, int error_fd, char **argv, char **environment,
                void (*prepare)(const void *ctx), const void *ctx)
{
	int saved;
	char byte;

	if (read(release_fd, &byte, 1) != 1)
		_exit(0);
	/* A signal that came meanwhile ends the child now. */
	prepare(ctx);
	execvpe(argv[0], argv, environment);
	saved = errno;
	if (write(error_fd, &saved, sizeof(saved)) != sizeof(saved))
		_exit(125);
	_exit(status_of(saved));
}

int child_spawn(struct child *child, char **argv, void (*prepare)(const void *ctx), const void *ctx)
{
	char **environment = given_environment();
	int release[2], error[2], saved;

	if (pipe2(release, O_CLOEXEC))
		return -errno;
	if (pipe2(error, O_CLOEXEC)) {
		saved = errno;
		close(release[0]);
		close(release[1]);
		return -saved;
	}
	child->pid = fork();
	saved = errno;
	if (child->pid == 0) {
		close(release[1]);
		close(error[0]);
		run(release[0], error[1], argv, environment, prepare, ctx);
	}
	close(release[0]);
	close(error[1]);
	child->release_fd = release[1];
	child->error_fd = error[0];
	if (child->pid < 0) {
		close(release[1]);
		close(error[0]);
		return -saved;
	}
	return 0;
}

int child_release(struct child *child, const char *name, char *err, size_t err_len)
{
	int error = 0;
	ssize_t n;

	if (write(child->release_fd, "x", 1) != 1)
		error = errno;
	close(child->release_fd);
	do {
		n = read(child->error_fd, &error, sizeof(error));
	} while (n < 0 && errno == EINTR);
	close(child->error_fd);
	if (n != sizeof(error))
		return 0; /* closed by a successful exec */
	waitpid(child->pid, NULL, 0);
	child->status = status_of(error);
	snprintf(err, err_len, "cannot run %s: %s", name, strerror(error));
	return -error;
}

int child_reap(struct child *child)
{
	int status;

	if (waitpid(child->pid, &status, WNOHANG) != child->pid)
		return 0;
	child->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	child->status = child->signal ? 128 + child->signal : WEXITSTATUS(status);
	return 1;
}

void child_abandon(struct child *child)
{
	close(child->release_fd);
	close(child->error_fd);
	waitpid(child->pid, NULL, 0);
}

int child_execute(char **argv, char *err, size_t err_len)
{
	int error;

	execvpe(argv[0], argv, given_environment());
	error = errno;
	snprintf(err, err_len, "cannot run %s: %s", argv[0], strerror(error));
	return status_of(error);
}

void child_end_likewise(const struct child *child)
{
	sigset_t set;

	if (!child->signal)
		return;
	prctl(PR_SET_DUMPABLE, 0);
	signal(child->signal, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, child->signal);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(child->signal);
}
