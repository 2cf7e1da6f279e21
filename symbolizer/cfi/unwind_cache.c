/* The unwind cache: makes it, and fills a slot, finding out whether its rules are simple enough to be "hot". */

#include "symbolizer/cfi/unwind_cache.h"

#include <string.h>
#include <sys/mman.h>

/*
 * A stack's addresses lie all over the cache: each would cost a page fault, or two, since it is read before it is
 * written. So all pages are had at once, in a third of the time, and before there is a stack.
 */
struct unwind_cache *unwind_cache_new(void)
{
	void *c = mmap(NULL, sizeof(struct unwind_cache), PROT_READ | PROT_WRITE,
	               MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	return c == MAP_FAILED ? NULL : c;
}

void unwind_cache_free(struct unwind_cache *c)
{
	if (c)
		munmap(c, sizeof(*c));
}

void unwind_cache_clear(struct unwind_cache *c)
{
	memset(c, 0, sizeof(*c));
}

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
