#include "symbolizer/lone_file.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/elf_relocate.h"
#include "symbolizer/packed_file.h"
#include "symbolizer/symbolizer_state.h"

#define TEXT ".text"

struct sym_file {
	struct sym_file *next;
	struct symbolizer *owner;
	struct elf_file *elf; /* the object's */
	struct object *object;
	char path[PATH_MAX]; /* without links, as debug files are found by it */
};

void lone_files_free(struct sym_file *first)
{
	struct sym_file *next;

	for (; first; first = next) {
		next = first->next;
		object_free(first->object);
		free(first);
	}
}

bool lone_files_save(struct sym_file *first, bool last)
{
	bool wrote = false;

	for (; first; first = first->next)
		wrote |= object_save(first->object, last);
	return wrote;
}

size_t lone_files_memory(const struct sym_file *first)
{
	size_t sum = 0;

	for (; first; first = first->next)
		sum += sizeof(*first) + object_memory(first->object);
	return sum;
}

static int open_elf(struct sym_file *f, const char *path)
{
	int err;

	if (!realpath(path, f->path))
		return -errno;
	err = packed_file_open(f->path, f->owner->env.max_bytes, &f->elf);
	if (!err && elf_file_type(f->elf) == ET_REL)
		err = elf_relocate_lay_out(f->elf);
	return err;
}

int symbolizer_file(struct symbolizer *s, const char *path, struct sym_file **out)
{
	struct sym_file *f = calloc(1, sizeof(*f));
	int err;

	if (!f)
		return -ENOMEM;
	f->owner = s;
	err = open_elf(f, path);
	if (err) {
		elf_file_close(f->elf);
		free(f);
		return err;
	}
	f->object = object_new(&s->env, f->elf, "", f->path);
	if (!f->object) {
		free(f);
		return -ENOMEM;
	}
	s->stats.files_opened++;
	f->next = s->files;
	s->files = f;
	*out = f;
	return 0;
}

static const char *base_name(const char *path)
{
	return strrchr(path, '/') + 1;
}

int symbolizer_file_find(struct sym_file *f, const char *section, uint64_t address, struct sym_result *out)
{
	struct object_answer answer = { 0 };
	uint64_t start = 0, end = UINT64_MAX;

	*out = (struct sym_result){ .address = address };
	if (!section && elf_file_type(f->elf) == ET_REL)
		section = TEXT;
	if (section && !elf_file_section_range_named(f->elf, section, &start, &end))
		return -ENOENT;
	if (object_has_grown(f->object) && object_memory(f->object) > f->owner->env.max_bytes) {
		object_unload(f->object);
		f->owner->stats.cache_evictions++;
	}
	if (address < end - start)
		object_resolve(f->object, start + address, &answer);
	symbolizer_answer(f->owner, &answer, base_name(f->path), out);
	return 0;
}
