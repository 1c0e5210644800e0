/* fingerprint.c -- see fingerprint.h. An unknown fact is null, never a guess. */
#include "fingerprint.h"

#include <stdio.h>
#include <string.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "../base/clock.h"
#include "../base/record.h"
#include "clock_facts.h"
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

const char *hypervisor_name(const char signature[12])
{
	static const struct {
		const char *signature, *name;
	} known[] = {
		{ "KVMKVMKVM\0\0\0", "KVM" },      { "Linux KVM Hv", "KVM (as Hyper-V)" },
		{ "XenVMMXenVMM", "Xen" },         { "VMwareVMware", "VMware" },
		{ "Microsoft Hv", "Hyper-V" },     { "VBoxVBoxVBox", "VirtualBox" },
		{ "TCGTCGTCGTCG", "QEMU" },        { "bhyve bhyve ", "bhyve" },
		{ "BHyVE BHyVE ", "bhyve" },       { " lrpepyh  vr", "Parallels" },
		{ " prl hyperv ", "Parallels" },   { "ACRNACRNACRN", "ACRN" },
		{ " QNXQVMBSQG ", "QNX" },         { "Jailhouse\0\0\0", "Jailhouse" },
		{ "HAXMHAXMHAXM", "HAXM" },        { "___ NVMM ___", "NVMM" },
		{ "OpenBSDVMM58", "OpenBSD VMM" }, { "UnisysSpar64", "Unisys s-Par" },
		{ "SRESRESRESRE", "LMHS" },        { "EVMMEVMMEVMM", "Intel KGT" },
		{ "VirtualApple", "Apple" },
	};
	static char quoted[16] = "'";

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!memcmp(signature, known[i].signature, 12))
			return known[i].name;
	memcpy(quoted + 1, signature, 12);
	quoted[13] = 0;
	if (!quoted[1])
		return "unnamed";
	for (char *at = quoted + 1; *at; at++)
		if (*at < 32 || *at > 126)
			*at = '.';
	strcat(quoted, "'");
	return quoted;
}

/* From inside: the processor itself says whether a hypervisor runs it, whatever the kernel knows.
 * NULL: a processor that cannot be asked. */
static const char *hypervisor(void)
{
#if defined(__x86_64__) || defined(__i386__)
	char     signature[12];
	unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;

	if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & (1u << 31)))
		return "none";
	__cpuid(0x40000000, eax, ebx, ecx, edx);
	memcpy(signature, &ebx, 4);
	memcpy(signature + 4, &ecx, 4);
	memcpy(signature + 8, &edx, 4);
	return hypervisor_name(signature);
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
