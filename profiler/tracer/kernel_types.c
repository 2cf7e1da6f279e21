/* Looks for tracepoints and functions in the BTF of the kernel and its modules, and tries whether functions can be hooked. */

#include "profiler/tracer/kernel_types.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <dirent.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CHAINS (1 << 14)

/*
 * Types are in chains by their names, as btf__find_by_name_kind() would walk through all of some 100,000 for each of the table's hooks. In
 * these a type's number is its id, and modules' come behind the kernel's.
 */
struct kernel_types {
	struct {
		struct btf *btf;
		uint32_t first;  /* id of the first type that is its own: those below are the kernel's */
		uint32_t number; /* … and that type's number */
	} source[KERNEL_TYPES_SOURCES]; /* the kernel, then its modules */
	size_t n_sources;
	bool hooked_one;        /* functions of this kernel can be hooked */
	uint32_t chain[CHAINS]; /* its first type's number; 0: it has none */
	uint32_t *next;         /* by a type's number: the next one in its chain */
};

static void add_source(struct kernel_types *types, struct btf *btf)
{
	size_t i = types->n_sources++;

	types->source[i].btf = btf;
	if (!i)
		return;
	types->source[i].first = btf__type_cnt(types->source[0].btf);
	types->source[i].number = types->source[i - 1].number + kernel_types_count(types, i - 1);
}

/* Modules whose BTF cannot be read have no hooks for us: libbpf could not attach to them either. */
static void load_modules(struct kernel_types *types)
{
	DIR *dir = opendir("/sys/kernel/btf");
	struct dirent *entry;

	if (!dir)
		return;
	while ((entry = readdir(dir)) && types->n_sources < KERNEL_TYPES_SOURCES) {
		struct btf *btf;

		if (entry->d_name[0] == '.' || !strcmp(entry->d_name, "vmlinux"))
			continue;
		btf = btf__load_module_btf(entry->d_name, types->source[0].btf);
		if (btf)
			add_source(types, btf);
	}
	closedir(dir);
}

static uint32_t chain_of(const char *name, size_t len)
{
	uint32_t hash = 5381;

	while (len--)
		hash = hash * 33 + (unsigned char)*name++;
	return hash % CHAINS;
}

bool kernel_types_has_chain(const struct btf_type *type)
{
	return btf_is_func(type) || btf_is_typedef(type) || btf_is_composite(type) || btf_is_enum(type) ||
	       btf_is_enum64(type);
}

static void chain_source(struct kernel_types *types, size_t i)
{
	const struct btf *btf = types->source[i].btf;
	uint32_t id;

	for (id = btf__type_cnt(btf) - 1; id && id >= types->source[i].first; id--) {
		const struct btf_type *type = btf__type_by_id(btf, id);
		const char *name = btf__name_by_offset(btf, type->name_off);
		uint32_t number = types->source[i].number + id - types->source[i].first, chain;

		if (!*name || !kernel_types_has_chain(type))
			continue;
		chain = chain_of(name, strlen(name));
		types->next[number] = types->chain[chain];
		types->chain[chain] = number;
	}
}

/* The kernel's come first. 0 or -ENOMEM. */
static int make_chains(struct kernel_types *types)
{
	size_t last = types->n_sources - 1, i;

	types->next =
	        calloc(types->source[last].number + kernel_types_count(types, last), sizeof(*types->next));
	if (!types->next)
		return -ENOMEM;
	for (i = types->n_sources; i--;)
		chain_source(types, i);
	return 0;
}

struct kernel_types *kernel_types_load(void)
{
	struct kernel_types *types = calloc(1, sizeof(*types));
	struct btf *kernel = btf__load_vmlinux_btf();

	if (types && kernel) {
		add_source(types, kernel);
		load_modules(types);
		if (!make_chains(types))
			return types;
	}
	if (types && types->n_sources) {
		kernel_types_free(types);
	} else {
		btf__free(kernel);
		free(types);
	}
	errno = types && !kernel ? ENOENT : ENOMEM;
	return NULL;
}

void kernel_types_free(struct kernel_types *types)
{
	if (!types)
		return;
	/* Modules' types lead to the kernel's, which go last. */
	while (types->n_sources)
		btf__free(types->source[--types->n_sources].btf);
	free(types->next);
	free(types);
}

const struct btf *kernel_types_btf(const struct kernel_types *types)
{
	return types->source[0].btf;
}

size_t kernel_types_sources(const struct kernel_types *types)
{
	return types->n_sources;
}

uint32_t kernel_types_count(const struct kernel_types *types, size_t source)
{
	return btf__type_cnt(types->source[source].btf) - types->source[source].first;
}

struct kernel_type kernel_types_at(const struct kernel_types *types, size_t source, uint32_t id)
{
	size_t of = id < types->source[source].first ? 0 : source;

	return (struct kernel_type){ types->source[of].btf, id, of, id - types->source[of].first };
}

static size_t source_of(const struct kernel_types *types, uint32_t number)
{
	size_t low = 0, high = types->n_sources, middle;

	while (high - low > 1) {
		middle = (low + high) / 2;
		*(types->source[middle].number <= number ? &low : &high) = middle;
	}
	return low;
}

bool kernel_types_next(const struct kernel_types *types, const char *name, size_t len,
                       struct kernel_type *found)
{
	uint32_t number = found->btf ? types->next[types->source[found->source].number + found->index]
	                             : types->chain[chain_of(name, len)];

	for (; number; number = types->next[number]) {
		size_t i = source_of(types, number);
		struct kernel_type type =
		        kernel_types_at(types, i, types->source[i].first + number - types->source[i].number);
		const char *has = btf__name_by_offset(type.btf, btf__type_by_id(type.btf, type.id)->name_off);

		if (strncmp(has, name, len) || has[len])
			continue;
		*found = type;
		return true;
	}
	return false;
}

/* A function or typedef of that name, the kernel's before a module's. False: there is none. */
static bool find_type(const struct kernel_types *types, const char *name, unsigned int kind,
                      struct kernel_type *found)
{
	memset(found, 0, sizeof(*found));
	while (kernel_types_next(types, name, strlen(name), found))
		if (btf_kind(btf__type_by_id(found->btf, found->id)) == kind)
			return true;
	return false;
}

/* Whether the tracepoint has that many arguments; the type of its function has its own data as well. */
static bool has_args(const struct btf *btf, uint32_t id, unsigned int args)
{
	const struct btf_type *type = btf__type_by_id(btf, btf__type_by_id(btf, id)->type);

	type = type && btf_is_ptr(type) ? btf__type_by_id(btf, type->type) : NULL;
	return !args || (type && btf_is_func_proto(type) && btf_vlen(type) > args);
}

bool kernel_types_tracepoint(const struct kernel_types *types, const char *name, unsigned int args,
                             bool *in_module)
{
	struct kernel_type found;
	char type[128];

	*in_module = false;
	snprintf(type, sizeof(type), "btf_trace_%s", name);
	if (!find_type(types, type, BTF_KIND_TYPEDEF, &found))
		return false;
	*in_module = found.source > 0;
	return *in_module || has_args(found.btf, found.id, args);
}

static int load_nothing(uint32_t id)
{
	static const struct bpf_insn return_0[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = BPF_TRACE_FEXIT,
	            .attach_btf_id = id);

	return bpf_prog_load(BPF_PROG_TYPE_TRACING, NULL, "GPL", return_0, 2, &options);
}

/* Whether a program that does nothing can be loaded for the function, and, with `hook`, hooks it. */
static bool try_function(uint32_t id, bool hook)
{
	int program = load_nothing(id), link;

	if (program < 0)
		return false;
	link = hook ? bpf_raw_tracepoint_open(NULL, program) : -1;
	close(program);
	if (link >= 0)
		close(link);
	return !hook || link >= 0;
}

bool kernel_types_function(struct kernel_types *types, const char *name, bool this_one, bool *in_module)
{
	struct kernel_type found;
	bool can;

	*in_module = false;
	if (!find_type(types, name, BTF_KIND_FUNC, &found))
		return false;
	*in_module = found.source > 0;
	if (*in_module)
		return true;
	can = try_function(found.id, this_one || !types->hooked_one);
	types->hooked_one |= can;
	return can;
}
