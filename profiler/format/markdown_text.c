/* Escapes what Markdown, or the HTML in it, would take for markup. */

#include "profiler/format/markdown_text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/format/text_cells.h"

void markdown_print(FILE *out, const char *text)
{
	char *words = text_clean(text);
	size_t blanks, digits;

	if (!words)
		return;
	/* A number with a dot, or a dash, would begin a list. */
	blanks = strspn(words, " ");
	digits = strspn(words + blanks, "0123456789");
	for (size_t i = 0; words[i]; i++) {
		bool begins_list = (i == blanks && strchr("+-=", words[i])) ||
		                   (digits && i == blanks + digits && strchr(".)", words[i]));

		if (words[i] == '<')
			fputs("&lt;", out);
		else if (words[i] == '&')
			fputs("&amp;", out);
		else if (begins_list || strchr("\\`*_{}[]#|>~!$", words[i]))
			fprintf(out, "\\%c", words[i]);
		else if (words[i] == ':' && words[i + 1] == '/')
			fputs("&#58;", out); /* no link of its own accord */
		else if (words[i] == '@')
			fputs("&#64;", out);
		else
			fputc(words[i], out);
	}
	free(words);
}
