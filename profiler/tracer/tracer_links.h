/*
 * Attaches the BPF programs, and keeps their links. Part of the tracer: see tracer.h.
 *
 * Links are kept in two groups: those that stay as long as the tracer (fork, exec, the tag library's probes),
 * and the hot ones (scheduler, block layer, clocks), which are there only while something is tagged.
 */
#ifndef STALLPROF_PROFILER_TRACER_LINKS_H
#define STALLPROF_PROFILER_TRACER_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bpf_link;
struct bpf_object;
struct bpf_program;
struct probe_host;
struct stamp;
struct tracer_links;

/* Call it before the object is loaded, to attach its probes of files by uprobe_multi links (usdt_links.h). */
void tracer_links_prepare_multi(struct bpf_object *object);

/* How programs are attached; NULL in its place: by the kernel. A test notes what is asked for. */
struct tracer_linker {
	/* Attach a program to its own hook, and to the clock of a CPU. NULL with errno set; ENODEV: that CPU is
	 * offline. */
	struct bpf_link *(*attach)(const struct bpf_program *program);
	struct bpf_link *(*attach_clock)(const struct bpf_program *program, int cpu, unsigned int hz);
	int (*detach)(struct bpf_link *link); /* may be NULL */
};

/* `object` and `host` must outlive it; `uprobe_multi`: it was prepared so. NULL without memory. */
struct tracer_links *tracer_links_new(struct bpf_object *object, const struct probe_host *host,
                                      unsigned int cpu_hz, bool uprobe_multi,
                                      const struct tracer_linker *linker);
/* Waits until all is detached. */
void tracer_links_free(struct tracer_links *links);

/* Attaches the rows of the table that are (not) hot. A row that fails is remembered with its reason; only the
 * core's failure is an error. */
int tracer_links_attach(struct tracer_links *links, bool hot, char *err, size_t err_len);
/* Detaches the hot programs. */
void tracer_links_detach(struct tracer_links *links);

/* The CPU went offline or came online (online_cpus.h), so its clock is dead: while clocks are attached, it gets a new one when it
 * is `online`. If that fails, the clocks' row is missing with that reason. */
void tracer_links_cpu(struct tracer_links *links, unsigned int cpu, bool online);

/* Attaches to one more file's probes: usdt_links.h. */
struct usdt_listener;
int tracer_links_usdt(struct tracer_links *links, const char *path, const struct usdt_listener *listeners,
                      size_t n);
/* … and to one more library's functions: library_links.h. */
int tracer_links_library(struct tracer_links *links, const char *path, uint32_t libraries);
/* `file`: what either of them has returned. */
void tracer_links_file_detach(struct tracer_links *links, int file);

/* Notes that no probe of any file can be attached, as a privilege is missing. */
void tracer_links_no_uprobes(struct tracer_links *links);

/* NULL when the row of the probe table is or was attached, else why not. */
const char *tracer_links_missing(const struct tracer_links *links, size_t row);

int tracer_links_describe(const struct tracer_links *links, struct stamp *stamp);

#endif
