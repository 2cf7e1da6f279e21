/* Sorts questions by file system, asks, and sends the answers. */

#include "profiler/session/file_asker.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ioprio.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "bpf/abi.h"
#include "profiler/session/file_lanes.h"

struct asked {
	int fd; /* for the answer */
	struct file_asker_head head;
	const void *context;
	const char *texts[FILE_ASKER_TEXTS];
	char bytes[];
};

/* --- answers -------------------------------------------------------------------------------------------- */

static void send_answer(const struct asked *asked, struct file_answer *answer)
{
	answer->kind = asked->head.kind;
	answer->context_size = asked->head.context_size;
	memcpy(answer->context, asked->context, asked->head.context_size);
	while (send(asked->fd, answer, offsetof(struct file_answer, context) + answer->context_size,
	            MSG_NOSIGNAL) < 0 &&
	       errno == EINTR)
		;
}

/* By its number: another may have got the name meanwhile. Some file systems (overlayfs) tell another number than they have inside; of what
 * has no xattr that need not be known. */
static bool look(const char *path, const struct asked *asked, struct file_answer *answer)
{
	struct stat info;

	answer->has_xattr = lgetxattr(path, asked->texts[0], NULL, 0) >= 0;
	if (lstat(path, &info) || (answer->has_xattr && info.st_ino != asked->head.file.number))
		answer->result = FILE_SUM_GONE;
	else
		answer->result = FILE_SUM_TAKEN;
	return answer->result == FILE_SUM_TAKEN;
}

/* By an attribute that even a client which has it in memory then asks the server for; not by times or sizes, for which it would first write
 * what it has. */
static bool ask(const char *path, const struct asked *asked, struct file_answer *answer)
{
	struct statx info;
	int err = statx(AT_FDCWD, path, AT_STATX_FORCE_SYNC | AT_NO_AUTOMOUNT, STATX_NLINK, &info);

	(void)asked;
	answer->result = err ? FILE_SUM_GONE : FILE_SUM_TAKEN;
	return true;
}

static bool take_sum(const char *path, const struct asked *asked, struct file_answer *answer)
{
	answer->result = file_sum_take(path, &asked->head.file, &answer->sum);
	return answer->result != FILE_SUM_GONE;
}

/* Each: whether the path led to the file. */
static bool (*const by_kind[FILE_QUESTIONS])(const char *, const struct asked *, struct file_answer *) = {
	[FILE_HAS_XATTR] = look,
	[FILE_ANSWERS] = ask,
	[FILE_SUM] = take_sum,
};

static void work(void *ctx, void *item)
{
	struct file_answer answer = { .result = FILE_SUM_GONE };
	struct asked *asked = item;
	bool found = false;

	(void)ctx;
	for (size_t i = 1; i < FILE_ASKER_TEXTS && !found; i++)
		if (*asked->texts[i])
			found = by_kind[asked->head.kind](asked->texts[i], asked, &answer);
	answer.has_xattr &= found;
	send_answer(asked, &answer);
	free(asked);
}

/* --- questions ------------------------------------------------------------------------------------------ */

/* NULL: it makes no sense, or there is no memory. */
static struct asked *read_question(int fd, const char *bytes, size_t size)
{
	struct asked *asked = calloc(1, sizeof(*asked) + size);
	const char *at, *end;

	if (!asked)
		return NULL;
	memcpy(asked->bytes, bytes, size);
	memcpy(&asked->head, bytes, sizeof(asked->head) < size ? sizeof(asked->head) : size);
	asked->fd = fd;
	asked->context = asked->bytes + sizeof(asked->head);
	at = asked->bytes + sizeof(asked->head) + asked->head.context_size;
	end = asked->bytes + size;
	for (size_t i = 0; i < FILE_ASKER_TEXTS && at < end; i++) {
		asked->texts[i] = at;
		at += strnlen(at, (size_t)(end - at)) + 1;
	}
	if (asked->texts[FILE_ASKER_TEXTS - 1] && at == end && asked->head.kind < FILE_QUESTIONS)
		return asked;
	free(asked);
	return NULL;
}

static void refuse(struct asked *asked)
{
	struct file_answer answer = { .refused = true, .result = FILE_SUM_GONE };

	send_answer(asked, &answer);
	free(asked);
}

/* Reads when nobody else wants the disk, and runs when nobody else wants the CPU. */
static void be_patient(void)
{
	const struct sched_param none = { .sched_priority = 0 };

	syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0));
	sched_setscheduler(0, SCHED_IDLE, &none);
}

static const struct file_lanes_opts lanes_of[FILE_QUESTIONS] = {
	[FILE_HAS_XATTR] = { .lanes_max = FILE_LANES_MAX, .waiting_max = 1024, .work = work },
	[FILE_ANSWERS] = { .lanes_max = FILE_LANES_MAX, .waiting_max = 16, .work = work },
	[FILE_SUM] = { .lanes_max = 4, .waiting_max = 256, .work = work, .begin = be_patient },
};

static void answer_all(int fd, struct file_lanes *const lanes[FILE_QUESTIONS])
{
	static char bytes[FILE_ASKER_MAX];
	struct asked *asked;
	ssize_t size;

	while ((size = recv(fd, bytes, sizeof(bytes), 0)) != 0) {
		if (size < 0 && errno != EINTR)
			return;
		asked = size > 0 ? read_question(fd, bytes, (size_t)size) : NULL;
		if (asked && !file_lanes_put(lanes[asked->head.kind], asked->head.file.dev, asked))
			refuse(asked);
	}
}

static void run(void)
{
	struct file_lanes *lanes[FILE_QUESTIONS];

	prctl(PR_SET_NAME, ABI_ASKER_NAME);
	for (size_t i = 0; i < FILE_QUESTIONS; i++) {
		lanes[i] = file_lanes_new(&lanes_of[i]);
		if (!lanes[i])
			return;
	}
	if (send(FILE_ASKER_FD, "", 1, MSG_NOSIGNAL) == 1)
		answer_all(FILE_ASKER_FD, lanes);
}

const char file_asker_name[] = ABI_ASKER_NAME;

/* The C library gives constructors what main() gets. */
__attribute__((constructor)) static void begin(int argc, char **argv)
{
	if (argc != 1 || strcmp(argv[0], file_asker_name) != 0)
		return;
	run();
	_exit(0);
}
