/* select_sockets -- ask by select which of many connections have something to read.
 *
 * Measures     the set of descriptors copied in, each connection found and asked, the set of the
 *              ready ones copied out. They are TCP connections over the loopback interface; none
 *              has anything to read, or as many as `ready` says hold one byte that nobody takes.
 * Leaves out   waiting: the time to wait is zero, so the process joins no queue. Connecting is in
 *              setup.
 * Beware       the call writes its answer over the question, so the question's 128 bytes are
 *              copied before each, which is measured too. A set holds descriptors below 1024.
 *              pselect without a signal mask is called, because libraries make different system
 *              calls of select.
 * After        lat_select tcp of lmbench (McVoy and Staelin).
 */
#include "../api/kernel_call.h"
#include "descriptors.h"

static uint64_t descriptors = 100, ready;

static struct {
	struct descriptors d;
	fd_set             asked;
	int                beyond; /* the highest of them, and one */
} s;

static int setup(void)
{
	int outcome = descriptors_connect_sockets(&s.d, descriptors);

	if (outcome || (outcome = descriptors_make_ready(&s.d, ready)))
		return outcome;
	FD_ZERO(&s.asked);
	for (uint64_t i = 0; i < s.d.watched_count; i++) {
		int file = s.d.watched[i];

		if (file >= FD_SETSIZE)
			return unsupported("descriptor %d is beyond the %d that select can name",
			                   file, FD_SETSIZE);
		FD_SET((unsigned)file, &s.asked);
		if (file >= s.beyond)
			s.beyond = file + 1;
	}
	return 0;
}

/* Out of line, or REPEAT would hold it sixty-four times. */
__attribute__((noinline)) static int ask(void)
{
	fd_set found;
	int    count;

	found = s.asked;
	count = kernel_select(s.beyond, &found);
	if (count < 0)
		return fail("pselect");
	if ((uint64_t)count != ready)
		return fail_check("%d connections are ready, not %llu", count,
		                  (unsigned long long)ready);
	return 0;
}

static int run(uint64_t operations)
{
	int outcome;

	REPEAT(operations, {
		outcome = ask();
		if (outcome)
			return outcome;
	});
	return 0;
}

static void teardown(void)
{
	descriptors_close(&s.d);
}

static const struct parameter parameters[] = {
	NUMBER("descriptors", "connections asked about", &descriptors, 1, DESCRIPTORS_MOST),
	NUMBER("ready", "of them, with something to read", &ready, 0, DESCRIPTORS_MOST),
	{ 0 },
};

static const struct call calls[] = { { "pselect6", 1 }, { 0 } };

const struct workload workload_select_sockets = {
	.name       = "select_sockets",
	.group      = "syscall",
	.summary    = "many TCP connections asked about by select",
	.operation  = "call",
	.setup      = setup,
	.run        = run,
	.teardown   = teardown,
	.parameters = parameters,
	.calls      = calls,
};
