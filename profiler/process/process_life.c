/* Tells by /proc/PID/stat whether a process still runs. */

#include "profiler/process/process_life.h"

#include <errno.h>
#include <signal.h>

bool process_life_started(const struct process_stat *stat, uint64_t start_ticks, uint64_t slack_ticks)
{
	return stat->start_ticks + slack_ticks >= start_ticks &&
	       stat->start_ticks <= start_ticks + slack_ticks;
}

/* A leader that has ended before its threads is a zombie too, but is not alone. */
bool process_life_is_dead(const struct process_stat *stat)
{
	return (stat->state == 'Z' || stat->state == 'X') && stat->threads <= 1;
}

enum process_life process_life(uint32_t pid, uint64_t start_ticks, uint64_t slack_ticks)
{
	struct process_stat stat;

	/* Where no file can be opened (EMFILE), all would seem to be gone. */
	if (process_stat_read("/proc", pid, &stat))
		return kill((pid_t)pid, 0) && errno == ESRCH ? PROCESS_GONE : PROCESS_RUNS;
	if (!process_life_started(&stat, start_ticks, slack_ticks))
		return PROCESS_ANOTHER;
	return process_life_is_dead(&stat) ? PROCESS_GONE : PROCESS_RUNS;
}
