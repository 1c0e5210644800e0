/* linpack -- factor and solve a dense linear system of order 100, as LINPACK's benchmark does.
 *
 * Measures     multiplications and additions in double precision, 686667 of them by the benchmark's
 *              own count, 2/3 n^3 + 2 n^2 with n = 100, nearly all in DAXPY: a multiple of one
 *              column is added to another. An operation copies the stored matrix and right side,
 *              factors (DGEFA: Gaussian elimination with partial pivoting, by columns) and solves
 *              (DGESL).
 * Leaves out   making the matrix, memory beyond the second-level cache, and the kernel.
 * Beware       compilers differ: some add two elements by one instruction at -O2 and some do not,
 *              so compare systems with one and the same program. Where the machine has a fused
 *              multiply-add (not in baseline x86-64), a compiler may use it; the check allows for
 *              its rounding. Copying the matrix (the classical benchmark makes it anew, untimed)
 *              and computing the residual of every solution are 2 to 4 % of the time. The columns
 *              lie 201 elements apart, as in the classical benchmark's first runs.
 * After        the LINPACK benchmark (Dongarra, Bunch, Moler and Stewart, 1979) of order 100: its
 *              matrix, its right side (the sums of the rows, so that every unknown is 1), its
 *              measure of the residual.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "../workload.h"

enum { ORDER = 100, LEADING = 201 };

/* By columns, each `leading` elements after the one before. */
struct matrix {
	double *elements;
	size_t  order, leading;
};

static double *column_of(const struct matrix *a, size_t column)
{
	return a->elements + column * a->leading;
}

static void daxpy(size_t n, double factor, const double *restrict x, double *restrict y)
{
	if (factor == 0.0)
		return;
	for (size_t i = 0; i < n; i++)
		y[i] += factor * x[i];
}

static void dscal(size_t n, double factor, double *x)
{
	for (size_t i = 0; i < n; i++)
		x[i] *= factor;
}

/* The builtin is an instruction even where there is no C library. */
static size_t idamax(size_t n, const double *x)
{
	size_t found = 0;

	for (size_t i = 1; i < n; i++)
		if (__builtin_fabs(x[i]) > __builtin_fabs(x[found]))
			found = i;
	return found;
}

/* Moves the pivot of a column up to `row`, and returns it. */
static double bring_up(double *column, size_t row, const size_t pivots[])
{
	double held = column[pivots[row]];

	column[pivots[row]] = column[row];
	column[row] = held;
	return held;
}

/* Leaves the factors in `a`: the upper one, and the negative multipliers of the lower one. Returns
 * how many of the pivots are zero: unless none is, the system has no solution. Like dgesl it needs
 * neither the C library nor data of its own, and so can be compiled to stand alone. */
static size_t dgefa(const struct matrix *a, size_t pivots[])
{
	size_t zeros = 0;

	for (size_t k = 0; k < a->order; k++) {
		double *column = column_of(a, k);
		size_t  below = a->order - k - 1;

		pivots[k] = k + idamax(below + 1, column + k);
		if (column[pivots[k]] == 0.0) {
			zeros++;
			continue;
		}
		dscal(below, -1.0 / bring_up(column, k, pivots), column + k + 1);
		for (size_t j = k + 1; j < a->order; j++) {
			double *other = column_of(a, j);
			double  factor = bring_up(other, k, pivots);

			daxpy(below, factor, column + k + 1, other + k + 1);
		}
	}
	return zeros;
}

/* Turns the right side into the solution. */
static void dgesl(const struct matrix *a, const size_t pivots[], double *right)
{
	for (size_t k = 0; k < a->order; k++) {
		double factor = bring_up(right, k, pivots);

		daxpy(a->order - k - 1, factor, column_of(a, k) + k + 1, right + k + 1);
	}
	for (size_t k = a->order; k-- > 0;) {
		right[k] /= column_of(a, k)[k];
		daxpy(k, -right[k], column_of(a, k), right);
	}
}

static struct {
	_Alignas(64) double kept[ORDER * LEADING];
	_Alignas(64) double factors[ORDER * LEADING];
	double largest; /* of the elements' magnitudes */
	double right[ORDER], solution[ORDER];
	size_t pivots[ORDER], zeros;
} s;

static const struct matrix kept = { .elements = s.kept, .order = ORDER, .leading = LEADING };
static const struct matrix factors = { .elements = s.factors, .order = ORDER, .leading = LEADING };

static int setup(void)
{
	int state = 1325;

	memset(s.right, 0, sizeof(s.right));
	for (size_t j = 0; j < ORDER; j++)
		for (size_t i = 0; i < ORDER; i++) {
			double element;

			state = 3125 * state % 65536;
			element = (state - 32768.0) / 16384.0;
			column_of(&kept, j)[i] = element;
			s.right[i] += element;
			if (fabs(element) > s.largest)
				s.largest = fabs(element);
		}
	return 0;
}

__attribute__((noinline)) void linpack_solve(void);
__attribute__((noinline)) void linpack_solve(void)
{
	for (size_t j = 0; j < ORDER; j++)
		memcpy(column_of(&factors, j), column_of(&kept, j), ORDER * sizeof(double));
	memcpy(s.solution, s.right, sizeof(s.solution));
	s.zeros = dgefa(&factors, s.pivots);
	dgesl(&factors, s.pivots, s.solution);
}

/* The benchmark's measure: the residual over n times the largest element times the largest unknown
 * times DBL_EPSILON. The classical program prints 1.67 for this matrix; beyond 10 is wrong. */
static int check(void)
{
	double left[ORDER], residual = 0.0, largest = 0.0, measure;

	if (s.zeros)
		return fail_check("%zu pivots are zero", s.zeros);
	memcpy(left, s.right, sizeof(left));
	for (size_t j = 0; j < ORDER; j++)
		daxpy(ORDER, -s.solution[j], column_of(&kept, j), left);
	for (size_t i = 0; i < ORDER; i++) {
		residual = fabs(left[i]) > residual ? fabs(left[i]) : residual;
		largest = fabs(s.solution[i]) > largest ? fabs(s.solution[i]) : largest;
		if (!(fabs(s.solution[i] - 1.0) < 1e-9))
			return fail_check("unknown %zu is %.15g, not 1", i, s.solution[i]);
	}
	measure = residual / (ORDER * s.largest * largest * DBL_EPSILON);
	if (!(measure < 10.0))
		return fail_check("the residual is %g, in units of rounding %g", residual, measure);
	return 0;
}

static int run(uint64_t operations)
{
	int outcome = 0;

	while (operations-- && !outcome) {
		linpack_solve();
		outcome = check();
	}
	return outcome;
}

const struct workload workload_linpack = {
	.name         = "linpack",
	.group        = "cpu",
	.summary      = "a linear system of order 100 solved by 686667 floating-point operations",
	.operation    = "system of equations",
	.setup        = setup,
	.run          = run,
	.counted      = linpack_solve,
	.instructions = 100000,
};
