/* netlink.h -- the little of the kernel's interface for links, addresses and queues that
 * namespace.c needs.
 *
 * musl's compiler does not find the kernel's own headers. The names are theirs (linux/netlink.h,
 * rtnetlink.h, if_link.h, if_addr.h, veth.h, pkt_sched.h), and so are the values, which the kernel
 * never changes.
 */
#ifndef STEELYARD_NETLINK_H
#define STEELYARD_NETLINK_H

#include <stdint.h>

enum { NETLINK_ROUTE = 0, NLMSG_ERROR = 2 };
enum {
	NLM_F_REQUEST = 1,
	NLM_F_ACK = 4,
	NLM_F_REPLACE = 0x100,
	NLM_F_EXCL = 0x200,
	NLM_F_CREATE = 0x400
};
enum { RTM_NEWLINK = 16, RTM_NEWADDR = 20, RTM_NEWQDISC = 36 };
enum { IFLA_IFNAME = 3, IFLA_MTU = 4, IFLA_LINKINFO = 18, IFLA_NET_NS_PID = 19 };
enum { IFLA_INFO_KIND = 1, IFLA_INFO_DATA = 2, VETH_INFO_PEER = 1 };
enum { IFA_ADDRESS = 1, IFA_LOCAL = 2, IFA_FLAGS = 8, IFA_F_NODAD = 2 };
enum { TCA_KIND = 1, TCA_OPTIONS = 2, TCA_TBF_PARMS = 1, TCA_TBF_RTAB = 2, TCA_NETEM_RATE = 6 };
enum { TC_LINKLAYER_ETHERNET = 1 };
#define TC_H_ROOT 0xffffffffu

struct nlmsghdr {
	uint32_t nlmsg_len;
	uint16_t nlmsg_type, nlmsg_flags;
	uint32_t nlmsg_seq, nlmsg_pid;
};

struct nlmsgerr {
	int32_t         error;
	struct nlmsghdr msg;
};

struct rtattr {
	uint16_t rta_len, rta_type;
};

struct ifinfomsg {
	uint8_t  ifi_family, ifi_pad;
	uint16_t ifi_type;
	int32_t  ifi_index;
	uint32_t ifi_flags, ifi_change;
};

struct ifaddrmsg {
	uint8_t  ifa_family, ifa_prefixlen, ifa_flags, ifa_scope;
	uint32_t ifa_index;
};

struct tcmsg {
	uint8_t  tcm_family, tcm_pad1;
	uint16_t tcm_pad2;
	int32_t  tcm_ifindex;
	uint32_t tcm_handle, tcm_parent, tcm_info;
};

struct tc_ratespec {
	uint8_t  cell_log, linklayer;
	uint16_t overhead;
	int16_t  cell_align;
	uint16_t mpu;
	uint32_t rate;
};

struct tc_tbf_qopt {
	struct tc_ratespec rate, peakrate;
	uint32_t           limit, buffer, mtu;
};

struct tc_netem_qopt {
	uint32_t latency, limit, loss, gap, duplicate, jitter;
};

struct tc_netem_rate {
	uint32_t rate;
	int32_t  packet_overhead;
	uint32_t cell_size;
	int32_t  cell_overhead;
};

#define NETLINK_ALIGN(count) (((count) + 3u) & ~3u)

#endif
