/* The table of libraries and of their functions that wait. */

#include "profiler/tracer/library_calls.h"

#include <fnmatch.h>
#include <string.h>

/* Some drivers have a second name for each function of a thread's own default stream. */
#define CUDA(name, variant) name, name variant

static const char *const cuda_driver[] = {
	"cuCtxSynchronize",
	"cuCtxSynchronize_v2",
	CUDA("cuStreamSynchronize", "_ptsz"),
	"cuEventSynchronize",
	CUDA("cuMemcpy", "_ptds"),
	CUDA("cuMemcpyPeer", "_ptds"),
	CUDA("cuMemcpyDtoH_v2", "_ptds"),
	CUDA("cuMemcpyHtoD_v2", "_ptds"),
	CUDA("cuMemcpyDtoD_v2", "_ptds"),
	CUDA("cuMemcpyDtoA_v2", "_ptds"),
	CUDA("cuMemcpyAtoD_v2", "_ptds"),
	CUDA("cuMemcpyHtoA_v2", "_ptds"),
	CUDA("cuMemcpyAtoH_v2", "_ptds"),
	CUDA("cuMemcpyAtoA_v2", "_ptds"),
	CUDA("cuMemcpyAsync", "_ptsz"), /* these wait, too, where the memory is not pinned */
	CUDA("cuMemcpyDtoHAsync_v2", "_ptsz"),
	CUDA("cuMemcpyHtoDAsync_v2", "_ptsz"),
	CUDA("cuMemcpy2D_v2", "_ptds"),
	CUDA("cuMemcpy2DUnaligned_v2", "_ptds"),
	CUDA("cuMemcpy3D_v2", "_ptds"),
	"cuMemAlloc_v2",
	"cuMemAllocManaged",
	"cuMemFree_v2",
	"cuMemHostAlloc",
	"cuMemAllocHost_v2",
	"cuMemFreeHost",
	"cuMemHostRegister_v2",
	"cuMemHostUnregister",
	"cuModuleLoadData",
	"cuModuleLoadDataEx",
	"cuModuleUnload",
	"cuCtxDestroy_v2",
	"cuDevicePrimaryCtxReset_v2",
	NULL,
};

static const char *const cuda_runtime[] = {
	"cudaDeviceSynchronize",
	CUDA("cudaStreamSynchronize", "_ptsz"),
	"cudaEventSynchronize",
	CUDA("cudaMemcpy", "_ptds"),
	CUDA("cudaMemcpyAsync", "_ptsz"), /* waits, too, where the memory is not pinned */
	CUDA("cudaMemcpy2D", "_ptds"),
	CUDA("cudaMemcpy3D", "_ptds"),
	"cudaMemcpyPeer",
	CUDA("cudaMemcpyToSymbol", "_ptds"),
	CUDA("cudaMemcpyFromSymbol", "_ptds"),
	"cudaMalloc",
	"cudaMallocManaged",
	"cudaMallocHost",
	"cudaHostAlloc",
	"cudaHostRegister",
	"cudaHostUnregister",
	"cudaFree",
	"cudaFreeHost",
	"cudaDeviceReset",
	NULL,
};

static const char *const hip[] = {
	"hipDeviceSynchronize",
	"hipStreamSynchronize",
	"hipStreamSynchronize_spt",
	"hipEventSynchronize",
	"hipCtxSynchronize",
	"hipMemcpy",
	"hipMemcpy_spt",
	"hipMemcpyWithStream",
	"hipMemcpyAsync",
	"hipMemcpyAsync_spt",
	"hipMemcpyDtoHAsync",
	"hipMemcpyHtoDAsync",
	"hipMemcpyDtoH",
	"hipMemcpyHtoD",
	"hipMemcpyDtoD",
	"hipMemcpy2D",
	"hipMemcpy3D",
	"hipMemcpyPeer",
	"hipMemcpyToSymbol",
	"hipMemcpyFromSymbol",
	"hipMalloc",
	"hipHostMalloc",
	"hipHostFree",
	"hipFree",
	"hipDeviceReset",
	NULL,
};

static const char *const hsa[] = {
	"hsa_signal_wait_scacquire", "hsa_signal_wait_relaxed", "hsa_signal_wait_acquire",
	"hsa_amd_signal_wait_any",   "hsa_amd_signal_wait_all", NULL,
};

static const char *const level_zero[] = {
	"zeCommandQueueSynchronize", "zeCommandListHostSynchronize", "zeFenceHostSynchronize",
	"zeEventHostSynchronize",    "zeContextMakeMemoryResident",  NULL,
};

static const char *const opencl[] = {
	"clFinish",
	"clWaitForEvents",
	"clEnqueueReadBuffer",
	"clEnqueueReadBufferRect",
	"clEnqueueReadImage",
	"clEnqueueWriteBuffer",
	"clEnqueueWriteBufferRect",
	"clEnqueueWriteImage",
	"clEnqueueMapBuffer",
	"clEnqueueMapImage",
	"clEnqueueSVMMap",
	"clEnqueueSVMMemcpy",
	"clEnqueueReadGlobalVariable",
	"clEnqueueWriteGlobalVariable",
	"clReleaseCommandQueue",
	NULL,
};

static const char *const vulkan[] = {
	"vkWaitForFences",        "vkQueueWaitIdle",     "vkDeviceWaitIdle",
	"vkWaitSemaphores",       "vkWaitSemaphoresKHR", "vkAcquireNextImageKHR",
	"vkAcquireNextImage2KHR", "vkWaitForPresentKHR", NULL,
};

static const char *const nccl[] = {
	"ncclAllReduce",
	"ncclBroadcast",
	"ncclBcast",
	"ncclReduce",
	"ncclAllGather",
	"ncclReduceScatter",
	"ncclAllToAll",
	"ncclSend",
	"ncclRecv",
	"ncclGroupEnd",
	"ncclCommInitRank",
	"ncclCommInitRankConfig",
	"ncclCommInitRankScalable",
	"ncclCommInitAll",
	"ncclCommSplit",
	"ncclCommFinalize",
	"ncclCommDestroy",
	"ncclCommAbort",
	NULL,
};

/* PyTorch's, which waits for NCCL where it is told to. */
static const char *const torch_nccl[] = {
	"_ZN4c10d16ProcessGroupNCCL8WorkNCCL4waitE*",
	"_ZN4c10d16ProcessGroupNCCL8WorkNCCL11synchronize*",
	NULL,
};

/* Both names of a function, which mostly are one function. */
#define MPI(name) "MPI_" name, "PMPI_" name

static const char *const mpi[] = {
	MPI("Init"),
	MPI("Init_thread"),
	MPI("Finalize"),
	MPI("Wait"),
	MPI("Waitall"),
	MPI("Waitany"),
	MPI("Waitsome"),
	MPI("Probe"),
	MPI("Mprobe"),
	MPI("Recv"),
	MPI("Mrecv"),
	MPI("Send"),
	MPI("Ssend"),
	MPI("Bsend"),
	MPI("Rsend"),
	MPI("Sendrecv"),
	MPI("Sendrecv_replace"),
	MPI("Barrier"),
	MPI("Bcast"),
	MPI("Reduce"),
	MPI("Allreduce"),
	MPI("Reduce_scatter"),
	MPI("Reduce_scatter_block"),
	MPI("Gather"),
	MPI("Gatherv"),
	MPI("Scatter"),
	MPI("Scatterv"),
	MPI("Allgather"),
	MPI("Allgatherv"),
	MPI("Alltoall"),
	MPI("Alltoallv"),
	MPI("Alltoallw"),
	MPI("Scan"),
	MPI("Exscan"),
	MPI("Neighbor_allgather"),
	MPI("Neighbor_alltoall"),
	MPI("Comm_dup"),
	MPI("Comm_split"),
	MPI("Comm_create"),
	MPI("Win_fence"),
	MPI("Win_wait"),
	MPI("Win_complete"),
	MPI("Win_lock"),
	MPI("Win_unlock"),
	MPI("Win_flush"),
	MPI("File_read_all"),
	MPI("File_write_all"),
	NULL,
};

/* gloo's, and PyTorch's own, in which the thread that asked for the collective waits for the one that does it. */
static const char *const gloo[] = {
	"_ZN4gloo9transport3tcp13UnboundBuffer8waitRecvE*",
	"_ZN4gloo9transport3tcp13UnboundBuffer8waitSendE*",
	"_ZN4gloo9transport3tcp6Buffer8waitRecvE*",
	"_ZN4gloo9transport3tcp6Buffer8waitSendE*",
	"_ZN4gloo9transport2uv13UnboundBuffer8waitRecvE*",
	"_ZN4gloo9transport2uv13UnboundBuffer8waitSendE*",
	"_ZN4gloo9transport7ibverbs6Buffer8waitRecvE*",
	"_ZN4gloo9transport7ibverbs6Buffer8waitSendE*",
	"_ZN4c10d4Work4waitE*",
	"_ZN4c10d12ProcessGroup4Work4waitE*",
	"_ZN4c10d16ProcessGroupGloo8SendWork4waitE*",
	"_ZN4c10d16ProcessGroupGloo8RecvWork4waitE*",
	NULL,
};

const struct library_calls library_calls[] = {
	{ "libcuda.so", "gpu_sync", "libcuda.so*", cuda_driver },
	{ "libcudart.so", "gpu_sync", "libcudart[.-]*", cuda_runtime },
	{ "libamdhip64.so", "gpu_sync", "libamdhip64[.-]*", hip },
	{ "libhsa-runtime64.so", "gpu_sync", "libhsa-runtime64[.-]*", hsa },
	{ "libze_loader.so", "gpu_sync", "libze_loader.so*", level_zero },
	{ "libze_intel_gpu.so", "gpu_sync", "libze_intel_gpu.so*", level_zero },
	{ "libOpenCL.so", "gpu_sync", "libOpenCL[.-]*", opencl },
	{ "libvulkan.so", "gpu_sync", "libvulkan.so*", vulkan },
	{ "libnccl.so", "collective", "libnccl[.-]*", nccl },
	{ "librccl.so", "collective", "librccl[.-]*", nccl },
	{ "libtorch_cuda.so", "collective", "libtorch_cuda.so*", torch_nccl },
	{ "libtorch_hip.so", "collective", "libtorch_hip.so*", torch_nccl },
	{ "libmpi.so", "collective", "libmpi[.-]*", mpi },
	{ "libmpich.so", "collective", "libmpich[.-]*", mpi },
	{ "libgloo.so", "collective", "libgloo[.-]*", gloo },
	{ "libtorch_cpu.so", "collective", "libtorch_cpu.so*", gloo },
};

const size_t library_calls_len = sizeof(library_calls) / sizeof(library_calls[0]);

_Static_assert(sizeof(library_calls) / sizeof(library_calls[0]) <= LIBRARY_CALLS_MAX, "bits");

uint32_t library_calls_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	uint32_t found = 0;

	if (!slash || strncmp(slash + 1, "lib", 3))
		return 0;
	for (size_t i = 0; i < library_calls_len; i++)
		if (!fnmatch(library_calls[i].file, slash + 1, 0))
			found |= 1u << i;
	return found;
}

static bool is_called(const char *pattern, const char *symbol)
{
	size_t len = strlen(pattern);

	if (pattern[len - 1] == '*')
		return !strncmp(pattern, symbol, len - 1);
	return !strcmp(pattern, symbol);
}

bool library_calls_has(const struct library_calls *library, const char *symbol)
{
	for (size_t i = 0; library->functions[i]; i++)
		if (is_called(library->functions[i], symbol))
			return true;
	return false;
}

/* Of all libraries. Copies whose direction the name does not tell are mostly waits for what the GPU does before them. */
static const char *const working[] = {
	"*HtoD*",       "*Malloc*", "*HtoA*",     "*Alloc*",       "*Free*",      "*Register*",
	"*Unregister*", "*Module*", "*Reset*",    "*Destroy*",     "*Resident*",  "*Write*",
	"*Release*",    "nccl*",    "*MPI_Init*", "*MPI_Finalize", "*MPI_File_*", "*MPI_Comm_*",
};

/* What the names of the table's functions in C begin with: most others are told from these at once. */
static const char *const prefixes[] = { "cu", "hip", "hsa_", "ze", "cl", "vk", "nccl", "MPI_", "PMPI_" };

static bool may_be_known(const char *function)
{
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (!strncmp(function, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

enum library_call library_calls_kind(const char *function)
{
	bool known = false;

	if (!may_be_known(function))
		return LIBRARY_CALL_NONE;
	for (size_t i = 0; i < library_calls_len && !known; i++)
		known = library_calls_has(&library_calls[i], function);
	if (!known)
		return LIBRARY_CALL_NONE;
	for (size_t i = 0; i < sizeof(working) / sizeof(working[0]); i++)
		if (!fnmatch(working[i], function, 0))
			return LIBRARY_CALL_WORKS;
	return LIBRARY_CALL_WAITS;
}
