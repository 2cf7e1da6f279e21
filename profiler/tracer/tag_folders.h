/*
 * Folders whose files are tagged (bpf/files.bpf.c), and the xattr that tags files anywhere.
 *
 *     tag_folders_prepare(config->tags.files, n, bpf);                      before it is loaded
 *     tag_folders_open(config->tags.files, n, &folders, err, sizeof(err));  before anything is loaded: says what is wrong
 *     tag_folders_set(folders, bpf);                                        once it is loaded and its hooks are attached
 *     tag_folders_hold(folders, bpf, now, say);                             now and then
 *     tag_folders_close(folders);
 *
 * They stay open in between, as the kernel's side knows them by their inodes. What is mounted at a path later, unmounted, or made anew there,
 * is another folder.
 */
#ifndef STALLPROF_PROFILER_TAG_FOLDERS_H
#define STALLPROF_PROFILER_TAG_FOLDERS_H

#include <stddef.h>
#include <stdint.h>

#include "profiler/format/say.h"

struct abi_tagged_file;
struct config_tag_files;
struct stallprof_bpf;
struct tag_folders;

/* 0 with *out NULL where there are none, else *out, which `files` outlives; -errno and a line in `err`. */
int tag_folders_open(const struct config_tag_files *files, size_t n, struct tag_folders **out, char *err,
                     size_t err_len);
void tag_folders_close(struct tag_folders *folders);

/* Sets what the programs have to know before they are loaded, and the sizes of their maps. */
void tag_folders_prepare(const struct config_tag_files *files, size_t n, struct stallprof_bpf *bpf);

/* Tags one more file, which has the xattr. 0 or -errno. */
int tag_folders_add_file(const struct stallprof_bpf *bpf, uint64_t inode,
                         const struct abi_tagged_file *tagged);

/* Whether the file has the xattr is asked again when it is opened again. */
void tag_folders_ask_again(const struct stallprof_bpf *bpf, uint64_t inode);

/* Tags the files in them that are open already, and from now on those that are opened. `folders` may be NULL. 0 or -errno. */
int tag_folders_set(const struct tag_folders *folders, const struct stallprof_bpf *bpf);

/* At most each 10 s: opens anew those whose path leads to another folder by now, as tag_folders_set() does, and says so. A path that leads
 * nowhere is told once. Asks no file system that does not answer (file_gate.h). `folders` may be NULL. */
void tag_folders_hold(struct tag_folders *folders, const struct stallprof_bpf *bpf, uint64_t now_ns,
                      say_fn say);

#endif
