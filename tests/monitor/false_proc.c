/* false_proc.c -- the monitor's procfs, snapshot and cgroup, and its backend proc, on a /proc of
 * our own making.
 *
 * No process is there: files are written by hand, also such as no kernel writes, and the clocks of
 * processes are scripted. Standard output has the records of a watch. Ends with 1 at the first
 * thing that is not as it should be, which standard error names.
 */
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "kernel/cgroup.h"
#include "kernel/processors.h"
#include "kernel/procfs.h"
#include "kernel/snapshot.h"
#include "monitor.h"
#include "write.h"

#define CHECK(claim)                                                                        \
	do {                                                                                \
		if (!(claim)) {                                                             \
			fprintf(stderr, "%s:%d: not so: %s\n", __func__, __LINE__, #claim); \
			exit(1);                                                            \
		}                                                                           \
	} while (0)

static const char HOSTILE[] = "a) (b\n\"\\\xff\xc3(c"; /* 12 bytes: parentheses, a line's end, no
                                                          UTF-8 */

static char     root[] = "/tmp/false-proc-XXXXXX";
static uint64_t clock_ns[64]; /* of process i: run time; a quarter of it is in user mode. 0: there
                                 is none */

/* In place of the C library's. A clock below 0 is that of a process. */
int clock_gettime(clockid_t clock, struct timespec *time)
{
	pid_t    pid = (pid_t)(~(unsigned)clock >> 3);
	uint64_t ns;

	if (clock >= 0)
		return (int)syscall(SYS_clock_gettime, clock, time);
	if (pid >= 64 || !clock_ns[pid])
		return -1;
	ns = ((unsigned)clock & 7) == 1 ? clock_ns[pid] / 4 : clock_ns[pid];
	*time = (struct timespec){ (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
	return 0;
}

/* -- Files -- */

static void write_bytes(const char *name, const char *bytes, size_t length)
{
	char path[512], *slash;
	int  file;

	snprintf(path, sizeof path, "%s/%s", root, name);
	for (slash = path + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	CHECK(file >= 0 && write(file, bytes, length) == (ssize_t)length);
	close(file);
}

static void write_text(const char *name, const char *text)
{
	write_bytes(name, text, strlen(text));
}

static int remove_one(const char *path, const struct stat *node, int kind, struct FTW *place)
{
	(void)node, (void)kind, (void)place;
	return remove(path);
}

static void remove_all(const char *name)
{
	char path[512];

	snprintf(path, sizeof path, "%s/%s", root, name);
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void remove_root(void)
{
	remove_all("");
}

/* A process of one thread, whose numbers follow from its own. */
static void write_process_files(int pid, int parent, const char *program)
{
	static const char *const form[] = {
		"%1$d/comm",
		"%1$d/stat",
		"%1$d/status",
		"%1$d/schedstat",
		"%1$d/io",
		"%1$d/task/%1$d/comm",
		"%1$d/task/%1$d/stat",
		"%1$d/task/%1$d/status",
		"%1$d/task/%1$d/schedstat",
		"%1$d/task/%1$d/io",
	};
	char text[5][512];

	snprintf(text[0], sizeof text[0], "%s\n", program);
	snprintf(text[1], sizeof text[1],
	         "%d (%s) S %d 1 1 0 -1 0 %d00 5 %d 0 %d 7 0 0 20 0 1 0 300 0 0\n", pid, program,
	         parent, pid, pid, pid);
	snprintf(
		text[2], sizeof text[2],
		"Name:\tVmRSS: 1\nTgid:\t%d\nPPid:\t%d\nTracerPid:\t0\nVmPeak:\t%d kB\nVmSize:\t %d kB\n"
		"VmHWM:\t9 kB\nVmRSS:\t8 kB\nSigIgn:\t00000000000000ff\nvoluntary_ctxt_switches:\t%d\n"
		"nonvoluntary_ctxt_switches:\t2\n",
		pid, parent, pid + 1, pid, pid);
	snprintf(text[3], sizeof text[3], "%d000 500 3\n", pid);
	snprintf(text[4], sizeof text[4],
	         "rchar: %d\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\n", pid);
	for (int i = 0; i < 10; i++) {
		char name[64];

		snprintf(name, sizeof name, form[i], pid);
		write_text(name, text[i % 5]);
	}
	clock_ns[pid] = 1000000000 + (uint64_t)pid;
}

/* -- procfs -- */

static void read_a_process(void)
{
	struct procfs_status status = { 0 };
	struct procfs_stat   stat;
	uint64_t             figure[FIGURES];
	char                 program[16];
	int                  directory;

	write_process_files(7, 1, HOSTILE);
	directory = procfs_open(7, 0);
	figures_forget(figure, ALL);
	CHECK(directory >= 0 && !procfs_program(directory, program) && !strcmp(program, HOSTILE));
	CHECK(!procfs_totals(7, directory, &stat, figure) &&
	      !procfs_status(directory, &status, figure));
	CHECK(stat.state == 'S' && stat.parent == 1 && stat.threads == 1 &&
	      stat.begin_ns == 3000000000);
	CHECK(figure[faults_minor] == 700 && figure[faults_major] == 7 &&
	      figure[run_ns] == 1000000007);
	CHECK(figure[cpu_user_ns] == 250000001 && figure[cpu_system_ns] == 750000006);
	CHECK(status.group == 7 && status.parent == 1 && status.tracer == 0 &&
	      status.ignored == 0xff);
	CHECK(figure[virtual_peak] == 8192 && figure[memory_end] == 8192 &&
	      figure[swap_end] == UNKNOWN);
	CHECK(!procfs_schedstat(directory, figure) && figure[run_ns] == 7000 &&
	      figure[wait_ns] == 500);
	CHECK(!procfs_io(directory, figure) && figure[characters_read] == 7 &&
	      figure[bytes_written] == UNKNOWN);
	close(directory);
	CHECK(procfs_open(8, 0) < 0 && procfs_open(7, 8) < 0);
}

/* Cut anywhere before the end of its beginning, a line says nothing, and never something wrong. */
static void read_lines_cut_short(void)
{
	static const char  whole[] = "7 (a) (b) S 1 1 1 0 -1 0 700 5 9 0 6 7 0 0 20 0 1 0 3456";
	struct procfs_stat stat;
	int                directory = procfs_open(7, 0);

	for (size_t length = 0; length < sizeof whole; length++) {
		write_bytes("7/stat", whole, length);
		CHECK(procfs_stat(directory, &stat, NULL));
	}
	write_text("7/stat", "7 (a) (b) S 1 1 1 0 -1 0 700 5 9 0 6 7 0 0 20 0 1 0 3456 0 0\n");
	CHECK(!procfs_stat(directory, &stat, NULL) && stat.begin_ns == 34560000000);
	close(directory);
}

static void read_numbers_out_of_range(void)
{
	struct procfs_status status = { 0 };
	struct procfs_stat   stat;
	uint64_t             figure[FIGURES];
	char                 program[16] = "before";
	int                  directory = procfs_open(7, 0);

	figures_forget(figure, ALL);
	write_text("7/stat", "7 (a) S 99999999999 1 1 0 -1 0 1 5 9 0 6 7 0 0 20 0 1 0 3 0 0\n");
	CHECK(procfs_stat(directory, &stat, figure));
	write_text("7/stat", "7 (a) S -1 1 1 0 -1 0 1 5 9 0 6 7 0 0 20 0 1 0 3 0 0\n");
	CHECK(procfs_stat(directory, &stat, figure));
	write_text("7/stat", "7 (a) S x 1 1 0 -1 0 1 5 9 0 6 7 0 0 20 0 1 0 3 0 0\n");
	CHECK(procfs_stat(directory, &stat, figure) && figure[faults_minor] == UNKNOWN);
	write_text(
		"7/stat",
		"7 (a) S 1 1 1 0 -1 0 -3 5 99999999999999999999999 0 9223372036854775807 7 0 0 20 0 1 0 3 0 0\n");
	CHECK(!procfs_stat(directory, &stat, figure) && figure[faults_minor] == UNKNOWN);
	CHECK(figure[faults_major] == UNKNOWN && figure[cpu_user_ns] == UNKNOWN &&
	      figure[cpu_system_ns] == 70000000);
	write_text(
		"7/status",
		"VmPeak:\t18014398509481984 kB\nVmSize:\t-4 kB\nVmHWM:\t\nVmRSS:\tkB\nVmSwap:\t3");
	CHECK(!procfs_status(directory, &status, figure) && figure[swap_end] == 3072);
	CHECK(figure[virtual_peak] == UNKNOWN && figure[virtual_end] == UNKNOWN);
	CHECK(figure[memory_peak] == UNKNOWN && figure[memory_end] == UNKNOWN);
	write_text("7/schedstat", "12");
	write_text("7/comm", "");
	CHECK(procfs_schedstat(directory, figure) && procfs_program(directory, program) &&
	      !strcmp(program, "before"));
	write_text("7/comm", "cut short");
	CHECK(!procfs_program(directory, program) && !strcmp(program, "cut short"));
	write_text("7/comm", "of more than fifteen bytes\n");
	CHECK(!procfs_program(directory, program) && !strcmp(program, "of more than fi"));
	close(directory);
}

static pid_t  listed[16];
static size_t listed_count;

static void list(pid_t pid, void *context)
{
	(void)context;
	CHECK(listed_count < 16);
	listed[listed_count++] = pid;
}

static int is_listed(pid_t pid)
{
	int count = 0;

	for (size_t i = 0; i < listed_count; i++)
		count += listed[i] == pid;
	return count;
}

static void list_processes_and_children(void)
{
	for (int pid = 10; pid < 14; pid++)
		write_process_files(pid, pid - 1, "x");
	write_text("12x/stat", "");
	write_text("99999999999/stat", "");
	write_text("-3/stat", "");
	procfs_processes(list, NULL);
	CHECK(listed_count == 5 && is_listed(7) && is_listed(10) && is_listed(13));
	/* A kernel that lists nobody's children, */
	listed_count = 0;
	procfs_children(11, list, NULL);
	CHECK(listed_count == 1 && listed[0] == 12);
	/* and one that does. */
	write_text("thread-self/children", "");
	write_text("11/task/11/children", "12 13x 99999999999 -4 13 \n");
	listed_count = 0;
	procfs_children(11, list, NULL);
	CHECK(listed_count == 2 && is_listed(12) && is_listed(13));
	remove_all("thread-self");
}

/* -- snapshot -- */

static void take_a_snapshot(void)
{
	static const pid_t pids[] = { 10, 20, 10, 30 };
	struct process     process;
	struct kin        *kin;
	pid_t              threads[4];

	write_process_files(20, 21, "x");
	write_process_files(21, 20, "x"); /* a circle, which a number that is used again may make */
	process_clear(&process);
	CHECK(!snapshot_of(10, &process) && process.parent == 9 &&
	      process.figure[run_ns] == 1000000010);
	CHECK(process.figure[cpu_user_ns] + process.figure[cpu_system_ns] ==
	      process.figure[run_ns]);
	CHECK(process.figure[memory_end] == 8192 && process.figure[switches_voluntary] == UNKNOWN);
	CHECK(snapshot_threads(10, threads, 4) == 1 && threads[0] == 10);
	CHECK(snapshot_descendants(pids, 4, &kin) == 7); /* 10 to 13, 20 and 21, and 30, of which
	                                                    nothing is known */
	CHECK(kin[0].pid == 10 && kin[0].parent == 9 && kin[1].pid == 20 && kin[2].pid == 30);
	for (size_t i = 3; i < 7; i++)
		CHECK(kin[i].generation == (uint32_t)(kin[i].pid == 21 ? 1 : kin[i].pid - 10));
	free(kin);
	write_text("10/stat", "10 (x) Z 9 1 1 0 -1 0 1 5 9 0 6 7 0 0 20 0 1 0 3 0 0\n");
	CHECK(snapshot_of(10, &process) && snapshot_of(30, &process));
}

/* -- cgroup -- */

static void find_a_cgroup(void)
{
	struct cgroup_key key;
	struct stat       node;
	char              line[256], directory[512], why[256] = "";
	pid_t            *members;

	write_text("group/cgroup.procs", "3\n4\n");
	write_text("group/below/cgroup.procs", "5\nnonsense 6\n");
	snprintf(directory, sizeof directory, "%s/group", root);
	CHECK(!stat(directory, &node));
	CHECK(cgroup_find(directory, &key, why, sizeof why) &&
	      strstr(why, "no directory of a control group"));
	snprintf(line, sizeof line, "nonsense\n1 2 %u:%u / /a\\040-\\040b rw - cgroup2 - rw\n",
	         major(node.st_dev), minor(node.st_dev));
	write_text("self/mountinfo", line);
	CHECK(!cgroup_find(directory, &key, why, sizeof why) && key.hierarchy == 0 &&
	      key.id == node.st_ino);
	snprintf(line, sizeof line, "1 2 %u:%u / /a rw shared:1 - cgroup none rw,cpu,cpuacct\n",
	         major(node.st_dev), minor(node.st_dev));
	write_text("self/mountinfo", line);
	CHECK(cgroup_find(directory, &key, why, sizeof why));
	write_text("self/cgroup", "nonsense\n9:cpuset:/\n4:cpu,cpuacct:/x\n1:name=x:/\n");
	CHECK(!cgroup_find(directory, &key, why, sizeof why) && key.hierarchy == 4);
	CHECK(cgroup_members(directory, &members) == 3 &&
	      members[0] + members[1] + members[2] == 12);
	free(members);
	CHECK(cgroup_find("/nowhere", &key, why, sizeof why) && strstr(why, "No such file"));
}

/* Those that /proc names besides our own; the sum of all has no number, and another file's line
 * says nothing. */
static void find_processors(void)
{
	static int numbers[PROCESSOR_NUMBERS];
	char       text[256];
	size_t     before, after;

	write_text("stat", "cpu  9 0 0\nintr 7\n");
	before = processors_on(numbers, PROCESSOR_NUMBERS);
	CHECK(before >= 1 && numbers[before - 1] < 4000);
	write_text("stat", "cpu  9 0 0\ncpu4000 1 2 3\ncpu4001 1 2 3\ncpu99999 1\ncpu-1 1\ncpux\n");
	after = processors_on(numbers, PROCESSOR_NUMBERS);
	CHECK(after == before + 2 && numbers[after - 2] == 4000 && numbers[after - 1] == 4001);
	CHECK(processors_on(numbers, 1) == after);
	CHECK(!processors_text(text, sizeof text) && strstr(text, ",4000-4001"));
	CHECK(processors_text(text, 4));
}

/* -- proc -- */

static void watch(void)
{
	static const pid_t pids[] = { 40, 41, 43 };
	struct order       order = {
		.detail = LIFE, .pids = pids, .pid_count = 3, .children = 1, .every_ns = 1
	};
	struct account account;
	char           why[256];

	write_process_files(40, 1, HOSTILE);
	write_process_files(41, 1, "\x01\x7f\x80\xff\xfe{\"[,");
	memset(&account, 0xff, sizeof account);
	process_clear(&account.total);
	write_to(STDOUT_FILENO, LIFE);
	CHECK(proc_backend.begin(&order, 0, why, sizeof why) == 0);
	/* One runs on and has a child, the other is gone. */
	write_text("40/task/40/io", "rchar: 1000\nwchar: 2");
	write_process_files(42, 40, "child");
	clock_ns[40] += 5000;
	clock_ns[41] = 0;
	remove_all("41");
	proc_backend.read(boottime_ns());
	/* The child's number is another's now. */
	remove_all("42");
	write_process_files(42, 1, "another");
	clock_ns[42] = 5;
	proc_backend.end(&account);
	CHECK(lost[LOST_EVENTS] == 3); /* 43, which was never there, and the ends of 41 and 42 */
	CHECK(account.total.figure[run_ns] == 5000 + 1000000042);
}

int main(void)
{
	CHECK(mkdtemp(root));
	atexit(remove_root);
	procfs_use(root);
	read_a_process();
	read_lines_cut_short();
	read_numbers_out_of_range();
	list_processes_and_children();
	take_a_snapshot();
	find_a_cgroup();
	find_processors();
	watch();
	return 0;
}
