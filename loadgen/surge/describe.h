/* describe.h -- writes a model as records, to look at it or to test it. */
#ifndef STEELYARD_SURGE_DESCRIBE_H
#define STEELYARD_SURGE_DESCRIBE_H

#include "users.h"

/* What stands in every record of a load. */
void describe_model(const struct users *users);

/* Files, references, and that many draws of each time. Returns 0, or -1 with errno. */
int describe_all(const struct users *users, uint64_t seed, uint64_t draws);

#endif
