/* Turns the setting `demangle` into options of the symbolizer. */

#include "profiler/config/symbol_names.h"

#include <string.h>

static const struct {
	const char *how;
	bool keep_mangled;
	enum sym_names names;
} table[] = {
	{ "templates", false, SYM_NAMES_TEMPLATES },
	{ "full", false, SYM_NAMES_FULL },
	{ "simplified", false, SYM_NAMES_SIMPLIFIED },
	{ "none", true, SYM_NAMES_TEMPLATES },
};

bool symbol_names_set(const char *how, struct symbolizer_opts *opts)
{
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(*table); i++) {
		if (strcmp(how, table[i].how) != 0)
			continue;
		if (opts) {
			opts->keep_mangled = table[i].keep_mangled;
			opts->names = table[i].names;
		}
		return true;
	}
	return false;
}
