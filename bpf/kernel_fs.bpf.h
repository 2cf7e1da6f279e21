/* The kernel's types, as in kernel.bpf.h: more of what files, their pages and their requests have. What is behind ___ in a name is none of
 * the kernel's: there are two declarations of one struct. */
#ifndef STALLPROF_KERNEL_FS_BPF_H
#define STALLPROF_KERNEL_FS_BPF_H

#include "bpf/kernel.bpf.h"

#define S_IFDIR 0040000
#define S_IFREG 0100000

#define FMODE_WRITE     2
#define FMODE_CREATED   0x100000
#define O_TRUNC         01000
#define O_DSYNC         010000
#define RENAME_EXCHANGE 2
#define XATTR_NAME      64 /* of names that are looked for, with a NUL */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct xarray {
	u32 xa_flags;
};

struct address_space___pages {
	struct xarray i_pages;
};

struct inode___data {
	struct address_space___pages *i_mapping;
	u64 i_size; /* signed; never negative */
};

struct super_block___xattrs {
	void *s_xattr; /* NULL: its files have none */
};

struct file___flags {
	unsigned int f_mode;
	unsigned int f_flags;
};

struct page___indexed {
	unsigned long index;
};

struct page___since_6_16 {
	unsigned long __folio_index;
};

struct bio_vec___whole {
	struct page *bv_page;
	unsigned int bv_len;
	unsigned int bv_offset;
};

struct bvec_iter___whole {
	unsigned int bi_size;
	unsigned int bi_idx;
	unsigned int bi_bvec_done;
};

struct bio___whole {
	struct bvec_iter___whole bi_iter;
	unsigned short bi_vcnt; /* 0: of a copy, which shares its vectors with another */
	struct bio_vec *bi_io_vec;
};

struct kiocb___whole {
	struct file *ki_filp;
	u64 ki_pos;
};

struct iomap_dio {
	struct kiocb___whole *iocb;
	u64 size;
	unsigned int flags;
	int error;
};

#define IOMAP_DIO_WRITE 0x40000000

/* XFS's: from what its log's tracepoints are given to the disks of the log and of the data. */
struct xfs_buftarg {
	struct block_device *bt_bdev;
};

struct xlog {
	struct xfs_mount *l_mp;
	struct xfs_buftarg *l_targ;
};

struct xfs_mount {
	struct xfs_buftarg *m_ddev_targp;
	struct xlog *m_log;
};

struct xlog_in_core {
	struct xlog *ic_log;
};

struct renamedata { /* since 5.12 */
	struct dentry *old_dentry;
	struct dentry *new_dentry;
	unsigned int flags;
};

#pragma clang attribute pop

/* User space's. */
struct iovec {
	u64 base, len;
};

#endif
