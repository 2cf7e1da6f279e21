/* The sha256 of a file's content, as who reads it gets it, and what an xattr of the file says that it is. */
#ifndef STALLPROF_PROFILER_FILE_SUM_H
#define STALLPROF_PROFILER_FILE_SUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FILE_SUM_XATTR "user.ai.checkpoint"
#define FILE_SUM_TEXT  65 /* 64 hexadecimal digits in lower case and a NUL */

/* The file that is meant: by its number, and the device or, where a file system shows others, the generation. */
struct file_identity {
	uint64_t number;
	uint32_t dev; /* as the kernel keeps it: major << 20 | minor */
	uint32_t generation;
};

enum file_sum_result {
	FILE_SUM_TAKEN,
	FILE_SUM_CHANGED,    /* it was written to while it was read */
	FILE_SUM_GONE,       /* the path leads to no file, or to another */
	FILE_SUM_UNREADABLE, /* `error` says why */
};

struct file_sum {
	char sha256[FILE_SUM_TEXT];
	char said
	        [FILE_SUM_TEXT]; /* by FILE_SUM_XATTR, once the file was read; "": it has none, or holds no sum */
	int error;               /* errno */
};

/* Reads the whole file, which may take as long as it likes. Pages that were not in memory before are not kept there. Only with
 * FILE_SUM_TAKEN is there a sum. */
enum file_sum_result file_sum_take(const char *path, const struct file_identity *identity,
                                   struct file_sum *sum);

/* Whether a value of the xattr holds a sum, which is copied to `sum`: "sha256:" and 64 hexadecimal digits, or these alone, with blanks,
 * line ends or a NUL behind them. */
bool file_sum_parse(const char *value, size_t size, char sum[FILE_SUM_TEXT]);

#endif
