/* namespace.h -- a private network: one network namespace, which this process and its partner
 * share, or two that are joined by a veth pair, one of them this process's, the other its
 * partner's.
 *
 * Nobody else on the machine can reach what listens there, or send to it. Kernel objects without a
 * name end with the last process that is in them, and the pair with its first end: so nothing can
 * be left, however the trial ends. Addresses are those kept for documentation (RFC 5737, RFC 3849),
 * which no network has.
 */
#ifndef STEELYARD_NAMESPACE_H
#define STEELYARD_NAMESPACE_H

#include <stdint.h>
#include <sys/types.h>

/* What the pair is like, both ways. Zeros are as the kernel has it. */
struct wire {
	uint64_t delay_us;  /* of each way */
	uint64_t rate_mbit; /* a second */
	uint64_t loss_ppm;  /* of a million packets, at random */
	uint64_t mtu;
};

#define NAMESPACE_NEAR   "192.0.2.1"
#define NAMESPACE_FAR    "192.0.2.2"
#define NAMESPACE_NEAR_6 "2001:db8::1"
#define NAMESPACE_FAR_6  "2001:db8::2"

/* Moves this process, and what it starts from now on, into a private network (private_network.h),
 * once. Sets `is_alone` to whether it has one; where it cannot have one, nothing has changed.
 * Returns an outcome. */
#ifdef _WIN32
static inline int namespace_alone(uint64_t *is_alone)
{
	*is_alone = 0;
	return 0;
}
#else
int namespace_alone(uint64_t *is_alone);
#endif

/* The same, which must succeed, and gives another one each time: else it is unsupported. */
int namespace_enter(void);

/* In the near end: makes the pair, and gives the other end to that process, which has entered its
 * own. */
int namespace_join(pid_t far_end, const struct wire *wire);

/* In the far end, then. */
int namespace_settle(const struct wire *wire);

#endif
