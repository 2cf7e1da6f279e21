/* Reads the records of a jit-PID.dump one by one. */

#include "symbolizer/jit/jitdump_file.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC   0x4a695444u /* "JiTD", in the writer's byte order */
#define VERSION 1

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_NONE
#endif

struct header {
	uint32_t magic, version, size, machine, pad, pid;
	uint64_t time, flags;
};
_Static_assert(sizeof(struct header) == 40, "as specified");

struct prefix {
	uint32_t kind, size;
	uint64_t time;
};

struct load {
	uint32_t pid, tid;
	uint64_t vma, start, size, number;
};

struct move {
	uint32_t pid, tid;
	uint64_t vma, old_start, new_start, size, number;
};

struct debug_info {
	uint64_t start, n_entries;
};

const uint8_t *jitdump_file_bytes(struct jitdump_file *f, uint64_t offset, size_t len, size_t *got)
{
	ssize_t n;

	if (offset < f->window_at || offset + len > f->window_at + f->window_len) {
		n = offset > INT64_MAX ? -1 : pread(f->fd, f->window, sizeof(f->window), (off_t)offset);
		f->window_at = offset;
		f->window_len = n > 0 ? (size_t)n : 0;
	}
	*got = f->window_at + f->window_len - offset;
	*got = *got < len ? *got : len;
	return f->window + (offset - f->window_at);
}

static bool read_whole(struct jitdump_file *f, uint64_t offset, void *out, size_t len)
{
	size_t got;
	const uint8_t *bytes = jitdump_file_bytes(f, offset, len, &got);

	if (got < len)
		return false;
	memcpy(out, bytes, len);
	return true;
}

int jitdump_file_grow(struct jitdump_file *f)
{
	struct stat st;

	if (fstat(f->fd, &st))
		return -errno;
	f->size = (uint64_t)st.st_size;
	f->window_len = 0;
	return 0;
}

int jitdump_file_begin(struct jitdump_file *f)
{
	struct header header;
	int err = jitdump_file_grow(f);

	if (err)
		return err;
	if (!read_whole(f, 0, &header, sizeof(header)) || header.magic != MAGIC ||
	    header.version != VERSION || header.machine != MACHINE || header.size < sizeof(header))
		return -EBADMSG;
	f->at = header.size;
	return 0;
}

/* The name stands before the code, to the record's end. */
static bool read_load(struct jitdump_file *f, uint64_t at, uint64_t end, struct jitdump_record *out)
{
	struct load load;
	const uint8_t *name;
	size_t len, got;

	if (end - at < sizeof(load) || !read_whole(f, at, &load, sizeof(load)))
		return false;
	at += sizeof(load);
	if (load.size > end - at || load.start + load.size < load.start)
		return false;
	len = end - at - load.size < sizeof(out->name) - 1 ? (size_t)(end - at - load.size)
	                                                   : sizeof(out->name) - 1;
	name = jitdump_file_bytes(f, at, len, &got);
	if (got < len)
		return false;
	len = strnlen((const char *)name, len);
	memcpy(out->name, name, len);
	out->name[len] = 0;
	out->start = load.start;
	out->size = load.size;
	return true;
}

static bool read_move(struct jitdump_file *f, uint64_t at, uint64_t end, struct jitdump_record *out)
{
	struct move move;

	if (end - at < sizeof(move) || !read_whole(f, at, &move, sizeof(move)) ||
	    move.new_start + move.size < move.new_start)
		return false;
	out->old_start = move.old_start;
	out->start = move.new_start;
	out->size = move.size;
	return true;
}

static bool read_debug_info(struct jitdump_file *f, uint64_t at, uint64_t end, struct jitdump_record *out)
{
	struct debug_info info;

	if (end - at < sizeof(info) || !read_whole(f, at, &info, sizeof(info)))
		return false;
	out->start = info.start;
	out->n_entries = info.n_entries;
	out->entries_at = at + sizeof(info);
	out->entries_end = end;
	return true;
}

int jitdump_file_next(struct jitdump_file *f, struct jitdump_record *out)
{
	struct prefix prefix;
	uint64_t at = f->at + sizeof(prefix), end;
	bool good = true;

	if (f->size < at || !read_whole(f, f->at, &prefix, sizeof(prefix)))
		return 0;
	if (prefix.size < sizeof(prefix))
		return -EBADMSG;
	end = f->at + prefix.size;
	if (end > f->size)
		return 0;
	out->kind = prefix.kind;
	if (prefix.kind == JITDUMP_LOAD)
		good = read_load(f, at, end, out);
	else if (prefix.kind == JITDUMP_MOVE)
		good = read_move(f, at, end, out);
	else if (prefix.kind == JITDUMP_DEBUG_INFO)
		good = read_debug_info(f, at, end, out);
	if (!good)
		return -EBADMSG;
	f->at = end;
	return 1;
}
