/* command -- start any command line that the user gives, and wait for its end.
 *
 * Measures     fork; execve of the program; everything that the program does, in its own time and
 *              the kernel's; exit; waitpid.
 * Leaves out   the search for the program: setup finds it, in the PATH of `environment`, or in
 *              /usr/bin and /bin, unless its name contains a slash. What `setup`, `prepare`,
 *              `conclude` and `cleanup` do is not timed, and not in the trial's usage.
 * Beware       fork and exec are included; fork_exec shows their share. No shell reads the command:
 *              its words come one per line, so no word can contain a newline. Its environment holds
 *              PATH=/usr/bin:/bin, LC_ALL=C and what `environment` adds or replaces. Its working
 *              directory is `directory`, or the trial's own, which is empty at first; either keeps
 *              what the command makes there from one operation to the next, and a command that
 *              finds its own files there may do other work the second time. Input, output and
 *              errors are /dev/null unless `input` and `output` name files. With `figures` its
 *              output and errors are one pipe, and the trial tells what its last operation printed,
 *              up to 8 MiB. With `with`, {with} in a text is the directory of the agent's copies of
 *              the study's files. A signal, or an exit status other than 0 (unless ignore_failure
 *              is 1), fails the trial. Processes that the command leaves behind disturb what
 *              follows; those that stay in its process group are killed when the trial ends. The
 *              program is the system's own, so two systems that do not share a file tree may run
 *              different ones; the record "program" says which it was. The claim of one execve
 *              holds for the default command. Peak memory is the largest resident set of one of its
 *              processes that it has waited for (wait4, ru_maxrss); Linux counts from the fork on,
 *              so it is never below the load program's own. Under Wine, CreateProcess and a wait
 *              replace fork, execve and waitpid; CreateProcess finds the program, for example in
 *              PATH; the environment is the agent's; `directory` and what follows it are not
 *              supported; and there is no `true`, so a command must be given. A command that takes
 *              a second or longer is done once in a trial, the first time counts, and nothing warms
 *              it up; shorter ones are repeated (docs/explanation/measurement.md).
 * After        time(1), and hyperfine (Peter), which times many runs of a command in the same way.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../api/found.h"
#include "../api/system.h"
#include "../api/workload.h"

enum { COMMAND_MOST = 4000, DIRECTORY_MOST = 1000 };

static char     command[COMMAND_MOST + 1] = "true";
static char     preparation[COMMAND_MOST + 1], conclusion[COMMAND_MOST + 1];
static char     making_ready[COMMAND_MOST + 1], clearing[COMMAND_MOST + 1];
static char     directory[DIRECTORY_MOST + 1];
static char     input[DIRECTORY_MOST + 1], output[DIRECTORY_MOST + 1];
static char     variables[COMMAND_MOST + 1];
static uint64_t ignore_failure, figures, with;

static char *words[COMMAND_MOST + 2]; /* the command's; ends with NULL */

static uint64_t peak_bytes; /* of memory, of all operations so far */

/* Two newlines in a row have an empty word between them, as an argument may well be. */
static void split(char *text, char *into[])
{
	int   count = 0;
	char *next = text;

	while (next) {
		into[count++] = next;
		next = strchr(next, '\n');
		if (next)
			*next++ = 0;
	}
	into[count] = NULL;
}

#ifdef _WIN32
#include <errno.h>

static char *path;

static int setup(void)
{
	split(command, words);
	if (directory[0] || input[0] || output[0] || variables[0] || preparation[0] ||
	    conclusion[0] || making_ready[0] || clearing[0] || figures || with)
		return unsupported("a command's surroundings cannot be set under Windows");
	if (chdir(trial_directory()))
		return fail("chdir");
	path = program_find(words[0]);
	if (!path)
		return unsupported("there is no program '%.200s'", words[0]);
	program_found(words[0], path);
	return 0;
}

static int run(uint64_t operations)
{
	const char                *arguments[COMMAND_MOST + 2];
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
		if (end.status && !ignore_failure)
			return fail_check("'%.200s' exited with status %d", words[0], end.status);
	}
	return 0;
}

static int prepare(uint64_t operations)
{
	(void)operations;
	peak_bytes = UINT64_MAX; /* not known */
	return 0;
}

static void teardown(void)
{
	free(path);
}

static void tell_printed(uint64_t copy, int file)
{
	(void)copy, (void)file;
}
#else
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "printed.h"

#define SENT "{with}" /* stands for the directory of the files that were sent along */

enum { FILES = 64, VARIABLES_MOST = 1000 };
/* exit statuses of a child that did not come so far */
enum { NOT_EXECUTED = 126, NO_INPUT = 125 };

static const char usual_path[] = "PATH=/usr/bin:/bin", usual_locale[] = "LC_ALL=C";

/* What is done around the command, and not timed. */
struct helper {
	const char *text;
	char        path[PATH_MAX];
	char       *words[COMMAND_MOST + 2]; /* empty: there is nothing to do */
};

static char          path[PATH_MAX];
static struct helper before_all = { .text = making_ready }, after_all = { .text = clearing };
static struct helper before_each = { .text = preparation }, after_each = { .text = conclusion };
static int           is_ready, is_unconcluded; /* what the two that come after are due to */
static int           nothing = -1;             /* /dev/null */
static const char   *environment[VARIABLES_MOST + 3];

static int is_program(const char *folder, size_t folder_length, const char *name,
                      char into[PATH_MAX])
{
	struct stat status;
	const char *slash = folder_length && folder[folder_length - 1] != '/' ? "/" : "";
	int length = snprintf(into, PATH_MAX, "%.*s%s%s", (int)folder_length, folder, slash, name);

	return length > 0 && length < PATH_MAX && stat(into, &status) == 0 &&
	       S_ISREG(status.st_mode) && access(into, X_OK) == 0;
}

static const char *value_of(const char *name)
{
	size_t length = strlen(name);

	for (int i = 0; environment[i]; i++)
		if (!strncmp(environment[i], name, length) && environment[i][length] == '=')
			return environment[i] + length + 1;
	return "";
}

/* As execvp(3) searches, but for an empty entry of PATH, which is passed over. */
static int find_program(const char *name, char into[PATH_MAX])
{
	int is_found = 0;

	if (strchr(name, '/')) {
		is_found = is_program("", 0, name, into);
	} else {
		const char *folder = value_of("PATH");

		while (!is_found && *folder) {
			size_t length = strcspn(folder, ":");

			is_found = length && is_program(folder, length, name, into);
			folder += length + (folder[length] == ':');
		}
	}
	if (!is_found)
		return unsupported("there is no program '%.200s'", name);
	program_found(name, into);
	return 0;
}

static int put_directory(char *text, size_t most, const char *folder)
{
	size_t length = strlen(folder);

	for (char *at = text; (at = strstr(at, SENT)); at += length) {
		const char *rest = at + strlen(SENT);

		if (strlen(text) - strlen(SENT) + length > most)
			return fail_check("with the directory of what was sent, '%.60s...' is "
			                  "longer than %zu bytes",
			                  text, most);
		memmove(at + length, rest, strlen(rest) + 1);
		memcpy(at, folder, length);
	}
	return 0;
}

/* Before the working directory is another one: the trial's may be named from this one. */
static int find_files(void)
{
	static const struct {
		char  *text;
		size_t most;
	} texts[] = {
		{ command, COMMAND_MOST },     { making_ready, COMMAND_MOST },
		{ preparation, COMMAND_MOST }, { conclusion, COMMAND_MOST },
		{ clearing, COMMAND_MOST },    { variables, COMMAND_MOST },
		{ directory, DIRECTORY_MOST }, { input, DIRECTORY_MOST },
		{ output, DIRECTORY_MOST },
	};
	char name[PATH_MAX], folder[PATH_MAX];
	int  outcome = 0;

	if (snprintf(name, sizeof(name), "%s/../../" CARRIED, trial_directory()) >=
	    (int)sizeof(name))
		return fail_check("the trial's directory has too long a name");
	if (!realpath(name, folder))
		return fail("the files that were sent along");
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts) && !outcome; i++)
		outcome = put_directory(texts[i].text, texts[i].most, folder);
	return outcome;
}

/* A later line of the same name replaces an earlier one, and either of the usual two. */
static int set_environment(void)
{
	static char *lines[COMMAND_MOST + 2];
	int          count = 0;

	environment[count++] = usual_path;
	environment[count++] = usual_locale;
	if (variables[0])
		split(variables, lines);
	for (int i = 0; lines[i]; i++) {
		size_t length = strcspn(lines[i], "=");
		int    place = 0;

		if (!length || !lines[i][length])
			return fail_check("'%.200s' is no NAME=VALUE", lines[i]);
		while (place < count && strncmp(environment[place], lines[i], length + 1))
			place++;
		if (place == VARIABLES_MOST)
			return fail_check("there are more than %d variables", VARIABLES_MOST);
		environment[place] = lines[i];
		count += place == count;
	}
	return 0;
}

static int enter_directory(void)
{
	const char *place = directory[0] ? directory : trial_directory();

	if (!chdir(place))
		return 0;
	if (directory[0] && (errno == ENOENT || errno == ENOTDIR))
		return unsupported("there is no directory '%.200s' here", directory);
	return fail("chdir");
}

/* The command's input and output are opened again for each of its starts; whether they can be is
 * found out once. */
static int try_files(void)
{
	int file;

	if (input[0]) {
		file = open(input, O_RDONLY | O_CLOEXEC);
		if (file < 0)
			return errno == ENOENT
			               ? unsupported("there is no file '%.200s' here", input)
			               : fail("opening the command's input");
		close(file);
	}
	if (output[0]) {
		file = open(output, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
		if (file < 0)
			return fail("opening the command's output");
		close(file);
	}
	return 0;
}

/* To the file of that name; else, without one, to `otherwise`. */
static int redirect(int file, const char *name, int flags, int otherwise)
{
	int opened = name[0] ? open(name, flags | O_CLOEXEC, 0666) : otherwise;

	return opened < 0 || dup2(opened, file) < 0;
}

/* What the command prints goes to `prints` where no file is named. */
static void execute(const char *program, char *const arguments[], const char *in, const char *out,
                    int prints)
{
	if (figures)
		printed_child();
	if (redirect(STDIN_FILENO, in, O_RDONLY, nothing) ||
	    redirect(STDOUT_FILENO, out, O_WRONLY | O_CREAT | O_TRUNC, prints) ||
	    redirect(STDERR_FILENO, "", 0, prints))
		_exit(NO_INPUT);
	execve(program, arguments, (char *const *)environment);
	_exit(NOT_EXECUTED);
}

static int await_success(pid_t child, const char *name, int may_fail, int is_heard)
{
	int           status;
	struct rusage usage;

	if ((is_heard ? printed_wait(child, &status, &usage) : wait4(child, &status, 0, &usage)) !=
	    child)
		return fail("waitpid");
	if ((uint64_t)usage.ru_maxrss * 1024 > peak_bytes)
		peak_bytes = (uint64_t)usage.ru_maxrss * 1024;
	if (WIFSIGNALED(status))
		return fail_check("'%.200s' was killed by signal %d", name, WTERMSIG(status));
	if (WEXITSTATUS(status) == NOT_EXECUTED)
		return fail_check("'%.200s' exited with status %d, or could not be executed", name,
		                  NOT_EXECUTED);
	if (WEXITSTATUS(status) && !may_fail)
		return fail_check("'%.200s' exited with status %d", name, WEXITSTATUS(status));
	return 0;
}

static int find_helper(struct helper *helper)
{
	if (!helper->text[0])
		return 0;
	split((char *)helper->text, helper->words);
	return find_program(helper->words[0], helper->path);
}

/* What it uses is not the command's. */
static int perform(const struct helper *helper)
{
	uint64_t peak = peak_bytes;
	pid_t    child;
	int      outcome;

	if (!helper->words[0])
		return 0;
	child = fork();
	if (child < 0)
		return fail("fork");
	if (child == 0)
		execute(helper->path, helper->words, "", "", nothing);
	outcome = await_success(child, helper->words[0], 0, 0);
	peak_bytes = peak;
	return outcome;
}

static int setup(void)
{
	int outcome;

	if (with && (outcome = find_files()))
		return outcome;
	split(command, words);
	if (self_emulator())
		return refuse_emulator();
	nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (nothing < 0)
		return fail("open");
	/* The harness's channels are not for the command, which could keep them open too long. */
	for (int file = STDERR_FILENO + 1; file < FILES; file++)
		fcntl(file, F_SETFD, FD_CLOEXEC);
	if (figures && output[0])
		return fail_check(
			"a command's figures are in what it prints, which `output` takes");
	if ((figures && (outcome = printed_begin())) || (outcome = set_environment()) ||
	    (outcome = enter_directory()) || (outcome = find_helper(&before_all)) ||
	    (outcome = perform(&before_all)))
		return outcome;
	is_ready = 1;
	/* What was made ready may be the program itself, and what it reads. */
	if ((outcome = try_files()) || (outcome = find_program(words[0], path)) ||
	    (outcome = find_helper(&before_each)) || (outcome = find_helper(&after_each)))
		return outcome;
	return find_helper(&after_all);
}

static int run(uint64_t operations)
{
	int outcome = 0;

	while (operations-- && !outcome) {
		int   prints = figures ? printed_open() : nothing;
		pid_t child;

		if (prints < 0)
			return fail("pipe");
		is_unconcluded = 1;
		child = fork();
		if (child < 0)
			return fail("fork");
		if (child == 0)
			execute(path, words, input, output, prints);
		outcome = await_success(child, words[0], ignore_failure != 0, figures != 0);
		if (!outcome && figures && printed_bytes() > PRINTED_MOST)
			outcome = fail_check("'%.200s' printed %llu bytes, and at most %d are read "
			                     "for figures",
			                     words[0], (unsigned long long)printed_bytes(),
			                     PRINTED_MOST);
	}
	return outcome;
}

static int conclude(void)
{
	int is_due = is_unconcluded;

	is_unconcluded = 0;
	return is_due ? perform(&after_each) : 0;
}

/* Before a batch, which is one operation: else the second would find what the first has left. */
static int prepare(uint64_t operations)
{
	int outcome;

	if (operations > 1 && (before_each.words[0] || after_each.words[0]))
		return fail_check(
			"what is prepared or concluded serves one operation: set operations = 1");
	outcome = conclude();
	return outcome ? outcome : perform(&before_each);
}

/* What fails now can fail nothing any more. */
static void teardown(void)
{
	if (is_ready) {
		conclude();
		perform(&after_all);
	}
	if (nothing >= 0)
		close(nothing);
}

static void tell_printed(uint64_t copy, int file)
{
	if (figures)
		printed_tell(copy, file);
}
#endif

/* What wait4 has said of memory needs no further run. */
static int tell_peak(uint64_t operations)
{
	(void)operations;
	if (!peak_bytes)
		peak_bytes = UINT64_MAX; /* this kernel does not say */
	return 0;
}

static const struct parameter parameters[] = {
	STRING("command", "the program and its arguments, one per line", command, COMMAND_MOST),
	STRING("directory", "where it runs; if empty, in an empty directory of the trial's own",
	       directory, DIRECTORY_MOST),
	STRING("environment", "NAME=VALUE, one per line, besides PATH and LC_ALL", variables,
	       COMMAND_MOST),
	STRING("input", "the file that it reads; if empty, nothing", input, DIRECTORY_MOST),
	STRING("output", "the file that it writes; if empty, none", output, DIRECTORY_MOST),
	STRING("setup", "a command once in a trial, before all else", making_ready, COMMAND_MOST),
	STRING("prepare", "a command before each batch, not timed; operations must be 1",
	       preparation, COMMAND_MOST),
	STRING("conclude", "a command after each batch, not timed; operations must be 1",
	       conclusion, COMMAND_MOST),
	STRING("cleanup", "a command once in a trial, when all is done", clearing, COMMAND_MOST),
	NUMBER("ignore_failure", "1: any exit status will do", &ignore_failure, 0, 1),
	NUMBER("figures", "1: what it prints is kept, and figures are read from it", &figures, 0,
	       1),
	NUMBER("with", "1: {with} stands for the directory of the files that were sent along",
	       &with, 0, 1),
	{ 0 },
};

static const struct call calls[] = { { "execve", 1 }, { "wait4", 1 }, { 0 } };

static const struct phase phases[] = {
	{ .metric = "time", .run = run },
	{ .metric = "peak memory", .run = tell_peak, .reported = &peak_bytes, .unit = "bytes" },
	{ 0 },
};

const struct workload workload_command = {
	.name = "command",
	.group = "process",
	.summary = "any command line, from fork and exec (CreateProcess) to its end",
	.operation = "command",
	.setup = setup,
	.before = prepare,
	.phases = phases,
	.teardown = teardown,
	.tell = tell_printed,
	.tells = "printed",
	.tells_of_failure = 1,
	.parameters = parameters,
	.calls = calls,
	.long_ns = 1000000000, /* some take seconds: those are not done again and again */
};
