# Read by the guests' shells (dash): what a case's script may call.

# qmp '{"execute": ...}': has QEMU do something, and prints its answer.
qmp()
{
	echo "$1" >/vm-out/qmp.new
	mv /vm-out/qmp.new /vm-out/qmp.ask
	until [ -e /vm-out/qmp.answer ]; do sleep 0.02; done
	cat /vm-out/qmp.answer
	echo
	rm /vm-out/qmp.answer
}

# throttle DEVICE BYTES_A_SECOND (0: as fast as it goes)
throttle()
{
	qmp '{"execute": "block_set_io_throttle", "arguments": {"device": "'"$1"'", "bps": '"$2"', "bps_rd": 0, "bps_wr": 0,
		"iops": 0, "iops_rd": 0, "iops_wr": 0}}'
}

# until_true SECONDS COMMAND...
until_true()
{
	local left=$(($1 * 10))
	shift
	until "$@" >/dev/null 2>&1; do
		left=$((left - 1))
		[ "$left" -gt 0 ] || { echo "never true: $*" >&2; return 1; }
		sleep 0.1
	done
}

# Whether the profiler PID has set up its programs: it waits in its loop then (poll, ppoll), for several files.
listens()
{
	read -r call _ files _ </proc/"$1"/syscall && { [ "$call" = 7 ] || [ "$call" = 271 ]; } && [ $((files)) -gt 1 ]
}

# record NAME COMMAND...: records a command, with the further options in RECORD_OPTIONS; its output goes to NAME.lines, the profile to NAME.pb.gz, its top to NAME.top.json.
record()
{
	name=$1
	shift
	"$STALLPROF" record $RECORD_OPTIONS -o /vm-out/"$name".pb.gz -- "$@" >/vm-out/"$name".lines 2>/vm-out/"$name".log
	echo $? >/vm-out/"$name".code
	"$STALLPROF" top /vm-out/"$name".pb.gz -n 0 --json >/vm-out/"$name".top.json
}

# record_windows NAME SECONDS COMMAND...: the same, with a profile for each window of so many seconds, in NAME.windows/.
record_windows()
{
	name=$1
	seconds=$2
	shift 2
	mkdir /vm-out/"$name".windows
	"$STALLPROF" record -w "$seconds" -o /vm-out/"$name".windows -- "$@" >/vm-out/"$name".lines 2>/vm-out/"$name".log
	echo $? >/vm-out/"$name".code
	"$STALLPROF" top /vm-out/"$name".windows/*.pb.gz -n 0 --json >/vm-out/"$name".top.json
}

# nvme_offered DEVICE: makes it the subsystem "stall" and a port of it, number 1, which has no transport yet. The modules are loaded.
nvme_offered()
{
	mount -t configfs configfs /sys/kernel/config
	nvmet=/sys/kernel/config/nvmet
	mkdir -p $nvmet/subsystems/stall/namespaces/1 $nvmet/ports/1
	echo 1 >$nvmet/subsystems/stall/attr_allow_any_host
	echo -n "$1" >$nvmet/subsystems/stall/namespaces/1/device_path
	echo 1 >$nvmet/subsystems/stall/namespaces/1/enable
}

# nvme_over_loop DEVICE: … without a network
nvme_over_loop()
{
	nvme_offered "$1"
	echo loop >$nvmet/ports/1/addr_trtype
	ln -s $nvmet/subsystems/stall $nvmet/ports/1/subsystems/stall
}

# nvme_over_tcp DEVICE: … on port 4420 of loopback
nvme_over_tcp()
{
	nvme_offered "$1"
	echo tcp >$nvmet/ports/1/addr_trtype
	echo ipv4 >$nvmet/ports/1/addr_adrfam
	echo 127.0.0.1 >$nvmet/ports/1/addr_traddr
	echo 4420 >$nvmet/ports/1/addr_trsvcid
	ln -s $nvmet/subsystems/stall $nvmet/ports/1/subsystems/stall
}

# nfs_mounted: serves /vm-disk/export by NFS on loopback, and mounts that at /mnt/nfs. The modules are loaded.
nfs_mounted()
{
	mkdir -p /mnt/nfs /var/lib/nfs/rpc_pipefs /var/lib/nfs/v4recovery
	mount -t nfsd nfsd /proc/fs/nfsd
	echo 10 >/proc/fs/nfsd/nfsv4leasetime
	echo 10 >/proc/fs/nfsd/nfsv4gracetime
	echo "/vm-disk/export 127.0.0.1(rw,async,no_subtree_check,no_root_squash,fsid=0)" >/etc/exports
	exportfs -ra
	rpc.mountd -N 3 && rpc.nfsd -N 3 4
	mount -t nfs4 -o vers=4.2 127.0.0.1:/ /mnt/nfs || exit 1
	touch /mnt/nfs/began # not before the server's time of grace is over
}
