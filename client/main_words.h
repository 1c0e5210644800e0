/* main_words.h -- what a command line asks of the load generator, in words name=value. */
#ifndef STEELYARD_CLIENT_MAIN_WORDS_H
#define STEELYARD_CLIENT_MAIN_WORDS_H

#include "../loadgen/client.h"
#include "../loadgen/surge/users.h"

enum { WORDS_HELP = -1 };

/* SURGE's, if that is the model. */
struct asked_model {
	int          is_surge;
	struct shape shape;
	struct users users;
	const char  *content;  /* the directory into which the files are to be written; or NULL */
	uint64_t     describe; /* draws; 0: load the server */
};

/* Returns 0; WORDS_HELP if help was asked for and printed; or 2 with a sentence said. */
int words_read(int count, char **word, struct options *options, struct asked_model *model);

#endif
