/* Writes a report in the form that is wanted. */

#include "profiler/report/report_forms.h"

#include <string.h>

#include "profiler/report/report_json.h"
#include "profiler/report/report_narrative.h"

static const char *const format_names[REPORT_FORMATS] = { "text", "markdown", "json", "html" };

bool report_format_parse(const char *name, enum report_format *format)
{
	for (unsigned int i = 0; i < REPORT_FORMATS; i++) {
		if (!strcmp(name, format_names[i])) {
			*format = i;
			return true;
		}
	}
	return false;
}

const char *report_format_name(enum report_format format)
{
	return format_names[format];
}

int report_write(FILE *out, const struct report *report, enum report_format format)
{
	static int (*const writers[REPORT_FORMATS])(FILE * out, const struct report_document *document) = {
		[REPORT_TEXT] = report_write_text,
		[REPORT_MARKDOWN] = report_write_markdown,
		[REPORT_HTML] = report_write_html,
	};
	struct report_document document;
	int err;

	if (format == REPORT_JSON)
		return report_write_json(out, report);
	report_narrate(&document, report);
	err = document.err ? document.err : writers[format](out, &document);
	report_document_end(&document);
	return err;
}
