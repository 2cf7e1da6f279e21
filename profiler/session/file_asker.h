/* The inside of the process that asks file systems (asker_process.h), and the form of its questions: a head, its context, and texts with a
 * NUL behind each. Answers are a struct file_answer up to the end of its context. */
#ifndef STALLPROF_PROFILER_FILE_ASKER_H
#define STALLPROF_PROFILER_FILE_ASKER_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profiler/session/file_sum.h"

#define ASKER_PROCESS_CONTEXT_MAX 2048
#define ASKER_PROCESS_PATH_MAX    (PATH_MAX + 32) /* with /proc/PID/root in front */

enum file_question_kind {
	FILE_HAS_XATTR, /* has it that xattr? */
	FILE_ANSWERS,   /* does its file system answer, whatever it says? */
	FILE_SUM,       /* at low priority: its sha256 */
	FILE_QUESTIONS
};

struct file_answer {
	enum file_question_kind kind;
	bool refused; /* too many wait for that file system */
	bool has_xattr; /* FILE_HAS_XATTR, and `result` FILE_SUM_TAKEN: the file was found, or FILE_SUM_GONE: it was not */
	enum file_sum_result result;
	struct file_sum sum; /* FILE_SUM */
	size_t context_size;
	_Alignas(uint64_t) char context[ASKER_PROCESS_CONTEXT_MAX];
};

#define FILE_ASKER_TEXTS 3 /* the xattr's name, and two paths; "": there is none */

struct file_asker_head {
	uint32_t kind, context_size;
	struct file_identity file;
};

#define FILE_ASKER_MAX                                                                                       \
	(sizeof(struct file_asker_head) + ASKER_PROCESS_CONTEXT_MAX +                                        \
	 FILE_ASKER_TEXTS * ASKER_PROCESS_PATH_MAX)

/* A program that has this file in it, and is executed with this name as its only argument, is that process, before its main(). By the socket
 * FILE_ASKER_FD it sends a byte when it has begun, and answers what comes, until the other end is closed: threads may hang then. All signals
 * are blocked: those of the terminal, and of who ends a whole service, are for the profiler, at whose end this process ends. */
extern const char file_asker_name[];
#define FILE_ASKER_FD 3

#endif
