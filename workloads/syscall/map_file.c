/* map_file -- map a file into memory, and nothing else.
 *
 * Measures     mmap of the file. Under Wine, CreateFileMapping, MapViewOfFile, and CloseHandle of
 *              the mapping (the view outlives it).
 * Leaves out   touching the pages (page_fault), and munmap: the mappings of a batch are removed,
 *              untimed, before the next one (unmap_file). The disk.
 * Beware       the system only records the mapping, so the size hardly matters unless the system
 *              fills the page table at once. All mappings of a batch exist at once, `mappings` of
 *              them, and finding room for one more takes longer than in map_unmap, where there is
 *              one.
 * After        each batch every page of the first and the last mapping must show its own number.
 *              After the list of lmbench's tests in Korunić's comparison: calls of mmap in a
 *              second.
 */
#include "mappings.h"

static int check_mappings(void)
{
	int outcome = s.mapped ? read_pages(s.areas[0]) : 0;

	return outcome || !s.mapped ? outcome : read_pages(s.areas[s.mapped - 1]);
}

static int before(uint64_t operations)
{
	int outcome = mappings_fit(operations);

	if (!outcome)
		outcome = check_mappings();
	return outcome ? outcome : unmap_all();
}

static int run(uint64_t operations)
{
	return map_all(operations);
}

static const struct parameter parameters[] = { MAPPINGS_PARAMETERS, { 0 } };

static const struct call calls[] = { { "mmap", 1 }, { 0 } };

const struct workload workload_map_file = {
	.name = "map_file",
	.group = "syscall",
	.summary = "a file mapped into memory, and not touched",
	.operation = "mapping",
	.setup = setup,
	.before = before,
	.run = run,
	.teardown = teardown,
	.parameters = parameters,
	.performances = 20,
	.pass = &mappings,
	.calls = calls,
};
