/* Sums who used CPUs and disks, names the largest, and puts them on a timeline. */

#include "profiler/session/host_users.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "profiler/format/timeline.h"
#include "profiler/process/exec_maps.h"
#include "profiler/session/device_names.h"
#include "profiler/session/window_timeline.h"

#define TOLD_AT_ONCE   8 /* each time, of the CPUs and of the disks */
#define NAMES_MAX      48
#define LEAST_CPU      0.05 /* CPUs */
#define LEAST_BYTES    1e6  /* a second */
#define NAME_BYTES     48
#define GONE           "?" /* for a process that has ended */
#define NS_OF_A_SECOND 1e9

struct user {
	struct {
		uint32_t tgid, dev;
	} key;
	int64_t amount;
	UT_hash_handle hh;
};

/* Those that were told before keep their names, also when they are gone, until others need the place. */
struct host_users {
	const struct exec_maps *maps;
	struct user *users;
	struct name {
		uint32_t tgid;
		uint64_t told; /* at which turn */
		char text[NAME_BYTES];
	} names[NAMES_MAX];
	size_t n_names;
	uint64_t turn;
};

struct host_users *host_users_new(const struct exec_maps *maps)
{
	struct host_users *users = calloc(1, sizeof(*users));

	if (users)
		users->maps = maps;
	return users;
}

static void forget(struct host_users *users)
{
	struct user *user, *next;

	HASH_ITER (hh, users->users, user, next) {
		HASH_DEL(users->users, user);
		free(user);
	}
}

void host_users_free(struct host_users *users)
{
	if (!users)
		return;
	forget(users);
	free(users);
}

int host_users_add(struct host_users *users, uint32_t tgid, uint32_t dev, int64_t amount)
{
	struct user *user, made = { .key = { tgid, dev } };

	HASH_FIND(hh, users->users, &made.key, sizeof(made.key), user);
	if (!user) {
		user = malloc(sizeof(*user));
		if (!user)
			return -ENOMEM;
		*user = made;
		HASH_ADD(hh, users->users, key, sizeof(user->key), user);
		if (!user->hh.tbl) {
			free(user);
			return -ENOMEM;
		}
	}
	user->amount += amount;
	return 0;
}

static void read_comm(const struct host_users *users, uint32_t tgid, char comm[17])
{
	const char *known = users->maps ? exec_maps_name(users->maps, tgid) : "";
	char path[32];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/comm", tgid);
	file = fopen(path, "re");
	if (!file || !fgets(comm, 17, file))
		snprintf(comm, 17, "%s", *known ? known : GONE);
	comm[strcspn(comm, "\n")] = '\0';
	if (file)
		fclose(file);
}

/* The process's place, or else a free one, or that of who was told longest ago. */
static struct name *place_of(struct host_users *users, uint32_t tgid)
{
	struct name *oldest = users->names;

	for (size_t i = 0; i < users->n_names; i++) {
		if (users->names[i].tgid == tgid)
			return &users->names[i];
		if (users->names[i].told < oldest->told)
			oldest = &users->names[i];
	}
	return users->n_names < NAMES_MAX ? &users->names[users->n_names++] : oldest;
}

/* The name is read again where the process was not told of late: its pid may be another's by now. */
static const char *name_of(struct host_users *users, uint32_t tgid)
{
	struct name *name = place_of(users, tgid);
	bool is_known = name->tgid == tgid;
	char comm[17];

	if (!is_known || users->turn - name->told > 1) {
		read_comm(users, tgid, comm);
		if (!is_known || strcmp(comm, GONE) != 0)
			snprintf(name->text, sizeof(name->text), "%s (%u)", comm, tgid);
		name->tgid = tgid;
	}
	name->told = users->turn;
	return name->text;
}

/* The CPUs before the disks, the largest first. */
static int compare(const struct user *a, const struct user *b)
{
	if (!a->key.dev != !b->key.dev)
		return a->key.dev ? 1 : -1;
	return (b->amount > a->amount) - (b->amount < a->amount);
}

static void tell(const struct user *user, const char *name, struct device_names *devices,
                 struct window_timeline *timeline, uint64_t begin_ns, uint64_t end_ns)
{
	struct timeline_lane lane = { .kind = TIMELINE_SIGNAL,
		                      .class = name,
		                      .name = user->key.dev ? HOST_USER_DISK : HOST_USER_CPU,
		                      .device = "",
		                      .bucket_ns = TIMELINE_LEDGER_BUCKET_NS };

	if (user->key.dev)
		lane.device = device_names_of(devices, user->key.dev, 0);
	window_timeline_add(timeline, &lane, begin_ns, end_ns, user->amount);
}

void host_users_tell(struct host_users *users, struct device_names *devices, struct window_timeline *timeline,
                     uint64_t begin_ns, uint64_t end_ns)
{
	double seconds = (double)(end_ns - begin_ns) / NS_OF_A_SECOND;
	size_t told[2] = { 0, 0 };

	users->turn++;
	HASH_SRT(hh, users->users, compare);
	for (struct user *user = users->users; user; user = user->hh.next) {
		bool disk = user->key.dev;
		double least = (disk ? LEAST_BYTES : LEAST_CPU * NS_OF_A_SECOND) * seconds;
		bool named = (double)user->amount >= least && told[disk] < TOLD_AT_ONCE;

		told[disk] += named;
		tell(user, named ? name_of(users, user->key.tgid) : HOST_USER_OTHERS, devices, timeline,
		     begin_ns, end_ns);
	}
	forget(users);
}
