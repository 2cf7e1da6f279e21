/*
 * Fuzzes a .dwo or .dwp file beside a hostile program. Byte 0 says which (1: a package), the 8 after it are the
 * dwo_id of the skeleton, the rest is the file.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbolizer/dwarf/dwarf_scopes.h"
#include "symbolizer/dwarf/dwarf_split.h"

#define MAX_BYTES ((size_t)16 << 20)
#define ADDRESSES 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char dir[] = "/tmp/fuzz-split-XXXXXX", path[64], dwo[64], dwp[64];

static void remove_dir(void)
{
	unlink(dwo);
	unlink(dwp);
	rmdir(dir);
}

static void make_dir(void)
{
	if (*path)
		return;
	if (!mkdtemp(dir))
		abort();
	snprintf(path, sizeof(path), "%s/x", dir);
	snprintf(dwo, sizeof(dwo), "%s/x.dwo", dir);
	snprintf(dwp, sizeof(dwp), "%s/x.dwp", dir);
	atexit(remove_dir);
}

static void write_file(const char *to, const uint8_t *data, size_t size)
{
	FILE *file = fopen(to, "w");

	unlink(to == dwo ? dwp : dwo);
	if (!file || fwrite(data, 1, size, file) != size || fclose(file))
		abort();
}

static void read_unit(const struct dwarf_split_unit *split)
{
	struct dwarf_info *info = dwarf_split_unit_info(split);
	struct dwarf_interval same = { 0, UINT64_MAX };
	struct dwarf_function *f;
	struct dwarf_scopes *scopes;
	char name[256];
	size_t i;

	if (dwarf_scopes_read(info, dwarf_split_unit_root(split), true, &scopes))
		return;
	for (i = 0; i < scopes->n_functions && i < ADDRESSES; i++) {
		struct dwarf_name found = dwarf_function_name(info, scopes->functions[i].die);

		f = dwarf_scopes_find(scopes, scopes->functions[i].low, &same);
		if (f && !f->inlines_read)
			dwarf_scopes_read_inlines(info, dwarf_split_unit_root(split), scopes, f);
		if (found.name)
			dwarf_scopes_qualify(scopes, found.die, found.name, name, sizeof(name));
	}
	dwarf_scopes_free(scopes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct debug_file_place place = { .debug_dir = "/nonexistent", .root = "", .path = path };
	uint64_t addresses[ADDRESSES], ranges[ADDRESSES];
	struct dwarf_info d = { .addr = { (const uint8_t *)addresses, sizeof(addresses) },
		                .ranges = { (const uint8_t *)ranges, sizeof(ranges) } };
	struct dwarf_unit skeleton = { .dwo_name = dwo, .comp_dir = "/", .version = 5, .address_size = 8 };
	struct symbolizer_stats stats = { 0 };
	struct dwarf_split_unit *split;
	struct dwarf_split *s;
	size_t i;

	if (size < 9)
		return 0;
	make_dir();
	for (i = 0; i < ADDRESSES; i++) {
		addresses[i] = 0x1000 + i * 64;
		ranges[i] = i % 8 < 6 ? 0x1000 + i * 64 : 0;
	}
	memcpy(&skeleton.dwo_id, data + 1, 8);
	write_file(data[0] == 1 ? dwp : dwo, data + 9, size - 9);
	s = dwarf_split_new(&place, "", MAX_BYTES, &stats);
	if (s && !dwarf_split_open(s, &d, &skeleton, &split)) {
		read_unit(split);
		dwarf_split_unit_free(split);
	}
	dwarf_split_free(s);
	return 0;
}
