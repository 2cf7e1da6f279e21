// Work handed over as training jobs do it: an OpenMP region in a thread of a future's; with an argument, by a coroutine.
#include <coroutine>
#include <exception>
#include <functional>
#include <future>
#include <vector>

static volatile int sink;

__attribute__((noinline)) static void here(int n)
{
	sink = sink + n;
}

struct task {
	struct promise_type {
		task get_return_object()
		{
			return task{std::coroutine_handle<promise_type>::from_promise(*this)};
		}
		std::suspend_always initial_suspend()
		{
			return {};
		}
		std::suspend_always final_suspend() noexcept
		{
			return {};
		}
		void return_void()
		{
		}
		void unhandled_exception()
		{
			std::terminate();
		}
	};

	std::coroutine_handle<promise_type> handle;
};

static task resumed(int n)
{
	here(n);
	co_await std::suspend_always{};
	here(n + 1);
}

static int region(const std::function<void(int)> &each)
{
#pragma omp parallel for num_threads(2) schedule(static, 1)
	for (int i = 0; i < 2; i++)
		each(i);
	return sink;
}

static void by_future()
{
	std::vector<int> values{1, 2, 3};
	auto done = std::async(std::launch::async, [&values] { return region([&values](int i) { here(values[i]); }); });

	done.get();
}

static void by_coroutine()
{
	task t = resumed(3);

	t.handle.resume();
	t.handle.resume();
	t.handle.destroy();
}

int main(int argc, char **)
{
	if (argc > 1)
		by_coroutine();
	else
		by_future();
}
