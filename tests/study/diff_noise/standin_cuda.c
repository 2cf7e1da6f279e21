/* A stand-in for libcuda.so.1 for trainer.c: cuStreamSynchronize(us) sleeps for so many microseconds. */
#include <errno.h>
#include <time.h>

int cuStreamSynchronize(long us);

int cuStreamSynchronize(long us)
{
	struct timespec left = { us / 1000000, us % 1000000 * 1000 };

	while (nanosleep(&left, &left) && errno == EINTR)
		;
	return 0;
}
