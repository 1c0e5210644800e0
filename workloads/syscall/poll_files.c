/* poll_files -- ask by poll which of many open files can be read.
 *
 * Measures     the list of descriptors copied in, each of them found and asked, the answers copied
 *              out. They are files, which are always ready: the answer names every one of them.
 * Leaves out   waiting: the time to wait is zero. Opening the files is in setup.
 * Beware       the list is eight bytes a descriptor, where select's sets are one bit each; a long
 *              list is copied into memory that the kernel takes for the call.
 * After        lat_select file of lmbench (McVoy and Staelin), which knows select alone.
 */
#include "../api/kernel_call.h"
#include "descriptors.h"

static uint64_t descriptors = 100;

static struct {
	struct descriptors d;
	struct pollfd      asked[DESCRIPTORS_MOST];
} s;

static int setup(void)
{
	int outcome = descriptors_open_files(&s.d, descriptors);

	for (uint64_t i = 0; i < s.d.watched_count; i++)
		s.asked[i] = (struct pollfd){ .fd = s.d.watched[i], .events = POLLIN };
	return outcome;
}

/* Out of line, or REPEAT would hold it sixty-four times. */
__attribute__((noinline)) static int ask(void)
{
	int ready = kernel_poll(s.asked, (nfds_t)descriptors);

	if (ready < 0)
		return fail("poll");
	if ((uint64_t)ready != descriptors)
		return fail_check("%d files are ready, not all", ready);
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
	unlink("watched");
}

static const struct parameter parameters[] = {
	NUMBER("descriptors", "open files asked about", &descriptors, 1, DESCRIPTORS_MOST),
	{ 0 },
};

#ifdef SYS_poll
static const struct call calls[] = { { "poll", 1 }, { 0 } };
#else
static const struct call calls[] = { { "ppoll", 1 }, { 0 } };
#endif

const struct workload workload_poll_files = {
	.name       = "poll_files",
	.group      = "syscall",
	.summary    = "many files asked about by poll",
	.operation  = "call",
	.setup      = setup,
	.run        = run,
	.teardown   = teardown,
	.parameters = parameters,
	.calls      = calls,
};
