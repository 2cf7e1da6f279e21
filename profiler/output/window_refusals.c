/* Tells a window that a server cannot take from a server that is down. */

#include "profiler/output/window_refusals.h"

enum window_verdict window_refusals_add(struct window_refusals *refusals, uint64_t now_ns, uint64_t taken)
{
	if (refusals->next_tried && taken > refusals->taken)
		return WINDOW_SET_ASIDE;
	if (!refusals->n++)
		refusals->since_ns = now_ns;
	refusals->taken = taken;
	refusals->next_tried =
	        refusals->n >= WINDOW_REFUSALS && now_ns - refusals->since_ns >= WINDOW_REFUSALS_NS;
	return refusals->next_tried ? WINDOW_TRY_NEXT : WINDOW_WAITS;
}
