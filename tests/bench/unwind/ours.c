/* unwind/ours FOLDER SECONDS: times symbolizer_unwind() over a recording, with the public header alone. */
#include "symbolizer/symbolizer.h"
#include "tests/bench/unwind/recording.h"

struct ours {
	struct sym_process *process;
	struct sym_stack stack;
};

static size_t walk(void *context, uint64_t *pcs)
{
	struct ours *o = context;
	enum sym_unwind_end end;
	size_t n;

	if (symbolizer_unwind(o->process, &o->stack, pcs, RECORDING_MAX_PCS, &n, &end))
		errx(1, "symbolizer_unwind failed");
	return n;
}

int main(int argc, char **argv)
{
	struct recording *r = argc == 3 ? recording_load(argv[1]) : NULL;
	struct symbolizer *s = symbolizer_new(NULL);
	const uint64_t *g;
	struct ours o;
	size_t i;

	if (!r || !s)
		errx(2, "usage: ours FOLDER SECONDS");
	g = r->regs;
	o.process = symbolizer_process(s, 1, 1);
	for (i = 0; i < r->n_maps; i++)
		if (r->maps[i].executable)
			symbolizer_process_map(o.process, r->maps[i].start, r->maps[i].end, r->maps[i].offset,
			                       0, 0, 0, r->maps[i].path);
	symbolizer_process_exit(o.process);
	o.stack = (struct sym_stack){ .regs = { .ax = g[0],
		                                .dx = g[1],
		                                .cx = g[2],
		                                .bx = g[3],
		                                .si = g[4],
		                                .di = g[5],
		                                .bp = g[6],
		                                .sp = g[7],
		                                .r8 = g[8],
		                                .r9 = g[9],
		                                .r10 = g[10],
		                                .r11 = g[11],
		                                .r12 = g[12],
		                                .r13 = g[13],
		                                .r14 = g[14],
		                                .r15 = g[15],
		                                .ip = g[16] },
		                      .copy = r->stack,
		                      .copy_len = r->stack_len,
		                      .copy_start = r->stack_start };
	recording_time(walk, &o, strtod(argv[2], NULL));
	symbolizer_free(s);
	free(r->stack);
	return 0;
}
