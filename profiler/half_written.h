/* What a profiler that was killed while it wrote left in its folder of windows. */
#ifndef STALLPROF_PROFILER_HALF_WRITTEN_H
#define STALLPROF_PROFILER_HALF_WRITTEN_H

/*
 * Removes pprof_file_write's temporary files of windows (stallprof-TIME.pb.gz.PID-N.tmp) whose process is no
 * more. Whatever can't be removed stays: it takes room and does no harm.
 */
void half_written_remove(const char *folder);

#endif
