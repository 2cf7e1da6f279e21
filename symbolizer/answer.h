/* From what was found for an address to the result that the caller gets: its frames, their source, and the counts of these. */
#ifndef SYMBOLIZER_ANSWER_H
#define SYMBOLIZER_ANSWER_H

#include "symbolizer/object/object.h"
#include "symbolizer/symbolizer.h"

/* Room for what results point to that has no other place; a result lives until the next use. */
struct answer_room {
	struct symbolizer_stats *stats; /* counts results by source */
	struct sym_frame single;
	char unnamed
	        [512]; /* the name of an address that has none: there is no end to those, so they are not interned */
};

/* One frame that has just a name. */
void answer_single(struct answer_room *room, struct sym_result *out, const char *function,
                   enum sym_source source);

/* One frame whose name is made by `format`, as nothing is known; its source is NONE. */
void answer_unnamed(struct answer_room *room, struct sym_result *out, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

/* An object's frames. Without any: "[no symbols: FILE+0xADDRESS]", ADDRESS being out->address. */
void answer_object(struct answer_room *room, struct sym_result *out, const struct object_answer *answer,
                   const char *file);

#endif
