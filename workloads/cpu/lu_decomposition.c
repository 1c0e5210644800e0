/* lu_decomposition -- solve 101 linear equations by Crout's decomposition with partial pivoting.
 *
 * Measures     multiplications and subtractions in double precision, 338350 of each for the
 *              factors. Each element is one long inner product of a row, whose elements are
 *              adjacent, and a column, whose elements are 808 bytes apart. An operation copies the
 *              matrix (80 KiB), finds its factors, and solves for one right side.
 * Leaves out   memory beyond the second-level cache, and the kernel.
 * Beware       within a product each subtraction waits for the one before, because a compiler may
 *              not change the order of a sum. Unlike in `linpack`, nothing is done two at a time;
 *              how many products a processor overlaps decides. With -ffast-math it would be another
 *              workload. If the machine has a fused multiply-add (not in baseline x86-64), a
 *              compiler may use it; the checks allow for its rounding. Copying and checking are
 *              about 4 % of the time: the residual of every equation is computed from the original
 *              matrix, and every unknown is compared with the known one. The ancestor's kernel
 *              computes the products column by column and does not time copy and checks; but for
 *              these it is as fast: this has 0.96 [0.94, 1.00] of its speed (bench/beside.py, 32
 *              rounds, gcc 12, the same flags). Six rounds before had given 1.29 [0.98, 1.69].
 * After        the LU decomposition test of BYTEmark 2 (BYTE, 1995), known as NBench, in its size
 *              and method (Crout, 1941); the equations are different ones.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "../api/workload.h"

enum { SIZE = 101, ELEMENTS = 1000, SOLUTIONS = 100 };

static struct {
	_Alignas(64) double matrix[SIZE][SIZE];
	_Alignas(64) double factors[SIZE][SIZE]; /* the lower one with its diagonal */
	double right[SIZE], known[SIZE], solution[SIZE];
	int    pivot[SIZE]; /* with which row each was exchanged */
} s;

/* Whole numbers, a matrix from -1000 to 999 and a solution from 1 to 100, so that the right side is
 * exact. */
static int setup(void)
{
	uint32_t state = 2463534242u;

	for (int i = 0; i < SIZE; i++)
		s.known[i] = 1 + (int)(next_number(&state) % SOLUTIONS);
	for (int row = 0; row < SIZE; row++) {
		s.right[row] = 0;
		for (int column = 0; column < SIZE; column++) {
			s.matrix[row][column] = (int)(next_number(&state) % (2 * ELEMENTS)) -
			                        ELEMENTS;
			s.right[row] += s.matrix[row][column] * s.known[column];
		}
	}
	return 0;
}

/* Takes from an element the inner product of its row's and its column's first `terms`. */
static double less_product(int row, double element, const double *column, int terms)
{
	for (int i = 0; i < terms; i++)
		element -= s.factors[row][i] * column[i * SIZE];
	return element;
}

/* Finishes a column of the lower factor and returns the row of its largest element. */
static int finish_column(int step)
{
	double largest = -1.0;
	int    row_of_largest = step;

	for (int row = step; row < SIZE; row++) {
		double *element = &s.factors[row][step];

		*element = less_product(row, *element, &s.factors[0][step], step);
		if (fabs(*element) > largest) {
			largest = fabs(*element);
			row_of_largest = row;
		}
	}
	return row_of_largest;
}

static void finish_row(int step)
{
	for (int column = step + 1; column < SIZE; column++) {
		double *element = &s.factors[step][column];

		*element = less_product(step, *element, &s.factors[0][column], step) /
		           s.factors[step][step];
	}
}

static void exchange_rows(int one, int other)
{
	for (int column = 0; column < SIZE; column++) {
		double held = s.factors[one][column];

		s.factors[one][column] = s.factors[other][column];
		s.factors[other][column] = held;
	}
}

/* A matrix without inverse gives infinities and no numbers, which the residual's check refuses. */
static void decompose(void)
{
	for (int step = 0; step < SIZE; step++) {
		s.pivot[step] = finish_column(step);
		if (s.pivot[step] != step)
			exchange_rows(s.pivot[step], step);
		finish_row(step);
	}
}

static void substitute(void)
{
	for (int i = 0; i < SIZE; i++) {
		double held = s.solution[s.pivot[i]];

		s.solution[s.pivot[i]] = s.solution[i];
		for (int k = 0; k < i; k++)
			held -= s.factors[i][k] * s.solution[k];
		s.solution[i] = held / s.factors[i][i];
	}
	for (int i = SIZE - 1; i >= 0; i--)
		for (int k = i + 1; k < SIZE; k++)
			s.solution[i] -= s.factors[i][k] * s.solution[k];
}

__attribute__((noinline)) void lu_decomposition_solve(void);
__attribute__((noinline)) void lu_decomposition_solve(void)
{
	memcpy(s.factors, s.matrix, sizeof(s.factors));
	memcpy(s.solution, s.right, sizeof(s.solution));
	decompose();
	substitute();
}

/* The residual in units of rounding, as LINPACK has it: order times largest element times largest
 * unknown times DBL_EPSILON. Below 10 is right; the comparisons refuse what is no number. */
static int check(void)
{
	const double unit = (double)SIZE * ELEMENTS * SOLUTIONS * DBL_EPSILON;

	for (int row = 0; row < SIZE; row++) {
		double left = s.right[row];

		for (int column = 0; column < SIZE; column++)
			left -= s.matrix[row][column] * s.solution[column];
		if (!(fabs(left) < 10.0 * unit))
			return fail_check("equation %d has the residual %g", row, left);
		if (!(fabs(s.solution[row] - s.known[row]) < 1e-6))
			return fail_check("unknown %d is %.15g, not %g", row, s.solution[row],
			                  s.known[row]);
	}
	return 0;
}

static int run(uint64_t operations)
{
	int outcome = 0;

	while (operations-- && !outcome) {
		lu_decomposition_solve();
		outcome = check();
	}
	return outcome;
}

const struct workload workload_lu_decomposition = {
	.name = "lu_decomposition",
	.group = "cpu",
	.summary = "101 linear equations solved by Crout's decomposition",
	.operation = "system of equations",
	.setup = setup,
	.run = run,
	.counted = lu_decomposition_solve,
	.instructions = 500000,
};
