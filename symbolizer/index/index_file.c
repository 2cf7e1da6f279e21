/* Reads and writes one file's index on disk, with a checksum for every part. */

#include "symbolizer/index/index_file.h"
#include "symbolizer/base/search.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void key_copy(struct index_key *to, const struct index_key *from)
{
	memset(to, 0, sizeof(*to)); /* what lies between the fields, too */
	snprintf(to->build_id, sizeof(to->build_id), "%s", from->build_id);
	to->size = from->size;
	to->debug_size = from->debug_size;
	to->alt_size = from->alt_size;
	to->owner = from->owner;
	to->maker = from->maker;
}

void index_key_name(const struct index_key *key, char name[INDEX_NAME_SIZE])
{
	struct index_key plain;

	key_copy(&plain, key);
	snprintf(name, INDEX_NAME_SIZE, "%s-%d-%016llx%s", plain.build_id, INDEX_FILE_VERSION,
	         (unsigned long long)index_checksum(&plain, sizeof(plain)), INDEX_FILE_ENDING);
}

/* --- reading ---------------------------------------------------------------------------------------- */

static int read_at(int fd, uint64_t offset, void *buffer, size_t len)
{
	size_t done = 0;
	ssize_t got;

	while (done < len) {
		got = pread(fd, (char *)buffer + done, len - done, (off_t)(offset + done));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? -errno : -EBADMSG;
		done += (size_t)got;
	}
	return 0;
}

static int check_header(const struct index_file_header *h, const struct index_key *key, uint64_t size)
{
	struct index_key wanted;

	key_copy(&wanted, key);
	if (memcmp(h->magic, INDEX_FILE_MAGIC, sizeof(h->magic)) != 0 || h->version != INDEX_FILE_VERSION ||
	    h->byte_order != INDEX_FILE_BYTE_ORDER || memcmp(&h->key, &wanted, sizeof(wanted)) != 0 ||
	    h->checksum != index_checksum(h, offsetof(struct index_file_header, checksum)))
		return -EBADMSG;
	if (h->n_entries > INDEX_MAX_BLOCKS || h->directory > size ||
	    h->n_entries * sizeof(struct index_entry) > size - h->directory)
		return -EBADMSG;
	return 0;
}

static int check_directory(const struct index_file *f, uint64_t size)
{
	const struct index_entry *e = f->entries;
	size_t i;

	for (i = 0; i < f->n_entries; i++)
		if (e[i].low >= e[i].high || (i && e[i].low < e[i - 1].high) || e[i].offset > size ||
		    e[i].len > INDEX_MAX_BLOCK || e[i].len > size - e[i].offset)
			return -EBADMSG;
	return 0;
}

static int read_directory(struct index_file *f, const struct index_key *key)
{
	struct index_file_header header;
	struct stat st;
	size_t len;
	int err = fstat(f->fd, &st) ? -errno : read_at(f->fd, 0, &header, sizeof(header));

	if (!err)
		err = check_header(&header, key, (uint64_t)st.st_size);
	if (err)
		return err;
	f->n_entries = header.n_entries;
	len = f->n_entries * sizeof(*f->entries);
	f->entries = malloc(len + 1);
	if (!f->entries)
		return -ENOMEM;
	err = read_at(f->fd, header.directory, f->entries, len);
	if (!err && index_checksum(f->entries, len) != header.directory_checksum)
		err = -EBADMSG;
	return err ? err : check_directory(f, (uint64_t)st.st_size);
}

int index_file_open_fd(int fd, const struct index_key *key, struct index_file **out)
{
	struct index_file *f = calloc(1, sizeof(*f));
	int err;

	if (!f) {
		close(fd);
		return -ENOMEM;
	}
	f->fd = fd;
	err = read_directory(f, key);
	if (err) {
		index_file_close(f);
		return err;
	}
	*out = f;
	return 0;
}

int index_file_open(const struct index_dir *dir, const struct index_key *key, struct index_file **out)
{
	char name[INDEX_NAME_SIZE];
	int fd;

	index_key_name(key, name);
	fd = index_dir_open_file(dir, name);
	return fd < 0 ? fd : index_file_open_fd(fd, key, out);
}

void index_file_close(struct index_file *f)
{
	if (!f)
		return;
	close(f->fd);
	free(f->entries);
	free(f);
}

const struct index_entry *index_file_find(const struct index_file *f, uint64_t address)
{
	size_t low = search_past(i, 0, f->n_entries, f->entries[i].low <= address);

	return low && address < f->entries[low - 1].high ? &f->entries[low - 1] : NULL;
}

int index_file_read(const struct index_file *f, const struct index_entry *entry, struct index_block **out)
{
	struct index_block *b = malloc(entry->len + 1);
	int err = b ? read_at(f->fd, entry->offset, b, entry->len) : -ENOMEM;

	if (!err && (index_checksum(b, entry->len) != entry->checksum ||
	             !index_block_is_valid(b, entry->len) || b->low != entry->low || b->high != entry->high))
		err = -EBADMSG;
	if (err) {
		free(b);
		return err;
	}
	*out = b;
	return 0;
}

/* --- writing ---------------------------------------------------------------------------------------- */

struct writer {
	int fd;
	uint64_t offset; /* behind what has been given to it */
	size_t used;
	struct index_entry *entries;
	size_t n_entries;
	char buffer[65536];
};

static int write_all(int fd, const char *bytes, size_t len)
{
	ssize_t done;

	for (; len; bytes += done, len -= (size_t)done) {
		done = write(fd, bytes, len);
		if (done < 0 && errno == EINTR)
			done = 0;
		if (done < 0)
			return -errno;
	}
	return 0;
}

static int flush(struct writer *w)
{
	int err = write_all(w->fd, w->buffer, w->used);

	w->used = 0;
	return err;
}

static int put(struct writer *w, const void *bytes, size_t len)
{
	const char *from = bytes;
	size_t part;
	int err = 0;

	w->offset += len;
	for (; len && !err; from += part, len -= part) {
		part = sizeof(w->buffer) - w->used < len ? sizeof(w->buffer) - w->used : len;
		memcpy(w->buffer + w->used, from, part);
		w->used += part;
		if (w->used == sizeof(w->buffer))
			err = flush(w);
	}
	return err;
}

static int put_block(struct writer *w, const struct index_block *b)
{
	size_t len = index_block_size(b);

	w->entries[w->n_entries++] = (struct index_entry){ .low = b->low,
		                                           .high = b->high,
		                                           .offset = w->offset,
		                                           .len = len,
		                                           .checksum = index_checksum(b, len) };
	return put(w, b, len);
}

static int put_old(struct writer *w, const struct index_file *old, const struct index_entry *entry,
                   uint64_t *refused)
{
	struct index_block *b;
	int err = index_file_read(old, entry, &b);

	if (err == -EBADMSG) {
		++*refused;
		return 0;
	}
	if (!err) {
		err = put_block(w, b);
		free(b);
	}
	return err;
}

/* Both in one order; of an old one that overlaps a new one nothing. */
static int put_blocks(struct writer *w, const struct index_file *old, struct index_block *const *blocks,
                      size_t n_blocks, uint64_t *refused)
{
	size_t i = 0, j = 0, n_old = old ? old->n_entries : 0;
	int err = 0;

	while (!err && (i < n_blocks || j < n_old)) {
		if (j == n_old || (i < n_blocks && blocks[i]->low < old->entries[j].high)) {
			if (j < n_old && old->entries[j].low < blocks[i]->high)
				j++;
			else
				err = put_block(w, blocks[i++]);
		} else {
			err = put_old(w, old, &old->entries[j++], refused);
		}
	}
	return err;
}

int index_file_write(int fd, const struct index_key *key, const struct index_file *old,
                     struct index_block *const *blocks, size_t n_blocks, uint64_t *refused)
{
	size_t n = n_blocks + (old ? old->n_entries : 0);
	struct index_file_header header = { .version = INDEX_FILE_VERSION,
		                            .byte_order = INDEX_FILE_BYTE_ORDER };
	struct writer *w = calloc(1, sizeof(*w));
	int err = w ? 0 : -ENOMEM;

	if (!err) {
		w->fd = fd;
		w->entries = malloc((n + 1) * sizeof(*w->entries));
		err = w->entries ? put(w, &header, sizeof(header)) : -ENOMEM;
	}
	if (!err)
		err = put_blocks(w, old, blocks, n_blocks, refused);
	if (!err) {
		memcpy(header.magic, INDEX_FILE_MAGIC, sizeof(header.magic));
		key_copy(&header.key, key);
		header.directory = w->offset;
		header.n_entries = w->n_entries;
		header.directory_checksum = index_checksum(w->entries, w->n_entries * sizeof(*w->entries));
		header.checksum = index_checksum(&header, offsetof(struct index_file_header, checksum));
		err = put(w, w->entries, w->n_entries * sizeof(*w->entries));
	}
	if (!err)
		err = flush(w);
	if (!err && lseek(fd, 0, SEEK_SET) < 0)
		err = -errno;
	if (!err)
		err = write_all(fd, (const char *)&header, sizeof(header));
	if (w)
		free(w->entries);
	free(w);
	return err;
}
