/*
 * reload a=LIBRARY b=LIBRARY rounds=N a_ms=N b_ms=N: loads one library, waits in a function of it, unloads it, and does so with the other one, which
 * the kernel maps in the same place. Prints each wait by its own clock: {"function", "ns"}.
 */
#include <dlfcn.h>
#include <stdio.h>

#include "attack.h"

static void wait_in(const char *path, unsigned int us)
{
	void *library = dlopen(path, RTLD_NOW);
	uint64_t began_ns;
	void (*waits)(unsigned int us);
	const char **name;

	must(library != NULL, path);
	waits = (void (*)(unsigned int))dlsym(library, "waits");
	name = dlsym(library, "name");
	must(waits && name, "dlsym");
	began_ns = monotonic_ns();
	waits(us);
	dprintf(1, "{\"function\": \"%s\", \"ns\": %lu}\n", *name,
	        (unsigned long)(monotonic_ns() - began_ns));
	dlclose(library);
}

int main(int argc, char **argv)
{
	long rounds = argument(argc, argv, "rounds", 20);

	sleep_ms(300); /* the profiler knows the process then */
	for (long i = 0; i < rounds; i++) {
		wait_in(argument_text(argc, argv, "a", ""),
		        (unsigned int)argument(argc, argv, "a_ms", 300) * 1000);
		wait_in(argument_text(argc, argv, "b", ""),
		        (unsigned int)argument(argc, argv, "b_ms", 300) * 1000);
	}
	return 0;
}
