/* front BURN_NS [issue]: a program on sched_switch, or on block_io_start, that takes so long each time. Prints "ready" when it is attached,
 * and ends at the end of its standard input, with the number of its calls. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "front.skel.h"

int main(int argc, char **argv)
{
	struct front_bpf *front = front_bpf__open();
	bool issue = argc == 3 && !strcmp(argv[2], "issue");

	if (!front || argc < 2 || argc != 2 + issue)
		return 1;
	bpf_program__set_autoload(front->progs.on_switch, !issue);
	bpf_program__set_autoload(front->progs.on_io_start, issue);
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
