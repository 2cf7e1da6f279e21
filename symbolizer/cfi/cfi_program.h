/* The exact evaluator: the instructions that CIEs and FDEs are made of, run as DWARF says. */
#ifndef SYMBOLIZER_CFI_PROGRAM_H
#define SYMBOLIZER_CFI_PROGRAM_H

#include "symbolizer/cfi/cfi_entry.h"

/* Longer expressions are refused; real ones have some 20 bytes. */
#define CFI_MAX_EXPRESSION 256

enum cfi_kind {
	CFI_SAME, /* holds the caller's value; also for registers without a rule */
	CFI_UNDEFINED,
	CFI_OFFSET,           /* stands at CFA + n; for the CFA itself: register + n */
	CFI_VALUE_OFFSET,     /* is CFA + n */
	CFI_REGISTER,         /* is in register n */
	CFI_EXPRESSION,       /* stands where the expression says; for the CFA itself: is what it yields */
	CFI_VALUE_EXPRESSION, /* is what the expression yields */
};

struct cfi_rule {
	uint8_t kind;
	uint8_t reg;     /* the register that the rule is for; of the CFA's: the one it is relative to */
	uint16_t length; /* of an expression, which is at expressions + (uint32_t)n */
	int32_t n;
};

/* Holds for addresses start to end - 1. */
struct cfi_row {
	uint64_t start, end;
	const uint8_t *expressions;
	struct cfi_rule cfa;
	bool is_signal;          /* a signal interrupted the caller: its pc is exact */
	bool is_signed;          /* the return address has an authentication code in it */
	uint8_t return_register; /* its value in the caller's frame is the pc there */
	uint8_t n_rules;
	struct cfi_rule rules[CFI_MAX_REGISTERS]; /* only those that are not CFI_SAME, by register */
};

/*
 * Runs the CIE's and then the FDE's instructions up to `address`. -EBADMSG: unknown instructions before it, or
 * numbers that no frame could have.
 */
int cfi_program_run(const struct cfi_section *s, const struct cfi_fde *fde, uint64_t address,
                    struct cfi_row *out);

/* A row whose CFA has no rule (CFI_SAME) is broken: cfi_program_run() refuses it. */
typedef void (*cfi_row_function)(void *context, const struct cfi_row *row);

/*
 * All rows of an FDE, by address, none overlapping another; the last may end behind the FDE's end, and some may
 * begin behind it. -EBADMSG: there are no rows from *broken_from on, where cfi_program_run() fails, too.
 */
int cfi_program_rows(const struct cfi_section *s, const struct cfi_fde *fde, cfi_row_function on_row,
                     void *context, uint64_t *broken_from);

#endif
