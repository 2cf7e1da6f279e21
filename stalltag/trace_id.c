/* The process's trace id: parsed from TRACEPARENT, else random. */

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "stalltag/trace_id.h"

#define TRACEPARENT_BYTES 55
#define FLAG_RANDOM       0x02 /* W3C Trace Context level 2: the id's right half is random */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static uint8_t process_id[16];
static uint8_t process_flags;

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

static bool parse_hex(const char *text, uint8_t *out, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		int high = hex_digit(text[2 * i]);
		int low = hex_digit(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		out[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

static bool all_zero(const uint8_t *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (bytes[i])
			return false;
	return true;
}

/* 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01 */
bool trace_id_parse(const char *text, uint8_t id[16], uint8_t *flags)
{
	uint8_t version, trace[16], parent[8], trace_flags;
	size_t length = strnlen(text, TRACEPARENT_BYTES + 1);

	if (length < TRACEPARENT_BYTES || text[2] != '-' || text[35] != '-' || text[52] != '-')
		return false;
	if (!parse_hex(text, &version, 1) || !parse_hex(text + 3, trace, 16) ||
	    !parse_hex(text + 36, parent, 8) || !parse_hex(text + 53, &trace_flags, 1))
		return false;
	if (version == 0xff || all_zero(trace, 16) || all_zero(parent, 8))
		return false;
	if (length > TRACEPARENT_BYTES && (version == 0 || text[TRACEPARENT_BYTES] != '-'))
		return false;
	memcpy(id, trace, sizeof(trace));
	*flags = trace_flags;
	return true;
}

static void choose(void)
{
	const char *traceparent = getenv("TRACEPARENT");
	struct timespec now;

	if (traceparent && trace_id_parse(traceparent, process_id, &process_flags))
		return;
	process_flags = FLAG_RANDOM;
	if (getrandom(process_id, sizeof(process_id), GRND_NONBLOCK) != (ssize_t)sizeof(process_id)) {
		/* Early boot, or a seccomp filter: unique on this host will do. */
		uint64_t pid = (uint64_t)getpid();

		clock_gettime(CLOCK_REALTIME, &now);
		memcpy(process_id, &now.tv_sec, 8);
		pid = pid << 32 ^ (uint64_t)now.tv_nsec;
		memcpy(process_id + 8, &pid, 8);
		process_flags = 0;
	}
	if (all_zero(process_id, sizeof(process_id)))
		process_id[15] = 1;
}

void trace_id_of_process(uint8_t id[16], uint8_t *flags)
{
	pthread_once(&once, choose);
	memcpy(id, process_id, sizeof(process_id));
	*flags = process_flags;
}
