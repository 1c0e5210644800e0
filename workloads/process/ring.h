/* ring.h -- what context_switch and context_switch_threads share: the ring, its token, its
 * overhead.
 *
 * The members hand a token on in a ring, each through the pipe that the next one reads. The trial's
 * own process or thread is not a member. It gives member 0 the token with the number of hand-overs
 * that are left, and gets it back from the member that holds it when none is left. So a batch
 * consists of exactly `operations` hand-overs with as many sums, and two more hand-overs to begin
 * and to end it. After a batch every member waits for the token.
 */
#ifndef STEELYARD_PROCESS_RING_H
#define STEELYARD_PROCESS_RING_H

#include <errno.h>
#include <unistd.h>

#include "../api/system.h"
#include "../api/workload.h"

enum { MEMBERS_LEAST = 2, MEMBERS_MOST = 96, SIZE_MOST = 65536 };

#define STOP UINT64_MAX

struct token {
	uint64_t left;  /* hand-overs; STOP: it has served */
	uint64_t sum;   /* of all areas that were summed on the way */
	uint64_t error; /* the errno of a member that could not go on */
};

static uint64_t members = 2, size;

static struct {
	/* What member i reads; the last is what the trial's own process or thread reads. */
	int       pipes[MEMBERS_MOST + 1][2];
	uint64_t  pipes_made;
	uint64_t *areas[MEMBERS_MOST];
	uint64_t  area_sum; /* of each area alike */
} ring;

static inline int ring_pipes_make(void)
{
	for (; ring.pipes_made <= members; ring.pipes_made++)
		if (pipe_make(ring.pipes[ring.pipes_made]))
			return fail("pipe");
	return 0;
}

static inline void ring_pipes_close(void)
{
	while (ring.pipes_made > 0) {
		ring.pipes_made--;
		close(ring.pipes[ring.pipes_made][0]);
		close(ring.pipes[ring.pipes_made][1]);
	}
}

/* Not inlined, so that overhead and hand-over sum by the same instructions. */
__attribute__((noinline)) static uint64_t sum_of(const uint64_t *area)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < size / sizeof(*area); i++)
		sum += area[i];
	return sum;
}

/* An area in pages of its own. All are written, so that no sum touches a page for the first time,
 * or the shared page of zeros. They are small pages: threads would share a large one with their
 * neighbours' areas, and caches and TLB would have less to do. Returns NULL with errno if there is
 * no memory. */
static inline uint64_t *area_make(void)
{
	uint32_t  state = 2463534242u;
	uint64_t *area = memory_take(SIZE_MOST);

	if (!area)
		return NULL;
	memory_small_pages(area, SIZE_MOST);
	for (uint64_t i = 0; i < size / sizeof(*area); i++)
		area[i] = next_number(&state);
	return area;
}

/* Reports that a member has its area and its processor, or by the error that it does not. */
static inline int member_ready(int error)
{
	struct token token = { .error = (uint64_t)error };

	return write_whole(ring.pipes[members][1], &token, sizeof(token));
}

/* What a member does until it is told to stop. */
static inline void member_serve(uint64_t number, const uint64_t *area)
{
	int own = ring.pipes[number][0], next = ring.pipes[(number + 1) % members][1];
	int home = ring.pipes[members][1];

	for (;;) {
		struct token token = { 0 };
		int          to = home;

		if (read_whole(own, &token, sizeof(token))) {
			member_ready(errno ? errno : EPIPE);
			return;
		}
		if (token.left == STOP)
			return;
		if (token.left) {
			token.left--;
			token.sum += sum_of(area);
			to = next;
		}
		if (write_whole(to, &token, sizeof(token))) {
			member_ready(errno);
			return;
		}
	}
}

static inline void member_stop(uint64_t number)
{
	struct token token = { .left = STOP };

	write_whole(ring.pipes[number][1], &token, sizeof(token));
}

/* Waits until all members are ready. */
static inline int ring_await(void)
{
	for (uint64_t i = 0; i < members; i++) {
		struct token token;

		if (read_whole(ring.pipes[members][0], &token, sizeof(token)))
			return fail("read");
		if (token.error) {
			errno = (int)token.error;
			return fail("making a member of the ring ready");
		}
	}
	return 0;
}

static inline int check_token(const struct token *token, uint64_t operations)
{
	if (token->error) {
		errno = (int)token->error;
		return fail("a member of the ring");
	}
	if (token->left)
		return fail_check("the token came home with %llu hand-overs left",
		                  (unsigned long long)token->left);
	if (token->sum != operations * ring.area_sum)
		return fail_check("the members' sums are %llu, not %llu",
		                  (unsigned long long)token->sum,
		                  (unsigned long long)(operations * ring.area_sum));
	return 0;
}

/* One process or thread alone: sends the token through a pipe to itself, and sums the areas in
 * turn. */
static int run_overhead(uint64_t operations)
{
	static uint64_t number;
	struct token    token = { .left = operations };
	const int      *home = ring.pipes[members];

	while (token.left) {
		token.left--;
		token.sum += sum_of(ring.areas[number]);
		number = number + 1 < members ? number + 1 : 0;
		if (write_whole(home[1], &token, sizeof(token)))
			return fail("write");
		if (read_whole(home[0], &token, sizeof(token)))
			return fail("read");
	}
	return check_token(&token, operations);
}

static int run_switch(uint64_t operations)
{
	struct token token = { .left = operations };

	if (write_whole(ring.pipes[0][1], &token, sizeof(token)))
		return fail("write");
	if (read_whole(ring.pipes[members][0], &token, sizeof(token)))
		return fail("read");
	return check_token(&token, operations);
}

static const struct phase ring_phases[] = {
	{ .metric = "overhead", .run = run_overhead },
	{ .metric = "switch", .run = run_switch, .less = "overhead" },
	{ 0 },
};

/* Of both phases: a write and a read in each. */
static const struct call ring_calls[] = { { "write", 2 }, { "read", 2 }, { 0 } };

#endif
