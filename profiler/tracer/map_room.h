/* Room in the BPF programs' tables for what each CPU sets aside. */
#ifndef STALLPROF_PROFILER_MAP_ROOM_H
#define STALLPROF_PROFILER_MAP_ROOM_H

struct bpf_object;

/*
 * Elements of a table that forgets (LRU) which a CPU takes at once and keeps for itself, in kernels without commit d4adf1c9ee77 (of 2025): of a
 * table of 8192 entries 64 CPUs have all, each but a few of them in use, and who wants another one takes it from a CPU at random,
 * though what is in it be the newest of all.
 */
#define MAP_ROOM_LRU_LOT 128

/* Makes each such table of an object that is not loaded yet so much larger that it holds what it is made for on any of `cpus` CPUs. One of a
 * single entry is not in use, and stays as it is. That takes some 150 KiB a CPU. */
void map_room_for_cpus(struct bpf_object *object, unsigned int cpus);

/* How many bits a place for a request's owner has (bpf/requests.bpf.h), of which two requests in flight should seldom have the same: with many
 * CPUs there are many disks and queues. 15, which take 1.5 MiB, to 18. */
unsigned int map_room_owner_bits(unsigned int cpus);

#endif
