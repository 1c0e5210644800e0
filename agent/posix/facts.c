/* facts.c -- what a kernel like Linux says of itself, in /proc and /sys. See fingerprint.h. An
 * unknown fact is null, never a guess. */
#include "../fingerprint.h"

#include <dirent.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

#include "../../workloads/api/mounts.h"
#include "../../base/numbers.h"
#include "../../base/record.h"
#include "../../workloads/api/system.h"

enum { FACT_ROOM = 512, PROCESSORS_MOST = 1024 };

const char *build_libc(void)
{
#if defined(__GLIBC__)
	static char name[32];

	snprintf(name, sizeof(name), "glibc %s", gnu_get_libc_version());
	return name;
#elif defined(__linux__)
	return "musl"; /* musl does not tell its version, on purpose */
#else
	return "unknown";
#endif
}

/* Reads up to room - 1 bytes of a file; NULL if it cannot be read. Trailing newlines are cut. */
static const char *read_fact(const char *root, const char *name, char *into, size_t room)
{
	char   path[PATH_MAX];
	FILE  *file;
	size_t count;

	snprintf(path, sizeof(path), "%s%s", root, name);
	file = fopen(path, "r");
	if (!file)
		return NULL;
	count = fread(into, 1, room - 1, file);
	fclose(file);
	into[count] = 0;
	while (count && (into[count - 1] == '\n' || into[count - 1] == ' '))
		into[--count] = 0;
	return count ? into : NULL;
}

static void fact_from_file(const char *key, const char *root, const char *name)
{
	char bytes[FACT_ROOM];

	record_text(key, read_fact(root, name, bytes, sizeof(bytes)));
}

/* The value of the first "key : value" line of /proc/cpuinfo or /proc/meminfo; NULL if none. */
static const char *line_value(const char *root, const char *name, const char *key, char *into,
                              size_t room)
{
	char  path[PATH_MAX], line[4096];
	FILE *file;
	int   found = 0;

	snprintf(path, sizeof(path), "%s%s", root, name);
	file = fopen(path, "r");
	if (!file)
		return NULL;
	while (!found && fgets(line, sizeof(line), file)) {
		char  *colon = strchr(line, ':');
		size_t length = strlen(key);

		if (!colon || strncmp(line, key, length) || strspn(line + length, " \t:") == 0)
			continue;
		colon += 1 + strspn(colon + 1, " \t");
		colon[strcspn(colon, "\n")] = 0;
		snprintf(into, room, "%s", colon);
		found = 1;
	}
	fclose(file);
	return found ? into : NULL;
}

/* "always [madvise] never" -> madvise; another form is passed on whole. */
static const char *chosen(char *bytes)
{
	char *open = strchr(bytes, '['), *close = open ? strchr(open, ']') : NULL;

	if (close)
		*close = 0;
	return close ? open + 1 : bytes;
}

static void fact_chosen(const char *key, const char *root, const char *name)
{
	char bytes[FACT_ROOM];

	record_text(key, read_fact(root, name, bytes, sizeof(bytes)) ? chosen(bytes) : NULL);
}

/* By the kernel's list, "0-3,6", because C libraries do not agree on what sysconf counts: glibc the
 * online processors, musl those that this process may use. */
static long processors_online(const char *root)
{
	char          bytes[FACT_ROOM], *at = bytes;
	unsigned long first, last;
	long          count = 0;

	if (!read_fact(root, "/sys/devices/system/cpu/online", bytes, sizeof(bytes)))
		return sysconf(_SC_NPROCESSORS_ONLN);
	while (*at >= '0' && *at <= '9') {
		first = last = strtoul(at, &at, 10);
		if (*at == '-')
			last = strtoul(at + 1, &at, 10);
		if (last < first)
			break;
		count += (long)(last - first) + 1;
		at += *at == ',';
	}
	return count;
}

void facts_processor(const char *root)
{
	char value[FACT_ROOM];
	int  usable[PROCESSORS_MOST], count = processors_usable(usable, PROCESSORS_MOST);
	long online = processors_online(root);

	record_text("cpu_model",
	            line_value(root, "/proc/cpuinfo", "model name", value, sizeof(value)));
	if (count > 0 || online > 0)
		record_number("cpu_count", (uint64_t)(count > 0 ? count : online));
	else
		record_null("cpu_count");
	if (online > 0)
		record_number("cpu_online", (uint64_t)online);
	else
		record_null("cpu_online");
	record_text("microcode",
	            line_value(root, "/proc/cpuinfo", "microcode", value, sizeof(value)));
	fact_from_file("frequency_governor", root,
	               "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
}

/* How many devices are on the PCI bus. */
static void write_devices(const char *root)
{
	char           path[PATH_MAX];
	uint64_t       count = 0;
	DIR           *bus;
	struct dirent *entry;

	snprintf(path, sizeof(path), "%s/sys/bus/pci/devices", root);
	bus = opendir(path);
	if (!bus) {
		record_null("pci_devices");
		return;
	}
	while ((entry = readdir(bus)))
		count += entry->d_name[0] != '.';
	closedir(bus);
	record_number("pci_devices", count);
}

void facts_machine(const char *root, const char *hypervisor)
{
	char bytes[FACT_ROOM];

	if (hypervisor)
		record_text("hypervisor", hypervisor);
	else
		fact_from_file("hypervisor", root, "/sys/hypervisor/type");
	record_text("machine_product",
	            read_fact(root, "/sys/class/dmi/id/product_name", bytes, sizeof(bytes)));
	fact_from_file("firmware", root, "/sys/class/dmi/id/bios_version");
	fact_from_file("firmware_date", root, "/sys/class/dmi/id/bios_date");
	write_devices(root);
}

void facts_protection(const char *root)
{
	static const char *const names[] = { "gather_data_sampling",
		                             "itlb_multihit",
		                             "l1tf",
		                             "mds",
		                             "meltdown",
		                             "mmio_stale_data",
		                             "retbleed",
		                             "spec_rstack_overflow",
		                             "spec_store_bypass",
		                             "spectre_v1",
		                             "spectre_v2",
		                             "srbds",
		                             "tsx_async_abort",
		                             NULL };
	char                     path[128], bytes[FACT_ROOM];

	fact_from_file("address_randomisation", root, "/proc/sys/kernel/randomize_va_space");
	record_object("mitigations");
	for (int i = 0; names[i]; i++) {
		snprintf(path, sizeof(path), "/sys/devices/system/cpu/vulnerabilities/%s",
		         names[i]);
		if (read_fact(root, path, bytes, sizeof(bytes)))
			record_text(names[i], bytes);
	}
	record_object_close();
}

/* A fact of a block device's queue; of a partition, it is the whole device's. NULL if it has
 * none. */
static const char *queue_fact(const char *root, const char *device, const char *name, char *into,
                              size_t room)
{
	static const char *const places[] = { "queue", "../queue", NULL };
	char                     path[PATH_MAX];

	for (int i = 0; places[i]; i++) {
		snprintf(path, sizeof(path), "%s/%s/%s", device, places[i], name);
		if (read_fact(root, path, into, room))
			return into;
	}
	return NULL;
}

/* By its number, or where the file system has one of its own (btrfs), by the mount's source. */
static void facts_device(const char *root, const char *number, const char *source)
{
	static const char direct[] = "loop, direct I/O";
	static const char buffered[] = "loop, through the page cache";
	char              device[512], path[PATH_MAX], real[PATH_MAX], fact[FACT_ROOM];
	const char       *base = strrchr(source, '/'), *name = NULL, *value;

	if (!*number) { /* the mount is unknown, and so is what it is on */
		record_null("device");
		record_null("device_scheduler");
		record_null("device_write_cache");
		return;
	}
	snprintf(device, sizeof(device), "/sys/dev/block/%s", number);
	snprintf(path, sizeof(path), "%s%s", root, device);
	if (!realpath(path, real) && base && !strncmp(source, "/dev/", 5)) {
		snprintf(device, sizeof(device), "/sys/class/block/%s", base + 1);
		snprintf(path, sizeof(path), "%s%s", root, device);
	}
	if (realpath(path, real))
		name = strrchr(real, '/') + 1;
	/* Which of the loop devices it is differs from start to start. */
	if (name && !strncmp(name, "loop", 4)) {
		snprintf(path, sizeof(path), "%s/loop/dio", device);
		value = read_fact(root, path, fact, sizeof(fact));
		name = value && *value == '1' ? direct : buffered;
	}
	record_text("device", name);
	value = name ? queue_fact(root, device, "scheduler", fact, sizeof(fact)) : NULL;
	record_text("device_scheduler", value ? chosen(fact) : NULL);
	record_text("device_write_cache",
	            name ? queue_fact(root, device, "write_cache", fact, sizeof(fact)) : NULL);
}

void facts_file_system(const char *directory, const char *root)
{
	char         where[PATH_MAX];
	struct mount mount;
	int          is_known;

	if (!realpath(directory, where))
		snprintf(where, sizeof(where), "%s", directory);
	is_known = !mount_of(where, root, &mount);
	record_text("directory", where);
	record_text("file_system", is_known ? mount.type : NULL);
	record_text("file_system_options", is_known ? mount.options : NULL);
	facts_device(root, mount.device, mount.source);
}

/* A size of /proc/meminfo, "NAME: NUMBER kB". */
static void fact_of_memory(const char *key, const char *root, const char *name)
{
	char     value[FACT_ROOM], *unit;
	uint64_t kb;

	if (line_value(root, "/proc/meminfo", name, value, sizeof(value)) &&
	    (unit = strstr(value, " kB")) && (*unit = 0, !parse_number(value, &kb)))
		record_number(key, kb * 1024);
	else
		record_null(key);
}

void facts_memory(const char *root)
{
	long page = sysconf(_SC_PAGESIZE);

	fact_of_memory("memory_bytes", root, "MemTotal");
	fact_of_memory("swap_bytes", root, "SwapTotal");
	if (page > 0)
		record_number("page_bytes", (uint64_t)page);
	else
		record_null("page_bytes");
	fact_chosen("huge_pages", root, "/sys/kernel/mm/transparent_hugepage/enabled");
	fact_from_file("huge_pages_reserved", root, "/proc/sys/vm/nr_hugepages");
}

/* What the kernel says of cpu0's caches for data, in bytes, by level; and of their lines. */
void facts_caches(const char *root)
{
	char     path[128], level[16], kind[32], size[32], key[32], line[32] = "";
	uint64_t bytes;

	record_object("caches");
	for (int i = 0; i < 10; i++) {
		static const char place[] = "/sys/devices/system/cpu/cpu0/cache/index";

		snprintf(path, sizeof(path), "%s%d/level", place, i);
		if (!read_fact(root, path, level, sizeof(level)))
			break;
		snprintf(path, sizeof(path), "%s%d/type", place, i);
		if (!read_fact(root, path, kind, sizeof(kind)) || !strcmp(kind, "Instruction"))
			continue;
		snprintf(path, sizeof(path), "%s%d/size", place, i);
		if (!read_fact(root, path, size, sizeof(size)) || *size < '0' || *size > '9')
			continue;
		bytes = strtoull(size, NULL, 10) << (strchr(size, 'K')   ? 10
		                                     : strchr(size, 'M') ? 20
		                                                         : 0);
		snprintf(key, sizeof(key), "L%s", level);
		record_number(key, bytes);
		snprintf(path, sizeof(path), "%s%d/coherency_line_size", place, i);
		read_fact(root, path, line, sizeof(line));
	}
	record_object_close();
	if (!parse_number(line, &bytes))
		record_number("cache_line_bytes", bytes);
	else
		record_null("cache_line_bytes");
}

void facts_clock_source(const char *root)
{
	fact_from_file("clock_source", root,
	               "/sys/devices/system/clocksource/clocksource0/current_clocksource");
}

void facts_kernel(const char *root)
{
	struct utsname name;
	int            named = uname(&name) >= 0;

	record_text("kernel", named ? name.sysname : NULL);
	record_text("kernel_release", named ? name.release : NULL);
	record_text("kernel_version", named ? name.version : NULL);
	record_text("architecture", named ? name.machine : NULL);
	record_text("host_name", named ? name.nodename : NULL);
	fact_from_file("kernel_command_line", root, "/proc/cmdline");
	fact_from_file("boot_id", root, "/proc/sys/kernel/random/boot_id");
}
