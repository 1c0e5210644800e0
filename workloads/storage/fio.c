/* fio -- run a job of fio, and take its figures in.
 *
 * Measures     one run of fio in the trial's directory: the time from its start to its end
 *              ("time"), and of what it says of its first job, the time an operation of reading and
 *              of writing (the job's runtime by the operations), and quantiles of the completion
 *              latencies. The job is the file `job`, or where none is named what `rw`, `block`,
 *              `size`, `depth`, `engine` and `direct` say.
 * Leaves out   what other jobs of the same file did, unless group_reporting is set there.
 * Beware       fio must be installed on the system, in PATH; versions differ in what they do by
 *              default. Before it measures fio lays out its file, which `time` contains; runtime
 *              does not. It drops that file from the cache, so that each job begins cold, even with
 *              invalidate=0. Its own work is in its figures: 13 % of them where it reads blocks of
 *              4 KiB from the cache.
 * After        fio (Axboe).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __linux__
#include <ftw.h>
#include <sys/wait.h>
#endif

#include "../api/found.h"
#include "../api/handle.h"
#include "../api/system.h"
#include "../api/workload.h"

enum { REPORT_MOST = 4194304, PATH_MOST = 4096 };

static char     job[PATH_MOST + 1], rw[16] = "read", engine[16] = "psync";
static uint64_t block = 8192, size = 16777216, depth = 1, is_direct, reported;
static char    *report; /* fio's last, as JSON */

#ifdef __linux__
static char program[PATH_MOST + 8];

/* As `rm -rf` would: fio names its files as it likes. */
static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *where)
{
	(void)about;
	if (where->level == 0)
		return 0;
	return kind == FTW_DP ? rmdir(path) : unlink(path);
}

static int remove_files(void)
{
	int failed = nftw(".", remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);

	return failed ? fail("removing fio's files") : 0;
}

static int find_program(void)
{
	const char *path = getenv("PATH");

	for (path = path ? path : "/usr/bin:/bin"; *path; path += strspn(path, ":")) {
		size_t length = strcspn(path, ":");

		snprintf(program, sizeof(program), "%.*s/fio", (int)length, path);
		if (!access(program, X_OK)) {
			program_found("fio", program);
			return 0;
		}
		path += length;
	}
	return unsupported("fio is not installed (on Debian: apt-get install fio)");
}

static void execute(char *const arguments[])
{
	int out = open("report.json", O_WRONLY | O_CREAT | O_TRUNC, 0600);
	int said = open("said", O_WRONLY | O_CREAT | O_TRUNC, 0600);

	dup2(out, STDOUT_FILENO);
	dup2(said, STDERR_FILENO);
	execv(program, arguments);
	_exit(127);
}

static int perform_job(char *const arguments[])
{
	int   status;
	pid_t child = fork();

	if (child < 0)
		return fail("fork");
	if (!child)
		execute(arguments);
	if (waitpid(child, &status, 0) != child)
		return fail("waitpid");
	if (status) {
		char  line[200] = "";
		FILE *said = fopen("said", "r");

		if (said && !fgets(line, sizeof(line), said))
			line[0] = 0;
		if (said)
			fclose(said);
		line[strcspn(line, "\n")] = 0;
		return fail_check("fio ended with status %d: %s",
		                  WIFEXITED(status) ? WEXITSTATUS(status) : -1, line);
	}
	return 0;
}

static int take_report(void)
{
	FILE  *file = fopen("report.json", "r");
	size_t length;

	if (!file)
		return fail("opening fio's report");
	length = fread(report, 1, REPORT_MOST, file);
	report[length] = 0;
	fclose(file);
	return strstr(report, "\"jobs\"") ? 0 : fail_check("fio's report holds no jobs");
}

static int run(uint64_t operations)
{
	char name[] = "--name=steelyard", format[] = "--output-format=json";
	char output[] = "--output=report.json";
	char wanted[7][PATH_MOST + 32];
	int  outcome = 0;

	snprintf(wanted[0], sizeof(wanted[0]), "--rw=%s", rw);
	snprintf(wanted[1], sizeof(wanted[1]), "--bs=%llu", (unsigned long long)block);
	snprintf(wanted[2], sizeof(wanted[2]), "--size=%llu", (unsigned long long)size);
	snprintf(wanted[3], sizeof(wanted[3]), "--iodepth=%llu", (unsigned long long)depth);
	snprintf(wanted[4], sizeof(wanted[4]), "--ioengine=%s", engine);
	snprintf(wanted[5], sizeof(wanted[5]), "--direct=%llu", (unsigned long long)is_direct);
	snprintf(wanted[6], sizeof(wanted[6]), "%s", job);
	while (operations-- && !outcome) {
		char *const by_file[] = { program, format, output, wanted[6], NULL };
		char *const by_words[] = { program,   format,    output,    name,
			                   wanted[0], wanted[1], wanted[2], wanted[3],
			                   wanted[4], wanted[5], NULL };

		outcome = perform_job(job[0] ? by_file : by_words);
		if (!outcome)
			outcome = take_report();
	}
	return outcome;
}

static int setup(void)
{
	int outcome = handle_begin();

	if (outcome || (outcome = refuse_emulator()) || (outcome = find_program()))
		return outcome;
	if (job[0] && access(job, R_OK))
		return unsupported("the job file %.200s cannot be read here: %s", job,
		                   system_error(errno));
	report = malloc(REPORT_MOST + 1);
	return report ? 0 : fail("malloc");
}

static void teardown(void)
{
	if (report)
		remove_files();
	free(report);
}

static int before(uint64_t operations)
{
	(void)operations;
	return remove_files();
}
#else
static int setup(void)
{
	return unsupported("fio is run on Linux only");
}

static int run(uint64_t operations)
{
	(void)operations;
	return OUTCOME_FAILED;
}

static void teardown(void)
{
}

static int before(uint64_t operations)
{
	(void)operations;
	return OUTCOME_FAILED;
}
#endif

/* The number after that key, from there on; 0 if there is none. */
static double number_after(const char *from, const char *key)
{
	const char *found = from ? strstr(from, key) : NULL;

	found = found ? strchr(found + strlen(key), ':') : NULL;
	return found ? strtod(found + 1, NULL) : 0;
}

/* What it says of reading, or of writing, by the first job. */
static const char *of(const char *direction)
{
	const char *at = strstr(report, "\"jobs\"");

	while (at && (at = strstr(at, direction))) {
		at += strlen(direction);
		if (at[strspn(at, " :\n\t")] == '{')
			return at;
	}
	return NULL;
}

static int report_time(const char *direction)
{
	double operations = number_after(of(direction), "\"total_ios\"");
	double runtime_ms = number_after(of(direction), "\"runtime\"");

	reported = operations > 0 ? (uint64_t)(runtime_ms * 1e6 / operations + 0.5) : 0;
	return 0;
}

static int report_latency(const char *direction, const char *share)
{
	const char *at = of(direction);

	at = number_after(at, "\"total_ios\"") > 0 ? strstr(at, "\"clat_ns\"") : NULL;
	reported = (uint64_t)number_after(at ? strstr(at, "\"percentile\"") : NULL, share);
	return 0;
}

#define REPORTED(function, call)                 \
	static int function(uint64_t operations) \
	{                                        \
		(void)operations;                \
		return call;                     \
	}
REPORTED(read_time, report_time("\"read\""))
REPORTED(read_50, report_latency("\"read\"", "\"50.000000\""))
REPORTED(read_99, report_latency("\"read\"", "\"99.000000\""))
REPORTED(write_time, report_time("\"write\""))
REPORTED(write_50, report_latency("\"write\"", "\"50.000000\""))
REPORTED(write_99, report_latency("\"write\"", "\"99.000000\""))

static const struct phase phases[] = {
	{ .metric = "time", .run = run },
	{ .metric = "read", .run = read_time, .reported = &reported },
	{ .metric = "read_latency_50", .run = read_50, .reported = &reported },
	{ .metric = "read_latency_99", .run = read_99, .reported = &reported },
	{ .metric = "write", .run = write_time, .reported = &reported },
	{ .metric = "write_latency_50", .run = write_50, .reported = &reported },
	{ .metric = "write_latency_99", .run = write_99, .reported = &reported },
	{ 0 },
};

static const struct parameter parameters[] = {
	STRING("job", "job file; if empty, the parameters below", job, PATH_MOST),
	STRING("rw", "read, write, randread, randwrite, ...", rw, sizeof(rw) - 1),
	STRING("engine", "psync, libaio, io_uring, ...", engine, sizeof(engine) - 1),
	NUMBER("block", "bytes in a block", &block, 1, 1073741824),
	NUMBER("size", "bytes in the file", &size, 1, UINT64_C(1) << 40),
	NUMBER("depth", "requests outstanding at once", &depth, 1, 65536),
	NUMBER("direct", "1: past the cache", &is_direct, 0, 1),
	{ 0 },
};

static const struct call calls[] = { { "execve", 1 }, { 0 } };

const struct workload workload_fio = {
	.name = "fio",
	.group = "storage",
	.summary = "a job of fio, by its own figures",
	.operation = "job",
	.setup = setup,
	.before = before,
	.phases = phases,
	.teardown = teardown,
	.parameters = parameters,
	.performances = 1,
	.calls = calls,
};
