/* Tests of the configuration file: defaults, every setting, and one-line errors. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <glob.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/config/config.h"

#define BAD_FILES "tests/unit/data/config_bad/*.yaml"

/* A scratch file with this text, whose name is path. */
static void write_scratch(char path[32], const char *text)
{
	int fd;

	snprintf(path, 32, "/tmp/stallprof-config-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static struct config *load_text(const char *text)
{
	struct config *config = NULL;
	char path[32], err[512] = "";
	int result;

	write_scratch(path, text);
	result = config_load(path, &config, err, sizeof(err));
	unlink(path);
	if (result)
		fail_msg("%d: %s", result, err);
	return config;
}

static void assert_equal_configs(const struct config *a, const struct config *b)
{
	assert_string_equal(a->service_name, b->service_name);
	assert_int_equal(a->window_seconds, b->window_seconds);
	assert_int_equal(a->label_count, b->label_count);
	assert_string_equal(a->push.url, b->push.url);
	assert_string_equal(a->push.tenant, b->push.tenant);
	assert_string_equal(a->push.basic_user, b->push.basic_user);
	assert_string_equal(a->push.basic_password_file, b->push.basic_password_file);
	assert_string_equal(a->push.bearer_token_file, b->push.bearer_token_file);
	assert_int_equal(a->push.timeout_seconds, b->push.timeout_seconds);
	assert_int_equal(a->push.spool_max_bytes, b->push.spool_max_bytes);
	assert_int_equal(a->output.max_bytes, b->output.max_bytes);
	assert_int_equal(a->tags.rule_count, b->tags.rule_count);
	assert_int_equal(a->tags.max_classes, b->tags.max_classes);
	assert_memory_equal(&a->sampling, &b->sampling, offsetof(struct config_sampling, waits));
	assert_string_equal(a->sampling.waits, b->sampling.waits);
	assert_int_equal(a->symbolizer.max_memory_bytes, b->symbolizer.max_memory_bytes);
	assert_string_equal(a->symbolizer.debug_dir, b->symbolizer.debug_dir);
	assert_string_equal(a->symbolizer.cache_dir, b->symbolizer.cache_dir);
	assert_string_equal(a->symbolizer.debuginfod_urls, b->symbolizer.debuginfod_urls);
	assert_int_equal(a->symbolizer.debuginfod_bytes, b->symbolizer.debuginfod_bytes);
	assert_int_equal(a->symbolizer.debuginfod_timeout_seconds, b->symbolizer.debuginfod_timeout_seconds);
	assert_int_equal(a->symbolizer.cache_bytes, b->symbolizer.cache_bytes);
	assert_string_equal(a->symbolizer.demangle, b->symbolizer.demangle);
	assert_string_equal(a->symbolizer.python, b->symbolizer.python);
	assert_int_equal(a->filters.pid_count, b->filters.pid_count);
	assert_int_equal(a->filters.cgroup_count, b->filters.cgroup_count);
}

static void test_config__example_spells_out_the_defaults(void **state)
{
	struct config *loaded = NULL, *defaults = config_default();
	char err[512] = "";

	(void)state;
	assert_non_null(defaults);
	if (config_load("config/stallprof.yaml", &loaded, err, sizeof(err)))
		fail_msg("%s", err);
	assert_equal_configs(loaded, defaults);
	/* That one starts as it is, and does not fill the disk. */
	assert_string_equal(loaded->output.directory, "/var/lib/stallprof");
	assert_int_equal(loaded->output.max_bytes, 1 << 30);
	assert_string_equal(loaded->push.spool, "/var/lib/stallprof/spool");
	assert_string_equal(defaults->output.directory, "");
	assert_string_equal(defaults->push.spool, "");
	assert_int_equal(defaults->sampling.threshold_ns, 100000);
	assert_int_equal(defaults->sampling.stack_copy_bytes, 65536);
	config_free(loaded);
	config_free(defaults);
}

/* The example with its commented entries made real: what it tells people to write must load. */
static void test_config__example_entries_load(void **state)
{
	char line[512], *text = NULL;
	size_t size;
	FILE *in = fopen("config/stallprof.yaml", "re"), *out = open_memstream(&text, &size);
	struct config *config;

	(void)state;
	assert_non_null(in);
	while (fgets(line, sizeof(line), in)) {
		if (!strncmp(line, "#  ", 3))
			line[0] = ' ', memmove(line, line + 1, strlen(line));
		fputs(line, out);
	}
	fclose(in);
	fclose(out);
	config = load_text(text);
	assert_int_equal(config->label_count, 2);
	assert_string_equal(config->labels[1].name, "rank");
	assert_string_equal(config->labels[1].value, "0");
	assert_int_equal(config->tags.rule_count, 2);
	assert_string_equal(config->tags.rules[0].match, "checkpoint_*");
	assert_string_equal(config->tags.rules[0].class, "checkpoint");
	assert_int_equal(config->tags.files_count, 3);
	assert_string_equal(config->tags.files[1].folder, "/mnt/shards");
	assert_string_equal(config->tags.files[1].name, "shard");
	assert_null(config_files_xattr(&config->tags.files[1]));
	assert_string_equal(config_files_xattr(&config->tags.files[2]), "user.ai.checkpoint");
	assert_int_equal(config->sampling.cause_off_count, 1);
	assert_string_equal(config->sampling.causes_off[0], "dma_map");
	assert_int_equal(config->filters.pid_count, 1);
	assert_int_equal(config->filters.pids[0], 4711);
	assert_string_equal(config->filters.cgroups[0], "/kubepods.slice");
	config_free(config);
	free(text);
}

static void test_config__every_setting_is_taken(void **state)
{
	struct config *config = load_text(
	        "service_name: train\nwindow_seconds: 20\nlabels: [{name: job, value: a b}]\n"
	        "push: {url: 'https://h:1/x', tenant: t, basic_user: u, basic_password_file: /p, "
	        "timeout_seconds: 5, spool: /s, spool_max_bytes: 1048576}\n"
	        "output: {directory: /d, max_bytes: 2000000}\n"
	        "tags: {max_classes: 3, checkpoint_sha256: true, rules: [{match: a/*}], files: [{folder: "
	        "/c}]}\n"
	        "sampling: {threshold_ns: 5000000, budget_bytes_per_second: 0, cpu_hz: 0, oncpu_hz: 49,\n"
	        "  min_duration_ns: 7, stack_copy_bytes: 8192, max_stalled_threads: 9, ring_bytes: 1048576,\n"
	        "  dma_threshold_ns: 5000, causes_off: [dma_map, throttle]}\n"
	        "symbolizer: {max_memory_bytes: 16777216, debug_dir: /g, cache_dir: none, "
	        "debuginfod_urls: 'http://a https://b/x', debuginfod_bytes: 16777216, "
	        "debuginfod_timeout_seconds: 1, "
	        "cache_bytes: 2097152, demangle: full, python: false}\n"
	        "filters: {pids: [1, 4194304], cgroups: [/a, /b]}\n");

	(void)state;
	assert_string_equal(config->service_name, "train");
	assert_int_equal(config->window_seconds, 20);
	assert_string_equal(config->labels[0].value, "a b");
	assert_string_equal(config->push.url, "https://h:1/x");
	assert_string_equal(config->push.tenant, "t");
	assert_string_equal(config->push.basic_user, "u");
	assert_string_equal(config->push.basic_password_file, "/p");
	assert_int_equal(config->push.timeout_seconds, 5);
	assert_true(!strcmp(config->push.spool, "/s") && config->push.spool_max_bytes == 1 << 20);
	assert_string_equal(config->output.directory, "/d");
	assert_int_equal(config->output.max_bytes, 2000000);
	assert_int_equal(config->tags.max_classes, 3);
	assert_string_equal(config->tags.checkpoint_sha256, "true");
	assert_string_equal(config->tags.rules[0].match, "a/*");
	assert_string_equal(config->tags.rules[0].class, "");
	assert_string_equal(config->tags.files[0].folder, "/c");
	assert_string_equal(config->tags.files[0].name, "checkpoint");
	assert_int_equal(config->sampling.threshold_ns, 5000000);
	assert_int_equal(config->sampling.budget_bytes_per_second, 0);
	assert_int_equal(config->sampling.cpu_hz, 0);
	assert_int_equal(config->sampling.oncpu_hz, 49);
	assert_int_equal(config->sampling.min_duration_ns, 7);
	assert_int_equal(config->sampling.stack_copy_bytes, 8192);
	assert_int_equal(config->sampling.max_stalled_threads, 9);
	assert_int_equal(config->sampling.ring_bytes, 1048576);
	assert_int_equal(config->sampling.dma_threshold_ns, 5000);
	assert_int_equal(config->sampling.cause_off_count, 2);
	assert_string_equal(config->sampling.causes_off[1], "throttle");
	assert_int_equal(config->symbolizer.max_memory_bytes, 16777216);
	assert_string_equal(config->symbolizer.debug_dir, "/g");
	assert_string_equal(config->symbolizer.cache_dir, CONFIG_NO_CACHE);
	assert_string_equal(config->symbolizer.debuginfod_urls, "http://a https://b/x");
	assert_int_equal(config->symbolizer.debuginfod_bytes, 16777216);
	assert_int_equal(config->symbolizer.debuginfod_timeout_seconds, 1);
	assert_int_equal(config->symbolizer.cache_bytes, 2097152);
	assert_string_equal(config->symbolizer.demangle, "full");
	assert_string_equal(config->symbolizer.python, "false");
	assert_false(config_says_true(config->symbolizer.python));
	assert_int_equal(config->filters.pids[1], 4194304);
	assert_string_equal(config->filters.cgroups[1], "/b");
	config_free(config);
}

static void test_config__where_to_answer(void **state)
{
	struct config *config = load_text("scrape: {listen: '[::1]:4041', bearer_token_file: /t}\n");

	(void)state;
	assert_string_equal(config->scrape.listen, "[::1]:4041");
	assert_string_equal(config->scrape.bearer_token_file, "/t");
	config_free(config);
	config = config_default();
	assert_string_equal(config->scrape.listen, "");
	config_free(config);
}

static void test_config__thresholds_of_gpu_jobs(void **state)
{
	struct config *config =
	        load_text("gpu_jobs: {submit_percent: 31, submit_ns: 1, queue_percent: 51, queue_ns: 2, "
	                  "wait_percent: 41, tail_percent: 151}\n");

	(void)state;
	assert_int_equal(config->gpu_jobs.submit_percent, 31);
	assert_int_equal(config->gpu_jobs.submit_ns, 1);
	assert_int_equal(config->gpu_jobs.queue_percent, 51);
	assert_int_equal(config->gpu_jobs.queue_ns, 2);
	assert_int_equal(config->gpu_jobs.wait_percent, 41);
	assert_int_equal(config->gpu_jobs.tail_percent, 151);
	config_free(config);
}

static void test_config__empty_files_are_the_defaults(void **state)
{
	static const char *const texts[] = { "", "# nothing\n", "push:\nlabels:\ntags:\n  rules:\n", "{}" };
	struct config *defaults = config_default();

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct config *config = load_text(texts[i]);

		assert_equal_configs(config, defaults);
		assert_string_equal(config->output.directory, "");
		config_free(config);
	}
	config_free(defaults);
}

/* Each file's first line says what the message must hold, with the line that is wrong: "# expect: :LINE: TEXT". */
static void refuse_file(const char *path)
{
	struct config *untouched = (struct config *)1, *config = untouched;
	char expected[512] = "", err[512] = "";
	FILE *file = fopen(path, "re");

	assert_non_null(file);
	assert_non_null(fgets(expected, sizeof(expected), file));
	fclose(file);
	expected[strcspn(expected, "\n")] = '\0';
	if (config_load(path, &config, err, sizeof(err)) != -EINVAL)
		fail_msg("%s was not refused", path);
	assert_ptr_equal(config, untouched);
	if (strncmp(err, path, strlen(path)) || !strstr(err, expected + strlen("# expect: ")))
		fail_msg("%s\n  expected: %s\n  got:      %s", path, expected, err);
	if (strchr(err, '\n'))
		fail_msg("%s: more than one line: %s", path, err);
}

static void test_config__bad_files_are_refused_in_one_line(void **state)
{
	glob_t found;

	(void)state;
	assert_int_equal(glob(BAD_FILES, 0, NULL, &found), 0);
	assert_true(found.gl_pathc >= 60);
	for (size_t i = 0; i < found.gl_pathc; i++)
		refuse_file(found.gl_pathv[i]);
	globfree(&found);
}

static void test_config__unreadable_files(void **state)
{
	struct config *config = NULL;
	char path[32], err[512], *big = malloc(1024 * 1024 + 2);

	(void)state;
	assert_int_equal(config_load("/nonexistent/x.yaml", &config, err, sizeof(err)), -ENOENT);
	assert_string_equal(err, "/nonexistent/x.yaml: No such file or directory");
	assert_int_equal(config_load("/tmp", &config, err, sizeof(err)), -EISDIR);
	memset(big, '#', 1024 * 1024 + 1);
	big[1024 * 1024 + 1] = '\0';
	write_scratch(path, big);
	assert_int_equal(config_load(path, &config, err, sizeof(err)), -EFBIG);
	unlink(path);
	/* Nobody writes to it, so opening it would never end. */
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(config_load(path, &config, err, sizeof(err)), -EINVAL);
	assert_non_null(strstr(err, ": a pipe; give a file"));
	unlink(path);
	free(big);
	assert_null(config);
}

/* Where the name of the file with a secret belongs, the secret itself may stand. */
static void test_config__a_secret_is_not_repeated(void **state)
{
	static const char *const paths[] = { "push.bearer_token_file", "push.basic_password_file",
		                             "scrape.bearer_token_file" };
	struct config *config = config_default();
	char err[512];

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		assert_int_equal(config_set(config, paths[i], "glc_hunter2", err, sizeof(err)), -EINVAL);
		assert_null(strstr(err, "hunter2"));
		assert_non_null(strstr(err, paths[i]));
	}
	config_free(config);
}

static void test_config__set_and_reset(void **state)
{
	static const char *const not_bytes[] = {
		"M", "8X", "8MM", "8 M", "-8M", "17179869184G", "08M", "8m"
	};
	struct config *config = config_default();
	char err[256] = "untouched";

	(void)state;
	assert_int_equal(config_set(config, "sampling.cpu_hz", "7", err, sizeof(err)), 0);
	assert_int_equal(config->sampling.cpu_hz, 7);
	assert_int_equal(config_set(config, "sampling.cpu_hz", "", err, sizeof(err)), 0);
	assert_int_equal(config->sampling.cpu_hz, 99);
	assert_string_equal(err, "untouched");
	assert_int_equal(config_set(config, "cpu_hz", "7", err, sizeof(err)), -EINVAL);
	assert_string_equal(err, "there is no setting 'cpu_hz'");
	assert_int_equal(config_set(config, "sampling.window_seconds", "20", err, sizeof(err)), -EINVAL);
	assert_int_equal(config_set(config, "push.url", "ftp://x", err, sizeof(err)), -EINVAL);
	assert_string_equal(config->push.url, "");
	assert_int_equal(config_set(config, "sampling.ring_bytes", "8M", err, sizeof(err)), 0);
	assert_int_equal(config->sampling.ring_bytes, 8 << 20);
	assert_int_equal(config_set(config, "output.max_bytes", "3G", err, sizeof(err)), 0);
	assert_true(config->output.max_bytes == (uint64_t)3 << 30);
	for (size_t i = 0; i < sizeof(not_bytes) / sizeof(*not_bytes); i++)
		assert_int_equal(config_set(config, "output.max_bytes", not_bytes[i], err, sizeof(err)),
		                 -EINVAL);
	assert_true(config->output.max_bytes == (uint64_t)3 << 30);
	assert_int_equal(config_set(config, "sampling.threshold_ns", "1M", err, sizeof(err)), -EINVAL);
	config_free(config);
	config_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_config__example_spells_out_the_defaults),
		cmocka_unit_test(test_config__example_entries_load),
		cmocka_unit_test(test_config__every_setting_is_taken),
		cmocka_unit_test(test_config__where_to_answer),
		cmocka_unit_test(test_config__thresholds_of_gpu_jobs),
		cmocka_unit_test(test_config__empty_files_are_the_defaults),
		cmocka_unit_test(test_config__bad_files_are_refused_in_one_line),
		cmocka_unit_test(test_config__unreadable_files),
		cmocka_unit_test(test_config__a_secret_is_not_repeated),
		cmocka_unit_test(test_config__set_and_reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
