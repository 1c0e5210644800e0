/* database_insert -- rows inserted into a table of a database by many clients at once.
 *
 * Measures     INSERT of one row, with a number and 100 characters, into a table with a primary
 *              key; each is a transaction of its own. The trial starts the database that is named
 *              (MariaDB, PostgreSQL, one of one's own, or SQLite, which has no server). Each of
 *              `clients` clients has a connection, and inserts again as soon as it has its answer.
 *              "time" is the time of all rows by their number; latencies are of single rows;
 *              "server" is the processor time of all the server's processes a row, "client" that of
 *              this program; with SQLite, which is in this program, both are the same.
 * Leaves out   the network between machines, encryption, and the making of connections.
 * Beware       a transaction is on the disk when it is answered, as the databases are installed:
 *              where the disk is slow or its flush is nothing, this is what is measured. The
 *              trial's directory may be in memory. The table grows from batch to batch. At the end
 *              all rows are counted.
 * After        DBHammer, as Korunic (SRCE, 2003) tells of it.
 */
#include "database.h"
#include "server.h"

static int arrange(struct link *link)
{
	return items_make(link, 0);
}

static int perform(unsigned client, struct link *link, uint64_t number)
{
	char words[WORDS_LENGTH + 1];

	(void)client;
	words_of(number, words);
	return database_change(link, 1, "INSERT INTO items VALUES (%llu, 1, '%s')",
	                       (unsigned long long)number, words);
}

static int check(struct link *link, uint64_t operations)
{
	int outcome = database_select(link, "SELECT COUNT(*), SUM(number) FROM items");

	if (!outcome)
		outcome = database_expect_number(link, 0, operations);
	return outcome ? outcome : database_expect_number(link, 1, operations);
}

static int setup(void)
{
	static const struct database_work work = { .arrange = arrange,
		                                   .perform = perform,
		                                   .check = check };

	return database_start(&work);
}

static const struct phase phases[] = { CROWD_PHASES, { 0 } };

static const struct parameter parameters[] = { SERVER_PARAMETER, CROWD_PARAMETERS, { 0 } };

const struct workload workload_database_insert = {
	.name = "database_insert",
	.group = "server",
	.summary = "rows inserted into a database by many clients at once",
	.operation = "row",
	.setup = setup,
	.before = crowd_before,
	.at_once = &crowd_clients,
	.phases = phases,
	.teardown = database_end,
	.tell = reports_tell,
	.tells = "histogram",
	.parameters = parameters,
};
