/* The FUSE file system of tests/e2e/attack, for guests. */
#include "tests/e2e/attack/slowfs.c"
