/* select_files -- ask by select which of many open files can be read.
 *
 * Measures     the set of descriptors copied in, each of them found and asked, the set of the
 *              ready ones copied out. They are files, which are always ready: the answer names
 *              every one of them.
 * Leaves out   waiting: the time to wait is zero. Opening the files is in setup.
 * Beware       the call writes its answer over the question, so the question's 128 bytes are
 *              copied before each, which is measured too. A set holds descriptors below 1024.
 *              pselect without a signal mask is called, because libraries make different system
 *              calls of select.
 * After        lat_select file of lmbench (McVoy and Staelin).
 */
#include "../api/kernel_call.h"
#include "descriptors.h"

static uint64_t descriptors = 100;

static struct {
	struct descriptors d;
	fd_set             asked;
	int                beyond; /* the highest of them, and one */
} s;

static int setup(void)
{
	int outcome = descriptors_open_files(&s.d, descriptors);

	FD_ZERO(&s.asked);
	for (uint64_t i = 0; i < s.d.watched_count && !outcome; i++) {
		int file = s.d.watched[i];

		if (file >= FD_SETSIZE)
			return unsupported("descriptor %d is beyond the %d that select can name",
			                   file, FD_SETSIZE);
		FD_SET((unsigned)file, &s.asked);
		if (file >= s.beyond)
			s.beyond = file + 1;
	}
	return outcome;
}

/* Out of line, or REPEAT would hold it sixty-four times. */
__attribute__((noinline)) static int ask(void)
{
	fd_set found;
	int    ready;

	found = s.asked;
	ready = kernel_select(s.beyond, &found);
	if (ready < 0)
		return fail("pselect");
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

static const struct call calls[] = { { "pselect6", 1 }, { 0 } };

const struct workload workload_select_files = {
	.name       = "select_files",
	.group      = "syscall",
	.summary    = "many files asked about by select",
	.operation  = "call",
	.setup      = setup,
	.run        = run,
	.teardown   = teardown,
	.parameters = parameters,
	.calls      = calls,
};
