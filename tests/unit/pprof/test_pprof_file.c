/* Tests of pprof_file.h: files are read whole, written whole or not at all, and errors say what to do. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "pprof/pprof_file.h"
#include "tests/unit/need_root.h"

static const size_t MIB = 1 << 20;
static char dir[64];

static int enter_dir(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/stallprof-pprof-XXXXXX");
	return mkdtemp(dir) && chdir(dir) == 0 ? 0 : -1;
}

static int remove_entry(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static int leave_dir(void **state)
{
	(void)state;
	return chdir("/") == 0 && nftw(dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS) == 0 ? 0 : -1;
}

static struct profile *profile_of(int64_t n_samples)
{
	struct profile_value_type delay = { "delay", "nanoseconds" };
	struct profile *p = profile_new(&delay, 1, delay, 1, 64 * MIB);

	for (int64_t i = 1; i <= n_samples; i++) {
		int64_t id = profile_location(p, 0, (uint64_t)i * 7919, NULL, 0);

		assert_int_equal(profile_add_sample(p, &id, 1, &i, NULL, 0), 0);
	}
	return p;
}

static void write_profile(const char *path, int64_t n_samples)
{
	struct profile *p = profile_of(n_samples);
	char err[512] = "";

	if (pprof_file_write(path, p, 0, err, sizeof(err)))
		fail_msg("%s", err);
	profile_free(p);
}

static void assert_samples(const char *path, size_t want)
{
	struct profile *p;
	char err[512] = "";

	if (pprof_file_read(path, MIB, &p, err, sizeof(err)))
		fail_msg("%s", err);
	assert_int_equal(profile_n_samples(p), want);
	profile_free(p);
}

/* Files whose name begins with `name`: one that is left over from writing shows here. */
static size_t count_files(const char *name)
{
	char pattern[128];
	glob_t found;
	size_t n;

	snprintf(pattern, sizeof(pattern), "%s*", name);
	n = glob(pattern, 0, NULL, &found) == 0 ? found.gl_pathc : 0;
	globfree(&found);
	return n;
}

static void test_pprof_file__reads_what_it_wrote(void **state)
{
	struct stat st;

	(void)state;
	umask(027);
	write_profile("new.pb.gz", 3);
	umask(022);
	assert_samples("new.pb.gz", 3);
	assert_int_equal(stat("new.pb.gz", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	assert_int_equal(count_files("new"), 1);
}

static void test_pprof_file__replaces_and_keeps_permissions(void **state)
{
	struct stat st;

	(void)state;
	write_profile("old.pb.gz", 3);
	assert_int_equal(chmod("old.pb.gz", 0604), 0);
	write_profile("old.pb.gz", 5);
	assert_samples("old.pb.gz", 5);
	assert_int_equal(stat("old.pb.gz", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0604);
	assert_int_equal(count_files("old"), 1);
}

static void test_pprof_file__what_is_there_stays(void **state)
{
	char err[256] = "";

	(void)state;
	assert_int_equal(pprof_file_write_new("stays.pb.gz", "1", 1, err, sizeof(err)), 0);
	assert_int_equal(pprof_file_write_new("stays.pb.gz", "22", 2, err, sizeof(err)), -EEXIST);
	assert_non_null(strstr(err, "stays.pb.gz"));
	assert_int_equal(symlink("nowhere", "stays-too.pb.gz"), 0);
	assert_int_equal(pprof_file_write_new("stays-too.pb.gz", "1", 1, err, sizeof(err)), -EEXIST);
	assert_int_equal(access("nowhere", F_OK), -1);
	assert_int_equal(count_files("stays"), 2);
}

static bool as_on_nfs;

/* NFS has no RENAME_NOREPLACE. */
int renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned int flags)
{
	if (!as_on_nfs)
		return (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, flags);
	errno = EINVAL;
	return -1;
}

/* The server's answer is lost, and it is asked again. */
int link(const char *from, const char *to)
{
	int ret = (int)syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);

	return as_on_nfs && !ret ? link(from, to) : ret;
}

static void test_pprof_file__what_is_there_stays_on_nfs(void **state)
{
	char err[256] = "";

	(void)state;
	as_on_nfs = true;
	assert_int_equal(pprof_file_write_new("nfs.pb.gz", "1", 1, err, sizeof(err)), 0);
	assert_int_equal(count_files("nfs"), 1);
	assert_int_equal(pprof_file_write_new("nfs.pb.gz", "22", 2, err, sizeof(err)), -EEXIST);
	assert_int_equal(count_files("nfs"), 1);
	as_on_nfs = false;
}

static void test_pprof_file__keeps_symbolic_links(void **state)
{
	struct stat st;

	(void)state;
	write_profile("target.pb.gz", 3);
	assert_int_equal(symlink("target.pb.gz", "link.pb.gz"), 0);
	write_profile("link.pb.gz", 4);
	assert_int_equal(lstat("link.pb.gz", &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_samples("target.pb.gz", 4);
}

/* A device of our own: whoever breaks the code must not lose the host's, as root would. */
static bool make_device(const char *path, unsigned int minor)
{
	if (mknod(path, S_IFCHR | 0666, makedev(1, minor)) == 0)
		return true;
	return false;
}

enum { MINOR_NULL = 3, MINOR_FULL = 7 };

static void test_pprof_file__writes_into_devices(void **state)
{
	struct stat st;

	(void)state;
	if (!make_device("null", MINOR_NULL))
		skip_for("root alone makes device nodes");
	write_profile("null", 3);
	assert_int_equal(stat("null", &st), 0);
	assert_true(S_ISCHR(st.st_mode));
}

static void test_pprof_file__writes_into_pipes(void **state)
{
	struct stat st;
	pid_t child;
	int status;

	(void)state;
	assert_int_equal(mkfifo("pipe", 0600), 0);
	child = fork();
	if (child == 0) {
		write_profile("pipe", 6);
		_exit(0);
	}
	assert_samples("pipe", 6);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(stat("pipe", &st), 0);
	assert_true(S_ISFIFO(st.st_mode));
}

static void refuse_read(const char *path, size_t max_bytes, int want, const char *want_err)
{
	struct profile *p;
	char err[512] = "";

	assert_int_equal(pprof_file_read(path, max_bytes, &p, err, sizeof(err)), want);
	assert_string_equal(err, want_err);
	assert_null(p);
	assert_int_equal(pprof_file_read(path, max_bytes, &p, NULL, 0), want);
}

static void test_pprof_file__unreadable_files_are_named(void **state)
{
	FILE *f = fopen("text.pb.gz", "w");

	(void)state;
	assert_non_null(f);
	fputs("not a profile", f);
	fclose(f);
	write_profile("big.pb.gz", 1000);
	/* Not -EFBIG: it is not read up to the bound. */
	refuse_read("/dev/zero", MIB, -EBADMSG,
	            "/dev/zero is not a profile that can be read: not a pprof profile, or one cut short");
	refuse_read("none.pb.gz", MIB, -ENOENT,
	            "cannot open none.pb.gz: No such file or directory; check the path");
	refuse_read(".", MIB, -EISDIR, "cannot read .: Is a directory; give the name of a file");
	refuse_read("text.pb.gz", MIB, -EBADMSG,
	            "text.pb.gz is not a profile that can be read: not a pprof profile, or one cut short");
	refuse_read("big.pb.gz", 100, -EFBIG,
	            "cannot read big.pb.gz: it is larger than the 100 bytes allowed");
	refuse_read("/dev/null", 100, -EBADMSG,
	            "/dev/null is not a profile that can be read: there is nothing in it");
}

/* Writing a large profile over old.pb.gz of 3 samples fails with `want`, and changes nothing. */
static void refuse_write(const char *path, int want, const char *want_err)
{
	struct profile *p = profile_of(20000);
	char err[512] = "";

	assert_int_equal(pprof_file_write(path, p, 0, err, sizeof(err)), want);
	assert_string_equal(err, want_err);
	assert_int_equal(pprof_file_write(path, p, 0, NULL, 0), want);
	profile_free(p);
}

static void test_pprof_file__unwritable_paths_are_named(void **state)
{
	(void)state;
	write_profile("plain", 1);
	refuse_write("no/such.pb.gz", -ENOENT,
	             "cannot write no/such.pb.gz: No such file or directory; check the path");
	refuse_write(".", -EISDIR, "cannot write .: Is a directory; give the name of a file");
	refuse_write("plain/x.pb.gz", -ENOTDIR, "cannot write plain/x.pb.gz: Not a directory");
}

static void test_pprof_file__full_device(void **state)
{
	(void)state;
	if (!make_device("full", MINOR_FULL))
		skip_for("root alone makes device nodes");
	refuse_write("full", -ENOSPC,
	             "cannot write full: No space left on device; free some space, or write elsewhere");
}

/* Runs in a child, which may change its limits, user and mounts. */
static void in_child(void (*check)(void))
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		check();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* Copies a file to the socket, a while after its reader has begun. */
static void send_late(const char *path, int to)
{
	char bytes[65536];
	int fd = open(path, O_RDONLY);
	ssize_t n = read(fd, bytes, sizeof(bytes));

	usleep(50000);
	_exit(n > 0 && write(to, bytes, (size_t)n) == n ? 0 : 1);
}

/* A socket, which the path /dev/stdin does not open, set not to block; a file from where it stands. */
static void check_standard_input(void)
{
	int ends[2], fd;

	write_profile("in.pb.gz", 5);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	if (!fork())
		send_late("in.pb.gz", ends[1]);
	close(ends[1]);
	assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
	assert_true(dup2(ends[0], STDIN_FILENO) >= 0);
	assert_samples("/dev/stdin", 5);
	fd = open("before.bin", O_RDWR | O_CREAT, 0600);
	assert_int_equal(write(fd, "before", 6), 6);
	close(fd);
	assert_int_equal(system("cat in.pb.gz >> before.bin"), 0);
	fd = open("before.bin", O_RDONLY);
	assert_int_equal(lseek(fd, 6, SEEK_SET), 6);
	assert_true(dup2(fd, STDIN_FILENO) >= 0);
	assert_samples("/dev/stdin", 5);
	assert_true(fcntl(STDIN_FILENO, F_GETFD) >= 0); /* it stays open */
}

static void test_pprof_file__standard_input(void **state)
{
	(void)state;
	in_child(check_standard_input);
}

static void check_file_limit(void)
{
	struct rlimit limit = { 4096, 4096 };

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	refuse_write(
	        "limited.pb.gz", -EFBIG,
	        "cannot write limited.pb.gz: File too large; raise the limit on file sizes (ulimit -f), or "
	        "write elsewhere");
}

static void test_pprof_file__failed_write_leaves_the_old_file(void **state)
{
	(void)state;
	write_profile("limited.pb.gz", 3);
	in_child(check_file_limit);
	assert_samples("limited.pb.gz", 3);
	assert_int_equal(count_files("limited"), 1);
}

static void enter_mounts(void)
{
	assert_int_equal(unshare(CLONE_NEWNS), 0);
	assert_int_equal(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
}

static void check_full_disk(void)
{
	enter_mounts();
	assert_int_equal(mkdir("disk", 0700), 0);
	assert_int_equal(mount("none", "disk", "tmpfs", 0, "size=16k"), 0);
	write_profile("disk/full.pb.gz", 3);
	refuse_write(
	        "disk/full.pb.gz", -ENOSPC,
	        "cannot write disk/full.pb.gz: No space left on device; free some space, or write elsewhere");
	assert_samples("disk/full.pb.gz", 3);
	assert_int_equal(count_files("disk/full"), 1);
	assert_int_equal(mount("none", "disk", NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
	refuse_write("disk/full.pb.gz", -EROFS,
	             "cannot write disk/full.pb.gz: Read-only file system; write elsewhere");
	assert_samples("disk/full.pb.gz", 3);
}

/* As `docker run -v FILE:FILE` has it. */
static void check_mounted_file(void)
{
	enter_mounts();
	assert_int_equal(mount("outside.pb.gz", "mounted.pb.gz", NULL, MS_BIND, NULL), 0);
	write_profile("mounted.pb.gz", 300);
	assert_samples("mounted.pb.gz", 300);
	write_profile("mounted.pb.gz", 5);
	assert_samples("mounted.pb.gz", 5);
}

/* Root of a container may not. */
static bool may_mount(void)
{
	pid_t child = fork();
	int status;

	if (child == 0)
		_exit(unshare(CLONE_NEWNS) ? 1 : 0);
	return waitpid(child, &status, 0) == child && status == 0;
}

static void test_pprof_file__full_or_read_only_disk(void **state)
{
	(void)state;
	if (!may_mount())
		skip_for("it mounts a small disk");
	in_child(check_full_disk);
}

static void test_pprof_file__a_mounted_file(void **state)
{
	(void)state;
	if (!may_mount())
		skip_for("it mounts a file");
	write_profile("outside.pb.gz", 1);
	write_profile("mounted.pb.gz", 2);
	in_child(check_mounted_file);
	assert_samples("outside.pb.gz", 5);
	assert_samples("mounted.pb.gz", 2);
	assert_int_equal(count_files("mounted") + count_files("outside"), 2);
}

static void check_no_permission(void)
{
	assert_int_equal(mkdir("closed", 0755), 0);
	write_profile("closed/x.pb.gz", 3);
	assert_int_equal(chmod("closed/x.pb.gz", 0600), 0);
	assert_int_equal(chmod(".", 0755), 0);
	assert_int_equal(setegid(65534), 0);
	assert_int_equal(seteuid(65534), 0);
	refuse_write("closed/x.pb.gz", -EACCES,
	             "cannot write closed/x.pb.gz: Permission denied; check its owner and permissions");
	refuse_read("closed/x.pb.gz", MIB, -EACCES,
	            "cannot open closed/x.pb.gz: Permission denied; check its owner and permissions");
}

static void test_pprof_file__no_permission(void **state)
{
	(void)state;
	need_user_root("it becomes another user");
	in_child(check_no_permission);
	assert_samples("closed/x.pb.gz", 3);
	assert_int_equal(count_files("closed/x"), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pprof_file__reads_what_it_wrote),
		cmocka_unit_test(test_pprof_file__replaces_and_keeps_permissions),
		cmocka_unit_test(test_pprof_file__what_is_there_stays),
		cmocka_unit_test(test_pprof_file__what_is_there_stays_on_nfs),
		cmocka_unit_test(test_pprof_file__keeps_symbolic_links),
		cmocka_unit_test(test_pprof_file__writes_into_devices),
		cmocka_unit_test(test_pprof_file__writes_into_pipes),
		cmocka_unit_test(test_pprof_file__unreadable_files_are_named),
		cmocka_unit_test(test_pprof_file__standard_input),
		cmocka_unit_test(test_pprof_file__unwritable_paths_are_named),
		cmocka_unit_test(test_pprof_file__full_device),
		cmocka_unit_test(test_pprof_file__failed_write_leaves_the_old_file),
		cmocka_unit_test(test_pprof_file__full_or_read_only_disk),
		cmocka_unit_test(test_pprof_file__a_mounted_file),
		cmocka_unit_test(test_pprof_file__no_permission),
	};

	return cmocka_run_group_tests_name("pprof_file", tests, enter_dir, leave_dir);
}
