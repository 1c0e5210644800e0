/* fingerprint.h -- what this system is, as seen from inside it. */
#ifndef STEELYARD_FINGERPRINT_H
#define STEELYARD_FINGERPRINT_H

/* Writes the "system" record to standard output. `directory` is where trials work; `root` goes
 * before every path of /proc and /sys that is read (tests give a false one; "" for the real). */
void fingerprint_write(const char *directory, const char *root);

/* The compiler and the libc that this program was built with, as two constant strings. */
const char *build_compiler(void);
const char *build_libc(void);

/* The name of the hypervisor that signs itself (CPUID 0x40000000) with these twelve bytes, which
 * are no text for people: "KVMKVMKVM" is KVM. An unknown signature comes back in quotes, with dots
 * for what is not printable, in a buffer of this function's. */
const char *hypervisor_name(const char signature[12]);

/* What the operating system says, each a few members of the open record: in posix/ and windows/. */
void facts_kernel(const char *root);    /* kernel ... boot_id */
void facts_processor(const char *root); /* cpu_model, cpu_count, cpu_online, frequency_governor */
void facts_memory(const char *root);    /* memory_bytes ... huge_pages_reserved */
void facts_caches(const char *root);    /* caches, cache_line_bytes */
void facts_clock_source(const char *root); /* clock_source */
void facts_protection(const char *root);   /* address_randomisation, mitigations */
void facts_machine(const char *root, const char *hypervisor);    /* or NULL: not known yet */
void facts_file_system(const char *directory, const char *root); /* directory ...
                                                                    device_write_cache */

#endif
