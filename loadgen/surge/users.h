/* users.h -- user equivalents: each asks for an object's files, pauses, and asks for the next
 * object. */
#ifndef STEELYARD_SURGE_USERS_H
#define STEELYARD_SURGE_USERS_H

#include "../client.h"
#include "content.h"

struct users {
	const struct surge   *surge;
	const struct content *content;
	unsigned              parallel;      /* connections of a user; HTTP/1.0 has one */
	uint64_t              off_permille;  /* scale of all pauses; 1000: as published */
	int                   pauses_within; /* active OFF times, between the files of an object */
	unsigned session; /* mean number of objects until a user ends its connections */
};

enum { PARALLEL_MOST = 16 };

/* Objects a second that these users ask for if the server takes no time. */
double users_offered(const struct users *users, unsigned count);

/* What a user waits: between objects, at first, and between the files of an object; in ns. */
uint64_t users_inactive_ns(const struct users *users, uint64_t *state);
uint64_t users_rest_ns(const struct users *users, uint64_t *state);
uint64_t users_active_ns(const struct users *users, uint64_t *state);

/* Runs users `first` to `first + count - 1` of options->clients from `began` on until the window is
 * over. */
void users_run(const struct options *options, const struct users *users, unsigned first,
               unsigned count, uint64_t began, struct result *result);

/* The same by number of files in place of time: each users_perform resumes the load where the
 * last one left it, until that many more files have ended; others are still under way then. What
 * they find is added to the result, without warm-up, window and seconds. The first returns NULL
 * with errno, the second an errno or 0. */
struct crowd *users_open(const struct options *options, const struct users *users,
                         struct result *result);
int users_perform(struct crowd *crowd, uint64_t files);
void users_close(struct crowd *crowd);

#endif
