/* fingerprint.c -- see fingerprint.h. A fact that cannot be had is null, never a guess. */
#include "fingerprint.h"

#include <stdio.h>
#include <string.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "../api/record.h"
#include "clock.h"
#include "system.h"

const char *build_compiler(void)
{
#if defined(__clang__)
	return "clang " __clang_version__;
#elif defined(__GNUC__)
	return "gcc " __VERSION__;
#else
	return "unknown";
#endif
}

/* From inside: the processor itself says whether a hypervisor runs it, whatever the kernel knows. NULL:
 * a processor that cannot be asked. */
static const char *hypervisor(void)
{
#if defined(__x86_64__) || defined(__i386__)
	static char vendor[13];
	unsigned    eax = 0, ebx = 0, ecx = 0, edx = 0;

	if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & (1u << 31)))
		return "none";
	__cpuid(0x40000000, eax, ebx, ecx, edx);
	memcpy(vendor, &ebx, 4);
	memcpy(vendor + 4, &ecx, 4);
	memcpy(vendor + 8, &edx, 4);
	return *vendor ? vendor : "unnamed";
#else
	return NULL;
#endif
}

void fingerprint_write(const char *directory, const char *root)
{
	struct clock_facts facts = clock_measure();

	record_open("system");
	facts_kernel(root);
	record_text("libc", build_libc());
	record_text("compiler", build_compiler());
	facts_processor(root);
	facts_memory(root);
	facts_caches(root);
	record_text("clock", clock_name);
	facts_clock_source(root);
	record_number("clock_resolution_ns", facts.resolution_ns);
	record_number("clock_cost_ns", facts.cost_ns);
	facts_protection(root);
	facts_machine(root, hypervisor());
	facts_file_system(directory, root);
	record_close(1);
}
