/*
 * A recording in progress: the BPF side, the symbols, the tags found on the host, and the current window. `record`
 * and `agent` each drive one.
 *
 *     s = session_new(config, &opts, say, err, sizeof(err));
 *     session_tag_process(s, pid, name, id, …)     processes to follow whatever they push
 *     session_start(s, …)                          from here on it counts
 *     while (…) {
 *             wait for session_fds(), at most session_timeout_ms()
 *             session_tick(s);
 *             every window:  profile = session_end_window(s);
 *     }
 *     session_free(s);
 *
 * Not thread-safe. Errors: 0 or -errno with a line in `err`; what goes wrong later is said through `say`.
 */
#ifndef STALLPROF_PROFILER_SESSION_H
#define STALLPROF_PROFILER_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "profiler/format/say.h"
#include "profiler/tracer/tracer.h"

struct config;
struct profile;
struct session;
struct silent_mounts;
struct timeline;

struct session_opts {
	bool only_adopted;    /* follow only the processes given, and their children; else the whole host */
	bool always_attached; /* do not wait for a tag */
	bool takes_over;      /* another session records until it has started: it looks for all tags before */
	bool local;           /* set by `record`, whose profiles are looked at right after */
	struct silent_mounts *
	        mounts; /* of this program; outlives it; NULL: file systems are not asked whether they answer */
	uint32_t max_slices; /* of time, by which a window's samples are told apart; 0: they are not */
	/* NULL: tracer_new(). A test has one that needs no kernel. */
	struct tracer *(*open_tracer)(const struct tracer_opts *opts, tracer_event_fn on_event,
	                              tracer_python_fn on_python, void *ctx, char *err, size_t err_len);
	const char *cpu_folder; /* as online_cpus_new() takes it: for tests; else NULL */
};

struct session_progress {
	int64_t stalled_ns[ABI_CAUSE_MAX]; /* of the current window */
	uint64_t samples;
	uint64_t losses; /* of all kinds, since the start */
	int64_t tagged;  /* threads that hold a tag now */
	uint64_t attach_count;
	bool attached;
};

/* `config` must outlive it. NULL with a line in `err`. */
struct session *session_new(const struct config *config, const struct session_opts *opts, say_fn say,
                            char *err, size_t err_len);
void session_free(struct session *session);

/* Tags the process, and what it forks from now on, unless they push tags of their own. */
int session_tag_process(struct session *session, uint32_t pid, const char *name, uint64_t id, char *err,
                        size_t err_len);

/* As session_tag_process(), but from the end of the process's next exec on: its waits before that, and the reading
 * of the program, are not the command's time. */
int session_tag_command(struct session *session, uint32_t pid, const char *name, uint64_t id, char *err,
                        size_t err_len);

/* Attaches to the tag library's probes in the files that the command (NULL: any command) may load, before it
 * runs. */
void session_expect_command(struct session *session, const char *command);

/* Looks for tags that are held already, and attaches if there are any (or always_attached). */
int session_start(struct session *session, char *err, size_t err_len);

/* Fills fds[] with descriptors that become readable when session_tick() has work; returns how many. */
#define SESSION_FDS_MAX 4
int session_fds(const struct session *session, int fds[SESSION_FDS_MAX]);
/* How long to wait at most before the next tick. */
int session_timeout_ms(const struct session *session);

/* Reads the events that wait, attaches and detaches, adapts T to the byte budget. */
int session_tick(struct session *session);

/* Ends the window and begins the next. NULL with errno set. */
struct profile *session_end_window(struct session *session);

/* The timeline of the current window so far, up to the last tick; NULL: there is none. Lives until the next call. */
const struct timeline *session_lanes(const struct session *session);

/* How many checkpoint files are to be summed, or are being. */
size_t session_unsummed_files(const struct session *session);

void session_progress(const struct session *session, struct session_progress *out);

#endif
