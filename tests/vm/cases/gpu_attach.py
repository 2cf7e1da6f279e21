"""The drivers of GPUs that no guest has: their modules are loaded, without a device, and each function and tracepoint that stands for
a wait in them must be there and let itself be hooked. Whether they are called where a thread waits, only a machine with such a GPU can tell."""
MODULES = {"amdgpu": "amdgpu", "i915": "i915", "xe": "xe", "nouveau": "nouveau", "gpu_sched": "gpu-sched", "drm": "drm"}
GUEST = """
for module in %s; do
	if modprobe -n "$module" 2>/dev/null; then
		modprobe "$module" && echo "$module" >>/vm-out/loaded || echo "$module" >>/vm-out/failed
	fi
done
"$STALLPROF" doctor --json >/vm-out/doctor.json
record short sleep 1
""" % " ".join(MODULES)
HOOKS = {
    "drm": ["tp_btf/dma_fence_wait_start", "tp_btf/dma_fence_wait_end", "tp/dma_fence/dma_fence_wait_start", "fentry/dma_fence_wait_any_timeout",
            "fexit/dma_fence_wait_any_timeout", "fentry/drm_syncobj_wait_ioctl", "fexit/drm_syncobj_wait_ioctl", "fentry/drm_syncobj_timeline_wait_ioctl",
            "fexit/drm_syncobj_timeline_wait_ioctl", "tp_btf/dma_fence_signaled", "fentry/drm_ioctl", "fexit/drm_ioctl"],
    "gpu_sched": ["fentry/drm_sched_entity_flush", "fexit/drm_sched_entity_flush"],
    "amdgpu": ["fentry/kfd_wait_on_events", "fexit/kfd_wait_on_events", "fentry/amdgpu_ctx_wait_prev_fence", "fexit/amdgpu_ctx_wait_prev_fence",
               "fentry/amdgpu_ring_alloc", "fexit/amdgpu_ring_alloc", "fentry/amdgpu_fence_wait_polling", "fexit/amdgpu_fence_wait_polling"],
    "i915": ["tp_btf/i915_request_wait_begin", "tp_btf/i915_request_wait_end", "tp_btf/i915_request_add"],
    "xe": ["fentry/xe_wait_user_fence_ioctl", "fexit/xe_wait_user_fence_ioctl", "fentry/wq_wait_for_space", "fexit/wq_wait_for_space",
           "fentry/xe_guc_ct_send", "fexit/xe_guc_ct_send"],
    "nouveau": ["fentry/nouveau_dma_wait", "fexit/nouveau_dma_wait"],
}
# A function of i915's: splice() has another of that name, which would be hooked in its place.
SHADOWED = ["fentry/wait_for_space", "fexit/wait_for_space"]
# drm_sched's tracepoints, which got other names in Linux 6.16.
SCHED = {"sid": ["tp_btf/drm_sched_job_queue", "tp_btf/drm_sched_job_run", "tp_btf/drm_sched_job_unschedulable"]}
SCHED_BEFORE = ["tp_btf/drm_sched_job", "tp_btf/drm_run_job", "tp_btf/drm_sched_job_wait_dep"]


def check(case):
    top = case.recorded("short")[0]
    loaded = case.text("loaded").split()
    case.tap.check(not case.text("failed") and {"amdgpu", "i915", "nouveau", "drm"} <= set(loaded), f"loaded: {' '.join(loaded)}", case.text("failed"), case.dmesg[-2000:])
    available = {hook["hook"]: hook for cause in case.json("doctor.json")["causes"] for hook in cause["hooks"]}
    seen = {hook["hook"]: hook for hook in top["stamp"]["hooks"]}
    hooks = {**HOOKS, "gpu_sched": HOOKS["gpu_sched"] + SCHED.get(case.kernel, SCHED_BEFORE)}
    for module in loaded:
        lacking = [hook for hook in hooks[module] if seen.get(hook, {}).get("state") != "attached"]
        case.tap.check(not lacking, f"{module}: its {len(hooks[module])} hooks are attached", *[f"{hook}: {seen.get(hook)}" for hook in lacking])
        unknown = [hook for hook in hooks[module] if not available.get(hook, {}).get("available")]
        case.tap.check(not unknown, f"{module}: doctor says that they can be had", *[f"{hook}: {available.get(hook)}" for hook in unknown])
    told = [(seen[hook]["state"], seen[hook]["reason"]) for hook in SHADOWED]
    case.tap.check(told == 2 * [("missing", "the kernel has another function of that name")], "the kernel's function of the name of one of i915's is not hooked", told)
    case.cell("gpu_attach", hooks=[hook for module in loaded for hook in hooks[module]], fault=f"modules without hardware: {', '.join(loaded)}")
