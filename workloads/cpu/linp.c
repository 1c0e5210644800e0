/* linp.c -- see linp.h. Freestanding: no library, no static data and, so that the bytes need no
 * constants beside them, no floating-point number that was not made from a whole one.
 *
 * After the LINPACK benchmark (Dongarra, Bunch, Moler and Stewart, 1979) of order 100, and after
 * the way by which J. E. A. Gonçalves took the operating system's compilers out of a comparison
 * (dissertation, IME-USP, 2001, section 5.2): the same bytes called from a program for each system.
 */
#include "linp.h"

enum {
	ORDER = 100,
	LEADING = 201
}; /* columns lie 201 elements apart, as in the classical program */

/* A number that the compiler cannot know, so that it converts and does not keep a constant in
 * memory. */
INLINED double number(int whole)
{
	__asm__("" : "+r"(whole));
	return (double)whole;
}

INLINED double magnitude(double x)
{
	return x < number(0) ? number(0) - x : x;
}

INLINED void daxpy(int n, double factor, const double *restrict x, double *restrict y)
{
	for (int i = 0; i < n; i++)
		y[i] += factor * x[i];
}

INLINED int idamax(int n, const double *x)
{
	int found = 0;

	for (int i = 1; i < n; i++)
		if (magnitude(x[i]) > magnitude(x[found]))
			found = i;
	return found;
}

INLINED double exchange(double *column, int row, int pivot)
{
	double held = column[pivot];

	column[pivot] = column[row];
	column[row] = held;
	return held;
}

/* Fills the columns; returns the largest magnitude. `right` gets the sums of the rows, so that
 * every unknown is 1. */
INLINED double matgen(double *a, double *right)
{
	double largest = number(0), half = number(32768), quarter = number(16384);
	int    state = 1325;

	for (int i = 0; i < ORDER; i++)
		right[i] = number(0);
	for (int j = 0; j < ORDER; j++)
		for (int i = 0; i < ORDER; i++) {
			double element;

			state = 3125 * state % 65536;
			element = ((double)state - half) / quarter;
			a[j * LEADING + i] = element;
			right[i] += element;
			if (magnitude(element) > largest)
				largest = magnitude(element);
		}
	return largest;
}

/* Leaves the upper factor and the negative multipliers of the lower one. Returns how many pivots
 * are 0. */
INLINED int dgefa(double *a, int pivots[ORDER])
{
	int zeros = 0;

	for (int k = 0; k < ORDER; k++) {
		double *column = a + k * LEADING, factor;
		int     below = ORDER - k - 1;

		pivots[k] = k + idamax(below + 1, column + k);
		if (column[pivots[k]] == number(0)) {
			zeros++;
			continue;
		}
		factor = (number(0) - number(1)) / exchange(column, k, pivots[k]);
		for (int i = k + 1; i < ORDER; i++)
			column[i] *= factor;
		for (int j = k + 1; j < ORDER; j++) {
			double *other = a + j * LEADING;

			daxpy(below, exchange(other, k, pivots[k]), column + k + 1, other + k + 1);
		}
	}
	return zeros;
}

/* Turns the right side into the solution. */
INLINED void dgesl(const double *a, const int pivots[ORDER], double *right)
{
	for (int k = 0; k < ORDER; k++)
		daxpy(ORDER - k - 1, exchange(right, k, pivots[k]), a + k * LEADING + k + 1,
		      right + k + 1);
	for (int k = ORDER; k-- > 0;) {
		right[k] /= a[k * LEADING + k];
		daxpy(k, number(0) - right[k], a + k * LEADING, right);
	}
}

/* The distance from 1 to the next number, by halving: what DBL_EPSILON is. */
INLINED double rounding(void)
{
	double step = number(1);

	for (int i = 0; i < 52; i++)
		step /= number(2);
	return step;
}

double LINP_CONVENTION linp(void)
{
	double a[ORDER * LEADING], right[ORDER], solution[ORDER], largest, unknown, residual;
	int    pivots[ORDER];

	matgen(a, solution);
	if (dgefa(a, pivots))
		return number(0) - number(1);
	dgesl(a, pivots, solution);

	largest = matgen(a, right);
	for (int j = 0; j < ORDER; j++)
		daxpy(ORDER, number(0) - solution[j], a + j * LEADING, right);
	unknown = residual = number(0);
	for (int i = 0; i < ORDER; i++) {
		residual = magnitude(right[i]) > residual ? magnitude(right[i]) : residual;
		unknown = magnitude(solution[i]) > unknown ? magnitude(solution[i]) : unknown;
	}
	return residual / (number(ORDER) * largest * unknown * rounding());
}
