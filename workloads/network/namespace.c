/* namespace.c -- see namespace.h. The kernel is asked by netlink (rtnetlink(7)), so that no program
 * need be installed. */
#include "namespace.h"

#include "../api/private_network.h"
#include "../api/workload.h"

#ifdef __linux__

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "netlink.h"

/* One request, and the attributes in it. */
struct message {
	_Alignas(struct nlmsghdr) char bytes[4096];
};

static const char end_name[] = "steelyard";

static struct nlmsghdr *head_of(struct message *message)
{
	return (struct nlmsghdr *)message->bytes;
}

static void message_begin(struct message *message, uint16_t type, uint16_t flags, const void *body,
                          size_t count)
{
	memset(message, 0, sizeof(*message));
	*head_of(message) =
		(struct nlmsghdr){ .nlmsg_len = (uint32_t)(sizeof(struct nlmsghdr) + count),
		                   .nlmsg_type = type,
		                   .nlmsg_flags = (uint16_t)(NLM_F_REQUEST | NLM_F_ACK | flags) };
	memcpy(head_of(message) + 1, body, count);
}

/* Adds an attribute. Returns its place, for message_close where others follow within it. */
static struct rtattr *message_add(struct message *message, uint16_t type, const void *value,
                                  size_t count)
{
	uint32_t       at = NETLINK_ALIGN(head_of(message)->nlmsg_len);
	struct rtattr *added = (struct rtattr *)(message->bytes + at);

	added->rta_type = type;
	added->rta_len = (uint16_t)(sizeof(*added) + count);
	if (count)
		memcpy(added + 1, value, count);
	head_of(message)->nlmsg_len = at + NETLINK_ALIGN((uint32_t)added->rta_len);
	return added;
}

static void message_close(struct message *message, struct rtattr *within)
{
	within->rta_len = (uint16_t)(message->bytes + head_of(message)->nlmsg_len - (char *)within);
}

/* Returns 0, or -1 with the kernel's errno. */
static int ask(struct message *message)
{
	struct {
		struct nlmsghdr head;
		struct nlmsgerr error;
		char            echo[512];
	} answer;
	int     file = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE), kept;
	ssize_t got = -1;

	if (file < 0)
		return -1;
	if (send(file, message->bytes, head_of(message)->nlmsg_len, 0) >= 0)
		got = recv(file, &answer, sizeof(answer), 0);
	kept = got < 0 ? errno
	       : got < (ssize_t)(sizeof(answer.head) + sizeof(answer.error)) ||
	                       answer.head.nlmsg_type != NLMSG_ERROR
	               ? EPROTO
	               : -answer.error.error;
	close(file);
	errno = kept;
	return kept ? -1 : 0;
}

/* ---- Links ---- */

static int set_link(const char *name, uint64_t mtu)
{
	struct message   message;
	struct ifinfomsg up = { .ifi_index = (int)if_nametoindex(name),
		                .ifi_flags = IFF_UP,
		                .ifi_change = IFF_UP };
	uint32_t         bytes = (uint32_t)mtu;

	message_begin(&message, RTM_NEWLINK, 0, &up, sizeof(up));
	if (mtu)
		message_add(&message, IFLA_MTU, &bytes, sizeof(bytes));
	return ask(&message) ? fail("netlink: setting a link") : 0;
}

/* ---- A namespace of one's own ---- */

int namespace_alone(uint64_t *is_alone)
{
	static int outcome = -1; /* not asked yet */

	if (outcome < 0 && (outcome = private_network_enter()) < 0)
		return outcome;
	*is_alone = (uint64_t)outcome;
	return 0;
}

int namespace_enter(void)
{
	int outcome = private_network_enter();

	if (outcome)
		return outcome < 0 ? outcome : 0;
	return unsupported("no network namespace of its own can be made here: %s",
	                   private_network_refusal());
}

/* ---- Both ends' links ---- */

/* Without IPv6, which a kernel may lack and which small packets exclude, there still is IPv4. */
static int add_address(int family, const char *numbers, uint8_t prefix)
{
	struct message   message;
	struct ifaddrmsg one = { .ifa_family = (uint8_t)family,
		                 .ifa_prefixlen = prefix,
		                 .ifa_index = if_nametoindex(end_name) };
	uint32_t         at_once = IFA_F_NODAD; /* nobody else can have it */
	unsigned char    address[sizeof(struct in6_addr)];
	size_t bytes = family == AF_INET6 ? sizeof(struct in6_addr) : sizeof(struct in_addr);

	inet_pton(family, numbers, address);
	message_begin(&message, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &one, sizeof(one));
	message_add(&message, IFA_LOCAL, address, bytes);
	message_add(&message, IFA_ADDRESS, address, bytes);
	message_add(&message, IFA_FLAGS, &at_once, sizeof(at_once));
	if (!ask(&message) || family == AF_INET6 || errno == EOPNOTSUPP || errno == EAFNOSUPPORT)
		return 0;
	return fail("netlink: adding an address");
}

/* The pair's first end here, the second one there; both have one name. */
static int make_pair(pid_t far_end)
{
	static const struct ifinfomsg any;
	struct message                message;
	struct rtattr                *info, *data, *peer;
	uint32_t                      there = (uint32_t)far_end;

	message_begin(&message, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &any, sizeof(any));
	message_add(&message, IFLA_IFNAME, end_name, sizeof(end_name));
	info = message_add(&message, IFLA_LINKINFO, NULL, 0);
	message_add(&message, IFLA_INFO_KIND, "veth", 4);
	data = message_add(&message, IFLA_INFO_DATA, NULL, 0);
	peer = message_add(&message, VETH_INFO_PEER, &any, sizeof(any));
	message_add(&message, IFLA_IFNAME, end_name, sizeof(end_name));
	message_add(&message, IFLA_NET_NS_PID, &there, sizeof(there));
	message_close(&message, peer);
	message_close(&message, data);
	message_close(&message, info);
	if (!ask(&message))
		return 0;
	if (errno == EOPNOTSUPP || errno == ENODEV)
		return unsupported("this kernel has no pairs of network devices (veth)");
	if (errno == EPERM)
		return unsupported("no pair of network devices may be made here: %s",
		                   strerror(errno));
	return fail("netlink: making a veth pair");
}

/* ---- What the wire is like ---- */

/* Ticks of the packet scheduler in a microsecond: the file has both in hexadecimal, as a ratio. 0
 * where the kernel does not tell: a wire that is another than asked for would be measured. */
static double ticks_in_us(void)
{
	unsigned ticks = 0, microseconds = 0;
	FILE    *file = fopen("/proc/net/psched", "re");

	if (file && fscanf(file, "%x %x", &ticks, &microseconds) != 2)
		ticks = 0;
	if (file)
		fclose(file);
	return ticks && microseconds ? (double)ticks / (double)microseconds : 0;
}

static int begin_queue(struct message *message, const char *kind)
{
	struct tcmsg queue = { .tcm_ifindex = (int)if_nametoindex(end_name),
		               .tcm_parent = TC_H_ROOT,
		               .tcm_handle = 1 << 16 };

	if (!queue.tcm_ifindex)
		return fail("if_nametoindex");
	message_begin(message, RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE, &queue, sizeof(queue));
	message_add(message, TCA_KIND, kind, strlen(kind) + 1);
	return 0;
}

static int set_netem(const struct wire *wire)
{
	/* All packets that are on the way at once must have room. */
	struct tc_netem_qopt options = { .limit = 100000 };
	struct tc_netem_rate rate = { .rate = (uint32_t)(wire->rate_mbit * 125000) };
	struct message       message;
	struct rtattr       *within;
	int                  outcome = begin_queue(&message, "netem");

	if (outcome)
		return outcome;
	options.latency = (uint32_t)((double)wire->delay_us * ticks_in_us());
	options.loss = (uint32_t)((double)wire->loss_ppm * 4294.967295);
	within = message_add(&message, TCA_OPTIONS, &options, sizeof(options));
	if (wire->rate_mbit)
		message_add(&message, TCA_NETEM_RATE, &rate, sizeof(rate));
	message_close(&message, within);
	if (!ask(&message))
		return 0;
	if (errno == ENOENT || errno == EOPNOTSUPP)
		return unsupported("this kernel cannot delay or lose packets (it has no netem, "
		                   "sch_netem): only "
		                   "rate_mbit can be set");
	return fail("netlink: setting netem");
}

/* A token bucket, where nothing but the rate is asked for: every kernel with traffic control has
 * it. */
static int set_rate(uint64_t rate_mbit)
{
	enum { BURST = 65536, QUEUE = 1048576, CELL_LOG = 8 };
	double             ns_a_byte = 8000.0 / (double)rate_mbit;
	struct tc_tbf_qopt options = { .limit = QUEUE };
	uint32_t           times[256];
	struct message     message;
	struct rtattr     *within;
	int                outcome = begin_queue(&message, "tbf");

	if (outcome)
		return outcome;
	options.rate = (struct tc_ratespec){ .rate = (uint32_t)(rate_mbit * 125000),
		                             .cell_log = CELL_LOG,
		                             .linklayer = TC_LINKLAYER_ETHERNET };
	options.buffer = (uint32_t)(BURST * ns_a_byte / 1000 * ticks_in_us());
	for (uint32_t i = 0; i < 256; i++)
		times[i] = (uint32_t)((i + 1) * (1u << CELL_LOG) * ns_a_byte / 1000 *
		                      ticks_in_us());
	within = message_add(&message, TCA_OPTIONS, NULL, 0);
	message_add(&message, TCA_TBF_PARMS, &options, sizeof(options));
	message_add(&message, TCA_TBF_RTAB, times, sizeof(times));
	message_close(&message, within);
	if (!ask(&message))
		return 0;
	if (errno == ENOENT || errno == EOPNOTSUPP)
		return unsupported("this kernel cannot limit a rate (it has no tbf, sch_tbf)");
	return fail("netlink: setting a rate");
}

/* ---- Both ends ---- */

static int settle(const char *v4, const char *v6, const struct wire *wire)
{
	int outcome;

	if ((outcome = set_link(end_name, wire->mtu)) || (outcome = add_address(AF_INET, v4, 24)) ||
	    (outcome = add_address(AF_INET6, v6, 64)))
		return outcome;
	if ((wire->delay_us || wire->rate_mbit) && ticks_in_us() <= 0)
		return unsupported(
			"a wire needs the packet scheduler's clock, and /proc/net/psched "
			"does not tell it: leave out delay_us and rate_mbit");
	if (wire->delay_us || wire->loss_ppm)
		return set_netem(wire);
	return wire->rate_mbit ? set_rate(wire->rate_mbit) : 0;
}

int namespace_join(pid_t far_end, const struct wire *wire)
{
	int outcome = make_pair(far_end);

	return outcome ? outcome : settle(NAMESPACE_NEAR, NAMESPACE_NEAR_6, wire);
}

int namespace_settle(const struct wire *wire)
{
	return settle(NAMESPACE_FAR, NAMESPACE_FAR_6, wire);
}

#else

int namespace_alone(uint64_t *is_alone)
{
	*is_alone = 0;
	return 0;
}

int namespace_enter(void)
{
	return unsupported("network namespaces need Linux");
}

int namespace_join(pid_t far_end, const struct wire *wire)
{
	(void)far_end;
	(void)wire;
	return namespace_enter();
}

int namespace_settle(const struct wire *wire)
{
	(void)wire;
	return namespace_enter();
}

#endif
