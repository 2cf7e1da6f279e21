/* What an ELF file on disk says of the Python in it. */
#ifndef SYMBOLIZER_PYTHON_FILE_H
#define SYMBOLIZER_PYTHON_FILE_H

#include "symbolizer/elf/elf_file.h"
#include "symbolizer/python/python.h"

/*
 * Fills the layout, with ELF addresses instead of run-time ones. -ENOENT: no Python is defined in it (it may
 * still use one); -ENOTSUP: one of a version, or built in a way, that is not known, or of another machine;
 * -EBADMSG, -errno of reading.
 *
 * The version is told by Py_Version (from 3.11 on), before that by which functions there are, so that neither
 * the file's name nor its strings have to be believed.
 */
int python_file_layout(struct elf_file *f, struct sym_python_layout *out);

#endif
