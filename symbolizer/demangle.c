#include "symbolizer/demangle.h"

#include <ctype.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Longer ones are not worth what demangling them may cost. */
#define MAX_NAME 32768

typedef char *(*cxa_demangle_fn)(const char *name, char *buffer, size_t *len, int *status);

static cxa_demangle_fn cxa_demangle;

static void load_cxa_demangle(void)
{
	void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);

	if (library)
		cxa_demangle = (cxa_demangle_fn)dlsym(library, "__cxa_demangle");
}

static bool is_identifier(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
}

static bool starts_with(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

/* Where the bracket that opens at s[i] is closed; the string's end if it isn't. */
static size_t closing(const char *s, size_t i)
{
	int depth = 0;

	for (; s[i]; i++) {
		if (strchr("(<[{", s[i]))
			depth++;
		else if (strchr(")]}", s[i]) || (s[i] == '>' && s[i - 1] != '-'))
			depth--;
		if (!depth)
			return i;
	}
	return i;
}

/* "operator()", "operator<<", "operator bool": the index of what follows its name. */
static size_t skip_operator(const char *s, size_t i)
{
	i += strlen("operator");
	if (starts_with(s + i, "()"))
		return i + 2;
	while (s[i] && s[i] != '(')
		i++;
	return i;
}

/*
 * At s[i] a parenthesis opens outside all others. Returns where to go on when it belongs to the name
 * ("(anonymous namespace)", or a function that something local to it comes after), else `i`.
 */
static size_t skip_inner_group(const char *s, size_t i)
{
	size_t end = closing(s, i);

	if (!s[end])
		return i;
	end++;
	if (starts_with(s + i, "(anonymous namespace)"))
		return end;
	if (i >= 8 && strncmp(s + i - 8, "decltype", 8) == 0)
		return end;
	if (starts_with(s + end, " const"))
		return starts_with(s + end + 6, "::") ? end + 6 : i;
	return starts_with(s + end, "::") ? end : i;
}

void demangle_cut_parameters(char *name)
{
	size_t i = 0, start = 0, next;

	while (name[i]) {
		if (starts_with(name + i, "operator") && (!i || !is_identifier(name[i - 1])) &&
		    !is_identifier(name[i + 8])) {
			i = skip_operator(name, i);
		} else if (name[i] == '(') {
			next = skip_inner_group(name, i);
			if (next == i)
				break;
			i = next;
		} else if (strchr("<[{", name[i])) {
			i = closing(name, i);
			i += name[i] != 0;
		} else {
			if (name[i] == ' ')
				start = i + 1;
			i++;
		}
	}
	if (i <= start)
		return;
	memmove(name, name + start, i - start);
	name[i - start] = 0;
}

/* Rust's older mangling is C++'s with a hash as the last part. */
static void cut_rust_hash(char *name)
{
	size_t len = strlen(name);

	if (len > 19 && starts_with(name + len - 19, "::h") &&
	    strspn(name + len - 16, "0123456789abcdef") == 16)
		name[len - 19] = 0;
}

char *demangle(const char *name, bool keep_parameters)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int status = -1;
	char *plain;

	if (name[0] != '_' || name[1] != 'Z' || strnlen(name, MAX_NAME) == MAX_NAME)
		return NULL;
	pthread_once(&once, load_cxa_demangle);
	if (!cxa_demangle)
		return NULL;
	plain = cxa_demangle(name, NULL, NULL, &status);
	if (status || !plain)
		return NULL;
	cut_rust_hash(plain);
	if (!keep_parameters)
		demangle_cut_parameters(plain);
	return plain;
}
