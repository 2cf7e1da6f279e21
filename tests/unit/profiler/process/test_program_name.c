/* Tests of program_name.h: the name of a command line, interpreters included. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "profiler/process/program_name.h"

#define WORDS_MAX 16

/* The command line is split at blanks. */
static const struct {
	const char *line, *name;
} cases[] = {
	{ "./train --lr 1", "train" },
	{ "/usr/bin/dd if=x", "dd" },
	{ "python", "python" },
	{ "python3 -", "python3" },
	{ "python3 -c pass", "python3" },
	{ "python3 train.py", "train.py" },
	{ "/usr/bin/python3.12 -u src/train.py --epochs 3 other.py", "train.py" },
	{ "pypy3 train.py", "train.py" },
	{ "python3.13t train.py", "train.py" },
	{ "python3-dbg -X dev train.py", "train.py" },
	{ "python -m pkg.train --lr 1", "pkg.train" },
	{ "python -um pkg.train", "pkg.train" },
	{ "python -mpkg.train", "pkg.train" },
	{ "python -W ignore -X dev -B train.py", "train.py" },
	{ "python -Wignore -Xdev -OO train.py", "train.py" },
	{ "python --check-hash-based-pycs always train.py", "train.py" },
	{ "python -m", "python" },
	{ "python -W", "python" },
	{ "python train", "train" },
	{ "pythonic x.py", "pythonic" },
	{ "torchrun --nproc_per_node 2 --nnodes=1 train.py --lr 1", "train.py" },
	{ "/opt/venv/bin/torchrun --nproc-per-node=2 -m pkg.train", "pkg.train" },
	{ "torchrun -m --rdzv_backend c10d pkg.train", "pkg.train" },
	{ "torchrun -m train", "train" },
	{ "torchrun --help", "torchrun" },
	{ "python -m torch.distributed.run --nproc_per_node 2 train.py", "train.py" },
	{ "python -m torch.distributed.run -m pkg.train", "pkg.train" },
	{ "python /opt/bin/torchrun --nproc_per_node 2 train.py", "train.py" },
	{ "accelerate launch --num_processes 2 train.py", "train.py" },
	{ "deepspeed --num_gpus 2 src/train.py", "train.py" },
	{ "env A=1 B=2 python train.py", "train.py" },
	{ "env -i python train.py", "env" },
	{ "env", "env" },
	{ "sh -c true", "sh" },
	{ "/", "/" },
};

static void test_program_name__of_command_lines(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char line[256], *argv[WORDS_MAX + 1] = { line }, *at;
		size_t n = 1, size = strlen(cases[i].line) + 1;

		memcpy(line, cases[i].line, size);
		for (at = line; (at = strchr(at, ' ')) && n < WORDS_MAX; at++) {
			*at = '\0';
			argv[n++] = at + 1;
		}
		if (strcmp(program_name(argv), cases[i].name) != 0)
			fail_msg("%s: %s, not %s", cases[i].line, program_name(argv), cases[i].name);
	}
}

static void test_program_name__interpreters(void **state)
{
	static const char *const are[] = { "python3.11",   "torchrun",   "python3.13t", "python3.12d",
		                           "python3.14td", "python3.7m", "python3-dbg", "python3.12-debug" };
	static const char *const are_not[] = { "python-config", "python3.12-config", "python3t-config",
		                               "pythont",       "pythond",           "train" };

	(void)state;
	for (size_t i = 0; i < sizeof(are) / sizeof(are[0]); i++)
		if (!program_is_interpreter(are[i]))
			fail_msg("%s is an interpreter", are[i]);
	for (size_t i = 0; i < sizeof(are_not) / sizeof(are_not[0]); i++)
		if (program_is_interpreter(are_not[i]))
			fail_msg("%s is no interpreter", are_not[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_program_name__of_command_lines),
		cmocka_unit_test(test_program_name__interpreters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
