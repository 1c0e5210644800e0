/* unmap_file -- remove a mapping of a file from memory, and nothing else.
 *
 * Measures     munmap of a file's mapping: forgetting it, and, with touch=1, removing its pages
 *              from the page table and from the TLB. Under Wine, UnmapViewOfFile.
 * Leaves out   mmap and the page faults: the mappings of a batch are made, and their pages read,
 *              untimed, before it (map_file). The disk.
 * Beware       with touch=0 no page is in the page table and there is nothing to remove, whatever
 *              the size. The mappings are removed in the opposite order of their making. A system
 *              may postpone some of it. With touch=1 every page must have shown its own number.
 * After        the list of lmbench's tests in Korunić's comparison: calls of munmap in a second.
 */
#include "mappings.h"

static uint64_t touch = 1;

static int before(uint64_t operations)
{
	int outcome = mappings_fit(operations);

	if (!outcome)
		outcome = map_all(operations);
	for (uint64_t i = 0; touch && i < operations && !outcome; i++)
		outcome = read_pages(s.areas[i]);
	return outcome;
}

static int run(uint64_t operations)
{
	return s.mapped == operations ? unmap_all() : fail_check("the mappings are not there");
}

static const struct parameter parameters[] = {
	MAPPINGS_PARAMETERS,
	NUMBER("touch", "1: the first word of every page was read; 0: nothing was", &touch, 0, 1),
	{ 0 },
};

static const struct call calls[] = { { "munmap", 1 }, { 0 } };

const struct workload workload_unmap_file = {
	.name = "unmap_file",
	.group = "syscall",
	.summary = "a mapping of a file removed from memory",
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
