/* process.c -- the part of parts.c that wants the monitor's headers: what /proc says of a
 * process. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "procfs.h"

void read_process(int directory);

void read_process(int directory)
{
	char                 program[16];
	struct procfs_status status = { 0 };
	struct procfs_stat   stat;
	uint64_t             figure[FIGURES] = { 0 };

	if (!procfs_program(directory, program) && !memchr(program, 0, sizeof(program)))
		abort();
	procfs_status(directory, &status, figure);
	procfs_stat(directory, &stat, figure);
	procfs_schedstat(directory, figure);
	procfs_io(directory, figure);
}
