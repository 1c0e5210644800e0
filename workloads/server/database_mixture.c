/* database_mixture -- tables made, filled, asked, changed and dropped in a database by many
 * clients.
 *
 * Measures     the life of a table of the client's own: CREATE; as many INSERT, SELECT and UPDATE
 *              of single rows as `statements` says, in an order that is random by the seed, but for
 *              the first, which inserts; DROP. Each statement is a transaction of its own. "time"
 *              is the time of all tables by their number, and latencies are of a table's whole
 *              life. "create", "insert", "select", "update" and "drop" are the medians of the
 *              single statements. Otherwise as database_insert.
 * Leaves out   what database_insert leaves out.
 * Beware       what database_insert says of the disk. Every answer is checked: what a SELECT gives
 *              follows from the statements before it.
 * After        DBHammer, as Korunic (SRCE, 2003) tells of it: five kinds of statements that
 *              alternate, by pseudo-random patterns. Its own shares of them are not known; here the
 *              three in the middle have equal shares.
 */
#include <stdio.h>

#include "../api/system.h"
#include "database.h"
#include "server.h"

enum { STATEMENTS_MOST = 1000, NAME_MOST = 32 };
enum { CREATE = 1, INSERT, SELECT, UPDATE, DROP }; /* the crowd's parts */

static uint64_t statements = 10;

/* A client's table in one operation. */
struct table {
	char     name[NAME_MOST];
	uint64_t first; /* the id of its first row */
	uint64_t rows;
	uint64_t numbers[STATEMENTS_MOST];
};

static int insert(struct link *link, struct table *table)
{
	uint64_t id = table->first + table->rows;
	char     words[WORDS_LENGTH + 1];

	words_of(id, words);
	table->numbers[table->rows++] = 0;
	return database_change(link, 1, "INSERT INTO %s VALUES (%llu, 0, '%s')", table->name,
	                       (unsigned long long)id, words);
}

static int look_at(struct link *link, const struct table *table, uint64_t row)
{
	uint64_t id = table->first + row;
	char     words[WORDS_LENGTH + 1];
	int      outcome = database_select(link, "SELECT number, words FROM %s WHERE id = %llu",
	                                   table->name, (unsigned long long)id);

	words_of(id, words);
	if (!outcome)
		outcome = database_expect_number(link, 0, table->numbers[row]);
	return outcome ? outcome : database_expect(link, 1, words);
}

static int change(struct link *link, struct table *table, uint64_t row)
{
	table->numbers[row]++;
	return database_change(link, 1, "UPDATE %s SET number = number + 1 WHERE id = %llu",
	                       table->name, (unsigned long long)(table->first + row));
}

static int state(struct link *link, struct table *table, unsigned kind, uint64_t random)
{
	switch (kind) {
	case CREATE:
		return database_change(link, 0, "CREATE TABLE %s " DATABASE_COLUMNS, table->name);
	case INSERT:
		return insert(link, table);
	case SELECT:
		return look_at(link, table, random % table->rows);
	case UPDATE:
		return change(link, table, random % table->rows);
	default:
		return database_change(link, 0, "DROP TABLE %s", table->name);
	}
}

/* Which kind comes next: each of those that are left is as likely. */
static unsigned draw(uint64_t left[DROP], uint64_t random)
{
	uint64_t drawn = random % (left[INSERT] + left[SELECT] + left[UPDATE]);
	unsigned kind = INSERT;

	while (drawn >= left[kind])
		drawn -= left[kind++];
	return kind;
}

static int perform(unsigned client, struct link *link, uint64_t number)
{
	uint64_t     left[DROP] = { [INSERT] = statements,
		                    [SELECT] = statements,
		                    [UPDATE] = statements };
	uint64_t     random = crowd_random_of(number, 6);
	struct table table = { .first = random_next(&random) % 1000000 };
	int          outcome = 0;

	snprintf(table.name, sizeof(table.name), "items_%u", client);
	for (uint64_t i = 0; i < 3 * statements + 2 && !outcome; i++) {
		unsigned kind = i == 0                    ? CREATE
		                : i == 1                  ? INSERT
		                : i == 3 * statements + 1 ? DROP
		                                          : draw(left, random_next(&random));
		uint64_t began = clock_ns();

		outcome = state(link, &table, kind, random_next(&random));
		crowd_part(client, kind, began);
		if (kind < DROP && kind > CREATE)
			left[kind]--;
	}
	return outcome;
}

static int report_create(uint64_t operations)
{
	(void)operations;
	return crowd_report_part(CREATE);
}

static int report_insert(uint64_t operations)
{
	(void)operations;
	return crowd_report_part(INSERT);
}

static int report_select(uint64_t operations)
{
	(void)operations;
	return crowd_report_part(SELECT);
}

static int report_update(uint64_t operations)
{
	(void)operations;
	return crowd_report_part(UPDATE);
}

static int report_drop(uint64_t operations)
{
	(void)operations;
	return crowd_report_part(DROP);
}

static int setup(void)
{
	static const struct database_work work = { .perform = perform };

	return database_start(&work);
}

static const struct phase phases[] = {
	CROWD_PHASES,
	REPORT("create", report_create),
	REPORT("insert", report_insert),
	REPORT("select", report_select),
	REPORT("update", report_update),
	REPORT("drop", report_drop),
	{ 0 },
};

static const struct parameter parameters[] = {
	SERVER_PARAMETER,
	CROWD_PARAMETERS,
	NUMBER("statements", "of each of the three kinds, in a table's life", &statements, 1,
	       STATEMENTS_MOST),
	{ 0 },
};

const struct workload workload_database_mixture = {
	.name = "database_mixture",
	.group = "server",
	.summary = "tables made, filled, asked, changed and dropped in a database",
	.operation = "table",
	.setup = setup,
	.before = crowd_before,
	.at_once = &crowd_clients,
	.phases = phases,
	.teardown = database_end,
	.tell = reports_tell,
	.tells = "histogram",
	.parameters = parameters,
};
