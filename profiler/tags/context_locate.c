/* Finds in a live process where its threads keep the pointers to their tags. */

#include "profiler/tags/context_locate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "profiler/process/remote_pages.h"
#include "profiler/tags/mapped_file.h"
#include "profiler/tags/process_context_reader.h"
#include "symbolizer/base/file_gate.h"
#include "symbolizer/base/maps.h"

struct context_locator {
	struct mapped_files *files;
	struct context_locator_stats stats;
};

/* One process being looked at. */
struct visit {
	struct context_locator *locator;
	const struct context_files_wanted *wanted;
	struct remote_pages memory; /* reads no files */
	bool files_only;
	bool musl;
	bool otel_is_stalltags; /* the public slot found so far stands beside stalltag's */
	bool otel_needless;     /* … in a library whose probes tell all that is in it */
	struct abi_process *out;
	int result; /* of the slots: 0 or -EAGAIN */
	struct mapped_file_key seen[CONTEXT_FILES_PER_PROCESS];
	size_t n_seen;
	dev_t program_dev; /* of /proc/PID/exe */
	ino_t program_inode;
	uint64_t contexts[PROCESS_CONTEXT_MAPPINGS_MAX];
	size_t n_contexts;
};

struct context_locator *context_locator_new(void)
{
	struct context_locator *locator = calloc(1, sizeof(*locator));

	if (!locator)
		return NULL;
	locator->files = mapped_files_new(CONTEXT_LOCATOR_FILES_MAX);
	if (!locator->files) {
		free(locator);
		return NULL;
	}
	return locator;
}

void context_locator_free(struct context_locator *locator)
{
	if (!locator)
		return;
	mapped_files_free(locator->files);
	free(locator);
}

void context_locator_stats(const struct context_locator *locator, struct context_locator_stats *out)
{
	struct mapped_files_stats files;

	mapped_files_stats(locator->files, &files);
	*out = locator->stats;
	out->files_read = files.read;
	out->files_corrupt = files.corrupt;
	out->files_unopened = files.unopened;
}

/* --- the words that the loader wrote ------------------------------------------------------------ */

/* They lie in the file that has the slot, or in the loader's: one that can be opened and read is not waited for. */
static bool reads_file(void *ctx, const struct maps_entry *entry)
{
	const struct visit *visit = ctx;
	const struct tag_file *facts;
	struct mapped_file_key key;

	return !mapped_file_facts(visit->locator->files, visit->memory.pid, entry->start, entry->end,
	                          entry->path, &facts, &key);
}

static int read_words(struct visit *visit, uint64_t address, uint64_t *words, size_t n)
{
	const struct remote_pages memory = {
		.pid = visit->memory.pid, .fd = visit->memory.fd, .reads_file = reads_file, .ctx = visit
	};

	return remote_pages_read(&memory, address, words, n * sizeof(*words)) ? -EAGAIN : 0;
}

static int in_module(uint64_t module, uint64_t offset, struct abi_tls *out)
{
	if (!module || module > UINT16_MAX || offset > INT32_MAX)
		return -EAGAIN;
	*out = (struct abi_tls){ .kind = ABI_TLS_DYNAMIC,
		                 .module = (uint32_t)module,
		                 .offset = (int64_t)offset };
	return 0;
}

static int at_thread_pointer(int64_t offset, struct abi_tls *out)
{
	if (offset >= 0 || offset < -INT32_MAX)
		return -EAGAIN;
	*out = (struct abi_tls){ .kind = ABI_TLS_STATIC, .offset = offset };
	return 0;
}

/* Before it is relocated the descriptor holds zeros, or (bound lazily) addresses of the file itself. */
static int locate_by_descriptor(struct visit *visit, const struct tag_file *facts, uint64_t bias,
                                const struct tag_file_slot *slot, struct abi_tls *out)
{
	uint64_t words[2], index[2];
	int err = read_words(visit, bias + slot->got, words, 2);

	if (err)
		return err;
	if (!words[0] || (words[0] >= bias + facts->low && words[0] < bias + facts->high))
		return -EAGAIN;
	if ((int64_t)words[1] < 0)
		return at_thread_pointer((int64_t)words[1] + slot->adjust, out);
	err = read_words(visit, words[1], index, 2);
	return err ? err : in_module(index[0], index[1] + (uint64_t)slot->adjust, out);
}

static int locate_by_module(struct visit *visit, uint64_t bias, const struct tag_file_slot *slot,
                            struct abi_tls *out)
{
	uint64_t words[2];
	int err = read_words(visit, bias + slot->got, words, 2);

	return err ? err : in_module(words[0], slot->own ? slot->value : words[1], out);
}

static int locate_slot(struct visit *visit, const struct tag_file *facts, bool program, uint64_t bias,
                       const struct tag_file_slot *slot, struct abi_tls *out)
{
	uint64_t word;
	int err;

	if (program)
		return at_thread_pointer(facts->block_tp_offset + (int64_t)slot->value, out);
	switch (slot->access) {
	case TAG_FILE_TLSDESC:
		return locate_by_descriptor(visit, facts, bias, slot, out);
	case TAG_FILE_TPOFF:
		err = read_words(visit, bias + slot->got, &word, 1);
		return err ? err : at_thread_pointer((int64_t)word + slot->adjust, out);
	case TAG_FILE_MODULE:
		return locate_by_module(visit, bias, slot, out);
	default:
		return -ENOENT;
	}
}

/* --- the files ---------------------------------------------------------------------------------- */

static bool wants(const struct visit *visit, int slot, bool stalltags)
{
	if (slot == TAG_FILE_STALLTAG)
		return !visit->out->stalltag.kind;
	return !visit->out->otel.kind || (visit->otel_is_stalltags && !stalltags);
}

static void locate_slots(struct visit *visit, const struct tag_file *facts, bool program, uint64_t bias)
{
	bool stalltags = facts->slots[TAG_FILE_STALLTAG].access != TAG_FILE_ABSENT;

	for (int i = 0; i < TAG_FILE_SLOTS; i++) {
		struct abi_tls *out = i == TAG_FILE_STALLTAG ? &visit->out->stalltag : &visit->out->otel;
		const struct tag_file_slot *slot = &facts->slots[i];
		int err;

		if (slot->access == TAG_FILE_ABSENT || !wants(visit, i, stalltags))
			continue;
		err = locate_slot(visit, facts, program, bias, slot, out);
		if (err == -ENOENT)
			visit->locator->stats.slots_unlocated++;
		else if (err && visit->result != -EAGAIN)
			visit->result = err;
		if (!err && i == TAG_FILE_OTEL)
			visit->otel_is_stalltags = stalltags;
		if (!err && i == TAG_FILE_OTEL)
			visit->otel_needless = stalltags && facts->probes & TAG_FILE_PROBE_CHANGE;
	}
}

static void tell_file(const struct visit *visit, const struct maps_entry *entry, const struct tag_file *facts,
                      const struct mapped_file_key *key)
{
	struct context_file file = { .facts = facts, .dev = key->dev, .inode = key->inode };
	char path[MAPPED_FILE_PATH_MAX];

	if (!visit->wanted || !(facts->probes || facts->libraries))
		return;
	if (!mapped_file_path(key, visit->memory.pid, entry->start, entry->end, entry->path, path,
	                      sizeof(path)))
		return;
	file.path = path;
	visit->wanted->file(visit->wanted->ctx, visit->memory.pid, &file);
}

static bool seen(struct visit *visit, const struct mapped_file_key *key)
{
	for (size_t i = 0; i < visit->n_seen; i++)
		if (!memcmp(&visit->seen[i], key, sizeof(*key)))
			return true;
	if (visit->n_seen == CONTEXT_FILES_PER_PROCESS) {
		visit->locator->stats.files_beyond++;
		return true;
	}
	visit->seen[visit->n_seen++] = *key;
	return false;
}

static void look_at_file(struct visit *visit, const struct maps_entry *entry)
{
	const struct tag_file *found;
	struct mapped_file_key key;
	struct tag_file facts;
	uint64_t bias;
	bool program;

	if (mapped_file_facts(visit->locator->files, visit->memory.pid, entry->start, entry->end, entry->path,
	                      &found, &key))
		return;
	visit->musl = visit->musl || found->musl;
	if (!tag_file_interesting(found) || seen(visit, &key))
		return;
	facts = *found; /* reads_file() asks for those of others */
	program = facts.program || (key.dev == visit->program_dev && key.inode == visit->program_inode);
	if (!visit->files_only && tag_file_bias(&facts, entry->start, entry->offset, &bias))
		locate_slots(visit, &facts, program, bias);
	tell_file(visit, entry, &facts, &key);
}

static int look_for_context(const struct maps_entry *entry, void *context)
{
	struct visit *visit = context;

	if (process_context_is_mapping(entry->path) && visit->n_contexts < PROCESS_CONTEXT_MAPPINGS_MAX)
		visit->contexts[visit->n_contexts++] = entry->start;
	return 0;
}

static int look_at_entry(const struct maps_entry *entry, void *context)
{
	if (entry->executable && entry->inode && !process_context_is_mapping(entry->path))
		look_at_file(context, entry);
	return look_for_context(entry, context);
}

/* --- the process -------------------------------------------------------------------------------- */

static int open_in_proc(pid_t pid, const char *name)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	return errno == ENOENT ? -ESRCH : -errno;
}

/* By what is in memory of the file, as its file system may not answer. */
static void read_program(struct visit *visit)
{
	char path[64];
	struct statx st;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)visit->memory.pid);
	if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_INO, &st))
		return;
	visit->program_dev = makedev(st.stx_dev_major, st.stx_dev_minor);
	visit->program_inode = st.stx_ino;
}

/* Leaves the key as it is if there is no context, or none that can be read. */
static int read_context(const struct visit *visit, uint32_t *key)
{
	struct process_context context;
	int err;

	if (!visit->n_contexts)
		return 0;
	err = process_context_read_newest(&visit->memory, visit->contexts, visit->n_contexts, &context);
	if (!err)
		*key = process_context_key(&context, "ai_tag");
	process_context_release(&context);
	return err;
}

static int read_maps(struct visit *visit, int (*each)(const struct maps_entry *entry, void *context))
{
	int fd = open_in_proc(visit->memory.pid, "maps"), err;

	if (fd < 0)
		return fd;
	err = maps_read(fd, each, visit, NULL);
	close(fd);
	return err;
}

/* Its table of modules is another one than glibc's. */
static void adapt_to_musl(struct abi_tls *tls)
{
	if (tls->kind == ABI_TLS_DYNAMIC)
		tls->kind = ABI_TLS_MUSL;
}

int context_locate(struct context_locator *locator, pid_t pid, struct abi_process *out,
                   const struct context_files_wanted *wanted)
{
	struct visit visit = { .locator = locator, .wanted = wanted, .memory.pid = pid, .out = out };
	uint64_t refusals = file_gate_refusals();
	int err, unread;

	visit.files_only = wanted && wanted->files_only;
	*out = (struct abi_process){ .ai_tag_key = PROCESS_CONTEXT_NO_KEY };
	visit.memory.fd = open_in_proc(pid, "mem");
	if (visit.memory.fd < 0)
		return visit.memory.fd;
	read_program(&visit);
	err = read_maps(&visit, look_at_entry);
	if (visit.musl) {
		adapt_to_musl(&out->stalltag);
		adapt_to_musl(&out->otel);
	}
	unread = err || visit.files_only ? 0 : read_context(&visit, &out->ai_tag_key);
	if (unread == -EAGAIN)
		visit.result = unread;
	else if (unread)
		locator->stats.contexts_bad++;
	/* Both slots hold the same: reading one is enough, and none where the probes report all changes. */
	if (visit.otel_needless && out->stalltag.kind)
		out->otel = (struct abi_tls){ 0 };
	close(visit.memory.fd);
	if (!err && file_gate_refusals() != refusals)
		return -ETIMEDOUT;
	return err ? err : visit.result;
}

uint32_t context_locate_key(pid_t pid)
{
	struct visit visit = { .memory.pid = pid };
	uint32_t key = PROCESS_CONTEXT_NO_KEY;

	visit.memory.fd = open_in_proc(pid, "mem");
	if (visit.memory.fd < 0)
		return key;
	if (!read_maps(&visit, look_for_context))
		read_context(&visit, &key);
	close(visit.memory.fd);
	return key;
}

int context_locator_interest(struct context_locator *locator, pid_t pid, uint64_t start, uint64_t end,
                             const char *path, const struct context_files_wanted *wanted)
{
	const struct visit visit = { .wanted = wanted, .memory.pid = pid };
	const struct maps_entry entry = { .start = start, .end = end, .path = path };
	const struct tag_file *facts;
	struct mapped_file_key key;
	int err = mapped_file_facts(locator->files, pid, start, end, path, &facts, &key);

	if (err)
		return err;
	tell_file(&visit, &entry, facts, &key);
	return tag_file_interesting(facts);
}
