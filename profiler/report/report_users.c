/* Finds who grew among the processes that used CPUs and disks. */

#include "profiler/report/report_users.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_CPUS  0.1
#define LEAST_BYTES 5e6 /* a second */

/* What is recorded before an incident must be so long to tell who did what then, as lanes have seconds. */
#define BEFORE_NS 1000000000ULL

/* Value a second in [begin_ns, end_ns). */
static double rate_in(const struct timeline *timeline, size_t index, uint64_t begin_ns, uint64_t end_ns)
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

static bool is_of(const struct timeline_lane *lane, const struct report_cause *primary)
{
	if (lane->kind != TIMELINE_SIGNAL || !*lane->class)
		return false;
	if (primary->family == FAMILY_CPU)
		return !strcmp(lane->name, HOST_USER_CPU);
	return primary->family == FAMILY_DISK && !strcmp(lane->name, HOST_USER_DISK) &&
	       !strcmp(lane->device, primary->device);
}

static double growth(const struct report_user *user)
{
	return user->during - user->before;
}

/* How long the command's name is, without the number of the process. */
static size_t command_length(const char *process)
{
	const char *number = strrchr(process, '(');

	return number && number > process ? (size_t)(number - process) : strlen(process);
}

static bool same_command(const char *a, const char *b)
{
	size_t length = command_length(a);

	return length == command_length(b) && !memcmp(a, b, length);
}

/* To those of the same command that are there already, of which the first gives the name. */
static void add(struct report_user *users, size_t *count, const struct report_user *user)
{
	for (size_t i = 0; i < *count; i++) {
		if (!same_command(users[i].process, user->process))
			continue;
		users[i].more++;
		users[i].before += user->before;
		users[i].during += user->during;
		return;
	}
	users[(*count)++] = *user;
}

static int compare(const void *left, const void *right)
{
	double a = growth(left), b = growth(right);

	return (b > a) - (b < a);
}

static size_t keep_largest(struct report_user users[REPORT_USERS_MAX], struct report_user *all, size_t count,
                           double least)
{
	size_t n = 0;

	qsort(all, count, sizeof(*all), compare);
	while (n < count && n < REPORT_USERS_MAX && growth(&all[n]) >= least) {
		users[n] = all[n];
		n++;
	}
	return n;
}

size_t report_users_find(struct report_user users[REPORT_USERS_MAX], const struct report_ranking *ranking,
                         const struct timeline *timeline)
{
	const struct report_cause *primary = ranking->primary;
	uint64_t before_ns = ranking->baseline_begin_ns, till_ns = ranking->baseline_end_ns;
	struct report_user *all;
	size_t count = 0;

	if (!primary || ranking->mode != REPORT_SPIKE)
		return 0;
	if (ranking->baseline.given) { /* which says nothing of these processes */
		before_ns = ranking->symptom.begin_ns;
		till_ns = ranking->begin_ns;
	}
	if (till_ns < before_ns + BEFORE_NS)
		return 0;
	all = calloc(timeline_count(timeline) + 1, sizeof(*all));
	if (!all)
		return 0; /* less is said, and nothing wrong */
	for (size_t i = 0; i < timeline_count(timeline); i++) {
		const struct timeline_lane *lane = timeline_lane_at(timeline, i);
		struct report_user user = { .process = lane->class, .device = lane->device };
		double scale = primary->family == FAMILY_CPU ? 1e-9 : 1;

		if (!is_of(lane, primary))
			continue;
		user.before = rate_in(timeline, i, before_ns, till_ns) * scale;
		user.during = rate_in(timeline, i, ranking->begin_ns, ranking->end_ns) * scale;
		add(all, &count, &user);
	}
	count = keep_largest(users, all, count, primary->family == FAMILY_CPU ? LEAST_CPUS : LEAST_BYTES);
	free(all);
	return count;
}

void report_user_text(FILE *out, const struct report_user *user)
{
	fputs(user->process, out);
	if (user->more)
		fprintf(out, " and %zu more", user->more);
	if (*user->device)
		fprintf(out, " had %.0f MB/s of requests on %s instead of %.0f", user->during / 1e6,
		        user->device, user->before / 1e6);
	else
		fprintf(out, " used %.1f CPUs instead of %.1f", user->during, user->before);
}
