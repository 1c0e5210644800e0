/* string_sort -- sort 400 strings of 4 to 80 bytes that lie end to end, by moving them.
 *
 * Measures     moving blocks of any number of bytes between any addresses, up to the whole buffer
 *              at once. It is a heapsort that exchanges two strings of different lengths by moving
 *              everything between them. An operation makes 3115 exchanges, which move 6.6 MB.
 * Leaves out   the kernel, and memory beyond the second-level cache: the buffer, the unsorted input
 *              and the known answer are 18 KB each, unless `strings` changes it.
 * Beware       the C library's memmove and memcpy move the bytes and its memcmp compares them, so
 *              this measures the C library. glibc chooses among several versions by the processor's
 *              features, which a guest may not show. The memmove of musl (1.2.3, x86-64) moves
 *              single bytes where source and destination overlap upwards, and took seven times as
 *              long. After each exchange the offsets of the strings in between are changed, in a
 *              loop that some compilers vectorise: a quarter of the time with gcc 12 and glibc.
 *              Restoring the input, and comparing buffer and offsets with the answer that setup
 *              found by another method, are part of the operation (at most 2 % of it). Twice the
 *              strings take up to four times the time.
 * After        the string sort of BYTEmark 2 (BYTE, 1995), known as NBench, whose buffer of 8111
 *              bytes holds half as many strings.
 */
#include <string.h>

#include "../api/workload.h"

enum { STRINGS_MOST = 4096, LENGTH_LEAST = 4, LENGTH_MOST = 80 };

static uint64_t strings = 400;

/* String i is the bytes from offset[i] to offset[i + 1]. */
struct table {
	uint32_t      offset[STRINGS_MOST + 1];
	unsigned char bytes[STRINGS_MOST * LENGTH_MOST];
};
static struct table unsorted, sorted, answer;

struct pair {
	size_t first, second;
};

static uint32_t length_of(const struct table *table, size_t i)
{
	return table->offset[i + 1] - table->offset[i];
}

/* Whether the first string belongs after the second: by its bytes, or else as longer. */
static int is_after(const struct table *table, struct pair pair)
{
	uint32_t first_length = length_of(table, pair.first);
	uint32_t second_length = length_of(table, pair.second);
	int      order = memcmp(table->bytes + table->offset[pair.first],
	                        table->bytes + table->offset[pair.second],
	                        first_length < second_length ? first_length : second_length);

	return order ? order > 0 : first_length > second_length;
}

static void make_strings(void)
{
	uint32_t state = 2463534242u, end = 0;

	for (size_t i = 0; i < strings; i++) {
		uint32_t length = LENGTH_LEAST +
		                  next_number(&state) % (LENGTH_MOST - LENGTH_LEAST + 1);

		unsorted.offset[i] = end;
		while (length--)
			unsorted.bytes[end++] = (unsigned char)('a' + next_number(&state) % 26);
	}
	unsorted.offset[strings] = end;
}

/* The known answer, by another method: each string's place is the number of strings before it. */
static void find_answer(void)
{
	static size_t string_at[STRINGS_MOST];
	uint32_t      end = 0;

	for (size_t i = 0; i < strings; i++) {
		size_t place = 0;

		for (size_t other = 0; other < i; other++)
			if (!is_after(&unsorted, (struct pair){ .first = other, .second = i }))
				place++;
		for (size_t other = i + 1; other < strings; other++)
			if (is_after(&unsorted, (struct pair){ .first = i, .second = other }))
				place++;
		string_at[place] = i;
	}
	for (size_t place = 0; place < strings; place++) {
		uint32_t length = length_of(&unsorted, string_at[place]);

		memcpy(answer.bytes + end, unsorted.bytes + unsorted.offset[string_at[place]],
		       length);
		answer.offset[place] = end;
		end += length;
	}
	answer.offset[strings] = end;
}

static int setup(void)
{
	make_strings();
	find_answer();
	return 0;
}

static void restore(void)
{
	memcpy(sorted.bytes, unsorted.bytes, unsorted.offset[strings]);
	memcpy(sorted.offset, unsorted.offset, (strings + 1) * sizeof(*sorted.offset));
}

/* Each takes the other's place, and what lies between moves by the difference of their lengths.
 * The first must lie before the second. */
static void exchange(struct pair pair)
{
	unsigned char  held[LENGTH_MOST], also_held[LENGTH_MOST];
	unsigned char *first = sorted.bytes + sorted.offset[pair.first];
	unsigned char *between = sorted.bytes + sorted.offset[pair.first + 1];
	unsigned char *second = sorted.bytes + sorted.offset[pair.second];
	uint32_t       first_length = length_of(&sorted, pair.first);
	uint32_t       second_length = length_of(&sorted, pair.second);
	size_t         between_bytes = (size_t)(second - between);

	memcpy(held, first, first_length);
	memcpy(also_held, second, second_length);
	if (first_length != second_length)
		memmove(first + second_length, between, between_bytes);
	memcpy(first, also_held, second_length);
	memcpy(first + second_length + between_bytes, held, first_length);
	for (size_t i = pair.first + 1; i <= pair.second; i++)
		sorted.offset[i] += second_length - first_length; /* modulo 2^32, so either way */
}

/* The string `top` of the heap that the first `count` strings are. */
struct heap_place {
	size_t top, count;
};

/* Lets that string sink until neither of the two below it belongs after it. */
static void sink(struct heap_place at)
{
	size_t top = at.top, below;

	while ((below = 2 * top + 1) < at.count) {
		if (below + 1 < at.count &&
		    is_after(&sorted, (struct pair){ .first = below + 1, .second = below }))
			below++;
		if (!is_after(&sorted, (struct pair){ .first = below, .second = top }))
			return;
		exchange((struct pair){ .first = top, .second = below });
		top = below;
	}
}

static void heapsort_strings(void)
{
	for (size_t i = strings / 2; i-- > 0;)
		sink((struct heap_place){ .top = i, .count = strings });
	for (size_t last = strings - 1; last > 0; last--) {
		exchange((struct pair){ .first = 0, .second = last });
		sink((struct heap_place){ .top = 0, .count = last });
	}
}

static int check(void)
{
	if (memcmp(sorted.offset, answer.offset, (strings + 1) * sizeof(*sorted.offset)))
		return fail_check("the sorted strings do not lie where they should");
	if (memcmp(sorted.bytes, answer.bytes, answer.offset[strings]))
		return fail_check("the strings are not those to be sorted, or are not sorted");
	return 0;
}

__attribute__((noinline)) int string_sort_pass(void);
__attribute__((noinline)) int string_sort_pass(void)
{
	restore();
	heapsort_strings();
	return check();
}

static int run(uint64_t operations)
{
	int outcome = 0;

	while (operations-- && !outcome)
		outcome = string_sort_pass();
	return outcome;
}

static const struct parameter parameters[] = {
	NUMBER("strings", "strings in the buffer", &strings, 2, STRINGS_MOST),
	{ 0 },
};

const struct workload workload_string_sort = {
	.name = "string_sort",
	.group = "cpu",
	.summary = "a heapsort of 400 strings of 4 to 80 bytes, moved in their buffer",
	.operation = "sort of the strings",
	.setup = setup,
	.run = run,
	.parameters = parameters,
	.regains_ns = 1250000,
	.counted = (void (*)(void))string_sort_pass,
	.instructions = 200000,
};
