/* Loads the BPF object, leaving out programs that the kernel's verifier refuses. */

#include "profiler/tracer/tracer_load.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/stallprof.skel.h"
#include "profiler/tracer/probe_table.h"
#include "profiler/tracer/wanted_types.h"

#define LOG_BYTES  (16u << 20) /* of address space: the kernel fills it only when a load fails */
#define TAIL_LINES 8

struct loader {
	struct probe_host *host;
	tracer_prepare_fn prepare;
	const void *ctx;
	say_fn say;           /* NULL: nobody asks */
	const char *btf_path; /* where libbpf reads the types; NULL: the running kernel's */
	char types_path[32];
	int types_fd; /* where they are in memory */
	bool types_written;
	char *log;
};

/* libbpf's own lines would come between ours; its errors come back as numbers. */
static int libbpf_silent(enum libbpf_print_level level, const char *format, va_list args)
{
	if (!getenv("STALLPROF_LIBBPF_DEBUG"))
		return 0;
	(void)level;
	return vfprintf(stderr, format, args);
}

static bool same_program(size_t one, size_t other)
{
	return !strcmp(probe_table[one].program, probe_table[other].program);
}

/* Whether a row can be attached that has the same program as row i. */
static bool program_wanted(const struct loader *loader, size_t i)
{
	for (size_t k = 0; k < probe_table_len; k++)
		if (same_program(i, k) && !probe_missing(loader->host, &probe_table[k]))
			return true;
	return false;
}

/* `alone`: a row of the table, the only program that is loaded; probe_table_len: none at all. */
static void choose_programs(const struct loader *loader, struct stallprof_bpf *bpf, const size_t *alone)
{
	struct bpf_program *program;
	size_t i;

	if (alone) {
		bpf_object__for_each_program(program, bpf->obj) bpf_program__set_autoload(program, false);
	}
	for (i = 0; i < probe_table_len; i++) {
		program = bpf_object__find_program_by_name(bpf->obj, probe_table[i].program);
		if (program)
			bpf_program__set_autoload(program,
			                          alone ? *alone < probe_table_len && same_program(i, *alone)
			                                : program_wanted(loader, i));
	}
}

/* Fills the file of types, once. 0 or -errno. */
static int write_types(struct loader *loader, const struct stallprof_bpf *bpf)
{
	const struct kernel_types *types;
	int result;

	if (loader->types_written)
		return 0;
	types = probe_host_types(loader->host);
	if (!types)
		return -errno;
	result = wanted_types_write(types, bpf_object__btf(bpf->obj), loader->types_fd);
	loader->types_written = !result;
	return result;
}

#define KERNEL_TYPES "/sys/kernel/btf/vmlinux"

/* Types of modules are looked for in the BTF of each module, which only CAP_SYS_ADMIN may read; without that libbpf would fail. */
static bool may_read_module_types(void)
{
	uint32_t id;

	return !bpf_btf_get_next_id(0, &id) || errno == ENOENT;
}

/* The file of types could not be written, as under a limit on file sizes: libbpf looks through all of the kernel's. */
static void do_without_types(struct loader *loader)
{
	loader->btf_path = may_read_module_types() ? NULL : KERNEL_TYPES;
	loader->types_written = true;
}

/* 0, or -errno with the verifier's output, if any, in the log. */
static int load_once(struct loader *loader, const size_t *alone, unsigned int log_level,
                     struct stallprof_bpf **out)
{
	LIBBPF_OPTS(bpf_object_open_opts, options, .kernel_log_buf = loader->log,
	            .kernel_log_size = LOG_BYTES, .kernel_log_level = log_level,
	            .btf_custom_path = loader->btf_path);
	int result;

	loader->log[0] = 0;
	*out = stallprof_bpf__open_opts(&options);
	if (!*out)
		return -errno;
	loader->prepare(*out, loader->ctx);
	choose_programs(loader, *out, alone);
	if (write_types(loader, *out)) {
		stallprof_bpf__destroy(*out);
		do_without_types(loader);
		return load_once(loader, alone, log_level, out);
	}
	result = stallprof_bpf__load(*out);
	if (result) {
		stallprof_bpf__destroy(*out);
		*out = NULL;
	}
	return result;
}

/* Before Linux 6.4 a log that is too long has its beginning only. Then only errors are asked for
 * (BPF_LOG_STATS). */
#define LOG_ERRORS 4

static int try_row(struct loader *loader, size_t row)
{
	struct stallprof_bpf *bpf;
	int result = load_once(loader, &row, 0, &bpf);

	if (result == -ENOSPC)
		result = load_once(loader, &row, LOG_ERRORS, &bpf);
	stallprof_bpf__destroy(bpf);
	return result;
}

/* The last lines of the log, less the statistics at its end. The log is cut there. */
static const char *log_tail(char *log, const char **last_line)
{
	char *end = log + strlen(log), *line = log;
	int lines = 0;

	*last_line = log;
	while (end > log) {
		while (end > log && end[-1] == '\n')
			*--end = 0;
		line = strrchr(log, '\n');
		line = line ? line + 1 : log;
		if (strncmp(line, "processed ", 10) && strncmp(line, "verification time", 17) &&
		    strncmp(line, "stack depth", 11))
			break;
		*line = 0;
		end = line;
	}
	*last_line = line;
	while (line > log && ++lines < TAIL_LINES) {
		for (line--; line > log && line[-1] != '\n'; line--)
			;
	}
	return line;
}

/* Marks the row and says in `text` what the kernel said. */
static void refuse(const struct loader *loader, const struct probe *probe, int error, char *text, size_t size)
{
	const char *last_line, *tail = log_tail(loader->log, &last_line);
	char reason[256];

	snprintf(reason, sizeof(reason), "the kernel refused it: %s",
	         *last_line ? last_line : strerror(error));
	probe_host_refuse(loader->host, probe, reason, tail);
	snprintf(text, size, "no %s: the kernel refused the BPF program %s for %s%s: %s%s%s",
	         strcmp(probe->cause, "core") ? probe->cause : "recording", probe->program,
	         probe_kind_prefix(probe->kind), probe->hook, strerror(error),
	         *tail ? "; the verifier's last lines:\n" : "", tail);
}

/* Why the whole could not be loaded: tries each program alone and marks those that fail. 0 when some did, and none of
 * the core: what is left may load. */
static int find_refused(struct loader *loader, int error, char *err, size_t err_len)
{
	size_t i, none = probe_table_len;
	bool any = false;
	char text[2048];
	int result = try_row(loader, none), fatal = 0;

	if (result) {
		snprintf(err, err_len, "cannot create the BPF maps: %s", strerror(-result));
		return result;
	}
	for (i = 0; i < probe_table_len; i++) {
		const struct probe *probe = &probe_table[i];

		result = probe_missing(loader->host, probe) ? 0 : try_row(loader, i);
		if (!result)
			continue;
		refuse(loader, probe, -result, text, sizeof(text));
		if (!strcmp(probe->cause, "core") && !fatal) {
			fatal = result;
			snprintf(err, err_len, "%s", text);
		} else if (loader->say && !fatal) {
			loader->say(text);
		}
		any = true;
	}
	if (!any)
		snprintf(err, err_len, "cannot load the BPF programs: %s", strerror(-error));
	return any ? fatal : error;
}

static struct stallprof_bpf *load_rest(struct loader *loader, char *err, size_t err_len)
{
	struct stallprof_bpf *bpf;
	int result = load_once(loader, NULL, 0, &bpf);

	if (result && !find_refused(loader, result, err, err_len)) {
		result = load_once(loader, NULL, 0, &bpf);
		if (result)
			snprintf(err, err_len, "cannot load the BPF programs: %s", strerror(-result));
	}
	errno = -result;
	return bpf;
}

/* 0 or -errno */
static int loader_open(struct loader *loader, const char *btf_path)
{
	loader->log = mmap(NULL, LOG_BYTES, PROT_READ | PROT_WRITE,
	                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (loader->log == MAP_FAILED)
		return -ENOMEM;
	loader->types_fd = btf_path ? -1 : memfd_create("types", MFD_CLOEXEC);
	if (!btf_path && loader->types_fd < 0)
		return -errno;
	snprintf(loader->types_path, sizeof(loader->types_path), "/proc/self/fd/%d", loader->types_fd);
	loader->btf_path = btf_path ? btf_path : loader->types_path;
	loader->types_written = btf_path;
	return 0;
}

static void loader_close(struct loader *loader)
{
	if (loader->log != MAP_FAILED)
		munmap(loader->log, LOG_BYTES);
	if (loader->types_fd >= 0)
		close(loader->types_fd);
	probe_host_let_types_go(loader->host);
}

struct stallprof_bpf *tracer_load(struct probe_host *host, tracer_prepare_fn prepare, const void *ctx,
                                  say_fn say, const char *btf_path, char *err, size_t err_len)
{
	struct loader loader = { .host = host, .prepare = prepare, .ctx = ctx, .say = say, .types_fd = -1 };
	int result = loader_open(&loader, btf_path);
	struct stallprof_bpf *bpf = NULL;

	libbpf_set_print(libbpf_silent);
	if (result)
		snprintf(err, err_len, "cannot load the BPF programs: %s", strerror(-result));
	else
		bpf = load_rest(&loader, err, err_len);
	result = result ? -result : errno;
	loader_close(&loader);
	errno = result;
	return bpf;
}
