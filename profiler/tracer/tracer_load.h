/*
 * Loads the BPF programs. Part of the tracer: see tracer.h.
 *
 * Only the kernel knows which programs it accepts: its verifier may refuse one, or a field may have moved. A
 * program that is refused is left out, its row of the probe table and so its cause are marked (probe_host_refuse),
 * and the rest is loaded.
 */
#ifndef STALLPROF_PROFILER_TRACER_LOAD_H
#define STALLPROF_PROFILER_TRACER_LOAD_H

#include <stddef.h>

#include "profiler/format/say.h"

struct probe_host;
struct stallprof_bpf;

/* Called for each object before it is loaded: sets its constants and the sizes of its maps. */
typedef void (*tracer_prepare_fn)(struct stallprof_bpf *bpf, const void *ctx);

/*
 * Returns the loaded object, for stallprof_bpf__destroy(), with all programs of the table that probe_missing() does
 * not rule out. `say` (may be NULL) is called with a text for each that is refused: what is lost, and the
 * verifier's last lines. When one of the core is refused: NULL with errno set and a line in `err`, the verifier's
 * last lines below it; other programs that would be refused are marked then, too. One load takes some 0.1 s;
 * programs are tried one by one only when it fails. `btf_path`: a file of type information that is taken for the running
 * kernel's, so that a test can play a kernel with other fields; else NULL.
 */
struct stallprof_bpf *tracer_load(struct probe_host *host, tracer_prepare_fn prepare, const void *ctx,
                                  say_fn say, const char *btf_path, char *err, size_t err_len);

#endif
