/* Finds a file's separate debug file, by build-id, .gnu_debuglink, .gnu_debugaltlink or .debug_sup. */

#include "symbolizer/elf/debug_file.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "symbolizer/base/dwarf_cursor.h"
#include "symbolizer/base/regular_file.h"

#define MAX_NOTES       64 /* places where they stand: linkers make two or three, kernels some ten */
#define MAX_NOTES_BYTES 65536
#define MAX_CRC_BYTES   ((off_t)1 << 30) /* is read to its end, at some GB/s, for whoever names it */

static void to_hex(const uint8_t *bytes, size_t len, char hex[BUILD_ID_HEX_SIZE])
{
	static const char digits[] = "0123456789abcdef";
	size_t i;

	for (i = 0; i < len && 2 * i + 2 < BUILD_ID_HEX_SIZE; i++) {
		hex[2 * i] = digits[bytes[i] >> 4];
		hex[2 * i + 1] = digits[bytes[i] & 15];
	}
	hex[2 * i] = 0;
}

static size_t align4(size_t n)
{
	return (n + 3) & ~(size_t)3;
}

int debug_file_build_id_in_notes(const uint8_t *notes, size_t len, char hex[BUILD_ID_HEX_SIZE])
{
	Elf64_Nhdr nhdr;
	size_t pos = 0, description;

	while (len - pos >= sizeof(nhdr)) {
		memcpy(&nhdr, notes + pos, sizeof(nhdr));
		pos += sizeof(nhdr);
		if (nhdr.n_namesz > len || nhdr.n_descsz > len || align4(nhdr.n_namesz) > len - pos)
			return 0;
		description = pos + align4(nhdr.n_namesz);
		if (nhdr.n_descsz > len - description)
			return 0;
		if (nhdr.n_type == NT_GNU_BUILD_ID && nhdr.n_namesz == 4 && nhdr.n_descsz &&
		    memcmp(notes + pos, "GNU", 4) == 0) {
			to_hex(notes + description, nhdr.n_descsz, hex);
			return 1;
		}
		if (align4(nhdr.n_descsz) > len - description)
			return 0;
		pos = description + align4(nhdr.n_descsz);
	}
	return 0;
}

void debug_file_build_id(struct elf_file *f, char hex[BUILD_ID_HEX_SIZE])
{
	uint64_t offset, len;
	uint8_t *notes;
	size_t next = 0;
	int found = 0, i;

	hex[0] = 0;
	for (i = 0; i < MAX_NOTES && !found && elf_file_notes(f, &next, &offset, &len); i++) {
		if (!len || len > MAX_NOTES_BYTES)
			continue;
		notes = malloc(len);
		if (!notes)
			return;
		if (!elf_file_read(f, offset, notes, len))
			found = debug_file_build_id_in_notes(notes, len, hex);
		free(notes);
	}
}

bool debug_file_root_has_gone(const char *root)
{
	char target;

	return *root && readlink(root, &target, sizeof(target)) < 0 && (errno == ENOENT || errno == ESRCH);
}

/* One path to try. */
struct candidate {
	const char *root; /* "" or whose path it is */
	const char *dir;  /* what lies safely below it may be mapped, if it is local; NULL: nothing */
	const char *path;
};

/* What lies safely in a folder of ours is the administrator's; all else may change under our hands. */
static int open_elf(int fd, const struct candidate *at, size_t max_bytes, struct elf_file **out)
{
	bool trusted = !*at->root && at->dir && regular_file_is_safe_in(fd, at->path, at->dir);

	return elf_file_open(fd, trusted, max_bytes, out);
}

int debug_file_open_path(const struct debug_file_place *place, const char *path, size_t max_bytes,
                         struct elf_file **out)
{
	struct candidate at = { .root = place->root, .dir = place->debug_dir, .path = path };
	int fd = regular_file_open_in(at.root, at.path, 0);

	return fd < 0 ? fd : open_elf(fd, &at, max_bytes, out);
}

/*
 * .debug_sup, which dwz writes for DWARF 5: a version, whether this is the shared file, the name of that (its own is empty),
 * and the length and bytes of what both have in common and stands for its build-id.
 */
static int read_sup(struct elf_file *f, bool is_shared, const char **name, char build_id[BUILD_ID_HEX_SIZE])
{
	struct elf_section section;
	struct dwarf_cursor c;
	uint64_t len;
	int err = elf_file_section(f, ".debug_sup", &section);

	if (err)
		return err;
	c = dwarf_cursor_at(section.data, section.len, 0);
	if (dwarf_u16(&c) != 5 || dwarf_u8(&c) != is_shared)
		return -EBADMSG;
	*name = dwarf_string(&c);
	len = dwarf_uleb(&c);
	if (c.failed || !len || len > dwarf_left(&c))
		return -EBADMSG;
	to_hex(c.pos, len, build_id);
	return 0;
}

static bool has_build_id(struct elf_file *f, const char *build_id)
{
	char have[BUILD_ID_HEX_SIZE];
	const char *name;

	debug_file_build_id(f, have);
	return strcmp(have, build_id) == 0 ||
	       (!read_sup(f, true, &name, have) && strcmp(have, build_id) == 0);
}

static int open_with_build_id(const struct candidate *at, const char *build_id, size_t max_bytes,
                              struct elf_file **out)
{
	int fd = regular_file_open_in(at->root, at->path, 0), err;

	if (fd < 0)
		return fd;
	err = open_elf(fd, at, max_bytes, out);
	if (err)
		return err;
	if (has_build_id(*out, build_id))
		return 0;
	elf_file_close(*out);
	*out = NULL;
	return -ENOENT;
}

static int open_in_build_id_dir(const char *root, const char *dir, const char *build_id, size_t max_bytes,
                                struct elf_file **out)
{
	char path[PATH_MAX];
	struct candidate at = { .root = root, .dir = dir, .path = path };
	int n = snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s.debug", dir, build_id, build_id + 2);

	if (n < 0 || (size_t)n >= sizeof(path))
		return -ENAMETOOLONG;
	return open_with_build_id(&at, build_id, max_bytes, out);
}

static int open_by_build_id(const char *build_id, const struct debug_file_place *place, size_t max_bytes,
                            struct elf_file **out)
{
	if (strlen(build_id) < 3)
		return -ENOENT;
	if (!open_in_build_id_dir("", place->debug_dir, build_id, max_bytes, out))
		return 0;
	if (place->fetched_dir && !open_in_build_id_dir("", place->fetched_dir, build_id, max_bytes, out))
		return 0;
	if (!*place->root)
		return -ENOENT;
	return open_in_build_id_dir(place->root, place->debug_dir, build_id, max_bytes, out);
}

/* The name, and behind it at the next multiple of four the CRC. */
static int read_debuglink(struct elf_file *f, const char **name, uint32_t *crc)
{
	struct elf_section section;
	size_t at;
	int err = elf_file_section(f, ".gnu_debuglink", &section);

	if (err)
		return err;
	at = align4(strnlen((const char *)section.data, section.len) + 1);
	if (section.len < 4 || at > section.len - 4 || !section.data[0])
		return -EBADMSG;
	*name = (const char *)section.data;
	memcpy(crc, section.data + at, 4);
	return 0;
}

/* Of the `size` bytes that the file had when it was opened, though it may grow meanwhile. */
static int crc_of(int fd, off_t size, uint32_t *crc)
{
	uint8_t buffer[65536];
	uLong sum = crc32(0, NULL, 0);
	off_t at = 0;
	ssize_t got;

	while (at < size) {
		got = pread(fd, buffer,
		            size - at < (off_t)sizeof(buffer) ? (size_t)(size - at) : sizeof(buffer), at);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? -errno : -EBADMSG;
		sum = crc32(sum, buffer, (uInt)got);
		at += got;
	}
	*crc = (uint32_t)sum;
	return 0;
}

struct wanted {
	const char *build_id; /* "": none, compare the CRC */
	uint32_t crc;
};

static int open_if_wanted(const struct candidate *at, const struct wanted *wanted, size_t max_bytes,
                          struct elf_file **out)
{
	struct stat st;
	uint32_t crc;
	int fd, err;

	if (*wanted->build_id)
		return open_with_build_id(at, wanted->build_id, max_bytes, out);
	fd = regular_file_open_stat(at->root, at->path, 0, &st);
	if (fd < 0)
		return fd;
	err = st.st_size > MAX_CRC_BYTES ? -EFBIG : crc_of(fd, st.st_size, &crc);
	if (err || crc != wanted->crc) {
		close(fd);
		return err ? err : -ENOENT;
	}
	return open_elf(fd, at, max_bytes, out);
}

static int open_by_link(struct elf_file *f, const char *build_id, const struct debug_file_place *place,
                        size_t max_bytes, struct elf_file **out)
{
	const struct {
		const char *root, *dir, *between;
	} places[] = {
		{ place->root, "", "/" },
		{ place->root, "", "/.debug/" },
		{ "", place->debug_dir, "/" },
		{ place->root, place->debug_dir, "/" },
	};
	struct wanted wanted = { .build_id = build_id };
	const char *name, *slash = strrchr(place->path, '/');
	int err = read_debuglink(f, &name, &wanted.crc), missing = -ENOENT, n;
	char path[PATH_MAX];
	size_t i;

	if (err)
		return err;
	if (!slash || strchr(name, '/') || path_has_dotdot(name) || path_has_dotdot(place->path))
		return -ENOENT;
	for (i = 0; i < sizeof(places) / sizeof(*places); i++) {
		struct candidate at = { .root = places[i].root, .dir = place->debug_dir, .path = path };

		n = snprintf(path, sizeof(path), "%s%.*s%s%s", places[i].dir, (int)(slash - place->path),
		             place->path, places[i].between, name);
		/* The file itself has the wanted build-id, too. */
		if (n <= 0 || (size_t)n >= sizeof(path) || !strcmp(path, place->path))
			continue;
		err = open_if_wanted(&at, &wanted, max_bytes, out);
		if (!err)
			return 0;
		if (err == -EFBIG)
			missing = err;
	}
	return missing;
}

int debug_file_open(struct elf_file *f, const struct debug_file_place *place, size_t max_bytes,
                    struct elf_file **out)
{
	char build_id[BUILD_ID_HEX_SIZE];
	int err;

	*out = NULL;
	debug_file_build_id(f, build_id);
	if (!open_by_build_id(build_id, place, max_bytes, out))
		return 0;
	err = open_by_link(f, build_id, place, max_bytes, out);
	return err && err != -EFBIG ? -ENOENT : err;
}

__attribute__((format(printf, 6, 7))) static int try_alt(const char *root, const char *dir,
                                                         const char *build_id, size_t max_bytes,
                                                         struct elf_file **out, const char *format, ...)
{
	char path[PATH_MAX];
	struct candidate at = { .root = root, .dir = dir, .path = path };
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	if (n < 0 || (size_t)n >= sizeof(path))
		return -ENAMETOOLONG;
	if (!*root && path_has_dotdot(path))
		return -ENOENT;
	return open_with_build_id(&at, build_id, max_bytes, out);
}

/* The name is the target's word: it leads to the debug folders, beside the file, or below the target's root. */
static int open_alt_by_name(const char *name, const char *build_id, const struct debug_file_place *place,
                            size_t max_bytes, struct elf_file **out)
{
	const char *slash = strrchr(place->path, '/'), *dir = place->debug_dir;
	size_t len = strlen(dir);

	if (name[0] == '/' && strncmp(name, dir, len) == 0 && name[len] == '/' &&
	    !try_alt("", dir, build_id, max_bytes, out, "%s", name))
		return 0;
	if (name[0] == '/')
		return *place->root ? try_alt(place->root, NULL, build_id, max_bytes, out, "%s", name)
		                    : -ENOENT;
	if (slash && !try_alt(place->root, dir, build_id, max_bytes, out, "%.*s/%s",
	                      (int)(slash - place->path), place->path, name))
		return 0;
	/* Debian writes ../../.dwz/..., meant from the folder of .build-id/xx. */
	while (strncmp(name, "../", 3) == 0)
		name += 3;
	if (!try_alt("", dir, build_id, max_bytes, out, "%s/%s", dir, name))
		return 0;
	return *place->root ? try_alt(place->root, NULL, build_id, max_bytes, out, "%s/%s", dir, name)
	                    : -ENOENT;
}

/* .gnu_debugaltlink: a path, its NUL, and the build-id's bytes. */
static int read_alt_link(struct elf_file *debug, const char **name, char build_id[BUILD_ID_HEX_SIZE])
{
	struct elf_section section;
	size_t len;
	int err = elf_file_section(debug, ".gnu_debugaltlink", &section);

	if (err)
		return err;
	*name = (const char *)section.data;
	len = strnlen(*name, section.len);
	if (len + 1 >= section.len)
		return -EBADMSG;
	to_hex(section.data + len + 1, section.len - len - 1, build_id);
	return 0;
}

int debug_file_open_alt(struct elf_file *debug, const struct debug_file_place *place, size_t max_bytes,
                        struct elf_file **out)
{
	char build_id[BUILD_ID_HEX_SIZE];
	const char *name;
	int err = read_alt_link(debug, &name, build_id);

	*out = NULL;
	if (err == -ENOENT)
		err = read_sup(debug, false, &name, build_id);
	if (err)
		return err == -EBADMSG ? err : -ENOENT;
	if (!open_by_build_id(build_id, place, max_bytes, out))
		return 0;
	return open_alt_by_name(name, build_id, place, max_bytes, out);
}
