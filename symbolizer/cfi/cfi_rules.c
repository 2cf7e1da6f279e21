/* The pool of unwind rules: turns rows into compact rules and keeps equal ones once. */

#include "symbolizer/cfi/cfi_rules.h"
#include "symbolizer/base/growing_array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Real libraries have up to 1,400 of them, in 130 KB. One with expressions may have 4 KB (of aarch64 8 KB). */
#define MAX_RULES      (1 << 20)
#define MAX_RULE_BYTES ((size_t)16 << 20)

static bool is_expression(const struct cfi_rule *r)
{
	return r->kind == CFI_EXPRESSION || r->kind == CFI_VALUE_EXPRESSION;
}

/* Brings a rule's expression along, to `used` bytes behind the start. */
static size_t take_expression(struct cfi_rules *to, size_t used, struct cfi_rule *rule,
                              const struct cfi_row *row)
{
	if (!is_expression(rule))
		return used;
	memcpy((char *)to + used, row->expressions + (uint32_t)rule->n, rule->length);
	rule->n = (int32_t)used;
	return used + rule->length;
}

static void note_kind(struct cfi_rules *r, const struct cfi_arch *arch)
{
	int i;

	r->is_plain = r->cfa.kind == CFI_OFFSET && !r->is_signal &&
	              (arch->has_link || r->saved >> r->return_register & 1);
	for (i = 0; i < r->n_rules; i++) {
		r->is_plain &=
		        r->rules[i].kind == CFI_OFFSET && r->rules[i].n <= -8 && r->rules[i].reg != arch->sp;
		r->is_outermost |= r->rules[i].reg == r->return_register && r->rules[i].kind == CFI_UNDEFINED;
		if (r->rules[i].n < r->lowest)
			r->lowest = r->rules[i].n;
	}
}

static size_t expression_bytes(const struct cfi_rule *rule)
{
	return is_expression(rule) ? rule->length : 0;
}

/* How many words of 8 bytes the rules will have. */
static size_t count_words(const struct cfi_row *row)
{
	size_t i, bytes = sizeof(struct cfi_rules) + expression_bytes(&row->cfa);

	for (i = 0; i < row->n_rules; i++)
		bytes += sizeof(*row->rules) + expression_bytes(&row->rules[i]);
	return (bytes + 7) / 8;
}

/* Leaves nothing in it unset, as it is compared byte by byte. */
static void compose(struct cfi_rules *r, const struct cfi_arch *arch, const struct cfi_row *row)
{
	size_t used = sizeof(*r) + row->n_rules * sizeof(*row->rules);
	int i;

	*r = (struct cfi_rules){ .n_rules = row->n_rules,
		                 .return_register = row->return_register,
		                 .is_signal = row->is_signal,
		                 .is_signed = row->is_signed,
		                 .cfa = row->cfa };
	used = take_expression(r, used, &r->cfa, row);
	memcpy(r->rules, row->rules, row->n_rules * sizeof(*row->rules));
	for (i = 0; i < r->n_rules; i++) {
		r->saved |= (uint64_t)1 << r->rules[i].reg;
		used = take_expression(r, used, &r->rules[i], row);
	}
	note_kind(r, arch);
	memset((char *)r + used, 0, -used & 7);
	r->words = (uint16_t)((used + 7) / 8);
}

static size_t hash_of(const void *rules)
{
	const uint64_t *words = rules;
	uint64_t h = 0;
	size_t i, n = ((const struct cfi_rules *)rules)->words;

	for (i = 0; i < n; i++)
		h = (h ^ words[i]) * 0x9e3779b97f4a7c15u, h ^= h >> 29;
	return h;
}

/* Of those, or of the free bucket they would get. */
static size_t bucket_of(const struct cfi_rule_pool *p, const struct cfi_rules *r)
{
	size_t i = hash_of(r) & (p->n_buckets - 1);

	while (p->buckets[i] && (p->by_id[p->buckets[i]]->words != r->words ||
	                         memcmp(p->by_id[p->buckets[i]], r, r->words * sizeof(uint64_t)) != 0))
		i = (i + 1) & (p->n_buckets - 1);
	return i;
}

static int grow_buckets(struct cfi_rule_pool *p)
{
	size_t i, more = p->n_buckets ? p->n_buckets * 2 : 128;
	uint32_t *buckets = calloc(more, sizeof(*buckets));

	if (!buckets)
		return -ENOMEM;
	free(p->buckets);
	p->buckets = buckets;
	p->n_buckets = more;
	for (i = CFI_FIRST_RULES; i < p->n; i++)
		buckets[bucket_of(p, p->by_id[i])] = (uint32_t)i;
	return 0;
}

static int grow(struct cfi_rule_pool *p)
{
	if (p->n < p->max && p->n * 2 < p->n_buckets)
		return 0;
	if (growing_array_reserve((void **)&p->by_id, p->n + CFI_FIRST_RULES + 1, &p->max,
	                          sizeof(struct cfi_rules *), SIZE_MAX))
		return -ENOMEM;
	while (p->n < CFI_FIRST_RULES)
		p->by_id[p->n++] = NULL;
	return p->n * 2 < p->n_buckets ? 0 : grow_buckets(p);
}

/* A new id for the rules. */
static int keep(struct cfi_rule_pool *p, const struct cfi_rules *made, uint32_t *id)
{
	size_t bytes = made->words * sizeof(uint64_t);
	struct cfi_rules *kept;

	if (p->n >= MAX_RULES || bytes + p->memory.bytes > MAX_RULE_BYTES)
		return -ENOSPC;
	kept = arena_alloc(&p->memory, bytes);
	if (!kept)
		return -ENOMEM;
	memcpy(kept, made, bytes);
	p->by_id[p->n] = kept;
	*id = (uint32_t)p->n++;
	return 0;
}

int cfi_rule_pool_add(struct cfi_rule_pool *p, const struct cfi_arch *arch, const struct cfi_row *row,
                      uint32_t *id)
{
	struct cfi_rules *made;
	size_t bucket;
	int err = grow(p);

	if (!err)
		err = growing_array_reserve((void **)&p->scratch, count_words(row), &p->max_scratch,
		                            sizeof(uint64_t), SIZE_MAX);
	if (err)
		return err;
	if (row->cfa.kind == CFI_SAME)
		return -EBADMSG;
	made = (struct cfi_rules *)p->scratch;
	compose(made, arch, row);
	bucket = bucket_of(p, made);
	if (!p->buckets[bucket])
		err = keep(p, made, &p->buckets[bucket]);
	if (!err)
		*id = p->buckets[bucket];
	return err;
}

void cfi_rule_pool_free(struct cfi_rule_pool *p)
{
	arena_free(&p->memory);
	free(p->by_id);
	free(p->buckets);
	free(p->scratch);
	*p = (struct cfi_rule_pool){ 0 };
}

size_t cfi_rule_pool_memory(const struct cfi_rule_pool *p)
{
	return p->memory.bytes + p->max * sizeof(struct cfi_rules *) + p->n_buckets * sizeof(*p->buckets) +
	       p->max_scratch * sizeof(*p->scratch);
}
