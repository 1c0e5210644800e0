/* parallel_sort -- sort numbers by several processes that are connected by pipes.
 *
 * Measures     one sort of `elements` 32-bit numbers: sending each process its part through a pipe,
 *              sorting the parts (heapsort, the same code everywhere) at the same time, sending
 *              them back, and merging them here.
 * Leaves out   starting the processes, which wait for the next sort (in setup).
 * Beware       sending and merging are not shared, and grow with the number of numbers and not with
 *              that of processes: so the gain stays below the number of processors. With
 *              processes=1 another process does all the sorting, and this one sends and waits; the
 *              gain of n processes is that time over theirs. The result must ascend, and have the
 *              same sum and exclusive or as what was sent.
 * After        what Silva's PEGASUS paper asks for: "a few parallel algorithms, by distinct
 *              processes that communicate" by fork and pipes.
 */
#include <stdlib.h>
#include <string.h>

#include "../cpu/heapsort.h"
#include "crew.h"

enum { ELEMENTS_MOST = 1 << 24 };

static uint64_t elements = 65536;
static int32_t *unsorted, *parts, *sorted;

static size_t count_of(uint64_t number)
{
	return crew_first(number + 1, elements) - crew_first(number, elements);
}

static void serve(void)
{
	size_t count = count_of((uint64_t)crew.number), bytes = count * sizeof(*parts);

	while (!read_whole(crew.mine[0], parts, bytes)) {
		heapsort_integers(parts, count);
		if (write_whole(crew.mine[1], parts, bytes))
			return;
	}
}

static int setup(void)
{
	uint32_t state = 2463534242u;
	size_t   bytes = elements * sizeof(*parts);

	if (processes > elements)
		return fail_check("there are fewer elements than processes");
	if ((2 + processes) * bytes > memory_allowed())
		return unsupported("arrays of %zu bytes are more than a trial may take", bytes);
	unsorted = malloc(bytes);
	parts = malloc(bytes);
	sorted = malloc(bytes);
	if (!unsorted || !parts || !sorted)
		return fail("malloc");
	for (size_t i = 0; i < elements; i++)
		unsorted[i] = (int32_t)next_number(&state);
	memset(parts, 1, bytes);
	memset(sorted, 1, bytes);
	return crew_start();
}

/* Takes the smallest of the parts' first numbers, again and again. */
static void merge(void)
{
	size_t at[CREW_MOST], end[CREW_MOST];

	for (uint64_t i = 0; i < processes; i++) {
		at[i] = crew_first(i, elements);
		end[i] = crew_first(i + 1, elements);
	}
	for (size_t i = 0; i < elements; i++) {
		uint64_t least = processes;

		for (uint64_t part = 0; part < processes; part++)
			if (at[part] < end[part] &&
			    (least == processes || parts[at[part]] < parts[at[least]]))
				least = part;
		sorted[i] = parts[at[least]++];
	}
}

static int check(void)
{
	uint32_t sums[2] = { 0 }, exclusive[2] = { 0 };

	for (size_t i = 0; i < elements; i++) {
		sums[0] += (uint32_t)unsorted[i];
		sums[1] += (uint32_t)sorted[i];
		exclusive[0] ^= (uint32_t)unsorted[i];
		exclusive[1] ^= (uint32_t)sorted[i];
		if (i && sorted[i - 1] > sorted[i])
			return fail_check("number %zu is less than the one before", i);
	}
	return sums[0] == sums[1] && exclusive[0] == exclusive[1]
	               ? 0
	               : fail_check("the sorted numbers are others");
}

/* Entered once an operation: a test counts that. */
APART int parallel_sort(void);
APART int parallel_sort(void)
{
	int outcome = 0;

	for (uint64_t i = 0; i < processes && !outcome; i++)
		outcome = crew_tell(i, unsorted + crew_first(i, elements),
		                    count_of(i) * sizeof(*unsorted));
	for (uint64_t i = 0; i < processes && !outcome; i++)
		outcome = crew_hear(i, parts + crew_first(i, elements),
		                    count_of(i) * sizeof(*parts));
	if (!outcome)
		merge();
	return outcome;
}

static int run(uint64_t operations)
{
	int outcome = 0;

	while (operations-- && !outcome)
		outcome = parallel_sort();
	return outcome ? outcome : check();
}

static void teardown(void)
{
	crew_end();
	free(unsorted);
	free(parts);
	free(sorted);
}

static const struct parameter parameters[] = {
	CREW_PARAMETERS,
	NUMBER("elements", "numbers that are sorted", &elements, 1, ELEMENTS_MOST),
	{ 0 },
};

const struct workload workload_parallel_sort = {
	.name = "parallel_sort",
	.group = "process",
	.summary = "numbers sorted by several processes that are connected by pipes",
	.operation = "sort",
	.setup = setup,
	.run = run,
	.teardown = teardown,
	.parameters = parameters,
	.counted = (void (*)(void))parallel_sort,
};
