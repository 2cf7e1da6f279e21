/* The program of tests/e2e/attack/test_silent_mount, for guests. */
#include "tests/e2e/attack/saves.c"
