/* DWARF expressions, as far as call frame information uses them. */
#ifndef SYMBOLIZER_CFI_EXPRESSION_H
#define SYMBOLIZER_CFI_EXPRESSION_H

#include <stddef.h>
#include <stdint.h>

struct cfi_environment {
	/* Both return 0 or -errno, which ends the evaluation. */
	int (*read_register)(void *context, unsigned int reg, uint64_t *value);
	int (*read_memory)(void *context, uint64_t address, size_t len, uint64_t *value);
	void *context;
	unsigned int n_registers; /* read_register() is asked for lower ones only */
	uint64_t load_bias;       /* added to addresses in the expression */
};

/*
 * Evaluates with *initial on the stack (NULL: nothing); *result is what is on top at the end. -EBADMSG: a malformed
 * expression, or one that exceeds the evaluator's bounds; else the environment's error.
 */
int cfi_expression_evaluate(const uint8_t *ops, size_t len, const uint64_t *initial,
                            const struct cfi_environment *env, uint64_t *result);

#endif
