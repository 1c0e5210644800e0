/* meter.h -- what a phase of file work cost, and how long single operations took.
 *
 * Reported beside the time: the latencies of operations; the processor time of this process, and of
 * the whole machine, because what a kernel writes back later stands in no process's account; the
 * bytes that the device of the directory read and wrote, for any process; and how much of the
 * file was in the cache before. All cover the batches of the last size, which are the measured
 * ones, and are per operation.
 *
 * An operation in every few is timed, at random, so that reading the clock costs a hundredth of it
 * at most.
 */
#ifndef STEELYARD_STORAGE_METER_H
#define STEELYARD_STORAGE_METER_H

#include <stdint.h>

#include "../../base/histogram.h"
#include "../api/system.h"
#include "../api/workload.h"

enum { LANES_MOST = 64 };

/* Where one thread counts its latencies. */
struct lane {
	struct histogram *latencies;
	uint64_t          timed, timed_ns; /* how many were, and how long they took */
	uint32_t          state, until;    /* the latter: operations until the next that is timed */
};

/* In setup: that many threads will count. */
int meter_begin(uint64_t lanes);
void meter_end(void);
/* The first thing in `before`, untimed: closes the account of the batch before. The last thing
 * there: opens that of the next one, of whose file that many bytes are in the cache (UINT64_MAX:
 * not known). */
void meter_close(void);
void meter_open(uint64_t operations, uint64_t resident);

extern struct lane meter_lanes[LANES_MOST];

void lane_note(struct lane *lane, uint64_t began_ns);

/* Around an operation: what lane_began says is for lane_ended. */
INLINED uint64_t lane_began(struct lane *lane)
{
	return --lane->until ? 0 : clock_ns();
}

INLINED void lane_ended(struct lane *lane, uint64_t began_ns)
{
	if (began_ns)
		lane_note(lane, began_ns);
}

extern uint64_t meter_reported;
int meter_latency_50(uint64_t operations);
int meter_latency_99(uint64_t operations);
int meter_latency_99_9(uint64_t operations);
int meter_processor(uint64_t operations);
int meter_machine(uint64_t operations);
int meter_device_read(uint64_t operations);
int meter_device_written(uint64_t operations);
int meter_resident(uint64_t operations);

#define METERED(name, function, unit_) \
	{ .metric = (name), .run = (function), .reported = &meter_reported, .unit = (unit_) }
/* After the timed phase. `latency_50` is meter_latency_50, or a function that ends with it. */
#define METER_PHASES                                                                    \
	METERED("latency_50", meter_latency_50, NULL),                                  \
		METERED("latency_99", meter_latency_99, NULL),                          \
		METERED("latency_99_9", meter_latency_99_9, NULL),                      \
		METERED("processor", meter_processor, NULL),                            \
		METERED("machine", meter_machine, NULL),                                \
		METERED("device_read", meter_device_read, "bytes per operation"),       \
		METERED("device_written", meter_device_written, "bytes per operation"), \
		METERED("resident", meter_resident, "bytes of the file")

#endif
