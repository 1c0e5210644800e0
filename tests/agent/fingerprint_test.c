/* fingerprint_test.c -- a hypervisor's signature becomes a name, or is quoted. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/fingerprint.h"

static void is_named(const char signature[12], const char *name)
{
	const char *answer = hypervisor_name(signature);

	if (strcmp(answer, name)) {
		fprintf(stderr, "'%.12s' is called %s, not %s\n", signature, answer, name);
		exit(1);
	}
}

int main(void)
{
	is_named("KVMKVMKVM\0\0\0", "KVM");
	is_named("XenVMMXenVMM", "Xen");
	is_named("Microsoft Hv", "Hyper-V");
	is_named("TCGTCGTCGTCG", "QEMU");
	is_named("SomethingNew", "'SomethingNew'");
	is_named("New\033[31m\177\0\0\0", "'New.[31m.'"); /* nothing that a terminal obeys */
	is_named("\0\0\0\0\0\0\0\0\0\0\0\0", "unnamed");
	return 0;
}
