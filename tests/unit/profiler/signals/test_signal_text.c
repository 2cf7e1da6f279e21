/* Tests of signal_text.h: texts as kernels write them, and others. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "profiler/signals/signal_text.h"

static const char snmp[] = "Ip: Forwarding DefaultTTL\nIp: 1 64\n"
                           "Tcp: RtoAlgorithm RtoMin MaxConn RetransSegs InErrs\n"
                           "Tcp: 1 200 -1 42 3\n";

static void test_signal_text__kernel_texts(void **state)
{
	uint64_t value;

	(void)state;
	assert_true(signal_snmp(snmp, "Tcp:", "RetransSegs", &value));
	assert_int_equal(value, 42);
	assert_true(signal_snmp(snmp, "Tcp:", "RtoAlgorithm", &value));
	assert_int_equal(value, 1);
	assert_true(signal_pressure("some avg10=0.00 avg60=1.00 total=123\nfull avg10=0.00 total=45\n",
	                            "some", &value));
	assert_int_equal(value, 123);
	assert_true(signal_pressure("some avg10=0.00 avg60=1.00 total=123\nfull avg10=0.00 total=45\n",
	                            "full", &value));
	assert_int_equal(value, 45);
	assert_true(signal_running("0.52 0.58 0.59 3/597 29345\n", &value));
	assert_int_equal(value, 3);
	assert_true(signal_cpu_ticks("cpu  1 2 3 4 5 6 7 88 9 10\ncpu0 1\n", 8, &value));
	assert_int_equal(value, 88);
	assert_true(signal_field("  51 23 114 0 5 6 7\n", 3, &value));
	assert_int_equal(value, 114);
	assert_true(
	        signal_key("nr_periods 0\nnr_throttled 4\nthrottled_time 99\n", "throttled_time", &value));
	assert_int_equal(value, 99);
}

static void test_signal_text__others(void **state)
{
	uint64_t value;

	(void)state;
	assert_false(signal_snmp(snmp, "Tcp:", "MaxConn", &value)); /* -1 */
	assert_false(signal_snmp(snmp, "Tcp:", "Retrans", &value));
	assert_false(signal_snmp(snmp, "Udp:", "RetransSegs", &value));
	assert_false(signal_snmp("Tcp: RetransSegs\n", "Tcp:", "RetransSegs", &value));
	assert_false(signal_snmp("Tcp: a RetransSegs\nTcp: 1\n", "Tcp:", "RetransSegs", &value));
	assert_false(signal_pressure("some avg10=0.00\nfull total=45\n", "some", &value));
	assert_false(signal_pressure("", "some", &value));
	assert_false(signal_running("0.52 0.58", &value));
	assert_false(signal_running("/", &value));
	assert_false(signal_cpu_ticks("cpu0 1 2 3 4 5 6 7 8\n", 8, &value));
	assert_false(signal_cpu_ticks("cpu  1 2 3\n", 8, &value));
	assert_false(signal_field("1 2 x 4", 3, &value));
	assert_false(signal_field("99999999999999999999", 1, &value));
	assert_false(signal_key("throttled_time_x 5\n", "throttled_time", &value));
	assert_false(signal_key("throttled_time\n", "throttled_time", &value));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_signal_text__kernel_texts),
		cmocka_unit_test(test_signal_text__others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
