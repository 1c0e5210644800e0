/* numeric_sort -- sort 8111 random 32-bit integers by heapsort.
 *
 * Measures     comparing and moving integers within an array, between places that are twice as far
 *              from its beginning at each step, and branches that cannot be predicted: one
 *              processor, its caches, and the compiler's loops.
 * Leaves out   the kernel, and memory beyond the second-level cache: the array is 32 KiB and the
 *              unsorted input another 32 KiB, unless `elements` changes it.
 * Beware       every operation sorts the same unsorted input again. Restoring it is part of the
 *              operation (less than half a percent), and so is checking the order, the sum and the
 *              exclusive-or of all elements (1 to 2 %). A compiler may vectorise these, but not the
 *              sort itself. A branch predictor may learn the input if `elements` is small, and
 *              twice the elements take more than twice the time (n log n). The compiler chooses
 *              whether the choice between two elements is a branch or a conditional move (gcc 12
 *              and clang 14 branch). At each step down the heap the ancestor exchanges two
 *              elements, where here the larger one moves into the hole, and its elements are
 *              `long`. Still a sort takes the same time: 1.00 [0.97, 1.02] of its kernel's speed
 *              (bench/beside.py, 32 rounds, gcc 12, the same flags).
 * After        the numeric sort of BYTEmark 2 (BYTE, 1995), known as NBench, in its size; heapsort
 *              as Williams and Floyd published it (1964).
 */
#include <stdlib.h>
#include <string.h>

#include "../api/system.h"
#include "../api/workload.h"
#include "heapsort.h"

enum { ELEMENTS_MOST = 1 << 24, PAGE = 4096 };

static uint64_t elements = 8111;

/* What sorting must not change. */
struct content {
	uint32_t sum, exclusive_or;
};

static struct {
	int32_t       *unsorted, *sorted;
	struct content content; /* of the unsorted */
} s;

static struct content content_of(const int32_t *array)
{
	struct content content = { 0, 0 };

	for (size_t i = 0; i < elements; i++) {
		content.sum += (uint32_t)array[i];
		content.exclusive_or ^= (uint32_t)array[i];
	}
	return content;
}

/* Both arrays begin on a page, so that they lie alike in the cache with every libc. */
static int setup(void)
{
	uint32_t state = 2463534242u;
	size_t   bytes = (elements * sizeof(int32_t) + PAGE - 1) / PAGE * PAGE;

	if (2 * bytes > memory_allowed())
		return unsupported("two arrays of %zu bytes are more than a trial may take", bytes);
	s.unsorted = aligned_take(PAGE, bytes);
	s.sorted = aligned_take(PAGE, bytes);
	if (!s.unsorted || !s.sorted)
		return fail("aligned_alloc");
	for (size_t i = 0; i < elements; i++)
		s.unsorted[i] = (int32_t)next_number(&state);
	s.content = content_of(s.unsorted);
	return 0;
}

static int check(void)
{
	struct content content = content_of(s.sorted);
	size_t         disorders = 0;

	for (size_t i = 1; i < elements; i++)
		disorders += s.sorted[i - 1] > s.sorted[i];
	if (disorders)
		return fail_check("%zu elements are less than the one before", disorders);
	if (content.sum != s.content.sum || content.exclusive_or != s.content.exclusive_or)
		return fail_check("the sorted elements are not those that were to be sorted");
	return 0;
}

__attribute__((noinline)) int numeric_sort_pass(void);
__attribute__((noinline)) int numeric_sort_pass(void)
{
	memcpy(s.sorted, s.unsorted, elements * sizeof(*s.sorted));
	heapsort_integers(s.sorted, elements);
	return check();
}

static int run(uint64_t operations)
{
	int outcome = 0;

	while (operations-- && !outcome)
		outcome = numeric_sort_pass();
	return outcome;
}

static void teardown(void)
{
	aligned_give(s.unsorted);
	aligned_give(s.sorted);
}

static const struct parameter parameters[] = {
	NUMBER("elements", "integers in the array", &elements, 2, ELEMENTS_MOST),
	{ 0 },
};

const struct workload workload_numeric_sort = {
	.name = "numeric_sort",
	.group = "cpu",
	.summary = "a heapsort of 8111 random 32-bit integers",
	.operation = "sort of the array",
	.setup = setup,
	.run = run,
	.teardown = teardown,
	.parameters = parameters,
	.regains_ns = 2250000,
	.counted = (void (*)(void))numeric_sort_pass,
	.instructions = 800000,
};
