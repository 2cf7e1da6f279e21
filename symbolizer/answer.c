/* Fills in the frames and source of results, and counts results by source. */
#include "symbolizer/answer.h"

#include <stdarg.h>
#include <stdio.h>

const char *sym_source_name(enum sym_source source)
{
	static const char *const names[SYM_SOURCES] = {
		[SYM_SOURCE_NONE] = "none",       [SYM_SOURCE_DWARF] = "dwarf",
		[SYM_SOURCE_SYMTAB] = "symtab",   [SYM_SOURCE_KALLSYMS] = "kallsyms",
		[SYM_SOURCE_JITDUMP] = "jitdump", [SYM_SOURCE_PERF_MAP] = "perf-map",
	};

	return names[source];
}

void answer_single(struct answer_room *room, struct sym_result *out, const char *function,
                   enum sym_source source)
{
	room->single = (struct sym_frame){ .function = function };
	out->frames = &room->single;
	out->n_frames = 1;
	out->source = source;
	room->stats->results[source]++;
}

void answer_unnamed(struct answer_room *room, struct sym_result *out, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(room->unnamed, sizeof(room->unnamed), format, args);
	va_end(args);
	answer_single(room, out, room->unnamed, SYM_SOURCE_NONE);
}

void answer_object(struct answer_room *room, struct sym_result *out, const struct object_answer *answer,
                   const char *file)
{
	if (!answer->n_frames) {
		answer_unnamed(room, out, "[no symbols: %s+0x%llx]", file, (unsigned long long)out->address);
		return;
	}
	out->frames = answer->frames;
	out->n_frames = answer->n_frames;
	out->source = answer->source;
	room->stats->results[answer->source]++;
}
