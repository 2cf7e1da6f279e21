/* Sets the tag of a whole process, by environment variable and probe, and parses it back. */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stalltag/process_tag.h"
#include "stalltag/usdt.h"

extern volatile uint16_t stalltag_process_semaphore __attribute__((visibility("hidden")));
USDT_SEMAPHORE volatile uint16_t stalltag_process_semaphore = 0;

__attribute__((noinline, cold)) static void fire_process(uint64_t id, const char *name)
{
	USDT_2("stalltag", "process", "stalltag_process_semaphore", id, name);
}

/* 0, or -errno that says why this cannot be a name. */
static int check_name(const char *name)
{
	size_t length = strnlen(name, STALLTAG_NAME_MAX + 1);

	if (!length)
		return -EINVAL;
	if (length > STALLTAG_NAME_MAX)
		return -ENAMETOOLONG;
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)name[i] < 0x20 || name[i] == 0x7f)
			return -EINVAL;
	return 0;
}

int stalltag_process_set(uint64_t id, const char *name)
{
	char value[20 + 1 + STALLTAG_NAME_MAX + 1];
	int error = name ? check_name(name) : -EINVAL;

	if (error)
		return error;
	snprintf(value, sizeof(value), "%" PRIu64 " %s", id, name);
	if (setenv(STALLTAG_PROCESS_ENV, value, 1))
		return -errno;
	if (stalltag_process_semaphore)
		fire_process(id, name);
	return 0;
}

int stalltag_process_parse(const char *value, uint64_t *id, char *name, size_t size)
{
	uint64_t number = 0;
	size_t length;
	int error;

	if (*value < '0' || *value > '9')
		return -EINVAL;
	for (; *value >= '0' && *value <= '9'; value++) {
		if (__builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, (uint64_t)(*value - '0'), &number))
			return -ERANGE;
	}
	if (*value++ != ' ')
		return -EINVAL;
	error = check_name(value);
	if (error)
		return error;
	length = strlen(value);
	if (length >= size)
		return -ENAMETOOLONG;
	memcpy(name, value, length + 1);
	*id = number;
	return 0;
}
