/* main_records.h -- what the load generator found, as records: servers.md lists their
 * fields. */
#ifndef STEELYARD_CLIENT_MAIN_RECORDS_H
#define STEELYARD_CLIENT_MAIN_RECORDS_H

#include "../loadgen/client.h"
#include "../loadgen/surge/users.h"

/* Of all loops together. `users` is NULL without the SURGE model; `busy_most` is the busiest loop's
 * processor time over its time. */
void write_load(const struct options *options, const struct reference *reference,
                const struct users *users, const struct result *all, uint64_t elapsed_ns,
                double busy_most);

#endif
