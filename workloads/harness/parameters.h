/* parameters.h -- numbers from outside, by one strict door. */
#ifndef STEELYARD_PARAMETERS_H
#define STEELYARD_PARAMETERS_H

#include <stddef.h>
#include <stdint.h>

#include "../api/workload.h"

/* Takes the next word, up to a space, from *rest as parse_number does, and moves *rest behind it. */
int take_number(char **rest, uint64_t *value);

/* How many parameters a request may set. */
enum { SETTINGS_MOST = 32 };

/* Puts back what set_parameter has changed: each request begins with the initial values. */
void parameters_restore(void);

/* Sets one `name=value` in the table that knows the name; tables end with a NULL name, NULL tables
 * are skipped. Returns 0, or -1 with a sentence in `why`. */
int set_parameter(const struct parameter *const tables[], size_t table_count, const char *setting,
                  char *why, size_t why_room);

/* Whether a table knows the name of that setting; what is no setting at all is left to set_parameter. */
int set_parameter_knows(const struct parameter *const tables[], size_t table_count, const char *setting);

#endif
