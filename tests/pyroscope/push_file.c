/*
 * push_file: pushes one gzip'd pprof profile by stallprof's push client, for the tests.
 *
 *	push_file [-t TENANT] [-u USER -p PASSWORD_FILE] [-b TOKEN_FILE] [-w TIMEOUT_MS] URL FILE
 *		  NAME=VALUE...
 *
 * Exits 0 when the server took it. Else prints the client's line, then exits with 75 when it may be tried
 * again, and with 1 when not.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/output/push.h"

#define FILE_MAX (64 << 20)

static void *read_file(const char *path, size_t *len)
{
	char *data = malloc(FILE_MAX);
	FILE *file = fopen(path, "rb");

	if (data && file)
		*len = fread(data, 1, FILE_MAX, file);
	if (!data || !file || ferror(file)) {
		fprintf(stderr, "push_file: %s: %s\n", path, strerror(errno));
		free(data);
		data = NULL;
	}
	if (file)
		fclose(file);
	return data;
}

static int parse_options(int argc, char **argv, struct push_opts *opts)
{
	int option;

	while ((option = getopt(argc, argv, "t:u:p:b:w:")) != -1) {
		switch (option) {
		case 't':
			opts->tenant = optarg;
			break;
		case 'u':
			opts->basic_user = optarg;
			break;
		case 'p':
			opts->basic_password_file = optarg;
			break;
		case 'b':
			opts->bearer_token_file = optarg;
			break;
		case 'w':
			opts->timeout_ms = strtol(optarg, NULL, 10);
			break;
		default:
			return -EINVAL;
		}
	}
	return argc - optind >= 3 ? 0 : -EINVAL;
}

/* NAME=VALUE…; more than a series can have are left for the client to refuse. */
static size_t parse_labels(char **args, size_t n, struct push_label *labels)
{
	size_t i;

	for (i = 0; i < n; i++) {
		labels[i].name = args[i];
		labels[i].value = "";
		if (strchr(args[i], '=')) {
			labels[i].value = strchr(args[i], '=') + 1;
			*strchr(args[i], '=') = '\0';
		}
	}
	return n;
}

int main(int argc, char **argv)
{
	struct push_label labels[PUSH_LABELS_MAX + 1];
	struct push_opts opts = { 0 };
	struct push_client *client;
	char err[PUSH_ERR_MAX];
	size_t len = 0, n;
	void *data;
	int rc;

	if (parse_options(argc, argv, &opts) || argc - optind - 2 > PUSH_LABELS_MAX + 1) {
		fprintf(stderr, "usage: push_file [-t TENANT] [-u USER -p FILE] [-b FILE] [-w MS] URL FILE "
		                "NAME=VALUE...\n");
		return 2;
	}
	opts.url = argv[optind];
	n = parse_labels(argv + optind + 2, (size_t)(argc - optind - 2), labels);
	data = read_file(argv[optind + 1], &len);
	if (!data)
		return 1;
	client = push_client_new(&opts, err, sizeof(err));
	rc = client ? push_client_send(client, labels, n, data, len, err, sizeof(err)) : -errno;
	if (rc)
		fprintf(stderr, "push_file: %s\n", err);
	push_client_free(client);
	free(data);
	return rc == -EAGAIN || rc == -EREMOTEIO || rc == -ETIMEDOUT ? 75 : rc != 0;
}
