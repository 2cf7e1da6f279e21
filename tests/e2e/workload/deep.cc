// deep_cc: the C++ twin of deep.c: namespaces, templates, lambdas, a virtual call and std::function on the
// way down.
//
//   deep_cc --seconds S --dir DIR [--throttle-cgroup CGROUP]
//
// Waits in O_DIRECT writes. Prints {"pid", "tids", "call"} when running and {"calls", "waited_ns"} at the
// end.
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "stalltag/stalltag.h"

namespace deep
{

constexpr size_t chunk_bytes = 512 << 10;
constexpr size_t file_bytes = 16 << 20;
using steady = std::chrono::steady_clock;

struct job {
	std::string dir, cgroup;
	double seconds = 5;
	int fd = -1;
	char *buffer = nullptr;
	size_t at = 0;
	unsigned long long calls = 0, waited_ns = 0;
};

namespace storage
{

__attribute__((always_inline)) inline bool put_chunk(job &job)
{
	auto began = steady::now();
	ssize_t put = pwrite(job.fd, job.buffer, chunk_bytes, static_cast<off_t>(job.at));

	job.waited_ns += static_cast<unsigned long long>((steady::now() - began).count());
	job.calls++;
	job.at = (job.at + chunk_bytes) % file_bytes;
	return put > 0; // a debugger that stops us may cut a write short
}

struct writer {
	virtual ~writer() = default;
	virtual bool write(job &job) = 0;
};

struct direct_writer : writer {
	__attribute__((noinline)) bool write(job &job) override
	{
		bool ok = put_chunk(job);

		__asm__ volatile("" : "+r"(ok));
		return ok;
	}
};

} // namespace storage

template <int Levels, typename Inner> __attribute__((noinline)) bool descend(job &job, const Inner &inner)
{
	bool ok;

	if constexpr (Levels > 0)
		ok = descend<Levels - 1>(job, inner);
	else
		ok = inner(job);
	__asm__ volatile("" : "+r"(ok));
	return ok;
}

template <typename Value> struct tensor {
	std::vector<Value> values;
	storage::writer &out;

	__attribute__((always_inline)) bool encode(job &job)
	{
		values[0] += 1;
		return descend<4>(job, [this](struct job &inner) { return out.write(inner); });
	}

	__attribute__((noinline)) bool save(job &job)
	{
		bool ok = encode(job);

		values[1] += ok;
		return ok;
	}
};

__attribute__((noinline)) bool run_epoch(job &job, const std::function<bool()> &step)
{
	auto until = steady::now() + std::chrono::duration<double>(job.seconds);
	bool ok = true;

	while (ok && steady::now() < until)
		ok = step();
	return ok;
}

bool prepare(job &job)
{
	std::string path = job.dir + "/deep_cc." + std::to_string(getpid());
	void *memory = nullptr;

	if (posix_memalign(&memory, 4096, chunk_bytes))
		return false;
	job.buffer = static_cast<char *>(memory);
	memset(job.buffer, 0x5a, chunk_bytes);
	job.fd = open(path.c_str(), O_RDWR | O_CREAT | O_DIRECT | O_CLOEXEC, 0600);
	unlink(path.c_str());
	for (size_t at = 0; job.fd >= 0 && at < file_bytes; at += chunk_bytes)
		if (pwrite(job.fd, job.buffer, chunk_bytes, static_cast<off_t>(at)) < 0)
			return false;
	if (job.fd >= 0 && !job.cgroup.empty())
		std::ofstream(job.cgroup + "/tasks") << syscall(SYS_gettid);
	return job.fd >= 0;
}

void thread_main(job &job)
{
	storage::direct_writer out;
	tensor<double> weights{ std::vector<double>(16), out };

	if (!prepare(job)) {
		fprintf(stderr, "deep_cc: %s\n", strerror(errno));
		exit(1);
	}
	printf("{\"pid\": %d, \"call\": \"pwrite\", \"tids\": [%ld]}\n", getpid(), syscall(SYS_gettid));
	fflush(stdout);
	stalltag_push(2, "deep_write/cc");
	if (!run_epoch(job, [&] { return weights.save(job); }))
		exit(1);
	stalltag_pop();
	close(job.fd);
	free(job.buffer);
}

} // namespace deep

int main(int argc, char **argv)
{
	deep::job job;

	for (int i = 1; i + 1 < argc; i += 2) {
		std::string option = argv[i];

		if (option == "--seconds")
			job.seconds = strtod(argv[i + 1], nullptr);
		else if (option == "--dir")
			job.dir = argv[i + 1];
		else if (option == "--throttle-cgroup")
			job.cgroup = argv[i + 1];
	}
	if (job.dir.empty()) {
		fprintf(stderr, "usage: deep_cc --seconds S --dir DIR [--throttle-cgroup CGROUP]\n");
		return 2;
	}
	std::thread(deep::thread_main, std::ref(job)).join();
	printf("{\"calls\": %llu, \"waited_ns\": %llu}\n", job.calls, job.waited_ns);
	return 0;
}
