/*
 * Call frame information: how to get from one frame to its caller, by .eh_frame and .debug_frame.
 *
 * The table of functions (FDEs) is made when the file is opened; a row is worked out when an address is asked
 * for. Registers have DWARF's numbers of x86-64: 0 to 15, and 16 for the return address.
 */
#ifndef SYMBOLIZER_CFI_H
#define SYMBOLIZER_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/elf_file.h"

#define CFI_REGISTERS      17
#define CFI_RETURN_ADDRESS 16

enum cfi_kind {
	CFI_SAME, /* holds the caller's value; also for registers no rule speaks of */
	CFI_UNDEFINED,
	CFI_OFFSET,           /* stands at CFA + n; for the CFA itself: register + n */
	CFI_VALUE_OFFSET,     /* is CFA + n */
	CFI_REGISTER,         /* is in register n */
	CFI_EXPRESSION,       /* stands where the expression says; for the CFA itself: is what it yields */
	CFI_VALUE_EXPRESSION, /* is what the expression yields */
};

struct cfi_rule {
	uint8_t kind;
	uint8_t reg;     /* whose rule it is; of the CFA's: which register it is relative to */
	uint16_t length; /* of an expression, which is at expressions + (uint32_t)n */
	int32_t n;
};

/* Holds for addresses start to end - 1. */
struct cfi_row {
	uint64_t start, end;
	const uint8_t *expressions;
	struct cfi_rule cfa;
	bool is_signal; /* a signal interrupted the caller: its pc is exact */
	uint8_t n_rules;
	struct cfi_rule rules[CFI_REGISTERS]; /* only those that are not CFI_SAME */
};

struct cfi;

/*
 * `debug` (may be NULL) is where .debug_frame may be. Both stay open as long as the table. -ENOENT: no table
 * in either. Entries that make no sense are passed over.
 */
int cfi_new(struct elf_file *f, struct elf_file *debug, struct cfi **out);
void cfi_free(struct cfi *c);

/* -ENOENT: no entry covers the address; -EBADMSG: one does, but it is broken. */
int cfi_find(const struct cfi *c, uint64_t address, struct cfi_row *out);
size_t cfi_memory(const struct cfi *c);

#endif
