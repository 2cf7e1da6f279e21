/* Copies types by name, with what they are made of, into BTF of their own. */

#include "profiler/tracer/wanted_types.h"

#include <bpf/btf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/tracer/kernel_types.h"

struct copier {
	const struct kernel_types *types;
	struct btf *out;
	uint32_t *copied[KERNEL_TYPES_SOURCES]; /* by a source's ids: what they became; 0: not yet */
	int pointer;                            /* what every pointer becomes */
};

static int copy_type(struct copier *copier, struct kernel_type from);

/* A type in the copy, for as long as nothing is added. */
static struct btf_type *type_of(const struct copier *copier, int id)
{
	return (struct btf_type *)btf__type_by_id(copier->out, id);
}

/* `ref` is the number of a type in the copy's source: which it is in the copy, or -errno. */
static int copy_reference(struct copier *copier, struct kernel_type from, uint32_t ref)
{
	return copy_type(copier, kernel_types_at(copier->types, from.source, ref));
}

static int copy_members(struct copier *copier, struct kernel_type from, int id)
{
	uint32_t n = btf_vlen(type_of(copier, id)), i;

	for (i = 0; i < n; i++) {
		int member = copy_reference(copier, from, btf_members(type_of(copier, id))[i].type);

		if (member < 0)
			return member;
		btf_members(type_of(copier, id))[i].type = member;
	}
	return 0;
}

static int copy_array(struct copier *copier, struct kernel_type from, int id)
{
	int element = copy_reference(copier, from, btf_array(type_of(copier, id))->type), index;

	if (element < 0)
		return element;
	btf_array(type_of(copier, id))->type = element;
	index = copy_reference(copier, from, btf_array(type_of(copier, id))->index_type);
	if (index < 0)
		return index;
	btf_array(type_of(copier, id))->index_type = index;
	return 0;
}

static int copy_alias(struct copier *copier, struct kernel_type from, int id)
{
	int of = copy_reference(copier, from, type_of(copier, id)->type);

	if (of < 0)
		return of;
	type_of(copier, id)->type = of;
	return 0;
}

/* What the type `id`, which is a copy of `from`, is made of. 0 or -errno. */
static int copy_parts(struct copier *copier, struct kernel_type from, int id)
{
	switch (btf_kind(type_of(copier, id))) {
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return copy_members(copier, from, id);
	case BTF_KIND_ARRAY:
		return copy_array(copier, from, id);
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_CONST:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_TYPE_TAG:
		return copy_alias(copier, from, id);
	default:
		return 0;
	}
}

static bool is_enum(const struct btf_type *type)
{
	return btf_is_enum(type) || btf_is_enum64(type);
}

static bool same_kind(const struct btf_type *one, const struct btf_type *other)
{
	return btf_kind(one) == btf_kind(other) || (is_enum(one) && is_enum(other));
}

/* Whether the kernel itself has such a type by the name of a module's, which then is not to be found by it. */
static bool kernel_has(const struct kernel_types *types, struct kernel_type of_module)
{
	const struct btf_type *type = btf__type_by_id(of_module.btf, of_module.id);
	const char *name = btf__name_by_offset(of_module.btf, type->name_off);
	struct kernel_type found = { 0 };

	if (!*name || !kernel_types_has_chain(type))
		return false;
	while (kernel_types_next(types, name, strlen(name), &found))
		if (!found.source && same_kind(type, btf__type_by_id(found.btf, found.id)))
			return true;
	return false;
}

/* The type's number in the copy, or -errno. Types hold others only by value here, so that this comes to an end. */
static int copy_type(struct copier *copier, struct kernel_type from)
{
	const struct btf_type *type = btf__type_by_id(from.btf, from.id);
	uint32_t *copied = copier->copied[from.source] + from.index;
	int id, result;

	if (!from.id || btf_is_func_proto(type))
		return 0; /* void */
	if (btf_is_ptr(type))
		return copier->pointer;
	if (*copied)
		return *copied;
	id = btf__add_type(copier->out, from.btf, type);
	if (id < 0)
		return id;
	*copied = id;
	if (from.source && kernel_has(copier->types, from))
		type_of(copier, id)->name_off = 0;
	result = copy_parts(copier, from, id);
	return result ? result : id;
}

/* Copies the types of that name which the kernel itself has, or else its modules. How many, or -errno. */
static int copy_named(struct copier *copier, const struct btf_type *wanted, const char *name, size_t len,
                      bool of_modules)
{
	struct kernel_type found = { 0 };
	int n = 0;

	while (kernel_types_next(copier->types, name, len, &found)) {
		int id;

		if (of_modules != (found.source > 0) ||
		    !same_kind(wanted, btf__type_by_id(found.btf, found.id)))
			continue;
		id = copy_type(copier, found);
		if (id < 0)
			return id;
		n++;
	}
	return n;
}

/* What is behind ___ in a name is the object's own business. */
static size_t length_of(const char *name)
{
	const char *flavor = strstr(name, "___");

	return flavor && flavor > name ? (size_t)(flavor - name) : strlen(name);
}

static int copy_all(struct copier *copier, const struct btf *wanted)
{
	uint32_t n = btf__type_cnt(wanted), id;

	for (id = 1; id < n; id++) {
		const struct btf_type *type = btf__type_by_id(wanted, id);
		const char *name = btf__name_by_offset(wanted, type->name_off);
		int found;

		if (!*name || btf_is_func(type) || !kernel_types_has_chain(type))
			continue;
		found = copy_named(copier, type, name, length_of(name), false);
		if (!found)
			found = copy_named(copier, type, name, length_of(name), true);
		if (found < 0)
			return found;
	}
	return 0;
}

static int copy_and_write(struct copier *copier, const struct btf *wanted, int fd)
{
	const void *data;
	uint32_t size;
	ssize_t written;
	int result;

	for (size_t i = 0; i < kernel_types_sources(copier->types); i++) {
		copier->copied[i] = calloc(kernel_types_count(copier->types, i), sizeof(**copier->copied));
		if (!copier->copied[i])
			return -ENOMEM;
	}
	copier->pointer = btf__add_ptr(copier->out, 0);
	if (copier->pointer < 0)
		return copier->pointer;
	result = copy_all(copier, wanted);
	if (result)
		return result;
	data = btf__raw_data(copier->out, &size);
	if (!data)
		return -ENOMEM;
	written = write(fd, data, size);
	if (written < 0)
		return -errno;
	return written == size ? 0 : -EFBIG;
}

int wanted_types_write(const struct kernel_types *types, const struct btf *wanted, int fd)
{
	struct copier copier = { .types = types, .out = btf__new_empty() };
	int result = copier.out ? copy_and_write(&copier, wanted, fd) : -ENOMEM;

	for (size_t i = 0; i < KERNEL_TYPES_SOURCES; i++)
		free(copier.copied[i]);
	btf__free(copier.out);
	return result;
}
