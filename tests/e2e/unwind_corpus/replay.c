/*
 * replay FILE [BYTES]: unwinds and names every stack of a recording (unwind_corpus/record.py writes them), without the
 * process it was made from: with its mapped files, which must still be there. With BYTES, of the copy no more than
 * these are used, and no other memory. Prints for each stop
 *
 *	STOP <tab> name <tab> complete|truncated|no_cfi|bad
 *	PC <tab> run-time address <tab> 1 for a return address, else 0
 *	FRAME <tab> function <tab> file or ?? <tab> line <tab> inlined|real <tab> ELF file <tab> ELF address
 *
 * a PC's frames behind it, innermost first. The recording's lines, fields parted by tabs, numbers in hex:
 *
 *	process					another program from here on: all mappings are forgotten
 *	map start end offset path		an executable mapping
 *	stop name
 *	regs ip sp bp bx r12 r13 r14 r15 ax cx dx si di r8 r9 r10 r11
 *	copy start bytes			the stack from below its pointer
 *	memory start bytes			other memory that can be asked for
 *	end					of the stop; lines with other names are gdb's
 */
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/symbolizer.h"

#define MAX_PCS     8192
#define MAX_REGIONS 32

struct region {
	uint64_t start;
	size_t len;
	unsigned char *bytes;
};

struct recording {
	struct symbolizer *symbolizer;
	struct sym_process *process;
	uint32_t pid;
	char *name;
	struct sym_regs regs;
	struct region regions[MAX_REGIONS]; /* the first is the copy */
	size_t n_regions;
	size_t max_bytes; /* of the copy; 0: all of it, and the other regions */
};

static int read_recorded(void *context, uint64_t address, void *buffer, size_t len)
{
	const struct recording *r = context;
	size_t i;

	for (i = 1; i < r->n_regions && !r->max_bytes; i++) {
		const struct region *region = &r->regions[i];
		uint64_t offset = address - region->start;

		if (offset <= region->len && len <= region->len - offset) {
			memcpy(buffer, region->bytes + offset, len);
			return 0;
		}
	}
	return -1;
}

static unsigned int digit(char c)
{
	return c <= '9' ? (unsigned int)(c - '0') : (unsigned int)(c - 'a' + 10);
}

/* The next field of a line; the line is cut up. */
static char *field(char **rest)
{
	char *found = strsep(rest, "\t");

	if (!found)
		errx(1, "a line of the recording is too short");
	return found;
}

static uint64_t hex(char **rest)
{
	return strtoull(field(rest), NULL, 16);
}

static void add_region(struct recording *r, char *rest)
{
	struct region *region = &r->regions[r->n_regions];
	char *text;
	size_t i;

	if (r->n_regions == MAX_REGIONS)
		errx(1, "more than %d regions", MAX_REGIONS);
	region->start = hex(&rest);
	text = field(&rest);
	region->len = strlen(text) / 2;
	region->bytes = malloc(region->len + 1);
	if (!region->bytes)
		err(1, "a region");
	for (i = 0; i < region->len; i++)
		region->bytes[i] = (unsigned char)(digit(text[2 * i]) << 4 | digit(text[2 * i + 1]));
	r->n_regions++;
}

static void set_registers(struct sym_regs *regs, char *rest)
{
	uint64_t *const all[] = { &regs->ip,  &regs->sp,  &regs->bp, &regs->bx,  &regs->r12, &regs->r13,
		                  &regs->r14, &regs->r15, &regs->ax, &regs->cx,  &regs->dx,  &regs->si,
		                  &regs->di,  &regs->r8,  &regs->r9, &regs->r10, &regs->r11 };
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(*all); i++)
		*all[i] = hex(&rest);
}

static void new_process(struct recording *r)
{
	if (r->process)
		symbolizer_process_drop(r->process);
	r->process = symbolizer_process(r->symbolizer, ++r->pid, 1);
	if (!r->process)
		err(1, "symbolizer_process");
	symbolizer_process_exit(
	        r->process); /* nothing is to be read of a process that happens to have the pid */
}

/* Without the inode, so that a recording holds for a copy of the files. */
static void add_map(struct recording *r, char *rest)
{
	uint64_t start = hex(&rest), end = hex(&rest), offset = hex(&rest);

	if (symbolizer_process_map(r->process, start, end, offset, 0, 0, 0, field(&rest)))
		errx(1, "symbolizer_process_map");
}

static void print_frames(const struct sym_result *result)
{
	size_t i;

	for (i = 0; i < result->n_frames; i++)
		printf("FRAME\t%s\t%s\t%" PRIu32 "\t%s\t%s\t%" PRIx64 "\n", result->frames[i].function,
		       result->frames[i].file ? result->frames[i].file : "??", result->frames[i].line,
		       result->frames[i].inlined ? "inlined" : "real",
		       result->module ? result->module->path : "??", result->address);
}

static void unwind(struct recording *r)
{
	static const char *const ends[] = { "complete", "truncated", "no_cfi", "bad" };
	static bool is_caller[MAX_PCS];
	static uint64_t pcs[MAX_PCS];
	struct sym_stack stack = { .regs = r->regs,
		                   .copy = r->regions[0].bytes,
		                   .copy_len = r->regions[0].len,
		                   .copy_start = r->regions[0].start,
		                   .is_caller = is_caller,
		                   .read = read_recorded,
		                   .read_context = r };
	enum sym_unwind_end end;
	struct sym_result result;
	size_t n, i;

	if (r->max_bytes && stack.copy_len > r->max_bytes)
		stack.copy_len = r->max_bytes;
	if (symbolizer_unwind(r->process, &stack, pcs, MAX_PCS, &n, &end))
		errx(1, "symbolizer_unwind");
	printf("STOP\t%s\t%s\n", r->name, ends[end]);
	for (i = 0; i < n; i++) {
		printf("PC\t%" PRIx64 "\t%d\n", pcs[i], is_caller[i]);
		symbolizer_user(r->process, pcs[i], is_caller[i], &result);
		print_frames(&result);
	}
}

static void forget_stop(struct recording *r)
{
	while (r->n_regions)
		free(r->regions[--r->n_regions].bytes);
	free(r->name);
	r->name = NULL;
}

static void end_stop(struct recording *r)
{
	if (!r->process || !r->name || !r->n_regions)
		errx(1, "a stop without mappings, name or copy");
	unwind(r);
	forget_stop(r);
}

static void take_line(struct recording *r, char *line)
{
	char *rest = line, *word = field(&rest);

	if (strcmp(word, "process") == 0)
		new_process(r);
	else if (strcmp(word, "map") == 0)
		add_map(r, rest);
	else if (strcmp(word, "stop") == 0)
		r->name = strdup(field(&rest));
	else if (strcmp(word, "regs") == 0)
		set_registers(&r->regs, rest);
	else if (strcmp(word, "copy") == 0 || strcmp(word, "memory") == 0)
		add_region(r, rest);
	else if (strcmp(word, "end") == 0)
		end_stop(r);
}

int main(int argc, char **argv)
{
	struct symbolizer_opts opts = { .proc = "/nonexistent" };
	struct recording r = { .symbolizer = symbolizer_new(&opts), .pid = 1 };
	FILE *file = argc > 1 ? fopen(argv[1], "re") : NULL;
	char *line = NULL;
	size_t size = 0;
	ssize_t len;

	if (!file || !r.symbolizer)
		err(2, "usage: replay FILE [BYTES]");
	if (argc > 2)
		r.max_bytes = strtoul(argv[2], NULL, 10);
	while ((len = getline(&line, &size, file)) > 0) {
		if (line[len - 1] == '\n')
			line[len - 1] = 0;
		take_line(&r, line);
	}
	forget_stop(&r);
	free(line);
	fclose(file);
	symbolizer_free(r.symbolizer);
	return 0;
}
