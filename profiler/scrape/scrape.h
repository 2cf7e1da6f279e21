/*
 * The agent's scrape endpoint: what Prometheus and readers of pprof ask the agent itself.
 *
 *     /metrics                             counters (scrape_metrics.h)
 *     /debug/pprof/block?seconds=N         the last windows that cover N seconds, as a profile; without N the last one
 *     /debug/pprof/delta_block?reader=NAME the windows that this reader has not had, each once
 *     /                                    what there is
 *
 * with profile in place of block for samples on the CPU, and recovery.
 *
 *     scrape = scrape_new()
 *     plan = scrape_plan_new(scrape, config, err, …)   at the start, and for each new configuration
 *     scrape_adopt(scrape, plan)                       that is in use now
 *     sink_show(sink, scrape_take, scrape)             each window comes by a thread of the sink
 *     scrape_poll(scrape, &counts)                     some times a second
 *     scrape_stop(scrape)                              nobody is answered any more
 *     scrape_free(scrape)                              after the sinks
 *
 * It outlives configurations, so that counters go on when one is read again. Nothing that a client does makes these wait:
 * HTTP has a thread of its own (scrape_server.h), which is given finished bytes. A window is taken by the sink's thread. Where
 * scrape.listen is not set there is neither a thread nor a port, and windows are not looked at.
 */
#ifndef STALLPROF_PROFILER_SCRAPE_H
#define STALLPROF_PROFILER_SCRAPE_H

#include <stddef.h>

struct config;
struct profile;
struct scrape;
struct scrape_plan;
struct sink_counts;

/* NULL: no memory. Nobody is answered yet. */
struct scrape *scrape_new(void);
/* Takes NULL. */
void scrape_free(struct scrape *scrape);

/*
 * What the configuration wants: the token is read, and a new port already answers. The present one goes on until
 * scrape_adopt(). NULL with errno set and one line in `err`.
 */
struct scrape_plan *scrape_plan_new(struct scrape *scrape, const struct config *config, char *err,
                                    size_t err_len);
/* Whether there could be a plan, as far as it is seen without listening. 0 or -errno with one line in `err`; -EADDRINUSE: somebody
 * listens there now, this agent maybe. */
int scrape_check(const struct config *config, char *err, size_t err_len);
/* Instead of scrape_adopt(): nothing has changed. Takes NULL. */
void scrape_plan_free(struct scrape_plan *plan);
/*
 * Frees the plan, too. Where only the address changes and the port does not, the present one has to be closed before the new one
 * can be tried: if that fails, nobody is answered. 0 or -errno with one line in `err`.
 */
int scrape_adopt(struct scrape *scrape, struct scrape_plan *plan, char *err, size_t err_len);

/* Where it answers; NULL: nowhere. */
const char *scrape_address(const struct scrape *scrape);
/* Whether anybody who can reach the address is answered, from other hosts, too. */
int scrape_is_open(const struct scrape *scrape);

/* Adds a window; NULL: counts one that is lost. `scrape` is a struct scrape. By any thread. */
void scrape_take(void *scrape, const struct profile *profile);

/* What has become of the windows; and ends connections that take too long. */
void scrape_poll(struct scrape *scrape, const struct sink_counts *counts);

void scrape_stop(struct scrape *scrape);

#endif
