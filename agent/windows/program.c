/* program.c -- what this program is to Windows: its streams, its file, its errors. See
 * ../system.h. */
#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <string.h>

#include "../../workloads/api/windows/error.h"
#include "../system.h"
#include "../tree.h"
#include "wine.h"

/* The numbers of Windows' errors come after those of the C library. */
enum { WINDOWS_ERRORS = 100000 };

static char path[MAX_PATH * 4];

/* A process of ours that is started must have what is given to it, and not the agent's two
 * streams. */
static void keep_to_ourselves(DWORD which)
{
	HANDLE handle = GetStdHandle(which);

	if (handle && handle != INVALID_HANDLE_VALUE)
		SetHandleInformation(handle, HANDLE_FLAG_INHERIT, 0);
}

/* A crash is told by the exit status, at once, and not to a window or a debugger that waits for
 * someone. */
static LONG WINAPI crash(EXCEPTION_POINTERS *exception)
{
	TerminateProcess(GetCurrentProcess(), exception->ExceptionRecord->ExceptionCode);
	return EXCEPTION_CONTINUE_SEARCH;
}

void system_begin(const char *argv0)
{
	_setmode(0, _O_BINARY);
	_setmode(1, _O_BINARY);
	_setmode(2, _O_BINARY);
	keep_to_ourselves(STD_INPUT_HANDLE);
	keep_to_ourselves(STD_OUTPUT_HANDLE);
	SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX | SEM_NOOPENFILEERRORBOX);
	SetUnhandledExceptionFilter(crash);
	self_path_set(argv0);
}

void self_path_set(const char *argv0)
{
	DWORD length = GetModuleFileNameA(NULL, path, sizeof(path));

	if (!length || length >= sizeof(path))
		snprintf(path, sizeof(path), "%s", argv0);
}

const char *self_path(void)
{
	return path;
}

size_t self_under(const char *words[UNDER_MOST + 1])
{
	words[0] = NULL;
	return 0;
}

const char *self_emulator(void)
{
	return NULL; /* an emulator of another processor starts what is started as it was started
	                itself */
}

int refuse_emulator(void)
{
	return 0;
}

int windows_failed_as(DWORD error)
{
	errno = WINDOWS_ERRORS + (int)error;
	return -1;
}

DWORD windows_error(int error)
{
	return error < WINDOWS_ERRORS ? 0 : (DWORD)(error - WINDOWS_ERRORS);
}

int windows_failed(void)
{
	return windows_failed_as(GetLastError());
}

const char *system_error(int error)
{
	static char text[300];
	DWORD       length;

	if (error < WINDOWS_ERRORS)
		return strerror(error);
	length = FormatMessageA(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS, NULL,
	                        (DWORD)(error - WINDOWS_ERRORS), 0, text, 250, NULL);
	while (length && strchr("\r\n.", text[length - 1]))
		text[--length] = 0;
	snprintf(text + length, sizeof(text) - length, "%serror %d", length ? ", " : "",
	         error - WINDOWS_ERRORS);
	return text;
}

const char *wine_version(void)
{
	HMODULE ntdll = GetModuleHandleA("ntdll.dll");
	const char *(*version)(void) = (const char *(*)(void))(
		void (*)(void))GetProcAddress(ntdll, "wine_get_version");

	return version ? version() : NULL;
}
