/* Looks through the tables of processes for those that have ended. */

#include "profiler/process/exit_sweep.h"

#include "profiler/process/exec_maps.h"
#include "profiler/process/followed.h"
#include "profiler/process/process_table.h"
#include "profiler/process/python_processes.h"

size_t exit_sweep(const struct exit_sweep *tables, uint64_t now_ns, uint64_t *next_ns,
                  uint32_t ended[EXIT_SWEEP_MAX])
{
	size_t n;

	if (now_ns < *next_ns)
		return 0;
	*next_ns = now_ns + EXIT_SWEEP_NS;
	if (tables->maps && exec_maps_told_all(tables->maps))
		return 0;
	n = followed_sweep(tables->followed, EXIT_SWEEP_LOOKS, ended);
	n += python_processes_sweep(tables->pythons, EXIT_SWEEP_LOOKS, ended + n);
	n += process_table_sweep(tables->processes, EXIT_SWEEP_LOOKS, ended + n);
	return n;
}
