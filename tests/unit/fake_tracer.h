/*
 * A tracer that needs no kernel, for tests of its users. It returns what the test has set, and records what it was
 * asked for. To replace one of its functions, a test sets that in `ops`.
 *
 *	struct fake_tracer fake;
 *	fake_tracer_init(&fake);
 *	… &fake.tracer …
 *	fake.events(…)
 */
#ifndef STALLPROF_TESTS_FAKE_TRACER_H
#define STALLPROF_TESTS_FAKE_TRACER_H

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "profiler/tracer/tracer_state.h"

#define FAKE_TRACER_PROCESSES 64

struct fake_tracer {
	struct tracer tracer; /* must be the first */
	struct tracer_ops ops;

	/* What it returns. */
	uint64_t tagged_ns, walked_ns, event_bytes[ABI_WAITS_MAX], threshold_ns[ABI_WAITS_MAX];
	int64_t tagged;
	int attach_error, walk_error, ledger_error, poll_result;
	const char *tag_name; /* of every tag; NULL: "step" */
	int fd, python_fd;

	/* What the next poll and the next ledger return, while not 0. */
	const struct abi_event *event;
	const struct abi_ledger_key *row_key;
	const struct abi_ledger_value *row;
	unsigned int n_events, n_rows;

	/* What it was asked for. */
	bool is_attached, is_freed;
	unsigned int attaches, detaches, rests, polls, polls_of_all, drops, takes, adopts, flushes,
	        watched_files;
	uint64_t last_poll_until_ns, ledger; /* the number of the ledger that is written to now */
	struct {
		struct abi_process_key key;
		struct abi_process process;
	} processes[FAKE_TRACER_PROCESSES];
	size_t n_processes;
	uint64_t next_key;
	uint64_t tagged_inode; /* by tracer_tag_file() */
	struct abi_tagged_file tagged_file;
	unsigned int xattr_asks;
	unsigned int cpus_told, last_cpu; /* by tracer_cpu() */
	bool last_cpu_online;
	uint64_t asked_again;      /* the last inode of tracer_ask_xattr_again() */
	unsigned int folder_holds; /* by tracer_hold_folders() */
	uint64_t cgroup;           /* of tracer_set_cgroup() */
};

static inline struct fake_tracer *fake_of(const struct tracer *tracer)
{
	return (struct fake_tracer *)tracer;
}

static void fake_free(struct tracer *tracer)
{
	fake_of(tracer)->is_freed = true;
}

static bool fake_attached(const struct tracer *tracer)
{
	return fake_of(tracer)->is_attached;
}

static int fake_attach(struct tracer *tracer, char *err, size_t err_len)
{
	struct fake_tracer *fake = fake_of(tracer);

	fake->attaches++;
	snprintf(err, err_len, "refused");
	fake->is_attached = !fake->attach_error;
	return fake->attach_error;
}

static void fake_detach(struct tracer *tracer)
{
	fake_of(tracer)->detaches += fake_of(tracer)->is_attached;
	fake_of(tracer)->is_attached = false;
}

static void fake_rest(struct tracer *tracer)
{
	fake_of(tracer)->rests++;
}

static void fake_cpu(struct tracer *tracer, unsigned int cpu, bool online)
{
	fake_of(tracer)->cpus_told++;
	fake_of(tracer)->last_cpu = cpu;
	fake_of(tracer)->last_cpu_online = online;
}

static bool fake_reads_logs(const struct tracer *tracer)
{
	(void)tracer;
	return false;
}

static int fake_watch_file(struct tracer *tracer, const char *path, const struct tracer_probes *probes,
                           char *err, size_t err_len)
{
	(void)path;
	(void)probes;
	(void)err;
	(void)err_len;
	return (int)fake_of(tracer)->watched_files++;
}

static void fake_unwatch_file(struct tracer *tracer, int watched)
{
	(void)tracer;
	(void)watched;
}

/* Its index among those that were set. */
static size_t fake_find_process(const struct fake_tracer *fake, const struct abi_process_key *key)
{
	size_t i = 0;

	while (i < fake->n_processes && memcmp(&fake->processes[i].key, key, sizeof(*key)))
		i++;
	return i;
}

static int fake_set_process(struct tracer *tracer, const struct abi_process_key *key,
                            const struct abi_process *process)
{
	struct fake_tracer *fake = fake_of(tracer);
	size_t i = fake_find_process(fake, key);

	if (i == FAKE_TRACER_PROCESSES)
		return -ENOSPC;
	fake->processes[i].key = *key;
	fake->processes[i].process = *process;
	fake->n_processes += i == fake->n_processes;
	return 0;
}

static void fake_forget_process(struct tracer *tracer, const struct abi_process_key *key)
{
	struct fake_tracer *fake = fake_of(tracer);
	size_t i = fake_find_process(fake, key);

	if (i < fake->n_processes)
		fake->processes[i] = fake->processes[--fake->n_processes];
}

/* NULL: it is not followed. */
static inline const struct abi_process *fake_process(const struct fake_tracer *fake, uint32_t pid)
{
	for (size_t i = 0; i < fake->n_processes; i++)
		if (fake->processes[i].key.tgid == pid)
			return &fake->processes[i].process;
	return NULL;
}

static void fake_copy_late(struct tracer *tracer, uint64_t now_ns)
{
	(void)tracer;
	(void)now_ns;
}

static int fake_tag_file(struct tracer *tracer, uint64_t inode, const struct abi_tagged_file *tagged)
{
	struct fake_tracer *fake = fake_of(tracer);

	fake->tagged_inode = inode;
	fake->tagged_file = *tagged;
	return 0;
}

static void fake_allow_xattrs(struct tracer *tracer, unsigned int asks)
{
	fake_of(tracer)->xattr_asks = asks;
}

static void fake_ask_xattr_again(struct tracer *tracer, uint64_t inode)
{
	fake_of(tracer)->asked_again = inode;
}

static void fake_hold_folders(struct tracer *tracer, uint64_t now_ns, say_fn say)
{
	(void)now_ns;
	(void)say;
	fake_of(tracer)->folder_holds++;
}

static int fake_set_python(struct tracer *tracer, uint32_t tgid, const struct abi_python *layout)
{
	(void)tracer;
	(void)tgid;
	(void)layout;
	return 0;
}

static void fake_forget_python(struct tracer *tracer, uint32_t tgid)
{
	(void)tracer;
	(void)tgid;
}

static void fake_know_stack(struct tracer *tracer, uint64_t stack_key, const struct abi_known_stack *known)
{
	(void)tracer;
	(void)stack_key;
	(void)known;
}

static void fake_stacks_from(struct tracer *tracer, uint64_t window)
{
	(void)tracer;
	(void)window;
}

static void fake_allow_python(struct tracer *tracer, unsigned int asks)
{
	(void)tracer;
	(void)asks;
}

static int fake_add_tag(struct tracer *tracer, const char *name, uint64_t id, uint64_t *key)
{
	(void)name;
	(void)id;
	*key = ++fake_of(tracer)->next_key;
	return 0;
}

static int fake_find_tag(struct tracer *tracer, uint64_t key, struct abi_tag *tag)
{
	const char *name = fake_of(tracer)->tag_name;

	*tag = (struct abi_tag){ .id = key };
	snprintf(tag->name, sizeof(tag->name), "%s", name ? name : "step");
	return 0;
}

static void fake_drop_tag(struct tracer *tracer, uint64_t key)
{
	(void)key;
	fake_of(tracer)->drops++;
}

static void fake_each_tag(struct tracer *tracer, tracer_tag_fn on_tag, void *ctx)
{
	(void)tracer;
	(void)on_tag;
	(void)ctx;
}

static int fake_iterate(struct tracer *tracer, uint32_t mode)
{
	fake_of(tracer)->adopts += mode == ABI_ITER_ADOPT;
	fake_of(tracer)->flushes += mode == ABI_ITER_FLUSH;
	return fake_of(tracer)->walk_error;
}

static int fake_take_ledger(struct tracer *tracer, uint64_t next, tracer_row_fn on_row, void *ctx)
{
	struct fake_tracer *fake = fake_of(tracer);
	int result = fake->ledger_error;

	fake->takes++;
	fake->ledger = next;
	for (; fake->n_rows && !result; fake->n_rows--)
		result = on_row(ctx, fake->row_key, fake->row);
	return result;
}

static int fake_fd(const struct tracer *tracer)
{
	return fake_of(tracer)->fd;
}

static int fake_python_fd(const struct tracer *tracer)
{
	return fake_of(tracer)->python_fd;
}

static int fake_poll(struct tracer *tracer, bool all, uint64_t until_ns)
{
	struct fake_tracer *fake = fake_of(tracer);

	fake->polls++;
	fake->polls_of_all += all;
	fake->last_poll_until_ns = until_ns;
	for (; fake->n_events; fake->n_events--)
		tracer->on_event(tracer->ctx, fake->event);
	return fake->poll_result;
}

static uint64_t fake_tagged_ns(const struct tracer *tracer)
{
	return fake_of(tracer)->tagged_ns;
}

static uint64_t fake_walked_ns(const struct tracer *tracer)
{
	return fake_of(tracer)->walked_ns;
}

static int64_t fake_tagged(const struct tracer *tracer)
{
	return fake_of(tracer)->tagged;
}

static uint64_t fake_event_bytes(const struct tracer *tracer, enum abi_waits waits)
{
	return fake_of(tracer)->event_bytes[waits];
}

static uint64_t fake_threshold(const struct tracer *tracer, enum abi_waits waits)
{
	return fake_of(tracer)->threshold_ns[waits];
}

static void fake_set_threshold(struct tracer *tracer, enum abi_waits waits, uint64_t ns)
{
	fake_of(tracer)->threshold_ns[waits] = ns;
}

static void fake_set_cgroup(struct tracer *tracer, uint64_t id)
{
	fake_of(tracer)->cgroup = id;
}

static uint64_t fake_counter(const struct tracer *tracer, enum abi_counter counter)
{
	(void)tracer;
	(void)counter;
	return 0;
}

static int fake_describe(struct tracer *tracer, struct stamp *stamp)
{
	(void)tracer;
	(void)stamp;
	return 0;
}

static const char *fake_missing(const struct tracer *tracer, size_t row)
{
	(void)tracer;
	(void)row;
	return NULL;
}

static inline void fake_tracer_init(struct fake_tracer *fake)
{
	*fake = (struct fake_tracer){
		.ops = {
			.free = fake_free,
			.attached = fake_attached,
			.attach = fake_attach,
			.detach = fake_detach,
			.rest = fake_rest,
			.cpu = fake_cpu,
			.reads_logs = fake_reads_logs,
			.watch_file = fake_watch_file,
			.unwatch_file = fake_unwatch_file,
			.set_process = fake_set_process,
			.copy_late = fake_copy_late,
			.forget_process = fake_forget_process,
			.set_python = fake_set_python,
			.allow_python = fake_allow_python,
			.forget_python = fake_forget_python,
			.know_stack = fake_know_stack,
			.stacks_from = fake_stacks_from,
			.tag_file = fake_tag_file,
			.allow_xattrs = fake_allow_xattrs,
			.ask_xattr_again = fake_ask_xattr_again,
			.hold_folders = fake_hold_folders,
			.add_tag = fake_add_tag,
			.find_tag = fake_find_tag,
			.drop_tag = fake_drop_tag,
			.each_tag = fake_each_tag,
			.iterate = fake_iterate,
			.take_ledger = fake_take_ledger,
			.fd = fake_fd,
			.python_fd = fake_python_fd,
			.poll = fake_poll,
			.tagged_ns = fake_tagged_ns,
			.walked_ns = fake_walked_ns,
			.tagged = fake_tagged,
			.event_bytes = fake_event_bytes,
			.threshold = fake_threshold,
			.set_threshold = fake_set_threshold,
			.set_cgroup = fake_set_cgroup,
			.counter = fake_counter,
			.describe = fake_describe,
			.missing = fake_missing,
		},
		.fd = -1,
		.python_fd = -1,
	};
	fake->tracer.ops = &fake->ops;
}

#endif
