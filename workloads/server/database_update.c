/* database_update -- rows of a table changed in a database by many clients at once.
 *
 * Measures     UPDATE, which adds 1 to the number of one row of `rows`, chosen by its primary key
 *              at random by the seed; each is a transaction of its own; otherwise as
 *              database_insert.
 * Leaves out   what database_insert leaves out.
 * Beware       two clients may want the same row, and then one waits: the fewer rows, the more
 *              often. What database_insert says of the disk holds here too. At the end the numbers
 *              of all rows must add up to the number of operations.
 * After        DBHammer, as Korunic (SRCE, 2003) tells of it.
 */
#include "database.h"
#include "server.h"

static uint64_t rows = 10000;

static int arrange(struct link *link)
{
	return items_make(link, rows);
}

static int perform(unsigned client, struct link *link, uint64_t number)
{
	(void)client;
	return database_change(link, 1, "UPDATE items SET number = number + 1 WHERE id = %llu",
	                       (unsigned long long)(crowd_random_of(number, 5) % rows));
}

static int check(struct link *link, uint64_t operations)
{
	int outcome = database_select(link, "SELECT SUM(number) FROM items");

	return outcome ? outcome : database_expect_number(link, 0, operations);
}

static int setup(void)
{
	static const struct database_work work = { .arrange = arrange,
		                                   .perform = perform,
		                                   .check = check };

	return database_start(&work);
}

static const struct phase phases[] = { CROWD_PHASES, { 0 } };

static const struct parameter parameters[] = {
	SERVER_PARAMETER,
	CROWD_PARAMETERS,
	NUMBER("rows", "in the table", &rows, 1, 10000000),
	{ 0 },
};

const struct workload workload_database_update = {
	.name = "database_update",
	.group = "server",
	.summary = "rows changed in a database by many clients at once",
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
