/* shell -- run a script of ordinary utilities that sorts, saves, changes and removes a word list.
 *
 * Measures     the life of short processes: fork, exec, page faults of programs and libraries,
 *              exit, and making, reading and removing small files. In each operation /bin/sh runs
 *              the script once; its two answers are checked against the list.
 * Leaves out   making the list (in setup): 2000 draws from a hundred English words, the same in
 *              every trial on every system, because a machine's own dictionary would differ.
 * Beware       the utilities are the system's own. Two systems that share a file tree have the same
 *              ones; elsewhere the difference between them is part of what is measured.
 * After        Shell of the PEGASUS paper (Silva).
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../api/found.h"
#include "../api/system.h"
#include "../api/workload.h"

enum { DRAWS = 2000 };

static const char *const english[] = {
	"ability", "account", "animal",   "answer",  "apple",   "autumn",   "balance",  "basket",
	"beauty",  "bottle",  "branch",   "bridge",  "brother", "butter",   "camera",   "candle",
	"castle",  "chapter", "circle",   "coffee",  "common",  "copper",   "corner",   "cotton",
	"country", "cousin",  "daughter", "desert",  "dinner",  "doctor",   "dragon",   "driver",
	"eagle",   "early",   "engine",   "evening", "family",  "farmer",   "father",   "feather",
	"finger",  "flower",  "forest",   "friend",  "garden",  "glass",    "ground",   "hammer",
	"harbour", "heaven",  "history",  "holiday", "hunter",  "island",   "journey",  "kettle",
	"kitchen", "ladder",  "language", "leather", "letter",  "library",  "machine",  "market",
	"meadow",  "memory",  "minute",   "mirror",  "morning", "mother",   "mountain", "music",
	"needle",  "number",  "ocean",    "orange",  "palace",  "paper",    "pencil",   "people",
	"pepper",  "picture", "pocket",   "potato",  "purple",  "question", "rabbit",   "record",
	"river",   "saddle",  "school",   "season",  "shadow",  "silver",   "sister",   "spring",
	"summer",  "table",   "thunder",  "travel",  "valley",  "village",  "window",   "winter",
};
enum { WORDS = sizeof(english) / sizeof(*english) };

static const char *const utilities[] = { "cat", "cp", "grep", "rm", "sort", "tr", "uniq", "wc" };
static char              search_path[] = "PATH=/usr/bin:/bin", locale[] = "LC_ALL=C";

/* `answer` ends as two numbers: how many different words, and how many draws end in R. */
static const char script[] = "set -e\n"
			     "sort words > sorted\n"
			     "uniq sorted > unique\n"
			     "cp unique saved\n"
			     "cat saved sorted | tr a-z A-Z > capitals\n"
			     "grep 'R$' capitals | sort -r > backwards\n"
			     "echo $(wc -l < saved) $(wc -l < backwards) > answer\n"
			     "rm sorted unique saved capitals backwards\n";

static char expected[64];

static int find_utility(const char *name)
{
	static const char *const places[] = { "/usr/bin", "/bin" };
	char                     path[64];

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		snprintf(path, sizeof(path), "%s/%s", places[i], name);
		if (access(path, X_OK) == 0) {
			program_found(name, path);
			return 0;
		}
	}
	return unsupported("the utility %s is not in /usr/bin or /bin", name);
}

static int write_list(void)
{
	int      used[WORDS] = { 0 }, different = 0, ending_in_r = 0;
	uint32_t state = 2463534242u;
	FILE    *list = fopen("words", "w");

	if (!list)
		return fail("open");
	for (int i = 0; i < DRAWS; i++) {
		uint32_t    drawn = next_number(&state) % WORDS;
		const char *word = english[drawn];
		int         ends = word[strlen(word) - 1] == 'r';

		fprintf(list, "%s\n", word);
		ending_in_r += ends + (used[drawn] ? 0 : ends);
		different += !used[drawn];
		used[drawn] = 1;
	}
	if (fclose(list))
		return fail("write");
	snprintf(expected, sizeof(expected), "%d %d\n", different, ending_in_r);
	return 0;
}

static int setup(void)
{
	int outcome;

	if (access("/bin/sh", X_OK))
		return unsupported("there is no /bin/sh");
	if (self_emulator())
		return refuse_emulator();
	program_found("sh", "/bin/sh");
	for (size_t i = 0; i < sizeof(utilities) / sizeof(*utilities); i++)
		if ((outcome = find_utility(utilities[i])))
			return outcome;
	if (chdir(trial_directory()))
		return fail("chdir");
	return write_list();
}

static int check_answer(void)
{
	char    answer[sizeof(expected)] = "";
	int     file = open("answer", O_RDONLY);
	ssize_t got = file < 0 ? -1 : read(file, answer, sizeof(answer) - 1);

	if (file >= 0)
		close(file);
	if (got < 0)
		return fail("read");
	if (strcmp(answer, expected))
		return fail_check("the script answered '%.*s', not '%.*s'",
		                  (int)strcspn(answer, "\n"), answer, (int)strcspn(expected, "\n"),
		                  expected);
	return 0;
}

static int run_script(void)
{
	int   status;
	pid_t child = fork();

	if (child < 0)
		return fail("fork");
	if (child == 0) {
		execle("/bin/sh", "sh", "-c", script, (char *)NULL,
		       (char *[]){ search_path, locale, NULL });
		_exit(127);
	}
	if (waitpid(child, &status, 0) != child)
		return fail("waitpid");
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return fail_check("the script ended with wait status %d", status);
	return check_answer();
}

static int run(uint64_t operations)
{
	int outcome = 0;

	while (operations-- && !outcome)
		outcome = run_script();
	return outcome;
}

static void teardown(void)
{
	unlink("words");
	unlink("answer");
}

static const struct call calls[] = { { "execve", 11 }, { 0 } };

const struct workload workload_shell = {
	.name = "shell",
	.group = "process",
	.summary = "a shell script of eight utilities over a list of English words",
	.operation = "run of the script",
	.setup = setup,
	.run = run,
	.teardown = teardown,
	.calls = calls,
};
