// throw SHAPE: C++ exceptions on their way through frames with something to clean up.
#include <cstring>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

#define NOINLINE __attribute__((noinline))

static volatile int sink;

NOINLINE static void cleaning(int n)
{
	sink = sink + n;
}

struct cleaned {
	int n;
	~cleaned()
	{
		cleaning(n);
	}
};

NOINLINE static void thrower(int n)
{
	cleaned first{1};

	if (n > 0)
		throw std::runtime_error("thrown " + std::to_string(n));
}

NOINLINE static int between(int n)
{
	cleaned second{2};
	std::vector<std::string> kept(3, "a string that is too long to be kept inside the object");

	thrower(n);
	return (int)kept.size();
}

NOINLINE static void caught(const std::exception &error)
{
	sink = sink + (int)std::strlen(error.what());
}

NOINLINE static int catcher(int n)
{
	try {
		return between(n);
	} catch (const std::logic_error &) {
		return 1;
	} catch (const std::exception &error) {
		caught(error);
		return 2;
	}
}

NOINLINE static int rethrower(int n)
{
	try {
		return between(n);
	} catch (...) {
		cleaning(n);
		throw;
	}
}

int main(int argc, char **argv)
{
	if (argc > 1 && std::strcmp(argv[1], "rethrow") == 0) {
		try {
			rethrower(4);
		} catch (const std::runtime_error &error) {
			caught(error);
		}
	}
	return catcher(argc) - 2;
}
