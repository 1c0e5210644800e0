/* known_calls -- arithmetic, loops, and system calls whose numbers are known in advance.
 *
 * Measures     one performance. It makes 1/`share` of the paper's 1,000,248 writes, 1,082,489 reads
 *              and 2,042,233 seeks, rounded down. Whatever the share, it also makes 6 opens, 5
 *              closes, 6 fstat, 42 getrusage, 10 mmap, 4 munmap, 2 mprotect, 4 brk and 1 uname. It
 *              writes a file of 16-byte records, with a seek before each; then it reads the
 *              beginning in order, and after that records at random, with a seek before each. The
 *              contents of each record are computed before the call, and checked after a read.
 * Leaves out   the disk: nothing is flushed. The paper gives the numbers of calls but not the
 *              program, so the order of the calls, the size of the records and the arithmetic are
 *              ours. In the paper, the loader made the brk and some of the mmap calls, and perhaps
 *              panalyser made the 42 getrusage calls. Here the program makes all of them: brk only
 *              asks where the break is, and nine of ten mappings are never touched.
 * Beware       a monitor that counts the whole process also counts the calls of the harness and of
 *              the C library's start, which `null` shows. To match the paper's numbers, one of six
 *              files and six of ten mappings stay until the process ends. The program makes fstat
 *              and brk by number where the kernel has that number, because C libraries make
 *              different system calls for them.
 * After        the test program of panalyser (Kretschek, 2003), table 3.
 */
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "../api/handle.h"
#include "../api/workload.h"

#ifdef __linux__
#include <sys/syscall.h>
#endif

enum {
	PAPER_WRITES = 1000248,
	PAPER_READS = 1082489,
	PAPER_SEEKS = 2042233,
	INITIAL = 1000,     /* of `share` */
	SHARE_MOST = 10000, /* beyond twice that, rounding could leave more seeks than reads and
	                       writes */
	OPENS = 6,
	USAGES = 42,
	MAPPINGS = 10,
	UNMAPPINGS = 4,
	PROTECTIONS = 2,
	BREAKS = 4,
	ROUNDS = 32, /* of arithmetic for each record */
	PAGE = 4096,
};

struct record {
	uint32_t word[4];
};

static const name_letter name[] = NAME("known_calls");

static uint64_t share = INITIAL;
static handle   file = NO_HANDLE;
static uint64_t opened;

/* What record `number` holds: simple operations in a loop. */
static struct record record_of(uint32_t number)
{
	struct record record;
	uint32_t      state = number + 2463534242u;

	for (int round = 0; round < ROUNDS; round++)
		record.word[round % 4] = next_number(&state);
	record.word[0] = number;
	return record;
}

static int open_file(enum handle_use use)
{
	struct stat status;

	if (opened % OPENS && handle_close(file)) /* the last of six before it stays open */
		return fail("close");
	file = handle_open(name, use);
	if (file == NO_HANDLE)
		return fail("openat");
	opened++;
#if defined(SYS_fstat) && (defined(__x86_64__) || defined(__aarch64__)) && defined(__LP64__)
	return syscall(SYS_fstat, file, &status) ? fail("fstat") : 0;
#else
	return fstat(file, &status) ? fail("fstat") : 0;
#endif
}

static int seek_record(uint64_t number)
{
	return handle_seek(file, number * sizeof(struct record)) ? fail("lseek") : 0;
}

static int write_record(uint64_t number)
{
	struct record record = record_of((uint32_t)number);
	ssize_t       put;

	if (seek_record(number))
		return OUTCOME_FAILED;
	put = handle_write(file, &record, sizeof(record));
	if (put < 0)
		return fail("write");
	return put == sizeof(record) ? 0 : fail_check("%zd bytes of a record were written", put);
}

static int read_record(uint64_t number)
{
	struct record expected = record_of((uint32_t)number), record;
	ssize_t       got = handle_read(file, &record, sizeof(record));

	if (got < 0)
		return fail("read");
	if (got != sizeof(record))
		return fail_check("%zd bytes of a record were read", got);
	for (int i = 0; i < 4; i++)
		if (record.word[i] != expected.word[i])
			return fail_check("record %u was read in place of record %u",
			                  record.word[0], expected.word[0]);
	return 0;
}

/* Half of the calls of getrusage, spread evenly over the writing; the other half over the
 * reading. */
static int at_parts(uint64_t number, uint64_t of, uint64_t *parts)
{
	struct rusage used;

	while (*parts < USAGES / 2 && number >= *parts * of / (USAGES / 2)) {
		if (getrusage(RUSAGE_SELF, &used))
			return fail("getrusage");
		++*parts;
	}
	return 0;
}

static int write_all_records(uint64_t writes)
{
	uint64_t parts = 0;
	int      outcome = open_file(HANDLE_EMPTY);

	for (uint64_t i = 0; i < writes && !outcome; i++)
		if (!(outcome = at_parts(i, writes, &parts)))
			outcome = write_record(i);
	return outcome;
}

/* `count` reads, of which the first need no seek. */
static int read_records(uint64_t reads, uint64_t in_order, uint64_t records)
{
	uint64_t parts = 0;
	uint32_t chance = 2463534242u;
	int      outcome = open_file(HANDLE_READ);

	for (uint64_t i = 0; i < reads && !outcome; i++) {
		uint64_t number = i < in_order ? i : next_number(&chance) % records;

		if (!(outcome = at_parts(i, reads, &parts)) && i >= in_order)
			outcome = seek_record(number);
		if (!outcome)
			outcome = read_record(number);
	}
	return outcome;
}

#ifdef __linux__
static int setup(void)
{
	return handle_begin();
}

static int ask_break(void)
{
	return syscall(SYS_brk, 0) == -1 ? fail("brk") : 0;
}
#else
static int setup(void)
{
	return unsupported("the paper's calls are those of Linux");
}

static int ask_break(void)
{
	return 0;
}
#endif

/* The few calls of which the paper's program made a fixed number. */
static int make_the_rest(void)
{
	struct utsname names;
	int            outcome = uname(&names) ? fail("uname") : 0;

	for (int i = 2; i < OPENS && !outcome; i++)
		outcome = open_file(HANDLE_READ);
	for (int i = 0; i < BREAKS && !outcome; i++)
		outcome = ask_break();
	for (int i = 0; i < MAPPINGS && !outcome; i++) {
		char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		                  -1, 0);

		if (page == MAP_FAILED)
			return fail("mmap");
		if (i == 0)
			page[0] = 1;
		if (i < PROTECTIONS && mprotect(page, PAGE, PROT_READ))
			return fail("mprotect");
		if (i < UNMAPPINGS && munmap(page, PAGE))
			return fail("munmap");
	}
	return outcome;
}

static int perform(void)
{
	uint64_t writes = PAPER_WRITES / share, reads = PAPER_READS / share,
		 seeks = PAPER_SEEKS / share;
	int      outcome = write_all_records(writes);

	if (!outcome)
		outcome = read_records(reads, reads - (seeks - writes), writes);
	return outcome ? outcome : make_the_rest();
}

static int run(uint64_t operations)
{
	int outcome = 0;

	while (operations-- && !outcome)
		outcome = perform();
	return outcome;
}

static void teardown(void)
{
	if (opened)
		handle_remove(name);
}

static const struct parameter parameters[] = {
	NUMBER("share", "divisor of the paper's numbers of reads, writes and seeks", &share, 1,
	       SHARE_MOST),
	{ 0 },
};

/* At the initial share. */
static const struct call calls[] = {
	{ "write", PAPER_WRITES / INITIAL },
	{ "read", PAPER_READS / INITIAL },
	{ "lseek", PAPER_SEEKS / INITIAL },
	{ "openat", OPENS },
	{ "close", OPENS - 1 },
	{ "fstat", OPENS },
	{ "getrusage", USAGES },
	{ "mmap", MAPPINGS },
	{ "munmap", UNMAPPINGS },
	{ "mprotect", PROTECTIONS },
	{ "brk", BREAKS },
	{ "uname", 1 },
	{ 0 },
};

const struct workload workload_known_calls = {
	.name = "known_calls",
	.group = "syscall",
	.summary = "arithmetic, loops and known system calls, as in panalyser's test program",
	.operation = "performance",
	.setup = setup,
	.run = run,
	.teardown = teardown,
	.parameters = parameters,
	.performances = 1,
	.calls = calls,
};
