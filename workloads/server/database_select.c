/* database_select -- rows of a table fetched from a database by many clients at once.
 *
 * Measures     SELECT of one row of `rows` by its primary key, chosen at random by the seed;
 *              otherwise as database_insert. Both cells of each row that comes are compared with
 *              what was put there.
 * Leaves out   what database_insert leaves out, and reading from the disk: the table was made in
 *              setup.
 * Beware       what database_insert says of clients and servers.
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
	uint64_t id = crowd_random_of(number, 4) % rows;
	char     words[WORDS_LENGTH + 1];
	int      outcome;

	(void)client;
	words_of(id, words);
	outcome = database_select(link, "SELECT number, words FROM items WHERE id = %llu",
	                          (unsigned long long)id);
	if (!outcome)
		outcome = database_expect_number(link, 0, 0);
	return outcome ? outcome : database_expect(link, 1, words);
}

static int setup(void)
{
	static const struct database_work work = { .arrange = arrange, .perform = perform };

	return database_start(&work);
}

static const struct phase phases[] = { CROWD_PHASES, { 0 } };

static const struct parameter parameters[] = {
	SERVER_PARAMETER,
	CROWD_PARAMETERS,
	NUMBER("rows", "in the table", &rows, 1, 10000000),
	{ 0 },
};

const struct workload workload_database_select = {
	.name = "database_select",
	.group = "server",
	.summary = "rows fetched from a database by many clients at once",
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
