/* mounts.h -- the file system that a directory is on. Linux only. */
#ifndef STEELYARD_MOUNTS_H
#define STEELYARD_MOUNTS_H

struct mount {
	char type[64], options[512];
	char device[32]; /* as 8:1; of a file system with numbers of its own (btrfs), no device's */
	char source[256];
};

/* Of the longest mount that holds the directory, a full name; of equals, the last. `root` is where
 * /proc is looked for: "" for this system. Returns 0, or -1 with nothing in *found. */
int mount_of(const char *directory, const char *root, struct mount *found);

/* Brings what was changed on its file system to the device. Returns 0, or -1 with errno. */
int sync_file_system(const char *directory);

#endif
