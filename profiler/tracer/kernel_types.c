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

#define MODULES_MAX 512
#define CHAINS      (1 << 14)

/* The kernel's own types have chains by their names: btf__find_by_name_kind() walks some 100,000 types for each of the table's hooks. */
struct kernel_types {
	struct btf *kernel;
	struct btf *modules[MODULES_MAX];
	size_t n_modules;
	bool hooked_one;        /* functions of this kernel can be hooked */
	uint32_t first[CHAINS]; /* a chain's first type; 0: it has none */
	uint32_t *next;         /* of each type, in its chain */
};

/* Modules whose BTF cannot be read have no hooks for us: libbpf could not attach to them either. */
static void load_modules(struct kernel_types *types)
{
	DIR *dir = opendir("/sys/kernel/btf");
	struct dirent *entry;

	if (!dir)
		return;
	while ((entry = readdir(dir)) && types->n_modules < MODULES_MAX) {
		struct btf *btf;

		if (entry->d_name[0] == '.' || !strcmp(entry->d_name, "vmlinux"))
			continue;
		btf = btf__load_module_btf(entry->d_name, types->kernel);
		if (btf)
			types->modules[types->n_modules++] = btf;
	}
	closedir(dir);
}

static uint32_t chain_of(const char *name)
{
	uint32_t hash = 5381;

	while (*name)
		hash = hash * 33 + (unsigned char)*name++;
	return hash % CHAINS;
}

/* 0 or -ENOMEM */
static int make_chains(struct kernel_types *types)
{
	uint32_t n = btf__type_cnt(types->kernel), id;

	types->next = calloc(n, sizeof(*types->next));
	if (!types->next)
		return -ENOMEM;
	for (id = n - 1; id; id--) {
		const struct btf_type *type = btf__type_by_id(types->kernel, id);
		uint32_t chain;

		if (!btf_is_func(type) && !btf_is_typedef(type))
			continue;
		chain = chain_of(btf__name_by_offset(types->kernel, type->name_off));
		types->next[id] = types->first[chain];
		types->first[chain] = id;
	}
	return 0;
}

/* The kernel's own function or typedef of that name; 0: it has none. */
static uint32_t find_type(const struct kernel_types *types, const char *name, unsigned int kind)
{
	uint32_t id;

	for (id = types->first[chain_of(name)]; id; id = types->next[id]) {
		const struct btf_type *type = btf__type_by_id(types->kernel, id);

		if (btf_kind(type) == kind &&
		    !strcmp(btf__name_by_offset(types->kernel, type->name_off), name))
			return id;
	}
	return 0;
}

struct kernel_types *kernel_types_load(void)
{
	struct kernel_types *types = calloc(1, sizeof(*types));

	if (!types)
		return NULL;
	types->kernel = btf__load_vmlinux_btf();
	if (types->kernel && !make_chains(types)) {
		load_modules(types);
		return types;
	}
	errno = types->kernel ? ENOMEM : ENOENT;
	btf__free(types->kernel);
	free(types);
	return NULL;
}

void kernel_types_free(struct kernel_types *types)
{
	if (!types)
		return;
	while (types->n_modules)
		btf__free(types->modules[--types->n_modules]);
	btf__free(types->kernel);
	free(types->next);
	free(types);
}

const struct btf *kernel_types_btf(const struct kernel_types *types)
{
	return types->kernel;
}

static bool modules_have(const struct kernel_types *types, const char *name, unsigned int kind)
{
	size_t i;

	for (i = 0; i < types->n_modules; i++)
		if (btf__find_by_name_kind(types->modules[i], name, kind) > 0)
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
	char type[128];
	uint32_t id;

	*in_module = false;
	snprintf(type, sizeof(type), "btf_trace_%s", name);
	id = find_type(types, type, BTF_KIND_TYPEDEF);
	if (id)
		return has_args(types->kernel, id, args);
	*in_module = modules_have(types, type, BTF_KIND_TYPEDEF);
	return *in_module;
}

/* Tries it with a program that does nothing. */
static bool try_hook(uint32_t id)
{
	static const struct bpf_insn return_0[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = BPF_TRACE_FEXIT,
	            .attach_btf_id = id);
	int program, hook;

	program = bpf_prog_load(BPF_PROG_TYPE_TRACING, NULL, "GPL", return_0, 2, &options);
	if (program < 0)
		return false;
	hook = bpf_raw_tracepoint_open(NULL, program);
	close(program);
	if (hook < 0)
		return false;
	close(hook);
	return true;
}

bool kernel_types_function(struct kernel_types *types, const char *name, bool this_one, bool *in_module)
{
	uint32_t id = find_type(types, name, BTF_KIND_FUNC);
	bool can;

	*in_module = false;
	if (!id)
		return *in_module = modules_have(types, name, BTF_KIND_FUNC);
	can = (types->hooked_one && !this_one) || try_hook(id);
	types->hooked_one |= can;
	return can;
}
