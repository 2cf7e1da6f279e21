/*
 * Makes the caller's result from what was found for an address: frames and their source, and counts results by
 * source.
 */
#ifndef SYMBOLIZER_ANSWER_H
#define SYMBOLIZER_ANSWER_H

#include "symbolizer/object/object.h"
#include "symbolizer/symbolizer.h"

/*
 * Memory for what results point to and nothing else holds. A result lives until the next one is made with the same
 * room.
 */
struct answer_room {
	struct symbolizer_stats *stats; /* counts results by source */
	struct sym_frame single;
	char unnamed
	        [512]; /* the name of an address that has none; not interned, as there are endlessly many */
};

/* One frame that has just a name. */
void answer_single(struct answer_room *room, struct sym_result *out, const char *function,
                   enum sym_source source);

/* One frame whose name is made by `format`, where nothing is known; its source is NONE. */
void answer_unnamed(struct answer_room *room, struct sym_result *out, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

/* An object's frames. Without any: "[no symbols: FILE+0xADDRESS]", ADDRESS being out->address. */
void answer_object(struct answer_room *room, struct sym_result *out, const struct object_answer *answer,
                   const char *file);

#endif
