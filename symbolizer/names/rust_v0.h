/*
 * Rust's "v0" mangling (RFC 2603, with constants and patterns as rustc has come to write them since):
 * _RNvCs1234_7mycrate3foo is mycrate::foo. Names come out as rustc-demangle's short form has them: no hashes of
 * crates, no types of integer constants.
 *
 * Nesting, steps, lifetimes and output (name_output.h) are bounded, against names that are made to take long.
 */
#ifndef SYMBOLIZER_RUST_V0_H
#define SYMBOLIZER_RUST_V0_H

#include "symbolizer/names/name_output.h"

/* Appends what `name` stands for; *tail is what follows the mangled part. False: it is no such name. */
bool rust_v0_demangle(const char *name, struct name_output *out, const char **tail);

#endif
