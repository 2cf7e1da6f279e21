/* The tests of test_stalltag.c once more, with calls into the library instead of the inlined push and pop. Pushes tags. */
#define STALLTAG_NO_INLINE
#include "tests/unit/stalltag/test_stalltag.c"
