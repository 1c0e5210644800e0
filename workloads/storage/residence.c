/* residence.c -- see residence.h. */
#include "residence.h"

#ifdef __linux__
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "../api/handle.h"
#include "../api/mounts.h"
#include "../api/system.h"

enum { CACHESTAT = 451, WINDOW = 67108864, SECTOR = 512 };

/* linux/mman.h of 6.5 has these; older headers do not. */
struct cachestat_range {
	uint64_t offset, length;
};
struct cachestat_counts {
	uint64_t cached, dirty, in_writeback, evicted, recently_evicted;
};

static uint64_t resident_by_mincore(int file, uint64_t size)
{
	static unsigned char present[WINDOW / 4096];
	const size_t         page = page_bytes();
	uint64_t             found = 0;

	for (uint64_t at = 0; at < size; at += WINDOW) {
		size_t bytes = size - at < WINDOW ? (size_t)(size - at) : WINDOW;
		void  *start = mmap(NULL, bytes, PROT_READ, MAP_SHARED, file, (off_t)at);
		int    is_told;

		if (start == MAP_FAILED)
			return UINT64_MAX;
		is_told = !mincore(start, bytes, present);
		munmap(start, bytes);
		if (!is_told)
			return UINT64_MAX;
		for (size_t i = 0; i < (bytes + page - 1) / page; i++)
			found += (present[i] & 1) * page;
	}
	return found < size ? found : size;
}

/* gVisor says of every page that it is there: also of one that was never read or written. */
static int mincore_lies(void)
{
	static int   lies = -1;
	const char  *name = "nothing";
	const size_t page = page_bytes();
	int          file;

	if (lies >= 0)
		return lies;
	file = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	lies = file < 0 || ftruncate(file, (off_t)page) || resident_by_mincore(file, page) != 0;
	if (file >= 0) {
		close(file);
		unlink(name);
	}
	return lies;
}

uint64_t residence_bytes(int file, uint64_t size)
{
	struct cachestat_range  whole = { .length = size };
	struct cachestat_counts counts = { 0 };
	uint64_t                bytes;

	if (!syscall(CACHESTAT, file, &whole, &counts, 0))
		bytes = counts.cached * page_bytes();
	else
		bytes = mincore_lies() ? UINT64_MAX : resident_by_mincore(file, size);
	return bytes == UINT64_MAX || bytes < size ? bytes : size;
}

/* ---- The device ---- */

static int read_counts(dev_t number, struct device *counted)
{
	char     path[64];
	uint64_t sectors_read, sectors_written;
	FILE    *file;
	int      found;

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/stat", major(number), minor(number));
	file = fopen(path, "r");
	if (!file)
		return -1;
	found = fscanf(file, "%*u %*u %" SCNu64 " %*u %*u %*u %" SCNu64, &sectors_read,
	               &sectors_written);
	fclose(file);
	*counted = (struct device){ sectors_read * SECTOR, sectors_written * SECTOR };
	return found == 2 ? 0 : -1;
}

int device_counted(struct device *counted)
{
	static dev_t number;
	char         directory[PATH_MAX];
	struct mount mount;
	struct stat  about;

	if (number)
		return read_counts(number, counted);
	if (stat(".", &about))
		return -1;
	if (!read_counts(about.st_dev, counted))
		number = about.st_dev;
	else if (getcwd(directory, sizeof(directory)) && !mount_of(directory, "", &mount) &&
	         !stat(mount.source, &about) && S_ISBLK(about.st_mode)) /* btrfs */
		number = about.st_rdev;
	return number ? read_counts(number, counted) : -1;
}

uint64_t process_read_bytes(void)
{
	char     line[128];
	uint64_t bytes = UINT64_MAX;
	FILE    *file = fopen("/proc/self/io", "r");

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "read_bytes: %" SCNu64, &bytes) == 1)
			break;
	if (file)
		fclose(file);
	return bytes;
}
#endif
