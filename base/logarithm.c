/* logarithm.c -- see logarithm.h. */
#include "logarithm.h"

#include <stdint.h>
#include <string.h>

/* A fused multiplication rounds once where two operations round twice. gcc fuses none in
 * -std=c11. */
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

static const double ln_2 = 0x1.62e42fefa39efp-1, root_2 = 0x1.6a09e667f3bcdp+0;

double own_log(double x)
{
	uint64_t bits;
	double   mantissa, s, sum = 0;
	int      exponent;

	memcpy(&bits, &x, sizeof(bits));
	exponent = (int)(bits >> 52) - 1023;
	bits = (bits & 0xfffffffffffffull) | 0x3ff0000000000000ull;
	memcpy(&mantissa, &bits, sizeof(mantissa));
	if (mantissa > root_2) {
		mantissa /= 2;
		exponent++;
	}
	/* ln m = 2 (s + s^3/3 + s^5/5 + ...), where |s| is at most 0.172. */
	s = (mantissa - 1) / (mantissa + 1);
	for (int k = 23; k >= 1; k -= 2)
		sum = sum * (s * s) + 1.0 / k;
	return exponent * ln_2 + 2 * s * sum;
}

double own_exp(double x)
{
	int      twos = (int)(x / ln_2 + (x < 0 ? -0.5 : 0.5));
	double   rest = x - twos * ln_2, sum = 1, power;
	uint64_t bits = (uint64_t)(twos + 1023) << 52;

	for (int k = 15; k >= 1; k--)
		sum = 1 + sum * rest / k;
	memcpy(&power, &bits, sizeof(power));
	return sum * power;
}
