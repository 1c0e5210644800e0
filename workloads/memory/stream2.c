/* stream2 -- four more loops over arrays of doubles, as the compiler translates them.
 *
 * Measures     the bandwidth of a = x (fill), a = b (copy), a = a + 3 b (daxpy) and of the sum of
 *              b, plain loops in C, each over whole arrays. The size is the size of one of the two
 *              arrays.
 * Leaves out   the best that the processor can do (memory_read, memory_write, memory_copy).
 * Beware       bytes count as in STREAM: those read and those written, one array per pass for fill
 *              and sum, two for copy, three for daxpy. It measures the compiler as well as the
 *              memory. A sum of doubles must be computed in order, so each element takes the
 *              latency of an addition, unless the compiler is told otherwise; copy may become a
 *              call of memcpy. Each value is exact and checked: the sum after each pass, and three
 *              places after each batch of the other loops. The sum is of b, where STREAM2 has a,
 *              because b stays known.
 * After        STREAM2 (McCalpin), and stream -v 2 of lmbench.
 */
#include "doubles.h"

static struct {
	struct area a, b;
	double      sum; /* of b */
} s;

static void fill_pass(double *to, double value, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = value;
}

static void daxpy_pass(double *restrict to, const double *restrict from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] += SCALAR * from[i];
}

static double sum_pass(const double *from, size_t n)
{
	double sum = 0.0;

	for (size_t i = 0; i < n; i++)
		sum += from[i];
	return sum;
}

static int arrange(void)
{
	int outcome;

	if ((outcome = area_map(&s.a, size)) || (outcome = area_map(&s.b, size)))
		return outcome;
	s.sum = 0.0;
	for (size_t i = 0; i < doubles_count(&s.a); i++) {
		doubles(&s.a)[i] = (double)(i % 7 + 1);
		doubles(&s.b)[i] = (double)(i % 5 + 1);
		s.sum += (double)(i % 5 + 1);
	}
	return 0;
}

static int fill(uint64_t operations)
{
	double *a = doubles(&s.a), value = number_draw();

	bytes = size;
	draw(&s.a);
	while (operations--) {
		fill_pass(a, value, doubles_count(&s.a));
		keep(a);
	}
	for (int i = 0; i < CELLS_JUDGED; i++)
		if (a[places[i]] != value)
			return wrong("fill", places[i]);
	return 0;
}

static int copy(uint64_t operations)
{
	double *a = doubles(&s.a), *b = doubles(&s.b);

	bytes = 2 * size;
	spoil(&s.a);
	while (operations--) {
		copy_pass(a, b, doubles_count(&s.a));
		keep(a);
	}
	for (int i = 0; i < CELLS_JUDGED; i++)
		if (a[places[i]] != b[places[i]])
			return wrong("copy", places[i]);
	return 0;
}

static int daxpy(uint64_t operations)
{
	double *a = doubles(&s.a), *b = doubles(&s.b), before[CELLS_JUDGED];
	double  passes = (double)operations;

	bytes = 3 * size;
	draw(&s.a);
	for (int i = 0; i < CELLS_JUDGED; i++)
		before[i] = a[places[i]];
	while (operations--) {
		daxpy_pass(a, b, doubles_count(&s.a));
		keep(a);
	}
	for (int i = 0; i < CELLS_JUDGED; i++)
		if (a[places[i]] != before[i] + passes * SCALAR * b[places[i]])
			return wrong("daxpy", places[i]);
	return 0;
}

static int sum(uint64_t operations)
{
	double *b = doubles(&s.b);

	bytes = size;
	while (operations--) {
		if (sum_pass(b, doubles_count(&s.a)) != s.sum)
			return fail_check("the sum of a pass is wrong");
		keep(b);
	}
	return 0;
}

static void teardown(void)
{
	area_unmap(&s.a);
	area_unmap(&s.b);
}

static const struct phase phases[] = {
	{ .metric = "fill", .run = fill },
	{ .metric = "copy", .run = copy },
	{ .metric = "daxpy", .run = daxpy },
	{ .metric = "sum", .run = sum },
	{ 0 },
};

static struct sweep sweep = AREA_SWEEP(&size, 2, arrange);

const struct workload workload_stream2 = {
	.name = "stream2",
	.group = "memory",
	.summary = "fill, copy, daxpy and sum over arrays of doubles, in plain C",
	.operation = "pass",
	.phases = phases,
	.teardown = teardown,
	.sweep = &sweep,
	.bytes = &bytes,
	.instructions = 5,
};
