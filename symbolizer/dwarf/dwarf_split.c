/* Finds and opens split units, in .dwo files and .dwp packages. */

#include "symbolizer/dwarf/dwarf_split.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/dwarf/dwarf_package.h"

struct dwarf_split {
	char *debug_dir, *root, *path;
	char build_id[BUILD_ID_HEX_SIZE];
	size_t max_bytes;
	struct symbolizer_stats *stats;
	struct elf_file *package; /* FILE.dwp */
	bool package_tried;
	bool has_missed; /* a unit, maybe: it was looked for below a root that had gone */
};

struct dwarf_split_unit {
	struct elf_file *dwo; /* NULL: it is in the package */
	/* What was read of the package for this unit alone. */
	uint8_t *parts[PACKAGE_PARTS];
	size_t part_bytes;
	struct dwarf_info *info;
	struct dwarf_unit *root;
};

struct dwarf_split *dwarf_split_new(const struct debug_file_place *place, const char *build_id,
                                    size_t max_bytes, struct symbolizer_stats *stats)
{
	struct dwarf_split *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->debug_dir = strdup(place->debug_dir);
	s->root = strdup(place->root);
	s->path = strdup(place->path);
	snprintf(s->build_id, sizeof(s->build_id), "%s", build_id);
	s->max_bytes = max_bytes;
	s->stats = stats;
	if (!s->debug_dir || !s->root || !s->path) {
		dwarf_split_free(s);
		return NULL;
	}
	return s;
}

void dwarf_split_free(struct dwarf_split *s)
{
	if (!s)
		return;
	elf_file_close(s->package);
	free(s->debug_dir);
	free(s->root);
	free(s->path);
	free(s);
}

bool dwarf_split_move(struct dwarf_split *s, const struct debug_file_place *place)
{
	char *root = strdup(place->root), *path = strdup(place->path);
	bool has_missed = s->has_missed;

	if (!root || !path) {
		free(root);
		free(path);
		return false;
	}
	free(s->root);
	free(s->path);
	s->root = root;
	s->path = path;
	if (has_missed && !s->package)
		s->package_tried = false;
	s->has_missed = false;
	return has_missed;
}

/* Opens a file by a path of `root`'s. */
__attribute__((format(printf, 4, 5))) static int try_path(struct dwarf_split *s, const char *root,
                                                          struct elf_file **out, const char *format, ...)
{
	struct debug_file_place place = { .debug_dir = s->debug_dir, .root = root };
	char path[PATH_MAX];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	if (n < 0 || (size_t)n >= sizeof(path))
		return -ENAMETOOLONG;
	return debug_file_open_path(&place, path, s->max_bytes, out);
}

static int count_refusal(struct dwarf_split *s, int err)
{
	if (err == -EFBIG)
		s->stats->files_too_large++;
	else if (err == -EBADMSG || err == -ENOTSUP)
		s->stats->files_corrupt++;
	return err;
}

/* The sections that addresses, old ranges and lines are in stay the skeleton's. */
static struct dwarf_info sections_beside(struct dwarf_info *d)
{
	return (struct dwarf_info){
		.addr = d->addr, .ranges = d->ranges, .line_str = d->line_str, .payer = d
	};
}

static int load_sections(struct elf_file *f, struct dwarf_info *out)
{
	int err = dwarf_info_load(out, f, ".debug_info.dwo");
	if (!err)
		err = dwarf_section_load(f, ".debug_abbrev.dwo", &out->abbrev);
	if (!err)
		err = dwarf_section_load(f, ".debug_str.dwo", &out->str);
	if (!err)
		err = dwarf_section_load(f, ".debug_str_offsets.dwo", &out->str_offsets);
	if (!err)
		err = dwarf_section_load(f, ".debug_rnglists.dwo", &out->rnglists);
	return err;
}

static int find_root(const struct dwarf_info *sections, const struct dwarf_unit *skeleton,
                     struct dwarf_split_unit *split)
{
	int err = dwarf_info_new_split(sections, skeleton, &split->info);
	size_t i;

	if (err)
		return err;
	for (i = 0; i < split->info->n_units && !split->root; i++)
		if (split->info->units[i].dwo_id == skeleton->dwo_id)
			split->root = &split->info->units[i];
	if (split->root)
		return 0;
	dwarf_info_free(split->info);
	split->info = NULL;
	return -ENOENT;
}

/* --- FILE.dwp --------------------------------------------------------------------------------------- */

static int open_package(struct dwarf_split *s)
{
	if (s->package_tried)
		return s->package ? 0 : -ENOENT;
	s->package_tried = true;
	if (try_path(s, s->root, &s->package, "%s.dwp", s->path) &&
	    try_path(s, "", &s->package, "%s%s.dwp", s->debug_dir, s->path) &&
	    (strlen(s->build_id) < 3 || try_path(s, "", &s->package, "%s/.build-id/%.2s/%s.dwp", s->debug_dir,
	                                         s->build_id, s->build_id + 2)))
		return -ENOENT;
	s->stats->split_files_opened++;
	return 0;
}

static void free_parts(struct dwarf_split_unit *split)
{
	size_t i;

	for (i = 0; i < PACKAGE_PARTS; i++) {
		free(split->parts[i]);
		split->parts[i] = NULL;
	}
	split->part_bytes = 0;
}

static int read_part(struct dwarf_split *s, struct dwarf_split_unit *split, enum dwarf_package_part part,
                     uint64_t offset, size_t len)
{
	uint8_t *data;
	int err;

	if (len > s->max_bytes - split->part_bytes)
		return -EFBIG;
	data = malloc(len);
	if (!data)
		return -ENOMEM;
	err = elf_file_read(s->package, offset, data, len);
	if (err) {
		free(data);
		return err;
	}
	split->parts[part] = data;
	split->part_bytes += len;
	return 0;
}

/* One part of a unit: read alone where the section can be read in parts, as those of a program may have some GB. */
static int take_part(struct dwarf_split *s, struct dwarf_split_unit *split,
                     const struct dwarf_package_row *row, enum dwarf_package_part part,
                     struct dwarf_section *out)
{
	static const char *const names[PACKAGE_PARTS] = { ".debug_info.dwo", ".debug_abbrev.dwo",
		                                          ".debug_str_offsets.dwo", ".debug_rnglists.dwo" };
	uint32_t offset = row->parts[part].offset, len = row->parts[part].len;
	struct elf_section section;
	uint64_t place;
	int err = 0;

	if (!len)
		return 0;
	if (elf_file_section_place(s->package, names[part], &section, &place))
		err = elf_file_section(s->package, names[part], &section);
	if (!err && (offset > section.len || len > section.len - offset))
		err = -EBADMSG;
	if (!err && !section.data)
		err = read_part(s, split, part, place + offset, len);
	if (!err)
		*out = (struct dwarf_section){ .data = section.data ? section.data + offset
			                                            : split->parts[part],
			                       .len = len };
	return err == -ENOENT ? -EBADMSG : err;
}

static int take_parts(struct dwarf_split *s, struct dwarf_info *d, const struct dwarf_unit *skeleton,
                      const struct dwarf_package_row *row, struct dwarf_split_unit *split)
{
	struct dwarf_info sections = sections_beside(d);
	int err = take_part(s, split, row, PACKAGE_INFO, &sections.info);

	if (!err)
		err = take_part(s, split, row, PACKAGE_ABBREV, &sections.abbrev);
	if (!err)
		err = take_part(s, split, row, PACKAGE_STR_OFFSETS, &sections.str_offsets);
	if (!err)
		err = take_part(s, split, row, PACKAGE_RNGLISTS, &sections.rnglists);
	if (!err)
		err = dwarf_section_load(s->package, ".debug_str.dwo", &sections.str);
	if (!err)
		err = find_root(&sections, skeleton, split);
	if (err)
		free_parts(split);
	return err;
}

/* What it takes to look at one slot of a large table, as nearly all of them are not in the CPU's caches. */
#define TRY_STEPS 4

static int find_in_package(struct dwarf_split *s, struct dwarf_info *d, const struct dwarf_unit *skeleton,
                           struct dwarf_split_unit *split)
{
	struct dwarf_package_row row;
	struct elf_section index;
	uint32_t tries = 0;
	int err = open_package(s);

	if (!err && dwarf_info_is_overworked(d))
		err = -ENOENT;
	if (!err && !elf_file_answers(s->package))
		err = -EAGAIN;
	if (err)
		return err;
	err = elf_file_section(s->package, ".debug_cu_index", &index);
	if (!err)
		err = dwarf_package_find(index.data, index.len, skeleton->dwo_id, &row, &tries);
	dwarf_info_work(d, (uint64_t)tries * TRY_STEPS);
	if (!err)
		err = take_parts(s, d, skeleton, &row, split);
	return count_refusal(s, err);
}

/* --- .dwo ------------------------------------------------------------------------------------------- */

/* Takes the file when the unit is in it. */
static int take_dwo(struct dwarf_split *s, struct elf_file *f, struct dwarf_info *d,
                    const struct dwarf_unit *skeleton, struct dwarf_split_unit *split)
{
	struct dwarf_info sections = sections_beside(d);
	int err = load_sections(f, &sections);

	if (!err)
		err = find_root(&sections, skeleton, split);
	if (err) {
		elf_file_close(f);
		return count_refusal(s, err);
	}
	elf_file_detach(f); /* a program has thousands of them */
	split->dwo = f;
	s->stats->split_files_opened++;
	return 0;
}

/* The i-th place to look at, out of four. */
static int open_dwo(struct dwarf_split *s, const struct dwarf_unit *skeleton, int i, struct elf_file **out)
{
	const char *name = skeleton->dwo_name, *dir = skeleton->comp_dir ? skeleton->comp_dir : "";
	const char *slash = strrchr(s->path, '/'), *base = strrchr(name, '/');
	int dir_len = slash ? (int)(slash - s->path) : 0;

	switch (i) {
	case 0:
		return *name == '/' ? try_path(s, s->root, out, "%s", name) : -ENOENT;
	case 1:
		return *name != '/' && *dir == '/' ? try_path(s, s->root, out, "%s/%s", dir, name) : -ENOENT;
	case 2:
		return *name != '/' && slash ? try_path(s, s->root, out, "%.*s/%s", dir_len, s->path, name)
		                             : -ENOENT;
	default:
		return base && slash ? try_path(s, s->root, out, "%.*s%s", dir_len, s->path, base) : -ENOENT;
	}
}

int dwarf_split_open(struct dwarf_split *s, struct dwarf_info *d, const struct dwarf_unit *skeleton,
                     struct dwarf_split_unit **out)
{
	struct dwarf_split_unit *split;
	struct elf_file *f;
	int i, err;

	if (!skeleton->dwo_name || !skeleton->dwo_id)
		return -ENOENT;
	split = calloc(1, sizeof(*split));
	if (!split)
		return -ENOMEM;
	err = find_in_package(s, d, skeleton, split);
	for (i = 0; i < 4 && err; i++)
		if (!open_dwo(s, skeleton, i, &f))
			err = take_dwo(s, f, d, skeleton, split);
	if (err) {
		s->has_missed |= debug_file_root_has_gone(s->root);
		free(split);
		return -ENOENT;
	}
	*out = split;
	return 0;
}

void dwarf_split_count_missing(struct dwarf_split *s)
{
	s->stats->split_files_missing++;
}

void dwarf_split_unit_free(struct dwarf_split_unit *split)
{
	if (!split)
		return;
	dwarf_info_free(split->info);
	free_parts(split);
	elf_file_close(split->dwo);
	free(split);
}

struct dwarf_info *dwarf_split_unit_info(const struct dwarf_split_unit *split)
{
	return split->info;
}

struct dwarf_unit *dwarf_split_unit_root(const struct dwarf_split_unit *split)
{
	return split->root;
}

size_t dwarf_split_memory(const struct dwarf_split *s)
{
	return sizeof(*s) + (s->package ? elf_file_memory(s->package) : 0);
}

size_t dwarf_split_unit_memory(const struct dwarf_split_unit *split)
{
	return sizeof(*split) + split->part_bytes + split->info->memory + split->info->abbrev_memory +
	       (split->dwo ? elf_file_memory(split->dwo) : 0);
}
