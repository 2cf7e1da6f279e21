/*
 * mpi_waits [rounds=N] [ms=N]: to be run by mpirun. All ranks but the last wait for the last one, which sleeps between the calls:
 * in MPI_Barrier, MPI_Allreduce, MPI_Wait and MPI_Recv by turns. Each is under a tag of its own, "rank/NUMBER", and clocks its calls, by
 * call_clock.h.
 */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/e2e/attack/attack.h"
#include "tests/e2e/libraries/call_clock.h"

static int rank, ranks;

static void receive(long round, int *value)
{
	MPI_Request request;

	if (round % 4 == 2)
		MPI_Recv(value, 1, MPI_INT, ranks - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	else {
		MPI_Irecv(value, 1, MPI_INT, ranks - 1, 1, MPI_COMM_WORLD, &request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	}
}

static void one_round(struct call_clock *calls, long round, unsigned int ms)
{
	int value = 1, sum;

	if (rank == ranks - 1)
		sleep_ms(ms);
	call_begin(calls);
	if (round % 4 == 0)
		MPI_Barrier(MPI_COMM_WORLD);
	else if (round % 4 == 1)
		MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	else if (rank != ranks - 1)
		receive(round, &value);
	for (int i = 0; round % 4 > 1 && rank == ranks - 1 && i < ranks - 1; i++)
		MPI_Send(&value, 1, MPI_INT, i, 1, MPI_COMM_WORLD);
	call_end(calls);
}

int main(int argc, char **argv)
{
	long rounds = argument(argc, argv, "rounds", 40), ms = argument(argc, argv, "ms", 100);
	struct call_clock calls;
	struct held_tag tag;
	char name[32];

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	snprintf(name, sizeof(name), "rank/%d", rank);
	sleep_ms(500);
	call_clock_open(&calls, name);
	tag_open(&tag, (uint64_t)rank + 1, name);
	wait_until_hooked(dlsym(RTLD_DEFAULT, "MPI_Barrier"));
	sleep_ms(500);
	for (long i = 0; i < rounds; i++)
		one_round(&calls, i, (unsigned int)ms);
	tag_close(&tag);
	call_clock_close(&calls);
	MPI_Finalize();
	return 0;
}
