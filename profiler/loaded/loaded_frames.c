/* Classifies the frames of a stack: kernel, runtime, library or own code; and prints them. */

#include "profiler/loaded/loaded_frames.h"

#include <limits.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/format/frame_names.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Longer paths are shown by their last two parts. */
#define PATH_SHOWN_MAX 40

/* --- what a frame is -------------------------------------------------------------------------------------- */

/* The kernel's mapping is [kernel.kallsyms]_stext, a module's [ext4]; those of user space in brackets are these. */
static bool is_kernel(const char *file)
{
	static const char *const others[] = { "[python]", "[vdso]", "[vsyscall]", "[heap]", "[stack]" };

	if (file[0] != '[' || !strncmp(file, "[anon", 5))
		return false;
	for (size_t i = 0; i < COUNT(others); i++)
		if (!strcmp(file, others[i]))
			return false;
	return true;
}

static bool has_any(const char *text, const char *const *parts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strstr(text, parts[i]))
			return true;
	return false;
}

static bool is_python_library(const char *file)
{
	static const char *const parts[] = { "/site-packages/", "/dist-packages/", "/lib/python",
		                             "/lib64/python" };

	return !file || !*file || file[0] == '<' || has_any(file, parts, COUNT(parts));
}

/* By the name of the file that is mapped: what comes with the system. */
static bool is_native_library(const char *file)
{
	static const char *const names[] = { "ld-linux", "ld.so",    "libc.so",   "libc-",       "libpthread",
		                             "libm.so",  "libdl",    "libstdc++", "libgcc_s",    "librt",
		                             "libaio",   "liburing", "libpython", "libstalltag", "[vdso]" };
	const char *slash = file ? strrchr(file, '/') : NULL, *base = slash ? slash + 1 : file;

	for (size_t i = 0; base && i < COUNT(names); i++)
		if (!strncmp(base, names[i], strlen(names[i])))
			return true;
	return !file;
}

/* Inlined from a header of the system, say pread() of <unistd.h>. */
static bool is_system_header(const struct profile_frame *frame)
{
	return frame && frame->file &&
	       (!strncmp(frame->file, "/usr/include/", 13) || !strncmp(frame->file, "/usr/lib/", 9));
}

static void classify(struct loaded_frame *frame, const struct profile *profile)
{
	const struct profile_mapping_view *mapping = profile_get_mapping(profile, frame->location.mapping_id);
	const char *file = mapping ? mapping->file : NULL;

	frame->kind = LOADED_FRAME_NATIVE;
	frame->inlined =
	        frame->frame && frame->frame + 1 != frame->location.frames + frame->location.n_frames;
	frame->module = false;
	frame->library = is_native_library(file) || is_system_header(frame->frame);
	if (file && is_kernel(file)) {
		frame->kind = LOADED_FRAME_KERNEL;
		frame->module = strncmp(file, "[kernel", 7) != 0;
	} else if (file && !strcmp(file, "[python]")) {
		frame->kind = LOADED_FRAME_PYTHON;
		frame->library = is_python_library(frame->frame ? frame->frame->file : NULL);
	}
}

static void add(struct loaded_stack *stack, const struct profile *profile,
                const struct profile_location_view *location, const struct profile_frame *frame)
{
	struct loaded_frame *to;

	if (stack->n == LOADED_FRAMES_MAX)
		return;
	to = &stack->frames[stack->n++];
	to->location = *location;
	to->frame = frame;
	classify(to, profile);
	stack->has_python |= to->kind == LOADED_FRAME_PYTHON;
}

void loaded_stack_get(struct loaded_stack *stack, const struct profile *profile,
                      const struct profile_sample_view *view)
{
	struct profile_location_view location;

	stack->n = 0;
	stack->has_python = false;
	for (size_t i = 0; i < view->n_locations; i++) {
		if (!profile_get_location(profile, view->location_ids[i], &location))
			continue;
		for (size_t f = 0; f < location.n_frames; f++)
			add(stack, profile, &location, &location.frames[f]);
		if (!location.n_frames)
			add(stack, profile, &location, NULL);
	}
}

bool loaded_stack_folds(const struct loaded_stack *stack, size_t index)
{
	return stack->has_python && stack->frames[index].kind == LOADED_FRAME_NATIVE;
}

static bool says_not_copied(const struct profile_frame *frame)
{
	return frame && frame->function && !strcmp(frame->function, FRAME_NOT_COPIED);
}

static bool says_gil(const struct profile_frame *frame)
{
	return frame && frame->function && !strcmp(frame->function, FRAME_GIL);
}

bool loaded_stack_gil(const struct loaded_stack *stack)
{
	for (size_t i = 0; i < stack->n; i++)
		if (says_gil(stack->frames[i].frame))
			return true;
	return false;
}

bool loaded_stack_not_copied(const struct profile *profile, const struct profile_sample_view *view)
{
	struct profile_location_view location;

	return view->n_locations &&
	       profile_get_location(profile, view->location_ids[view->n_locations - 1], &location) &&
	       location.n_frames && says_not_copied(location.frames);
}

size_t loaded_stack_own(const struct loaded_stack *stack)
{
	size_t fallback = stack->n;

	for (size_t i = 0; i < stack->n; i++) {
		const struct loaded_frame *frame = &stack->frames[i];

		if (frame->kind == LOADED_FRAME_KERNEL || loaded_stack_folds(stack, i))
			continue;
		if (!frame->library || says_not_copied(frame->frame))
			return i;
		if (fallback == stack->n && !says_gil(frame->frame))
			fallback = i;
	}
	return fallback < stack->n ? fallback : 0;
}

/* --- text ------------------------------------------------------------------------------------------------- */

static const char *working_dir(void)
{
	static char path[PATH_MAX];

	if (!*path && !getcwd(path, sizeof(path)))
		snprintf(path, sizeof(path), "/");
	return path;
}

/* Where the last two parts of the path begin. */
static const char *last_two_parts(const char *path)
{
	const char *at = path + strlen(path);

	for (int slashes = 0; at > path; at--)
		if (*at == '/' && ++slashes == 2)
			return at + 1;
	return path;
}

static void shorten_path(char *text, size_t size, const char *path)
{
	const char *here = working_dir();
	size_t length = strlen(here);

	if (length > 1 && !strncmp(path, here, length) && path[length] == '/')
		path += length + 1;
	if (strlen(path) <= PATH_SHOWN_MAX)
		snprintf(text, size, "%s", path);
	else
		snprintf(text, size, "…/%s", last_two_parts(path));
}

void loaded_address_text(char *text, size_t size, const struct profile *profile,
                         const struct profile_location_view *location)
{
	const struct profile_mapping_view *mapping = profile_get_mapping(profile, location->mapping_id);

	if (mapping && mapping->file)
		snprintf(text, size, "[0x%" PRIx64 " in %s]", location->address, mapping->file);
	else
		snprintf(text, size, "[0x%" PRIx64 "]", location->address);
}

void loaded_frame_text(char *text, size_t size, const struct profile *profile,
                       const struct loaded_frame *frame)
{
	const struct profile_frame *what = frame->frame;
	const char *name = what && what->function && *what->function ? what->function : "[unnamed]";
	char file[PATH_MAX];

	if (!what) {
		loaded_address_text(text, size, profile, &frame->location);
		return;
	}
	if (!what->file || !*what->file) {
		snprintf(text, size, "%s", name);
		return;
	}
	shorten_path(file, sizeof(file), what->file);
	if (what->line)
		snprintf(text, size, "%s %s:%u", name, file, what->line);
	else
		snprintf(text, size, "%s %s", name, file);
}

/* --- the kernel's part ------------------------------------------------------------------------------------ */

/* Frames that are in every stack of a sleep or a system call. */
static bool is_plumbing(const char *name)
{
	static const char *const names[] = { "schedule", "__schedule", "io_schedule", "schedule_timeout",
		                             "do_syscall_64" };

	for (size_t i = 0; i < COUNT(names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return !strncmp(name, "entry_", 6) || !strncmp(name, "ret_from_", 9);
}

/* What the kernel was entered for (the outermost frame says it best); NULL: this frame does not say. */
static const char *entry_of(const char *name)
{
	static const char *const prefixes[] = { "__x64_sys_", "__ia32_sys_", "__arm64_sys_", "__se_sys_",
		                                "ksys_" };

	for (size_t i = 0; i < COUNT(prefixes); i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return name + strlen(prefixes[i]);
	return strstr(name, "page_fault") ? "page fault" : NULL;
}

#define KERNEL_FRAMES_SHOWN 3

void loaded_stack_kernel_text(char *text, size_t size, const struct loaded_stack *stack)
{
	char inner[LOADED_FRAME_TEXT_MAX] = "";
	const char *entry = NULL;
	size_t shown = 0, used = 0;

	for (size_t i = 0; i < stack->n && stack->frames[i].kind == LOADED_FRAME_KERNEL; i++) {
		const struct profile_frame *frame = stack->frames[i].frame;
		const char *name = frame ? frame->function : NULL;

		if (!name)
			continue;
		entry = entry_of(name) ? entry_of(name) : entry;
		if (is_plumbing(name) || entry_of(name) || shown == KERNEL_FRAMES_SHOWN ||
		    used + 1 >= sizeof(inner))
			continue;
		used += (size_t)snprintf(inner + used, sizeof(inner) - used, "%s%s", shown++ ? " < " : "",
		                         name);
	}
	if (entry && !strchr(entry, ' '))
		snprintf(text, size, "%s(): %s", entry, inner);
	else
		snprintf(text, size, "%s%s%s", entry ? entry : "", entry ? ": " : "", inner);
}
