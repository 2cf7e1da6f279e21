/*
 * C++ and Rust names as people write them.
 *
 * C++ is demangled by the C++ run-time library's own __cxa_demangle, loaded when first needed: a program that
 * never meets a C++ name has no need of it, and where it is missing names stay mangled.
 */
#ifndef SYMBOLIZER_DEMANGLE_H
#define SYMBOLIZER_DEMANGLE_H

#include <stdbool.h>

/*
 * `name` demangled, the caller's to free; NULL: it is not mangled, or can't be demangled. Without
 * keep_parameters the return type and the outermost parameter list go: "void ns::f<int>(int) const" becomes
 * "ns::f<int>". Rust's hash ("::h0123456789abcdef") always goes.
 */
char *demangle(const char *name, bool keep_parameters);

/* Cuts the same from a demangled name, in place. */
void demangle_cut_parameters(char *name);

#endif
