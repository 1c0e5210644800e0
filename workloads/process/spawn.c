/* spawn -- start a minimal program by posix_spawn or CreateProcess, and wait for its end.
 *
 * Measures     the C library's posix_spawn, the program's start as in fork_exec, exit, waitpid.
 *              Under Wine, CreateProcess, the program's start, exit, waiting for its handle, and
 *              closing its two handles.
 * Leaves out   what fork_exec leaves out, and posix_spawn's actions on files: there are none.
 * Beware       C libraries implement it differently. glibc maps a stack for the child, which
 *              borrows its parent's memory as with vfork, and looks at each signal's action in some
 *              120 system calls. musl uses a stack that it has, and learns of success through a
 *              pipe. Others fork. The program is the load program itself, told to exit. Its
 *              environment is empty; under Wine it is the parent's, because programs do not start
 *              there without one. With place=0 the child may start on another processor; with
 *              place=1 and 2 it stays on its parent's.
 * After        lat_proc exec of lmbench (McVoy and Staelin, 1996), which forks.
 */
#include "../api/workload.h"

#ifdef _WIN32
#include <stdio.h>

#include "../api/system.h"
#include "../api/windows/error.h"

static char line[MAX_PATH * 4 + 8];

static int find_program(void)
{
	snprintf(line, sizeof(line), "\"%s\" exit", self_path());
	return 0;
}

static int run(uint64_t operations)
{
	while (operations--) {
		STARTUPINFOA        start = { .cb = sizeof(start) };
		PROCESS_INFORMATION made;
		DWORD               status;

		if (!CreateProcessA(self_path(), line, NULL, NULL, FALSE, CREATE_NO_WINDOW, NULL,
		                    NULL, &start, &made)) {
			windows_failed();
			return fail("CreateProcess");
		}
		if (WaitForSingleObject(made.hProcess, INFINITE) != WAIT_OBJECT_0 ||
		    !GetExitCodeProcess(made.hProcess, &status)) {
			windows_failed();
			return fail("waiting for the process");
		}
		CloseHandle(made.hThread);
		CloseHandle(made.hProcess);
		if (status)
			return fail_check("the process exited with status %lu, not 0", status);
	}
	return 0;
}
#else
#include <spawn.h>

#include "program.h"

static int run(uint64_t operations)
{
	static char *nothing[] = { NULL };
	int          outcome = 0;

	while (operations-- && !outcome) {
		pid_t child;

		errno = posix_spawn(&child, program.path, NULL, NULL, program.words, nothing);
		if (errno)
			return fail("posix_spawn");
		outcome = await_exit(child, 0);
	}
	return outcome;
}
#endif

static const struct call calls[] = { { "execve", 1 }, { "wait4", 1 }, { "exit_group", 1 }, { 0 } };

const struct workload workload_spawn = {
	.name = "spawn",
	.group = "process",
	.summary = "a minimal program started by posix_spawn (CreateProcess), and its end",
	.operation = "process",
	.setup = find_program,
	.run = run,
	.regains_ns = 400000,
	.calls = calls,
};
