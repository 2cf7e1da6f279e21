/* Opens the tables of tagged files, and passes events and answers on to them. */

#include "profiler/session/session_state.h"

#include <errno.h>

#include "profiler/config/config.h"
#include "profiler/process/mounted_paths.h"
#include "profiler/session/checkpoint_files.h"
#include "profiler/session/asker_process.h"
#include "profiler/session/file_xattrs.h"

/* The index of the entry that tags files by an xattr; as many as there are: none does. */
static size_t xattr_entry(const struct config_tags *tags)
{
	size_t i = 0;

	while (i < tags->files_count && !config_files_xattr(&tags->files[i]))
		i++;
	return i;
}

void session_files_begin(struct session *session)
{
	const struct config_tags *tags = &session->config->tags;

	if (xattr_entry(tags) == tags->files_count && !config_says_true(tags->checkpoint_sha256))
		return;
	session->asker = asker_process_new();
	if (!session->asker)
		session->say("no file is looked at for its xattr or sha256: cannot start a process for that");
}

int session_files_open(struct session *session)
{
	const struct config_tags *tags = &session->config->tags;
	struct checkpoint_files_deps deps = { .entries = tags->files,
		                              .n_entries = tags->files_count,
		                              .classes = session->classes,
		                              .devices = session->devices };
	size_t i = xattr_entry(tags);

	if (!tags->files_count)
		return 0;
	if (config_says_true(tags->checkpoint_sha256))
		deps.asker = session->asker;
	session->paths = deps.paths = mounted_paths_new(NULL);
	session->checkpoints = session->paths ? checkpoint_files_new(&deps) : NULL;
	session->deps.checkpoints = session->checkpoints;
	if (!session->checkpoints)
		return -ENOMEM;
	if (i == tags->files_count)
		return 0;
	session->xattrs = file_xattrs_new(config_files_xattr(&tags->files[i]), (uint32_t)i, session->tracer,
	                                  session->paths, session->asker);
	return session->xattrs ? 0 : -ENOMEM;
}

void session_files_close(struct session *session)
{
	file_xattrs_free(session->xattrs);
	checkpoint_files_free(session->checkpoints);
	mounted_paths_free(session->paths);
	asker_process_free(session->asker);
}

void session_files_on_event(void *ctx, const struct abi_file_event *event)
{
	struct session *session = ctx;

	if (event->kind == ABI_FILE_ASKED)
		file_xattrs_asked(session->xattrs, event);
	else if (session->checkpoints)
		checkpoint_files_add(session->checkpoints, event);
}

/* One that has the xattr is a tagged file from now on, which may be written to already. */
static void take_answer(struct session *session, const struct file_answer *answer)
{
	struct abi_file_named opened;

	if (answer->kind == FILE_SUM)
		checkpoint_files_answered(session->checkpoints, answer);
	else if (file_xattrs_answered(session->xattrs, answer, &opened) && session->checkpoints)
		checkpoint_files_add(session->checkpoints, &opened.event);
}

/* It was killed, as by the OOM killer. What is not looked at from now on is counted. */
static void tell_end_of_asker(struct session *session)
{
	if (session->asker_end_told || !session->asker || !asker_process_has_ended(session->asker))
		return;
	session->asker_end_told = true;
	session->say(
	        "the process that looks at files for their xattr and sha256 has ended: no more files are "
	        "looked at until stallprof is started anew (the agent: reloaded)");
}

void session_files_tick(struct session *session, uint64_t now_ns, bool all)
{
	struct file_answer answer;

	while (session->asker && asker_process_take(session->asker, &answer))
		take_answer(session, &answer);
	tell_end_of_asker(session);
	checkpoint_files_tick(session->checkpoints, now_ns);
	if (all)
		file_xattrs_tick(session->xattrs);
}

int session_files_describe(struct session *session, struct stamp *stamp)
{
	int err = checkpoint_files_describe(session->checkpoints, stamp);

	return err ? err : file_xattrs_describe(session->xattrs, stamp);
}

size_t session_unsummed_files(const struct session *session)
{
	return session->asker && !asker_process_has_ended(session->asker)
	               ? checkpoint_files_unsummed(session->checkpoints)
	               : 0;
}
