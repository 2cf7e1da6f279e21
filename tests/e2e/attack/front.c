/* front BURN_NS: a program on sched_switch that takes so long at each switch. Prints "ready" when it is attached, and ends at the end of
 * its standard input, with the number of its calls. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>

#include "front.skel.h"

int main(int argc, char **argv)
{
	struct front_bpf *front = front_bpf__open();

	if (!front || argc != 2)
		return 1;
	front->rodata->burn_ns = strtoull(argv[1], NULL, 10);
	if (front_bpf__load(front) || front_bpf__attach(front))
		return 1;
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	printf("%llu\n", (unsigned long long)front->bss->calls);
	front_bpf__destroy(front);
	return 0;
}
