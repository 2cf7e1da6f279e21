/*
 * Waits that keep their CPU: a call of a GPU's or communication library may look at a word of memory until it changes, and CUDA's do so unless
 * they are told otherwise. By the ledger that is on-CPU time; what the samples of CPUs met in such a call is what the report takes for a wait,
 * but for calls that work (profiler/session/working_call.h).
 */
#ifndef STALLPROF_PROFILER_REPORT_SPINS_H
#define STALLPROF_PROFILER_REPORT_SPINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct loaded_profiles;
struct timeline;

struct report_spin {
	const char *class, *cause;
	int64_t pid;
	int64_t ns; /* on a CPU, sampled */
};

struct report_spins {
	struct report_spin *spin;
	size_t n;
};

/* Whether threads waited for the cause on a CPU, too. `timeline` NULL: it is not known, so none. */
bool report_spins_any(const struct timeline *timeline, const char *cause);

/* Whether it has such samples and no lane of them, as recordings of earlier versions: how much of them was when is not known. */
bool report_spins_untold(const struct loaded_profiles *input);

/* Of the causes that the timeline has such waits of. Texts are the profile's. 0 or -ENOMEM; only after 0 is there something to free. */
int report_spins_sum(struct report_spins *spins, const struct loaded_profiles *input);
void report_spins_free(struct report_spins *spins);

#endif
