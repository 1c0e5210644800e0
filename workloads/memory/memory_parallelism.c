/* memory_parallelism -- follow 1, 2, 4, 8 and 16 chains of pointers at once.
 *
 * Measures     the time per load where 1, 2, 4, 8 or 16 loads do not depend on each other, one in
 *              each chain, in random order over the lines of an area. The time with one chain,
 *              divided by the shortest of the others, is how many loads the processor has in flight
 *              at once.
 * Leaves out   prefetching, which a random order defeats, and loads that are fully independent.
 * Beware       an operation is one load, of any chain. The chains are parts of one cycle and begin
 *              at equal distances, so that any number of chains visits the same lines in turn. If
 *              the processor has too few registers for sixteen pointers, some chains also go
 *              through the stack, which shows while the area is in the first-level cache. After
 *              each batch the position of every chain is checked against its number of loads.
 * After        par_mem of lmbench (Staelin and McVoy).
 */
#include "chase.h"

enum { LINE = 64 };

static uint64_t size;

static size_t place(size_t element)
{
	return element * LINE;
}

static struct chase chase = { .place = place };

static int arrange(void)
{
	int outcome = chase_map(&chase, size, size / LINE);

	if (outcome)
		return outcome;
	chase_shuffle(&chase, 0, chase.count);
	chase_link(&chase);
	return 0;
}

/* Where each chain is at a position of the whole chase. */
static size_t chain_position(size_t chain, size_t chains)
{
	return chase_after(&chase, chase.position, chain * (chase.count / chains));
}

static void begin(void *pointers[], size_t chains)
{
	for (size_t chain = 0; chain < chains; chain++)
		pointers[chain] = chase_at(&chase, chain_position(chain, chains));
}

/* Ends a batch: each chain must have made `rounds` loads, and the first of them `more` besides. */
static int arrive(void *const pointers[], size_t chains, uint64_t rounds, uint64_t more)
{
	for (size_t chain = 1; chain < chains; chain++) {
		size_t position = chase_after(&chase, chain_position(chain, chains), rounds);

		if (pointers[chain] != chase_at(&chase, position))
			return fail_check("chain %zu did not come to position %zu", chain,
			                  position);
	}
	return chase_arrive(&chase, pointers[0], rounds + more);
}

/* clang-format off */
#define LOADS_1(i)  CHASE(pointers[i])
#define LOADS_2(i)  LOADS_1(i); LOADS_1(i + 1)
#define LOADS_4(i)  LOADS_2(i); LOADS_2(i + 2)
#define LOADS_8(i)  LOADS_4(i); LOADS_4(i + 4)
#define LOADS_16(i) LOADS_8(i); LOADS_8(i + 8)
/* clang-format on */

/* The chains' pointers are constant places of an array, which compilers keep in registers. */
#define CHAINS(chains)                                                                 \
	static int chains_##chains(uint64_t operations)                                \
	{                                                                              \
		uint64_t rounds = operations / (chains), more = operations % (chains); \
		void    *starts[chains], *pointers[chains];                            \
                                                                                       \
		begin(starts, chains);                                                 \
		memcpy(pointers, starts, sizeof(pointers));                            \
		REPEAT(rounds, LOADS_##chains(0));                                     \
		REPEAT(more, CHASE(pointers[0]));                                      \
		memcpy(starts, pointers, sizeof(pointers));                            \
		return arrive(starts, chains, rounds, more);                           \
	}

CHAINS(1)
CHAINS(2)
CHAINS(4)
CHAINS(8)
CHAINS(16)

static void teardown(void)
{
	chase_unmap(&chase);
}

/* clang-format off */
static const struct phase phases[] = {
	{ .metric = "chains_1", .run = chains_1 },
	{ .metric = "chains_2", .run = chains_2 },
	{ .metric = "chains_4", .run = chains_4 },
	{ .metric = "chains_8", .run = chains_8 },
	{ .metric = "chains_16", .run = chains_16 },
	{ 0 },
};
/* clang-format on */

/* From as many lines on as the chains are apart from each other. */
static struct sweep sweep = {
	.name = "size",
	.unit = "bytes",
	.value = &size,
	.from = 4096,
	.steps = 1,
	.grain = 512,
	.areas = 1,
	.arrange = arrange,
};

const struct workload workload_memory_parallelism = {
	.name = "memory_parallelism",
	.group = "memory",
	.summary = "1 to 16 chains of dependent loads at once, in random order",
	.operation = "load",
	.phases = phases,
	.teardown = teardown,
	.sweep = &sweep,
	.instructions = 1,
};
