/* program.h -- the smallest program that every system has, which is this one told to exit at once;
 * and processes made by fork, up to their end.
 *
 * The program is executed by its own file's name and not as /proc/self/exe: a look-up in /proc
 * makes an entry for each new process, which is no part of an execution, and in a shell it would be
 * the shell.
 */
#ifndef STEELYARD_PROCESS_PROGRAM_H
#define STEELYARD_PROCESS_PROGRAM_H

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../api/system.h"
#include "../api/workload.h"

enum { NOT_EXECUTED = 127 }; /* the exit status of a child whose execve failed, as in shells */

/* The file that is executed, and its arguments. Under an emulator the file is the emulator, told to
 * run this program. */
static struct {
	char *path, *words[4];
	char  own[PATH_MAX];
} program;

/* Finds this program's file: a workload's setup. */
static inline int find_program(void)
{
	const char *emulator = self_emulator();
	struct stat here, there;
	int         at = 0;

	if (!realpath(self_path(), program.own) || stat(program.own, &there))
		return unsupported("this program's own file is not found by a name: %s",
		                   strerror(errno));
	if (stat(self_path(), &here) || here.st_dev != there.st_dev || here.st_ino != there.st_ino)
		return unsupported("'%.200s' is not this program's own file", program.own);
	if (emulator)
		program.words[at++] = (char *)(uintptr_t)emulator;
	program.words[at++] = program.own;
	program.words[at++] = (char *)(uintptr_t)"exit";
	program.path = program.words[0];
	return 0;
}

/* In a child: executes that program, without an environment; returns if it cannot. */
INLINED void execute_program(void)
{
	static char *nothing[] = { NULL };

	execve(program.path, program.words, nothing);
}

/* Waits for the child, which must exit with that status. */
static inline int await_exit(pid_t child, int expected)
{
	int status;

	if (waitpid(child, &status, 0) != child)
		return fail("waitpid");
	if (WIFSIGNALED(status))
		return fail_check("the child was killed by signal %d", WTERMSIG(status));
	if (WEXITSTATUS(status) == NOT_EXECUTED && expected != NOT_EXECUTED)
		return fail_check("the child could not execute the program");
	if (WEXITSTATUS(status) != expected)
		return fail_check("the child exited with status %d, not %d", WEXITSTATUS(status),
		                  expected);
	return 0;
}

/* Makes that many processes by fork, one after another. Each calls become() and must exit with that
 * status. */
INLINED int fork_each(uint64_t operations, void (*become)(void), int expected)
{
	int outcome = 0;

	while (operations-- && !outcome) {
		pid_t child = fork();

		if (child < 0)
			return fail("fork");
		if (child == 0) {
			become();
			_exit(NOT_EXECUTED);
		}
		outcome = await_exit(child, expected);
	}
	return outcome;
}

#endif
