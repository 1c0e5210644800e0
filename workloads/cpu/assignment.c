/* assignment -- assign 101 jobs to 101 machines at the least cost, by reducing the cost matrix.
 *
 * Measures     integer subtraction, comparison and branches over a matrix of 40 KiB, along its rows
 *              and columns. An operation copies the costs, subtracts the least cost from every row
 *              and column, and assigns at the zeros. Then, for every machine still without a job,
 *              it searches the zeros for an exchange, and makes new zeros until it finds one.
 * Leaves out   floating point, memory beyond the second-level cache, and the kernel.
 * Beware       the costs, whole numbers below 10000, come from a fixed sequence. So every operation
 *              solves the same problem by the same steps, and a branch predictor may learn some of
 *              them. Each answer is proved: what was subtracted from the rows and columns adds up
 *              to the cost of the assignment, and nowhere exceeds a cost (the dual problem; about 1
 *              % of the time). Compilers differ in how many columns they subtract at once.
 * After        the assignment test of BYTEmark 2 (BYTE, 1995), known as NBench, in its size; the
 *              method is that of Kuhn (1955) and Munkres (1957).
 */
#include <string.h>

#include "../api/workload.h"

enum { SIZE = 101, COSTS = 10000, LEAST_COST = 16532, NONE = -1 };

static struct {
	_Alignas(64) int32_t cost[SIZE][SIZE];       /* of a machine (row) for a job (column) */
	_Alignas(64) int32_t reduced[SIZE][SIZE];    /* what is left of it */
	int32_t row_share[SIZE], column_share[SIZE]; /* what was taken out */
	int     job_of[SIZE], machine_of[SIZE];      /* the assignment, or NONE */
} s;

/* The search for an exchange: machines that could give up their job for another, and the first,
 * which has none. */
static struct {
	int machines[SIZE], count;
	int in_tree[SIZE];
	int machine_before[SIZE]; /* the machine that a job would go to, or NONE: not reached */
} tree;

static int setup(void)
{
	uint32_t state = 2463534242u;

	for (int row = 0; row < SIZE; row++)
		for (int column = 0; column < SIZE; column++)
			s.cost[row][column] = (int32_t)(next_number(&state) % COSTS);
	return 0;
}

static void reduce_rows(void)
{
	for (int row = 0; row < SIZE; row++) {
		int32_t least = s.reduced[row][0];

		for (int column = 1; column < SIZE; column++)
			if (s.reduced[row][column] < least)
				least = s.reduced[row][column];
		for (int column = 0; column < SIZE; column++)
			s.reduced[row][column] -= least;
		s.row_share[row] = least;
	}
}

static void reduce_columns(void)
{
	for (int column = 0; column < SIZE; column++) {
		int32_t least = s.reduced[0][column];

		for (int row = 1; row < SIZE; row++)
			if (s.reduced[row][column] < least)
				least = s.reduced[row][column];
		for (int row = 0; row < SIZE; row++)
			s.reduced[row][column] -= least;
		s.column_share[column] = least;
	}
}

static void assign_at_zeros(void)
{
	for (int i = 0; i < SIZE; i++)
		s.job_of[i] = s.machine_of[i] = NONE;
	for (int row = 0; row < SIZE; row++)
		for (int column = 0; column < SIZE && s.job_of[row] == NONE; column++)
			if (s.reduced[row][column] == 0 && s.machine_of[column] == NONE) {
				s.job_of[row] = column;
				s.machine_of[column] = row;
			}
}

static void tree_add(int machine)
{
	tree.machines[tree.count++] = machine;
	tree.in_tree[machine] = 1;
}

/* A job not reached before that a machine of the tree could do at no more cost, or NONE. */
static int reach_job(void)
{
	for (int i = 0; i < tree.count; i++) {
		int machine = tree.machines[i];

		for (int job = 0; job < SIZE; job++)
			if (s.reduced[machine][job] == 0 && tree.machine_before[job] == NONE) {
				tree.machine_before[job] = machine;
				return job;
			}
	}
	return NONE;
}

static int32_t least_unreached(void)
{
	int32_t least = INT32_MAX;

	for (int i = 0; i < tree.count; i++)
		for (int job = 0; job < SIZE; job++)
			if (tree.machine_before[job] == NONE &&
			    s.reduced[tree.machines[i]][job] < least)
				least = s.reduced[tree.machines[i]][job];
	return least;
}

/* Takes the least cost by which the tree can grow out of its rows, and puts it back into the
 * columns that it has reached: a new zero appears, no zero of the assignment is lost, and nothing
 * falls below zero. */
static void make_zero(void)
{
	int32_t least = least_unreached();

	for (int i = 0; i < tree.count; i++) {
		for (int job = 0; job < SIZE; job++)
			s.reduced[tree.machines[i]][job] -= least;
		s.row_share[tree.machines[i]] += least;
	}
	for (int job = 0; job < SIZE; job++) {
		if (tree.machine_before[job] == NONE)
			continue;
		for (int machine = 0; machine < SIZE; machine++)
			s.reduced[machine][job] += least;
		s.column_share[job] -= least;
	}
}

/* Gives the job to the machine that reached it, that machine's job to the one before, and so on. */
static void exchange(int job)
{
	while (job != NONE) {
		int machine = tree.machine_before[job], given_up = s.job_of[machine];

		s.job_of[machine] = job;
		s.machine_of[job] = machine;
		job = given_up;
	}
}

static void find_job(int machine)
{
	memset(&tree, 0, sizeof(tree));
	for (int job = 0; job < SIZE; job++)
		tree.machine_before[job] = NONE;
	tree_add(machine);
	for (;;) {
		int job = reach_job();

		if (job == NONE) {
			make_zero();
		} else if (s.machine_of[job] == NONE) {
			exchange(job);
			return;
		} else {
			tree_add(s.machine_of[job]);
		}
	}
}

__attribute__((noinline)) void assignment_solve(void);
__attribute__((noinline)) void assignment_solve(void)
{
	memcpy(s.reduced, s.cost, sizeof(s.reduced));
	reduce_rows();
	reduce_columns();
	assign_at_zeros();
	for (int machine = 0; machine < SIZE; machine++)
		if (s.job_of[machine] == NONE)
			find_job(machine);
}

static int prove(void)
{
	int32_t cost = 0, shares = 0, least = 0;

	for (int i = 0; i < SIZE; i++) {
		int job = s.job_of[i];

		if (job < 0 || job >= SIZE || s.machine_of[job] != i)
			return fail_check("machine %d was assigned job %d, wrongly", i, job);
		cost += s.cost[i][job];
		shares += s.row_share[i] + s.column_share[i];
		for (int j = 0; j < SIZE; j++) {
			int32_t left = s.cost[i][j] - s.row_share[i] - s.column_share[j];

			least = left < least ? left : least;
		}
	}
	if (least < 0)
		return fail_check("the shares exceed a cost by %d", -least);
	if (cost != shares || cost != LEAST_COST)
		return fail_check("the cost is %d, the shares' sum %d, and not %d", cost, shares,
		                  LEAST_COST);
	return 0;
}

static int run(uint64_t operations)
{
	int outcome = 0;

	while (operations-- && !outcome) {
		assignment_solve();
		outcome = prove();
	}
	return outcome;
}

const struct workload workload_assignment = {
	.name = "assignment",
	.group = "cpu",
	.summary = "the cheapest assignment of 101 jobs to 101 machines",
	.operation = "assignment",
	.setup = setup,
	.run = run,
	.counted = assignment_solve,
	.instructions = 500000,
};
