/* parallel_product -- multiply two matrices by several processes that are connected by pipes.
 *
 * Measures     one product of two matrices of `order` rows and columns: sending each process its
 *              rows of the first matrix and the whole second one through a pipe, multiplying at the
 *              same time, and sending the product's rows back.
 * Leaves out   starting the processes, which wait for the next product (in setup).
 * Beware       every process gets the whole second matrix, so what is sent grows with their number:
 *              the smaller the order, the more of the gain it takes. With processes=1 another
 *              process multiplies, and this one sends and waits; the gain of n processes is that
 *              time over theirs. The elements are small whole numbers, so each sum is exact, and
 *              the product of the result with a vector must be that of the two matrices one after
 *              the other.
 * After        what Silva's PEGASUS paper asks for: "a few parallel algorithms, by distinct
 *              processes that communicate" by fork and pipes.
 */
#include <stdlib.h>
#include <string.h>

#include "crew.h"

enum { ORDER_MOST = 2048 };

static uint64_t order = 96;
static double  *first, *second, *product; /* row by row */

static size_t elements_of(uint64_t number)
{
	return (crew_first(number + 1, order) - crew_first(number, order)) * order;
}

static void multiply(const double *rows, double *into, size_t count)
{
	for (size_t row = 0; row < count; row++) {
		double *sums = into + row * order;

		memset(sums, 0, order * sizeof(*sums));
		for (size_t i = 0; i < order; i++) {
			const double  factor = rows[row * order + i];
			const double *others = second + i * order;

			for (size_t column = 0; column < order; column++)
				sums[column] += factor * others[column];
		}
	}
}

static void serve(void)
{
	size_t elements = elements_of((uint64_t)crew.number), bytes = elements * sizeof(double);

	while (!read_whole(crew.mine[0], first, bytes) &&
	       !read_whole(crew.mine[0], second, order * order * sizeof(double))) {
		multiply(first, product, elements / order);
		if (write_whole(crew.mine[1], product, bytes))
			return;
	}
}

static int setup(void)
{
	uint32_t state = 2463534242u;
	size_t   count = order * order, bytes = count * sizeof(double);

	if (processes > order)
		return fail_check("there are fewer rows than processes");
	if (3 * (1 + processes) * bytes > memory_allowed())
		return unsupported("matrices of %zu bytes are more than a trial may take", bytes);
	first = malloc(bytes);
	second = malloc(bytes);
	product = malloc(bytes);
	if (!first || !second || !product)
		return fail("malloc");
	for (size_t i = 0; i < count; i++) {
		first[i] = next_number(&state) >> 24;
		second[i] = next_number(&state) >> 24;
		product[i] = 1;
	}
	return crew_start();
}

/* Compares the sum of each row with what the two matrices say of it. */
static int check(void)
{
	double *sums = malloc(order * sizeof(*sums)); /* of the second matrix' rows */
	int     outcome = sums ? 0 : fail("malloc");

	for (size_t row = 0; row < order && !outcome; row++) {
		sums[row] = 0;
		for (size_t i = 0; i < order; i++)
			sums[row] += second[row * order + i];
	}
	for (size_t row = 0; row < order && !outcome; row++) {
		double expected = 0, found = 0;

		for (size_t i = 0; i < order; i++) {
			expected += first[row * order + i] * sums[i];
			found += product[row * order + i];
		}
		if (expected < found || expected > found)
			outcome = fail_check("row %zu of the product adds up to %.0f, not %.0f",
			                     row, found, expected);
	}
	free(sums);
	return outcome;
}

/* Entered once an operation: a test counts that. */
APART int parallel_product(void);
APART int parallel_product(void)
{
	int outcome = 0;

	for (uint64_t i = 0; i < processes && !outcome; i++) {
		outcome = crew_tell(i, first + crew_first(i, order) * order,
		                    elements_of(i) * sizeof(double));
		if (!outcome)
			outcome = crew_tell(i, second, order * order * sizeof(double));
	}
	for (uint64_t i = 0; i < processes && !outcome; i++)
		outcome = crew_hear(i, product + crew_first(i, order) * order,
		                    elements_of(i) * sizeof(double));
	return outcome;
}

static int run(uint64_t operations)
{
	int outcome = 0;

	while (operations-- && !outcome)
		outcome = parallel_product();
	return outcome ? outcome : check();
}

static void teardown(void)
{
	crew_end();
	free(first);
	free(second);
	free(product);
}

static const struct parameter parameters[] = {
	CREW_PARAMETERS,
	NUMBER("order", "rows and columns of each matrix", &order, 1, ORDER_MOST),
	{ 0 },
};

const struct workload workload_parallel_product = {
	.name = "parallel_product",
	.group = "process",
	.summary = "two matrices multiplied by several processes that are connected by pipes",
	.operation = "product",
	.setup = setup,
	.run = run,
	.teardown = teardown,
	.parameters = parameters,
	.counted = (void (*)(void))parallel_product,
};
