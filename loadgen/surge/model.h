/* model.h -- SURGE's file set and its sequence of references, by seed.
 *
 * After Barford and Crovella, "Generating Representative Web Workloads for Network and Server
 * Performance Evaluation" (1998): distributions and parameters from the publication, no line from
 * their program. docs/explanation/servers.md says what is as published and what was chosen here.
 */
#ifndef STEELYARD_SURGE_MODEL_H
#define STEELYARD_SURGE_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "../../base/sha256.h"
#include "chance.h"

enum {
	FILES_LEAST = 50,
	FILES_MOST = 200000,
	TOP_MOST = 1000000,
	SIZE_LEAST_MOST = 200000,
	SIZE_MOST_MOST = 1000000000,
	EMBEDDED_MOST = 149
};

/* What makes a file set and its references; the same shape gives the same on every system. */
struct shape {
	uint64_t seed, files;
	uint64_t top; /* references of the most popular file; that of rank r has top / r */
	uint64_t tail_permyriad; /* of the files, from the Pareto tail; 0: as many as make the
	                            splice continuous */
	uint64_t size_most;      /* larger sizes are drawn again */
};

enum file_class { FILE_BASE, FILE_EMBEDDED, FILE_LONER, FILE_CLASSES };

struct surge {
	struct shape shape;
	uint32_t    *sizes; /* of each file; files are numbered by popularity, from 0 */
	uint8_t     *classes;
	uint32_t     references;
	uint32_t    *reference; /* files, in the order in which they are asked for */
	uint32_t     objects;
	uint32_t *object; /* where each object begins in `reference`; one entry more, for the end */
	uint64_t  bytes;  /* of the file set */
	uint64_t  referenced_bytes;
	uint32_t  class_files[FILE_CLASSES];
	char      digest[SHA256_HEX_ROOM]; /* of all this */
};

extern const struct lognormal size_body, stack_distance;
extern const struct pareto    size_tail, request_size, embedded_files, inactive_off;
extern const struct weibull   active_off;
#define ACTIVE_OFF_MOST 1.0 /* s: longer ones belong to another regime, and are drawn again */

/* How often the file is asked for in the whole sequence. */
uint32_t surge_count(const struct shape *shape, uint32_t file);

/* Returns 0, or -1 with errno: EDOM if so few files cannot have those references. */
int surge_make(struct surge *surge, const struct shape *shape);
void surge_free(struct surge *surge);

#endif
