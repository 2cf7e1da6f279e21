// unwind_target_cxx SHAPE: as unwind_target, in C++.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <unistd.h>
#include <vector>

static int pipe_ends[2];
static volatile int sink;

namespace stalls
{
template <typename T> struct reader {
	T bytes[8];

	inline __attribute__((always_inline)) void inner(int n)
	{
		if (write(STDOUT_FILENO, "!", 1) != 1)
			std::abort();
		sink = sink + (int)read(pipe_ends[0], bytes, (size_t)n);
	}

	inline __attribute__((always_inline)) void outer(int n)
	{
		inner(n);
		sink = sink + bytes[0];
	}

	__attribute__((noinline)) int block(int n)
	{
		outer(n);
		return sink + n;
	}
};

struct base {
	virtual ~base() = default;
	virtual int go(int n) = 0;
};

struct derived : base {
	__attribute__((noinline)) int go(int n) override
	{
		reader<char> r{};

		return r.block(n) + r.bytes[1];
	}
};

__attribute__((noinline)) static int with_sort(std::vector<int> &values)
{
	derived d;

	std::sort(values.begin(), values.end(), [&d](int a, int b) {
		if (!sink)
			sink = sink + d.go(1);
		return a < b;
	});
	return values[0];
}

__attribute__((noinline)) static int with_function(const std::function<int(int)> &f)
{
	return f(3) + sink;
}

struct counter {
	int n;

	__attribute__((noinline)) int operator()(int by)
	{
		derived d;

		return d.go(by) + n;
	}
};
} // namespace stalls

int main(int argc, char **argv)
{
	std::string shape = argc > 1 ? argv[1] : "sort";
	std::vector<int> values;

	if (pipe(pipe_ends))
		return 1;
	for (int i = 0; i < 100; i++)
		values.push_back((i * 37) % 100);
	if (shape == "function") {
		stalls::counter c{ 2 };

		return stalls::with_function(c) + 1;
	}
	return stalls::with_sort(values) + 1;
}
