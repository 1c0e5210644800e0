/* emulated_float -- calculate with floating-point numbers by integer arithmetic alone.
 *
 * Measures     16-bit and 32-bit integer arithmetic, shifts, and branches that depend on the data:
 *              750 sums, 750 differences, 750 products and 750 quotients of numbers with a mantissa
 *              of four 16-bit words, an exponent of 16 bits and a sign, each rounded to the
 *              nearest.
 * Leaves out   the floating-point unit, the kernel, and memory beyond the second-level cache (105
 *              KiB, in order). There are no infinities, no denormal numbers and no overflow: the
 *              operands' exponents are from -16 to 16.
 * Beware       setup compares every answer with the hardware's in double precision. Each operation
 *              compares the checksum of all answers with the known one (4 % of it). Quotients take
 *              about half of the time; they are found word by word with the processor's integer
 *              division, where the ancestor works bit by bit. A compiler may unroll and vectorise
 *              the loops over the words of a mantissa: with clang 14 it took little more than half
 *              the time of gcc 12.
 * After        the emulated floating-point test of BYTEmark 2 (BYTE, 1995), known as NBench, in its
 *              sizes; division after Knuth (The Art of Computer Programming 2, 4.3.1, algorithm D).
 */
#include <math.h>

#include "../api/workload.h"

enum { NUMBERS = 3000, KINDS = 4, GROUP = NUMBERS / KINDS, WORDS = 4, WORD_BITS = 16 };
enum { TOP_BIT = 0x8000, EXPONENT_MOST = 16 };

/* Plus or minus mantissa * 2^(exponent - 64), its words from the most significant on. The top
 * bit is set, unless the number is zero. */
struct emulated {
	uint16_t negative;
	int16_t  exponent;
	uint16_t mantissa[WORDS];
};

struct operands {
	struct emulated left, right;
};

/* A mantissa before it is rounded: a word longer, whose last bit stands for any beyond. */
struct unrounded {
	uint16_t word[WORDS + 1];
};

/* Each sum of Fletcher's: the second depends on the order too. */
struct checksum {
	uint64_t numbers, sums;
};

/* Of the right answers, found with exact fractions. */
static const struct checksum known = { UINT64_C(0xb21e2460b4f4f92b), UINT64_C(0xc5a2dc3fbdb41f24) };

static struct operands operands[NUMBERS];
static struct emulated answers[NUMBERS];

static int is_less(const struct operands *mantissas)
{
	for (int i = 0; i < WORDS; i++)
		if (mantissas->left.mantissa[i] != mantissas->right.mantissa[i])
			return mantissas->left.mantissa[i] < mantissas->right.mantissa[i];
	return 0;
}

static struct unrounded widen(const struct emulated *number)
{
	struct unrounded wide = { { 0 } };

	for (int i = 0; i < WORDS; i++)
		wide.word[i] = number->mantissa[i];
	return wide;
}

static void shift_right(struct unrounded *wide, int bits)
{
	uint16_t *word = wide->word, lost = 0;

	for (; bits >= WORD_BITS && (word[0] | word[1] | word[2] | word[3] | word[4]);
	     bits -= WORD_BITS) {
		lost |= word[WORDS];
		for (int i = WORDS; i > 0; i--)
			word[i] = word[i - 1];
		word[0] = 0;
	}
	bits %= WORD_BITS;
	lost |= (uint16_t)((uint32_t)word[WORDS] << (WORD_BITS - bits));
	for (int i = WORDS; i > 0; i--)
		word[i] = (uint16_t)((uint32_t)(word[i] >> bits) | (uint32_t)word[i - 1]
		                                                           << (WORD_BITS - bits));
	word[0] = (uint16_t)(word[0] >> bits);
	if (lost)
		word[WORDS] |= 1;
}

/* Shifts left until the top bit is set. Returns by how many bits, or -1 if none is set at all. */
static int normalise(struct unrounded *wide)
{
	uint16_t *word = wide->word;
	int       bits = 0;

	if (!(word[0] | word[1] | word[2] | word[3] | word[4]))
		return -1;
	for (; !word[0]; bits += WORD_BITS) {
		for (int i = 0; i < WORDS; i++)
			word[i] = word[i + 1];
		word[WORDS] = 0;
	}
	for (; !(word[0] & TOP_BIT); bits++) {
		for (int i = 0; i < WORDS; i++)
			word[i] = (uint16_t)(word[i] << 1 | word[i + 1] >> (WORD_BITS - 1));
		word[WORDS] = (uint16_t)(word[WORDS] << 1);
	}
	return bits;
}

/* To the nearest, or the even one of two as near. `number` has its sign and exponent already. */
static void round_to(struct emulated *number, const struct unrounded *wide)
{
	uint16_t beyond = wide->word[WORDS];
	int      i = WORDS - 1, up = beyond > TOP_BIT || (beyond == TOP_BIT && (wide->word[i] & 1));

	for (int k = 0; k < WORDS; k++)
		number->mantissa[k] = wide->word[k];
	while (up && i >= 0 && !++number->mantissa[i])
		i--;
	if (i < 0) {
		number->mantissa[0] = TOP_BIT;
		number->exponent++;
	}
}

/* The sum of two numbers of one sign; the left has the greater exponent. */
static void add_magnitudes(const struct operands *of, struct emulated *sum)
{
	struct unrounded wide = widen(&of->left), smaller = widen(&of->right);
	uint32_t         carry = 0;

	shift_right(&smaller, of->left.exponent - of->right.exponent);
	for (int i = WORDS; i >= 0; i--) {
		carry += (uint32_t)wide.word[i] + smaller.word[i];
		wide.word[i] = (uint16_t)carry;
		carry >>= WORD_BITS;
	}
	sum->negative = of->left.negative;
	sum->exponent = of->left.exponent;
	if (carry) {
		shift_right(&wide, 1);
		wide.word[0] |= TOP_BIT;
		sum->exponent++;
	}
	round_to(sum, &wide);
}

/* The sum of two numbers of different signs; the left is not the smaller. */
static void subtract_magnitudes(const struct operands *of, struct emulated *sum)
{
	struct unrounded wide = widen(&of->left), smaller = widen(&of->right);
	uint32_t         borrow = 0;
	int              shifted;

	shift_right(&smaller, of->left.exponent - of->right.exponent);
	for (int i = WORDS; i >= 0; i--) {
		uint32_t difference = (uint32_t)wide.word[i] - smaller.word[i] - borrow;

		wide.word[i] = (uint16_t)difference;
		borrow = difference >> WORD_BITS & 1;
	}
	shifted = normalise(&wide);
	sum->negative = shifted < 0 ? 0 : of->left.negative;
	sum->exponent = (int16_t)(shifted < 0 ? 0 : of->left.exponent - shifted);
	round_to(sum, &wide);
}

static void add(const struct operands *of, struct emulated *sum)
{
	struct operands ordered = *of;

	if (of->left.exponent < of->right.exponent ||
	    (of->left.exponent == of->right.exponent && is_less(of)))
		ordered = (struct operands){ .left = of->right, .right = of->left };
	if (of->left.negative == of->right.negative)
		add_magnitudes(&ordered, sum);
	else
		subtract_magnitudes(&ordered, sum);
}

static void subtract(const struct operands *of, struct emulated *difference)
{
	struct operands negated = *of;

	negated.right.negative = !negated.right.negative;
	add(&negated, difference);
}

static void multiply(const struct operands *of, struct emulated *product)
{
	uint16_t         word[2 * WORDS] = { 0 };
	struct unrounded wide;

	for (int i = WORDS - 1; i >= 0; i--) {
		uint32_t carry = 0;

		for (int k = WORDS - 1; k >= 0; k--) {
			carry += (uint32_t)of->left.mantissa[i] * of->right.mantissa[k] +
			         word[i + k + 1];
			word[i + k + 1] = (uint16_t)carry;
			carry >>= WORD_BITS;
		}
		word[i] = (uint16_t)carry;
	}
	for (int i = 0; i <= WORDS; i++)
		wide.word[i] = word[i];
	wide.word[WORDS] |= (word[5] | word[6] | word[7]) != 0;
	product->negative = of->left.negative ^ of->right.negative;
	product->exponent = (int16_t)(of->left.exponent + of->right.exponent - normalise(&wide));
	round_to(product, &wide);
}

/* One word of the quotient of rest * 2^16 + next and the divisor, which is greater than the
 * rest. Leaves the new rest. Guesses from the leading words, by two too much at most, and
 * corrects that. */
static uint16_t divide_word(uint16_t rest[WORDS], uint16_t next, const uint16_t divisor[WORDS])
{
	uint32_t guess = ((uint32_t)rest[0] << WORD_BITS | rest[1]) / divisor[0], borrow = 0;
	int32_t  top = rest[0];

	if (guess > 0xffff)
		guess = 0xffff;
	for (int i = 0; i < WORDS - 1; i++)
		rest[i] = rest[i + 1];
	rest[WORDS - 1] = next;
	for (int i = WORDS - 1; i >= 0; i--) {
		uint32_t product = guess * divisor[i] + borrow;
		uint32_t difference = rest[i] - (product & 0xffff);

		rest[i] = (uint16_t)difference;
		borrow = (product >> WORD_BITS) + (difference >> WORD_BITS & 1);
	}
	for (top -= (int32_t)borrow; top < 0; guess--) {
		uint32_t carry = 0;

		for (int i = WORDS - 1; i >= 0; i--) {
			carry += (uint32_t)rest[i] + divisor[i];
			rest[i] = (uint16_t)carry;
			carry >>= WORD_BITS;
		}
		top += (int32_t)carry;
	}
	return (uint16_t)guess;
}

/* The dividend is halved where it is not less than the divisor, so that the top bit is set. */
static void divide(const struct operands *of, struct emulated *quotient)
{
	struct unrounded dividend = widen(&of->left), wide;
	uint16_t        *rest = dividend.word, next;
	int              halved = !is_less(of);

	shift_right(&dividend, halved);
	next = rest[WORDS];
	for (int i = 0; i <= WORDS; i++) {
		wide.word[i] = divide_word(rest, next, of->right.mantissa);
		next = 0;
	}
	wide.word[WORDS] |= (rest[0] | rest[1] | rest[2] | rest[3]) != 0;
	quotient->negative = of->left.negative ^ of->right.negative;
	quotient->exponent = (int16_t)(of->left.exponent - of->right.exponent + halved);
	round_to(quotient, &wide);
}

/* One group of the numbers to each kind of arithmetic. */
static void calculate(void)
{
	for (int i = 0; i < GROUP; i++)
		add(&operands[i], &answers[i]);
	for (int i = GROUP; i < 2 * GROUP; i++)
		subtract(&operands[i], &answers[i]);
	for (int i = 2 * GROUP; i < 3 * GROUP; i++)
		multiply(&operands[i], &answers[i]);
	for (int i = 3 * GROUP; i < NUMBERS; i++)
		divide(&operands[i], &answers[i]);
}

static int check(void)
{
	struct checksum checksum = { 0, 0 };

	for (int i = 0; i < NUMBERS; i++) {
		const struct emulated *number = &answers[i];
		uint64_t               mantissa = 0;

		for (int k = 0; k < WORDS; k++)
			mantissa = mantissa << WORD_BITS | number->mantissa[k];
		checksum.numbers += mantissa + (uint16_t)number->exponent * 2u + number->negative;
		checksum.sums += checksum.numbers;
	}
	if (checksum.numbers != known.numbers || checksum.sums != known.sums)
		return fail_check("the answers' checksums are %llx and %llx, not %llx and %llx",
		                  (unsigned long long)checksum.numbers,
		                  (unsigned long long)checksum.sums,
		                  (unsigned long long)known.numbers,
		                  (unsigned long long)known.sums);
	return 0;
}

/* A mantissa of 52 bits, which a double holds exactly. */
static struct emulated draw(uint32_t *state)
{
	uint32_t        high = next_number(state), low = next_number(state);
	uint32_t        rest = next_number(state);
	struct emulated drawn = { .mantissa = { (uint16_t)(high >> WORD_BITS | TOP_BIT),
		                                (uint16_t)high, (uint16_t)(low >> WORD_BITS),
		                                (uint16_t)(low & 0xf000) } };

	drawn.negative = rest & 1;
	drawn.exponent = (int16_t)((int)((rest >> 1) % (2 * EXPONENT_MOST + 1)) - EXPONENT_MOST);
	return drawn;
}

static double to_double(const struct emulated *number)
{
	double mantissa = 0;

	for (int i = 0; i < WORDS; i++)
		mantissa = mantissa * 65536 + number->mantissa[i];
	return ldexp(number->negative ? -mantissa : mantissa, number->exponent - WORDS * WORD_BITS);
}

/* Both are within 2^-53 of the truth, and so is ours as a double. */
static int check_against_hardware(int i)
{
	double left = to_double(&operands[i].left), right = to_double(&operands[i].right);
	double ours = to_double(&answers[i]), theirs = 0;

	switch (i / GROUP) {
	case 0:
		theirs = left + right;
		break;
	case 1:
		theirs = left - right;
		break;
	case 2:
		theirs = left * right;
		break;
	case 3:
		theirs = left / right;
		break;
	}
	if (fabs(ours - theirs) > ldexp(fabs(theirs), -51))
		return fail_check("answer %d is %.17g, where the hardware finds %.17g", i, ours,
		                  theirs);
	return 0;
}

static int setup(void)
{
	uint32_t state = 2463534242u;
	int      outcome = 0;

	for (int i = 0; i < NUMBERS; i++) {
		operands[i].left = draw(&state);
		operands[i].right = draw(&state);
	}
	calculate();
	for (int i = 0; i < NUMBERS && !outcome; i++)
		outcome = check_against_hardware(i);
	return outcome;
}

__attribute__((noinline)) int emulated_float_pass(void);
__attribute__((noinline)) int emulated_float_pass(void)
{
	calculate();
	return check();
}

static int run(uint64_t operations)
{
	int outcome = 0;

	while (operations-- && !outcome)
		outcome = emulated_float_pass();
	return outcome;
}

const struct workload workload_emulated_float = {
	.name = "emulated_float",
	.group = "cpu",
	.summary = "3000 floating-point calculations in integer arithmetic",
	.operation = "pass of 3000 calculations",
	.setup = setup,
	.run = run,
	.counted = (void (*)(void))emulated_float_pass,
	.instructions = 300000,
};
