/* Chooses which files are summed and when, and judges their sums. */

#include "profiler/session/checkpoint_sums.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "profiler/process/mounted_paths.h"
#include "profiler/session/asker_process.h"
#include "symbolizer/base/clock.h"

/* What comes back with an answer: of which file it is. */
struct context {
	struct abi_file_event event; /* its address, number, generation, device */
	uint64_t round;
};

_Static_assert(sizeof(struct context) <= ASKER_PROCESS_CONTEXT_MAX, "it comes back with the answer");

static void forget(struct saved_sum *sum, enum checkpoint_sum state)
{
	*sum = (struct saved_sum){ .state = state, .round = sum->round + 1 };
}

void checkpoint_sums_follow(struct saved_files *files, struct saved_file *file,
                            const struct abi_file_event *event)
{
	if (!files->asker)
		return;
	if (event->kind == ABI_FILE_WROTE && file->sum.state) {
		forget(&file->sum, CHECKPOINT_NO_SUM);
	} else if (event->kind == ABI_FILE_CLOSED && saved_file_has_data(file)) {
		forget(&file->sum, CHECKPOINT_SUM_WAITING);
		file->sum.due_ns = event->end_ns + CHECKPOINT_SUM_REST_NS;
	}
}

/* --- asking --------------------------------------------------------------------------------------------- */

static int ask(struct saved_files *files, const struct saved_file *file)
{
	const struct context context = { .event = { .inode = file->address,
		                                    .number = file->number,
		                                    .generation = file->generation,
		                                    .dev = file->dev },
		                         .round = file->sum.round };
	char theirs[PATH_MAX], ours[PATH_MAX], seen[ASKER_PROCESS_PATH_MAX];
	const struct file_question question = {
		.kind = FILE_SUM,
		.file = { .number = file->number, .dev = file->dev, .generation = file->generation },
		.paths = { seen, ours },
		.context = &context,
		.context_size = sizeof(context)
	};

	mounted_paths_of(files->paths, file->tgid, file->dev, file->place, theirs, sizeof(theirs));
	mounted_paths_of(files->paths, (uint32_t)getpid(), file->dev, file->place, ours, sizeof(ours));
	snprintf(seen, sizeof(seen), "/proc/%u/root%s", file->tgid, theirs);
	return asker_process_ask(files->asker, &question);
}

static void tell(struct saved_file *file, enum checkpoint_sum state)
{
	file->sum.state = state;
	file->order.sums.updated_ns = monotonic_ns();
	file->told = false;
}

static void refuse(struct saved_files *files, struct saved_file *file)
{
	files->sums_refused++;
	tell(file, CHECKPOINT_SUM_REFUSED);
}

void checkpoint_sums_tick(struct saved_files *files, uint64_t now_ns)
{
	struct saved_file *file, *next;
	bool ended;

	if (!files->asker)
		return;
	ended = asker_process_has_ended(files->asker);
	HASH_ITER (hh, files->files, file, next) {
		if (ended && file->sum.state == CHECKPOINT_SUM_WAITING) {
			file->sum.due_ns = 0;
			refuse(files, file);
		}
		if (!file->sum.due_ns || file->sum.due_ns > now_ns)
			continue;
		file->sum.due_ns = 0;
		file->sum.renames = file->order.sums.renames;
		if (!file->place)
			tell(file, CHECKPOINT_SUM_UNREAD);
		else if (ask(files, file))
			refuse(files, file);
	}
}

size_t checkpoint_sums_waiting(const struct saved_files *files)
{
	const struct saved_file *file;
	size_t n = 0;

	for (file = files->files; file; file = file->hh.next)
		n += file->sum.state == CHECKPOINT_SUM_WAITING;
	return n;
}

/* --- answers -------------------------------------------------------------------------------------------- */

static void take_sum(struct saved_file *file, const struct file_sum *sum)
{
	enum checkpoint_sum state = CHECKPOINT_SUM_ALONE;

	memcpy(file->sum.sha256, sum->sha256, sizeof(sum->sha256));
	memcpy(file->sum.said, sum->said, sizeof(sum->said));
	if (*sum->said)
		state = strcmp(sum->said, sum->sha256) ? CHECKPOINT_SUM_DIFFERS : CHECKPOINT_SUM_MATCHES;
	tell(file, state);
}

void checkpoint_sums_answered(struct saved_files *files, const struct file_answer *answer)
{
	struct saved_file *file;
	struct context context;

	if (answer->context_size != sizeof(context))
		return;
	memcpy(&context, answer->context, sizeof(context));
	file = saved_files_find(files, &context.event);
	if (!file || file->sum.state != CHECKPOINT_SUM_WAITING || file->sum.round != context.round)
		return;
	if (answer->refused)
		refuse(files, file);
	else if (answer->result == FILE_SUM_TAKEN)
		take_sum(file, &answer->sum);
	else if (answer->result == FILE_SUM_CHANGED)
		tell(file, CHECKPOINT_SUM_CHANGED);
	else if (answer->result == FILE_SUM_GONE && file->sum.renames != file->order.sums.renames)
		file->sum.due_ns = monotonic_ns(); /* by its new name */
	else
		tell(file, CHECKPOINT_SUM_UNREAD);
}
