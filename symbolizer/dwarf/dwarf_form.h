/* Attribute values: how long each form is, and reading it raw. */
#ifndef SYMBOLIZER_DWARF_FORM_H
#define SYMBOLIZER_DWARF_FORM_H

#include "symbolizer/dwarf/dwarf_types.h"

/* Skip or read a value. At an unknown form both fail the cursor. */
void dwarf_form_skip(const struct dwarf_unit *u, struct dwarf_cursor *c, uint16_t form);
void dwarf_form_read(const struct dwarf_unit *u, struct dwarf_cursor *c,
                     const struct dwarf_attribute *attribute, struct dwarf_value *out);

/* Bytes that a value of that form always takes with 8-byte addresses and 4-byte offsets; -1: it varies. */
int dwarf_form_usual_length(uint16_t form);

/* Is a high_pc of this form an address (else it is a length)? */
bool dwarf_form_is_address(uint16_t form);

#endif
