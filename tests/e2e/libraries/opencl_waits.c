/*
 * opencl_waits [rounds=N] [work=N]: a thread under the tag "opencl" that waits for an OpenCL device, PoCL's for one, in clFinish,
 * clWaitForEvents and a blocking clEnqueueReadBuffer by turns, while a kernel counts to `work`. Clocks each call, by call_clock.h.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/e2e/attack/attack.h"
#include "tests/e2e/libraries/call_clock.h"

static const char source[] = "kernel void count(global uint *out, uint work)\n"
                             "{\n"
                             "	uint state = get_global_id(0) + 1;\n"
                             "	for (uint i = 0; i < work; i++)\n"
                             "		state = state * 1664525u + 1013904223u + (state >> 13);\n"
                             "	out[get_global_id(0)] = state;\n"
                             "}\n";

struct device {
	cl_context context;
	cl_command_queue queue;
	cl_kernel kernel;
	cl_mem out;
};

static void open_device(struct device *d, cl_uint work)
{
	const char *text = source;
	cl_platform_id platform;
	cl_device_id id;
	cl_program program;
	cl_int err;

	must(clGetPlatformIDs(1, &platform, NULL) == CL_SUCCESS, "clGetPlatformIDs");
	must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &id, NULL) == CL_SUCCESS, "clGetDeviceIDs");
	d->context = clCreateContext(NULL, 1, &id, NULL, NULL, &err);
	must(err == CL_SUCCESS, "clCreateContext");
	d->queue = clCreateCommandQueue(d->context, id, 0, &err);
	must(err == CL_SUCCESS, "clCreateCommandQueue");
	program = clCreateProgramWithSource(d->context, 1, &text, NULL, &err);
	must(err == CL_SUCCESS, "clCreateProgramWithSource");
	must(clBuildProgram(program, 1, &id, "", NULL, NULL) == CL_SUCCESS, "clBuildProgram");
	d->kernel = clCreateKernel(program, "count", &err);
	must(err == CL_SUCCESS, "clCreateKernel");
	d->out = clCreateBuffer(d->context, CL_MEM_READ_WRITE, sizeof(cl_uint), NULL, &err);
	must(err == CL_SUCCESS, "clCreateBuffer");
	must(clSetKernelArg(d->kernel, 0, sizeof(d->out), &d->out) == CL_SUCCESS, "clSetKernelArg");
	must(clSetKernelArg(d->kernel, 1, sizeof(work), &work) == CL_SUCCESS, "clSetKernelArg");
}

static cl_event start(struct device *d)
{
	size_t one = 1;
	cl_event event;

	must(clEnqueueNDRangeKernel(d->queue, d->kernel, 1, NULL, &one, &one, 0, NULL, &event) == CL_SUCCESS,
	     "clEnqueueNDRangeKernel");
	must(clFlush(d->queue) == CL_SUCCESS, "clFlush");
	return event;
}

static void wait_for(struct device *d, struct call_clock *calls, long round)
{
	cl_event event = start(d);
	cl_uint value;
	cl_int err;

	call_begin(calls);
	if (round % 3 == 0)
		err = clFinish(d->queue);
	else if (round % 3 == 1)
		err = clWaitForEvents(1, &event);
	else
		err = clEnqueueReadBuffer(d->queue, d->out, CL_TRUE, 0, sizeof(value), &value, 0, NULL, NULL);
	call_end(calls);
	must(err == CL_SUCCESS, "wait");
	clReleaseEvent(event);
}

int main(int argc, char **argv)
{
	long rounds = argument(argc, argv, "rounds", 30);
	struct call_clock calls, warm;
	struct held_tag tag;
	struct device device;

	open_device(&device, (cl_uint)argument(argc, argv, "work", 100000000));
	call_clock_open(&warm, "warm"); /* the kernel is compiled at its first use */
	wait_for(&device, &warm, 0);
	sleep_ms(500);
	call_clock_open(&calls, "opencl");
	tag_open(&tag, 1, "opencl");
	wait_until_hooked(dlsym(RTLD_DEFAULT, "clFinish"));
	sleep_ms(500);
	for (long i = 0; i < rounds; i++)
		wait_for(&device, &calls, i);
	tag_close(&tag);
	call_clock_close(&calls);
	return 0;
}
