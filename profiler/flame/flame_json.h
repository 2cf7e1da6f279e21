/*
 * A flame graph's data as JSON, for the page (profiler/flame/page/data.js reads it):
 *
 *     { "format": 1, "program": "stallprof 0.3", "title": TEXT, "stall": TEXT or null, "tag": TEXT or null,
 *       "types":   [ [type, unit] ], "strings": [ TEXT ], "start_ms": Unix time,
 *       "frames":  {name, file, line, kind},          name and file: numbers of strings; kind: flame_data.h
 *       "nodes":   {up, frame},                       up: how far before it its parent stands; 0: an outermost frame
 *       "samples": {node, own, slice, wait, class, stall, device, waker, inherited, process, host, side, values: [ a column a type ]},
 *       "slices":  {begin, end},                      ms since start_ms; -1: not known
 *       "ledger":  {state, base, class, stall, device, waker, inherited, process, host, side, ns, count}, "states": [ TEXT ],
 *       "steps":   [ {side, name, tags, p50_ns, p99_ns, worst_ns, worst_tag, worst_id} ],
 *       "sides":   [ {side, files, first_ms, covered_ns, span_ns, windows, threshold_ns, losses: [ TEXT ],
 *                     requests: [ {device, class, op, writeback, requests, bytes, ns} ],
 *                     processes: [ {process, ns, classes: [ {name, ns} ]} ],
 *                     lanes: [ {kind, class, name, device, bucket_ms, begin, value} ]} ] }
 *
 * {a, b} without more are columns: arrays of equal length, one element a record. Lanes are the timeline's
 * (timeline.h), begin in ms since start_ms. "stall" and "tag" say what alone was added to the tables: samples of both, ledger rows of
 * the tag. Steps and sides are of the whole recording nevertheless.
 */
#ifndef STALLPROF_PROFILER_FLAME_JSON_H
#define STALLPROF_PROFILER_FLAME_JSON_H

#include <stdio.h>

#include "profiler/flame/flame_sides.h"

struct flame_data;

struct flame_json {
	const struct flame_data *data;
	const char *title;
	struct flame_sides sides;
	const char *stall, *tag; /* of the filter that flame_add() had; NULL: it had none */
};

/* 0; -EIO when writing failed; -ENOMEM. */
int flame_json_write(FILE *out, const struct flame_json *what);

#endif
