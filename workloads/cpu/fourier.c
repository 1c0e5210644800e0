/* fourier -- the Fourier coefficients of (x + 1)^x on the interval from 0 to 2.
 *
 * Measures     pow, sin and cos of the C library, in an operation 40200 calls of pow and 20100 of
 *              each of the others, with a few additions and multiplications around them. An
 *              operation computes `coefficients` pairs of integrals, of the wave times a cosine and
 *              times a sine, each by the trapezoidal rule in 200 steps.
 * Leaves out   memory and the kernel: it touches a few hundred bytes, and makes no system call.
 * Beware       it measures the C library more than the processor: nine tenths of the instructions
 *              are the library's. At its start glibc chooses other routines if the processor has a
 *              fused multiply-add; musl never does. So compare kernels with the same program. The
 *              ends of the interval are volatile variables, because the compiler would otherwise
 *              compute the wave there. A compiler that may ignore errno (-ffast-math) can share a
 *              point's wave between its two integrals. Every coefficient is compared with the same
 *              sum computed without the library. With 200 steps, 100 harmonics can be told apart,
 *              so there are no more.
 * After        the Fourier test of BYTEmark 2 (BYTE, 1995), known as NBench. The table in its
 *              documentation omits the last of the 199 inner points of the sum, which changes the
 *              coefficients by up to 0.09; here the sum is whole.
 */
#include <math.h>

#include "../api/workload.h"

enum { STEPS = 200, PAIRS_MOST = STEPS / 2 };

static const double pi = 3.14159265358979323846;

struct pair {
	double cosine, sine;
};

static uint64_t        coefficients = PAIRS_MOST;
static volatile double from = 0.0, to = 2.0;
static struct pair     expected[PAIRS_MOST], found[PAIRS_MOST];

static double times_cosine(double x, int harmonic)
{
	return pow(x + 1.0, x) * cos(harmonic * pi * x);
}

static double times_sine(double x, int harmonic)
{
	return pow(x + 1.0, x) * sin(harmonic * pi * x);
}

static double integral(double (*integrand)(double x, int harmonic), int harmonic)
{
	const double begin = from, end = to, width = (end - begin) / STEPS;
	double       sum = (integrand(begin, harmonic) + integrand(end, harmonic)) / 2.0;

	for (int i = 1; i < STEPS; i++)
		sum += integrand(begin + i * width, harmonic);
	return sum * width;
}

__attribute__((noinline)) void fourier_series(void);
__attribute__((noinline)) void fourier_series(void)
{
	for (int i = 0; i < (int)coefficients; i++) {
		found[i].cosine = integral(times_cosine, i);
		found[i].sine = integral(times_sine, i);
	}
}

/* Libraries and fused arithmetic differ by about 1e-13, the smallest coefficient is 4e-4. */
static int differ(double value, double known)
{
	return !(fabs(value - known) < 1e-10);
}

/* By Newton's method, from above after the first step. */
static double hundredth_root(double value)
{
	double root = 1.0;

	for (int step = 0; step < 12; step++) {
		double power = 1.0;

		for (int i = 0; i < 99; i++)
			power *= root;
		root -= (power * root - value) / (100.0 * power);
	}
	return root;
}

/* The wave at k / 100: the k-th power of a hundredth root. */
static double wave_at(int k)
{
	double root = hundredth_root(1.0 + k / 100.0), power = 1.0;

	for (int i = 0; i < k; i++)
		power *= root;
	return power;
}

/* The same sums without pow, sin and cos: all the angles are multiples of pi / 100. */
static void expect(void)
{
	const double      width = 2.0 / STEPS;
	const struct pair turn = { .cosine = 0.999506560365731557, .sine = 0.0314107590781282925 };
	struct pair       angle[STEPS];
	double            wave[STEPS];

	angle[0] = (struct pair){ .cosine = 1.0, .sine = 0.0 };
	for (int i = 1; i < STEPS; i++) {
		const struct pair *last = &angle[i - 1];

		angle[i].cosine = last->cosine * turn.cosine - last->sine * turn.sine;
		angle[i].sine = last->sine * turn.cosine + last->cosine * turn.sine;
	}
	wave[0] = (wave_at(0) + wave_at(STEPS)) / 2.0; /* both ends are at angle 0 */
	for (int i = 1; i < STEPS; i++)
		wave[i] = wave_at(i);
	for (int harmonic = 0; harmonic < PAIRS_MOST; harmonic++) {
		struct pair *sum = &expected[harmonic];

		*sum = (struct pair){ .cosine = 0.0, .sine = 0.0 };
		for (int i = 0; i < STEPS; i++) {
			sum->cosine += width * wave[i] * angle[harmonic * i % STEPS].cosine;
			sum->sine += width * wave[i] * angle[harmonic * i % STEPS].sine;
		}
	}
}

static int setup(void)
{
	expect();
	/* Of the sums computed to forty digits: the first, the second and the last. */
	if (differ(expected[0].cosine, 5.76396867001093803) || differ(expected[0].sine, 0.0) ||
	    differ(expected[1].cosine, 1.13416799712847576) ||
	    differ(expected[1].sine, -1.88188082599875926) ||
	    differ(expected[99].cosine, 0.00039727076406437) ||
	    differ(expected[99].sine, -0.00062831120305966))
		return fail_check("the expected coefficients are not the known ones");
	return 0;
}

static int run(uint64_t operations)
{
	while (operations--) {
		fourier_series();
		for (int i = 0; i < (int)coefficients; i++)
			if (differ(found[i].cosine, expected[i].cosine) ||
			    differ(found[i].sine, expected[i].sine))
				return fail_check("pair %d is %.15g and %.15g, not %.15g and %.15g",
				                  i, found[i].cosine, found[i].sine,
				                  expected[i].cosine, expected[i].sine);
	}
	return 0;
}

static const struct parameter parameters[] = {
	NUMBER("coefficients", "pairs of coefficients; the first is twice the mean, and 0",
	       &coefficients, 1, PAIRS_MOST),
	{ 0 },
};

const struct workload workload_fourier = {
	.name = "fourier",
	.group = "cpu",
	.summary = "100 pairs of Fourier coefficients by the C library's pow, sin and cos",
	.operation = "series",
	.setup = setup,
	.run = run,
	.parameters = parameters,
	.counted = fourier_series,
	.instructions = 2000000,
};
