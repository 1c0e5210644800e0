/* web_files.h -- SURGE's file set on a web server, and the users that ask for it: what the
 * workloads of such users share. */
#ifndef STEELYARD_SERVER_WEB_FILES_H
#define STEELYARD_SERVER_WEB_FILES_H

#include "../../loadgen/surge/users.h"
#include "web.h"

enum { CONTENT_MOST = 4000 };

extern struct web_users_order {
	uint64_t     off_permille, pauses_within, parallel, session;
	struct shape shape;
	char         content[CONTENT_MOST + 1];
} web_users_order;

/* The number of users goes to `users`, and is at least that. */
#define WEB_USERS_PARAMETERS(users, least)                                                      \
	NUMBER("user_equivalents", "users at once", users, least, 1000000),                     \
		NUMBER("off_permille", "scale of the users' pauses; 1000: as published",        \
	               &web_users_order.off_permille, 1, 1000000),                              \
		NUMBER("pauses_within", "1: pauses between the files of an object, too",        \
	               &web_users_order.pauses_within, 0, 1),                                   \
		NUMBER("parallel", "connections of a user", &web_users_order.parallel, 1,       \
	               PARALLEL_MOST),                                                          \
		NUMBER("session", "objects until a user ends its connections, in the mean",     \
	               &web_users_order.session, 1, 1000000),                                   \
		NUMBER("files", "in the file set", &web_users_order.shape.files, FILES_LEAST,   \
	               FILES_MOST),                                                             \
		NUMBER("size_most", "bytes in a file", &web_users_order.shape.size_most,        \
	               SIZE_LEAST_MOST, SIZE_MOST_MOST),                                        \
		STRING("content",                                                               \
	               "of a server that runs: the directory that it serves, for the file set", \
	               web_users_order.content, CONTENT_MOST)

/* Makes the file set and serves it: by a server of the trial's own, or by one that runs, which must
 * have the very files. Sets the options of a load by that many users. Returns an outcome. */
int web_files_serve(uint64_t count, struct options *options, struct users *users);
/* Ends the server, and forgets the files. */
void web_files_end(void);

#endif
