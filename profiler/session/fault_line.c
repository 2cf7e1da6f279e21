/* Puts an IOMMU's fault into words. */

#include "profiler/session/fault_line.h"

#include <inttypes.h>
#include <stdio.h>

static void print_device(const struct abi_event *event, char *text, size_t text_len)
{
	if (event->dev == ABI_FAULT_NO_PLACE)
		snprintf(text, text_len, "a device that is not PCI's");
	else
		snprintf(text, text_len, "%04x:%02x:%02x.%x", event->dev >> 16, event->dev >> 8 & 0xff,
		         event->dev >> 3 & 0x1f, event->dev & 7);
}

void fault_line(const struct abi_event *event, char *line, size_t line_len)
{
	static const char *const accesses[] = { "write to", "read of", "access to" };
	unsigned int access = event->state <= ABI_FAULT_ACCESS ? event->state : ABI_FAULT_ACCESS;
	char device[40], reason[40] = "", more[64] = "";

	print_device(event, device, sizeof(device));
	if (event->cause)
		snprintf(reason, sizeof(reason), ", reason 0x%02x", event->cause);
	if (event->weight_ns > 1)
		snprintf(more, sizeof(more), " (%" PRIu64 " since it was last told)",
		         (uint64_t)event->weight_ns);
	snprintf(line, line_len, "IOMMU fault: %s: %s 0x%" PRIx64 " refused%s%s", device, accesses[access],
	         (uint64_t)event->tag, reason, more);
}
