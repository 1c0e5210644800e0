/* database.c -- see database.h. */
#include "database.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../api/workload.h"
#include "server.h"

enum { ROWS_AT_ONCE = 100 };

static const struct dialect *const dialects[] = { &dialect_postgresql, &dialect_mysql,
	                                          &dialect_sqlite };

static struct {
	const struct dialect       *dialect;
	const struct database_work *work;
	struct link                *links[CLIENTS_MOST + 1]; /* the last is no client's */
} s;

/* ---- Statements ---- */

int answer_put(struct answer *answer, unsigned column, const void *bytes, size_t count)
{
	if (column >= CELLS_MOST || count > CELL_MOST)
		return fail_check("the database answered with more than was asked for");
	memcpy(answer->cells[column], bytes, count);
	answer->cells[column][count] = 0;
	return 0;
}

static int ask(struct link *link, const char *format, va_list arguments)
{
	int length = vsnprintf(link->statement, sizeof(link->statement), format, arguments);

	if (length < 0 || length >= (int)sizeof(link->statement))
		return fail_check("a statement is longer than %d bytes", STATEMENT_MOST);
	link->answer = (struct answer){ .rows = 0 };
	return s.dialect->ask(link);
}

int database_change(struct link *link, uint64_t affected, const char *format, ...)
{
	va_list arguments;
	int     outcome;

	va_start(arguments, format);
	outcome = ask(link, format, arguments);
	va_end(arguments);
	if (!outcome && link->answer.rows)
		return fail_check("'%.60s' gave rows, which it cannot", link->statement);
	if (outcome || link->answer.affected == affected)
		return outcome;
	return fail_check("'%.60s' affected %llu rows in place of %llu", link->statement,
	                  (unsigned long long)link->answer.affected, (unsigned long long)affected);
}

int database_select(struct link *link, const char *format, ...)
{
	va_list arguments;
	int     outcome;

	va_start(arguments, format);
	outcome = ask(link, format, arguments);
	va_end(arguments);
	if (outcome || link->answer.rows == 1)
		return outcome;
	return fail_check("'%.60s' gave %llu rows in place of 1", link->statement,
	                  (unsigned long long)link->answer.rows);
}

int database_expect(const struct link *link, unsigned column, const char *text)
{
	const struct answer *answer = &link->answer;

	if (column < answer->columns && !strcmp(answer->cells[column], text))
		return 0;
	return fail_check("'%.60s' answered '%.100s' in place of '%.100s'", link->statement,
	                  column < answer->columns ? answer->cells[column] : "", text);
}

int database_expect_number(const struct link *link, unsigned column, uint64_t number)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	return database_expect(link, column, text);
}

/* ---- The common table ---- */

void words_of(uint64_t id, char words[WORDS_LENGTH + 1])
{
	uint64_t state = crowd_random_of(id, 3);

	for (int i = 0; i < WORDS_LENGTH; i++) {
		uint64_t drawn = random_next(&state) % 32;

		words[i] = drawn < 26 ? (char)('a' + drawn) : ' ';
	}
	words[WORDS_LENGTH - 1] = '.'; /* no space at the end, which some databases do not
	                                  compare */
	words[WORDS_LENGTH] = 0;
}

static int insert_many(struct link *link, uint64_t from, uint64_t below)
{
	static char values[ROWS_AT_ONCE * (WORDS_LENGTH + 40)];
	char        words[WORDS_LENGTH + 1];
	size_t      used = 0;

	for (uint64_t id = from; id < below; id++) {
		words_of(id, words);
		used += (size_t)snprintf(values + used, sizeof(values) - used, "%s(%llu, 0, '%s')",
		                         used ? "," : "", (unsigned long long)id, words);
	}
	return database_change(link, below - from, "INSERT INTO items VALUES %s", values);
}

int items_make(struct link *link, uint64_t rows)
{
	int outcome = database_change(link, 0, "CREATE TABLE items " DATABASE_COLUMNS);

	for (uint64_t id = 0; id < rows && !outcome; id += ROWS_AT_ONCE)
		outcome = insert_many(link, id,
		                      id + ROWS_AT_ONCE < rows ? id + ROWS_AT_ONCE : rows);
	return outcome;
}

/* ---- Links ---- */

static int make_link(unsigned number)
{
	s.links[number] = calloc(1, sizeof(*s.links[number]));
	if (!s.links[number])
		return fail("calloc");
	s.links[number]->wire.socket = -1;
	return s.dialect->open(s.links[number]);
}

static void end_link(unsigned number)
{
	if (s.links[number])
		s.dialect->close(s.links[number]);
	free(s.links[number]);
	s.links[number] = NULL;
}

static int perform(unsigned client, uint64_t number)
{
	return s.work->perform(client, s.links[client], number);
}

static int check(uint64_t operations)
{
	return s.work->check ? s.work->check(s.links[CLIENTS_MOST], operations) : 0;
}

static int find_dialect(void)
{
	const char *name = server_says("speaks", "");

	for (size_t i = 0; i < sizeof(dialects) / sizeof(*dialects); i++)
		if (!strcmp(name, dialects[i]->name))
			s.dialect = dialects[i];
	if (s.dialect)
		return 0;
	return fail_check(
		"the server is no database: it speaks '%.40s', and not postgresql, mysql or sqlite",
		name);
}

int database_start(const struct database_work *work)
{
	static const struct crowd crowd = {
		.begin = make_link, .perform = perform, .end = end_link, .check = check
	};
	int outcome;

	s.work = work;
	if ((outcome = server_prepare()) || (outcome = find_dialect()))
		return outcome;
	if (s.dialect != &dialect_sqlite && (outcome = server_start()))
		return outcome;
	outcome = make_link(CLIENTS_MOST);
	if (!outcome && work->arrange)
		outcome = work->arrange(s.links[CLIENTS_MOST]);
	if (outcome)
		return server_explain(outcome);
	return crowd_start(&crowd);
}

void database_end(void)
{
	crowd_end();
	end_link(CLIENTS_MOST);
	server_end();
}
