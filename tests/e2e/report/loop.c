/*
 * A training loop with all that can slow one: a disk, a GPU, a network, and CPUs.
 *
 *   loop SECONDS DIR [LIBCUDA [ADDRESS PORT]]    the loop; DIR may be a block device, which is read itself
 *   loop peer ADDRESS PORT                       the other end of its network, until it is killed
 *
 * A loader thread reads shards from DIR past the page cache ("data_load/N"). The main thread takes one, computes, waits for the
 * GPU in LIBCUDA's cuStreamSynchronize(), and sends gradients to the peer, whose answer it awaits ("train_step/N"). "-" for
 * LIBCUDA leaves the GPU out.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stalltag/stalltag.h"
#include "tests/e2e/workload/clocks.h"
#include "tests/e2e/workload/coldfile.h"

#define DATA_BYTES     (128u << 20)
#define READ_BYTES     (64u << 10)
#define READS          8
#define AHEAD          2
#define COMPUTE_NS     4000000u
#define GPU_MS         4
#define GRADIENT_BYTES (96u << 10)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned int ready;
static int over;
static int (*wait_for_gpu)(long ms);

static void *load(void *arg)
{
	char *buffer = coldfile_buffer(READ_BYTES), tag[32];
	uint64_t random = 0x9e3779b97f4a7c15ull;
	int fd = *(int *)arg;

	for (unsigned int shard = 1;; shard++) {
		pthread_mutex_lock(&lock);
		while (ready >= AHEAD && !over)
			pthread_cond_wait(&changed, &lock);
		pthread_mutex_unlock(&lock);
		if (over)
			break;
		snprintf(tag, sizeof(tag), "data_load/%u", shard);
		stalltag_push(shard, tag);
		for (int i = 0; i < READS; i++) {
			off_t at = (off_t)(coldfile_random(&random) % (DATA_BYTES / READ_BYTES) * READ_BYTES);

			if (pread(fd, buffer, READ_BYTES, at) != READ_BYTES)
				exit(3);
		}
		stalltag_pop();
		pthread_mutex_lock(&lock);
		ready++;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock);
	}
	free(buffer);
	return NULL;
}

static void take_shard(void)
{
	pthread_mutex_lock(&lock);
	while (!ready)
		pthread_cond_wait(&changed, &lock);
	ready--;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static void compute(void)
{
	volatile uint64_t gradient = 88172645463325252ull;
	uint64_t until = thread_cpu_ns() + COMPUTE_NS;

	while (thread_cpu_ns() < until)
		for (int i = 0; i < 2000; i++)
			gradient = gradient * 6364136223846793005ull + 1;
}

/* --- the network ------------------------------------------------------------------------------------------- */

static struct sockaddr_in address_of(const char *address, const char *port)
{
	struct sockaddr_in found = { .sin_family = AF_INET,
		                     .sin_port = htons((uint16_t)strtoul(port, NULL, 10)) };

	if (inet_pton(AF_INET, address, &found.sin_addr) != 1)
		exit(4);
	return found;
}

static int read_whole(int fd, size_t bytes)
{
	static char buffer[GRADIENT_BYTES];

	while (bytes) {
		ssize_t n = read(fd, buffer, bytes < sizeof(buffer) ? bytes : sizeof(buffer));

		if (n <= 0)
			return -1;
		bytes -= (size_t)n;
	}
	return 0;
}

static int peer(const char *address, const char *port)
{
	struct sockaddr_in here = address_of(address, port);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1, fd;

	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(listener, (struct sockaddr *)&here, sizeof(here)) || listen(listener, 8))
		return 5;
	puts("listening");
	fflush(stdout);
	while ((fd = accept(listener, NULL, NULL)) >= 0) {
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		while (!read_whole(fd, GRADIENT_BYTES) && write(fd, "k", 1) == 1)
			;
		close(fd);
	}
	return 0;
}

static int connect_to(const char *address, const char *port)
{
	struct sockaddr_in there = address_of(address, port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (connect(fd, (struct sockaddr *)&there, sizeof(there)))
		exit(6);
	return fd;
}

static void all_reduce(int fd)
{
	static char gradients[GRADIENT_BYTES];
	size_t sent = 0;
	char answer;

	while (sent < sizeof(gradients)) {
		ssize_t n = write(fd, gradients + sent, sizeof(gradients) - sent);

		if (n <= 0)
			exit(7);
		sent += (size_t)n;
	}
	if (read(fd, &answer, 1) != 1)
		exit(8);
}

/* A descriptor for direct reads of DATA_BYTES, or -1. */
static int open_data(const char *path)
{
	struct stat st;

	if (!stat(path, &st) && S_ISBLK(st.st_mode))
		return open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	return coldfile_make(path, "shards", DATA_BYTES, O_DIRECT);
}

/* --- the loop ----------------------------------------------------------------------------------------------- */

static void load_gpu(const char *library)
{
	void *handle, *found;

	if (!strcmp(library, "-"))
		return;
	handle = dlopen(library, RTLD_NOW);
	found = handle ? dlsym(handle, "cuStreamSynchronize") : NULL;
	if (!found)
		exit(9);
	memcpy(&wait_for_gpu, &found, sizeof(found));
}

int main(int argc, char **argv)
{
	int fd, network = -1;
	uint64_t until;
	unsigned int step = 0;
	pthread_t loader;
	char tag[32];

	signal(SIGPIPE, SIG_IGN);
	if (argc == 4 && !strcmp(argv[1], "peer"))
		return peer(argv[2], argv[3]);
	if (argc < 3)
		return 64;
	if (argc > 3)
		load_gpu(argv[3]);
	if (argc > 5)
		network = connect_to(argv[4], argv[5]);
	fd = open_data(argv[2]);
	if (fd < 0)
		return 2;
	puts("ready");
	fflush(stdout);
	until = monotonic_ns() + strtoul(argv[1], NULL, 10) * 1000000000ull;
	pthread_create(&loader, NULL, load, &fd);
	while (monotonic_ns() < until) {
		snprintf(tag, sizeof(tag), "train_step/%u", ++step);
		stalltag_push(step, tag);
		take_shard();
		compute();
		if (wait_for_gpu)
			wait_for_gpu(GPU_MS);
		if (network >= 0)
			all_reduce(network);
		stalltag_pop();
	}
	pthread_mutex_lock(&lock);
	over = 1;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	pthread_join(loader, NULL);
	printf("%u steps\n", step);
	return 0;
}
