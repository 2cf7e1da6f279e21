/* demangle_names templates|full|simplified: reads names, one a line, and prints each demangled. */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/names/demangle.h"

static enum sym_names detail_of(const char *how)
{
	if (strcmp(how, "templates") == 0)
		return SYM_NAMES_TEMPLATES;
	if (strcmp(how, "full") == 0)
		return SYM_NAMES_FULL;
	if (strcmp(how, "simplified") == 0)
		return SYM_NAMES_SIMPLIFIED;
	errx(2, "%s: templates, full or simplified is wanted", how);
}

int main(int argc, char **argv)
{
	enum sym_names detail = detail_of(argc == 2 ? argv[1] : "nothing");
	char *name = NULL, *shown;
	size_t size = 0;
	ssize_t len;

	while ((len = getline(&name, &size, stdin)) > 0) {
		if (name[len - 1] == '\n')
			name[len - 1] = 0;
		shown = demangle(name, detail);
		puts(shown ? shown : name);
		free(shown);
	}
	free(name);
	return 0;
}
