/* residence.h -- how much of a file this system keeps in memory; and of which device a directory
 * is. Linux only. */
#ifndef STEELYARD_STORAGE_RESIDENCE_H
#define STEELYARD_STORAGE_RESIDENCE_H

#include <stdint.h>

/* The bytes of the file's first `size` that are in memory: by cachestat(2), else by mincore(2)
 * where that tells the truth. UINT64_MAX: this system does not say. */
uint64_t residence_bytes(int file, uint64_t size);

/* What a block device has done since it came up, for all processes. */
struct device {
	uint64_t read_bytes, written_bytes;
};

/* Of the device that holds the working directory. Returns 0, or -1 where there is none, or none
 * that is known. */
int device_counted(struct device *counted);

/* What this process has had read from devices, in bytes. UINT64_MAX: not known. */
uint64_t process_read_bytes(void);

#endif
