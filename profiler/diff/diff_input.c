/* Visits the windows of a file, a folder or a query. */

#include "profiler/diff/diff_input.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "profiler/diff/query_windows.h"
#include "profiler/loaded/loaded_folder.h"
#include "profiler/loaded/loaded_profiles.h"

struct visit {
	diff_window_visitor visit;
	void *context;
	struct diff_input_news *news;
	char *err;
	size_t err_size;
};

static int visit_window(struct visit *visit, const struct loaded_profiles *window, bool lone)
{
	visit->news->windows++;
	return visit->visit(visit->context, window, lone, visit->err, visit->err_size);
}

static int visit_file(struct visit *visit, const char *path)
{
	struct loaded_profiles window;
	char *paths[] = { (char *)path };
	int result = loaded_profiles_load(&window, paths, 1, visit->err, visit->err_size);

	if (result)
		return result;
	result = visit_window(visit, &window, true);
	loaded_profiles_release(&window);
	return result;
}

static int visit_folder(struct visit *visit, const char *path)
{
	struct loaded_folder folder;
	int result = loaded_folder_list(&folder, path, visit->err, visit->err_size);

	if (result)
		return result;
	for (size_t i = 0; i < folder.count && !result; i++) {
		struct loaded_profiles window;

		if (loaded_profiles_load(&window, &folder.paths[i], 1, visit->err, visit->err_size)) {
			if (!visit->news->unreadable_files++)
				snprintf(visit->news->unreadable, sizeof(visit->news->unreadable), "%s",
				         visit->err);
			continue;
		}
		result = visit_window(visit, &window, folder.count == 1);
		loaded_profiles_release(&window);
	}
	loaded_folder_release(&folder);
	if (!result && !visit->news->windows) {
		snprintf(visit->err, visit->err_size, "%s", visit->news->unreadable);
		result = -EBADMSG;
	}
	return result;
}

static int visit_profile(struct visit *visit, const struct profile *profile)
{
	struct loaded_profiles window;
	int result = loaded_profiles_borrow(&window, profile, visit->err, visit->err_size);

	if (result)
		return result;
	result = visit_window(visit, &window, false);
	loaded_profiles_release(&window);
	return result;
}

static int visit_query(struct visit *visit, const struct diff_input *input)
{
	int64_t now_ms = (int64_t)time(NULL) * 1000;
	struct query_windows windows;
	struct diff_query query;
	int result = diff_query_parse(&query, input->place, now_ms, visit->err, visit->err_size);

	if (result)
		return result;
	result = query_windows_fetch(&windows, &query, input->access, input->type, visit->err,
	                             visit->err_size);
	diff_query_release(&query);
	if (result)
		return result;
	for (size_t i = 0; i < windows.count && !result; i++)
		result = visit_profile(visit, windows.profile[i]);
	query_windows_release(&windows);
	return result;
}

int diff_input_visit(const struct diff_input *input, diff_window_visitor visitor, void *context,
                     struct diff_input_news *news, char *err, size_t err_size)
{
	struct visit visit = {
		.visit = visitor, .context = context, .news = news, .err = err, .err_size = err_size
	};
	struct stat info;

	*news = (struct diff_input_news){ .windows = 0 };
	if (diff_query_is(input->place))
		return visit_query(&visit, input);
	if (!stat(input->place, &info) && S_ISDIR(info.st_mode))
		return visit_folder(&visit, input->place);
	return visit_file(&visit, input->place);
}
