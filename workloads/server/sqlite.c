/* sqlite.c -- SQLite, the database without a server: a library that is linked where it is found. */
#include <stdio.h>
#include <string.h>

#include "../api/workload.h"
#include "database.h"
#include "server.h"

#ifdef STEELYARD_SQLITE

#include <sqlite3.h>

enum { PATH_LONGEST = 4096 };

/* Stands for dlopen in the library (--wrap of the linker): no extensions. */
void *__wrap_dlopen(const char *file, int mode);
void *__wrap_dlopen(const char *file, int mode)
{
	(void)file;
	(void)mode;
	return NULL;
}

static int refuse(const struct link *link)
{
	return fail_check("SQLite refused: %.200s", sqlite3_errmsg(link->handle));
}

static int sqlite_open(struct link *link)
{
	char     path[PATH_LONGEST];
	sqlite3 *opened = NULL;
	int      code;

	snprintf(path, sizeof(path), "%s/database", server_directory());
	code = sqlite3_open_v2(path, &opened,
	                       SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
	                       NULL);
	link->handle = opened;
	if (!opened)
		return fail_check("SQLite has no memory");
	if (code != SQLITE_OK)
		return refuse(link);
	sqlite3_busy_timeout(opened, (int)crowd_timeout_ms);
	return 0;
}

static int take_row(struct answer *answer, sqlite3_stmt *statement)
{
	answer->columns = (unsigned)sqlite3_column_count(statement);
	answer->rows++;
	for (unsigned i = 0; i < answer->columns; i++) {
		const unsigned char *text = sqlite3_column_text(statement, (int)i);
		int                  outcome;

		if (!text)
			return fail_check("SQLite answered with a null");
		outcome = answer_put(answer, i, text,
		                     (size_t)sqlite3_column_bytes(statement, (int)i));
		if (outcome)
			return outcome;
	}
	return 0;
}

static int sqlite_ask(struct link *link)
{
	sqlite3_stmt *statement;
	int           code, outcome = 0, before = sqlite3_total_changes(link->handle);

	if (sqlite3_prepare_v2(link->handle, link->statement, -1, &statement, NULL) != SQLITE_OK)
		return refuse(link);
	while (!outcome && (code = sqlite3_step(statement)) == SQLITE_ROW)
		outcome = take_row(&link->answer, statement);
	if (!outcome && code != SQLITE_DONE)
		outcome = refuse(link);
	sqlite3_finalize(statement);
	link->answer.affected = (uint64_t)(sqlite3_total_changes(link->handle) - before);
	return outcome;
}

static void sqlite_close(struct link *link)
{
	sqlite3_close(link->handle);
	link->handle = NULL;
}

#else

static int sqlite_open(struct link *link)
{
	(void)link;
	return unsupported("this program was built without SQLite");
}

static int sqlite_ask(struct link *link)
{
	return sqlite_open(link);
}

static void sqlite_close(struct link *link)
{
	(void)link;
}

#endif

const struct dialect dialect_sqlite = {
	.name = "sqlite",
	.open = sqlite_open,
	.ask = sqlite_ask,
	.close = sqlite_close,
};
