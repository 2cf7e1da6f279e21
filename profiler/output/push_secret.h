/* Passwords and tokens, read from files so that they are on no command line and in no configuration. */
#ifndef STALLPROF_PROFILER_PUSH_SECRET_H
#define STALLPROF_PROFILER_PUSH_SECRET_H

#include <stddef.h>

#define PUSH_SECRET_MAX 8192

/*
 * Reads the first line of a file, without its line end, into *secret (free it with push_secret_free()). 0 or -errno
 * with one line in `err`, which names the file and never its content: -EINVAL when the line is empty or longer than
 * PUSH_SECRET_MAX or holds a control character, which would let it add headers to a request.
 */
int push_secret_read(const char *path, char **secret, char *err, size_t err_len);

/* The same, but only of a regular file, else -EINVAL: for one that is read again, which may be something else by now whose reader waits. */
int push_secret_read_again(const char *path, char **secret, char *err, size_t err_len);

/*
 * Overwrites with asterisks, in a text that is to be shown, each occurrence of the secret (NULL: none), also
 * with JSON's escapes in it, and whatever follows the word Basic or Bearer: servers and proxies repeat what they refuse.
 */
void push_secret_mask(const char *secret, char *text, size_t len);

/* Wipes and frees. Takes NULL. */
void push_secret_free(char *secret);

#endif
