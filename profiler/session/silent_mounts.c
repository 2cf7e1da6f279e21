/* Asks file systems whether they answer, and remembers which do. */

#include "profiler/session/silent_mounts.h"

#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "profiler/process/mountinfo.h"
#include "profiler/session/asker_process.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/file_gate.h"

#define KNOWN_NS   200000000ULL   /* an answer */
#define TYPE_NS    10000000000ULL /* the number of a file system is given to another once it is unmounted */
#define WAIT_NS    200000000ULL   /* for an answer */
#define BRIEF_NS   20000000ULL
#define LATE_NS    2000000000ULL  /* an answer that is found after that may be as old */
#define SAY_NS     1000000000ULL  /* without one, before it is said: a busy host may be late, too */
#define ANEW_NS    60000000000ULL /* between starts of a process that has ended */
#define MOUNTS_MAX 4096

struct known_mount {
	uint64_t dev;
	uint64_t typed_ns;          /* when its type was looked up */
	uint64_t asked_ns, told_ns; /* of the last question and answer; 0: there was none */
	bool kernel_answers;        /* no other process, and no other machine, has to answer */
	bool waits;                 /* it has been asked */
	bool said;                  /* that it does not answer */
	bool was_silent;            /* since silent_mounts_take() */
	char name[256];             /* of the file that it was asked about */
	UT_hash_handle hh;
};

struct silent_mounts {
	struct file_gate gate;
	struct asker_process *asker;
	say_fn say;
	uint64_t anew_ns; /* when another process was started, or that failed; 0: none was */
	bool said_end;    /* of the process */
	size_t waiting;   /* how many have been asked, and not answered */
	struct known_mount *by_dev;
};

/* --- what kind of file system it is ---------------------------------------------------------------------- */

/*
 * Kinds without a block device that the kernel answers for itself. Pages of a file there may still be lost, or others may write
 * to it: regular_file_keeps_pages(), and only_this_host_writes() of window_dir.c.
 */
static const char *const kernel_types[] = { "overlay", "tmpfs",    "btrfs",     "zfs",  "bcachefs", "ramfs",
	                                    "rootfs",  "devtmpfs", "hugetlbfs", "proc", "sysfs",    "bpf" };

struct typing {
	uint64_t dev;
	bool kernel_answers;
};

static bool take_type(void *ctx, const struct mountinfo_entry *mount)
{
	struct typing *typing = ctx;

	if (makedev(mount->major, mount->minor) != typing->dev)
		return false;
	for (size_t i = 0; i < sizeof(kernel_types) / sizeof(*kernel_types); i++)
		typing->kernel_answers |= !strcmp(mount->type, kernel_types[i]);
	return true;
}

/* By the mounts of the process whose file it is, as far as that can be told, and by our own. */
static bool find_type(uint64_t dev, const char *path, bool *kernel_answers)
{
	struct typing typing = { .dev = dev };
	char who[16] = "self";

	sscanf(path, "/proc/%15[0-9]/", who);
	if (!mountinfo_each("/proc", who, take_type, &typing) &&
	    (!strcmp(who, "self") || !mountinfo_each("/proc", "self", take_type, &typing)))
		return false;
	*kernel_answers = typing.kernel_answers;
	return true;
}

/* --- the table ------------------------------------------------------------------------------------------- */

static struct known_mount *find(const struct silent_mounts *mounts, uint64_t dev)
{
	struct known_mount *mount;

	HASH_FIND(hh, mounts->by_dev, &dev, sizeof(dev), mount);
	return mount;
}

static void forget(struct silent_mounts *mounts, struct known_mount *mount)
{
	HASH_DEL(mounts->by_dev, mount);
	free(mount);
}

/* Of those that are not waited for, the one that was added first. */
static void forget_one(struct silent_mounts *mounts)
{
	struct known_mount *mount = mounts->by_dev;

	while (mount && mount->waits)
		mount = mount->hh.next;
	if (mount)
		forget(mounts, mount);
}

/* NULL: no memory. */
static struct known_mount *add(struct silent_mounts *mounts, uint64_t dev)
{
	struct known_mount *mount = calloc(1, sizeof(*mount)), *added = NULL;

	if (!mount)
		return NULL;
	if (HASH_COUNT(mounts->by_dev) >= MOUNTS_MAX)
		forget_one(mounts);
	mount->dev = dev;
	HASH_ADD(hh, mounts->by_dev, dev, sizeof(mount->dev), mount);
	HASH_FIND(hh, mounts->by_dev, &dev, sizeof(dev), added);
	if (!added)
		free(mount);
	return added;
}

/* What is known of it, looked up anew now and then. */
static struct known_mount *know(struct silent_mounts *mounts, uint64_t dev, const char *path, uint64_t now)
{
	struct known_mount *mount = find(mounts, dev);

	if (mount && (mount->waits || now - mount->typed_ns < TYPE_NS))
		return mount;
	mount = mount ? mount : add(mounts, dev);
	if (!mount)
		return NULL;
	mount->typed_ns = now;
	/* A container's is not in our list: by a path of ours what is known stands. What is in no list is asked. */
	find_type(dev, path, &mount->kernel_answers);
	return mount;
}

/* --- questions and answers ------------------------------------------------------------------------------- */

static void take_answer(struct silent_mounts *mounts, const struct file_answer *answer)
{
	struct known_mount *mount;
	char line[PATH_MAX];
	uint64_t dev, now;

	if (answer->context_size != sizeof(dev))
		return;
	memcpy(&dev, answer->context, sizeof(dev));
	mount = find(mounts, dev);
	if (!mount || !mount->waits)
		return;
	mount->waits = false;
	mounts->waiting--;
	if (answer->refused)
		return;
	now = monotonic_ns();
	mount->told_ns = now - mount->asked_ns < LATE_NS ? now : mount->asked_ns;
	if (!mount->said)
		return;
	mount->said = false;
	snprintf(line, sizeof(line), "the file system of %s answers again", mount->name);
	mounts->say(line);
}

static void take_answers(struct silent_mounts *mounts)
{
	struct file_answer answer;

	while (asker_process_take(mounts->asker, &answer))
		take_answer(mounts, &answer);
}

/* Briefly while another is waited for: many may be of one server. An answer that comes later is told the next time. */
static void wait_for(struct silent_mounts *mounts, const struct known_mount *mount)
{
	struct pollfd answer = { .fd = asker_process_fd(mounts->asker), .events = POLLIN };
	uint64_t now = monotonic_ns(), until = now + (mounts->waiting > 1 ? BRIEF_NS : WAIT_NS);

	for (; mount->waits && now < until && !asker_process_has_ended(mounts->asker); now = monotonic_ns()) {
		poll(&answer, 1, (int)((until - now) / 1000000) + 1);
		take_answers(mounts);
	}
}

/* A link of /proc to a file tells its name, and asks nobody for it; another path cannot be followed now. */
static void note_name(struct known_mount *mount, const char *path)
{
	ssize_t n = -1;

	if (strncmp(path, "/proc/", 6) == 0 && !strstr(path, "/root/"))
		n = readlink(path, mount->name, sizeof(mount->name) - 1);
	if (n > 0)
		mount->name[n] = '\0';
	else
		snprintf(mount->name, sizeof(mount->name), "%s", path);
}

static bool ask(struct silent_mounts *mounts, struct known_mount *mount, const char *path, uint64_t now)
{
	const struct file_question question = { .kind = FILE_ANSWERS,
		                                .file = { .dev = (uint32_t)mount->dev },
		                                .paths = { path },
		                                .context = &mount->dev,
		                                .context_size = sizeof(mount->dev) };

	mount->waits = !asker_process_ask(mounts->asker, &question);
	mounts->waiting += mount->waits;
	mount->asked_ns = now;
	note_name(mount, path);
	return mount->waits;
}

/* It is not read now. */
static bool refuse(struct silent_mounts *mounts, struct known_mount *mount, uint64_t now)
{
	char line[PATH_MAX];

	mount->was_silent = true;
	if (mount->said || now - mount->asked_ns < SAY_NS)
		return false;
	mount->said = true;
	snprintf(line, sizeof(line),
	         "the file system of %s does not answer: no more of the files there is read until it does, "
	         "so that stacks, names and tags may be missing",
	         mount->name);
	mounts->say(line);
	return false;
}

/* In place of a process that has ended, and of what it was asked. False: not now. */
static bool begin_anew(struct silent_mounts *mounts, uint64_t now)
{
	struct asker_process *asker;
	struct known_mount *mount;

	if (mounts->anew_ns && now - mounts->anew_ns < ANEW_NS)
		return false;
	mounts->anew_ns = now;
	asker = asker_process_new();
	if (!asker)
		return false;
	asker_process_free(mounts->asker);
	mounts->asker = asker;
	mounts->waiting = 0;
	for (mount = mounts->by_dev; mount; mount = mount->hh.next)
		mount->waits = false;
	mounts->said_end = false;
	mounts->say("the process that asks file systems whether they answer has ended: another was started");
	return true;
}

/* Nobody can be asked now: all is read, but for what was silent. */
static bool give_up(struct silent_mounts *mounts, struct known_mount *mount, uint64_t now)
{
	if (!mounts->said_end)
		mounts->say("the process that asks file systems whether they answer has ended: one that does "
		            "not is waited for until another is started, within a minute");
	mounts->said_end = true;
	return !mount->waits || refuse(mounts, mount, now);
}

static bool answers(void *ctx, uint64_t dev, const char *path)
{
	struct silent_mounts *mounts = ctx;
	uint64_t now = monotonic_ns();
	struct known_mount *mount = know(mounts, dev, path, now);

	if (!mount || mount->kernel_answers)
		return true;
	take_answers(mounts);
	if (asker_process_has_ended(mounts->asker) && !begin_anew(mounts, now))
		return give_up(mounts, mount, now);
	if (mount->waits)
		return refuse(mounts, mount, now);
	if (mount->told_ns && (mount->told_ns > now || now - mount->told_ns < KNOWN_NS))
		return true;
	if (!ask(mounts, mount, path, now))
		return refuse(mounts, mount, now);
	wait_for(mounts, mount);
	/* It may have been refused, as too many others wait. */
	return mount->told_ns >= now || refuse(mounts, mount, now);
}

/* --- making ---------------------------------------------------------------------------------------------- */

struct silent_mounts *silent_mounts_new(say_fn say)
{
	struct silent_mounts *mounts = calloc(1, sizeof(*mounts));

	if (!mounts)
		return NULL;
	mounts->gate = (struct file_gate){ .answers = answers, .ctx = mounts };
	mounts->say = say;
	mounts->asker = asker_process_new();
	if (mounts->asker) {
		file_gate_set(&mounts->gate);
		return mounts;
	}
	free(mounts);
	return NULL;
}

void silent_mounts_free(struct silent_mounts *mounts)
{
	struct known_mount *mount, *next;

	if (!mounts)
		return;
	file_gate_set(NULL);
	HASH_ITER (hh, mounts->by_dev, mount, next)
		forget(mounts, mount);
	asker_process_free(mounts->asker);
	free(mounts);
}

size_t silent_mounts_take(struct silent_mounts *mounts)
{
	struct known_mount *mount;
	size_t n = 0;

	if (mounts)
		take_answers(mounts);
	for (mount = mounts ? mounts->by_dev : NULL; mount; mount = mount->hh.next) {
		n += mount->was_silent;
		mount->was_silent = mount->waits;
	}
	return n;
}
