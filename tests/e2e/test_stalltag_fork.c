/*
 * Changes tags, forks under a tag, and changes tags in the child: run while a probe listens. Prints the child's
 * exit status as waitpid() gave it.
 */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stalltag/stalltag.h"

int main(void)
{
	int status = -1;
	pid_t child;

	for (int i = 0; i < 10; i++) { /* often enough for the kernel to optimise what it may */
		stalltag_push(1, "parent");
		stalltag_pop();
	}
	stalltag_push(2, "held");
	child = fork();
	if (!child) {
		stalltag_push(3, "child");
		stalltag_pop();
		_exit(stalltag_depth() == 1 ? 7 : 1);
	}
	waitpid(child, &status, 0);
	stalltag_pop();
	printf("status %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
	return 0;
}
