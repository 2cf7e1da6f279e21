/*
 * A process with OpenTelemetry's pointer that publishes its key map late: prints "ready", reads a byte, publishes that
 * attribute 0 is `ai_tag`, prints "published", and waits until standard input ends. With slots.c, -DONLY_OTEL.
 */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MESSAGE                                                                                              \
	"\x12\x2d\x0a\x1dthreadlocal.attribute_key_map\x12\x0c\x2a\x0a\x0a\x08\x0a\x06"                      \
	"ai_tag"

struct header {
	char signature[8];
	uint32_t version, bytes;
	uint64_t published_at_ns;
	const char *payload;
};

void set_slots(void *stalltag, void *otel);

static void publish(void)
{
	int fd = memfd_create("OTEL_CTX", 0);
	struct header *header;

	if (ftruncate(fd, 4096))
		_exit(1);
	header = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	memcpy(header + 1, MESSAGE, sizeof(MESSAGE));
	*header = (struct header){ "OTEL_CTX", 2, sizeof(MESSAGE) - 1, 1, (const char *)(header + 1) };
}

int main(void)
{
	char byte;

	set_slots(NULL, NULL);
	if (write(1, "ready\n", 6) != 6 || read(0, &byte, 1) != 1)
		return 1;
	publish();
	if (write(1, "published\n", 10) != 10)
		return 1;
	return (int)read(0, &byte, 1);
}
