/* Fuzzes the parser of /proc/kallsyms. */
#include <stdlib.h>
#include <string.h>

#include "symbolizer/kernel/kallsyms.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kallsyms_hit hit;
	struct kallsyms *k;
	uint64_t start, end, address;
	size_t i;

	if (kallsyms_parse((const char *)data, size, &k))
		return 0;
	kallsyms_address(k, "_stext");
	if (kallsyms_module_range(k, "", &start, &end) && kallsyms_find(k, start, &hit) && hit.start > start)
		abort();
	for (i = 0; i + 8 <= size; i += 8) {
		memcpy(&address, data + i, 8);
		if (kallsyms_find(k, address, &hit) && (hit.start > address || !*hit.name))
			abort();
		kallsyms_find(k, address & 0xffff, &hit);
	}
	kallsyms_free(k);
	return 0;
}
