/* Finds the name of the program that a command line runs, behind interpreters and launchers. */

#include "profiler/process/program_name.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#define N(array) (sizeof(array) / sizeof((array)[0]))

const char *program_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static bool is_one_of(const char *name, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* Programs, and Python modules, that start a script on several ranks. */
static bool is_launcher(const char *name)
{
	static const char *const names[] = { "torchrun",
		                             "accelerate",
		                             "deepspeed",
		                             "torch.distributed.run",
		                             "torch.distributed.launch",
		                             "accelerate.commands.launch" };

	return is_one_of(name, names, N(names));
}

/* What a kind of build is told by, behind the version: t free-threaded, d for debugging, m pymalloc (up to 3.7), and distributions' endings. */
static bool is_kind_of_build(const char *rest, bool has_version)
{
	if (has_version)
		rest += strspn(rest, "dmt");
	return !*rest || !strcmp(rest, "-dbg") || !strcmp(rest, "-debug");
}

/* python, python3, python3.12, python3.13t, python3-dbg, pypy3 … */
static bool is_python(const char *name)
{
	static const char *const names[] = { "python", "pypy" };

	for (size_t i = 0; i < N(names); i++) {
		size_t n = strlen(names[i]), version;

		if (strncmp(name, names[i], n) != 0)
			continue;
		version = strspn(name + n, "0123456789.");
		if (is_kind_of_build(name + n + version, version))
			return true;
	}
	return false;
}

bool program_is_interpreter(const char *file_name)
{
	return is_python(file_name) || is_launcher(file_name);
}

static bool looks_like_module(const char *word)
{
	if (!isalpha((unsigned char)*word) && *word != '_')
		return false;
	for (; *word; word++)
		if (!isalnum((unsigned char)*word) && *word != '_' && *word != '.')
			return false;
	return true;
}

static bool ends_with(const char *word, const char *ending)
{
	size_t n = strlen(word), m = strlen(ending);

	return n > m && !strcmp(word + n - m, ending);
}

/*
 * Which of a launcher's options take a value changes with its version, so the script is recognised by its form: the
 * first word that ends in .py, or after -m the first that is a module's path. `fallback` when there is none.
 */
static const char *launched(char *const *words, const char *fallback)
{
	const char *module = NULL;
	bool modules = false;

	for (; *words; words++) {
		if (!strcmp(*words, "-m") || !strcmp(*words, "--module"))
			modules = true;
		else if (ends_with(*words, ".py") && **words != '-')
			return program_base_name(*words);
		else if (modules && looks_like_module(*words) &&
		         (!module || (strchr(*words, '.') && !strchr(module, '.'))))
			module = *words;
	}
	return module ? module : fallback;
}

static const char *script_or_launched(const char *name, char *const *rest)
{
	return is_launcher(name) ? launched(rest, name) : name;
}

/*
 * The letters of one word of Python's options, as "um" of -um. NULL when the next word is none of this one's, else what
 * is to be done with the rest of the word or the next: 'm', 'c' or, to be skipped, 'W'.
 */
static char letter_with_value(const char *letters, const char **value)
{
	for (; *letters; letters++) {
		if (!strchr("mcWX", *letters))
			continue;
		*value = letters[1] ? letters + 1 : NULL;
		return *letters == 'X' ? 'W' : *letters;
	}
	return '\0';
}

static const char *run_by_python(char *const *argv)
{
	const char *python = program_base_name(argv[0]), *value;
	char *const *word;

	for (word = argv + 1; *word; word++) {
		char letter;

		if (**word != '-')
			return script_or_launched(program_base_name(*word), word + 1);
		if ((*word)[1] == '-') {
			word += !strcmp(*word, "--check-hash-based-pycs") && word[1];
			continue;
		}
		letter = letter_with_value(*word + 1, &value);
		if (!(*word)[1] || letter == 'c')
			return python;
		if (letter && !value) {
			if (!*++word)
				return python;
			value = *word;
		}
		if (letter == 'm')
			return script_or_launched(value, word + 1);
	}
	return python;
}

/* The command line behind `env NAME=VALUE…`. */
static char *const *without_env(char *const *argv)
{
	char *const *word = argv;

	if (strcmp(program_base_name(*word), "env") != 0)
		return argv;
	for (word++; *word && strchr(*word, '=') && **word != '-'; word++)
		;
	return *word && **word != '-' ? word : argv;
}

const char *program_name(char *const *argv)
{
	char *const *words = without_env(argv);
	const char *base = program_base_name(*words);

	if (is_python(base))
		return run_by_python(words);
	return script_or_launched(base, words + 1);
}
