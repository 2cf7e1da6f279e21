/*
 * unwind/libunwind FOLDER SECONDS | --tables FILE: times libunwind over a recording, with remote accessors like
 * perf's: libunwind's own dwarf_search_unwind_table searches .eh_frame_hdr, and its cache is on.
 */
#include <elf.h>
#include <libunwind.h>

#include "tests/bench/unwind/peer_files.h"

#define MAX_FILES 512

/* Exported, and what perf uses, but in no header. */
int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t as, unw_word_t ip, unw_dyn_info_t *di,
                                       unw_proc_info_t *pi, int need_unwind_info, void *arg);

struct peer {
	struct recording *r;
	struct peer_file files[MAX_FILES];
	size_t n_files;
	unw_addr_space_t space;
};

static const struct peer_file *file_of(struct peer *p, uint64_t address)
{
	size_t i;

	for (i = 0; i < p->n_files; i++)
		if (address >= p->files[i].start && address < p->files[i].end)
			return peer_file_read(&p->files[i]) ? &p->files[i] : NULL;
	return NULL;
}

static const Elf64_Phdr *find_phdr(const struct peer_file *f, uint32_t type)
{
	const Elf64_Ehdr *e = (const Elf64_Ehdr *)f->image;
	const Elf64_Phdr *phdrs = (const Elf64_Phdr *)(f->image + e->e_phoff);
	size_t i;

	for (i = 0; i < e->e_phnum; i++)
		if (phdrs[i].p_type == type)
			return &phdrs[i];
	return NULL;
}

static int find_proc_info(unw_addr_space_t as, unw_word_t ip, unw_proc_info_t *pi, int need, void *arg)
{
	struct peer *p = arg;
	const struct peer_file *f = file_of(p, ip);
	const Elf64_Phdr *hdr = f ? find_phdr(f, PT_GNU_EH_FRAME) : NULL;
	unw_dyn_info_t di = { .format = UNW_INFO_FORMAT_REMOTE_TABLE };
	uint32_t count;

	if (!hdr)
		return -UNW_ENOINFO;
	memcpy(&count, f->image + hdr->p_offset + 8, 4);
	di.start_ip = f->start;
	di.end_ip = f->end;
	di.u.rti.segbase = f->bias + hdr->p_vaddr;
	di.u.rti.table_data = f->bias + hdr->p_vaddr + 12;
	di.u.rti.table_len = count * 8 / sizeof(unw_word_t);
	return UNW_OBJ(dwarf_search_unwind_table)(as, ip, &di, pi, need, arg);
}

static void put_unwind_info(unw_addr_space_t as, unw_proc_info_t *pi, void *arg)
{
	(void)as;
	(void)pi;
	(void)arg;
}

static int get_dyn_info_list_addr(unw_addr_space_t as, unw_word_t *address, void *arg)
{
	(void)as;
	(void)address;
	(void)arg;
	return -UNW_ENOINFO;
}

/* Of a read-only part of a file: its first segments have the same offset as address. */
static int read_file(const struct peer_file *f, uint64_t address, unw_word_t *value)
{
	const Elf64_Ehdr *e = (const Elf64_Ehdr *)f->image;
	const Elf64_Phdr *phdrs = (const Elf64_Phdr *)(f->image + e->e_phoff);
	uint64_t at = address - f->bias;
	size_t i;

	for (i = 0; i < e->e_phnum; i++)
		if (phdrs[i].p_type == PT_LOAD && at - phdrs[i].p_vaddr < phdrs[i].p_filesz &&
		    at - phdrs[i].p_vaddr + phdrs[i].p_offset + 8 <= f->len) {
			memcpy(value, f->image + phdrs[i].p_offset + (at - phdrs[i].p_vaddr), 8);
			return 0;
		}
	return -UNW_EINVAL;
}

static int access_mem(unw_addr_space_t as, unw_word_t address, unw_word_t *value, int is_write, void *arg)
{
	struct peer *p = arg;
	uint64_t offset = address - p->r->stack_start;
	const struct peer_file *f;

	(void)as;
	if (is_write)
		return -UNW_EINVAL;
	if (offset < p->r->stack_len && p->r->stack_len - offset >= 8) {
		memcpy(value, p->r->stack + offset, 8);
		return 0;
	}
	f = file_of(p, address);
	return f ? read_file(f, address, value) : -UNW_EINVAL;
}

static int access_reg(unw_addr_space_t as, unw_regnum_t reg, unw_word_t *value, int is_write, void *arg)
{
	struct peer *p = arg;

	(void)as;
	if (is_write || reg < 0 || reg >= RECORDING_REGISTERS)
		return -UNW_EBADREG;
	*value = p->r->regs[reg];
	return 0;
}

static int access_fpreg(unw_addr_space_t as, unw_regnum_t reg, unw_fpreg_t *value, int is_write, void *arg)
{
	(void)as;
	(void)reg;
	(void)value;
	(void)is_write;
	(void)arg;
	return -UNW_EBADREG;
}

static int resume(unw_addr_space_t as, unw_cursor_t *cursor, void *arg)
{
	(void)as;
	(void)cursor;
	(void)arg;
	return -UNW_EINVAL;
}

static int get_proc_name(unw_addr_space_t as, unw_word_t address, char *buffer, size_t len,
                         unw_word_t *offset, void *arg)
{
	(void)as;
	(void)address;
	(void)buffer;
	(void)len;
	(void)offset;
	(void)arg;
	return -UNW_ENOINFO;
}

static size_t walk(void *context, uint64_t *pcs)
{
	struct peer *p = context;
	unw_cursor_t cursor;
	unw_word_t ip;
	size_t n = 0;

	if (unw_init_remote(&cursor, p->space, p))
		errx(1, "unw_init_remote failed");
	do {
		unw_get_reg(&cursor, UNW_REG_IP, &ip);
		if (!ip)
			break;
		pcs[n++] = ip;
	} while (n < RECORDING_MAX_PCS && unw_step(&cursor) > 0);
	return n;
}

/* One step, cold, out of every 997th function of a file: what tables.c does with ours. */
static void step_tables(struct peer *p, const char *path)
{
	static char stack[65536];
	struct peer_file *f = &p->files[0];
	const Elf64_Phdr *hdr;
	uint64_t began, spent = 0;
	uint32_t count, i, n = 0;
	unw_cursor_t cursor;
	int32_t start;

	*f = (struct peer_file){ .start = 1u << 30, .bias = 1u << 30 };
	f->image = peer_map(path, &f->len);
	hdr = f->image ? find_phdr(f, PT_GNU_EH_FRAME) : NULL;
	if (!hdr)
		errx(1, "%s has no .eh_frame_hdr", path);
	f->end = f->start + 2 * f->len;
	p->n_files = 1;
	p->r = calloc(1, sizeof(*p->r));
	p->r->stack = stack;
	p->r->stack_len = sizeof(stack);
	p->r->stack_start = 0x7000;
	p->r->regs[RECORDING_SP] = 0x7100;
	memcpy(&count, f->image + hdr->p_offset + 8, 4);
	for (i = 0; i < count; i += 997, n++) {
		memcpy(&start, f->image + hdr->p_offset + 12 + 8ull * i, 4);
		p->r->regs[RECORDING_IP] = f->bias + hdr->p_vaddr + (uint64_t)(int64_t)start;
		began = recording_now_ns();
		unw_init_remote(&cursor, p->space, p);
		unw_step(&cursor);
		spent += recording_now_ns() - began;
	}
	printf("libunwind, a first step out of every 997th function: %.1f us each, %.1f MB its own, %.1f MB "
	       "of the file\n",
	       (double)spent / 1e3 / n, (double)recording_resident_kib("RssAnon:") / 1e3,
	       (double)recording_resident_kib("RssFile:") / 1e3);
}

int main(int argc, char **argv)
{
	static struct peer p;
	unw_accessors_t accessors = { .find_proc_info = find_proc_info,
		                      .put_unwind_info = put_unwind_info,
		                      .get_dyn_info_list_addr = get_dyn_info_list_addr,
		                      .access_mem = access_mem,
		                      .access_reg = access_reg,
		                      .access_fpreg = access_fpreg,
		                      .resume = resume,
		                      .get_proc_name = get_proc_name };

	if (argc != 3)
		errx(2, "usage: libunwind FOLDER SECONDS | --tables FILE");
	p.space = unw_create_addr_space(&accessors, 0);
	unw_set_caching_policy(p.space, UNW_CACHE_PER_THREAD);
	unw_set_cache_size(p.space, 16384, 0);
	if (strcmp(argv[1], "--tables") == 0) {
		step_tables(&p, argv[2]);
		return 0;
	}
	p.r = recording_load(argv[1]);
	p.n_files = peer_files(p.r, p.files, MAX_FILES);
	recording_time(walk, &p, strtod(argv[2], NULL));
	return 0;
}
