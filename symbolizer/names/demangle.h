/*
 * Demangles C++ and Rust names: the Itanium ABI's mangling and Rust's older one, whose hash is left out, by
 * libiberty; Rust's v0 by rust_v0.h.
 *
 * How much of a name is shown:
 *	SYM_NAMES_TEMPLATES	ns::f<int>			as `c++filt -p` has it
 *	SYM_NAMES_FULL		void ns::f<int>(int) const	as `c++filt` has it
 *	SYM_NAMES_SIMPLIFIED	ns::f				without template (and Rust's generic) arguments, at
 *								any depth; "<T as Trait>::f" stays, it names
 *
 * Clones, the parts and copies that a compiler makes of a function, have the function's own name. By a fixed rule,
 * for mangled names and others, these are cut from a name's end: ".constprop.N", ".isra.N", ".part.N", ".lto_priv.N",
 * ".llvm.N", ".cold", ".cold.N", ".localalias" and ".localalias.N", as many as there are ("f.part.0.cold" is f, while
 * "f.0" and "f.avx2" stay). Another tail of a mangled name is shown by SYM_NAMES_FULL alone, as " [clone .avx2]".
 *
 * A symbol's version ("@@GLIBC_2.34") is cut, too; "@plt" (plt_names.h) stays behind the demangled name.
 *
 * Hostile names: a mangled name can stand for one that is 2^1000 long, and take as long to print. So what comes
 * out over 1 MiB, nests too deep or may cost too much is not demangled, nor is a C++ name over 4096 characters.
 * It takes less than 1.5 MiB of stack and, of the worst that was tried, 0.1 s.
 */
#ifndef SYMBOLIZER_DEMANGLE_H
#define SYMBOLIZER_DEMANGLE_H

#include "symbolizer/types.h"

/* Returns the text to show for `name`, the caller's to free. NULL: show `name` as it is (or memory is short). */
char *demangle(const char *name, enum sym_names detail);

#endif
