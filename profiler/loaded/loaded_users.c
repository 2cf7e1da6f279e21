/* Sums the signals of processes by their names. */

#include "profiler/loaded/loaded_users.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/format/json_writer.h"
#include "profiler/format/ledger_row.h"
#include "profiler/format/stamp.h"
#include "profiler/format/text_cells.h"
#include "profiler/format/timeline.h"
#include "profiler/loaded/loaded_profiles.h"
#include "symbolizer/base/compare.h"

#define LEAST_PART 0.1   /* of the largest */
#define GONE       "? (" /* a process that ended before its name was read */

double loaded_users_rate(const struct timeline *timeline, size_t index, uint64_t begin_ns, uint64_t end_ns)
{
	const struct timeline_lane *lane = timeline_lane_at(timeline, index);
	size_t count;
	const struct timeline_point *points = timeline_points(timeline, index, &count);
	double sum = 0;

	if (end_ns <= begin_ns)
		return 0;
	for (size_t i = 0; i < count; i++) {
		uint64_t from = points[i].begin_ns, to = from + lane->bucket_ns;

		from = from > begin_ns ? from : begin_ns;
		to = to < end_ns ? to : end_ns;
		if (to > from)
			sum += (double)points[i].value * (double)(to - from) / (double)lane->bucket_ns;
	}
	return sum * 1e9 / (double)(end_ns - begin_ns);
}

/* How long the name is, without the number of the process. */
static size_t name_length(const char *process)
{
	const char *number = strrchr(process, '(');

	return number && number > process ? (size_t)(number - process) : strlen(process);
}

bool loaded_users_alike(const char *a, const char *b)
{
	size_t length = name_length(a);

	return length == name_length(b) && !memcmp(a, b, length);
}

/* --- which processes hold tags ------------------------------------------------------------------------------ */

struct pids {
	uint32_t *pid; /* in order */
	size_t n;
};

static int compare_pids(const void *left, const void *right)
{
	return compare_u64(*(const uint32_t *)left, *(const uint32_t *)right);
}

/* 0 or -ENOMEM. */
static int tagged_pids(struct pids *pids, struct ledger *ledger)
{
	size_t rows = ledger_count(ledger);

	*pids = (struct pids){ .pid = malloc((rows + 1) * sizeof(*pids->pid)) };
	if (!pids->pid)
		return -ENOMEM;
	for (size_t i = 0; i < rows; i++) {
		const struct ledger_row *row = ledger_at(ledger, i);

		if (row && (!pids->n || pids->pid[pids->n - 1] != row->pid))
			pids->pid[pids->n++] = row->pid;
	}
	qsort(pids->pid, pids->n, sizeof(*pids->pid), compare_pids);
	return 0;
}

static uint32_t pid_of(const char *process)
{
	const char *number = process + name_length(process);

	return *number == '(' ? (uint32_t)strtoul(number + 1, NULL, 10) : 0;
}

static bool has_pid(const struct pids *pids, uint32_t pid)
{
	return bsearch(&pid, pids->pid, pids->n, sizeof(pid), compare_pids) != NULL;
}

/* --- sums --------------------------------------------------------------------------------------------------- */

static bool is_of(const struct timeline_lane *lane, const char *signal)
{
	return lane->kind == TIMELINE_SIGNAL && *lane->class && !strcmp(lane->name, signal);
}

static bool is_wanted(const struct loaded_users *users, const struct timeline_lane *lane)
{
	return is_of(lane, users->signal) && !strcmp(lane->device, users->device);
}

bool loaded_users_unnamed(const char *process)
{
	return !strcmp(process, HOST_USER_OTHERS) || !strncmp(process, GONE, strlen(GONE));
}

static void add(struct loaded_user *all, size_t *count, const struct loaded_user *user)
{
	for (size_t i = 0; i < *count; i++) {
		if (all[i].tagged != user->tagged || !loaded_users_alike(all[i].process, user->process))
			continue;
		all[i].processes++;
		all[i].rate += user->rate;
		return;
	}
	all[(*count)++] = *user;
}

static int compare_users(const void *left, const void *right)
{
	const struct loaded_user *a = left, *b = right;
	int order = (b->rate > a->rate) - (b->rate < a->rate);

	return order ? order : strcmp(a->process, b->process);
}

static double sum_of(const struct timeline *timeline, size_t lane)
{
	size_t count;
	const struct timeline_point *points = timeline_points(timeline, lane, &count);
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += (double)points[i].value;
	return sum;
}

static size_t sum_users(struct loaded_users *users, struct loaded_user *all, const struct timeline *timeline,
                        const struct pids *pids, double scale)
{
	size_t count = 0;

	for (size_t i = 0; i < timeline_count(timeline); i++) {
		const struct timeline_lane *lane = timeline_lane_at(timeline, i);
		struct loaded_user user = { .process = lane->class, .processes = 1 };

		if (!is_wanted(users, lane))
			continue;
		user.rate = sum_of(timeline, i) * scale;
		user.tagged = has_pid(pids, pid_of(lane->class));
		users->others += user.rate;
		if (!loaded_users_unnamed(lane->class))
			add(all, &count, &user);
	}
	qsort(all, count, sizeof(*all), compare_users);
	return count;
}

static void take_largest(struct loaded_users *users, const struct loaded_user *all, size_t count)
{
	double least = *users->device ? LOADED_USERS_LEAST_BYTES : LOADED_USERS_LEAST_CPUS;

	for (size_t i = 0; i < count && i < LOADED_USERS_MAX; i++) {
		if (all[i].rate < least || all[i].rate < LEAST_PART * all[0].rate)
			return;
		users->user[users->count++] = all[i];
		users->others -= all[i].rate;
	}
}

static int compare_times(const void *left, const void *right)
{
	return compare_u64(*(const uint64_t *)left, *(const uint64_t *)right);
}

/* The beginnings of all buckets in which the CPUs' users were counted, to `times` if that is not NULL. Returns their number. */
static size_t list_times(uint64_t *times, const struct timeline *timeline, uint64_t *bucket_ns)
{
	size_t n = 0, count;

	for (size_t i = 0; i < timeline_count(timeline); i++) {
		const struct timeline_lane *lane = timeline_lane_at(timeline, i);
		const struct timeline_point *points = timeline_points(timeline, i, &count);

		if (!is_of(lane, HOST_USER_CPU))
			continue;
		*bucket_ns = lane->bucket_ns;
		for (size_t p = 0; p < count; p++, n++)
			if (times)
				times[n] = points[p].begin_ns;
	}
	return n;
}

/* How long users were counted, in any of the profiles: an agent does that while something is tagged. A disk's are counted whenever the CPUs'
 * are. 0 or -ENOMEM. */
static int counted(double *ns, const struct loaded_profiles *input)
{
	struct stamp_coverage covered = stamp_coverage(input->stamp);
	uint64_t bucket_ns = 0, *times;
	size_t n = list_times(NULL, input->timeline, &bucket_ns);

	times = malloc((n + 1) * sizeof(*times));
	if (!times)
		return -ENOMEM;
	list_times(times, input->timeline, &bucket_ns);
	qsort(times, n, sizeof(*times), compare_times);
	*ns = 0;
	for (size_t i = 0; i < n; i++)
		*ns += i && times[i] == times[i - 1] ? 0 : (double)bucket_ns;
	free(times);
	/* Of recordings of one host at the same time each has all of it. */
	if (covered.booted_ns && covered.covered_ns > stamp_span_ns(&covered))
		*ns *= (double)covered.covered_ns / (double)stamp_span_ns(&covered);
	/* The first bucket and the last are mostly not whole; and where the CPUs' users cannot be counted a disk's may be. */
	if (!n || *ns > (double)covered.covered_ns)
		*ns = (double)covered.covered_ns;
	return 0;
}

/* Whether a pid is one process: of several hosts' profiles it is not, nor of a host that was booted again. */
static bool is_one_host(const struct loaded_profiles *input)
{
	struct stamp_coverage covered = stamp_coverage(input->stamp);

	return covered.windows <= 1 || covered.booted_ns;
}

int loaded_users_find(struct loaded_users *users, const struct loaded_profiles *input, const char *signal,
                      const char *device)
{
	size_t lanes = input->timeline ? timeline_count(input->timeline) : 0, count;
	struct loaded_user *all;
	double counted_ns;
	struct pids pids;
	int err;

	*users = (struct loaded_users){ .signal = signal, .device = device };
	if (!lanes)
		return 0;
	err = counted(&counted_ns, input);
	if (err || counted_ns <= 0)
		return err;
	err = tagged_pids(&pids, input->ledger);
	if (err)
		return err;
	if (!is_one_host(input))
		pids.n = 0;
	all = calloc(lanes, sizeof(*all));
	count = all ? sum_users(users, all, input->timeline, &pids, (*device ? 1e9 : 1) / counted_ns) : 0;
	take_largest(users, all, count);
	free(pids.pid);
	free(all);
	return all ? 0 : -ENOMEM;
}

/* --- text --------------------------------------------------------------------------------------------------- */

static void print_rate(FILE *out, const struct loaded_users *users, double rate)
{
	if (*users->device)
		fprintf(out, "%.*f MB/s", rate < 10e6 ? 1 : 0, rate / 1e6);
	else
		fprintf(out, "%.*f CPUs", rate < 0.1 ? 2 : 1, rate);
}

static void print_user(FILE *out, const struct loaded_users *users, const struct loaded_user *user)
{
	int length = (int)name_length(user->process);
	char name[64];

	while (length && user->process[length - 1] == ' ')
		length--;
	snprintf(name, sizeof(name), "%.*s", length, user->process);
	text_print_clean(out, name, 0);
	if (user->processes > 1)
		fprintf(out, " (%zu processes", user->processes);
	else
		fprintf(out, " (pid %u", (unsigned int)pid_of(user->process));
	fputs(user->tagged ? ", tagged, " : ", ", out);
	print_rate(out, users, user->rate);
	fputc(')', out);
}

void loaded_users_text(FILE *out, const struct loaded_users *users)
{
	if (*users->device)
		fprintf(out, "%s was used most, without a tag, by: ", users->device);
	else
		fputs("CPUs were used most by: ", out);
	for (size_t i = 0; i < users->count; i++) {
		fputs(i ? ", " : "", out);
		print_user(out, users, &users->user[i]);
	}
	if (users->others < LEAST_PART * users->user[0].rate)
		return;
	fputs("; all others ", out);
	print_rate(out, users, users->others);
}

void loaded_users_json(struct json_writer *json, const struct loaded_users *users)
{
	for (size_t i = 0; i < users->count; i++) {
		json_object_begin(json);
		json_member_string(json, "process", users->user[i].process);
		json_member_u64(json, "processes", users->user[i].processes);
		json_key(json, "tagged");
		json_bool(json, users->user[i].tagged);
		json_member_string(json, "device", users->device);
		json_member_string(json, "unit", *users->device ? "bytes/s" : "CPUs");
		json_key(json, "rate");
		json_double(json, users->user[i].rate);
		json_object_end(json);
	}
}
