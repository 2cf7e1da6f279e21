/*
 * gpu_waiters how=fence|ring|jobs file=/dev/dri/cardN [threads=N] [rounds=N] [hold_ms=N]: threads that wait for a GPU of which there is only the
 * driver, each under a tag of its own, "gpu/NUMBER", and clock themselves.
 *   fence   vgem: a fence on a buffer, which another thread signals after hold_ms; the buffer's dma-buf is made ready for the CPU
 *   ring    virtio_gpu: buffers of 32 MiB handed to the device, until its control queue is full; thread 0 makes small ones and each time
 *           waits until the device has it (a fence on that queue)
 *   jobs    virtio_gpu: one buffer of 128 MiB at a time is handed to the device ("ring"), and waited for ("fence"); in the last round one
 *           that the device refuses, as it is larger than its resource
 * Between two rounds a thread sleeps 20 ms by the clock. Prints tag_close()'s line a thread (tests/e2e/attack/attack.h), and for each
 * round
 *   {"waiter": NUMBER, "what": "fence"|"ring"|"made", "call_begin_ns", "call_ns", "slept_ns"}
 * where call_ns is how long the calls took, and slept_ns how much of that the thread neither ran nor was kept from running.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <linux/dma-buf.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "stalltag/stalltag.h"
#include "tests/e2e/attack/attack.h"

#define THREADS_MAX 16
#define ROUNDS_MAX  64

/* Of <drm/drm.h>, <drm/vgem_drm.h> and <drm/virtgpu_drm.h>, which few machines have. */
struct drm_mode_create_dumb {
	uint32_t height, width, bpp, flags, handle, pitch;
	uint64_t size;
};
struct drm_prime_handle {
	uint32_t handle, flags;
	int32_t fd;
};
struct drm_gem_close {
	uint32_t handle, pad;
};
struct vgem_fence_attach {
	uint32_t handle, flags, out_fence, pad;
};
struct vgem_fence_signal {
	uint32_t fence, flags;
};
struct virtgpu_resource_create {
	uint32_t target, format, bind, width, height, depth, array_size, last_level, nr_samples, flags;
	uint32_t bo_handle, res_handle, size, stride;
};
struct virtgpu_transfer {
	uint32_t bo_handle, x, y, z, w, h, d, level, offset, stride, layer_stride;
};
struct virtgpu_wait {
	uint32_t handle, flags;
};
#define CREATE_DUMB             _IOWR('d', 0xb2, struct drm_mode_create_dumb)
#define PRIME_HANDLE_TO_FD      _IOWR('d', 0x2d, struct drm_prime_handle)
#define GEM_CLOSE               _IOW('d', 0x09, struct drm_gem_close)
#define VGEM_FENCE_ATTACH       _IOWR('d', 0x41, struct vgem_fence_attach)
#define VGEM_FENCE_SIGNAL       _IOW('d', 0x42, struct vgem_fence_signal)
#define VGEM_FENCE_WRITE        1
#define VIRTGPU_RESOURCE_CREATE _IOWR('d', 0x44, struct virtgpu_resource_create)
#define VIRTGPU_TRANSFER        _IOWR('d', 0x47, struct virtgpu_transfer)
#define VIRTGPU_WAIT            _IOWR('d', 0x48, struct virtgpu_wait)
#define FORMAT_BGRX             2 /* VIRTIO_GPU_FORMAT_B8G8R8X8_UNORM */
#define TARGET_2D               2
#define BIND_TARGET             2
#define WIDTH                   4096
#define HEIGHT                  2048

struct round {
	const char *what;
	uint64_t begin_ns, ns;
	int64_t slept_ns; /* a little below 0 at times, as its three clocks are not read at once */
};

struct waiter {
	pthread_t thread, signaller;
	int number, card;
	char name[32];
	struct round round[30 * ROUNDS_MAX];
	size_t n_rounds;
	uint32_t fence; /* to be signalled */
};

static const char *file;
static long rounds, hold_ms;

/* What lies between two readings of the thread's clocks. */
static void note(struct waiter *waiter, const char *what, const struct moment *from, const struct moment *to)
{
	struct round *round = &waiter->round[waiter->n_rounds++];
	uint64_t ns = to->wall_ns - from->wall_ns;

	*round = (struct round){ what, from->wall_ns, ns,
		                 (int64_t)ns - (int64_t)(to->cpu_ns - from->cpu_ns) -
		                         (int64_t)(to->runqueue_ns - from->runqueue_ns) };
}

static void *signal_fence(void *arg)
{
	struct waiter *waiter = arg;
	struct vgem_fence_signal signal = { .fence = waiter->fence };

	sleep_ms((unsigned int)hold_ms);
	must(ioctl(waiter->card, VGEM_FENCE_SIGNAL, &signal) == 0, "VGEM_FENCE_SIGNAL");
	return NULL;
}

static void wait_for_fence(struct waiter *waiter, struct thread_clock *clock, uint32_t handle, int dma_buf)
{
	struct vgem_fence_attach attach = { .handle = handle, .flags = VGEM_FENCE_WRITE };
	struct dma_buf_sync sync = { .flags = DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW };
	struct moment before, after;

	must(ioctl(waiter->card, VGEM_FENCE_ATTACH, &attach) == 0, "VGEM_FENCE_ATTACH");
	waiter->fence = attach.out_fence;
	must(pthread_create(&waiter->signaller, NULL, signal_fence, waiter) == 0, "thread");
	must(thread_clock_read(clock, &before) == 0, "clock");
	must(ioctl(dma_buf, DMA_BUF_IOCTL_SYNC, &sync) == 0, "DMA_BUF_IOCTL_SYNC");
	must(thread_clock_read(clock, &after) == 0, "clock");
	note(waiter, "fence", &before, &after);
	pthread_join(waiter->signaller, NULL);
	sync.flags = DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW;
	must(ioctl(dma_buf, DMA_BUF_IOCTL_SYNC, &sync) == 0, "DMA_BUF_IOCTL_SYNC");
}

static void fences(struct waiter *waiter, struct thread_clock *clock)
{
	struct drm_mode_create_dumb dumb = { .height = 64, .width = 64, .bpp = 32 };
	struct drm_prime_handle prime = { .flags = O_CLOEXEC | O_RDWR };

	must(ioctl(waiter->card, CREATE_DUMB, &dumb) == 0, "CREATE_DUMB");
	prime.handle = dumb.handle;
	must(ioctl(waiter->card, PRIME_HANDLE_TO_FD, &prime) == 0, "PRIME_HANDLE_TO_FD");
	for (long i = 0; i < rounds; i++) {
		wait_for_fence(waiter, clock, dumb.handle, prime.fd);
		sleep_ms(20);
	}
	close(prime.fd);
}

static uint32_t create_resource(struct waiter *waiter, uint32_t width, uint32_t height)
{
	struct virtgpu_resource_create create = { .target = TARGET_2D,
		                                  .format = FORMAT_BGRX,
		                                  .bind = BIND_TARGET,
		                                  .width = width,
		                                  .height = height,
		                                  .depth = 1,
		                                  .array_size = 1,
		                                  .size = width * height * 4 };

	must(ioctl(waiter->card, VIRTGPU_RESOURCE_CREATE, &create) == 0, "VIRTGPU_RESOURCE_CREATE");
	return create.bo_handle;
}

/* More transfers than the queue has room for. */
static void hand_over(struct waiter *waiter, struct thread_clock *clock, uint32_t handle)
{
	struct virtgpu_transfer transfer = { .bo_handle = handle, .w = WIDTH, .h = HEIGHT, .d = 1 };
	struct moment before, after;

	must(thread_clock_read(clock, &before) == 0, "clock");
	for (int i = 0; i < 64; i++)
		must(ioctl(waiter->card, VIRTGPU_TRANSFER, &transfer) == 0, "VIRTGPU_TRANSFER");
	must(thread_clock_read(clock, &after) == 0, "clock");
	note(waiter, "ring", &before, &after);
}

/* Its creation and its end wait for room, and what is between them for all that is in front of it. */
static void wait_for_resource(struct waiter *waiter, struct thread_clock *clock)
{
	struct moment before, made, after, closed;
	struct virtgpu_wait wait = { 0 };
	struct drm_gem_close gone = { 0 };

	must(thread_clock_read(clock, &before) == 0, "clock");
	wait.handle = create_resource(waiter, 64, 64);
	must(thread_clock_read(clock, &made) == 0, "clock");
	must(ioctl(waiter->card, VIRTGPU_WAIT, &wait) == 0, "VIRTGPU_WAIT");
	must(thread_clock_read(clock, &after) == 0, "clock");
	gone.handle = wait.handle;
	must(ioctl(waiter->card, GEM_CLOSE, &gone) == 0, "GEM_CLOSE");
	must(thread_clock_read(clock, &closed) == 0, "clock");
	note(waiter, "ring", &before, &made);
	note(waiter, "fence", &made, &after);
	note(waiter, "ring", &after, &closed);
}

/* A small resource is made behind what the device has got, and waited for: that has a fence, which a transfer has not. */
static void wait_for_device(struct waiter *waiter)
{
	struct virtgpu_wait wait = { .handle = create_resource(waiter, 64, 64) };

	must(ioctl(waiter->card, VIRTGPU_WAIT, &wait) == 0, "VIRTGPU_WAIT");
}

/* One transfer, and the wait for its end, which has a tag of its own, as it hands over jobs itself. */
static void one_job(struct waiter *waiter, struct thread_clock *clock, uint32_t handle, uint32_t width)
{
	struct virtgpu_transfer transfer = { .bo_handle = handle, .w = width, .h = 2 * HEIGHT, .d = 1 };
	struct moment before, handed_over, after;

	must(thread_clock_read(clock, &before) == 0, "clock");
	must(ioctl(waiter->card, VIRTGPU_TRANSFER, &transfer) == 0, "VIRTGPU_TRANSFER");
	must(thread_clock_read(clock, &handed_over) == 0, "clock");
	stalltag_push(1000, "marker");
	wait_for_device(waiter);
	must(thread_clock_read(clock, &after) == 0, "clock");
	stalltag_pop();
	note(waiter, "ring", &before, &handed_over);
	note(waiter, "fence", &handed_over, &after);
}

static void jobs(struct waiter *waiter, struct thread_clock *clock)
{
	struct moment before, after;
	uint32_t handle;

	must(thread_clock_read(clock, &before) == 0, "clock");
	handle = create_resource(waiter, 2 * WIDTH, 2 * HEIGHT);
	must(thread_clock_read(clock, &after) == 0, "clock");
	note(waiter, "made", &before, &after);
	for (long i = 0; i < rounds; i++) {
		sleep_ms(100);
		one_job(waiter, clock, handle, i + 1 < rounds ? 2 * WIDTH : 2 * WIDTH + 1);
	}
}

static void rings(struct waiter *waiter, struct thread_clock *clock)
{
	struct moment before, after;
	uint32_t handle;

	if (!waiter->number) {
		for (long i = 0; i < 10 * rounds; i++) {
			wait_for_resource(waiter, clock);
			sleep_ms(20);
		}
		return;
	}
	must(thread_clock_read(clock, &before) == 0, "clock");
	handle = create_resource(waiter, WIDTH, HEIGHT);
	must(thread_clock_read(clock, &after) == 0, "clock");
	note(waiter, "ring", &before, &after);
	for (long i = 0; i < rounds; i++) {
		hand_over(waiter, clock, handle);
		sleep_ms(20);
	}
}

static void (*work)(struct waiter *waiter, struct thread_clock *clock);

static void *wait_under_tag(void *arg)
{
	struct waiter *waiter = arg;
	struct thread_clock clock;
	struct held_tag tag;

	must(thread_clock_open(&clock) == 0, "schedstat");
	tag_open(&tag, (uint64_t)waiter->number + 1, waiter->name);
	work(waiter, &clock);
	tag_close(&tag);
	thread_clock_close(&clock);
	return NULL;
}

static void print_rounds(const struct waiter *waiter)
{
	for (size_t i = 0; i < waiter->n_rounds; i++)
		printf("{\"waiter\": %d, \"what\": \"%s\", \"call_begin_ns\": %" PRIu64
		       ", \"call_ns\": %" PRIu64 ", \"slept_ns\": %" PRId64 "}\n",
		       waiter->number, waiter->round[i].what, waiter->round[i].begin_ns, waiter->round[i].ns,
		       waiter->round[i].slept_ns);
}

int main(int argc, char **argv)
{
	static struct waiter waiters[THREADS_MAX];
	long threads = argument(argc, argv, "threads", 4), i;
	const char *how = argument_text(argc, argv, "how", "fence");

	work = !strcmp(how, "ring") ? rings : !strcmp(how, "jobs") ? jobs : fences;
	file = argument_text(argc, argv, "file", "/dev/dri/card0");
	rounds = argument(argc, argv, "rounds", 10);
	rounds = rounds < ROUNDS_MAX ? rounds : ROUNDS_MAX;
	hold_ms = argument(argc, argv, "hold_ms", 300);
	threads = threads < THREADS_MAX ? threads : THREADS_MAX;
	for (i = 0; i < threads; i++) {
		waiters[i].number = (int)i;
		snprintf(waiters[i].name, sizeof(waiters[i].name), "gpu/%ld", i);
		waiters[i].card = open(file, O_RDWR | O_CLOEXEC);
		must(waiters[i].card >= 0, file);
	}
	for (i = 0; i < threads; i++)
		must(pthread_create(&waiters[i].thread, NULL, wait_under_tag, &waiters[i]) == 0, "thread");
	for (i = 0; i < threads; i++)
		pthread_join(waiters[i].thread, NULL);
	for (i = 0; i < threads; i++)
		print_rounds(&waiters[i]);
	return 0;
}
