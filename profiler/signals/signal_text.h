/*
 * Reads numbers out of the kernel's text files: /proc/net/snmp, pressure, stat and the like. Each gives
 * false where the text does not have it.
 */
#ifndef STALLPROF_PROFILER_SIGNAL_TEXT_H
#define STALLPROF_PROFILER_SIGNAL_TEXT_H

#include <stdbool.h>
#include <stdint.h>

/* /proc/net/snmp: a field by its name, of the protocol's two lines, for example "Tcp:" and "RetransSegs". */
bool signal_snmp(const char *text, const char *protocol, const char *field, uint64_t *value);

/* /proc/pressure/...: microseconds in all of the line that begins with `line`, "some" or "full". */
bool signal_pressure(const char *text, const char *line, uint64_t *us);

/* /proc/loadavg: how many threads run or could run now. */
bool signal_running(const char *text, uint64_t *running);

/* /proc/stat: the first line's field of that number, from 1 on, in clock ticks: 8 is steal. */
bool signal_cpu_ticks(const char *text, unsigned int field, uint64_t *ticks);

/* The number `field`, from 1 on, of a line of numbers: /sys/block/NAME/stat. */
bool signal_field(const char *text, unsigned int field, uint64_t *value);

/* "key value" lines: cpu.stat, aer_dev_correctable. */
bool signal_key(const char *text, const char *key, uint64_t *value);

#endif
