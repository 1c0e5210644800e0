/* poll_sockets -- ask by poll which of many connections have something to read.
 *
 * Measures     the list of descriptors copied in, each connection found and asked, the answers
 *              copied out. They are TCP connections over the loopback interface; none has anything
 *              to read, or as many as `ready` says hold one byte that nobody takes.
 * Leaves out   waiting: the time to wait is zero, so the process joins no queue. Connecting is in
 *              setup.
 * Beware       the list is eight bytes a descriptor, where select's sets are one bit each; a long
 *              list is copied into memory that the kernel takes for the call.
 * After        lat_select tcp of lmbench (McVoy and Staelin), which knows select alone.
 */
#include "../api/kernel_call.h"
#include "descriptors.h"

static uint64_t descriptors = 100, ready;

static struct {
	struct descriptors d;
	struct pollfd      asked[DESCRIPTORS_MOST];
} s;

static int setup(void)
{
	int outcome = descriptors_connect_sockets(&s.d, descriptors);

	for (uint64_t i = 0; i < s.d.watched_count; i++)
		s.asked[i] = (struct pollfd){ .fd = s.d.watched[i], .events = POLLIN };
	return outcome ? outcome : descriptors_make_ready(&s.d, ready);
}

/* Out of line, or REPEAT would hold it sixty-four times. */
__attribute__((noinline)) static int ask(void)
{
	int count = kernel_poll(s.asked, (nfds_t)descriptors);

	if (count < 0)
		return fail("poll");
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

#ifdef SYS_poll
static const struct call calls[] = { { "poll", 1 }, { 0 } };
#else
static const struct call calls[] = { { "ppoll", 1 }, { 0 } };
#endif

const struct workload workload_poll_sockets = {
	.name       = "poll_sockets",
	.group      = "syscall",
	.summary    = "many TCP connections asked about by poll",
	.operation  = "call",
	.setup      = setup,
	.run        = run,
	.teardown   = teardown,
	.parameters = parameters,
	.calls      = calls,
};
