/* Finds the Python in a process's mappings. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbolizer/base/file_gate.h"
#include "symbolizer/base/maps.h"
#include "symbolizer/python/python_file.h"
#include "symbolizer/base/regular_file.h"

/* A process can map any number of files called python, of any size: what they cost is bounded. */
#define MAX_SECTION_BYTES ((size_t)16 << 20)
#define MAX_FILES         8

#define FILES_KNOWN 16

/* What a look into a file said, for the processes that map it later. */
struct known_file {
	dev_t dev;
	ino_t inode;
	off_t size;
	struct timespec changed;
	uint64_t offset, linked;         /* where the mapping begins, in the file and as ELF address */
	int err;                         /* 0, -ENOENT or -ENOTSUP, which stay */
	struct sym_python_layout layout; /* with ELF addresses */
	uint64_t used;                   /* which use the last one was; 0: it is no file */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct known_file known[FILES_KNOWN];
static uint64_t uses;

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
static int open_mapping(const struct search *search, const struct maps_entry *entry, struct stat *st)
{
	char path[PATH_MAX];
	int fd, n;

	snprintf(path, sizeof(path), "%s/%d/map_files/%llx-%llx", search->proc, (int)search->pid,
	         (unsigned long long)entry->start, (unsigned long long)entry->end);
	fd = regular_file_open_stat("", path, 0, st);
	if (fd >= 0 || fd == -EAGAIN)
		return fd;
	n = snprintf(path, sizeof(path), "%s/%d/root%s", search->proc, (int)search->pid, entry->path);
	if (n < 0 || (size_t)n >= sizeof(path) || path_has_dotdot(entry->path))
		return -ENAMETOOLONG;
	fd = regular_file_open_stat("", path, 0, st);
	if (fd >= 0 && st->st_ino != entry->inode) {
		close(fd);
		return -ENOENT;
	}
	return fd;
}

/* From ELF addresses to those at which a mapping has them that begins there. */
static void relocate(const struct known_file *file, uint64_t start, struct sym_python_layout *layout)
{
	uint64_t bias = start - file->linked;
	size_t i;

	*layout = file->layout;
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
}

/* Whether the file has been looked into since it was changed; if so, *file is what that said. */
static bool recall(struct known_file *file)
{
	bool found = false;
	size_t i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < FILES_KNOWN && !found; i++) {
		struct known_file *k = &known[i];

		found = k->used && k->dev == file->dev && k->inode == file->inode && k->size == file->size &&
		        k->changed.tv_sec == file->changed.tv_sec &&
		        k->changed.tv_nsec == file->changed.tv_nsec && k->offset == file->offset;
		if (!found)
			continue;
		k->used = ++uses;
		*file = *k;
	}
	pthread_mutex_unlock(&lock);
	return found;
}

/* In place of the one that was not used for longest. */
static void remember(struct known_file *file)
{
	struct known_file *oldest = known;
	size_t i;

	pthread_mutex_lock(&lock);
	for (i = 1; i < FILES_KNOWN; i++)
		if (known[i].used < oldest->used)
			oldest = &known[i];
	file->used = ++uses;
	*oldest = *file;
	pthread_mutex_unlock(&lock);
}

/* Takes `fd`. */
static void read_layout(int fd, const struct stat *st, struct known_file *file)
{
	struct elf_file *f;

	file->err = elf_file_open_known(fd, st, MAX_SECTION_BYTES, &f);
	if (file->err)
		return;
	file->err = python_file_layout(f, &file->layout);
	if (!file->err && !elf_file_address(f, file->offset, &file->linked))
		file->err = -EBADMSG;
	elf_file_close(f);
	if (!file->err || file->err == -ENOENT || file->err == -ENOTSUP)
		remember(file);
}

static int look_into(const struct search *search, const struct maps_entry *entry)
{
	struct known_file file;
	struct stat st;
	int fd = open_mapping(search, entry, &st);

	if (fd < 0)
		return fd;
	file = (struct known_file){ .dev = st.st_dev,
		                    .inode = st.st_ino,
		                    .size = st.st_size,
		                    .changed = st.st_mtim,
		                    .offset = entry->offset };
	if (recall(&file))
		file_gate_close(fd);
	else
		read_layout(fd, &st, &file);
	if (!file.err)
		relocate(&file, entry->start, search->out);
	return file.err;
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
