#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "symbolizer/demangle.h"

static void test_demangle__cut_parameters(void **state)
{
	static const struct {
		const char *whole, *cut;
	} cases[] = {
		{ "main", "main" },
		{ "f()", "f" },
		{ "ns::f(int, char*)", "ns::f" },
		{ "void ns::f<int>(std::vector<int>&) const", "ns::f<int>" },
		{ "std::vector<int> ns::f<(E)1>(int)", "ns::f<(E)1>" },
		{ "(anonymous namespace)::f(int)", "(anonymous namespace)::f" },
		{ "ns::(anonymous namespace)::f(int)", "ns::(anonymous namespace)::f" },
		{ "A::operator()(int)", "A::operator()" },
		{ "A::operator<<(int)", "A::operator<<" },
		{ "bool operator< <int>(A<int> const&)", "operator< <int>" },
		{ "A::operator bool() const", "A::operator bool" },
		{ "A::operator new(unsigned long)", "A::operator new" },
		{ "my_operator(int)", "my_operator" },
		{ "main::{lambda(int)#1}::operator()(int) const", "main::{lambda(int)#1}::operator()" },
		{ "f(int)::{lambda()#1}::operator()() const", "f(int)::{lambda()#1}::operator()" },
		{ "A::f() const::{lambda()#1}::operator()() const",
		  "A::f() const::{lambda()#1}::operator()" },
		{ "f(int) [clone .cold]", "f" },
		{ "f(", "f" },
		{ "", "" },
		{ "a<b", "a<b" },
	};
	char name[256];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		strncpy(name, cases[i].whole, sizeof(name) - 1);
		demangle_cut_parameters(name);
		assert_string_equal(name, cases[i].cut);
	}
}

static void assert_demangled(const char *mangled, bool keep_parameters, const char *expected)
{
	char *plain = demangle(mangled, keep_parameters);

	assert_non_null(plain);
	assert_string_equal(plain, expected);
	free(plain);
}

static void test_demangle__cxx_and_rust(void **state)
{
	(void)state;
	assert_demangled("_ZN2ns1fIiEEvT_", false, "ns::f<int>");
	assert_demangled("_ZN2ns1fIiEEvT_", true, "void ns::f<int>(int)");
	assert_demangled("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", false,
	                 "core::fmt::Formatter::pad");
}

static void test_demangle__not_mangled(void **state)
{
	(void)state;
	assert_null(demangle("main", false));
	assert_null(demangle("_Z", false));
	assert_null(demangle("_Zzzz", false));
	assert_null(demangle("", false));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_demangle__cut_parameters),
		cmocka_unit_test(test_demangle__cxx_and_rust),
		cmocka_unit_test(test_demangle__not_mangled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
