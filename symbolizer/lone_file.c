/* Resolves addresses of a file that is given by path and mapped in no process. */

#include "symbolizer/lone_file.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/elf/elf_relocate.h"
#include "symbolizer/elf/packed_file.h"

#define TEXT ".text"

struct sym_file {
	struct sym_file *next;
	const struct lone_files *owner;
	struct elf_file *elf; /* the object's */
	struct object *object;
	char path[PATH_MAX]; /* without links, as debug files are found by it */
};

void lone_files_free(struct lone_files *files)
{
	struct sym_file *f, *next;

	for (f = files->first; f; f = next) {
		next = f->next;
		object_free(f->object);
		free(f);
	}
}

bool lone_files_save(struct lone_files *files, bool last)
{
	struct sym_file *f;
	bool wrote = false;

	for (f = files->first; f; f = f->next)
		wrote |= object_save(f->object, last);
	return wrote;
}

size_t lone_files_memory(const struct lone_files *files)
{
	const struct sym_file *f;
	size_t sum = 0;

	for (f = files->first; f; f = f->next)
		sum += sizeof(*f) + object_memory(f->object);
	return sum;
}

static int open_elf(struct sym_file *f, const char *path)
{
	int err;

	if (!realpath(path, f->path))
		return -errno;
	err = packed_file_open(f->path, f->owner->env->max_bytes, &f->elf);
	if (!err && elf_file_type(f->elf) == ET_REL)
		err = elf_relocate_lay_out(f->elf);
	return err;
}

int lone_files_open(struct lone_files *files, const char *path, struct sym_file **out)
{
	struct sym_file *f = calloc(1, sizeof(*f));
	int err;

	if (!f)
		return -ENOMEM;
	f->owner = files;
	err = open_elf(f, path);
	if (err) {
		elf_file_close(f->elf);
		free(f);
		return err;
	}
	f->object = object_new(files->env, f->elf, "", f->path);
	if (!f->object) {
		free(f);
		return -ENOMEM;
	}
	files->env->stats->files_opened++;
	f->next = files->first;
	files->first = f;
	*out = f;
	return 0;
}

static const char *base_name(const char *path)
{
	return strrchr(path, '/') + 1;
}

int lone_file_find(struct sym_file *f, const char *section, uint64_t address, struct sym_result *out)
{
	struct object_answer answer = { 0 };
	uint64_t start = 0, end = UINT64_MAX;

	*out = (struct sym_result){ .address = address };
	if (!section && elf_file_type(f->elf) == ET_REL)
		section = TEXT;
	if (section && !elf_file_section_range_named(f->elf, section, &start, &end))
		return -ENOENT;
	if (object_has_grown(f->object) && object_memory(f->object) > f->owner->env->max_bytes) {
		object_unload(f->object);
		f->owner->env->stats->cache_evictions++;
	}
	if (address < end - start)
		object_resolve(f->object, start + address, &answer);
	answer_object(f->owner->room, out, &answer, base_name(f->path));
	return 0;
}
