/* The table of settings with their defaults and ranges, and the checks of their values. */

#include "profiler/config/config_settings.h"

#include <string.h>

#include "profiler/config/config.h"
#include "profiler/config/listen_address.h"
#include "profiler/config/symbol_names.h"

#define MIB (1024ull * 1024)
#define GIB (1024 * MIB)

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

bool config_number(const char *text, uint64_t *number)
{
	uint64_t sum = 0;

	if (!is_digit(*text) || (*text == '0' && text[1]))
		return false;
	for (; is_digit(*text); text++)
		if (__builtin_mul_overflow(sum, 10u, &sum) ||
		    __builtin_add_overflow(sum, (uint64_t)(*text - '0'), &sum))
			return false;
	*number = sum;
	return !*text;
}

bool config_line_passes(const char *value)
{
	size_t length = strlen(value);

	for (size_t i = 0; i < length; i++)
		if ((unsigned char)value[i] < 0x20 || value[i] == 0x7f)
			return false;
	return length >= 1 && length <= 1024;
}

static bool is_name(const char *name)
{
	if (!*name || is_digit(*name) || strlen(name) > 1024)
		return false;
	for (; *name; name++)
		if (!is_digit(*name) && *name != '_' && !(*name >= 'a' && *name <= 'z') &&
		    !(*name >= 'A' && *name <= 'Z'))
			return false;
	return true;
}

bool config_label_name_passes(const char *name)
{
	static const char *const ours[] = {
		"service_name",   "stall",    "ai_tag",   "device",           "span_id",
		"trace_id",       "driver",   "timeline", "controller_state", "woken_by",
		"pool",           "holds_up", "worker",   "inherited_stall",  "inherited_device",
		"inherited_from",
	};

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		if (!strcmp(name, ours[i]))
			return false;
	return is_name(name) && strncmp(name, "__", 2) != 0;
}

static bool url_passes(const char *value)
{
	size_t scheme = !strncmp(value, "http://", 7) ? 7 : !strncmp(value, "https://", 8) ? 8 : 0;
	size_t host = scheme ? strcspn(value + scheme, "/?#") : 0;

	return host && config_line_passes(value) && !strchr(value, ' ') && !memchr(value + scheme, '@', host);
}

/* As DEBUGINFOD_URLS has them. */
static bool urls_pass(const char *value)
{
	char url[1025];
	size_t len;

	for (; *value; value += len) {
		value += strspn(value, " ");
		len = strcspn(value, " ");
		if (len >= sizeof(url))
			return false;
		memcpy(url, value, len);
		url[len] = 0;
		if (len && !url_passes(url))
			return false;
	}
	return true;
}

static bool path_passes(const char *value)
{
	return config_line_passes(value) && *value == '/';
}

static bool cache_passes(const char *value)
{
	return path_passes(value) || !strcmp(value, CONFIG_NO_CACHE);
}

static bool names_pass(const char *value)
{
	return symbol_names_set(value, NULL);
}

bool config_says_true(const char *value)
{
	return strcmp(value, "true") == 0;
}

static bool truth_passes(const char *value)
{
	return config_says_true(value) || strcmp(value, "false") == 0;
}

/* It goes over the wire as user:password. */
static bool user_passes(const char *value)
{
	return config_line_passes(value) && !strchr(value, ':');
}

static bool waits_pass(const char *text)
{
	return !strcmp(text, CONFIG_WAITS_AUTO) || !strcmp(text, CONFIG_WAITS_LONG) ||
	       !strcmp(text, CONFIG_WAITS_NONE);
}

static bool format_passes(const char *text)
{
	static const char *const formats[] = { "text", "markdown", "json", "html" };

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (!strcmp(text, formats[i]))
			return true;
	return false;
}

static bool address_passes(const char *text)
{
	struct listen_address address;

	return listen_address_parse(text, &address);
}

#define PATH_ALLOWED "an absolute path"

#define TEXT(in, name, field, initial, check, say)                                                           \
	{                                                                                                    \
		.section = in, .key = name, .offset = offsetof(struct config, field), .text = initial,       \
		.passes = check, .allowed = say                                                              \
	}
#define NUMBER(in, name, field, initial, from, to, ...)                                                      \
	{                                                                                                    \
		.section = in, .key = name, .offset = offsetof(struct config, field), .number = initial,     \
		.low = from, .high = to, __VA_ARGS__                                                         \
	}

const struct config_setting config_settings[] = {
	TEXT(SECTION_TOP, "service_name", service_name, "stallprof", config_line_passes, CONFIG_LINE_ALLOWED),
	NUMBER(SECTION_TOP, "window_seconds", window_seconds, 10, 10, 3600),

	TEXT(SECTION_PUSH, "url", push.url, "", url_passes,
	     "http://HOST… or https://HOST…, without user name or password"),
	TEXT(SECTION_PUSH, "tenant", push.tenant, "", config_line_passes, CONFIG_LINE_ALLOWED),
	TEXT(SECTION_PUSH, "basic_user", push.basic_user, "", user_passes, "a user name without ':'"),
	TEXT(SECTION_PUSH, "basic_password_file", push.basic_password_file, "", path_passes, PATH_ALLOWED),
	TEXT(SECTION_PUSH, "bearer_token_file", push.bearer_token_file, "", path_passes, PATH_ALLOWED),
	NUMBER(SECTION_PUSH, "timeout_seconds", push.timeout_seconds, 30, 1, 600),
	TEXT(SECTION_PUSH, "spool", push.spool, "", path_passes, PATH_ALLOWED),
	NUMBER(SECTION_PUSH, "spool_max_bytes", push.spool_max_bytes, 256 * MIB, MIB, 1024 * GIB),

	TEXT(SECTION_OUTPUT, "directory", output.directory, "", path_passes, PATH_ALLOWED),
	NUMBER(SECTION_OUTPUT, "max_bytes", output.max_bytes, 1 * GIB, MIB, UINT64_MAX, .or_zero = true),

	TEXT(SECTION_OUTPUT, "reports", output.reports, "", path_passes, PATH_ALLOWED),
	TEXT(SECTION_OUTPUT, "report_format", output.report_format, "markdown", format_passes,
	     "text, markdown, json or html"),
	NUMBER(SECTION_OUTPUT, "reports_max_bytes", output.reports_max_bytes, 16 * MIB, 64 * 1024, UINT64_MAX,
	       .or_zero = true),
	NUMBER(SECTION_OUTPUT, "reports_rest_seconds", output.reports_rest_seconds, 30, 1, 86400),

	TEXT(SECTION_SCRAPE, "listen", scrape.listen, "", address_passes, LISTEN_ADDRESS_ALLOWED),
	TEXT(SECTION_SCRAPE, "bearer_token_file", scrape.bearer_token_file, "", path_passes, PATH_ALLOWED),

	TEXT(SECTION_TAGS, "checkpoint_sha256", tags.checkpoint_sha256, "false", truth_passes,
	     "true or false"),
	NUMBER(SECTION_TAGS, "max_classes", tags.max_classes, 64, 1, 1000),

	NUMBER(SECTION_SAMPLING, "threshold_ns", sampling.threshold_ns, 100000, 1000, 60000000000),
	NUMBER(SECTION_SAMPLING, "budget_bytes_per_second", sampling.budget_bytes_per_second, 1 * MIB,
	       64 * 1024, GIB, .or_zero = true),
	NUMBER(SECTION_SAMPLING, "cpu_hz", sampling.cpu_hz, 99, 1, 1000, .or_zero = true),
	NUMBER(SECTION_SAMPLING, "oncpu_hz", sampling.oncpu_hz, 0, 1, 1000, .or_zero = true),
	NUMBER(SECTION_SAMPLING, "dma_threshold_ns", sampling.dma_threshold_ns, 20000, 0, 60000000000),
	NUMBER(SECTION_SAMPLING, "min_duration_ns", sampling.min_duration_ns, 0, 0, 60000000000),
	NUMBER(SECTION_SAMPLING, "stack_copy_bytes", sampling.stack_copy_bytes, 65536, 1024, 65536),
	NUMBER(SECTION_SAMPLING, "max_stalled_threads", sampling.max_stalled_threads, 256, 1, 65536),
	NUMBER(SECTION_SAMPLING, "ring_bytes", sampling.ring_bytes, 16 * MIB, 256 * 1024, GIB,
	       .power_of_two = true),
	TEXT(SECTION_SAMPLING, "waits", sampling.waits, CONFIG_WAITS_AUTO, waits_pass, "auto, long or none"),
	TEXT(SECTION_SAMPLING, "host_signals", sampling.host_signals, "true", truth_passes, "true or false"),

	NUMBER(SECTION_GPU_JOBS, "submit_percent", gpu_jobs.submit_percent, 30, 1, 100),
	NUMBER(SECTION_GPU_JOBS, "submit_ns", gpu_jobs.submit_ns, 200000, 0, 60000000000),
	NUMBER(SECTION_GPU_JOBS, "queue_percent", gpu_jobs.queue_percent, 50, 1, 100),
	NUMBER(SECTION_GPU_JOBS, "queue_ns", gpu_jobs.queue_ns, 500000, 0, 60000000000),
	NUMBER(SECTION_GPU_JOBS, "wait_percent", gpu_jobs.wait_percent, 40, 1, 100),
	NUMBER(SECTION_GPU_JOBS, "tail_percent", gpu_jobs.tail_percent, 150, 100, 10000),

	NUMBER(SECTION_SYMBOLIZER, "max_memory_bytes", symbolizer.max_memory_bytes, 512 * MIB, 16 * MIB,
	       1024 * GIB),
	TEXT(SECTION_SYMBOLIZER, "debug_dir", symbolizer.debug_dir, "/usr/lib/debug", path_passes,
	     PATH_ALLOWED),
	TEXT(SECTION_SYMBOLIZER, "debuginfod_urls", symbolizer.debuginfod_urls, "", urls_pass,
	     "http://HOST… or https://HOST…, separated by blanks"),
	NUMBER(SECTION_SYMBOLIZER, "debuginfod_bytes", symbolizer.debuginfod_bytes, 2 * GIB, 16 * MIB,
	       1024 * GIB),
	NUMBER(SECTION_SYMBOLIZER, "debuginfod_timeout_seconds", symbolizer.debuginfod_timeout_seconds, 300,
	       1, 3600),
	TEXT(SECTION_SYMBOLIZER, "cache_dir", symbolizer.cache_dir, "/var/cache/stallprof", cache_passes,
	     PATH_ALLOWED ", or " CONFIG_NO_CACHE),
	NUMBER(SECTION_SYMBOLIZER, "cache_bytes", symbolizer.cache_bytes, 256 * MIB, MIB, 1024 * GIB),
	TEXT(SECTION_SYMBOLIZER, "demangle", symbolizer.demangle, "templates", names_pass,
	     SYMBOL_NAMES_ALLOWED),
	TEXT(SECTION_SYMBOLIZER, "python", symbolizer.python, "true", truth_passes, "true or false"),
};

const size_t config_setting_count = sizeof(config_settings) / sizeof(config_settings[0]);
_Static_assert(sizeof(config_settings) / sizeof(config_settings[0]) <= CONFIG_SETTINGS_MAX, "settings");

const char *config_section_name(enum config_section section)
{
	static const char *const names[CONFIG_SECTIONS] = {
		[SECTION_TOP] = "",
		[SECTION_PUSH] = "push",
		[SECTION_OUTPUT] = "output",
		[SECTION_SCRAPE] = "scrape",
		[SECTION_TAGS] = "tags",
		[SECTION_SAMPLING] = "sampling",
		[SECTION_GPU_JOBS] = "gpu_jobs",
		[SECTION_SYMBOLIZER] = "symbolizer",
		[SECTION_FILTERS] = "filters",
	};

	return names[section];
}
