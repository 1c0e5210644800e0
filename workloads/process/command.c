/* command -- start any command line that the user gives, and wait for its end.
 *
 * Measures     fork; execve of the program; all that the program does, in its own time and the
 *              kernel's; exit; waitpid.
 * Leaves out   the search for the program: it is found in setup, in /usr/bin and /bin unless its
 *              name holds a slash.
 * Beware       fork and exec are included (fork_exec shows how much they are), output is discarded
 *              and the input is empty: all three are /dev/null. The environment holds PATH and
 *              LC_ALL alone; the working directory is the trial's own, at first empty, and keeps
 *              what the command makes there from one operation to the next. No shell reads the
 *              command: its words come one a line, so no word can hold a newline. An exit status
 *              other than 0, or a signal, fails the trial. Processes that the command leaves behind
 *              disturb what follows; those that stay in its process group are killed when the trial
 *              has ended. The program is the system's own: where two systems do not share one file
 *              tree, it may be another one. The claim of one execve holds for the initial command.
 *              On Windows it is CreateProcess and the wait, in place of fork, execve and waitpid;
 *              the program is found as CreateProcess finds it, in PATH among others; the
 *              environment is the agent's; and there is no `true`, so a command must be given.
 * After        time(1), and hyperfine (Peter), which times a command likewise, and many runs of it.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../api/system.h"
#include "../api/workload.h"

enum { COMMAND_MOST = 4000 };

static char command[COMMAND_MOST + 1] = "true";

static char *words[COMMAND_MOST + 2]; /* the command's; ends with NULL */

/* Two newlines in a row have an empty word between them, as an argument may well be. */
static void split(void)
{
	int   count = 0;
	char *next = command;

	while (next) {
		words[count++] = next;
		next = strchr(next, '\n');
		if (next)
			*next++ = 0;
	}
	words[count] = NULL;
}

#ifdef _WIN32
#include <errno.h>
#include <stdlib.h>


static char *path;

static int setup(void)
{
	split();
	if (chdir(trial_directory()))
		return fail("chdir");
	path = program_find(words[0]);
	return path ? 0 : unsupported("there is no program '%.200s'", words[0]);
}

static int run(uint64_t operations)
{
	const char *arguments[COMMAND_MOST + 2];
	const struct process_order order = { .arguments = arguments };

	memcpy(arguments, words, sizeof(words));
	arguments[0] = path;
	while (operations--) {
		struct process     process;
		struct process_end end;

		if (process_start(&order, &process))
			return fail("CreateProcess");
		if (process_wait(&process, &end))
			return fail("waiting for the process");
		if (end.was_killed)
			return fail_check("'%.200s' was killed: %s", words[0], end.reason);
		if (end.status)
			return fail_check("'%.200s' exited with status %d", words[0], end.status);
	}
	return 0;
}

static void teardown(void)
{
	free(path);
}
#else
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { FILES = 64 };
enum { NOT_EXECUTED = 126, NO_INPUT = 125 }; /* exit statuses of a child that did not come so far */

static char  path[PATH_MAX];
static int   nothing = -1; /* /dev/null */
static char *environment[] = { "PATH=/usr/bin:/bin", "LC_ALL=C", NULL };

static int is_program(const char *directory, const char *name)
{
	struct stat status;
	int         length = snprintf(path, sizeof(path), "%s%s", directory, name);

	return length > 0 && (size_t)length < sizeof(path) && stat(path, &status) == 0 &&
	       S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

static int find_program(const char *name)
{
	int found;

	if (strchr(name, '/'))
		found = is_program("", name);
	else
		found = is_program("/usr/bin/", name) || is_program("/bin/", name);
	if (found)
		return 0;
	return unsupported("there is no program '%.200s'", name);
}

static int setup(void)
{
	split();
	if (self_emulator())
		return refuse_emulator();
	if (chdir(trial_directory()))
		return fail("chdir");
	nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (nothing < 0)
		return fail("open");
	/* The harness's channels are not for the command, which could keep them open too long. */
	for (int file = STDERR_FILENO + 1; file < FILES; file++)
		fcntl(file, F_SETFD, FD_CLOEXEC);
	return find_program(words[0]);
}

static void execute(void)
{
	for (int file = 0; file <= STDERR_FILENO; file++)
		if (dup2(nothing, file) < 0)
			_exit(NO_INPUT);
	execve(path, words, environment);
	_exit(NOT_EXECUTED);
}

static int await_success(pid_t child)
{
	int status;

	if (waitpid(child, &status, 0) != child)
		return fail("waitpid");
	if (WIFSIGNALED(status))
		return fail_check("'%.200s' was killed by signal %d", words[0], WTERMSIG(status));
	if (WEXITSTATUS(status) == NOT_EXECUTED)
		return fail_check("'%.200s' exited with status %d, or could not be executed",
		                  words[0], NOT_EXECUTED);
	if (WEXITSTATUS(status))
		return fail_check("'%.200s' exited with status %d", words[0],
		                  WEXITSTATUS(status));
	return 0;
}

static int run(uint64_t operations)
{
	int outcome = 0;

	while (operations-- && !outcome) {
		pid_t child = fork();

		if (child < 0)
			return fail("fork");
		if (child == 0)
			execute();
		outcome = await_success(child);
	}
	return outcome;
}

static void teardown(void)
{
	if (nothing >= 0)
		close(nothing);
}
#endif

static const struct parameter parameters[] = {
	STRING("command", "the program and its arguments, one a line", command, COMMAND_MOST),
	{ 0 },
};

static const struct call calls[] = { { "execve", 1 }, { "wait4", 1 }, { 0 } };

const struct workload workload_command = {
	.name       = "command",
	.group      = "process",
	.summary    = "any command line, started by fork and exec (CreateProcess) and waited for",
	.operation  = "command",
	.setup      = setup,
	.run        = run,
	.teardown   = teardown,
	.parameters = parameters,
	.calls      = calls,
};
