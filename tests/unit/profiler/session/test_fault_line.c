/* What an IOMMU's fault is told as. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "profiler/session/fault_line.h"

static void told(const struct abi_event *event, const char *wanted)
{
	char line[160];

	fault_line(event, line, sizeof(line));
	assert_string_equal(line, wanted);
}

static void test_fault_line__device_address_reason(void **state)
{
	(void)state;
	told(&(struct abi_event){ .dev = 1u << 16 | 0x3b << 8 | 0x1f << 3 | 7,
	                          .tag = 0xfffa0000,
	                          .state = ABI_FAULT_READ,
	                          .cause = 6,
	                          .weight_ns = 1 },
	     "IOMMU fault: 0001:3b:1f.7: read of 0xfffa0000 refused, reason 0x06");
	told(&(struct abi_event){ .dev = 8, .tag = 0, .state = ABI_FAULT_WRITE, .cause = 5, .weight_ns = 3 },
	     "IOMMU fault: 0000:00:01.0: write to 0x0 refused, reason 0x05 (3 since it was last told)");
}

static void test_fault_line__little_known(void **state)
{
	(void)state;
	told(&(struct abi_event){ .dev = ABI_FAULT_NO_PLACE, .tag = 1, .state = ABI_FAULT_ACCESS },
	     "IOMMU fault: a device that is not PCI's: access to 0x1 refused");
	told(&(struct abi_event){ .tag = 1, .state = 77 },
	     "IOMMU fault: 0000:00:00.0: access to 0x1 refused");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fault_line__device_address_reason),
		cmocka_unit_test(test_fault_line__little_known),
	};

	return cmocka_run_group_tests_name("fault_line", tests, NULL, NULL);
}
