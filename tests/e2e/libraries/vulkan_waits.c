/*
 * vulkan_waits [rounds=N] [ms=N]: a thread under the tag "vulkan" that waits so long for a fence that nobody signals, and for a semaphore's
 * value that nobody sets, by turns, with the first Vulkan device there is (Mesa's lavapipe needs no GPU). Clocks each call, by call_clock.h.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <vulkan/vulkan.h>

#include "tests/e2e/attack/attack.h"
#include "tests/e2e/libraries/call_clock.h"

static VkDevice device;
static VkFence fence;
static VkSemaphore semaphore;

static void open_device(void)
{
	const VkApplicationInfo application = { .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
		                                .apiVersion = VK_API_VERSION_1_2 };
	const VkInstanceCreateInfo instance_info = { .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
		                                     .pApplicationInfo = &application };
	const float priority = 1;
	const VkDeviceQueueCreateInfo queue = { .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
		                                .queueCount = 1,
		                                .pQueuePriorities = &priority };
	VkPhysicalDeviceVulkan12Features features = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, .timelineSemaphore = VK_TRUE
	};
	const VkDeviceCreateInfo device_info = { .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
		                                 .pNext = &features,
		                                 .queueCreateInfoCount = 1,
		                                 .pQueueCreateInfos = &queue };
	VkPhysicalDevice physical;
	VkInstance instance;
	uint32_t one = 1;
	VkResult result;

	must(vkCreateInstance(&instance_info, NULL, &instance) == VK_SUCCESS, "vkCreateInstance");
	result = vkEnumeratePhysicalDevices(instance, &one, &physical);
	must((result == VK_SUCCESS || result == VK_INCOMPLETE) && one == 1, "vkEnumeratePhysicalDevices");
	must(vkCreateDevice(physical, &device_info, NULL, &device) == VK_SUCCESS, "vkCreateDevice");
}

static void make_fences(void)
{
	const VkFenceCreateInfo fence_info = { .sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO };
	const VkSemaphoreTypeCreateInfo timeline = { .sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
		                                     .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE };
	const VkSemaphoreCreateInfo semaphore_info = { .sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
		                                       .pNext = &timeline };

	must(vkCreateFence(device, &fence_info, NULL, &fence) == VK_SUCCESS, "vkCreateFence");
	must(vkCreateSemaphore(device, &semaphore_info, NULL, &semaphore) == VK_SUCCESS, "vkCreateSemaphore");
}

static void wait_once(struct call_clock *calls, long round, uint64_t ns)
{
	const uint64_t value = 1;
	const VkSemaphoreWaitInfo info = { .sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
		                           .semaphoreCount = 1,
		                           .pSemaphores = &semaphore,
		                           .pValues = &value };
	VkResult result;

	call_begin(calls);
	result = round % 2 ? vkWaitSemaphores(device, &info, ns)
	                   : vkWaitForFences(device, 1, &fence, VK_TRUE, ns);
	call_end(calls);
	must(result == VK_TIMEOUT, "wait");
}

int main(int argc, char **argv)
{
	long rounds = argument(argc, argv, "rounds", 20), ms = argument(argc, argv, "ms", 100);
	struct call_clock calls;
	struct held_tag tag;

	open_device();
	make_fences();
	sleep_ms(500);
	call_clock_open(&calls, "vulkan");
	tag_open(&tag, 1, "vulkan");
	wait_until_hooked(dlsym(RTLD_DEFAULT, "vkWaitForFences"));
	sleep_ms(500);
	for (long i = 0; i < rounds; i++)
		wait_once(&calls, i, (uint64_t)ms * 1000000);
	tag_close(&tag);
	call_clock_close(&calls);
	return 0;
}
