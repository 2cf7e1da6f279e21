/*
 * The agent's configuration.
 *
 *     err = config_load("/etc/stallprof/stallprof.yaml", &config, message, sizeof(message));
 *     …
 *     config_free(config);
 *
 * or, for commands that have options instead of a file, config_default() and then config_set() and
 * config_add_…() for each option given, and config_check() at the end. config/stallprof.yaml documents every
 * setting and spells out the defaults.
 *
 * A setting is named by its path in the file: "window_seconds", "sampling.cpu_hz". Texts are never NULL; ""
 * says "not set". Secrets are never in the configuration, only the names of files that hold them.
 *
 * Functions with err write one line without newline there (and leave it alone when they succeed): the
 * setting, what is wrong, what is allowed; config_load puts FILE:LINE in front. They return 0, -EINVAL,
 * -ENOMEM, or for config_load the errno of reading the file.
 */
#ifndef STALLPROF_PROFILER_CONFIG_H
#define STALLPROF_PROFILER_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONFIG_LABELS_MAX     16
#define CONFIG_RULES_MAX      256
#define CONFIG_TAG_FILES_MAX  64           /* ABI_FOLDERS_MAX */
#define CONFIG_TAG_FILES_NAME "checkpoint" /* where none is given */
/* What the agent reads when it is given no file. */
#define CONFIG_FILE "/etc/stallprof/stallprof.yaml"

#define CONFIG_FILTERS_MAX    1024
#define CONFIG_CAUSES_OFF_MAX 64

struct config_label {
	char *name;
	char *value;
};

struct config_tag_rule {
	char *match; /* see tag_class.h */
	char *class; /* "": the first path component */
};

struct config_push {
	char *url;
	char *tenant;
	char *basic_user;
	char *basic_password_file;
	char *bearer_token_file;
	uint64_t timeout_seconds;
	char *spool; /* a folder for windows that wait; "": they wait in memory alone */
	uint64_t spool_max_bytes;
};

struct config_output {
	char *directory;
	uint64_t max_bytes;            /* 0: no limit */
	char *reports;                 /* a folder for a report of each incident; "": none are written */
	char *report_format;           /* as `stallprof report --format` has it */
	uint64_t reports_max_bytes;    /* 0: no limit */
	uint64_t reports_rest_seconds; /* after an incident, before the next is told */
};

/* Where the agent answers to Prometheus and readers of pprof. */
struct config_scrape {
	char *listen;            /* listen_address.h; "": nowhere */
	char *bearer_token_file; /* whoever asks must have that token; "": nobody needs one */
};

#define CONFIG_XATTR     "xattr:"
#define CONFIG_XATTR_MAX 63 /* bytes of its name */

/* Whose files are tagged while a thread is in a call on one. */
struct config_tag_files {
	char *folder; /* … or CONFIG_XATTR and the name of an xattr that they have */
	char *name;   /* of the tags: NAME_read/FILE, NAME_write/FILE */
};

struct config_tags {
	struct config_tag_rule *rules;
	size_t rule_count;
	struct config_tag_files *files;
	size_t files_count;
	char *checkpoint_sha256; /* config_says_true(): of tagged files that were written */
	uint64_t max_classes;
};

struct config_sampling {
	uint64_t threshold_ns;            /* T at rest; waits of this length and longer are always kept */
	uint64_t budget_bytes_per_second; /* T grows to hold it; 0: T stays */
	uint64_t cpu_hz;                  /* on-CPU samples inside stalls; 0: none */
	uint64_t oncpu_hz;                /* on-CPU samples outside of them; 0: none */
	uint64_t dma_threshold_ns;        /* DMA maps from that length on are slow */
	uint64_t min_duration_ns;         /* shorter waits get no stack, only their ledger row */
	uint64_t stack_copy_bytes;
	uint64_t max_stalled_threads; /* stacks held at once */
	uint64_t ring_bytes;
	char *waits;        /* config_long_waits() */
	char *host_signals; /* config_says_true(): what else goes on on the host is read, too */
	char **causes_off;  /* whose hooks are not attached */
	size_t cause_off_count;
};

/* From when on a job of a GPU took too long: a part of its whole time, in per cent, and so many nanoseconds at least. */
struct config_gpu_jobs {
	uint64_t submit_percent, submit_ns; /* its thread was in the call that hands it over */
	uint64_t queue_percent, queue_ns;   /* it stood in the queue */
	uint64_t wait_percent;              /* it waited for other jobs */
	uint64_t tail_percent;              /* of what 90 % of the jobs took at most */
};

#define CONFIG_NO_CACHE "none"

struct config_symbolizer {
	uint64_t max_memory_bytes;
	char *debug_dir;
	char *debuginfod_urls; /* separated by blanks; "": none are asked */
	uint64_t debuginfod_bytes, debuginfod_timeout_seconds;
	char *cache_dir; /* an absolute path, or CONFIG_NO_CACHE */
	uint64_t cache_bytes;
	char *demangle; /* symbol_names_set() */
	char *python;   /* config_says_true(): Python frames in place of the interpreter's */
};

struct config_filters {
	uint32_t *pids;
	size_t pid_count;
	char **cgroups; /* absolute paths in the cgroup hierarchy */
	size_t cgroup_count;
};

struct config {
	char *service_name;
	uint64_t window_seconds;
	struct config_label *labels;
	size_t label_count;
	struct config_push push;
	struct config_output output;
	struct config_scrape scrape;
	struct config_tags tags;
	struct config_sampling sampling;
	struct config_gpu_jobs gpu_jobs;
	struct config_symbolizer symbolizer;
	struct config_filters filters;
};

/* NULL with errno ENOMEM. */
struct config *config_default(void);
void config_free(struct config *config);

/* The xattr by which the entry tags files; NULL: it is a folder. */
const char *config_files_xattr(const struct config_tag_files *files);

/* On failure *out is untouched. */
int config_load(const char *path, struct config **out, char *err, size_t err_size);

/* Replaces one setting that is a text or a number; an empty value gives the default back. */
int config_set(struct config *config, const char *path, const char *value, char *err, size_t err_size);

int config_add_label(struct config *config, const char *name, const char *value, char *err, size_t err_size);
int config_add_tag_rule(struct config *config, const char *match, const char *class, char *err,
                        size_t err_size);
/* `folder`: an absolute path, or CONFIG_XATTR and a name, of which there may be one. `name`: "" for CONFIG_TAG_FILES_NAME. */
int config_add_tag_files(struct config *config, const char *folder, const char *name, char *err,
                         size_t err_size);
int config_add_pid(struct config *config, const char *pid, char *err, size_t err_size);
int config_add_cgroup(struct config *config, const char *cgroup, char *err, size_t err_size);
/* Whether there is such a cause, the tracer knows. */
int config_add_cause_off(struct config *config, const char *cause, char *err, size_t err_size);

/* Whether all series have this label. */
bool config_has_label(const struct config *config, const char *name);

/* Checks what only several settings together can get wrong. config_load() calls it. */
int config_check(const struct config *config, char *err, size_t err_size);

/* Whether a setting that is "true" or "false" is "true". */
bool config_says_true(const char *value);

#define CONFIG_WAITS_AUTO "auto"
#define CONFIG_WAITS_LONG "long"
#define CONFIG_WAITS_NONE "none"

/* Whether waits that are no stalls get stacks, too. "auto": if the profiles are for files that `record` writes
 * (`local`), or reports are wanted. */
bool config_long_waits(const struct config *config, bool local);

/* The rate of the clock that takes on-CPU samples. One clock serves samples inside and outside of stalls, at the
 * higher of the two rates. */
uint64_t config_clock_hz(const struct config *config);

#endif
