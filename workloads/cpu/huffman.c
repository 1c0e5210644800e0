/* huffman -- compress a text of 32768 bytes by Huffman's code, and expand it again.
 *
 * Measures     counting bytes, building a tree from their frequencies, appending codes of 2 to 9
 *              bits to each other, and following the tree from its root for each bit: integer work
 *              on bytes and bits, with loads that wait for each other, and branches at the end of
 *              each code. Expanding takes three quarters of the time.
 * Leaves out   the kernel, files, and memory beyond the second-level cache: the text, the
 *              compressed text and the expanded text are 81 KiB in all, unless `bytes` changes it.
 * Beware       the text consists of words drawn from a fixed list, the same on every system, but is
 *              no real language: it compresses to 52 % of its size. Each operation compares the
 *              expanded text with the original, and the number of bits with the least that any such
 *              code needs, which setup finds without a tree (less than 1 % of the time). Codes are
 *              looked up in a table, where the ancestor climbs the tree for every byte. The
 *              compiler chooses whether a step down the tree is a branch or an indexed load (gcc 12
 *              and clang 14 load).
 * After        the Huffman test of BYTEmark 2 (BYTE, 1995), known as NBench, which has 5000 bytes;
 *              the code is Huffman's (1952).
 */
#include <string.h>

#include "../api/workload.h"

/* A code of n bits needs a text of at least F(n + 2) bytes, a Fibonacci number: with 2^20 bytes no
 * code is longer than 28 bits. */
enum { SYMBOLS = 256, NODES_MOST = 2 * SYMBOLS - 1, BYTES_MOST = 1 << 20, NONE = 0xffff };

static const char *const words[] = {
	"the",     "of",      "and",     "to",    "in",     "is",     "that",   "it",
	"was",     "for",     "on",      "are",   "with",   "they",   "be",     "at",
	"one",     "have",    "this",    "from",  "had",    "by",     "word",   "but",
	"what",    "some",    "we",      "can",   "out",    "other",  "were",   "all",
	"there",   "when",    "up",      "use",   "your",   "how",    "said",   "an",
	"each",    "she",     "which",   "their", "time",   "if",     "will",   "way",
	"about",   "many",    "then",    "them",  "write",  "would",  "like",   "these",
	"kitchen", "journey", "quarter", "zebra", "oxygen", "velvet", "jacket", "machine",
};
enum { WORDS = sizeof(words) / sizeof(*words), WORDS_IN_LINE = 12 };

static uint64_t bytes = 32768;

/* Leaves are the symbols that occur, in the symbols' order; then come the nodes above them. */
struct node {
	uint32_t weight;
	uint16_t parent, side; /* which of the parent's two it is */
	uint16_t below[2];     /* NONE, NONE: a leaf */
	uint16_t symbol;       /* of a leaf */
};

/* The nodes that have no parent yet. */
struct forest {
	uint16_t root[SYMBOLS];
	int      count;
};

struct code {
	uint32_t bits, length;
};

/* How many bits of compressed text there were on either way. */
struct traffic {
	uint64_t written, read;
};

/* The text and what it becomes, in words of 64 bits so that they are compared as such. */
static uint64_t text[BYTES_MOST / 8], compressed[BYTES_MOST / 8], expanded[BYTES_MOST / 8];

static struct node nodes[NODES_MOST];
static uint16_t    root;
static struct code codes[SYMBOLS];
static uint64_t    least_bits;

static void count_symbols(uint32_t weights[SYMBOLS])
{
	const unsigned char *byte = (const unsigned char *)text;

	memset(weights, 0, SYMBOLS * sizeof(*weights));
	for (size_t i = 0; i < bytes; i++)
		weights[byte[i]]++;
}

static void make_text(void)
{
	unsigned char *byte = (unsigned char *)text;
	uint32_t       state = 2463534242u;
	size_t         end = 0;

	for (size_t drawn = 1; end < bytes; drawn++) {
		const char *word = words[next_number(&state) % WORDS];

		while (*word && end < bytes)
			byte[end++] = (unsigned char)*word++;
		if (end < bytes)
			byte[end++] = drawn % WORDS_IN_LINE ? ' ' : '\n';
	}
}

/* The least number of bits, by another method and without a tree: the weights in order are one
 * queue, the sums of the two least another, which is in order by itself. All sums together are
 * the answer. */
static uint64_t find_least_bits(void)
{
	uint32_t weights[SYMBOLS], leaf[SYMBOLS], sum[SYMBOLS];
	int      leaves = 0, next_leaf = 0, next_sum = 0;
	uint64_t bits = 0;

	count_symbols(weights);
	for (int i = 0; i < SYMBOLS; i++) {
		int place = leaves;

		if (!weights[i])
			continue;
		for (; place > 0 && leaf[place - 1] > weights[i]; place--)
			leaf[place] = leaf[place - 1];
		leaf[place] = weights[i];
		leaves++;
	}
	for (int sums = 0; sums < leaves - 1; sums++) {
		sum[sums] = 0;
		for (int i = 0; i < 2; i++)
			if (next_sum == sums ||
			    (next_leaf < leaves && leaf[next_leaf] <= sum[next_sum]))
				sum[sums] += leaf[next_leaf++];
			else
				sum[sums] += sum[next_sum++];
		bits += sum[sums];
	}
	return bits;
}

static int setup(void)
{
	make_text();
	least_bits = find_least_bits();
	return 0;
}

/* Takes the lightest of the nodes without parent, of several as light the first in the list. */
static uint16_t take_lightest(struct forest *forest)
{
	int      lightest = 0;
	uint16_t taken;

	for (int i = 1; i < forest->count; i++)
		if (nodes[forest->root[i]].weight < nodes[forest->root[lightest]].weight)
			lightest = i;
	taken = forest->root[lightest];
	forest->root[lightest] = forest->root[--forest->count];
	return taken;
}

/* Returns the number of leaves; leaves the root in `root`. */
static uint16_t build_tree(void)
{
	uint32_t      weights[SYMBOLS];
	struct forest forest = { .count = 0 };
	uint16_t      count = 0, leaves;

	count_symbols(weights);
	for (uint16_t symbol = 0; symbol < SYMBOLS; symbol++)
		if (weights[symbol]) {
			nodes[count] = (struct node){ .weight = weights[symbol],
				                      .below = { NONE, NONE },
				                      .symbol = symbol };
			forest.root[forest.count++] = count++;
		}
	leaves = count;
	while (forest.count > 1) {
		struct node *above = &nodes[count];

		*above = (struct node){ .weight = 0 };
		for (uint16_t side = 0; side < 2; side++) {
			uint16_t taken = take_lightest(&forest);

			above->weight += nodes[taken].weight;
			above->below[side] = taken;
			nodes[taken].parent = count;
			nodes[taken].side = side;
		}
		forest.root[forest.count++] = count++;
	}
	root = forest.root[0];
	return leaves;
}

/* From each leaf up to the root: the last bit of a code first. */
static void find_codes(uint16_t leaves)
{
	for (uint16_t leaf = 0; leaf < leaves; leaf++) {
		struct code code = { 0, 0 };

		for (uint16_t at = leaf; at != root; at = nodes[at].parent)
			code.bits |= (uint32_t)nodes[at].side << code.length++;
		codes[nodes[leaf].symbol] = code;
	}
}

/* Returns the number of bits. */
static uint64_t compress(void)
{
	const unsigned char *from = (const unsigned char *)text, *end = from + bytes;
	unsigned char       *to = (unsigned char *)compressed;
	uint64_t             bits = 0, pending = 0;
	uint32_t             held = 0; /* of the bits pending, those not yet written */

	while (from < end) {
		struct code code = codes[*from++];

		pending = pending << code.length | code.bits;
		bits += code.length;
		for (held += code.length; held >= 8; held -= 8)
			*to++ = (unsigned char)(pending >> (held - 8));
	}
	if (held)
		*to = (unsigned char)(pending << (8 - held));
	return bits;
}

/* Returns the number of bits it took. */
static uint64_t expand(void)
{
	const unsigned char *from = (const unsigned char *)compressed;
	unsigned char       *to = (unsigned char *)expanded, *end = to + bytes;
	uint64_t             bits = 0;

	while (to < end) {
		const struct node *at = &nodes[root];

		while (at->below[0] != NONE) {
			at = &nodes[at->below[from[bits / 8] >> (7 - bits % 8) & 1]];
			bits++;
		}
		*to++ = (unsigned char)at->symbol;
	}
	return bits;
}

static int check(struct traffic traffic)
{
	uint64_t different = 0;

	for (size_t i = 0; i < (bytes + 7) / 8; i++)
		different |= text[i] ^ expanded[i];
	if (different)
		return fail_check("the expanded text is not the text that was compressed");
	if (traffic.written != least_bits || traffic.read != least_bits)
		return fail_check("%llu bits written and %llu read, not %llu",
		                  (unsigned long long)traffic.written,
		                  (unsigned long long)traffic.read, (unsigned long long)least_bits);
	return 0;
}

__attribute__((noinline)) int huffman_pass(void);
__attribute__((noinline)) int huffman_pass(void)
{
	struct traffic traffic;

	find_codes(build_tree());
	traffic.written = compress();
	traffic.read = expand();
	return check(traffic);
}

static int run(uint64_t operations)
{
	int outcome = 0;

	while (operations-- && !outcome)
		outcome = huffman_pass();
	return outcome;
}

static const struct parameter parameters[] = {
	NUMBER("bytes", "bytes of text", &bytes, 1000, BYTES_MOST),
	{ 0 },
};

const struct workload workload_huffman = {
	.name = "huffman",
	.group = "cpu",
	.summary = "a text of 32 KiB compressed by Huffman's code, and expanded",
	.operation = "pass over the text both ways",
	.setup = setup,
	.run = run,
	.parameters = parameters,
	.regains_ns = 2000000,
	.counted = (void (*)(void))huffman_pass,
	.instructions = 1500000,
};
