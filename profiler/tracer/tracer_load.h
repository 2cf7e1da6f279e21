/*
 * Loads the BPF programs. Part of the tracer: see tracer.h.
 *
 * Which programs this kernel takes, it alone knows: its verifier, or a field that is not where it was. A program that is
 * refused is left out, its row of the probe table and so its cause are marked (probe_host_refuse), and the rest is loaded.
 */
#ifndef STALLPROF_PROFILER_TRACER_LOAD_H
#define STALLPROF_PROFILER_TRACER_LOAD_H

#include <stddef.h>

struct probe_host;
struct stallprof_bpf;

/* Called for each object before it is loaded: sets its constants and the sizes of its maps. */
typedef void (*tracer_prepare_fn)(struct stallprof_bpf *bpf, const void *ctx);

/* The loaded object, for stallprof_bpf__destroy(); all programs of the table are in it that probe_missing() does not rule out.
 * `say`, if there is one, is given a text for each that is refused: what it costs, and the verifier's last lines. NULL with errno set and a line in `err`, the verifier's last lines below it, when one of the core is refused; what else
 * would be refused is marked then, too. One load takes some 0.1 s; only where one fails is each program tried alone. */
struct stallprof_bpf *tracer_load(struct probe_host *host, tracer_prepare_fn prepare, const void *ctx,
                                  void (*say)(const char *text), char *err, size_t err_len);

#endif
