/* flows.c -- see flows.h. */
#include "flows.h"

#include <stdlib.h>
#include <unistd.h>

#include "../api/system.h"
#include "../api/team.h"

enum { WORKERS_MOST = 2 * FLOWS_MOST, TICKS_LEAST = 10 };

uint64_t        flows_reported_ns, flows_latencies = 2000;
const uint64_t *flows_unit_bytes;

typedef int perform_t(struct flow *flow, uint64_t operations);

static struct {
	const struct flows *flows;
	struct flow         workers[WORKERS_MOST];
	unsigned            count;
	uint64_t            operations;
	perform_t          *perform;
} s;

/* ---- Threads ---- */

static uint64_t share_of(const struct flow *flow, uint64_t operations)
{
	return operations / peer_order.flows + (flow->number < operations % peer_order.flows);
}

/* The first to fail ends all: a far end that is gone answers nobody. */
static void end_all(void)
{
	for (unsigned i = 0; i < s.count; i++)
		if (s.workers[i].socket >= 0)
			shutdown(s.workers[i].socket, SHUT_RDWR);
}

static int work(unsigned member)
{
	uint64_t operations = share_of(&s.workers[member], s.operations);

	return operations ? s.perform(&s.workers[member], operations) : 0;
}

static int run_by(perform_t *perform, uint64_t operations)
{
	s.perform = perform;
	s.operations = operations;
	return team_run(work, operations);
}

/* ---- Flows ---- */

static int flow_open(struct flow *flow, unsigned worker, unsigned lanes)
{
	size_t room = order_room(&peer_order);
	int    outcome = 0;

	*flow = (struct flow){ .number = worker / lanes,
		               .lane = worker % lanes,
		               .socket = -1,
		               .bytes = aligned_take(4096, room),
		               .latencies = s.flows->perform_each
		                                    ? calloc(1, sizeof(struct histogram))
		                                    : NULL };
	if (!flow->bytes || (s.flows->perform_each && !flow->latencies))
		return fail("calloc");
	memset(flow->bytes, 0xaa, room);
	if (!s.flows->is_connecting)
		outcome = peer_connect(flow->number, s.flows->roles[flow->lane], &flow->socket);
	if (!outcome && s.flows->begin)
		outcome = s.flows->begin(flow);
	return outcome;
}

int flows_open(const struct flows *flows)
{
	unsigned lanes = flows->lanes ? flows->lanes : 1,
		 wanted = (unsigned)peer_order.flows * lanes;
	int      outcome;

	s.flows = flows;
	peer_order.role = flows->roles[0];
	if ((outcome = peer_open()))
		return outcome;
	for (; s.count < wanted && !outcome; s.count++)
		outcome = flow_open(&s.workers[s.count], s.count, lanes);
	if (outcome || (s.count > 1 && (outcome = team_start(s.count, end_all))))
		return outcome;
	return run_by(flows->perform, peer_order.flows); /* when it is over, the far end is there */
}

void flows_close(void)
{
	team_end();
	for (unsigned i = 0; i < s.count; i++) {
		if (s.workers[i].socket >= 0)
			close(s.workers[i].socket);
		aligned_give(s.workers[i].bytes);
		free(s.workers[i].latencies);
	}
	s.count = 0;
	peer_close();
}

/* ---- What it costs ---- */

static struct {
	struct cost         near, far;
	struct machine_busy machine; /* zeros: it does not say */
	uint64_t            at_ns;
} mark, used;
static uint64_t counted_operations, done_operations;

static int take_costs(struct cost *near, struct cost *far)
{
	near->used_ns = own_processor_ns();
	return peer_cost(far);
}

int flows_before(uint64_t operations)
{
	int outcome = 0;

	if (operations != counted_operations) {
		counted_operations = operations;
		done_operations = 0;
		outcome = take_costs(&mark.near, &mark.far);
		mark.machine = machine_busy();
		mark.at_ns = clock_ns();
	}
	done_operations += operations;
	return outcome;
}

int flows_run(uint64_t operations)
{
	return run_by(s.flows->perform, operations);
}

static int not_known(void)
{
	flows_reported_ns = 0;
	return 0;
}

/* 0 means that it is not known, so the least is 1. Where hardly anything was done, many processors
 * may have used more for a unit than the trial took: then nothing is known, either. */
static int report(double total_ns)
{
	double units = (double)done_operations;

	if (flows_unit_bytes)
		units *= (double)*flows_unit_bytes / 1024;
	if (total_ns <= 0 || total_ns / units > (double)(used.at_ns - mark.at_ns))
		return not_known();
	flows_reported_ns = total_ns / units < 1 ? 1 : (uint64_t)(total_ns / units + 0.5);
	return 0;
}

static double busy_ns(void)
{
	/* Of a moment: by ticks, either way. */
	return (double)(int64_t)(used.machine.ns - mark.machine.ns);
}

/* The first of them: takes what all of them report. */
int flows_report_demand(uint64_t operations)
{
	int outcome;

	(void)operations;
	used.machine = machine_busy();
	used.at_ns = clock_ns();
	outcome = take_costs(&used.near, &used.far);
	if (outcome)
		return outcome;
	return mark.machine.ns ? report(busy_ns()) : not_known();
}

static double own_ns(const struct cost *now, const struct cost *before)
{
	return (double)(now->used_ns - before->used_ns);
}

int flows_report_near(uint64_t operations)
{
	(void)operations;
	return report(own_ns(&used.near, &mark.near));
}

int flows_report_far(uint64_t operations)
{
	(void)operations;
	return report(own_ns(&used.far, &mark.far));
}

/* Where both ends share the machine, both are taken off. */
int flows_report_rest(uint64_t operations)
{
	double ends_ns = own_ns(&used.near, &mark.near);

	(void)operations;
	if (peer_is_here())
		ends_ns += own_ns(&used.far, &mark.far);
	return mark.machine.ns ? report(busy_ns() - ends_ns) : not_known();
}

int flows_report_softirq(uint64_t operations)
{
	uint64_t all = used.machine.ticks - mark.machine.ticks;

	(void)operations;
	flows_reported_ns =
		all < TICKS_LEAST
			? UINT64_MAX
			: 1000 * (used.machine.softirq_ticks - mark.machine.softirq_ticks) / all;
	return 0;
}

#ifdef __linux__
static int ask_tcp(const struct flow *flow, struct tcp_info *info)
{
	socklen_t length = sizeof(*info);

	memset(info, 0, sizeof(*info));
	return getsockopt(flow->socket, IPPROTO_TCP, TCP_INFO, info, &length);
}

/* Of the first flow, as TCP itself estimates it, smoothed. */
int flows_report_round_trip(uint64_t operations)
{
	struct tcp_info info;

	(void)operations;
	flows_reported_ns = ask_tcp(&s.workers[0], &info) ? 0 : (uint64_t)info.tcpi_rtt * 1000;
	return 0;
}

/* Of all flows of this end. */
int flows_report_retransmits(uint64_t operations)
{
	struct tcp_info info;

	(void)operations;
	flows_reported_ns = 0;
	for (unsigned i = 0; i < s.count && flows_reported_ns != UINT64_MAX; i++)
		flows_reported_ns = ask_tcp(&s.workers[i], &info)
		                            ? UINT64_MAX
		                            : flows_reported_ns + info.tcpi_total_retrans;
	return 0;
}

/* The first flow's congestion window. */
int flows_report_window(uint64_t operations)
{
	struct tcp_info info;

	(void)operations;
	flows_reported_ns = ask_tcp(&s.workers[0], &info) || !info.tcpi_snd_cwnd
	                            ? UINT64_MAX
	                            : info.tcpi_snd_cwnd;
	return 0;
}
#else
int flows_report_round_trip(uint64_t operations)
{
	(void)operations;
	return not_known();
}

int flows_report_retransmits(uint64_t operations)
{
	(void)operations;
	flows_reported_ns = UINT64_MAX;
	return 0;
}

int flows_report_window(uint64_t operations)
{
	return flows_report_retransmits(operations);
}
#endif

/* Of a million that this end has sent, in all: of transactions those that timed out, of a stream
 * those that have not come to the far end by now. */
int flows_report_lost(uint64_t operations)
{
	uint64_t sent = 0, lost = 0;

	(void)operations;
	for (unsigned i = 0; i < s.count; i++) {
		sent += s.workers[i].sent;
		lost += s.workers[i].lost;
	}
	if (peer_order.role == ROLE_SEND)
		lost = sent > used.far.datagrams ? sent - used.far.datagrams : 0;
	flows_reported_ns = sent ? (uint64_t)(1e6 * (double)lost / (double)sent) : UINT64_MAX;
	return 0;
}

/* ---- Latencies ---- */

static struct histogram latencies;

static int report_quantile(double share)
{
	flows_reported_ns = histogram_quantile(&latencies, share);
	return 0;
}

int flows_report_latency_50(uint64_t operations)
{
	uint64_t each = (flows_latencies + peer_order.flows - 1) / peer_order.flows;
	int      outcome = run_by(s.flows->perform_each, each * peer_order.flows);

	(void)operations;
	for (unsigned i = 0; i < s.count; i++)
		histogram_merge(&latencies, s.workers[i].latencies);
	return outcome ? outcome : report_quantile(0.5);
}

int flows_report_latency_90(uint64_t operations)
{
	(void)operations;
	return report_quantile(0.9);
}

int flows_report_latency_99(uint64_t operations)
{
	(void)operations;
	return report_quantile(0.99);
}

int flows_report_latency_99_9(uint64_t operations)
{
	(void)operations;
	return report_quantile(0.999);
}
