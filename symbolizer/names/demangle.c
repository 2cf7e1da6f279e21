/* Demangles C++ and old Rust names by libiberty, Rust's v0 by rust_v0.c, unless it would cost too much. */

#include "symbolizer/names/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/names/name_arguments.h"
#include "symbolizer/names/name_output.h"
#include "symbolizer/names/rust_v0.h"

#define MAX_NAME 4096 /* libiberty takes 220 bytes of stack for each character, if it must */

#define PLT "@plt"

/* Of a template and a reference to a parameter: each may cost 64 bytes of stack. */
#define MAX_PAIRS 8192

/* That a search for a parameter pack may take, by a count that is high: those that come near it take 0.05 s. */
#define MAX_STEPS (1 << 30)

struct run {
	struct name_output *out;
	jmp_buf refused; /* libiberty knows no other way to be stopped */
};

static void append(const char *text, size_t len, void *context)
{
	struct run *run = context;

	if (!name_output_put(run->out, text, len))
		longjmp(run->refused, 1);
}

/* How often one of `first` stands before one of `second` (NULL: before anything). */
static size_t count_pairs(const char *name, const char *first, const char *second)
{
	size_t n = 0;

	for (; name[0] && name[1]; name++)
		n += strchr(first, name[0]) && (!second || strchr(second, name[1]));
	return n;
}

/*
 * How many ways there may be through what substitutions (S_, S0_ ... SZZ_) stand for: the product of their uses.
 * Numbers of more digits are not told apart, so each counts as much as it can.
 */
static double count_ways(const char *name)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	uint16_t uses[1 + 36 + 36 * 37] = { 0 };
	const char *p, *digit;
	unsigned int id;
	double ways = 1;
	size_t i;

	for (p = name; (p = strchr(p, 'S')); p++) {
		id = 0;
		for (i = 1; i < 3 && p[i] && (digit = strchr(digits, p[i])); i++)
			id = id * 36 + (unsigned int)(digit - digits) + 1;
		if (p[i] == '_')
			uses[id]++;
		else if (i == 3)
			ways *= 2;
	}
	for (i = 0; i < sizeof(uses) / sizeof(*uses); i++)
		ways *= uses[i] + 1;
	return ways;
}

/*
 * Is it certain that libiberty stays within bounds? Its stack must hold templates times references to template
 * parameters; and for each pack that is expanded (Dp, sp, sZ) it searches all that is below, again and again where
 * substitutions lead to the same.
 */
static bool is_affordable(const char *name)
{
	size_t len = strnlen(name, MAX_NAME + 1), packs;

	if (len > MAX_NAME)
		return false;
	if (count_pairs(name, "RO", "TS") * count_pairs(name, "I", NULL) > MAX_PAIRS)
		return false;
	packs = count_pairs(name, "D", "p") + count_pairs(name, "s", "pZ");
	return !packs || (double)packs * (double)len * count_ways(name) <= MAX_STEPS;
}

/* Runs libiberty once, appending to `out`. False: it is no mangled name, or too much. */
static bool run_libiberty(const char *name, int options, struct name_output *out)
{
	struct run run = { .out = out };
	bool is_good;

	if (setjmp(run.refused))
		return false;
	is_good = rust_demangle_callback(name, options, append, &run);
	if (!is_good)
		is_good = cplus_demangle_v3_callback(name, options | DMGL_NO_RECURSE_LIMIT, append, &run);
	return is_good;
}

/* The parts of a name's tail that tell a clone, and whether a number always follows. */
static const struct {
	const char *word;
	bool numbered;
} clone_words[] = {
	{ "constprop", true }, { "isra", true },  { "part", true },        { "lto_priv", true },
	{ "llvm", true },      { "cold", false }, { "localalias", false },
};

static bool is_clone_word(const char *word, size_t len, bool numbered)
{
	size_t i;

	for (i = 0; i < sizeof(clone_words) / sizeof(*clone_words); i++)
		if (strlen(clone_words[i].word) == len && memcmp(clone_words[i].word, word, len) == 0)
			return numbered || !clone_words[i].numbered;
	return false;
}

/* Length of the name without its clone suffixes. */
static size_t without_clones(const char *name)
{
	size_t end = strlen(name), kept = end, len;
	const char *dot;
	bool numbered = false;

	while ((dot = memrchr(name, '.', end)) && dot > name) {
		len = (size_t)(name + end - dot) - 1;
		if (len && !numbered && strspn(dot + 1, "0123456789") >= len) {
			numbered = true;
		} else if (is_clone_word(dot + 1, len, numbered)) {
			numbered = false;
			kept = (size_t)(dot - name);
		} else {
			break;
		}
		end = (size_t)(dot - name);
	}
	return kept;
}

static bool is_mangled(const char *name)
{
	return name[0] == '_' && (name[1] == 'Z' || name[1] == 'R');
}

static bool run_rust_v0(const char *name, enum sym_names detail, struct name_output *out)
{
	const char *tail;

	if (!rust_v0_demangle(name, out, &tail))
		return false;
	if (!*tail || detail != SYM_NAMES_FULL)
		return true;
	return name_output_put(out, " [clone ", 8) && name_output_put(out, tail, strlen(tail)) &&
	       name_output_put(out, "]", 1);
}

/* Without DMGL_PARAMS libiberty does not mind what follows a name, so it has to be tried with it first. */
static bool run_cxx(const char *name, enum sym_names detail, struct name_output *out)
{
	if (!is_affordable(name) || !run_libiberty(name, DMGL_PARAMS | DMGL_ANSI, out))
		return false;
	if (detail == SYM_NAMES_FULL)
		return true;
	out->len = 0;
	return run_libiberty(name, DMGL_ANSI, out);
}

/* What `base` stands for in place of it; or itself. NULL: memory is short. */
static char *replace_mangled(char *base, enum sym_names detail)
{
	struct name_output out = { .len = 0 };

	if (is_mangled(base) &&
	    (base[1] == 'R' ? run_rust_v0(base, detail, &out) : run_cxx(base, detail, &out))) {
		free(base);
		base = out.text;
	} else {
		free(out.text);
	}
	if (detail == SYM_NAMES_SIMPLIFIED && base)
		name_arguments_cut(base);
	return base;
}

static char *append_plt(char *base)
{
	size_t len = strlen(base);
	char *longer = realloc(base, len + sizeof(PLT));

	if (longer)
		memcpy(longer + len, PLT, sizeof(PLT));
	else
		free(base);
	return longer;
}

/* Most are names of C functions, that nothing is to be done about. */
static bool is_plain(const char *name, enum sym_names detail)
{
	return !is_mangled(name) && !strpbrk(name, detail == SYM_NAMES_SIMPLIFIED ? ".@<" : ".@");
}

char *demangle(const char *name, enum sym_names detail)
{
	size_t len = strcspn(name, "@");
	bool is_plt = strcmp(name + len, PLT) == 0;
	char *base;

	if (is_plain(name, detail))
		return NULL;
	base = strndup(name, len ? len : strlen(name));
	if (!base)
		return NULL;
	base[without_clones(base)] = 0;
	base = replace_mangled(base, detail);
	if (base && is_plt)
		base = append_plt(base);
	if (base && strcmp(base, name) == 0) {
		free(base);
		base = NULL;
	}
	return base;
}
