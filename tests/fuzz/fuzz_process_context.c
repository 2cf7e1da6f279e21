/*
 * Fuzzes the process context of another process: the input is its memory from address 0, where the header stands;
 * and, once more, the input is the protobuf message alone.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "profiler/process/remote_pages.h"
#include "profiler/tags/process_context_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(struct process_context *context)
{
	if (process_context_key(context, "ai_tag") > PROCESS_CONTEXT_NO_KEY)
		abort();
	if (strlen(context->service_name) > PROCESS_CONTEXT_TEXT_MAX)
		abort();
	process_context_release(context);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct remote_pages memory = { .fd = -1 };
	struct process_context context;
	const uint64_t both[] = { 0, 32 };

	if (memory.fd < 0)
		memory.fd = memfd_create("memory", MFD_CLOEXEC);
	if (memory.fd < 0 || ftruncate(memory.fd, 0) || pwrite(memory.fd, data, size, 0) != (ssize_t)size)
		return 0;
	process_context_read_at(&memory, 0, &context);
	use(&context);
	process_context_read_newest(&memory, both, 2, &context);
	use(&context);
	process_context_decode(data, size, &context);
	use(&context);
	return 0;
}
