/* memory.c -- how much memory there is, and pages of it. See workloads/api/workload.h and
 * ../system.h. */
#include <malloc.h>
#include <string.h>

#include "../../workloads/api/windows/error.h"
#include "../../workloads/api/workload.h"
#include "../system.h"

static uint64_t memory_bytes(void)
{
	MEMORYSTATUSEX status = { .dwLength = sizeof(status) };

	return GlobalMemoryStatusEx(&status) ? status.ullTotalPhys : 0;
}

uint64_t memory_allowed(void)
{
	return memory_bytes() / 4;
}

size_t page_bytes(void)
{
	SYSTEM_INFO info;

	GetSystemInfo(&info);
	return info.dwPageSize;
}

void *memory_take(size_t bytes)
{
	void *start = VirtualAlloc(NULL, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);

	if (!start)
		windows_failed();
	return start;
}

void memory_give(void *start, size_t bytes)
{
	(void)bytes;
	VirtualFree(start, 0, MEM_RELEASE);
}

/* Windows gives large pages only to those who ask for them. */
void memory_small_pages(void *start, size_t bytes)
{
	(void)start;
	(void)bytes;
}

void *aligned_take(size_t alignment, size_t bytes)
{
	return _aligned_malloc(bytes, alignment);
}

void aligned_give(void *start)
{
	_aligned_free(start);
}

void *code_map(const void *code, size_t bytes)
{
	void *start = memory_take(bytes);
	DWORD before;

	if (!start)
		return NULL;
	memcpy(start, code, bytes);
	if (!VirtualProtect(start, bytes, PAGE_EXECUTE_READ, &before)) {
		windows_failed();
		VirtualFree(start, 0, MEM_RELEASE);
		return NULL;
	}
	FlushInstructionCache(GetCurrentProcess(), start, bytes);
	return start;
}

void code_unmap(void *start, size_t bytes)
{
	memory_give(start, bytes);
}

/* The stack's whole room is one reservation, of which the lowest address is the end. */
size_t stack_left(void)
{
	MEMORY_BASIC_INFORMATION here = { 0 };

	if (!VirtualQuery(&here, &here, sizeof(here)))
		return SIZE_MAX;
	return (size_t)((char *)&here - (char *)here.AllocationBase);
}

void memory_offer(void)
{
	/* Windows kills no process when memory ends: it refuses more. */
}

void *shared_make(size_t bytes, intptr_t *handle)
{
	HANDLE section = CreateFileMappingA(INVALID_HANDLE_VALUE, NULL, PAGE_READWRITE,
	                                    (DWORD)((uint64_t)bytes >> 32), (DWORD)bytes, NULL);
	void  *start;

	if (!section) {
		windows_failed();
		return NULL;
	}
	start = shared_open((intptr_t)section, bytes);
	if (start)
		*handle = (intptr_t)section;
	else
		CloseHandle(section);
	return start;
}

void *shared_open(intptr_t handle, size_t bytes)
{
	void *start = MapViewOfFile((HANDLE)handle, FILE_MAP_ALL_ACCESS, 0, 0, bytes);

	if (!start)
		windows_failed();
	return start;
}

void shared_unmap(void *start, size_t bytes)
{
	(void)bytes;
	UnmapViewOfFile(start);
}

void shared_close(intptr_t handle)
{
	CloseHandle((HANDLE)handle);
}
