/* Tests of unwind_call.h: call instructions before a return address. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "symbolizer/cfi/unwind_call.h"

#define CODE 0x1000

/* Code at CODE; what returns stands at its end. */
struct code {
	const char *bytes;
	size_t len;
};

static bool read_code(void *context, uint64_t address, void *buffer, size_t len)
{
	const struct code *code = context;

	if (address < CODE || address - CODE > code->len || len > code->len - (address - CODE))
		return false;
	memcpy(buffer, code->bytes + (address - CODE), len);
	return true;
}

#define AT(text)                                                                                             \
	{                                                                                                    \
		text, sizeof(text) - 1                                                                       \
	}

static void test_unwind_call__instructions(void **state)
{
	static const struct {
		struct code code;
		enum unwind_call expected;
	} cases[] = {
		{ AT("\x90\x90\xe8\x00\x00\x00\x00"), UNWIND_CALL_TO_HERE },  /* of what follows it */
		{ AT("\x90\x90\xe8\x00\xff\xff\xff"), UNWIND_CALL_TO_HERE },  /* of 256 bytes before */
		{ AT("\x90\x90\xe8\x00\x00\x01\x00"), UNWIND_CALL_OF_OTHER }, /* of what lies behind the pc */
		{ AT("\x90\x90\xe8\x00\x00\xff\xff"), UNWIND_CALL_OF_OTHER }, /* of what is far before */
		{ AT("\x90\x90\x90\x90\x90\xff\xd0"), UNWIND_CALL_INDIRECT }, /* *%rax */
		{ AT("\x90\x90\x90\x90\x41\xff\xd4"), UNWIND_CALL_INDIRECT }, /* *%r12 */
		{ AT("\x90\x90\x90\x90\x90\xff\x13"), UNWIND_CALL_INDIRECT }, /* *(%rbx) */
		{ AT("\x90\x90\x90\x90\xff\x50\x18"), UNWIND_CALL_INDIRECT }, /* *0x18(%rax) */
		{ AT("\x90\x90\x90\x90\xff\x14\xc7"), UNWIND_CALL_INDIRECT }, /* *(%rdi,%rax,8) */
		{ AT("\x90\x90\x90\xff\x54\xc7\x08"), UNWIND_CALL_INDIRECT }, /* *8(%rdi,%rax,8) */
		{ AT("\x90\xff\x15\x11\x22\x33\x00"), UNWIND_CALL_INDIRECT }, /* *x(%rip) */
		{ AT("\x90\xff\x90\x00\x01\x00\x00"), UNWIND_CALL_INDIRECT }, /* *0x100(%rax) */
		{ AT("\xff\x94\xc7\x00\x01\x00\x00"), UNWIND_CALL_INDIRECT }, /* *0x100(%rdi,%rax,8) */
		{ AT("\xff\x14\xc5\x00\x01\x00\x00"), UNWIND_CALL_INDIRECT }, /* *0x100(,%rax,8) */
		{ AT("\x90\x90\x90\x90\x90\xff\xe0"), UNWIND_NO_CALL },       /* jmp *%rax */
		{ AT("\x90\x90\x90\x90\x90\xff\x50"), UNWIND_NO_CALL },       /* too short for its ModRM */
		{ AT("\x90\x90\x90\x90\x90\x90\xc3"), UNWIND_NO_CALL },       /* ret */
		{ AT("\x90\xe8\x00\x00\x00\x00\x90"), UNWIND_NO_CALL },       /* does not end there */
		{ AT("\xff\xd0"), UNWIND_UNREADABLE },                        /* cannot be read */
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct code code = cases[i].code;
		uint64_t end = CODE + code.len;

		if (unwind_call_before(end, end + 0x80, read_code, &code) != cases[i].expected)
			fail_msg("case %zu", i);
	}
}

static void test_unwind_call__ends_there(void **state)
{
	static const struct {
		const struct cfi_arch *arch;
		struct code code;
		enum unwind_call expected;
	} cases[] = {
		{ &cfi_arch_x86_64, AT("\x90\x90\xe8\x00\x00\x01\x00"), UNWIND_CALL_OF_OTHER },
		{ &cfi_arch_x86_64, AT("\x90\x90\x90\x90\x90\xff\xd0"), UNWIND_CALL_INDIRECT },
		{ &cfi_arch_x86_64, AT("\x90\x90\x90\x90\x90\x90\x90"), UNWIND_NO_CALL },
		{ &cfi_arch_x86_64, AT("\x90\xff\xd0"), UNWIND_UNREADABLE },
		{ &cfi_arch_aarch64, AT("\xff\xff\xff\x97"), UNWIND_CALL_OF_OTHER }, /* bl */
		{ &cfi_arch_aarch64, AT("\x20\x00\x3f\xd6"), UNWIND_CALL_OF_OTHER }, /* blr x1 */
		{ &cfi_arch_aarch64, AT("\x1f\x08\x3f\xd6"), UNWIND_CALL_OF_OTHER }, /* blraaz x0 */
		{ &cfi_arch_aarch64, AT("\x3f\x0c\x3f\xd6"), UNWIND_CALL_OF_OTHER }, /* blrabz x1 */
		{ &cfi_arch_aarch64, AT("\x22\x08\x3f\xd7"), UNWIND_CALL_OF_OTHER }, /* blraa x1, x2 */
		{ &cfi_arch_aarch64, AT("\x22\x0c\x3f\xd7"), UNWIND_CALL_OF_OTHER }, /* blrab x1, x2 */
		{ &cfi_arch_aarch64, AT("\xff\xff\xff\x17"), UNWIND_NO_CALL },       /* b */
		{ &cfi_arch_aarch64, AT("\x20\x00\x1f\xd6"), UNWIND_NO_CALL },       /* br x1 */
		{ &cfi_arch_aarch64, AT("\xc0\x03\x5f\xd6"), UNWIND_NO_CALL },       /* ret */
		{ &cfi_arch_aarch64, AT("\xff\xff\x97"), UNWIND_NO_CALL }, /* no address of an instruction */
		{ &cfi_arch_aarch64, AT(""), UNWIND_UNREADABLE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct code code = cases[i].code;

		if (unwind_call_ends_at(cases[i].arch, CODE + code.len, read_code, &code) !=
		    cases[i].expected)
			fail_msg("case %zu", i);
	}
}

/* A PLT entry leads anywhere. */
static void test_unwind_call__by_way_of_the_plt(void **state)
{
	static struct code plain = AT("\x90\x90\xe8\x08\x00\x00\x00\x90\x90\x90\x90\x90\x90\x90\x90"
	                              "\xff\x25\x11\x22\x33\x00\x90\x90");
	static struct code cet = AT("\x90\x90\xe8\x08\x00\x00\x00\x90\x90\x90\x90\x90\x90\x90\x90"
	                            "\xf3\x0f\x1e\xfa\xf2\xff\x25\x11\x22\x33\x00");
	static struct code other = AT("\x90\x90\xe8\x08\x00\x00\x00\x90\x90\x90\x90\x90\x90\x90\x90"
	                              "\xf3\x0f\x1e\xfa\x55\xff\x25\x11\x22\x33\x00");

	(void)state;
	assert_int_equal(unwind_call_before(CODE + 7, 0x7f0000000000, read_code, &plain),
	                 UNWIND_CALL_TO_HERE);
	assert_int_equal(unwind_call_before(CODE + 7, 0x7f0000000000, read_code, &cet), UNWIND_CALL_TO_HERE);
	assert_int_equal(unwind_call_before(CODE + 7, 0x7f0000000000, read_code, &other),
	                 UNWIND_CALL_OF_OTHER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unwind_call__instructions),
		cmocka_unit_test(test_unwind_call__ends_there),
		cmocka_unit_test(test_unwind_call__by_way_of_the_plt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
