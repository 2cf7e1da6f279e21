/* Finds the Python in a process's mappings. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbolizer/base/maps.h"
#include "symbolizer/python/python_file.h"
#include "symbolizer/base/regular_file.h"

/* A process can map any number of files called python, of any size: what they cost is bounded. */
#define MAX_SECTION_BYTES ((size_t)16 << 20)
#define MAX_FILES         8

struct search {
	const char *proc;
	pid_t pid;
	uint64_t program_inode; /* 0: not known */
	size_t files;
	int result;
	struct sym_python_layout *out;
};

bool sym_python_may_be(const char *path)
{
	const char *slash = strrchr(path, '/');

	/* Not just anywhere in the name: each extension module is called X.cpython-311-x86_64-linux-gnu.so. */
	return path[0] == '/' && (strncmp(slash, "/python", 7) == 0 || strncmp(slash, "/libpython", 10) == 0);
}

/* By device and inode: of overlays, the two differ between stat() and maps, so either may do for a program. */
static bool is_program(const struct search *search, const struct maps_entry *entry)
{
	return search->program_inode && search->program_inode == entry->inode;
}

/* The file itself first, which needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE; else as the process sees it. */
static int open_mapping(const struct search *search, const struct maps_entry *entry)
{
	char path[PATH_MAX];
	struct stat st;
	int fd, n;

	snprintf(path, sizeof(path), "%s/%d/map_files/%llx-%llx", search->proc, (int)search->pid,
	         (unsigned long long)entry->start, (unsigned long long)entry->end);
	fd = regular_file_open(path, 0);
	if (fd >= 0 || fd == -EAGAIN)
		return fd;
	n = snprintf(path, sizeof(path), "%s/%d/root%s", search->proc, (int)search->pid, entry->path);
	if (n < 0 || (size_t)n >= sizeof(path) || path_has_dotdot(entry->path))
		return -ENAMETOOLONG;
	fd = regular_file_open(path, 0);
	if (fd >= 0 && (fstat(fd, &st) || st.st_ino != entry->inode)) {
		close(fd);
		return -ENOENT;
	}
	return fd;
}

/* From ELF addresses to those at which this mapping has them. */
static int relocate(const struct elf_file *f, const struct maps_entry *entry,
                    struct sym_python_layout *layout)
{
	uint64_t linked, bias;
	size_t i;

	if (!elf_file_address(f, entry->offset, &linked))
		return -EBADMSG;
	bias = entry->start - linked;
	layout->runtime += bias;
	if (layout->code_type)
		layout->code_type += bias;
	for (i = 0; i < SYM_PYTHON_EVALUATOR_RANGES; i++) {
		if (!layout->evaluator[i].end)
			continue;
		layout->evaluator[i].start += bias;
		layout->evaluator[i].end += bias;
	}
	for (i = 0; i < SYM_PYTHON_EVALUATOR_CALLS && layout->evaluator_calls[i]; i++)
		layout->evaluator_calls[i] += bias;
	return 0;
}

static int look_into(const struct search *search, const struct maps_entry *entry)
{
	struct sym_python_layout layout;
	struct elf_file *f;
	int fd = open_mapping(search, entry), err;

	if (fd < 0)
		return fd;
	err = elf_file_open(fd, false, MAX_SECTION_BYTES, &f);
	if (err)
		return err;
	err = python_file_layout(f, &layout);
	if (!err)
		err = relocate(f, entry, &layout);
	if (!err)
		*search->out = layout;
	elf_file_close(f);
	return err;
}

/* Ends the reading of maps with 1 once a Python has been found. */
static int look_at(const struct maps_entry *entry, void *context)
{
	struct search *search = context;
	int err;

	if (!entry->executable || !entry->inode || search->files >= MAX_FILES)
		return 0;
	if (!sym_python_may_be(entry->path) && !is_program(search, entry))
		return 0;
	search->files++;
	err = look_into(search, entry);
	if (!err)
		return 1;
	if (search->result != -EAGAIN && (err == -ENOTSUP || (err == -EACCES && search->result != -ENOTSUP) ||
	                                  err == -ENOMEM || err == -EAGAIN))
		search->result = err;
	return 0;
}

/* By what is in memory of the file, as its file system may not answer. */
static void note_program(struct search *search)
{
	char path[PATH_MAX];
	struct statx st;

	snprintf(path, sizeof(path), "%s/%d/exe", search->proc, (int)search->pid);
	if (!statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_INO, &st))
		search->program_inode = st.stx_ino;
}

int sym_python_find(pid_t pid, const char *proc, struct sym_python_layout *out)
{
	struct search search = { .proc = proc ? proc : "/proc", .pid = pid, .result = -ENOENT, .out = out };
	char path[PATH_MAX];
	int fd, err;

	note_program(&search);
	snprintf(path, sizeof(path), "%s/%d/maps", search.proc, (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	err = maps_read(fd, look_at, &search, NULL);
	close(fd);
	if (err < 0)
		return err;
	return err ? 0 : search.result;
}
