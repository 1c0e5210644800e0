/* facts.c -- what Windows, or Wine, says of itself. See ../fingerprint.h. An unknown fact
 * is null, never a guess. Wine is never called Windows: it says which version it answers as. */
#include "../fingerprint.h"

#include <cpuid.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/record.h"
#include "../../workloads/api/windows/error.h"
#include "../system.h"
#include "wine.h"

enum { FACT_ROOM = 256, LEVELS = 8 };

#define TEXT_OF_(x) #x
#define TEXT_OF(x)  TEXT_OF_(x)

const char *build_libc(void)
{
	return "msvcrt, mingw-w64 " TEXT_OF(__MINGW64_VERSION_MAJOR) "." TEXT_OF(
		__MINGW64_VERSION_MINOR);
}

static void *from_ntdll(const char *name)
{
	return (void *)(uintptr_t)GetProcAddress(GetModuleHandleA("ntdll.dll"), name);
}

/* What is in the registry's branch of the machine; NULL if nothing. */
static const char *registered(const char *key, const char *name, char into[FACT_ROOM])
{
	DWORD room = FACT_ROOM;

	if (RegGetValueA(HKEY_LOCAL_MACHINE, key, name, RRF_RT_REG_SZ, NULL, into, &room) || !*into)
		return NULL;
	return into;
}

/* Not GetVersion, which answers what the program's manifest wishes to hear. */
static void release(char into[FACT_ROOM])
{
	OSVERSIONINFOW version = { .dwOSVersionInfoSize = sizeof(version) };
	LONG(WINAPI *
	     ask)(OSVERSIONINFOW *) = (LONG(WINAPI *)(OSVERSIONINFOW *))from_ntdll("RtlGetVersion");

	*into = 0;
	if (ask && !ask(&version))
		snprintf(into, FACT_ROOM, "%lu.%lu.%lu", version.dwMajorVersion,
		         version.dwMinorVersion, version.dwBuildNumber);
}

static void write_wine(const char *windows)
{
	void (*ask)(const char **, const char **) =
		(void (*)(const char **, const char **))from_ntdll("wine_get_host_version");
	const char *name = NULL, *host_release = NULL;
	char        text[FACT_ROOM];

	record_text("kernel", "Wine");
	snprintf(text, sizeof(text), "%s (as Windows %s)", wine_version(), windows);
	record_text("kernel_release", text);
	if (ask)
		ask(&name, &host_release);
	snprintf(text, sizeof(text), "on %s %s", name ? name : "",
	         host_release ? host_release : "");
	record_text("kernel_version", name ? text : NULL);
}

/* As uname says it elsewhere. */
static const char *architecture(WORD number)
{
	return number == PROCESSOR_ARCHITECTURE_AMD64   ? "x86_64"
	       : number == PROCESSOR_ARCHITECTURE_ARM64 ? "aarch64"
	                                                : NULL;
}

void facts_kernel(const char *root)
{
	SYSTEM_INFO info;
	char        windows[FACT_ROOM], text[FACT_ROOM];
	DWORD       room = sizeof(text);

	(void)root;
	release(windows);
	if (wine_version()) {
		write_wine(windows);
	} else {
		record_text("kernel", "Windows NT");
		record_text("kernel_release", *windows ? windows : NULL);
		record_text("kernel_version",
		            registered("SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion",
		                       "ProductName", text));
	}
	GetNativeSystemInfo(&info);
	record_text("architecture", architecture(info.wProcessorArchitecture));
	record_text("host_name", GetComputerNameA(text, &room) ? text : NULL);
	record_null("kernel_command_line");
	record_null("boot_id");
}

/* The processor's own name, from its leaves 0x80000002 to 4. */
static const char *processor_name(char into[49])
{
	unsigned words[12];

	for (unsigned i = 0; i < 3; i++)
		if (!__get_cpuid(0x80000002 + i, &words[4 * i], &words[4 * i + 1],
		                 &words[4 * i + 2], &words[4 * i + 3]))
			return NULL;
	memcpy(into, words, 48);
	into[48] = 0;
	for (size_t length = strlen(into); length && into[length - 1] == ' ';)
		into[--length] = 0;
	return into + strspn(into, " ");
}

void facts_processor(const char *root)
{
	char  name[49];
	int   usable[64], count = processors_usable(usable, 64);
	DWORD online = GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);

	(void)root;
	record_text("cpu_model", processor_name(name));
	if (count > 0)
		record_number("cpu_count", (uint64_t)count);
	else
		record_null("cpu_count");
	if (online)
		record_number("cpu_online", online);
	else
		record_null("cpu_online");
	record_null("microcode");
	record_null("frequency_governor");
}

/* What may be committed beyond memory is the page files', which are Windows' swap; Wine makes a
 * figure up. */
void facts_memory(const char *root)
{
	MEMORYSTATUSEX status = { .dwLength = sizeof(status) };

	(void)root;
	if (GlobalMemoryStatusEx(&status)) {
		record_number("memory_bytes", status.ullTotalPhys);
	} else {
		record_null("memory_bytes");
	}
	if (status.ullTotalPageFile > status.ullTotalPhys && !wine_version())
		record_number("swap_bytes", status.ullTotalPageFile - status.ullTotalPhys);
	else
		record_null("swap_bytes");
	record_number("page_bytes", page_bytes());
	record_null("huge_pages");
	record_null("huge_pages_reserved");
}

void facts_caches(const char *root)
{
	SYSTEM_LOGICAL_PROCESSOR_INFORMATION *all;
	DWORD                                 bytes = 0, line = 0;
	char                                  key[8];

	(void)root;
	record_object("caches");
	GetLogicalProcessorInformation(NULL, &bytes);
	all = malloc(bytes ? bytes : 1);
	if (all && bytes && GetLogicalProcessorInformation(all, &bytes))
		for (DWORD i = 0; i < bytes / sizeof(*all); i++) {
			const CACHE_DESCRIPTOR *cache = &all[i].Cache;

			if (all[i].Relationship != RelationCache || !(all[i].ProcessorMask & 1) ||
			    cache->Type == CacheInstruction || cache->Type == CacheTrace)
				continue;
			snprintf(key, sizeof(key), "L%d", cache->Level);
			record_number(key, cache->Size);
			line = cache->LineSize;
		}
	free(all);
	record_object_close();
	if (line)
		record_number("cache_line_bytes", line);
	else
		record_null("cache_line_bytes");
}

void facts_clock_source(const char *root)
{
	(void)root;
	record_null("clock_source");
}

void facts_protection(const char *root)
{
	(void)root;
	record_null("address_randomisation");
	record_object("mitigations");
	record_object_close();
}

void facts_machine(const char *root, const char *hypervisor)
{
	char text[FACT_ROOM];

	(void)root;
	record_text("hypervisor", hypervisor);
	record_text("machine_product",
	            registered("HARDWARE\\DESCRIPTION\\System\\BIOS", "SystemProductName", text));
	record_text("firmware",
	            registered("HARDWARE\\DESCRIPTION\\System\\BIOS", "BIOSVersion", text));
	record_text("firmware_date",
	            registered("HARDWARE\\DESCRIPTION\\System\\BIOS", "BIOSReleaseDate", text));
	record_null("pci_devices");
}

/* Wine answers NTFS of whatever file system is below. */
void facts_file_system(const char *directory, const char *root)
{
	char where[MAX_PATH * 2], volume[MAX_PATH], kind[64];

	(void)root;
	if (!GetFullPathNameA(directory, sizeof(where), where, NULL))
		snprintf(where, sizeof(where), "%s", directory);
	record_text("directory", where);
	if (!wine_version() && GetVolumePathNameA(where, volume, sizeof(volume)) &&
	    GetVolumeInformationA(volume, NULL, 0, NULL, NULL, NULL, kind, sizeof(kind)))
		record_text("file_system", kind);
	else
		record_null("file_system");
	record_null("file_system_options");
	record_null("device");
	record_null("device_scheduler");
	record_null("device_write_cache");
}
