/*
 * The name of the program that a command line runs; for an interpreter or launcher, that of the script that it
 * runs.
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

/* The part of a path behind its last slash. */
const char *program_base_name(const char *path);

/* `argv` ends with NULL. The result lives as long as `argv`. */
const char *program_name(char *const *argv);

/* Whether a program of this file name is a Python interpreter or a launcher, and so not named after its own
 * file. */
bool program_is_interpreter(const char *file_name);

#endif
