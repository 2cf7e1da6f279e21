/* The subcommand `symbolize`: names addresses of a process, a file or the kernel. */

#include "profiler/cli/cmd_symbolize.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/format/json_writer.h"
#include "profiler/config/symbol_names.h"
#include "profiler/format/text_cells.h"
#include "profiler/cli/usage.h"
#include "symbolizer/symbolizer.h"

#define LINE_BYTES 256

enum {
	KEY_SECTION = 256,
	KEY_DEBUG_DIR,
	KEY_CACHE_DIR,
	KEY_MANGLED,
	KEY_DEMANGLE,
};

struct options {
	bool kernel, json;
	uint32_t pid; /* 0: none */
	const char *file, *section;
	struct symbolizer_opts symbolizer;
	char **addresses;
	size_t n_addresses;
};

static const struct argp_option option_table[] = {
	{ "kernel", 'k', NULL, 0, "run-time addresses of the running kernel", 0 },
	{ "pid", 'p', "PID", 0, "run-time addresses of this process", 0 },
	{ "exe", 'e', "FILE", 0, "ELF addresses of this executable, library, vmlinux or kernel module", 0 },
	{ "section", KEY_SECTION, "NAME", 0,
	  "with -e: addresses are offsets in this section (.text of kernel modules)", 0 },
	{ "json", 'j', NULL, 0, "print JSON", 0 },
	{ "debug-dir", KEY_DEBUG_DIR, "DIR", 0, "where debug files are (/usr/lib/debug)", 0 },
	{ "cache-dir", KEY_CACHE_DIR, "DIR", 0, "keep a cache of symbols in this folder, and use it", 0 },
	{ "demangle", KEY_DEMANGLE, "HOW", 0, "how much of C++ and Rust names to show: " SYMBOL_NAMES_ALLOWED,
	  0 },
	{ "no-demangle", KEY_MANGLED, NULL, 0, "names as they stand in the file", 0 },
	{ 0 },
};

static uint32_t parse_pid(const char *text, const struct argp_state *state)
{
	unsigned long number;
	char *end;

	errno = 0;
	number = strtoul(text, &end, 10);
	if (errno || *end || *text < '0' || *text > '9' || !number || number > INT_MAX)
		usage_error(state, "--pid %s: a process id is wanted", text);
	return (uint32_t)number;
}

/* -1: not a hexadecimal digit. */
static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Hexadecimal as addr2line reads it, with 0x or without. */
static bool parse_address(const char *text, uint64_t *address)
{
	const char *digits = text[0] == '0' && (text[1] | 0x20) == 'x' ? text + 2 : text;

	if (!*digits)
		return false;
	for (*address = 0; *digits; digits++) {
		if (digit_of(*digits) < 0 || *address >> 60)
			return false;
		*address = *address << 4 | (uint64_t)digit_of(*digits);
	}
	return true;
}

/* Refuses what can be seen to be wrong before anything is looked up. */
static void check(const struct options *options, const struct argp_state *state)
{
	uint64_t address;
	size_t i;

	if (options->kernel + !!options->pid + !!options->file != 1)
		usage_error(state, "one of --kernel, --pid PID and -e FILE is wanted");
	if (options->section && !options->file)
		usage_error(state, "--section goes with -e FILE");
	for (i = 0; i < options->n_addresses; i++) {
		if (!parse_address(options->addresses[i], &address))
			usage_error(state, "%s: an address is up to 16 hexadecimal digits",
			            options->addresses[i]);
	}
}

static error_t parse(int key, char *value, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case 'k':
		options->kernel = true;
		return 0;
	case 'p':
		options->pid = parse_pid(value, state);
		return 0;
	case 'e':
		options->file = value;
		return 0;
	case KEY_SECTION:
		options->section = value;
		return 0;
	case 'j':
		options->json = true;
		return 0;
	case KEY_DEBUG_DIR:
		options->symbolizer.debug_dir = value;
		return 0;
	case KEY_CACHE_DIR:
		options->symbolizer.cache_dir = strcmp(value, "none") == 0 ? NULL : value;
		return 0;
	case KEY_DEMANGLE:
		if (!symbol_names_set(value, &options->symbolizer))
			usage_error(state, "--demangle %s: " SYMBOL_NAMES_ALLOWED " is wanted", value);
		return 0;
	case KEY_MANGLED:
		options->symbolizer.keep_mangled = true;
		return 0;
	case ARGP_KEY_ARGS:
		options->addresses = state->argv + state->next;
		options->n_addresses = (size_t)(state->argc - state->next);
		return 0;
	case ARGP_KEY_END:
		check(options, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp parser = {
	.options = option_table,
	.parser = parse,
	.args_doc = "[ADDR...]",
	.doc = "Prints function, file and line of addresses (hexadecimal), and what was inlined there, "
	       "innermost "
	       "first. One of --kernel, --pid and -e is needed.\vWithout ADDR the addresses are read from "
	       "standard "
	       "input, one a line, and each is answered at once.",
};

__attribute__((format(printf, 1, 2))) static int say(const char *format, ...)
{
	va_list args;

	fprintf(stderr, "stallprof symbolize: ");
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return 1;
}

/* Where addresses are looked up: in a process, a file or the kernel. */
struct target {
	const struct options *options;
	struct symbolizer *symbolizer;
	struct sym_process *process;
	struct sym_file *file;
	struct json_writer json;
};

static int open_process(struct target *t)
{
	uint32_t pid = t->options->pid;
	int err;

	t->process = symbolizer_process(t->symbolizer, pid, 0);
	if (!t->process)
		return say("%s", strerror(ENOMEM));
	err = symbolizer_process_refresh(t->process);
	if (err == -ESRCH)
		return say("no process %u: see ps", pid);
	if (err == -EACCES || err == -EPERM)
		return say("process %u: %s: run as its user, or as root", pid, strerror(-err));
	return err ? say("process %u: %s", pid, strerror(-err)) : 0;
}

static int open_file(struct target *t)
{
	const char *path = t->options->file;
	struct sym_result result;
	int err = symbolizer_file(t->symbolizer, path, &t->file);

	if (err == -EBADMSG)
		return say("%s is not an ELF file of a 64-bit program, or is damaged", path);
	if (err)
		return say("%s: %s", path, strerror(-err));
	/* Outside of all sections, so that this looks up nothing yet, which may take long. */
	if (symbolizer_file_find(t->file, t->options->section, UINT64_MAX, &result))
		return say("%s has no section %s: see readelf -S", path,
		           t->options->section ? t->options->section : ".text");
	return 0;
}

static int open_target(struct target *t)
{
	t->symbolizer = symbolizer_new(&t->options->symbolizer);
	if (!t->symbolizer)
		return say("%s", strerror(errno));
	return t->options->pid ? open_process(t) : t->options->file ? open_file(t) : 0;
}

static int find(struct target *t, uint64_t address, struct sym_result *result)
{
	if (t->process)
		return symbolizer_user(t->process, address, false, result);
	if (t->file)
		return symbolizer_file_find(t->file, t->options->section, address, result);
	return symbolizer_kernel(t->symbolizer, address, false, result);
}

/* Writes a number's digits so that they end at `end`, and returns where they begin. printf() would take longer than
 * all the rest. */
static char *digits_before(char *end, uint64_t number, bool hex, int least)
{
	char *at = end;

	do {
		*--at = "0123456789abcdef"[hex ? number & 15 : number % 10];
		number = hex ? number >> 4 : number / 10;
	} while (number || end - at < least);
	return at;
}

/* "0x<address>: ", in one piece: few calls, for whoever asks for millions of addresses. */
static void print_address(uint64_t address)
{
	char piece[] = "0x0123456789abcdef: ";

	digits_before(piece + 18, address, true, 16);
	fwrite_unlocked(piece, 1, sizeof(piece) - 1, stdout);
}

static void print_line_number(uint32_t line)
{
	char piece[16], *end = piece + sizeof(piece), *at;

	end[-1] = '\n';
	at = digits_before(end - 1, line, false, 1);
	*--at = ':';
	fwrite_unlocked(at, 1, (size_t)(end - at), stdout);
}

/* As addr2line -a -f -p -i. */
static void print_text(uint64_t address, const struct sym_result *result)
{
	const struct sym_frame *frame = result->frames;
	size_t i;

	print_address(address);
	for (i = 0; i < result->n_frames; i++, frame++) {
		if (i)
			fputs_unlocked(result->frames[i - 1].inlined ? " (inlined by) " : " (in) ", stdout);
		text_print_clean(stdout, frame->function, 0);
		if (frame->file) {
			fputs_unlocked(" at ", stdout);
			text_print_clean(stdout, frame->file, 0);
			print_line_number(frame->line);
		} else {
			putchar_unlocked('\n');
		}
	}
	putchar_unlocked('\n');
}

static void print_json(struct json_writer *json, uint64_t address, const struct sym_result *result)
{
	char text[32];
	size_t i;

	snprintf(text, sizeof(text), "0x%" PRIx64, address);
	json_object_begin(json);
	json_member_string(json, "address", text);
	json_member_string(json, "source", sym_source_name(result->source));
	json_key(json, "frames");
	json_array_begin(json);
	for (i = 0; i < result->n_frames; i++) {
		json_object_begin(json);
		json_member_string(json, "function", result->frames[i].function);
		json_member_string(json, "file", result->frames[i].file);
		json_member_u64(json, "line", result->frames[i].line);
		json_key(json, "inlined");
		json_bool(json, result->frames[i].inlined);
		json_object_end(json);
	}
	json_array_end(json);
	json_object_end(json);
}

static int answer(struct target *t, uint64_t address)
{
	struct sym_result result;
	int err = find(t, address, &result);

	if (err)
		return say("0x%" PRIx64 ": %s", address, strerror(-err));
	if (t->options->json)
		print_json(&t->json, address, &result);
	else
		print_text(address, &result);
	return 0;
}

/* The line without the blanks around it; NULL: it did not fit. */
static char *trim(char *line, FILE *lines)
{
	char *begin = line + strspn(line, " \t"), *end = begin + strlen(begin);

	if (end > line && end[-1] != '\n' && !feof(lines))
		return NULL;
	while (end > begin && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r' || end[-1] == '\n'))
		*--end = 0;
	return begin;
}

/* Flushes the output before it reads on, for callers that wait for an answer before they ask again. */
static ssize_t flush_and_read(void *context, char *buffer, size_t size)
{
	(void)context;
	return fflush(stdout) ? -1 : read(STDIN_FILENO, buffer, size);
}

static int answer_each(struct target *t, FILE *lines)
{
	char line[LINE_BYTES], *text;
	uint64_t address, number;
	int status = 0;

	for (number = 1; !status && fgets_unlocked(line, sizeof(line), lines); number++) {
		text = trim(line, lines);
		if (text && !*text)
			continue;
		if (!text || !parse_address(text, &address))
			return say("standard input, line %" PRIu64 ": %.64s: an address is up to 16 "
			           "hexadecimal digits",
			           number, text ? text : line);
		status = answer(t, address);
	}
	if (ferror(lines) && !ferror(stdout))
		return say("standard input: %s", strerror(errno));
	return status;
}

static int answer_lines(struct target *t)
{
	const cookie_io_functions_t functions = { .read = flush_and_read };
	FILE *lines = fopencookie(NULL, "r", functions);
	int status;

	if (!lines)
		return say("out of memory");
	status = answer_each(t, lines);
	fclose(lines);
	return status;
}

static int answer_all(struct target *t)
{
	uint64_t address;
	int status = 0;
	size_t i;

	if (!t->options->n_addresses)
		return answer_lines(t);
	for (i = 0; !status && i < t->options->n_addresses; i++) {
		parse_address(t->options->addresses[i], &address);
		status = answer(t, address);
	}
	return status;
}

static int save(const struct target *t)
{
	int err = symbolizer_save(t->symbolizer, true);

	return err ? say("%s: %s", t->options->symbolizer.cache_dir,
	                 err == -EPERM ? "others may write to it, or it is another user's" : strerror(-err))
	           : 0;
}

/* A kernel whose addresses we may not see has no names. */
static int check_kernel(const struct target *t)
{
	struct symbolizer_stats stats;

	symbolizer_stats(t->symbolizer, &stats);
	if (stats.kernel_symbols)
		return 0;
	return say("/proc/kallsyms hides its addresses: run as root, with sysctl kernel.kptr_restrict=1");
}

static int run(struct target *t)
{
	int status = open_target(t), err;

	if (status)
		return status;
	if (t->options->json) {
		json_begin(&t->json, stdout);
		json_array_begin(&t->json);
	}
	status = answer_all(t);
	if (t->options->json) {
		json_array_end(&t->json);
		err = json_end(&t->json);
	} else {
		err = fflush(stdout) || ferror(stdout) ? -EIO : 0;
	}
	if (err)
		return say("the output could not be written");
	if (!status && t->options->kernel)
		status = check_kernel(t);
	return status ? status : save(t);
}

int cmd_symbolize(int argc, char **argv)
{
	struct options options = { .kernel = false };
	struct target target = { .options = &options };
	int status;

	usage_parse(&parser, "stallprof symbolize", argc, argv, 0, &options);
	status = run(&target);
	symbolizer_free(target.symbolizer);
	return status;
}
