/* waiting.h -- what the workloads share that ask which of many descriptors are ready: of files,
 * which always are, or of connections, of which some have a byte that is never read.
 *
 * setup()   open_files() or connect_sockets(), then list_watched() for poll or set_watched() for
 * select ask()     the workload's own: one call, and answered()
 */
#ifndef STEELYARD_WAITING_H
#define STEELYARD_WAITING_H

#include "../api/kernel_call.h"
#include "descriptors.h"

static uint64_t           descriptors = 100, ready;
static struct descriptors opened;

static inline int open_files(void)
{
	ready = descriptors;
	return descriptors_open_files(&opened, descriptors);
}

static inline int connect_sockets(void)
{
	int outcome = descriptors_connect_sockets(&opened, descriptors);

	return outcome ? outcome : descriptors_make_ready(&opened, ready);
}

/* Out of line, or REPEAT would hold it sixty-four times. */
__attribute__((noinline)) static int ask(void);

/* Checks that a call has named as many as are ready. */
static inline int answered(int count, const char *call)
{
	if (count < 0)
		return fail(call);
	if ((uint64_t)count != ready)
		return fail_check("%d descriptors are ready, not %llu", count,
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
	descriptors_close(&opened);
}

/* ---- For poll: a list of descriptors ---- */

#ifdef SYS_poll
#define POLL_CALL "poll"
#else
#define POLL_CALL "ppoll"
#endif

static struct pollfd list[DESCRIPTORS_MOST];

static inline void list_watched(void)
{
	for (uint64_t i = 0; i < opened.watched_count; i++)
		list[i] = (struct pollfd){ .fd = opened.watched[i], .events = POLLIN };
}

/* ---- For select: a set of bits ---- */

static fd_set set;
static int    beyond; /* the highest descriptor, plus one */

static inline int set_watched(void)
{
	FD_ZERO(&set);
	for (uint64_t i = 0; i < opened.watched_count; i++) {
		int file = opened.watched[i];

		if (file >= FD_SETSIZE)
			return unsupported("descriptor %d is beyond the %d that select can name",
			                   file, FD_SETSIZE);
		FD_SET((unsigned)file, &set);
		if (file >= beyond)
			beyond = file + 1;
	}
	return 0;
}

#define FILES_PARAMETERS \
	NUMBER("descriptors", "number of watched files", &descriptors, 1, DESCRIPTORS_MOST)
#define SOCKETS_PARAMETERS                                                                         \
	NUMBER("descriptors", "number of watched connections", &descriptors, 1, DESCRIPTORS_MOST), \
		NUMBER("ready", "how many of them are readable", &ready, 0, DESCRIPTORS_MOST)

#endif
