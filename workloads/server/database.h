/* database.h -- statements of SQL to a database server, or to SQLite, and their answers.
 *
 * Which database it is, the server's description says (`speaks`): each is one dialect, in a file of
 * its own. Statements are text, one at a time, and each is a transaction. What a server answers is
 * distrusted. Functions return outcomes.
 */
#ifndef STEELYARD_SERVER_DATABASE_H
#define STEELYARD_SERVER_DATABASE_H

#include <stdint.h>

#include "crowd.h"
#include "wire.h"

enum { CELLS_MOST = 4, CELL_MOST = 255, STATEMENT_MOST = 16384 };

struct answer {
	uint64_t rows;     /* that came */
	uint64_t affected; /* rows that the statement made, changed or removed */
	unsigned columns;
	char     cells[CELLS_MOST][CELL_MOST + 1]; /* of the last row, as text */
};

struct link {
	struct wire   wire;
	void         *handle; /* SQLite's */
	char          statement[STATEMENT_MOST];
	struct answer answer;
};

struct dialect {
	const char *name;
	int (*open)(struct link *link);
	/* Has the link's statement executed, and fills the link's answer. */
	int (*ask)(struct link *link);
	void (*close)(struct link *link);
};
extern const struct dialect dialect_postgresql, dialect_mysql, dialect_sqlite;

/* In setup: starts the database that the parameter `server` describes, and the clients, each with a
 * link of its own, which `work` uses. database_end is for teardown. */
struct database_work {
	int (*arrange)(struct link *link); /* before the clients begin, by the link of no client; or
	                                      NULL */
	int (*perform)(unsigned client, struct link *link, uint64_t number);
	int (*check)(struct link *link, uint64_t operations); /* behind all batches; or NULL */
};
int database_start(const struct database_work *work);
void database_end(void);

/* Executes a statement that affects that many rows, or (database_select) that answers with one
 * row. */
__attribute__((format(printf, 3, 4))) int database_change(struct link *link, uint64_t affected,
                                                          const char *format, ...);
__attribute__((format(printf, 2, 3))) int database_select(struct link *link, const char *format,
                                                          ...);
/* Whether a cell of the last answer is that text, or that number. */
int database_expect(const struct link *link, unsigned column, const char *text);
int database_expect_number(const struct link *link, unsigned column, uint64_t number);

/* Fills a cell of an answer; says so where it does not fit. */
int answer_put(struct answer *answer, unsigned column, const void *bytes, size_t count);

/* The rows of all workloads' tables: id, a number, and words that follow from the id. */
enum { WORDS_LENGTH = 100 };
#define DATABASE_COLUMNS \
	"(id INTEGER PRIMARY KEY, number INTEGER NOT NULL, words VARCHAR(100) NOT NULL)"
void words_of(uint64_t id, char words[WORDS_LENGTH + 1]);
/* Makes a new table `items`, with `rows` rows whose numbers are 0. */
int items_make(struct link *link, uint64_t rows);

#endif
