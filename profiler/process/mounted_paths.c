/* Finds where file systems are mounted in the lists of mounts of processes. */

#include "profiler/process/mounted_paths.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/base/clock.h"

#define KEPT    16
#define KEPT_NS 1000000000ULL

/* A mount that has a place of the file system: what lies below `root` there is seen below `point`. */
struct mount {
	char root[PATH_MAX], point[PATH_MAX];
};

struct mounted_paths {
	char proc[128];
	size_t next;
	struct {
		uint32_t pid, dev;
		uint64_t looked_ns;   /* 0: void */
		char place[PATH_MAX]; /* the folder that it was looked for */
		struct mount mount;
	} kept[KEPT];
};

struct mounted_paths *mounted_paths_new(const char *proc)
{
	struct mounted_paths *paths = calloc(1, sizeof(*paths));

	if (paths)
		snprintf(paths->proc, sizeof(paths->proc), "%s", proc ? proc : "/proc");
	return paths;
}

void mounted_paths_free(struct mounted_paths *paths)
{
	free(paths);
}

/* Copies the word at *line, in which "\040" stands for a space, and steps over it. False: there is none, or it is too long. */
static bool take_word(const char **line, char *to, size_t size)
{
	const char *word = *line + strspn(*line, " ");
	unsigned int octal;
	size_t n = 0;

	for (; *word && *word != ' ' && *word != '\n'; n++) {
		if (n + 1 >= size)
			return false;
		if (*word == '\\' && sscanf(word + 1, "%3o", &octal) == 1) {
			to[n] = (char)octal;
			word += 4;
		} else {
			to[n] = *word++;
		}
	}
	to[n] = '\0';
	*line = word;
	return n > 0;
}

/* What of `place`, which begins with a slash, is left behind `root`; NULL: it is not in there. */
static const char *below(const char *place, const char *root)
{
	size_t n = strcmp(root, "/") != 0 ? strlen(root) : 0;

	return !strncmp(place, root, n) && (!place[n] || place[n] == '/') ? place + n : NULL;
}

/* Takes the mount of the line if it has the place, and no more than the one that is known. */
static void take_line(const char *line, uint32_t dev, const char *place, struct mount *best)
{
	struct mount here;
	unsigned int major, minor;
	int n = 0;

	if (sscanf(line, "%*d %*d %u:%u %n", &major, &minor, &n) != 2 || !n || (major << 20 | minor) != dev)
		return;
	line += n;
	if (take_word(&line, here.root, sizeof(here.root)) &&
	    take_word(&line, here.point, sizeof(here.point)) && below(place, here.root) &&
	    strlen(here.root) >= strlen(best->root))
		*best = here;
}

static bool read_mounts(const struct mounted_paths *paths, const char *who, uint32_t dev, const char *place,
                        struct mount *best)
{
	char path[192], *line = NULL;
	size_t size = 0;
	FILE *file;

	best->root[0] = '\0';
	snprintf(path, sizeof(path), "%s/%s/mountinfo", paths->proc, who);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (getline(&line, &size, file) > 0)
		take_line(line, dev, place, best);
	free(line);
	fclose(file);
	return *best->root;
}

/* Where files of the folder are seen; NULL: nowhere. */
static const struct mount *mount_of(struct mounted_paths *paths, uint32_t pid, uint32_t dev,
                                    const char *folder)
{
	uint64_t now = monotonic_ns();
	char who[16];
	size_t i;

	for (i = 0; i < KEPT; i++)
		if (paths->kept[i].looked_ns && now - paths->kept[i].looked_ns < KEPT_NS &&
		    paths->kept[i].pid == pid && paths->kept[i].dev == dev &&
		    !strcmp(paths->kept[i].place, folder))
			return &paths->kept[i].mount;
	i = paths->next++ % KEPT;
	paths->kept[i].looked_ns = 0;
	snprintf(who, sizeof(who), "%u", pid);
	if (!read_mounts(paths, who, dev, folder, &paths->kept[i].mount) &&
	    !read_mounts(paths, "self", dev, folder, &paths->kept[i].mount))
		return NULL;
	paths->kept[i].looked_ns = now;
	paths->kept[i].pid = pid;
	paths->kept[i].dev = dev;
	snprintf(paths->kept[i].place, sizeof(paths->kept[i].place), "%s", folder);
	return &paths->kept[i].mount;
}

/* Files that are mounted themselves are taken for what their folder has. */
int mounted_paths_of(struct mounted_paths *paths, uint32_t pid, uint32_t dev, const char *place, char *path,
                     size_t size)
{
	char whole[PATH_MAX], folder[PATH_MAX], *slash;
	const struct mount *mount;

	*path = '\0';
	if ((size_t)snprintf(whole, sizeof(whole), "/%s", place) >= sizeof(whole))
		return -ENAMETOOLONG;
	memcpy(folder, whole, strlen(whole) + 1);
	slash = strrchr(folder, '/');
	slash[slash == folder] = '\0';
	mount = mount_of(paths, pid, dev, folder);
	if ((size_t)snprintf(path, size, "%s%s", mount && strcmp(mount->point, "/") != 0 ? mount->point : "",
	                     mount ? below(whole, mount->root) : whole) >= size) {
		*path = '\0';
		return -ENAMETOOLONG;
	}
	return mount ? 0 : -ENOENT;
}
