/* Writes jit-PID.dump files, by the specification, piece by piece into memory. */
#ifndef STALLPROF_TESTS_JITDUMP_WRITER_H
#define STALLPROF_TESTS_JITDUMP_WRITER_H

#include <elf.h>
#include <stdint.h>
#include <string.h>

struct jitdump_writer {
	uint8_t bytes[16384];
	size_t len, record; /* where the last record begins */
};

static inline void jitdump_put(struct jitdump_writer *w, const void *bytes, size_t len)
{
	if (len <= sizeof(w->bytes) - w->len)
		memcpy(w->bytes + w->len, bytes, len);
	w->len += len;
}

static inline void jitdump_put32(struct jitdump_writer *w, uint32_t value)
{
	jitdump_put(w, &value, sizeof(value));
}

static inline void jitdump_put64(struct jitdump_writer *w, uint64_t value)
{
	jitdump_put(w, &value, sizeof(value));
}

static inline void jitdump_put_header(struct jitdump_writer *w, uint32_t magic, uint32_t machine)
{
	w->len = 0;
	jitdump_put32(w, magic);
	jitdump_put32(w, 1);
	jitdump_put32(w, 40);
	jitdump_put32(w, machine);
	jitdump_put32(w, 0);
	jitdump_put32(w, 1);
	jitdump_put64(w, 0);
	jitdump_put64(w, 0);
}

static inline void jitdump_begin(struct jitdump_writer *w, uint32_t kind)
{
	w->record = w->len;
	jitdump_put32(w, kind);
	jitdump_put32(w, 0);
	jitdump_put64(w, 0);
}

static inline void jitdump_end(struct jitdump_writer *w)
{
	uint32_t size = (uint32_t)(w->len - w->record);

	memcpy(w->bytes + w->record + 4, &size, sizeof(size));
}

/* The code itself is all 0xcc. */
static inline void jitdump_put_load(struct jitdump_writer *w, const char *name, uint64_t start, uint64_t size)
{
	uint64_t i;

	jitdump_begin(w, 0);
	jitdump_put64(w, 0);
	jitdump_put64(w, start);
	jitdump_put64(w, start);
	jitdump_put64(w, size);
	jitdump_put64(w, 0);
	jitdump_put(w, name, strlen(name) + 1);
	for (i = 0; i < size; i++)
		jitdump_put(w, "\xcc", 1);
	jitdump_end(w);
}

static inline void jitdump_put_move(struct jitdump_writer *w, uint64_t from, uint64_t to, uint64_t size)
{
	jitdump_begin(w, 1);
	jitdump_put64(w, 0);
	jitdump_put64(w, to);
	jitdump_put64(w, from);
	jitdump_put64(w, to);
	jitdump_put64(w, size);
	jitdump_put64(w, 0);
	jitdump_end(w);
}

/* To be followed by entries, and jitdump_end(). */
static inline void jitdump_begin_lines(struct jitdump_writer *w, uint64_t start, uint64_t n)
{
	jitdump_begin(w, 2);
	jitdump_put64(w, start);
	jitdump_put64(w, n);
}

static inline void jitdump_put_line(struct jitdump_writer *w, uint64_t address, uint32_t line,
                                    const char *file)
{
	jitdump_put64(w, address);
	jitdump_put32(w, line);
	jitdump_put32(w, 0);
	jitdump_put(w, file, strlen(file) + 1);
}

#endif
