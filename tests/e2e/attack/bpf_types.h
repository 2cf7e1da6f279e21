/* The types that libbpf's headers expect, for the BPF programs in this folder: those share nothing with bpf/. */
#ifndef ATTACK_BPF_TYPES_H
#define ATTACK_BPF_TYPES_H

typedef unsigned char __u8;
typedef short __s16;
typedef unsigned short __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long __s64;
typedef unsigned long long __u64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;

#endif
