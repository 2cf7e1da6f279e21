/* unwind/libdwfl FOLDER SECONDS: times dwfl_getthread_frames() over a recording, with callbacks. */
#include <elfutils/libdwfl.h>

#include "tests/bench/unwind/recording.h"

struct peer {
	struct recording *r;
	Dwfl *dwfl;
	uint64_t *pcs;
	size_t n;
};

static pid_t next_thread(Dwfl *dwfl, void *argument, void **thread_argument)
{
	(void)dwfl;
	if (*thread_argument)
		return 0;
	*thread_argument = argument;
	return 1;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *argument, void **thread_argument)
{
	(void)dwfl;
	*thread_argument = argument;
	return tid == 1;
}

static bool memory_read(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *result, void *argument)
{
	const struct peer *p = argument;
	uint64_t offset = address - p->r->stack_start;

	(void)dwfl;
	if (offset >= p->r->stack_len || p->r->stack_len - offset < 8)
		return false;
	memcpy(result, p->r->stack + offset, 8);
	return true;
}

static bool set_initial_registers(Dwfl_Thread *thread, void *argument)
{
	const struct peer *p = argument;

	return dwfl_thread_state_registers(thread, 0, RECORDING_REGISTERS, p->r->regs);
}

static int on_frame(Dwfl_Frame *frame, void *argument)
{
	struct peer *p = argument;
	Dwarf_Addr pc;

	if (p->n == RECORDING_MAX_PCS || !dwfl_frame_pc(frame, &pc, NULL) || !pc)
		return DWARF_CB_ABORT;
	p->pcs[p->n++] = pc;
	return DWARF_CB_OK;
}

static size_t walk(void *context, uint64_t *pcs)
{
	struct peer *p = context;

	p->pcs = pcs;
	p->n = 0;
	dwfl_getthread_frames(p->dwfl, 1, on_frame, p);
	return p->n;
}

/* Unwinding needs none. */
static int no_debuginfo(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base, const char *file,
                        const char *link, GElf_Word crc, char **out)
{
	(void)module;
	(void)data;
	(void)name;
	(void)base;
	(void)file;
	(void)link;
	(void)crc;
	(void)out;
	return -1;
}

int main(int argc, char **argv)
{
	static const Dwfl_Callbacks callbacks = { .find_elf = dwfl_linux_proc_find_elf,
		                                  .find_debuginfo = no_debuginfo };
	static const Dwfl_Thread_Callbacks threads = { .next_thread = next_thread,
		                                       .get_thread = get_thread,
		                                       .memory_read = memory_read,
		                                       .set_initial_registers = set_initial_registers };
	static struct peer p;
	FILE *maps;

	if (argc != 3)
		errx(2, "usage: libdwfl FOLDER SECONDS");
	p.r = recording_load(argv[1]);
	p.dwfl = dwfl_begin(&callbacks);
	maps = fopen(p.r->maps_path, "r");
	if (!maps || !p.dwfl || dwfl_linux_proc_maps_report(p.dwfl, maps) ||
	    dwfl_report_end(p.dwfl, NULL, NULL) || !dwfl_attach_state(p.dwfl, NULL, 1, &threads, &p))
		errx(1, "libdwfl: %s", dwfl_errmsg(-1));
	fclose(maps);
	recording_time(walk, &p, strtod(argv[2], NULL));
	return 0;
}
