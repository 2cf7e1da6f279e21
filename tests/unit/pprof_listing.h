/*
 * A profile as text. Profiles that differ only in ids and order of samples give the same text. Lines
 * "type", "default", "period", "time", "comment", "note", "mapping" and, sorted, "sample", with fields parted by
 * tabs. For tests; static, since each test is one file.
 */
#ifndef STALLPROF_TESTS_PPROF_LISTING_H
#define STALLPROF_TESTS_PPROF_LISTING_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pprof/profile.h"

static inline const char *pprof_listing_text(const char *text)
{
	return text ? text : "";
}

/* sample <values> <stack: frames parted by " < ", leaf first> <labels> */
static inline char *pprof_listing_sample(const struct profile *p, const struct profile_sample_view *s)
{
	struct profile_location_view l;
	size_t len;
	char *line;
	FILE *f = open_memstream(&line, &len);

	fprintf(f, "sample\t");
	for (size_t i = 0; i < profile_n_types(p); i++)
		fprintf(f, "%s%" PRId64, i ? " " : "", s->values[i]);
	fputc('\t', f);
	for (size_t i = 0; i < s->n_locations && profile_get_location(p, s->location_ids[i], &l); i++) {
		const struct profile_mapping_view *m = profile_get_mapping(p, l.mapping_id);

		fprintf(f, "%s0x%" PRIx64 "@%s", i ? " < " : "", l.address,
		        m ? pprof_listing_text(m->file) : "");
		for (size_t k = 0; k < l.n_frames; k++)
			fprintf(f, " %s(%s) %s:%u", l.frames[k].function,
			        pprof_listing_text(l.frames[k].system_name),
			        pprof_listing_text(l.frames[k].file), l.frames[k].line);
	}
	for (size_t i = 0; i < s->n_labels; i++) {
		const struct profile_label *label = &s->labels[i];

		if (label->str)
			fprintf(f, "\t%s=%s", label->key, label->str);
		else
			fprintf(f, "\t%s=%" PRId64 " %s", label->key, label->num,
			        pprof_listing_text(label->unit));
	}
	fclose(f);
	return line;
}

static inline int pprof_listing_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static inline void pprof_listing_samples(FILE *f, const struct profile *p)
{
	size_t n = profile_n_samples(p);
	char **lines = calloc(n + 1, sizeof(*lines));
	struct profile_sample_view s;

	for (size_t i = 0; profile_get_sample(p, i, &s); i++)
		lines[i] = pprof_listing_sample(p, &s);
	qsort(lines, n, sizeof(*lines), pprof_listing_compare);
	for (size_t i = 0; i < n; i++) {
		fprintf(f, "%s\n", lines[i]);
		free(lines[i]);
	}
	free(lines);
}

/* Malloc'd. */
static inline char *pprof_listing(const struct profile *p)
{
	const struct profile_mapping_view *m;
	size_t len;
	char *text;
	FILE *f = open_memstream(&text, &len);

	for (size_t i = 0; i < profile_n_types(p); i++)
		fprintf(f, "type\t%s/%s\n", profile_type(p, i).type, profile_type(p, i).unit);
	fprintf(f, "default\t%s\n", profile_default_type(p));
	fprintf(f, "period\t%s/%s\t%" PRId64 "\n", profile_period_type(p).type, profile_period_type(p).unit,
	        profile_period(p));
	fprintf(f, "time\t%" PRId64 "\t%" PRId64 "\n", profile_time_ns(p), profile_duration_ns(p));
	for (size_t i = 0; i < profile_n_comments(p); i++)
		fprintf(f, "comment\t%s\n", profile_comment(p, i));
	for (size_t i = 0; i < profile_n_notes(p); i++)
		fprintf(f, "note\t%s\n", profile_note(p, i));
	for (int64_t id = 1; (m = profile_get_mapping(p, id)); id++)
		fprintf(f, "mapping\t0x%" PRIx64 "/0x%" PRIx64 "/0x%" PRIx64 "\t%s\t%s\t%s%s%s%s\n", m->start,
		        m->limit, m->offset, pprof_listing_text(m->file), pprof_listing_text(m->build_id),
		        m->has_functions ? "[FN]" : "", m->has_filenames ? "[FL]" : "",
		        m->has_lines ? "[LN]" : "", m->has_inlines ? "[IN]" : "");
	pprof_listing_samples(f, p);
	fclose(f);
	return text;
}

#endif
