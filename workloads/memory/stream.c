/* stream -- four loops over arrays of doubles, as the compiler translates them.
 *
 * Measures     the bandwidth of c = a (copy), b = 3 c (scale), c = a + b (add) and a = b + 3 c
 *              (triad), plain loops in C, each over whole arrays. The size is the size of one of
 *              the three arrays.
 * Leaves out   the best that the processor can do (memory_read, memory_write, memory_copy).
 * Beware       bytes count as in STREAM: those read and those written, two arrays per pass for copy
 *              and scale, three for add and triad. Lines that are read only because they are
 *              written do not count. It measures the compiler as well as the memory: whether it
 *              uses vectors (often not, with this program's flags) and whether it replaces copy by
 *              a call of memcpy. Each value is exact: before a batch, three places of the array
 *              that it writes are spoilt, and they are checked afterwards.
 * After        STREAM (McCalpin, 1995), and stream of lmbench.
 */
#include "doubles.h"

static struct {
	struct area a, b, c;
} s;

static void scale_pass(double *restrict to, const double *restrict from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = SCALAR * from[i];
}

static void add_pass(double *restrict to, const double *restrict x, const double *restrict y,
                     size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = x[i] + y[i];
}

static void triad_pass(double *restrict to, const double *restrict x, const double *restrict y,
                       size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = x[i] + SCALAR * y[i];
}

static int arrange(void)
{
	int outcome;

	if ((outcome = area_map(&s.a, size)) || (outcome = area_map(&s.b, size)) ||
	    (outcome = area_map(&s.c, size)))
		return outcome;
	for (size_t i = 0; i < doubles_count(&s.a); i++) {
		doubles(&s.a)[i] = (double)(i % 7 + 1);
		doubles(&s.b)[i] = (double)(i % 5 + 1);
		doubles(&s.c)[i] = (double)(i % 3 + 1);
	}
	return 0;
}

static int copy(uint64_t operations)
{
	double *a = doubles(&s.a), *c = doubles(&s.c);

	bytes = 2 * size;
	spoil(&s.c);
	while (operations--) {
		copy_pass(c, a, doubles_count(&s.a));
		keep(c);
	}
	for (int i = 0; i < CELLS_JUDGED; i++)
		if (c[places[i]] != a[places[i]])
			return wrong("copy", places[i]);
	return 0;
}

static int scale(uint64_t operations)
{
	double *b = doubles(&s.b), *c = doubles(&s.c);

	bytes = 2 * size;
	spoil(&s.b);
	while (operations--) {
		scale_pass(b, c, doubles_count(&s.a));
		keep(b);
	}
	for (int i = 0; i < CELLS_JUDGED; i++)
		if (b[places[i]] != SCALAR * c[places[i]])
			return wrong("scale", places[i]);
	return 0;
}

static int add(uint64_t operations)
{
	double *a = doubles(&s.a), *b = doubles(&s.b), *c = doubles(&s.c);

	bytes = 3 * size;
	spoil(&s.c);
	while (operations--) {
		add_pass(c, a, b, doubles_count(&s.a));
		keep(c);
	}
	for (int i = 0; i < CELLS_JUDGED; i++)
		if (c[places[i]] != a[places[i]] + b[places[i]])
			return wrong("add", places[i]);
	return 0;
}

static int triad(uint64_t operations)
{
	double *a = doubles(&s.a), *b = doubles(&s.b), *c = doubles(&s.c);

	bytes = 3 * size;
	spoil(&s.a);
	while (operations--) {
		triad_pass(a, b, c, doubles_count(&s.a));
		keep(a);
	}
	for (int i = 0; i < CELLS_JUDGED; i++)
		if (a[places[i]] != b[places[i]] + SCALAR * c[places[i]])
			return wrong("triad", places[i]);
	return 0;
}

static void teardown(void)
{
	area_unmap(&s.a);
	area_unmap(&s.b);
	area_unmap(&s.c);
}

static const struct phase phases[] = {
	{ .metric = "copy", .run = copy },
	{ .metric = "scale", .run = scale },
	{ .metric = "add", .run = add },
	{ .metric = "triad", .run = triad },
	{ 0 },
};

static struct sweep sweep = AREA_SWEEP(&size, 3, arrange);

const struct workload workload_stream = {
	.name = "stream",
	.group = "memory",
	.summary = "copy, scale, add and triad over arrays of doubles, in plain C",
	.operation = "pass",
	.phases = phases,
	.teardown = teardown,
	.sweep = &sweep,
	.bytes = &bytes,
	.instructions = 5,
};
