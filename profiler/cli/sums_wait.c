/* Runs the loop of a recording until its checkpoint files are summed. */

#include "profiler/cli/sums_wait.h"

#include "profiler/session/event_loop.h"
#include "profiler/session/session.h"
#include "symbolizer/base/clock.h"

#define LIMIT_NS (30 * 1000000000ULL)
#define QUIET_NS (3 * 1000000000ULL)
#define LOOK_NS  100000000ULL

int sums_wait(struct event_loop *loop, say_fn say)
{
	uint64_t begin_ns = monotonic_ns(), waited_ns = 0;
	int result = EVENT_LOOP_DURATION;

	loop->duration_ns = LOOK_NS;
	loop->on_watched = NULL; /* what was watched for has come */
	while (session_unsummed_files(loop->session) && result == EVENT_LOOP_DURATION &&
	       waited_ns < LIMIT_NS) {
		if (say && waited_ns > QUIET_NS) {
			say("waiting for the sha256 of the last checkpoint files; Ctrl-C ends that");
			say = NULL;
		}
		result = event_loop_run(loop);
		waited_ns = monotonic_ns() - begin_ns;
	}
	return result < 0 ? result : 0;
}
