/*
 * Unwind rules: how to get from a frame to its caller. A library of 2.7 million rows has only some thousands of
 * different ones, so each is kept once in a pool, with its expressions, and a row is an address and an id.
 */
#ifndef SYMBOLIZER_CFI_RULES_H
#define SYMBOLIZER_CFI_RULES_H

#include "symbolizer/base/arena.h"
#include "symbolizer/cfi/cfi_program.h"

/* Ids that every pool has. */
enum { CFI_RULES_NONE, CFI_RULES_BROKEN, CFI_FIRST_RULES };

/*
 * is_plain: the CFA is cfa.reg + cfa.n; all other rules are CFI_OFFSET, below the CFA, and the return register is
 * among them, unless the processor has a link register. The offset of an expression is from the start of this struct.
 */
struct cfi_rules {
	uint16_t words; /* size in words of 8 bytes */
	uint8_t n_rules;
	uint8_t return_register;
	bool is_plain, is_signal, is_signed;
	bool is_outermost; /* the return register is CFI_UNDEFINED: there is no caller */
	uint64_t saved;    /* one bit a register: those in `rules` */
	struct cfi_rule cfa;
	int32_t lowest; /* of plain ones: the n furthest below the CFA */
	int32_t zero_too;
	struct cfi_rule rules[];
};

/* A zeroed one is empty. */
struct cfi_rule_pool {
	struct arena memory;
	const struct cfi_rules **by_id; /* NULL for the first two */
	size_t n, max;
	uint32_t *buckets; /* a hash of ids; 0: free */
	size_t n_buckets;
	uint64_t *scratch; /* for the rules being added: a stack has no room for the largest */
	size_t max_scratch;
};

/*
 * Finds or adds the rules of a row; *id becomes their id. -EBADMSG: it has no CFA; -ENOSPC: these are new, and
 * there are too many, or too large ones, already; -ENOMEM.
 */
int cfi_rule_pool_add(struct cfi_rule_pool *p, const struct cfi_arch *arch, const struct cfi_row *row,
                      uint32_t *id);

void cfi_rule_pool_free(struct cfi_rule_pool *p);
size_t cfi_rule_pool_memory(const struct cfi_rule_pool *p);

#endif
