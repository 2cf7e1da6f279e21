/* A stand-in for libcuda.so.1, which needs a GPU: functions of the CUDA driver's names that wait as they are told to. What they are given
 * is not what the driver's own take.
 *   cuStreamSynchronize(ms)   sleeps
 *   cuEventSynchronize(ms)    spins until the thread has used that much CPU time
 *   cuMemcpyDtoH_v2(ms)       sleeps in cuStreamSynchronize, by way of the procedure linkage table: a call inside a call
 *   cuCtxSynchronize(leave)   calls `leave`, which does not return
 *   cuEventQuery(n)           is not hooked, cuMemFree_v2(n) is. Both return at once: for measuring what a hook costs
 */
#include <errno.h>
#include <time.h>

int cuStreamSynchronize(long ms);
int cuEventSynchronize(long ms);
int cuMemcpyDtoH_v2(long ms);
int cuCtxSynchronize(void (*leave)(void));
int cuEventQuery(long n);
int cuMemFree_v2(long n);

int cuStreamSynchronize(long ms)
{
	struct timespec left = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&left, &left) && errno == EINTR)
		;
	return 0;
}

static long cpu_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int cuEventSynchronize(long ms)
{
	long until = cpu_ms() + ms;

	while (cpu_ms() < until)
		;
	return 0;
}

int cuMemcpyDtoH_v2(long ms)
{
	int result = cuStreamSynchronize(ms / 2);

	return result + cuStreamSynchronize(ms - ms / 2);
}

int cuCtxSynchronize(void (*leave)(void))
{
	leave();
	return 1;
}

int cuEventQuery(long n)
{
	return (int)n;
}

int cuMemFree_v2(long n)
{
	return (int)n;
}
