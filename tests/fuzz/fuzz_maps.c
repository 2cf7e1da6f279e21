/* Fuzzes the parsers of /proc/PID/maps and perf-PID.map. */
#include <stdlib.h>
#include <string.h>

#include "symbolizer/base/maps.h"
#include "symbolizer/jit/perf_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void parse_lines(const char *text, size_t size)
{
	struct maps_entry entry;
	char *copy = malloc(size + 1), *line, *newline;

	if (!copy)
		return;
	memcpy(copy, text, size);
	copy[size] = 0;
	for (line = copy; line; line = newline ? newline + 1 : NULL) {
		newline = strchr(line, '\n');
		if (newline)
			*newline = 0;
		if (maps_parse_line(line, &entry) == 0 &&
		    (entry.start >= entry.end || strlen(entry.path) > size))
			abort();
	}
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct perf_map *map;
	uint64_t address;
	size_t i;

	parse_lines((const char *)data, size);
	if (perf_map_parse((const char *)data, size, &map))
		return 0;
	for (i = 0; i + 8 <= size; i += 8) {
		memcpy(&address, data + i, 8);
		perf_map_find(map, address);
		perf_map_find(map, address & 0xffff);
	}
	perf_map_free(map);
	return 0;
}
