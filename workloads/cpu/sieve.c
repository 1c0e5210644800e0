/* sieve -- find the odd primes from 3 to 16381 by the sieve of Eratosthenes.
 *
 * Measures     loops, byte stores and integer additions of one processor, and the compiler's loops.
 * Leaves out   memory beyond the first-level cache (8 KiB of flags) and the kernel.
 * Beware       the 8190 flags stand for the odd numbers from 3, of which 1899 are primes: the
 *              paper's "primes between 1 and 8190" counts flags, not numbers. The number of primes
 *              is checked after every pass, so no pass can be skipped or shared.
 * After        Sieve of the PEGASUS paper (Silva), which took it from BYTE (Gilbreath and
 *              Gilbreath, January 1983).
 */
#include <string.h>

#include "../api/workload.h"

enum { FLAGS = 8190, PRIMES = 1899 };

static unsigned char flags[FLAGS];

static int pass(void)
{
	int primes = 0;

	memset(flags, 1, sizeof(flags));
	keep(flags);
	for (int i = 0; i < FLAGS; i++) {
		int prime = i + i + 3;

		if (!flags[i])
			continue;
		for (int k = i + prime; k < FLAGS; k += prime)
			flags[k] = 0;
		primes++;
	}
	keep(flags);
	return primes;
}

static int run(uint64_t operations)
{
	while (operations--) {
		int primes = pass();

		if (primes != PRIMES)
			return fail_check("%d primes found, not %d", primes, PRIMES);
	}
	return 0;
}

const struct workload workload_sieve = {
	.name = "sieve",
	.group = "cpu",
	.summary = "the sieve of Eratosthenes over 8190 flags",
	.operation = "pass",
	.run = run,
	.instructions = 40000, /* 8190 flags looked at and 14996 cleared, each in a loop of two or
	                          more */
};
