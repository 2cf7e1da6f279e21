/* Finds out from an ELF file which CPython it has, and fills in the layout. */

#include "symbolizer/python/python_file.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "symbolizer/python/python_evaluator.h"
#include "symbolizer/python/python_layout.h"
#include "symbolizer/python/python_tail_calls.h"

#define PYTHON_3_13 0x030d
#define PYTHON_3_14 0x030e

/* The symbols that tell. */
enum {
	SYMBOL_RUNTIME,
	SYMBOL_CODE_TYPE,
	SYMBOL_EVALUATOR,
	SYMBOL_VERSION,
	SYMBOL_SINCE_38,
	SYMBOL_SINCE_39,
	SYMBOL_SINCE_310,
	SYMBOL_TRACE_REFS, /* objects have two more fields */
	SYMBOLS
};

static const char *const symbol_names[SYMBOLS] = {
	[SYMBOL_RUNTIME] = "_PyRuntime",
	[SYMBOL_CODE_TYPE] = "PyCode_Type",
	[SYMBOL_EVALUATOR] = "_PyEval_EvalFrameDefault",
	[SYMBOL_VERSION] = "Py_Version",
	[SYMBOL_SINCE_38] = "PyCode_NewWithPosOnlyArgs",
	[SYMBOL_SINCE_39] = "PyFrame_GetCode",
	[SYMBOL_SINCE_310] = "PyIter_Send",
	[SYMBOL_TRACE_REFS] = "_Py_PrintReferences",
};

/* Addresses; 0: not defined. */
struct found {
	uint64_t at[SYMBOLS];
	uint64_t evaluator_size;
};

static void note_symbol(const Elf64_Sym *symbol, const char *name, struct found *out)
{
	size_t i;

	if (name[0] != 'P' && name[0] != '_')
		return;
	for (i = 0; i < SYMBOLS; i++)
		if (strcmp(name, symbol_names[i]) == 0)
			out->at[i] = symbol->st_value;
	if (out->at[SYMBOL_EVALUATOR] == symbol->st_value)
		out->evaluator_size = symbol->st_size;
}

static int find_symbols(struct elf_file *f, struct found *out)
{
	struct elf_section symbols, strings;
	Elf64_Sym symbol;
	size_t i;
	int err = elf_file_section_of_type(f, SHT_DYNSYM, &symbols);

	*out = (struct found){ 0 };
	if (!err)
		err = elf_file_section_at(f, symbols.link, &strings);
	if (err)
		return err;
	if (!strings.len || strings.data[strings.len - 1])
		return -EBADMSG;
	for (i = 0; i + sizeof(symbol) <= symbols.len; i += sizeof(symbol)) {
		memcpy(&symbol, symbols.data + i, sizeof(symbol));
		if (symbol.st_shndx != SHN_UNDEF && symbol.st_value && symbol.st_name < strings.len)
			note_symbol(&symbol, (const char *)strings.data + symbol.st_name, out);
	}
	return out->at[SYMBOL_RUNTIME] ? 0 : -ENOENT;
}

/* 0x0308 and so on; 0: older. */
static int find_version(const struct elf_file *f, const struct found *found, uint16_t *out)
{
	uint64_t version;
	int err;

	if (found->at[SYMBOL_VERSION]) {
		err = elf_file_read_at(f, found->at[SYMBOL_VERSION], &version, sizeof(version));
		*out = err ? 0 : (uint16_t)(version >> 16);
		return err;
	}
	if (found->at[SYMBOL_SINCE_310])
		*out = 0x030a;
	else if (found->at[SYMBOL_SINCE_39])
		*out = 0x0309;
	else
		*out = found->at[SYMBOL_SINCE_38] ? 0x0308 : 0;
	return 0;
}

static int layout_of(const struct elf_file *f, const struct found *found, uint16_t version,
                     struct sym_python_layout *out)
{
	uint64_t words[PYTHON_DEBUG_OFFSETS_MAX];
	int err;

	if (version < PYTHON_3_13)
		return python_layout_by_table(version, out);
	err = elf_file_read_at(f, found->at[SYMBOL_RUNTIME], words, sizeof(words));
	if (!err)
		err = python_layout_by_debug_offsets(words, PYTHON_DEBUG_OFFSETS_MAX, out);
	return err;
}

int python_file_layout(struct elf_file *f, struct sym_python_layout *out)
{
	struct found found;
	uint16_t version;
	int err = find_symbols(f, &found);

	if (err)
		return err;
	if (elf_file_machine(f) != EM_X86_64 || found.at[SYMBOL_TRACE_REFS])
		return -ENOTSUP;
	err = find_version(f, &found, &version);
	if (!err)
		err = layout_of(f, &found, version, out);
	if (err)
		return err;
	out->runtime = found.at[SYMBOL_RUNTIME];
	out->code_type = found.at[SYMBOL_CODE_TYPE];
	python_evaluator_ranges(f, found.at[SYMBOL_EVALUATOR], found.evaluator_size, out->evaluator);
	if (version >= PYTHON_3_14)
		python_tail_calls(f, &out->evaluator[0], out->evaluator_calls);
	return 0;
}
