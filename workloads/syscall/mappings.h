/* mappings.h -- what map_file and unmap_file share: a file, and as many mappings of it as a batch
 * has operations. One of the two calls is timed, and the other one happens before the batch.
 */
#ifndef STEELYARD_MAPPINGS_H
#define STEELYARD_MAPPINGS_H

#include "mapped_file.h"

enum { MAPPINGS_MOST = 32768 }; /* Linux lets a process have 65530 */

static uint64_t mappings = 1024;

static struct {
	void   **areas;
	uint64_t mapped; /* areas 0..mapped-1 are */
} s;

static int setup(void)
{
	s.areas = calloc(MAPPINGS_MOST, sizeof(*s.areas));
	return s.areas ? file_make() : fail("calloc");
}

static inline int mappings_fit(uint64_t operations)
{
	return operations <= MAPPINGS_MOST
	               ? 0
	               : fail_check("a batch of %llu mappings is more than %d",
	                            (unsigned long long)operations, MAPPINGS_MOST);
}

INLINED int map_all(uint64_t operations)
{
	for (; s.mapped < operations; s.mapped++) {
		s.areas[s.mapped] = handle_map(file.handle, (size_t)size);
		if (!s.areas[s.mapped])
			return fail("mapping the file");
	}
	return 0;
}

INLINED int unmap_all(void)
{
	while (s.mapped)
		if (handle_unmap(s.areas[--s.mapped], (size_t)size))
			return fail("unmapping the file");
	return 0;
}

static void teardown(void)
{
	if (s.areas)
		unmap_all();
	free(s.areas);
	file_remove();
}

#define MAPPINGS_PARAMETERS                                                                       \
	SIZE_PARAMETER, NUMBER("mappings", "of a batch, all of them there at once", &mappings, 1, \
	                       MAPPINGS_MOST)

#endif
