/* empty.bpf.c -- nothing, on the hooks that a monitor of system calls cannot do without: what
 * nothing can be cheaper than. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char _license[] SEC("license") = "GPL";

SEC("tp_btf/sys_enter")
int enter(void *context)
{
	(void)context;
	return 0;
}

SEC("tp_btf/sys_exit")
int leave(void *context)
{
	(void)context;
	return 0;
}
