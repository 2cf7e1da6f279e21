/* The kernel's types, declared with just the fields that are read; CO-RE finds them in the running kernel.
 *
 * A number that is read directly, not by a helper, is declared unsigned: then libbpf fits the read to the field's size
 * in the running kernel. Of a signed one it would make an invalid instruction when sizes differ. Fields that some
 * kernels lack are asked for by HAS_FIELD(). */
#ifndef STALLPROF_KERNEL_BPF_H
#define STALLPROF_KERNEL_BPF_H

typedef unsigned char __u8;
typedef short __s16;
typedef unsigned short __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long __s64;
typedef unsigned long long __u64;
typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __s64 s64;
typedef __u64 u64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;
#define true 1
#define false 0
#define NULL ((void *)0)

enum { BPF_ANY = 0, BPF_NOEXIST = 1 };
enum { BPF_F_USER_STACK = 1 << 8 };
enum { BPF_RB_NO_WAKEUP = 1, BPF_RB_FORCE_WAKEUP = 2 };
enum { BPF_RB_AVAIL_DATA = 0, BPF_RB_RING_SIZE = 1 };
enum { BPF_LOCAL_STORAGE_GET_F_CREATE = 1 };
enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PROG_ARRAY = 3,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_STACK = 23,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};
enum { BPF_F_NO_PREALLOC = 1 };

#define PF_KTHREAD           0x00200000
#define PF_USER_WORKER       0x00004000 /* since 6.4; before, of who has ever used an async call */
#define PF_IO_WORKER         0x00000010
#define PF_WQ_WORKER         0x00000020
#define TASK_INTERRUPTIBLE   0x0001
#define TASK_UNINTERRUPTIBLE 0x0002
#define TASK_STOPPED_ETC     0x800c /* stopped, traced, and since 6.1 frozen */
#define TASK_DEAD            0x0080
#define TASK_WAKEKILL        0x0100
#define TASK_NOLOAD          0x0400
#define TS_COMPAT            0x0002 /* in a system call by the entry for 32-bit programs */

/* Threads that work for others: the kernel's own, and io_uring's. A stall of theirs is one of whom they work for. */
#define PF_SERVES_OTHERS                                                                                     \
	(PF_KTHREAD | PF_IO_WORKER |                                                                         \
	 (bpf_core_field_exists(((struct kernel_clone_args *)0)->user_worker) ? PF_USER_WORKER : 0))

/* In the preemption count: a soft interrupt that is served (not one that is held off). */
#define SOFT_INTERRUPT 0x100

#define S_IFMT   0170000
#define S_IFIFO  0010000
#define S_IFSOCK 0140000

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* x86-64. The names of these fields never changed. */
struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs,
	        flags, sp, ss;
};

struct thread_struct {
	unsigned long fsbase;
};

struct mm_struct {
	unsigned long start_stack;
};

struct kernfs_node {
	u64 id;
};

struct cgroup {
	int level;
	struct kernfs_node *kn;
	struct cgroup *ancestors[]; /* since 6.1 */
};

struct cgroup___before_6_1 {
	int level;
	u64 ancestor_ids[];
};

struct rq {
	u64 clock;
};

struct cfs_rq {
	struct rq *rq; /* absent without CONFIG_FAIR_GROUP_SCHED */
};

struct sched_entity {
	struct cfs_rq *cfs_rq; /* likewise */
	u64 sum_exec_runtime;
	unsigned char sched_delayed; /* since 6.12: asleep, though still on the run queue */
};

struct sched_info {
	unsigned long long run_delay;
	unsigned long long last_arrival; /* when it last got onto a CPU, by that one's clock */
	unsigned long long last_queued;  /* 0: on no run queue, or on the CPU */
};

struct cgroup_subsys_state;
struct bpf_local_storage;

struct css_set {
	struct cgroup_subsys_state
	        *subsys[12]; /* by controller: the length differs, the index is looked up */
	struct cgroup *dfl_cgrp;
};

struct super_block {
	u32 s_dev;
	unsigned long s_magic;
	struct backing_dev_info *s_bdi;
};

struct inode {
	unsigned short i_mode;
	u32 i_generation;
	unsigned long i_ino;
	struct super_block *i_sb;
};

struct qstr {
	const unsigned char *name;
};

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
};

struct path {
	struct dentry *dentry;
};

struct address_space {
	struct inode *host;
};

/* A page's mapping may have bits in its lowest two that say it is none. */
#define MAPPING_FLAGS 3

struct page {
	struct address_space *mapping; /* of the first page of a folio */
	unsigned long compound_head;   /* of the others: where that is, + 1 */
};

/* … or, in some configurations, a mask for its address, with all of the upper bits. */
struct page___since_7_1 {
	unsigned long compound_info;
};

#define COMPOUND_MASK_SHIFT 40
#define COMPOUND_MASK_TOP   0xffffffULL

struct file {
	struct inode *f_inode;
	struct path f_path;
};

struct timespec64 {
	u64 tv_sec; /* signed; never read directly */
	u64 tv_nsec;
};

struct timens_offsets {
	struct timespec64 monotonic;
};

struct time_namespace { /* absent without CONFIG_TIME_NS */
	struct timens_offsets offsets;
};

struct nsproxy {
	struct time_namespace *time_ns;
};

struct thread_info {
	unsigned int status;
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state;
	unsigned int flags;
	unsigned int on_rq;  /* one byte since 7.2, as on_cpu */
	unsigned int on_cpu; /* absent without CONFIG_SMP */
	struct sched_entity se;
	struct sched_info sched_info; /* absent without CONFIG_SCHED_INFO */
	unsigned int in_iowait : 1;
	unsigned int frozen : 1; /* with CONFIG_CGROUPS */
	unsigned int pid;
	unsigned int tgid;
	struct task_struct *group_leader;
	struct task_struct *real_parent;
	u64 start_boottime;
	unsigned long nvcsw;
	unsigned long nivcsw;
	struct mm_struct *mm;
	struct thread_struct thread;
	struct css_set *cgroups;
	struct gendisk *throttle_disk; /* since 6.3; absent without CONFIG_BLK_CGROUP */
	struct files_struct *files;
	struct bpf_local_storage *bpf_storage;
	struct nsproxy *nsproxy;
	void *worker_private; /* of a kernel thread, since 5.17: its struct kthread */
	void *set_child_tid;  /* … before */
	char comm[16];
};

struct kernel_clone_args {
	unsigned int user_worker : 1; /* since 6.4 */
};

struct block_device;

struct gendisk {
	int major;
	int first_minor;
	int flags;
	void *private_data;         /* the driver's; NVMe's is a struct nvme_ns */
	struct block_device *part0; /* the whole disk */
};

/* GENHD_FL_HIDDEN since 5.17, and before: the path to a disk of several paths, without a name of its own. */
#define DISK_HIDDEN (2 | 0x400)

struct blk_mq_tag_set;

struct request_queue {
	struct gendisk *disk; /* in the request queue since 5.15 */
	struct blk_mq_tag_set *tag_set;
};

struct task_struct___before_6_3 {
	struct request_queue *throttle_queue;
};

struct blkcg; /* begins with its cgroup_subsys_state */

struct blkcg_gq {
	struct blkcg *blkcg;
};

struct bio_vec {
	struct page *bv_page;
};

struct bvec_iter {
	unsigned int bi_idx;
};

struct bio {
	struct bio *bi_next;
	struct block_device *bi_bdev;
	struct bio_vec *bi_io_vec;
	struct bvec_iter bi_iter;
	struct blkcg_gq *bi_blkg; /* absent without CONFIG_BLK_CGROUP */
};

typedef struct {
	int counter;
} atomic_t;

struct refcount_struct {
	atomic_t refs;
};

struct sbitmap {
	unsigned int depth;
};

struct sbitmap_queue {
	struct sbitmap sb;
};

/* Since 5.16 the bitmaps lie in here. */
struct blk_mq_tags {
	struct sbitmap_queue bitmap_tags;
	struct sbitmap_queue breserved_tags;
};

struct blk_mq_tags___before_5_16 {
	struct sbitmap_queue *bitmap_tags;
	struct sbitmap_queue *breserved_tags;
};

struct blk_mq_hw_ctx {
	unsigned int queue_num;
	struct blk_mq_tags *tags;
	struct blk_mq_tags *sched_tags; /* NULL without a scheduler */
};

struct request {
	struct request_queue *q;
	struct blk_mq_hw_ctx *mq_hctx;
	struct bio *bio;
	unsigned int __data_len;
	u32 cmd_flags;
	u32 rq_flags;
	u64 start_time_ns;
	atomic_t ref; /* 0: not in use */
	void *end_io; /* NULL: it ends as requests of file systems do */
};

enum req_op { REQ_OP_ZONE_APPEND = 7 };

#define REQ_OP_MASK    0xff
#define REQ_OP_READ    0
#define REQ_OP_WRITE   1
#define REQ_OP_FLUSH   2
#define REQ_OP_DISCARD 3

struct request___before_5_16 {
	struct refcount_struct ref;
};

#define BLK_MQ_REQ_RESERVED 2

struct blk_mq_alloc_data {
	struct request_queue *q;
	unsigned int flags;
	struct blk_mq_hw_ctx *hctx;
};

struct bus_type {
	const char *name;
};

struct device {
	u32 devt;
	struct device *parent;
	struct bus_type *bus;
};

struct block_device {
	struct gendisk *bd_disk;
	struct device bd_device;
};

struct backing_dev_info {
	struct device *owner; /* the disk; NULL: none */
};

struct bdi_writeback {
	struct backing_dev_info *bdi;
};

struct transaction_s;

struct journal_s {
	struct block_device *j_fs_dev;
	struct transaction_s *j_committing_transaction;
};

struct work_struct {
	void *func;
};

struct list_head {
	struct list_head *next;
};

struct hlist_head {
	struct hlist_node *first;
};
struct folio;

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
	u64 session_id;
	u64 seq_num;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

struct bpf_iter__task_vma {
	struct task_struct *task;
	struct vm_area_struct *vma;
};

struct bpf_iter__task_file {
	struct task_struct *task;
	u32 fd;
	struct file *file;
};

enum cgroup_subsys_id { io_cgrp_id = 1 }; /* whatever it is here: CO-RE looks it up */

/* Which helpers there are: by bpf_core_enum_value_exists(). */
enum bpf_func_id { BPF_FUNC_loop = 181, BPF_FUNC_get_func_ret = 184 };

#pragma clang attribute pop

/* A perf event hands this over; its layout is user-space ABI. */
struct bpf_perf_event_data {
	struct {
		unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip,
		        cs, flags, sp, ss;
	} regs;
	u64 sample_period;
	u64 addr;
};

#define __VMLINUX_H__ /* lets bpf_tracing.h use the kernel's names of registers */
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#define ALWAYS static __always_inline

/* Whether the running kernel has the field; `ptr` is a variable. What is read through it behind this question is also
 * computed there: clang is free to work out the place of the field ahead of it, and where there is no such field libbpf puts
 * an instruction that the verifier refuses wherever it can be reached. */
#define HAS_FIELD(ptr, field)                                                                                \
	(bpf_core_field_exists((ptr)->field) && ({                                                           \
		 barrier_var(ptr);                                                                           \
		 true;                                                                                       \
	 }))

#endif
