/*
 * main() of a fuzz target without libFuzzer: runs it on each file given, and on each file in each folder given. So
 * `make test` replays the seeds with any compiler.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_BYTES_MAX (16u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The input lies in memory of just its size, so that a sanitizer sees a read beyond its end. */
static int replay_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	uint8_t *data = NULL;
	struct stat st;
	int err = -EIO;

	if (!file || fstat(fileno(file), &st) || st.st_size > FILE_BYTES_MAX)
		goto out;
	data = malloc(st.st_size ? st.st_size : 1);
	if (!data || fread(data, 1, st.st_size, file) != (size_t)st.st_size)
		goto out;
	LLVMFuzzerTestOneInput(data, st.st_size);
	err = 0;
out:
	if (err)
		fprintf(stderr, "%s cannot be read: %s\n", path, strerror(errno));
	free(data);
	if (file)
		fclose(file);
	return err;
}

/* Files replayed, or -errno. */
static int replay(const char *path)
{
	struct dirent **entries;
	int n = scandir(path, &entries, NULL, alphasort), i, done = 0, err = 0;
	char inside[4096];

	if (n < 0)
		return replay_file(path) ? -EIO : 1;
	for (i = 0; i < n; i++) {
		snprintf(inside, sizeof(inside), "%s/%s", path, entries[i]->d_name);
		if (entries[i]->d_name[0] != '.' && !err) {
			err = replay_file(inside);
			done++;
		}
		free(entries[i]);
	}
	free(entries);
	return err ? err : done;
}

int main(int argc, char **argv)
{
	int i, done, total = 0;

	for (i = 1; i < argc; i++) {
		done = replay(argv[i]);
		if (done < 0)
			return 1;
		total += done;
	}
	printf("%d inputs\n", total);
	return total ? 0 : 1;
}
