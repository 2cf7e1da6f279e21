#include "profiler/cmd_doctor.h"

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "profiler/config.h"
#include "profiler/debug_package.h"
#include "profiler/host_check.h"
#include "profiler/json_writer.h"
#include "profiler/probe_table.h"
#include "profiler/usage.h"

/* One line of the host's part of the report. */
struct fact {
	const char *name;
	bool good;
	const char *advice; /* when it is not */
};

#define FACTS_MAX 10

static const struct argp_option options[] = {
	{ "json", 'j', NULL, 0, "print JSON", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	bool *json = state->input;

	switch (key) {
	case 'j':
		*json = true;
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

/* As the service is configured; a file that is not there, or wrong, asks nobody. */
static bool asks_servers(void)
{
	struct config *config = NULL;
	char err[512];
	bool asks;

	if (config_load(CONFIG_FILE, &config, err, sizeof(err)))
		return false;
	asks = *config->symbolizer.debuginfod_urls;
	config_free(config);
	return asks;
}

static size_t collect_facts(const struct host_facts *host, struct fact *facts)
{
	size_t n = 0;

	facts[n++] = (struct fact){ "privilege", host->privileged,
		                    "run as root, or with CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE" };
	facts[n++] =
	        (struct fact){ "host_pids", host->sees_host_pids,
		               "run in the host's PID namespace (docker run --pid=host, hostPID: true)" };
	facts[n++] =
	        (struct fact){ "btf", host->has_btf, "boot a kernel built with CONFIG_DEBUG_INFO_BTF=y" };
	facts[n++] = (struct fact){ "bpf", host->has_bpf,
		                    "Linux 5.18 or later with CONFIG_BPF_EVENTS=y, not locked down" };
	facts[n++] = (struct fact){ "pushed_tags", host->can_uprobe,
		                    "CAP_SYS_ADMIN: uprobes need it; without it only process tags are seen" };
	facts[n++] = (struct fact){ "user_stacks", host->can_read_others,
		                    "CAP_SYS_PTRACE: the mappings of other users' processes" };
	facts[n++] = (struct fact){ "kernel_symbols", host->sees_kallsyms, KALLSYMS_ADVICE };
	facts[n++] = (struct fact){ "kernel_lines", host->has_vmlinux_dwarf, host->debug_advice };
	facts[n++] = (struct fact){
		"debuginfod", asks_servers(),
		"debug files that are not on this host are not fetched: set "
		"symbolizer.debuginfod_urls, or record --debuginfod, or install debug packages"
	};
	facts[n++] = (struct fact){ "throttle_work", host->knows_throttle,
		                    "a kernel with CONFIG_BLK_DEV_THROTTLING=y; without it waits for what "
		                    "blk-throttle holds back are block_io" };
	return n;
}

static bool cause_seen_before(size_t row)
{
	size_t i;

	for (i = 0; i < row; i++) {
		if (!strcmp(probe_table[i].cause, probe_table[row].cause))
			return true;
	}
	return false;
}

static void print_text(const struct host_facts *host, const struct fact *facts, size_t n_facts,
                       const struct probe_host *probes)
{
	size_t i;

	printf("host: Linux %s\n", host->release);
	for (i = 0; i < n_facts; i++)
		printf("  %-16s %s%s\n", facts[i].name,
		       facts[i].good ? "yes" : "no: ", facts[i].good ? "" : facts[i].advice);
	printf("\n%-10s %-40s %s\n", "cause", "hook", "state");
	for (i = 0; i < probe_table_len; i++) {
		const struct probe *probe = &probe_table[i];
		const char *missing = probes ? probe_missing(probes, probe) : "unknown without BTF";
		char hook[96];

		if (probes && probe_replaced(probes, probe))
			continue;
		snprintf(hook, sizeof(hook), "%s%s", probe_kind_prefix(probe->kind), probe->hook);
		printf("%-10s %-40s %s%s%s\n", cause_seen_before(i) ? "" : probe->cause, hook,
		       missing ? missing : "available", missing ? "; needs: " : "",
		       missing ? probe->advice : "");
	}
}

static void json_cause(struct json_writer *json, const struct probe_host *probes, const char *cause)
{
	size_t i;

	json_object_begin(json);
	json_member_string(json, "cause", cause);
	json_key(json, "available");
	json_bool(json, probes && probe_cause_available(probes, cause));
	json_key(json, "hooks");
	json_array_begin(json);
	for (i = 0; i < probe_table_len; i++) {
		const struct probe *probe = &probe_table[i];
		const char *missing = probes ? probe_missing(probes, probe) : "unknown without BTF";
		char hook[96];

		if (strcmp(probe->cause, cause))
			continue;
		snprintf(hook, sizeof(hook), "%s%s", probe_kind_prefix(probe->kind), probe->hook);
		json_object_begin(json);
		json_member_string(json, "hook", hook);
		json_key(json, "available");
		json_bool(json, !missing);
		json_member_string(json, "reason", missing ? missing : "");
		json_member_string(json, "advice", missing ? probe->advice : "");
		json_object_end(json);
	}
	json_array_end(json);
	json_object_end(json);
}

static void print_json(const struct host_facts *host, const struct fact *facts, size_t n_facts,
                       const struct probe_host *probes)
{
	struct json_writer json;
	size_t i;

	json_begin(&json, stdout);
	json_object_begin(&json);
	json_member_string(&json, "release", host->release);
	json_key(&json, "host");
	json_array_begin(&json);
	for (i = 0; i < n_facts; i++) {
		json_object_begin(&json);
		json_member_string(&json, "name", facts[i].name);
		json_key(&json, "ok");
		json_bool(&json, facts[i].good);
		json_member_string(&json, "advice", facts[i].good ? "" : facts[i].advice);
		json_object_end(&json);
	}
	json_array_end(&json);
	json_key(&json, "causes");
	json_array_begin(&json);
	for (i = 0; i < probe_table_len; i++) {
		if (!cause_seen_before(i))
			json_cause(&json, probes, probe_table[i].cause);
	}
	json_array_end(&json);
	json_object_end(&json);
	json_end(&json);
}

int cmd_doctor(int argc, char **argv)
{
	struct fact facts[FACTS_MAX];
	struct probe_host *probes;
	struct host_facts host;
	bool json = false;
	size_t n_facts;

	usage_parse(&argp, "stallprof doctor", argc, argv, 0, &json);
	libbpf_set_print(NULL); /* what it finds missing is in the report */
	probes = probe_host_new();
	host_facts_read(&host);
	host_facts_read_symbols(&host);
	n_facts = collect_facts(&host, facts);
	(json ? print_json : print_text)(&host, facts, n_facts, probes);
	probe_host_free(probes);
	return host.privileged && host.sees_host_pids && host.has_btf && host.has_bpf ? 0 : 1;
}
