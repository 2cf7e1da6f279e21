/*
 * What `stallprof top` found, as JSON:
 *
 *     { "ledger":  [ {tag, id, class, base, process, start_ns, comm, rank, state, cause, device, ns, count} ],
 *       "wall_ns": { TAG: ns },
 *       "classes": [ {name, id, base, threads, wall_ns, lost_ns, ns: {STATE OR CAUSE: ns}, tags, p50_ns, p99_ns,
 *                     worst: {tag, id, process, ns}} ],
 *       "processes": [ {process, start_ns, comm, rank, wall_ns, classes: [{name, wall_ns, share}]} ],
 *       "requests": [ {device, class, op, writeback, requests, bytes, ns} ],
 *       "gpu_jobs": [ {driver, ring, class, jobs, total_ns, p90_ns, PHASE: {jobs, ns, slow}, long_tail, faults, preempted} ],
 *       "users":   [ {process, processes, tagged, device, unit, rate} ],
 *       "checkpoints": [ what checkpoint_rows.h has of each file, and its ranges ],
 *       "top":     { by, type, unit, total, samples, entries: [ {name, flat, cum, samples} ] },
 *       "stacks":  [ {tag, class, id, trace_id, stall, device, delay_ns, cpu_ns, recovery_ns, contentions,
 *                     frames: [ {function, file, line, inlined} ]} ],
 *       "waits":   as stacks, of waits that are no stalls,
 *       "stamp":   { files, files_without_ledger, files_rewritten, malformed_lines, rows_summed_by_class,
 *                    covered_seconds, first_ns, last_ns, windows, threshold_ns, blocked_threshold_ns,
 *                    hooks: [ {cause, hook, state, reason} ], counters: {NAME: value}
 * } }
 *
 * Ids are text of 16 hex digits. rank is there where the process has one. Frames are innermost first; a frame is inlined when it is in the code of the one
 * after it; file is null and line 0 when not known. Stacks are in order of delay_ns + cpu_ns, heaviest first. "top"
 * sums waits that are no stalls only when their kind is asked for. Classes are as loaded_classes.h has them, processes
 * as top_processes.h, whatever the filter. Users are the programs that top_users.h names. So are requests (request_rows.h) and jobs of GPUs
 * (gpu_job_rows.h), whose class is null where they are of no tag; what the hooks do not tell of a job is null, too.
 */
#ifndef STALLPROF_PROFILER_TOP_JSON_H
#define STALLPROF_PROFILER_TOP_JSON_H

#include <stdio.h>

#include "profiler/loaded/loaded_classes.h"
#include "profiler/top/top_table.h"

struct loaded_profiles;

struct top_json {
	const struct loaded_profiles *input;
	const struct loaded_tags *tags;
	struct loaded_filter filter;
	const struct top_table *table;
	enum top_by by;
	enum loaded_level level;
	struct profile_value_type type;
	size_t limit; /* of stacks and entries; 0: all */
};

/* 0; -EIO when writing failed; -ENOMEM. */
int top_json_write(FILE *out, const struct top_json *what);

#endif
