/* parameters.h -- what a request may set by `name=value`. */
#ifndef STEELYARD_PARAMETERS_H
#define STEELYARD_PARAMETERS_H

#include <stddef.h>
#include <stdint.h>

/* A number from `least` to `most`, or a text. */
struct parameter {
	const char *name;
	const char *summary;
	uint64_t   *value; /* the initial value, until a request sets it */
	uint64_t    least, most;
	char       *text; /* instead of value; has room for `most` bytes and a NUL */
};
#define NUMBER(name_, summary_, value_, least_, most_) \
	{ .name = (name_),                             \
	  .summary = (summary_),                       \
	  .value = (value_),                           \
	  .least = (least_),                           \
	  .most = (most_) }
#define STRING(name_, summary_, text_, most_) \
	{ .name = (name_), .summary = (summary_), .most = (most_), .text = (text_) }

/* How many parameters a request may set. */
enum { PARAMETERS_SET_MOST = 32 };

/* Puts back what set_parameter has changed: each request begins with the initial values. */
void parameters_restore(void);

/* Sets one `name=value` in the table that knows the name; tables end with a NULL name, NULL tables
 * are skipped. Returns 0, or -1 with a sentence in `why`. */
int set_parameter(const struct parameter *const tables[], size_t table_count, const char *setting,
                  char *why, size_t why_room);

/* Whether a table knows the name of that setting; what is no setting at all is left to
 * set_parameter. */
int set_parameter_knows(const struct parameter *const tables[], size_t table_count,
                        const char *setting);

#endif
