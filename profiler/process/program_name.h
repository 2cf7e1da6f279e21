/*
 * What a command line runs, as people call it: not the interpreter, but what that runs.
 *
 *     ./train --lr 1                             train
 *     python3 -u train.py                        train.py
 *     python -m pkg.train                        pkg.train
 *     torchrun --nproc-per-node 8 train.py       train.py
 *     python -m torch.distributed.run -m pkg.train       pkg.train
 *     env OMP_NUM_THREADS=1 python train.py      train.py
 */
#ifndef STALLPROF_PROFILER_PROGRAM_NAME_H
#define STALLPROF_PROFILER_PROGRAM_NAME_H

#include <stdbool.h>
#include <stdint.h>

/* Of a path: what follows its last slash. */
const char *program_base_name(const char *path);

/* `argv` ends with NULL, and the name lives as long as it. */
const char *program_name(char *const *argv);

/* Whether it runs something else, so that its name is not its file's. */
bool program_is_interpreter(const char *file_name);

#endif
