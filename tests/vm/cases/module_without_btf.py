"""A driver that was built without BTF, as against headers without vmlinux: its hooks cannot be had, and doctor says why and what helps."""
GUEST = """
modprobe --show-depends virtio_gpu | sed 's/^insmod //; s/ *$//' >/tmp/needed
for file in $(head -n -1 /tmp/needed); do
	insmod "$file" 2>/dev/null
done
file=$(tail -n 1 /tmp/needed)
case $file in
*.xz) xz -dc "$file" ;;
*) cat "$file" ;;
esac >/tmp/virtio_gpu.ko
objcopy --remove-section '.BTF*' /tmp/virtio_gpu.ko
insmod /tmp/virtio_gpu.ko && echo loaded >/vm-out/loaded
ls /sys/kernel/btf >/vm-out/types
"$STALLPROF" doctor --json >/vm-out/doctor.json
"$STALLPROF" doctor >/vm-out/doctor.txt
record short sleep 1
"""
REASON = "its module has no BTF"
HOOKS = {"fentry/virtio_gpu_queue_fenced_ctrl_buffer", "fexit/virtio_gpu_queue_fenced_ctrl_buffer", "tp_btf/virtio_gpu_cmd_queue",
         "tp_btf/virtio_gpu_cmd_response"}


def check(case):
    top = case.recorded("short")[0]
    types = case.text("types").split()
    case.tap.check(case.text("loaded") and "virtio_gpu" not in types and "drm" in types, "premise: virtio_gpu has no BTF, drm has", types, case.dmesg[-2000:])
    told = [hook for cause in case.json("doctor.json")["causes"] for hook in cause["hooks"] if hook["hook"] in HOOKS and hook["reason"] == REASON]
    case.tap.check({hook["hook"] for hook in told} == HOOKS, "doctor says why its hooks cannot be had", told)
    case.tap.check(told and all("/sys/kernel/btf/vmlinux" in hook["advice"] for hook in told), "and what would help", told)
    seen = {hook["hook"] for hook in top["stamp"]["hooks"] if hook["reason"] == REASON and hook["state"] == "missing"}
    case.tap.check(HOOKS <= seen, "so does the profile", seen)
