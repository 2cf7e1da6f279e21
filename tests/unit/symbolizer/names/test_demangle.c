/* Tests of demangle.h: C++ and Rust names, clones, and names made to be expensive. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "symbolizer/names/demangle.h"
#include "symbolizer/names/name_arguments.h"

static void assert_shown(const char *name, enum sym_names detail, const char *expected)
{
	char *shown = demangle(name, detail);

	if (!expected && shown)
		fail_msg("%s becomes %s", name, shown);
	if (expected)
		assert_string_equal(shown ? shown : name, expected);
	free(shown);
}

static void test_demangle__cxx(void **state)
{
	(void)state;
	assert_shown("_ZN2ns1fIiEEvT_", SYM_NAMES_TEMPLATES, "ns::f<int>");
	assert_shown("_ZN2ns1fIiEEvT_", SYM_NAMES_FULL, "void ns::f<int>(int)");
	assert_shown("_ZN2ns1fIiEEvT_", SYM_NAMES_SIMPLIFIED, "ns::f");
	assert_shown("_ZNKSt6vectorIiSaIiEE4sizeEv", SYM_NAMES_TEMPLATES,
	             "std::vector<int, std::allocator<int> >::size");
	assert_shown("_ZNKSt6vectorIiSaIiEE4sizeEv", SYM_NAMES_FULL,
	             "std::vector<int, std::allocator<int> >::size() const");
	assert_shown("_ZNKSt6vectorIiSaIiEE4sizeEv", SYM_NAMES_SIMPLIFIED, "std::vector::size");
	assert_shown("_ZZ4mainENKUliE_clEi", SYM_NAMES_TEMPLATES, "main::{lambda(int)#1}::operator()");
	assert_shown("_ZThn16_N1A1fEi", SYM_NAMES_TEMPLATES, "non-virtual thunk to A::f(int)");
}

static void test_demangle__old_rust(void **state)
{
	(void)state;
	assert_shown("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", SYM_NAMES_TEMPLATES,
	             "core::fmt::Formatter::pad");
	assert_shown("_ZN48_$LT$std..io..Stdin$u20$as$u20$std..io..Read$GT$4read17h0123456789abcdefE",
	             SYM_NAMES_SIMPLIFIED, "<std::io::Stdin as std::io::Read>::read");
}

static void test_demangle__shown_as_they_stand(void **state)
{
	static const char *const names[] = { "main",          "_Z",     "_Zzzz",         "",        "_R",
		                             "_RNv",          "_R0C1a", "_RC1a\xc3\xa4", "f.0",     "f.avx2",
		                             "_Z1fv_garbage", ".cold",  "main.part",     "f.cold.x" };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		assert_shown(names[i], SYM_NAMES_TEMPLATES, NULL);
		assert_shown(names[i], SYM_NAMES_FULL, NULL);
	}
}

static void test_demangle__clones(void **state)
{
	(void)state;
	assert_shown("f.cold", SYM_NAMES_FULL, "f");
	assert_shown("f.part.0", SYM_NAMES_FULL, "f");
	assert_shown("f.isra.0.part.12.constprop.3.cold.4", SYM_NAMES_TEMPLATES, "f");
	assert_shown("f.llvm.123456789", SYM_NAMES_TEMPLATES, "f");
	assert_shown("f.lto_priv.0.localalias", SYM_NAMES_TEMPLATES, "f");
	assert_shown("f.0.cold", SYM_NAMES_TEMPLATES, "f.0");
	assert_shown("_ZN1A1fEv.isra.0", SYM_NAMES_FULL, "A::f()");
	assert_shown("_ZN1A1fEv.avx2", SYM_NAMES_FULL, "A::f() [clone .avx2]");
	assert_shown("_ZN1A1fEv.avx2", SYM_NAMES_TEMPLATES, "A::f");
	assert_shown("_RNvC1a1b.llvm.99", SYM_NAMES_FULL, "a::b");
	assert_shown("_RNvC1a1b.other", SYM_NAMES_FULL, "a::b [clone .other]");
	assert_shown("_RNvC1a1b.other", SYM_NAMES_TEMPLATES, "a::b");
}

static void test_demangle__versions_and_plt(void **state)
{
	(void)state;
	assert_shown("f@@LIB_1.0", SYM_NAMES_TEMPLATES, "f");
	assert_shown("_ZN1A1fEv@LIB_1.0", SYM_NAMES_FULL, "A::f()");
	assert_shown("_ZN1A1fEv@plt", SYM_NAMES_TEMPLATES, "A::f@plt");
	assert_shown("f@plt", SYM_NAMES_TEMPLATES, NULL);
	assert_shown("*ABS*+0x10@plt", SYM_NAMES_TEMPLATES, NULL);
	assert_shown("@", SYM_NAMES_TEMPLATES, NULL);
}

/* Of RFC 2603 and of the tests of rustc-demangle, what each says in its text; the last ones are ours. */
static void test_demangle__rust_v0(void **state)
{
	static const struct {
		const char *mangled, *plain;
	} cases[] = {
		{ "_RNvNtNtCs1234_7mycrate3foo3bar3baz", "mycrate::foo::bar::baz" },
		{ "_RNCNvC7mycrate4mains_0", "mycrate::main::{closure#1}" },
		{ "_RNSC1a6vtable", "a::{shim:vtable#0}" },
		{ "_RMC0INtC8arrayvec8ArrayVechKj7b_E", "<arrayvec::ArrayVec<u8, 123>>" },
		{ "_RNvMC7mycrateNtC7mycrate3Foo3bar", "<mycrate::Foo>::bar" },
		{ "_RNvXC1aNtC1a3FooNtC3std5Clone5clone", "<a::Foo as std::Clone>::clone" },
		{ "_RNvYNtC1a3FooNtC3std5Clone5clone", "<a::Foo as std::Clone>::clone" },
		{ "_RINvC3std8align_ofjdE", "std::align_of::<usize, f64>" },
		{ "_RINvC1a1fRL_eQeOhPhAhj3_SmTEThETahEE",
		  "a::f::<&str, &mut str, *mut u8, *const u8, [u8; 3], [u32], (), (u8,), (i8, u8)>" },
		{ "_RINvC1a1fFUKCjEuFK9aapcs_vfpjEbE",
		  "a::f::<unsafe extern \"C\" fn(usize), extern \"aapcs-vfp\" fn(usize) -> bool>" },
		{ "_RINvC1a1fFG0_RL1_hRL0_tEuE", "a::f::<for<'a, 'b> fn(&'a u8, &'b u16)>" },
		{ "_RINvC1a1fDNtC1a5TraitEL_DINtC1a2FnuEp6OutputhNtC1a4SendEL_E",
		  "a::f::<dyn a::Trait, dyn a::Fn<(), Output = u8> + a::Send>" },
		{ "_RINvC1a1fKb1_Kc41_Kana_Kj10_KpKc0_Ko123456789abcdef01_E",
		  "a::f::<true, 'A', -10, 16, _, '\\0', 0x123456789abcdef01>" },
		{ "_RINvC1a1fKRe616263_KRe27220a_E", "a::f::<\"abc\", \"'\\\"\\n\">" },
		{ "_RINvC1a1fKe61_KRh1_KTh1_h2_EKTh1_EKAh1_h2_EE",
		  "a::f::<{*\"a\"}, {&1}, {(1, 2)}, {(1,)}, {[1, 2]}>" },
		{ "_RINvC1a1fKVNtC1a1XUKVNtC1a1YTh1_EKVNtC1a1ZS1xh1_1yh2_EE",
		  "a::f::<{a::X}, {a::Y(1)}, {a::Z { x: 1, y: 2 }}>" },
		{ "_RINvC1a1fNtB2_1TB7_E", "a::f::<a::T, a::T>" },
		{ "_RNvC1au30____7hkackfecea1cbdathfdh9hlq6y",
		  "a::"
		  "\xe1\x83\xa1\xe1\x83\x90\xe1\x83\xad\xe1\x83\x9b\xe1\x83\x94\xe1\x83\x9a\xe1\x83\x90\xe1"
		  "\x83"
		  "\x93_"
		  "\xe1\x83\x92\xe1\x83\x94\xe1\x83\x9b\xe1\x83\xa0\xe1\x83\x98\xe1\x83\x94\xe1\x83\x9a\xe1"
		  "\x83\x98_\xe1\x83\xa1\xe1\x83\x90\xe1\x83\x93\xe1\x83\x98\xe1\x83\x9a\xe1\x83\x98" },
		{ "_RNvC1au24ihqwcrb4cv8a8dqg056pqjye",
		  "a::"
		  "\xe4\xbb\x96\xe4\xbb\xac\xe4\xb8\xba\xe4\xbb\x80\xe4\xb9\x88\xe4\xb8\x8d\xe8\xaf\xb4\xe4"
		  "\xb8\xad\xe6\x96\x87" },
		{ "_RNvC1au8gdel_5qa", "a::g\xc3\xb6"
		                       "del" },
		{ "_RNvC1au9gdel_zzzz", "a::punycode{gdel-zzzz}" },
		{ "_RNvC6_123foo3bar", "123foo::bar" },
		{ "_RINvC1a1fWmRm0_m9_E", "a::f::<u32 is 0..=9>" },
		{ "_RINvC1a1fhEC3foo", "a::f::<u8>" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_shown(cases[i].mangled, SYM_NAMES_TEMPLATES, cases[i].plain);
}

static void test_demangle__rust_v0_refused(void **state)
{
	static const char *const names[] = {
		"_RNvC1a9short",
		"_RNvB5_1a",
		"_RNvB0_1a",
		"_RINvC1a1fKh",
		"_RINvC1a1fKb2_E",
		"_RINvC1a1fKcd800_E",
		"_RINvC1a1fh",
		"_RINvC1a1fRL0_hE",
		"_RINvC1a1fKRec3_E",
		"_RMINvC1a1bFGzzzzzzzz_EuEu",
		"_RINvC1a1fBa_uE",
		"_RNvC1a1bx",
		"_RNvC99999999999999999999991a1b",
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		assert_shown(names[i], SYM_NAMES_TEMPLATES, NULL);
}

static void test_demangle__simplified(void **state)
{
	static const struct {
		const char *whole, *cut;
	} cases[] = {
		{ "main", "main" },
		{ "ns::f<int>", "ns::f" },
		{ "A<B<int>, (C)1>::f<D>", "A::f" },
		{ "operator< <int>", "operator<" },
		{ "A<int>::operator<<", "A::operator<<" },
		{ "A::operator-><int>", "A::operator->" },
		{ "A::operator()<int>", "A::operator()" },
		{ "A::operator std::vector<int>", "A::operator std::vector" },
		{ "my_operator<int>", "my_operator" },
		{ "f(std::vector<int>)::{lambda(A<int>)#1}::operator()<int>",
		  "f(std::vector)::{lambda(A)#1}::operator()" },
		{ "f[abi:cxx11]<int>", "f[abi:cxx11]" },
		{ "A<(1>(2))>::f", "A::f" },
		{ "<a::T as b::U<c::V>>::f", "<a::T as b::U>::f" },
		{ "<A as <B<X> as C>::D>::f::<T>", "<A as <B as C>::D>::f" },
		{ "core::fmt::num::<impl core::fmt::Display for Vec<u32>>::fmt",
		  "core::fmt::num::<impl core::fmt::Display for Vec>::fmt" },
		{ "a::f::<fn(u8) -> u8>::{closure#0}", "a::f::{closure#0}" },
		{ "a<b", "a<b" },
		{ "a>b", "a>b" },
		{ "f<(>)>", "f" },
		{ "f<int)>", "f<int)>" },
		{ "", "" },
	};
	char name[256];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		snprintf(name, sizeof(name), "%s", cases[i].whole);
		name_arguments_cut(name);
		assert_string_equal(name, cases[i].cut);
	}
}

/* --- names made to hurt ------------------------------------------------------------------------------- */

#define STACK_BYTES ((size_t)2 << 20) /* 1.5 MiB is what the header promises */

struct hostile {
	char name[8192];
	size_t len;
};

__attribute__((format(printf, 2, 3))) static void add(struct hostile *h, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	h->len += (size_t)vsnprintf(h->name + h->len, sizeof(h->name) - h->len, format, args);
	va_end(args);
	assert_true(h->len < sizeof(h->name));
}

static void *show(void *context)
{
	struct hostile *h = context;

	free(demangle(h->name, SYM_NAMES_TEMPLATES));
	free(demangle(h->name, SYM_NAMES_FULL));
	return NULL;
}

/* On a small stack, in its time. */
static void survive(struct hostile *h)
{
	struct timespec from, to;
	pthread_attr_t attr;
	pthread_t thread;
	double seconds;

	clock_gettime(CLOCK_MONOTONIC, &from);
	assert_int_equal(pthread_attr_init(&attr), 0);
	assert_int_equal(pthread_attr_setstacksize(&attr, STACK_BYTES), 0);
	assert_int_equal(pthread_create(&thread, &attr, show, h), 0);
	pthread_join(thread, NULL);
	pthread_attr_destroy(&attr);
	clock_gettime(CLOCK_MONOTONIC, &to);
	seconds = (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
	if (seconds > 10) /* half a second, on a machine that is twenty times too slow */
		fail_msg("%.1f s for %s", seconds, h->name);
}

static void test_demangle__deep(void **state)
{
	static const char *const parts[] = { "P",  "F",  "pl", "1AI", "ZN", "Z",  "FvP", "DT", "Dp", "A_",
		                             "TV", "GR", "J",  "_Z",  "tl", "cl", "R",   "Nv", "T" };
	static const char *const heads[] = { "_Z1f", "_Z1fIX", "_Z", "_RINvC1a1b", "_RMC0", "_RNv" };
	struct hostile h;
	size_t i, j;

	(void)state;
	for (i = 0; i < sizeof(heads) / sizeof(*heads); i++) {
		for (j = 0; j < sizeof(parts) / sizeof(*parts); j++) {
			h.len = 0;
			add(&h, "%s", heads[i]);
			while (h.len < 4085)
				add(&h, "%s", parts[j]);
			add(&h, "E");
			survive(&h);
		}
	}
}

/* To what begins at h->name[at], which is not the first thing in the name. */
static void add_backref(struct hostile *h, size_t at)
{
	static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

	at -= strlen("_R") + 1;
	add(h, "B");
	if (at >= 62)
		add(h, "%c", digits[at / 62]);
	add(h, "%c_", digits[at % 62]);
}

static bool is_demangled(const struct hostile *h)
{
	char *shown = demangle(h->name, SYM_NAMES_TEMPLATES);

	free(shown);
	return shown;
}

/* Each type is twice the one before: printed they would fill any memory, searched for a pack any time. */
static void test_demangle__doubling(void **state)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	struct hostile h = { .len = 0 };
	size_t from, to;
	int i;

	(void)state;
	add(&h, "_Z1fI1AIiiE");
	for (i = 1; i < 35; i++)
		add(&h, "S0_IS%c_S%c_E", digits[i], digits[i]);
	add(&h, "EDpSZ_v");
	survive(&h);
	assert_shown(h.name, SYM_NAMES_FULL, NULL);
	h.len -= strlen("DpSZ_v");
	add(&h, "vv");
	survive(&h);
	h.len = 0;
	assert_shown(h.name, SYM_NAMES_FULL, NULL);
	h.len = 0;
	add(&h, "_RINvC1a1b");
	from = h.len;
	add(&h, "TuuE");
	for (i = 0; i < 40; i++) {
		to = h.len;
		add(&h, "T");
		add_backref(&h, from);
		add_backref(&h, from);
		add(&h, "E");
		from = to;
	}
	add(&h, "E");
	survive(&h);
	assert_shown(h.name, SYM_NAMES_FULL, NULL);
}

/* What is longer, deeper or more work than any name has a reason to be, though it would all come out. */
static void test_demangle__limits(void **state)
{
	static const char *const heads[] = { "_Z4000", "_Z5000", "_RINvC1a1b", "_RINvC1a1b" };
	static const int lengths[] = { 4000, 5000, 100, 300 };
	struct hostile h;
	size_t from, to;
	int i;

	(void)state;
	for (i = 0; i < 4; i++) {
		h.len = 0;
		add(&h, "%s", heads[i]);
		memset(h.name + h.len, i < 2 ? 'x' : 'R', (size_t)lengths[i]);
		h.len += (size_t)lengths[i];
		add(&h, "%s", i < 2 ? "v" : "uE");
		assert_int_equal(is_demangled(&h), i % 2 == 0);
	}
	h.len = 0;
	add(&h, "_RINvC1a1b");
	from = h.len;
	add(&h, "u");
	for (i = 0; i < 16; i++) {
		to = h.len;
		add(&h, "T");
		add_backref(&h, from);
		add_backref(&h, from);
		add(&h, "E");
		from = to;
	}
	add(&h, "E");
	assert_false(is_demangled(&h));
}

/* Each pair of a template and a reference to a parameter takes room on the stack. */
static void test_demangle__many_templates(void **state)
{
	struct hostile h = { .len = 0 };
	int i;

	(void)state;
	add(&h, "_Z1fI");
	for (i = 0; i < 600; i++)
		add(&h, "RT_");
	for (i = 0; i < 400; i++)
		add(&h, "1AIiE");
	add(&h, "EvT_");
	survive(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_demangle__cxx),
		cmocka_unit_test(test_demangle__old_rust),
		cmocka_unit_test(test_demangle__shown_as_they_stand),
		cmocka_unit_test(test_demangle__clones),
		cmocka_unit_test(test_demangle__versions_and_plt),
		cmocka_unit_test(test_demangle__rust_v0),
		cmocka_unit_test(test_demangle__rust_v0_refused),
		cmocka_unit_test(test_demangle__simplified),
		cmocka_unit_test(test_demangle__deep),
		cmocka_unit_test(test_demangle__doubling),
		cmocka_unit_test(test_demangle__limits),
		cmocka_unit_test(test_demangle__many_templates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
