/* Leaves out what hooks put on a kernel stack. */

#include "profiler/session/hook_frames.h"

#include <stdio.h>
#include <string.h>

#define TRAMPOLINE "bpf_trampoline_"

bool hook_frames_skips(struct hook_frames *frames, const char *function)
{
	bool again = frames->hooked && !strcmp(frames->inner, function);

	frames->hooked = !strncmp(function, TRAMPOLINE, strlen(TRAMPOLINE));
	if (frames->hooked || again)
		return true;
	snprintf(frames->inner, sizeof(frames->inner), "%s", function);
	return false;
}
