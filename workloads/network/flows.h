/* flows.h -- one or many flows to the far end, each with a thread where there are several; and what
 * they cost at both ends.
 *
 * A workload fills a `struct flows`, and hands these functions on as its hooks.
 */
#ifndef STEELYARD_FLOWS_H
#define STEELYARD_FLOWS_H

#include "../../base/histogram.h"
#include "peer.h"

struct flow {
	uint64_t          number;
	unsigned          lane; /* of a flow with two sockets: 0 or 1 */
	int               socket;
	uint64_t          sent;     /* datagrams */
	uint64_t          lost;     /* those without an answer in time */
	int               answered; /* whether any has been */
	unsigned char    *bytes;    /* order_room() */
	struct histogram *latencies;
};

struct flows {
	unsigned  lanes; /* sockets of a flow, each with a thread of its own; 0 is 1 */
	enum role roles[2];
	int (*begin)(struct flow *flow); /* after it is connected; or NULL */
	int (*perform)(struct flow *flow, uint64_t operations);
	/* The same, with each operation's time in flow->latencies; or NULL. */
	int (*perform_each)(struct flow *flow, uint64_t operations);
	int is_connecting; /* each operation makes its own connection: the flow has none */
};

/* In setup: opens the peer and the flows, and performs one operation of each. Returns an
 * outcome. */
int flows_open(const struct flows *flows);
/* A workload's before and run: the operations are divided among the flows. */
int flows_before(uint64_t operations);
int flows_run(uint64_t operations);
/* In teardown; safe after half a setup. Then they may be opened again. */
void flows_close(void);

/* What is reported covers the batches of the last size: all processor time of this machine for a
 * unit, and that of each end's own process, and the rest of this machine's, which is interrupts,
 * kernel threads, and whatever else runs. A unit is an operation, or a KB (1024 bytes) where
 * `flows_unit_bytes` are what one moves. */
extern uint64_t        flows_reported_ns;
extern const uint64_t *flows_unit_bytes;
int flows_report_demand(uint64_t operations);
int flows_report_near(uint64_t operations);
int flows_report_far(uint64_t operations);
int flows_report_rest(uint64_t operations);
/* Of all of this machine's busy time: what was in soft interrupts, in whichever part above. */
int flows_report_softirq(uint64_t operations);
int flows_report_round_trip(uint64_t operations);
int flows_report_retransmits(uint64_t operations);
int flows_report_window(uint64_t operations);
int flows_report_lost(uint64_t operations);
/* Performs that many more operations, each with its time. */
int flows_report_latency_50(uint64_t operations);
int flows_report_latency_90(uint64_t operations);
int flows_report_latency_99(uint64_t operations);
int flows_report_latency_99_9(uint64_t operations);
extern uint64_t flows_latencies;

#define FLOWS_REPORT(name, function, unit) \
	{ .metric = (name), .run = (function), .reported = &flows_reported_ns, .per = (unit) }
#define FLOWS_COUNT(name, function, unit_) \
	{ .metric = (name), .run = (function), .reported = &flows_reported_ns, .unit = (unit_) }
#define FLOWS_COSTS(unit)                                      \
	FLOWS_REPORT("demand", flows_report_demand, unit),     \
		FLOWS_REPORT("near", flows_report_near, unit), \
		FLOWS_REPORT("far", flows_report_far, unit),   \
		FLOWS_REPORT("rest", flows_report_rest, unit), \
		FLOWS_COUNT("softirq", flows_report_softirq, "per mille of demand")
#define FLOWS_LATENCIES                                                    \
	FLOWS_REPORT("latency_50", flows_report_latency_50, NULL),         \
		FLOWS_REPORT("latency_90", flows_report_latency_90, NULL), \
		FLOWS_REPORT("latency_99", flows_report_latency_99, NULL), \
		FLOWS_REPORT("latency_99_9", flows_report_latency_99_9, NULL)
/* What TCP says of its flows at the end, and which share of the datagrams of a stream was lost. */
#define FLOWS_TCP                                                                 \
	FLOWS_REPORT("round_trip", flows_report_round_trip, "segment"),           \
		FLOWS_COUNT("retransmits", flows_report_retransmits, "segments"), \
		FLOWS_COUNT("window", flows_report_window, "segments")
#define FLOWS_LOSS FLOWS_COUNT("lost", flows_report_lost, "datagrams per million")
#define FLOWS_LATENCY_PARAMETER                                                             \
	NUMBER("latencies", "additional operations, timed one by one", &flows_latencies, 1, \
	       10000000)

#endif
