/* The subcommand `doctor`: reports what can be recorded on this host, as text or JSON. */

#include "profiler/cli/cmd_doctor.h"

#include <assert.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "profiler/config/config.h"
#include "profiler/cli/doctor_findings.h"
#include "profiler/cli/doctor_text.h"
#include "profiler/cli/host_check.h"
#include "profiler/format/json_writer.h"
#include "profiler/tracer/kernel_places.h"
#include "profiler/tracer/probe_table.h"
#include "profiler/tracer/tracer.h"
#include "profiler/cli/usage.h"

struct choices {
	bool json, has_config;
	struct config *config;
};

enum { KEY_NO_CAUSE = 256 };

static const struct argp_option options[] = {
	{ "json", 'j', NULL, 0, "print JSON", 0 },
	{ "config", 'c', "FILE", 0, "treat causes that this configuration switches off as off", 0 },
	{ "no-cause", KEY_NO_CAUSE, "NAME", 0, "treat this cause as off, as record does; may be repeated",
	  0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct choices *choices = state->input;
	struct config *loaded;
	char err[512];

	switch (key) {
	case 'j':
		choices->json = true;
		return 0;
	case 'c':
		if (config_load(arg, &loaded, err, sizeof(err)))
			usage_error(state, "%s", err);
		config_free(choices->config);
		choices->config = loaded;
		choices->has_config = true;
		return 0;
	case KEY_NO_CAUSE:
		if (probe_cause_stays(arg))
			usage_error(state, "--no-cause %s: %s", arg, probe_cause_stays(arg));
		if (config_add_cause_off(choices->config, arg, err, sizeof(err)))
			usage_error(state, "--no-cause: %s", err);
		return 0;
	case ARGP_KEY_ARG:
		usage_error(state, "unexpected argument %s", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.doc = "Says which stall causes this host can show, by which hook, and what would make the others "
	       "visible. Exits with 1 when nothing can be recorded at all.",
};

__attribute__((format(printf, 4, 5))) static void add_fact(struct doctor_findings *found, const char *name,
                                                           bool good, const char *advice, ...)
{
	struct doctor_fact *fact = &found->facts[found->n_facts];
	va_list args;

	assert(found->n_facts < DOCTOR_FACTS_MAX);
	found->n_facts++;
	fact->name = name;
	fact->good = good;
	va_start(args, advice);
	vsnprintf(fact->advice, sizeof(fact->advice), advice, args);
	va_end(args);
}

/* Whether debuginfod servers are asked, by the configuration given, else by the service's. */
static void add_debuginfod(struct doctor_findings *found)
{
	struct config *service = NULL;
	const struct config *config = found->config;
	char err[512] = "";

	if (!config && !access(CONFIG_FILE, F_OK) && !config_load(CONFIG_FILE, &service, err, sizeof(err)))
		config = service;
	if (*err)
		add_fact(found, "debuginfod", false, "not known: %s", err);
	else
		add_fact(found, "debuginfod", config && *config->symbolizer.debuginfod_urls,
		         "debug files that are not on this host are not fetched: set "
		         "symbolizer.debuginfod_urls, or record --debuginfod");
	config_free(service);
}

static void add_privilege(struct doctor_findings *found, enum privilege privilege)
{
	char lack[256];

	privileges_lack(&found->host.privileges, privilege, lack, sizeof(lack));
	add_fact(found, privilege_name(privilege), !*lack, "%s", lack);
}

/* Has the tracer attach every hook for a moment, as nothing else shows that it can be. */
static void try_hooks(struct doctor_findings *found, const struct config_sampling *sampling)
{
	struct tracer_opts opts = { .cpu_hz = 1,
		                    .all_hooks = true,
		                    .host = found->probes,
		                    .causes_off = sampling->causes_off,
		                    .n_causes_off = sampling->cause_off_count };
	const struct tracer_probes only_process = { .process = true };

	if (host_check(&found->host, found->why_not, sizeof(found->why_not)))
		return;
	found->tracer = tracer_new(&opts, NULL, NULL, NULL, found->why_not, sizeof(found->why_not));
	if (!found->tracer)
		return;
	if (tracer_attach(found->tracer, found->why_not, sizeof(found->why_not))) {
		tracer_free(found->tracer);
		found->tracer = NULL;
		return;
	}
	/* Our own program has one of the tag library's probes. */
	tracer_watch_file(found->tracer, "/proc/self/exe", &only_process, found->why_not,
	                  sizeof(found->why_not));
}

static void add_bpf(struct doctor_findings *found)
{
	const struct host_facts *host = &found->host;

	if (*host->too_old)
		add_fact(found, "bpf", false, "this kernel is too old: it lacks %s", host->too_old);
	else if (!privileges_have(&host->privileges, PRIVILEGE_LOAD))
		add_fact(found, "bpf", false, "not tried without the privilege");
	else if (*host->refused)
		add_fact(found, "bpf", false, "%s", host->refused);
	else
		add_fact(found, "bpf", found->tracer, "%.*s", (int)strcspn(found->why_not, ";\n"),
		         found->why_not);
}

static void collect_facts(struct doctor_findings *found)
{
	const struct host_facts *host = &found->host;

	add_privilege(found, PRIVILEGE_LOAD);
	add_fact(found, "host_pids", host->sees_host_pids,
	         "run in the host's PID namespace (docker run --pid=host, hostPID: true)");
	add_fact(found, "btf", host->has_btf, "boot a kernel built with CONFIG_DEBUG_INFO_BTF=y");
	add_bpf(found);
	add_privilege(found, PRIVILEGE_PERF_EVENTS);
	add_privilege(found, PRIVILEGE_UPROBES);
	add_privilege(found, PRIVILEGE_PROCESSES);
	add_privilege(found, PRIVILEGE_FILES);
	add_privilege(found, PRIVILEGE_DELETED_FILES);
	add_privilege(found, PRIVILEGE_KERNEL_SYMBOLS);
	if (found->facts[found->n_facts - 1].good && !host->sees_kallsyms) {
		found->n_facts--;
		add_fact(found, privilege_name(PRIVILEGE_KERNEL_SYMBOLS), false,
		         "/proc/kallsyms shows no addresses");
	}
	add_fact(found, "kernel_lines", host->has_vmlinux_dwarf, "%s", host->debug_advice);
	add_debuginfod(found);
	add_fact(found, "throttle_work", found->probes && probe_host_places(found->probes)->throttles,
	         "a kernel with CONFIG_BLK_DEV_THROTTLING=y; without it waits for what blk-throttle holds "
	         "back "
	         "are block_io");
}

static bool cause_available(const struct doctor_findings *found, const char *cause)
{
	size_t i;

	for (i = 0; i < probe_table_len; i++) {
		if (!strcmp(probe_table[i].cause, cause) && doctor_row_missing(found, i) &&
		    !(found->probes && probe_replaced(found->probes, &probe_table[i])))
			return false;
	}
	return true;
}

static void json_hook(struct json_writer *json, const struct doctor_findings *found, size_t row)
{
	const struct probe *probe = &probe_table[row];
	const char *missing = doctor_row_missing(found, row);
	char hook[96];

	snprintf(hook, sizeof(hook), "%s%s", probe_kind_prefix(probe->kind), probe->hook);
	json_object_begin(json);
	json_member_string(json, "hook", hook);
	json_key(json, "available");
	json_bool(json, !missing);
	json_key(json, "replaced");
	json_bool(json, found->probes && probe_replaced(found->probes, probe));
	json_member_string(json, "reason", missing ? missing : "");
	json_member_string(json, "advice", doctor_row_advice(found, row));
	json_member_string(json, "verifier", found->probes ? probe_log(found->probes, probe) : "");
	json_object_end(json);
}

static void json_cause(struct json_writer *json, const struct doctor_findings *found, const char *cause)
{
	size_t i;

	json_object_begin(json);
	json_member_string(json, "cause", cause);
	json_key(json, "available");
	json_bool(json, cause_available(found, cause));
	json_key(json, "needed");
	json_bool(json, doctor_cause_needed(found, cause));
	json_key(json, "hooks");
	json_array_begin(json);
	for (i = 0; i < probe_table_len; i++) {
		if (!strcmp(probe_table[i].cause, cause))
			json_hook(json, found, i);
	}
	json_array_end(json);
	json_object_end(json);
}

static void print_json(const struct doctor_findings *found)
{
	struct json_writer json;
	size_t i;

	json_begin(&json, stdout);
	json_object_begin(&json);
	json_member_string(&json, "release", found->host.release);
	json_key(&json, "host");
	json_array_begin(&json);
	for (i = 0; i < found->n_facts; i++) {
		json_object_begin(&json);
		json_member_string(&json, "name", found->facts[i].name);
		json_key(&json, "ok");
		json_bool(&json, found->facts[i].good);
		json_member_string(&json, "advice", found->facts[i].good ? "" : found->facts[i].advice);
		json_object_end(&json);
	}
	json_array_end(&json);
	json_key(&json, "causes");
	json_array_begin(&json);
	for (i = 0; i < probe_table_len; i++) {
		if (!doctor_names_cause_before(i))
			json_cause(&json, found, probe_table[i].cause);
	}
	json_array_end(&json);
	json_object_end(&json);
	json_end(&json);
}

int cmd_doctor(int argc, char **argv)
{
	struct doctor_findings found = { 0 };
	struct choices choices = { .config = config_default() };
	bool can_record, is_written;

	if (!choices.config) {
		fprintf(stderr, "stallprof doctor: out of memory\n");
		return 1;
	}
	usage_parse(&argp, "stallprof doctor", argc, argv, 0, &choices);
	found.config = choices.has_config ? choices.config : NULL;
	libbpf_set_print(NULL); /* what it finds missing is in the report */
	host_facts_read(&found.host);
	host_facts_read_symbols(&found.host);
	found.probes = probe_host_new(privileges_have(&found.host.privileges, PRIVILEGE_MODULE_HOOKS));
	try_hooks(&found, &choices.config->sampling);
	collect_facts(&found);
	(choices.json ? print_json : doctor_print_text)(&found);
	is_written = !fflush(stdout) && !ferror(stdout);
	if (!is_written)
		fprintf(stderr, "stallprof doctor: the output could not be written: %s\n", strerror(errno));
	can_record = found.tracer;
	tracer_free(found.tracer);
	probe_host_free(found.probes);
	config_free(choices.config);
	return can_record && is_written ? 0 : 1;
}
