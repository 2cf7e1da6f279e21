/* Reads strings of CPython (PEP 393) from another process's memory. */
#ifndef SYMBOLIZER_PYTHON_TEXT_H
#define SYMBOLIZER_PYTHON_TEXT_H

#include "symbolizer/python/python.h"

#define PYTHON_TEXT_MAX 4096 /* characters; a longer one is cut there */

/*
 * The string object at `address` as UTF-8, for the caller to free. What UTF-8 or C cannot hold (lone surrogates, NUL)
 * becomes U+FFFD. -EBADMSG: no compact string; -ENOMEM; -errno of reading.
 */
int python_text(const struct sym_python_layout *layout, sym_python_read read, void *context, uint64_t address,
                char **out);

#endif
