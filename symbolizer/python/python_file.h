/* Finds out which Python an ELF file has, and its layout. */
#ifndef SYMBOLIZER_PYTHON_FILE_H
#define SYMBOLIZER_PYTHON_FILE_H

#include "symbolizer/elf/elf_file.h"
#include "symbolizer/python/python.h"

/*
 * Fills the layout, with ELF addresses instead of run-time ones. -ENOENT: no Python is defined in it (it may still
 * use one); -ENOTSUP: an unknown version or kind of build, or another machine; -EBADMSG, -errno of reading.
 *
 * The version is Py_Version's (from 3.11 on); older ones are told by which functions there are. The file's name and
 * strings are not trusted.
 */
int python_file_layout(struct elf_file *f, struct sym_python_layout *out);

#endif
