/* Finds who grew among the processes that used CPUs and disks. */

#include "profiler/report/report_users.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/loaded/loaded_users.h"

/* What is recorded before an incident must be so long to tell who did what then, as lanes have seconds. */
#define BEFORE_NS 1000000000ULL

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

/* To those of the same command that are there already, of which the first gives the name. */
static void add(struct report_user *users, size_t *count, const struct report_user *user)
{
	for (size_t i = 0; i < *count; i++) {
		if (!loaded_users_alike(users[i].process, user->process))
			continue;
		users[i].more++;
		users[i].before += user->before;
		users[i].during += user->during;
		return;
	}
	users[(*count)++] = *user;
}

/* Those with a name first. */
static int compare(const void *left, const void *right)
{
	const struct report_user *a = left, *b = right;
	int order = loaded_users_unnamed(a->process) - loaded_users_unnamed(b->process);

	return order ? order : (growth(b) > growth(a)) - (growth(b) < growth(a));
}

static size_t keep_largest(struct report_user users[REPORT_USERS_MAX], struct report_user *all, size_t count,
                           double least)
{
	size_t n = 0;

	qsort(all, count, sizeof(*all), compare);
	for (size_t i = 0; i < count && n < REPORT_USERS_MAX; i++)
		if (growth(&all[i]) >= least)
			users[n++] = all[i];
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
		user.before = loaded_users_rate(timeline, i, before_ns, till_ns) * scale;
		user.during = loaded_users_rate(timeline, i, ranking->begin_ns, ranking->end_ns) * scale;
		add(all, &count, &user);
	}
	count = keep_largest(users, all, count,
	                     primary->family == FAMILY_CPU ? LOADED_USERS_LEAST_CPUS
	                                                   : LOADED_USERS_LEAST_BYTES);
	free(all);
	return count;
}

void report_users_whole(struct loaded_users *users, const struct report_ranking *ranking,
                        const struct loaded_profiles *input, bool explained)
{
	const struct report_cause *cause = explained ? NULL : ranking->primary;
	bool cpu;

	*users = (struct loaded_users){ .count = 0 };
	if (ranking->mode == REPORT_SPIKE && ranking->whole.name)
		cause = &ranking->whole;
	cpu = cause && cause->family == FAMILY_CPU;
	if (!cause || (!cpu && (cause->family != FAMILY_DISK || !*cause->device)))
		return;
	if (loaded_users_find(users, input, cpu ? HOST_USER_CPU : HOST_USER_DISK, cpu ? "" : cause->device))
		users->count = 0; /* less is said, and nothing wrong */
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
