/* handle.h -- a file by the system's own calls: a descriptor on POSIX, a handle on Windows.
 *
 * For workloads that measure such calls. Each function is the one call that its comment names,
 * without a buffer or a library in between (on POSIX by kernel_call.h). Names are relative to the
 * working directory, which handle_begin() makes the trial's own, so that nothing walks through the
 * directories above. A function that fails sets errno.
 */
#ifndef STEELYARD_FILE_HANDLE_H
#define STEELYARD_FILE_HANDLE_H

#include "workload.h"

enum handle_use {
	HANDLE_READ,       /* the file exists */
	HANDLE_READ_WRITE, /* the file exists */
	HANDLE_NEW,        /* to write; no file of that name exists */
	HANDLE_EMPTY,      /* to read and write; if the file exists, its contents are lost */
};

#ifdef _WIN32
#include "windows/error.h"

typedef HANDLE  handle;
typedef wchar_t name_letter; /* functions that take bytes would translate them first */
#define NAME(text) L##text
#define NO_HANDLE  INVALID_HANDLE_VALUE

/* SetCurrentDirectory. */
static inline int handle_enter(const char *directory)
{
	return SetCurrentDirectoryA(directory) ? 0 : windows_failed();
}

/* CreateFile; others may open, write and remove the file meanwhile, as on POSIX.
 * Returns NO_HANDLE if it fails. */
static inline handle handle_open(const name_letter *name, enum handle_use use)
{
	DWORD  access = use == HANDLE_READ  ? GENERIC_READ
	                : use == HANDLE_NEW ? GENERIC_WRITE
	                                    : GENERIC_READ | GENERIC_WRITE;
	DWORD  how = use == HANDLE_NEW     ? CREATE_NEW
	             : use == HANDLE_EMPTY ? CREATE_ALWAYS
	                                   : OPEN_EXISTING;
	DWORD  shared = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
	handle opened = CreateFileW(name, access, shared, NULL, how, FILE_ATTRIBUTE_NORMAL, NULL);

	if (opened == NO_HANDLE)
		windows_failed();
	return opened;
}

/* CloseHandle. */
static inline int handle_close(handle file)
{
	return CloseHandle(file) ? 0 : windows_failed();
}

/* ReadFile, WriteFile: the bytes, or -1. */
static inline ssize_t handle_read(handle file, void *into, size_t bytes)
{
	DWORD got;

	return ReadFile(file, into, (DWORD)bytes, &got, NULL) ? (ssize_t)got : windows_failed();
}

static inline ssize_t handle_write(handle file, const void *from, size_t bytes)
{
	DWORD put;

	return WriteFile(file, from, (DWORD)bytes, &put, NULL) ? (ssize_t)put : windows_failed();
}

/* SetFilePointerEx, from the beginning. */
static inline int handle_seek(handle file, uint64_t place)
{
	LARGE_INTEGER wanted = { .QuadPart = (LONGLONG)place }, found;

	if (!SetFilePointerEx(file, wanted, &found, FILE_BEGIN))
		return windows_failed();
	return found.QuadPart == wanted.QuadPart ? 0 : windows_failed_as(ERROR_SEEK);
}

/* DeleteFile. */
static inline int handle_remove(const name_letter *name)
{
	return DeleteFileW(name) ? 0 : windows_failed();
}

/* CreateFileMapping and MapViewOfFile, to read; and CloseHandle, because the view alone keeps the
 * file. Returns NULL if it fails. */
static inline void *handle_map(handle file, size_t bytes)
{
	HANDLE section = CreateFileMappingW(file, NULL, PAGE_READONLY, 0, 0, NULL);
	void  *start = section ? MapViewOfFile(section, FILE_MAP_READ, 0, 0, bytes) : NULL;

	if (!start)
		windows_failed();
	if (section)
		CloseHandle(section);
	return start;
}

/* UnmapViewOfFile. */
static inline int handle_unmap(void *start, size_t bytes)
{
	(void)bytes;
	return UnmapViewOfFile(start) ? 0 : windows_failed();
}
#else
#include "kernel_call.h"

typedef int  handle;
typedef char name_letter;
#define NAME(text) text
#define NO_HANDLE  (-1)

/* chdir. */
static inline int handle_enter(const char *directory)
{
	return chdir(directory);
}

/* openat, because libraries make different system calls for open. Returns NO_HANDLE if it fails. */
static inline handle handle_open(const name_letter *name, enum handle_use use)
{
	int flags = use == HANDLE_READ         ? O_RDONLY
	            : use == HANDLE_READ_WRITE ? O_RDWR
	            : use == HANDLE_NEW        ? O_WRONLY | O_CREAT | O_EXCL
	                                       : O_RDWR | O_CREAT | O_TRUNC;

	return kernel_openat(AT_FDCWD, name, flags, 0600);
}

/* close. */
static inline int handle_close(handle file)
{
	return kernel_close(file);
}

/* read, write: the bytes, or -1. */
static inline ssize_t handle_read(handle file, void *into, size_t bytes)
{
	return kernel_read(file, into, bytes);
}

static inline ssize_t handle_write(handle file, const void *from, size_t bytes)
{
	return kernel_write(file, from, bytes);
}

/* lseek, from the beginning. */
static inline int handle_seek(handle file, uint64_t place)
{
	return kernel_lseek(file, (off_t)place, SEEK_SET) == (off_t)place ? 0 : -1;
}

/* unlinkat. */
static inline int handle_remove(const name_letter *name)
{
	return kernel_unlinkat(AT_FDCWD, name, 0);
}

/* mmap, to read. Returns NULL if it fails. */
static inline void *handle_map(handle file, size_t bytes)
{
	void *start = kernel_mmap(NULL, bytes, PROT_READ, MAP_SHARED, file, 0);

	return start == MAP_FAILED ? NULL : start;
}

/* munmap. */
static inline int handle_unmap(void *start, size_t bytes)
{
	return kernel_munmap(start, bytes);
}
#endif

static inline int handle_begin(void)
{
	return handle_enter(trial_directory()) ? fail("entering the trial's directory") : 0;
}

/* Writes all bytes, whatever short counts there are. Returns 0, or -1. */
static inline int handle_write_whole(handle file, const void *from, size_t bytes)
{
	const char *at = from;

	while (bytes) {
		ssize_t put = handle_write(file, at, bytes);

		if (put <= 0)
			return -1;
		at += put;
		bytes -= (size_t)put;
	}
	return 0;
}

#endif
