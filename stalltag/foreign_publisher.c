/* Looks in /proc/self/maps and the loaded objects for another publisher of OpenTelemetry contexts. */

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stalltag/foreign_publisher.h"

#define SLOT_SYMBOL "otel_thread_ctx_v1"
#define OWN_SYMBOL  "stalltag_thread_ctx_v1" /* another copy of this library has both */
#define CHUNK_BYTES 8192

static const char *const context_names[] = { "/memfd:OTEL_CTX", "[anon_shmem:OTEL_CTX]", "[anon:OTEL_CTX]" };

/* The sixth field: after the address range, the rights, offset, device and inode. */
static const char *mapping_name(const char *line)
{
	for (int field = 0; field < 5; field++) {
		line += strcspn(line, " ");
		line += strspn(line, " ");
	}
	return line;
}

bool foreign_publisher_line(const char *line, uintptr_t own_context)
{
	const char *name = mapping_name(line);

	for (size_t i = 0; i < sizeof(context_names) / sizeof(context_names[0]); i++) {
		size_t length = strlen(context_names[i]);

		if (!strncmp(name, context_names[i], length) && (!name[length] || name[length] == ' '))
			return strtoull(line, NULL, 16) != own_context;
	}
	return false;
}

/* Looks at the whole lines in text and returns the bytes of what follows the last of them. */
static size_t scan_lines(char *text, uintptr_t own_context, bool *found)
{
	char *end;

	while ((end = strchr(text, '\n'))) {
		*end = '\0';
		*found |= foreign_publisher_line(text, own_context);
		text = end + 1;
	}
	return strlen(text);
}

static bool foreign_context_mapped(uintptr_t own_context)
{
	static char chunk[CHUNK_BYTES + 1]; /* too large for a signal handler's stack */
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	size_t kept = 0;
	bool found = false;
	ssize_t got;

	if (fd < 0)
		return false;
	while (!found && (got = read(fd, chunk + kept, CHUNK_BYTES - kept)) > 0) {
		size_t filled = kept + (size_t)got;

		chunk[filled] = '\0';
		kept = scan_lines(chunk, own_context, &found);
		if (kept == CHUNK_BYTES) /* longer than any path: not one that we seek */
			kept = 0;
		memmove(chunk, chunk + filled - kept, kept);
	}
	close(fd);
	return found;
}

struct hash_table {
	const uint32_t *words; /* DT_GNU_HASH */
	const ElfW(Sym) * symbols;
	const char *strings;
};

static const void *dynamic_address(const struct dl_phdr_info *object, ElfW(Addr) value)
{
	/* glibc relocates these in place, but not the vDSO's. */
	return (const void *)(value < object->dlpi_addr ? value + object->dlpi_addr : value);
}

static bool find_hash_table(const struct dl_phdr_info *object, struct hash_table *out)
{
	const ElfW(Dyn) *entry = NULL;

	memset(out, 0, sizeof(*out));
	for (int i = 0; i < object->dlpi_phnum; i++)
		if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
			entry = (const ElfW(Dyn) *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
	for (; entry && entry->d_tag != DT_NULL; entry++) {
		const void *at = dynamic_address(object, entry->d_un.d_ptr);

		if (entry->d_tag == DT_GNU_HASH)
			out->words = at;
		else if (entry->d_tag == DT_SYMTAB)
			out->symbols = at;
		else if (entry->d_tag == DT_STRTAB)
			out->strings = at;
	}
	return out->words && out->symbols && out->strings;
}

static uint32_t gnu_hash(const char *name)
{
	uint32_t hash = 5381;

	while (*name)
		hash = hash * 33 + (unsigned char)*name++;
	return hash;
}

/* The table: bucket count, first symbol, bloom words, bloom shift; bloom; buckets; one word a symbol. */
static bool defines(const struct hash_table *table, const char *name)
{
	uint32_t bucket_count = table->words[0];
	uint32_t first_symbol = table->words[1];
	const ElfW(Addr) *bloom = (const ElfW(Addr) *)(table->words + 4);
	const uint32_t *buckets = (const uint32_t *)(bloom + table->words[2]);
	const uint32_t *chains = buckets + bucket_count;
	uint32_t hash = gnu_hash(name);
	uint32_t symbol;

	if (!bucket_count)
		return false;
	symbol = buckets[hash % bucket_count];
	if (symbol < first_symbol)
		return false;
	for (;; symbol++) {
		uint32_t entry = chains[symbol - first_symbol];

		if ((entry | 1) == (hash | 1) &&
		    !strcmp(table->strings + table->symbols[symbol].st_name, name))
			return true;
		if (entry & 1)
			return false;
	}
}

static bool holds(const struct dl_phdr_info *object, uintptr_t address)
{
	for (int i = 0; i < object->dlpi_phnum; i++) {
		uintptr_t start = object->dlpi_addr + object->dlpi_phdr[i].p_vaddr;

		if (object->dlpi_phdr[i].p_type == PT_LOAD && address - start < object->dlpi_phdr[i].p_memsz)
			return true;
	}
	return false;
}

static int check_object(struct dl_phdr_info *object, size_t size, void *found)
{
	struct hash_table table;

	(void)size;
	if (holds(object, (uintptr_t)check_object) || !find_hash_table(object, &table))
		return 0;
	*(bool *)found |= defines(&table, SLOT_SYMBOL) && !defines(&table, OWN_SYMBOL);
	return *(bool *)found;
}

static int read_loads(struct dl_phdr_info *object, size_t size, void *loads)
{
	(void)size;
	*(unsigned long long *)loads = object->dlpi_adds;
	return 1;
}

unsigned long long foreign_publisher_loads(void)
{
	unsigned long long loads = 0;

	dl_iterate_phdr(read_loads, &loads);
	return loads;
}

bool foreign_publisher_present(uintptr_t own_context)
{
	bool found = false;

	dl_iterate_phdr(check_object, &found);
	return found || foreign_context_mapped(own_context);
}
