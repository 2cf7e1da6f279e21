/* Names without the arguments of templates and generics: "std::vector<int>::push_back" is std::vector::push_back. */
#ifndef SYMBOLIZER_NAME_ARGUMENTS_H
#define SYMBOLIZER_NAME_ARGUMENTS_H

/*
 * Cuts them from a demangled name, in place, at any depth. What a Rust function is named after stays: <T as Trait>::f,
 * <impl Trait for T>::f. A name whose brackets don't match stays whole.
 */
void name_arguments_cut(char *name);

#endif
