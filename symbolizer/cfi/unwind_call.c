/* Decodes the x86-64 call instruction before a return address, to check that it led to the pc. */

#include "symbolizer/cfi/unwind_call.h"

#include <elf.h>
#include <string.h>

/* The longest call instruction but for prefixes, which stand before what is looked at. */
#define LONGEST_CALL 7

/* Assembler without tables comes in short functions. */
#define MAX_FUNCTION 512

/* Length of the FF instruction that this ModRM byte, and the SIB byte behind it, make. */
static size_t indirect_length(uint8_t modrm, uint8_t sib)
{
	uint8_t mod = modrm >> 6, rm = modrm & 7;
	bool has_sib = mod != 3 && rm == 4;

	if (mod == 1)
		return 3u + has_sib;
	if (mod == 2 || (mod == 0 && rm == 5) || (mod == 0 && has_sib && (sib & 7) == 5))
		return 6u + has_sib;
	return 2u + has_sib;
}

static bool ends_with_indirect_call(const uint8_t *code)
{
	size_t len;

	for (len = 2; len <= LONGEST_CALL; len++) {
		const uint8_t *at = code + LONGEST_CALL - len;

		if (at[0] == 0xff && (at[1] >> 3 & 7) == 2 &&
		    indirect_length(at[1], len > 2 ? at[2] : 0) == len)
			return true;
	}
	return false;
}

/* endbr64, if any, then (bnd) jmp *x(%rip) */
static bool is_plt_entry(uint64_t address, unwind_read_code read, void *context)
{
	uint8_t code[8];
	const uint8_t *at = code;

	if (!read(context, address, code, sizeof(code)))
		return false;
	if (memcmp(at, "\xf3\x0f\x1e\xfa", 4) == 0)
		at += 4;
	if (*at == 0xf2)
		at++;
	return at[0] == 0xff && at[1] == 0x25;
}

/* The call that the bytes end with, and of a direct one (UNWIND_CALL_OF_OTHER) where it leads, from its end on. */
static enum unwind_call read_call(uint64_t return_address, unwind_read_code read, void *context,
                                  int32_t *distance)
{
	uint8_t code[LONGEST_CALL];

	if (!read(context, return_address - LONGEST_CALL, code, sizeof(code)))
		return UNWIND_UNREADABLE;
	memcpy(distance, code + LONGEST_CALL - sizeof(*distance), sizeof(*distance));
	if (code[LONGEST_CALL - 5] == 0xe8)
		return UNWIND_CALL_OF_OTHER;
	return ends_with_indirect_call(code) ? UNWIND_CALL_INDIRECT : UNWIND_NO_CALL;
}

enum unwind_call unwind_call_before(uint64_t return_address, uint64_t pc, unwind_read_code read,
                                    void *context)
{
	int32_t distance;
	enum unwind_call call = read_call(return_address, read, context, &distance);
	uint64_t target;

	if (call != UNWIND_CALL_OF_OTHER)
		return call;
	target = return_address + (uint64_t)(int64_t)distance;
	return pc - target < MAX_FUNCTION || is_plt_entry(target, read, context) ? UNWIND_CALL_TO_HERE : call;
}

/* bl; blr; blraaz, blrabz; blraa, blrab */
static bool is_aarch64_call(uint32_t instruction)
{
	return (instruction & 0xfc000000) == 0x94000000 || (instruction & 0xfffffc1f) == 0xd63f0000 ||
	       (instruction & 0xfffff81f) == 0xd63f081f || (instruction & 0xfffff800) == 0xd73f0800;
}

enum unwind_call unwind_call_ends_at(const struct cfi_arch *arch, uint64_t return_address,
                                     unwind_read_code read, void *context)
{
	uint32_t instruction;
	int32_t distance;

	if (arch->machine == EM_X86_64)
		return read_call(return_address, read, context, &distance);
	if (return_address % sizeof(instruction))
		return UNWIND_NO_CALL;
	if (!read(context, return_address - sizeof(instruction), &instruction, sizeof(instruction)))
		return UNWIND_UNREADABLE;
	return is_aarch64_call(instruction) ? UNWIND_CALL_OF_OTHER : UNWIND_NO_CALL;
}
