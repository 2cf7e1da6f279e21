/* What the BPF programs tell of tagged files, as a part of bpf/abi.h: which have which names, what was written to them, synced, and in what
 * order, for the record of checkpoints. */
#ifndef STALLPROF_ABI_FILES_H
#define STALLPROF_ABI_FILES_H

#ifndef __bpf__
#include <linux/types.h>
#endif

enum abi_file_kind {
	ABI_FILE_OPENED = 1,     /* to be written; with names */
	ABI_FILE_WROTE = 2,      /* a call on it has ended: offset, length (0: not known), result */
	ABI_FILE_SYNCED = 3,     /* fsync, fdatasync, msync: offset, length, result; begin_ns to end_ns */
	ABI_FILE_DONE = 4,       /* a request has ended, or a direct write: offset, length, result */
	ABI_FILE_RENAMES = 5,    /* gets another name, or a folder does; with the names so far */
	ABI_FILE_RENAMED = 6,    /* … it has, in the same thread; with the names from now on. Where two have
	                            each other's names, both of both come */
	ABI_FILE_CLOSED = 7,     /* who could write to it */
	ABI_FILE_DIR_SYNCED = 8, /* a folder's fsync: result */
	ABI_FILE_ASKED = 9,      /* has it the xattr? With names */
};

enum abi_file_flags {
	ABI_FILE_DIRTY = 1,       /* pages of it are in memory that are not on the device yet */
	ABI_FILE_SYNCHRONOUS = 2, /* opened with O_SYNC or O_DSYNC */
	ABI_FILE_EMPTY = 4,       /* it has no data, or loses it with this */
	ABI_FILE_SCATTERED =
	        8, /* the request has pages from several places of the file: offset and length are not one range */
	ABI_FILE_DIRECT = 16,
	ABI_FILE_FOLDER = 32,    /* it is one */
	ABI_FILE_WRITABLE = 128, /* it was opened to be written */
	ABI_FILE_CUT = 64,       /* the first folders of its names are missing */
};

/* Without names the event ends behind `names_len`. */
struct abi_file_event {
	__u32 kind, flags;
	__u64 inode, number; /* its address, and its number in the file system */
	__u64 begin_ns, end_ns;
	__u64 offset, length;
	__s64 result;
	__u64 parent; /* number of the folder that it is in from now on */
	__u32 generation, dev, tgid, tid;
	__u32 source; /* index of the entry of tag_files that it was found by */
	__u32 lost;   /* events of this file that found no room so far */
	__u32 unused;
	__u32 names_len;
};

#define ABI_FILE_NAMES_MAX 1024 /* with one more name behind it, for the verifier's sake */
#define ABI_FILE_NAME_MAX  256

/* Its name, the name of the folder that it is in, and so on up to the root of its file system, a NUL behind each. */
struct abi_file_named {
	struct abi_file_event event;
	char names[ABI_FILE_NAMES_MAX + ABI_FILE_NAME_MAX];
};

/* Files of which anything is known, by the address of their inodes: a bit for each that ever was. */
#define ABI_FILE_BITS 4096

static inline __attribute__((always_inline)) __u32 abi_file_bit(__u64 inode)
{
	__u64 hash = inode * 0x9e3779b97f4a7c15ULL;

	return (hash ^ hash >> 32) % ABI_FILE_BITS;
}

#define ABI_ASKER_NAME "stallprof-files" /* of the process that looks at files for the profiler */

/* In place of a folder's inode, where a file is tagged by its xattr. */
#define ABI_XATTR_FOLDER 1ULL

struct abi_tagged_file {
	__u64 number;  /* of the inode */
	__u64 folder;  /* key of tag_folders */
	__u64 tags[2]; /* by enum abi_file_call; 0: not known yet */
	__u32 generation;
	__u32 lost; /* events that found no room */
};

_Static_assert(sizeof(struct abi_file_event) == 104, "file event");
_Static_assert(sizeof(struct abi_tagged_file) == 40, "tagged file");

#endif
