/* reports.h -- what a load reports beside its time: what it cost, and how long single requests
 * took.
 *
 * Each covers the batches of the last size, which are the measured ones.
 */
#ifndef STEELYARD_SERVER_REPORTS_H
#define STEELYARD_SERVER_REPORTS_H

#include <stdint.h>

#include "../../base/histogram.h"
#include "../api/workload.h"

/* In setup: where the load counts its latencies. */
void reports_begin(struct histogram *latencies);
/* Before each batch, untimed: takes the server's processor time, and forgets batches of another
 * size. Returns whether it forgot. */
int reports_before(uint64_t operations);
/* Right after a batch, which made that many requests. */
void reports_after(uint64_t requests);

extern uint64_t reported_ns;
int report_server(uint64_t operations);
int report_client(uint64_t operations);
int report_latency_50(uint64_t operations);
int report_latency_90(uint64_t operations);
int report_latency_99(uint64_t operations);
int report_latency_99_9(uint64_t operations);
/* A workload's tell, which tells "histogram": all latencies that report_latency_50 took its
 * from. */
void reports_tell(uint64_t copy, int file);

/* Writes such a record of another metric's times; none if there are none. */
void reports_tell_histogram(uint64_t copy, const char *metric, const struct histogram *histogram,
                            int file);

/* For phases of a workload's own: a time (0: not known), or what this share of all times does not
 * exceed. Both return 0. */
int report_ns(double value);
int report_quantile(const struct histogram *latencies, double share);

#define REPORT_PER(name, function, per_) \
	{ .metric = (name), .run = (function), .reported = &reported_ns, .per = (per_) }
#define REPORT(name, function) REPORT_PER(name, function, NULL)
/* `server` is report_server, or a function that ends with it; `per` is what they are for, NULL: an
 * operation. */
#define REPORTS_PER(server, per)                                                     \
	REPORT_PER("server", server, per), REPORT_PER("client", report_client, per), \
		REPORT_PER("latency_50", report_latency_50, per),                    \
		REPORT_PER("latency_90", report_latency_90, per),                    \
		REPORT_PER("latency_99", report_latency_99, per),                    \
		REPORT_PER("latency_99_9", report_latency_99_9, per)
#define REPORTS(server) REPORTS_PER(server, NULL)

#endif
