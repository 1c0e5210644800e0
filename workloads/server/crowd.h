/* crowd.h -- clients that each wait for an answer before they ask again: a closed load, by threads.
 *
 * The operations of a batch have numbers, and each client takes the next one when it is free. What
 * an operation is follows from its number and the seed alone, so every system gets the same ones.
 */
#ifndef STEELYARD_SERVER_CROWD_H
#define STEELYARD_SERVER_CROWD_H

#include <stdint.h>

#include "../../loadgen/arrivals.h"
#include "../api/workload.h"
#include "reports.h"

enum { CLIENTS_MOST = 256, KINDS_MOST = 8 };
extern uint64_t crowd_clients, crowd_seed, crowd_timeout_ms;

#define CROWD_PARAMETERS                                                                        \
	NUMBER("clients", "clients, each of which waits for an answer before the next request", \
	       &crowd_clients, 1, CLIENTS_MOST),                                                \
		NUMBER("load_seed", "of all that is random", &crowd_seed, 0, UINT32_MAX),       \
		NUMBER("timeout_ms", "after which an answer is not waited for any more",        \
	               &crowd_timeout_ms, 1, 600000)

/* What a client does, in a thread of its own. Hooks return outcomes. */
struct crowd {
	int (*begin)(unsigned client);
	int (*perform)(unsigned client, uint64_t number); /* one operation */
	void (*end)(unsigned client);                     /* also after half a begin */
	/* Called once behind all batches, with how many operations there were in all; or NULL. */
	int (*check)(uint64_t operations);
};

/* Within perform: a part of that kind, from 1, began then and is over. */
void crowd_part(unsigned client, unsigned kind, uint64_t began_ns);

/* In setup, with the server ready: starts the clients, and waits until each has begun. */
int crowd_start(const struct crowd *crowd);
/* In teardown; safe after half a setup. */
void crowd_end(void);

int crowd_before(uint64_t operations);
int crowd_run(uint64_t operations);

/* As report_server; then has what was done checked. */
int crowd_report_server(uint64_t operations);
/* The median of the parts of a kind. */
int crowd_report_part(unsigned kind);

#define CROWD_PHASES { .metric = "time", .run = crowd_run }, REPORTS(crowd_report_server)

/* A state for random_next (random.h) that follows from the seed and two numbers. */
uint64_t crowd_random_of(uint64_t number, uint64_t other);

#endif
