// unwind/target: C++ of many layers down to a read() that never returns; writes one byte when it is about to get there.
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

static int pipe_ends[2];
static volatile int sink;

struct layer {
	virtual ~layer() = default;
	virtual int go(int depth, std::string &text) = 0;
};

static int descend(int depth, std::string &text);

struct sorting : layer {
	int go(int depth, std::string &text) override
	{
		std::vector<int> values{ 5, 3, 8, 1 };
		bool gone = false;

		std::sort(values.begin(), values.end(), [&](int a, int b) {
			if (!gone) {
				gone = true;
				sink = sink + descend(depth - 1, text);
			}
			return a < b;
		});
		return values[0];
	}
};

struct calling : layer {
	int go(int depth, std::string &text) override
	{
		std::map<int, std::function<int(int)>> table;

		table[1] = [&text](int n) { return descend(n, text) + (int)text.size(); };
		return table.at(1)(depth - 1);
	}
};

__attribute__((noinline)) static int descend(int depth, std::string &text)
{
	std::unique_ptr<layer> next;
	char byte;

	if (depth % 2)
		next = std::make_unique<sorting>();
	else
		next = std::make_unique<calling>();
	if (depth)
		return next->go(depth, text) + 1;
	if (write(STDOUT_FILENO, "!", 1) != 1)
		std::abort();
	return (int)read(pipe_ends[0], &byte, 1);
}

int main()
{
	std::string text = "layers";

	return pipe(pipe_ends) ? 1 : descend(16, text);
}
