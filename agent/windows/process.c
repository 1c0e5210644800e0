/* process.c -- processes of Windows, by CreateProcess, in job objects. See ../system.h.
 *
 * What a process inherits: handles that are marked so when it is created, by their values. Those
 * that an order names are marked, or are marked duplicates, for just that long; a lock keeps two
 * threads that start processes from giving theirs to the other's. Descriptors are the C library's:
 * it finds them in the start information's reserved part, as it leaves them there for its own
 * _spawn functions (a count, a byte of flags for each, a handle for each).
 */
#include <errno.h>
#include <io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/clock.h"
#include "../../workloads/api/windows/error.h"
#include "../clock_facts.h"
#include "../partner.h"
#include "../place.h"
#include "../system.h"
#include "../tree.h"
#include "../trial.h"
#include "children.h"

enum { LINE_ROOM = 32768, FILES_MOST = 64, PATIENCE_MS = 1000 };

/* The exit code of a process that we have ended: an error by its highest bits, and nobody
 * else's. */
#define ENDED_BY_US 0xE57EE100u

/* The lpReserved2 of the C library. */
struct inherited {
	int           count;
	unsigned char bytes[FILES_MOST * (1 + sizeof(HANDLE))];
};

enum { IS_OPEN = 0x01, IS_PIPE = 0x08 };

static SRWLOCK starting = SRWLOCK_INIT;

/* One argument as the C library of the new process will split it: quotes around, and backslashes
 * doubled before a quote. Returns the new count, or -1 if the line is full. */
static int add_argument(char *line, int count, const char *argument)
{
	int quoted = !*argument || strpbrk(argument, " \t\n\"") != NULL;

	if ((size_t)count + 2 * strlen(argument) + 4 > LINE_ROOM)
		return -1;
	if (count)
		line[count++] = ' ';
	if (quoted)
		line[count++] = '"';
	while (*argument) {
		int backslashes = (int)strspn(argument, "\\");
		int doubled = argument[backslashes] == '"' || (quoted && !argument[backslashes]);

		memset(line + count, '\\', (size_t)(doubled ? 2 * backslashes : backslashes));
		count += doubled ? 2 * backslashes : backslashes;
		argument += backslashes;
		if (*argument == '"')
			line[count++] = '\\';
		if (*argument)
			line[count++] = *argument++;
	}
	if (quoted)
		line[count++] = '"';
	line[count] = 0;
	return count;
}

static int add_arguments(char *line, const char *const arguments[])
{
	int count = 0;

	for (int i = 0; arguments[i]; i++)
		if ((count = add_argument(line, count, arguments[i])) < 0)
			return windows_failed_as(ERROR_FILENAME_EXCED_RANGE);
	return 0;
}

/* Our environment and that, in one block. To be freed; NULL with errno. */
static char *environment_of(const char *const more[])
{
	char       *own = GetEnvironmentStringsA(), *block, *at;
	const char *end = own;
	size_t      room = 1;

	if (!own) {
		windows_failed();
		return NULL;
	}
	while (*end)
		end += strlen(end) + 1;
	room += (size_t)(end - own);
	for (int i = 0; more && more[i]; i++)
		room += strlen(more[i]) + 1;
	if ((block = malloc(room))) {
		memcpy(block, own, (size_t)(end - own));
		at = block + (end - own);
		for (int i = 0; more && more[i]; i++)
			at = strcpy(at, more[i]) + strlen(more[i]) + 1;
		*at = 0;
	}
	FreeEnvironmentStringsA(own);
	return block;
}

/* A duplicate that new processes inherit; NULL if there is none. */
static HANDLE inheritable(HANDLE handle)
{
	HANDLE duplicate = NULL;

	if (!handle || handle == INVALID_HANDLE_VALUE ||
	    !DuplicateHandle(GetCurrentProcess(), handle, GetCurrentProcess(), &duplicate, 0, TRUE,
	                     DUPLICATE_SAME_ACCESS))
		return NULL;
	return duplicate;
}

static void no_complaint(const wchar_t *expression, const wchar_t *function, const wchar_t *file,
                         unsigned line, uintptr_t reserved)
{
	(void)expression;
	(void)function;
	(void)file;
	(void)line;
	(void)reserved;
}

/* The handle of a descriptor, which may not be open. */
static HANDLE handle_of(int file)
{
	_invalid_parameter_handler before = _set_invalid_parameter_handler(no_complaint);
	HANDLE                     handle = (HANDLE)_get_osfhandle(file);

	_set_invalid_parameter_handler(before);
	return handle;
}

static int give(HANDLE handles[FILES_MOST], int number, int file)
{
	if (number >= FILES_MOST)
		return windows_failed_as(ERROR_TOO_MANY_OPEN_FILES);
	handles[number] = inheritable(handle_of(file));
	return handles[number] ? 0 : windows_failed();
}

/* Puts duplicates of what the order gives where the new process will have it. */
static int give_files(const struct process_order *order, HANDLE handles[FILES_MOST])
{
	for (size_t i = 0; i < order->file_count; i++)
		if (give(handles, order->files[i].theirs, order->files[i].ours))
			return -1;
	for (int file = 3; order->inherits_all && file < FILES_MOST; file++)
		if (handle_of(file) != INVALID_HANDLE_VALUE && give(handles, file, file))
			return -1;
	return 0;
}

static WORD describe(HANDLE handles[FILES_MOST], struct inherited *told)
{
	int count = 0;

	for (int i = 0; i < FILES_MOST; i++)
		if (handles[i])
			count = i + 1;
	told->count = count;
	for (int i = 0; i < count; i++) {
		HANDLE handle = handles[i] ? handles[i] : INVALID_HANDLE_VALUE;

		told->bytes[i] = handles[i] ? (unsigned char)(IS_OPEN | IS_PIPE) : 0;
		memcpy(told->bytes + count + i * (int)sizeof(HANDLE), &handle, sizeof(handle));
	}
	return (WORD)(sizeof(told->count) + (size_t)count * (1 + sizeof(HANDLE)));
}

static HANDLE nothing(void)
{
	static HANDLE       null;
	SECURITY_ATTRIBUTES inherited = { sizeof(inherited), NULL, TRUE };

	if (!null)
		null = CreateFileA("NUL", GENERIC_READ | GENERIC_WRITE,
		                   FILE_SHARE_READ | FILE_SHARE_WRITE, &inherited, OPEN_EXISTING, 0,
		                   NULL);
	return null;
}

static void mark(const struct process_order *order, DWORD flag)
{
	for (size_t i = 0; i < order->handle_count; i++)
		SetHandleInformation((HANDLE)order->handles[i], HANDLE_FLAG_INHERIT, flag);
}

static DWORD priority_of(int niceness)
{
	return niceness >= 15   ? IDLE_PRIORITY_CLASS
	       : niceness >= 5  ? BELOW_NORMAL_PRIORITY_CLASS
	       : niceness > -5  ? 0
	       : niceness > -10 ? ABOVE_NORMAL_PRIORITY_CLASS
	                        : HIGH_PRIORITY_CLASS;
}

/* Without a window. A partner (inherits_all) gets no console either: Wine would start a process to
 * serve that console, which inherits what its client has, and so would keep open the writing end of
 * the very pipe or connection whose end the partner waits for. Others have one, or what they start
 * would open windows. */
static DWORD console_of(const struct process_order *order)
{
	return order->inherits_all ? DETACHED_PROCESS : CREATE_NO_WINDOW;
}

static int is_held(const struct process_order *order)
{
	return order->is_group || order->processor;
}

/* CreateProcess with the line and the block made; the new process is suspended if it is_held. */
static int create(const struct process_order *order, char *line, char *environment,
                  PROCESS_INFORMATION *made)
{
	HANDLE           handles[FILES_MOST] = { 0 }, errors;
	struct inherited told;
	STARTUPINFOA     start = { .cb = sizeof(start), .dwFlags = STARTF_USESTDHANDLES };
	int              bad;

	AcquireSRWLockExclusive(&starting);
	errors = inheritable(GetStdHandle(STD_ERROR_HANDLE));
	start.hStdInput = start.hStdOutput = nothing();
	start.hStdError = errors ? errors : nothing();
	bad = give_files(order, handles);
	if (!bad) {
		start.cbReserved2 = describe(handles, &told);
		start.lpReserved2 = (BYTE *)&told;
		mark(order, HANDLE_FLAG_INHERIT);
		if (!CreateProcessA(order->arguments[0], line, NULL, NULL, TRUE,
		                    priority_of(order->niceness) | console_of(order) |
		                            (is_held(order) ? CREATE_SUSPENDED : 0),
		                    environment, NULL, &start, made))
			bad = windows_failed();
		mark(order, 0);
	}
	for (int i = 0; i < FILES_MOST; i++)
		if (handles[i])
			CloseHandle(handles[i]);
	if (errors)
		CloseHandle(errors);
	ReleaseSRWLockExclusive(&starting);
	return bad;
}

/* A job that ends all its processes when its only handle, ours, is closed: when we end, too. */
static HANDLE job_make(void)
{
	JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits = {
		.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	};
	HANDLE job = CreateJobObjectA(NULL, NULL);

	if (job)
		SetInformationJobObject(job, JobObjectExtendedLimitInformation, &limits,
		                        sizeof(limits));
	return job;
}

static int hold_and_release(const struct process_order *order, PROCESS_INFORMATION *made,
                            struct process *process)
{
	HANDLE job = order->is_group ? job_make() : NULL;

	process->job = (intptr_t)job;
	if ((order->is_group && (!job || !AssignProcessToJobObject(job, made->hProcess))) ||
	    (order->processor &&
	     !SetProcessAffinityMask(made->hProcess, (DWORD_PTR)1 << (order->processor - 1))) ||
	    ResumeThread(made->hThread) == (DWORD)-1)
		return windows_failed();
	return 0;
}

int process_start(const struct process_order *order, struct process *process)
{
	static _Thread_local char line[LINE_ROOM];
	PROCESS_INFORMATION       made;
	char                     *environment;
	int                       bad;

	*process = (struct process){ 0 };
	if (add_arguments(line, order->arguments) ||
	    !(environment = environment_of(order->environment)))
		return -1;
	bad = create(order, line, environment, &made);
	free(environment);
	if (bad)
		return -1;
	if (is_held(order) && hold_and_release(order, &made, process)) {
		int error = errno;

		TerminateProcess(made.hProcess, ENDED_BY_US);
		CloseHandle(made.hThread);
		CloseHandle(made.hProcess);
		process_forget(process);
		errno = error;
		return -1;
	}
	CloseHandle(made.hThread);
	process->id = (intptr_t)made.hProcess;
	return 0;
}

char *program_find(const char *name)
{
	char  path[MAX_PATH];
	DWORD length = SearchPathA(NULL, name, ".exe", sizeof(path), path, NULL);

	return length && length < sizeof(path) ? strdup(path) : NULL;
}

static const struct {
	DWORD       code;
	const char *name;
} exceptions[] = {
	{ 0x80000003, "breakpoint" },
	{ 0xC0000005, "access violation" },
	{ 0xC0000006, "a page could not be read" },
	{ 0xC0000017, "no memory" },
	{ 0xC000001D, "illegal instruction" },
	{ 0xC0000094, "division by zero" },
	{ 0xC00000FD, "stack overflow" },
	{ 0xC000012D, "the limit of committed memory" },
	{ 0xC0000135, "a DLL was not found" },
	{ 0xC000013A, "ended by Control-C" },
	{ 0xC0000142, "a DLL could not begin" },
	{ 0xC0000374, "heap corruption" },
	{ 0xC0000409, "stack buffer overrun" },
};

/* An exit status whose two highest bits are set is an exception's, or that of a termination as
 * one. */
static void tell_end(DWORD code, struct process_end *end)
{
	const char *name = "unknown";

	memset(end, 0, sizeof(*end));
	end->status = (int)code;
	if (code == ENDED_BY_US) {
		end->was_killed = 1;
		snprintf(end->reason, sizeof(end->reason), "ended by its maker");
		return;
	}
	for (size_t i = 0; i < sizeof(exceptions) / sizeof(*exceptions); i++)
		if (exceptions[i].code == code) {
			name = exceptions[i].name;
			end->was_killed = 1;
		}
	if (code >> 30 == 3)
		end->was_killed = 1;
	if (end->was_killed)
		snprintf(end->reason, sizeof(end->reason), "exception 0x%08lX: %s", code, name);
}

/* The times of children that were waited for: Windows keeps no sum of them. */
static struct children children;

struct children children_used(void)
{
	return children;
}

static void add_times(HANDLE process)
{
	FILETIME made, ended, system, user;

	if (!GetProcessTimes(process, &made, &ended, &system, &user))
		return;
	children.user_ns += filetime_ns(user);
	children.system_ns += filetime_ns(system);
}

static int take_end(struct process *process, struct process_end *end)
{
	HANDLE handle = (HANDLE)process->id;
	DWORD  code;

	if (!GetExitCodeProcess(handle, &code))
		return windows_failed();
	tell_end(code, end);
	end->ended_ns = clock_ns();
	add_times(handle);
	CloseHandle(handle);
	process->id = 0;
	return 0;
}

int process_wait(struct process *process, struct process_end *end)
{
	if (WaitForSingleObject((HANDLE)process->id, INFINITE) != WAIT_OBJECT_0)
		return windows_failed();
	return take_end(process, end);
}

/* One can wait for 64 handles at once. So the system's pool of waiting threads waits, for as many
 * as there are, and says here which have ended, and when. */
struct waiter {
	HANDLE        registered;
	volatile LONG has_ended;
	uint64_t      ended_ns;
};

static HANDLE some_ended;

static void CALLBACK note_end(void *argument, BOOLEAN timed_out)
{
	struct waiter *waiter = argument;

	(void)timed_out;
	waiter->ended_ns = clock_ns();
	InterlockedExchange(&waiter->has_ended, 1);
	SetEvent(some_ended);
}

static int await_also(struct process *process)
{
	struct waiter *waiter;

	if (!process->id || process->waiter)
		return 0;
	waiter = calloc(1, sizeof(*waiter));
	if (!waiter)
		return -1;
	if (!RegisterWaitForSingleObject(&waiter->registered, (HANDLE)process->id, note_end, waiter,
	                                 INFINITE, WT_EXECUTEONLYONCE)) {
		windows_failed();
		free(waiter);
		return -1;
	}
	process->waiter = waiter;
	return 0;
}

static uint64_t await_no_more(struct process *process)
{
	struct waiter *waiter = process->waiter;
	uint64_t       ended_ns;

	UnregisterWaitEx(waiter->registered, INVALID_HANDLE_VALUE);
	ended_ns = waiter->ended_ns;
	free(waiter);
	process->waiter = NULL;
	return ended_ns;
}

ptrdiff_t process_wait_any(struct process processes[], size_t count, int patience_ms,
                           struct process_end *end)
{
	uint64_t deadline = clock_ns() + (uint64_t)(patience_ms < 0 ? 0 : patience_ms) * 1000000;

	if (!some_ended && !(some_ended = CreateEventA(NULL, FALSE, FALSE, NULL)))
		return windows_failed();
	for (size_t i = 0; i < count; i++)
		if (await_also(&processes[i]))
			return -1;
	for (;;) {
		int      left = 0;
		uint64_t now;
		DWORD    patience;

		for (size_t i = 0; i < count; i++) {
			struct waiter *waiter = processes[i].waiter;
			uint64_t       ended_ns;

			left |= processes[i].id != 0;
			if (!waiter || !InterlockedCompareExchange(&waiter->has_ended, 0, 0))
				continue;
			ended_ns = await_no_more(&processes[i]);
			if (take_end(&processes[i], end))
				return -1;
			end->ended_ns = ended_ns;
			return (ptrdiff_t)i;
		}
		now = clock_ns();
		if (!left || (patience_ms >= 0 && now >= deadline))
			return -2;
		patience = patience_ms < 0 ? INFINITE : (DWORD)((deadline - now) / 1000000) + 1;
		WaitForSingleObject(some_ended, patience);
	}
}

void process_kill(struct process *process)
{
	if (process->job)
		TerminateJobObject((HANDLE)process->job, ENDED_BY_US);
	else if (process->id)
		TerminateProcess((HANDLE)process->id, ENDED_BY_US);
}

/* Until nothing runs in the job: a process that is ending may still hold its files open. */
static void await_empty(HANDLE job)
{
	for (int waited = 0; waited < PATIENCE_MS; waited++) {
		JOBOBJECT_BASIC_ACCOUNTING_INFORMATION facts;

		if (!QueryInformationJobObject(job, JobObjectBasicAccountingInformation, &facts,
		                               sizeof(facts), NULL) ||
		    !facts.ActiveProcesses)
			return;
		Sleep(1);
	}
}

void process_forget(struct process *process)
{
	if (process->waiter)
		await_no_more(process);
	if (process->job) {
		process_kill(process);
		await_empty((HANDLE)process->job);
		CloseHandle((HANDLE)process->job);
	}
	if (process->id)
		CloseHandle((HANDLE)process->id);
	*process = (struct process){ 0 };
}

/* Windows keeps nothing of a process to which there is no handle. */
void processes_reap(void)
{
}
