/* Tests of bpf/gpu_waits.bpf.h, built for this machine, with maps that are arrays: what the kernel's scheduler for GPUs tells of waits. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <string.h>

#include "bpf/abi.h"

/* --- what state.bpf.h has for the kernel ------------------------------------------------------------------------ */

typedef uint64_t u64;
typedef uint32_t u32;

#define STALLPROF_STATE_BPF_H
#define ALWAYS       static inline
#define NOW_AND_THEN static __attribute__((unused))
#define SEC(name)    __attribute__((unused))
#define __weak
#define __uint(name, value) int(*name)[value]
#define __type(name, value) value *name
#define BPF_MAP_TYPE_HASH   1
#define BPF_ANY             0
#define ROOM                64

static u32 hot_generation = 1;

static u64 since(u64 now, u64 then)
{
	return now > then ? now - then : 0;
}

static void *bpf_map_lookup_elem(const void *map, const void *key);
static long bpf_map_update_elem(const void *map, const void *key, const void *value, u64 flags);
static long bpf_map_delete_elem(const void *map, const void *key);

#include "bpf/gpu_waits.bpf.h"

/* --- the maps ------------------------------------------------------------------------------------------------------ */

static struct entry {
	const void *map; /* NULL: free */
	u64 key;
	union {
		struct gpu_job job;
		u64 waiter;
	} value;
} entries[ROOM];

static struct entry *entry_of(const void *map, u64 key)
{
	for (size_t i = 0; i < ROOM; i++)
		if (entries[i].map == map && (!map || entries[i].key == key))
			return &entries[i];
	return NULL;
}

static void *bpf_map_lookup_elem(const void *map, const void *key)
{
	struct entry *entry = entry_of(map, *(const u64 *)key);

	return entry ? &entry->value : NULL;
}

static long bpf_map_update_elem(const void *map, const void *key, const void *value, u64 flags)
{
	struct entry *entry = entry_of(map, *(const u64 *)key);

	assert_int_equal(flags, BPF_ANY);
	entry = entry ? entry : entry_of(NULL, 0);
	if (!entry)
		return -1;
	entry->map = map;
	entry->key = *(const u64 *)key;
	memcpy(&entry->value, value,
	       map == &gpu_jobs ? sizeof(entry->value.job) : sizeof(entry->value.waiter));
	return 0;
}

static long bpf_map_delete_elem(const void *map, const void *key)
{
	struct entry *entry = entry_of(map, *(const u64 *)key);

	if (!entry)
		return -1;
	*entry = (struct entry){ .map = NULL };
	return 0;
}

static size_t count_waiters(void)
{
	size_t n = 0;

	for (size_t i = 0; i < ROOM; i++)
		n += entries[i].map == &gpu_waiters;
	return n;
}

static int clear(void **state)
{
	(void)state;
	memset(entries, 0, sizeof(entries));
	return 0;
}

/* --- jobs ---------------------------------------------------------------------------------------------------------- */

#define FENCE(n) (0x1000u + 0x40u * (n)) /* fences are longer than WAITERS_OF_FENCE */

static struct gpu_job *new_job(u64 key)
{
	const struct gpu_job job = { .generation = hot_generation };

	assert_int_equal(bpf_map_update_elem(&gpu_jobs, &key, &job, BPF_ANY), 0);
	return job_known(key);
}

static void test_gpu_waits__until_the_fence(void **state)
{
	struct gpu_job *job = new_job(1);

	(void)state;
	job_waits_for(1, job, FENCE(1), 100);
	waiters_go_on(FENCE(2), 120);
	assert_int_equal(job->waited_ns, 0);
	waiters_go_on(FENCE(1), 150);
	assert_int_equal(job->waited_ns, 50);
	assert_int_equal(job->waits_for, 0);
	assert_int_equal(count_waiters(), 0);
	/* The run that follows adds nothing. */
	job_waits_no_more(1, job, 200);
	assert_int_equal(job->waited_ns, 50);
}

/* The end of the first was not seen: it ended when the scheduler looked at the second. */
static void test_gpu_waits__a_second_dependency_adds_up(void **state)
{
	struct gpu_job *job = new_job(1);

	(void)state;
	job_waits_for(1, job, FENCE(1), 100);
	job_waits_for(1, job, FENCE(2), 150);
	assert_int_equal(job->waited_ns, 50);
	assert_int_equal(count_waiters(), 1);
	waiters_go_on(FENCE(1), 160);
	assert_int_equal(job->waits_since_ns, 150);
	waiters_go_on(FENCE(2), 170);
	assert_int_equal(job->waited_ns, 70);
	assert_int_equal(count_waiters(), 0);
}

/* A fence that never is signaled leaves nothing behind: its address may be another's later. */
static void test_gpu_waits__the_run_takes_its_entry_back(void **state)
{
	struct gpu_job *job = new_job(1);

	(void)state;
	job_waits_for(1, job, FENCE(1), 100);
	job_waits_no_more(1, job, 130);
	assert_int_equal(job->waited_ns, 30);
	assert_int_equal(count_waiters(), 0);
	job_waits_for(1, job, FENCE(2), 200);
	waiters_go_on(FENCE(1), 210);
	assert_int_equal(job->waits_since_ns, 200);
}

/* Two CPUs end the wait at once. Who comes second has found the job as a waiter, but it waits for another fence by now. */
static void test_gpu_waits__two_ends_at_once(void **state)
{
	struct gpu_job *job = new_job(1);

	(void)state;
	job_waits_for(1, job, FENCE(1), 100);
	wait_is_over(job, FENCE(1), 130);
	wait_is_over(job, FENCE(1), 140);
	assert_int_equal(job->waited_ns, 30);
	job_waits_for(1, job, FENCE(2), 150);
	wait_is_over(job, FENCE(1), 160);
	assert_int_equal(job->waited_ns, 30);
	waiters_go_on(FENCE(2), 170);
	assert_int_equal(job->waited_ns, 50);
}

static void test_gpu_waits__some_for_the_same(void **state)
{
	struct gpu_job *jobs[WAITERS_OF_FENCE + 1];

	(void)state;
	for (u64 i = 0; i <= WAITERS_OF_FENCE; i++) {
		jobs[i] = new_job(i + 1);
		job_waits_for(i + 1, jobs[i], FENCE(1), 100 + i);
	}
	assert_int_equal(count_waiters(), WAITERS_OF_FENCE);
	/* One that goes its way leaves the others waiting. */
	job_waits_no_more(2, jobs[1], 110);
	assert_int_equal(count_waiters(), WAITERS_OF_FENCE - 1);
	waiters_go_on(FENCE(1), 200);
	assert_int_equal(jobs[0]->waited_ns, 100);
	assert_int_equal(jobs[1]->waited_ns, 9);
	assert_int_equal(jobs[3]->waited_ns, 97);
	assert_int_equal(jobs[4]->waited_ns, 0); /* there was no room for it: it waits until it runs */
	job_waits_no_more(5, jobs[4], 204);
	assert_int_equal(jobs[4]->waited_ns, 100);
	assert_int_equal(count_waiters(), 0);
}

/* What jobs of an earlier time have left is in nobody's way. */
static void test_gpu_waits__entries_of_nobody(void **state)
{
	struct gpu_job *job;

	(void)state;
	for (u64 i = 1; i <= WAITERS_OF_FENCE; i++)
		job_waits_for(i, new_job(i), FENCE(1), 100);
	hot_generation += 2;
	job = new_job(9);
	job_waits_for(9, job, FENCE(1), 300);
	waiters_go_on(FENCE(1), 310);
	assert_int_equal(job->waited_ns, 10);
	assert_int_equal(count_waiters(), 0);
	/* Nor is it ended by another fence. */
	job_waits_for(9, job, FENCE(2), 320);
	assert_int_equal(bpf_map_update_elem(&gpu_waiters, &(u64){ FENCE(3) }, &(u64){ 9 }, BPF_ANY), 0);
	waiters_go_on(FENCE(3), 330);
	assert_int_equal(job->waits_since_ns, 320);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_gpu_waits__until_the_fence, clear),
		cmocka_unit_test_setup(test_gpu_waits__a_second_dependency_adds_up, clear),
		cmocka_unit_test_setup(test_gpu_waits__the_run_takes_its_entry_back, clear),
		cmocka_unit_test_setup(test_gpu_waits__two_ends_at_once, clear),
		cmocka_unit_test_setup(test_gpu_waits__some_for_the_same, clear),
		cmocka_unit_test_setup(test_gpu_waits__entries_of_nobody, clear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
