/*
 * C++ and Rust names as people write them: the Itanium ABI's mangling and Rust's older one, whose hash goes, by
 * libiberty; Rust's v0 by rust_v0.h.
 *
 * How much of a name is told:
 *	SYM_NAMES_TEMPLATES	ns::f<int>			as `c++filt -p` has it
 *	SYM_NAMES_FULL		void ns::f<int>(int) const	as `c++filt` has it
 *	SYM_NAMES_SIMPLIFIED	ns::f				without template (and Rust's generic) arguments, at
 *								any depth; "<T as Trait>::f" stays, it names
 *
 * Clones: what the compiler splits off a function or copies from it goes by the function's own name. A fixed rule,
 * for mangled names and others: from a name's end are cut ".constprop.N", ".isra.N", ".part.N", ".lto_priv.N",
 * ".llvm.N", ".cold", ".cold.N", ".localalias" and ".localalias.N", as many as there are ("f.part.0.cold" is f,
 * while "f.0" and "f.avx2" stay). Another tail of a mangled name is shown by SYM_NAMES_FULL alone, as
 * " [clone .avx2]".
 *
 * A symbol's version ("@@GLIBC_2.34") goes, too; "@plt" (plt_names.h) stays behind the demangled name.
 *
 * Hostile names: a mangled name can stand for one that is 2^1000 long, and take as long to print. So what comes
 * out over 1 MiB, nests too deep or may cost too much is not demangled, nor is a C++ name over 4096 characters.
 * It takes less than 1.5 MiB of stack and, of the worst that was tried, 0.1 s.
 */
#ifndef SYMBOLIZER_DEMANGLE_H
#define SYMBOLIZER_DEMANGLE_H

#include <stddef.h>

#include "symbolizer/types.h"

/* How `name` is to be shown, the caller's to free. NULL: as it stands (or memory is short). */
char *demangle(const char *name, enum sym_names detail);

/* How much of a name is left without its clone suffixes. */
size_t demangle_without_clones(const char *name);

#endif
