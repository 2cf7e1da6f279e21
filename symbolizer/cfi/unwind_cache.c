/* Fills a slot of the unwind cache, and finds out whether its rules are simple enough to be "hot". */

#include "symbolizer/cfi/unwind_cache.h"

static int32_t offset_of(const struct cfi_rules *rules, uint8_t reg)
{
	int i;

	for (i = 0; i < rules->n_rules; i++)
		if (rules->rules[i].reg == reg)
			return rules->rules[i].n;
	return 0;
}

void unwind_cache_fill(struct unwind_slot *slot, const struct cfi_arch *arch, uint64_t address,
                       uint64_t version, const struct cfi_rules *rules, void *owner)
{
	*slot = (struct unwind_slot){ .address = address,
		                      .version = version,
		                      .rules = rules,
		                      .owner = owner,
		                      .is_signal = rules->is_signal };
	if (!rules->is_plain || (rules->cfa.reg != arch->sp && rules->cfa.reg != arch->fp))
		return;
	slot->is_by_fp = rules->cfa.reg == arch->fp;
	slot->cfa_n = rules->cfa.n;
	slot->return_n = offset_of(rules, rules->return_register);
	slot->fp_n = offset_of(rules, arch->fp);
	slot->depth = (int32_t)(0u - (uint32_t)rules->lowest);
	slot->is_hot = slot->return_n && !rules->is_signed;
}
