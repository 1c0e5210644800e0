/* server.c -- see server.h. */
#include "server.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../api/descendants.h"
#include "../api/system.h"
#include "../api/workload.h"
#include "../network/loopback.h"
#include "description.h"
#include "keeper.h"

enum {
	WORDS_MOST = 128,
	LAST_WORDS_MOST = 400,
	LOOK_AGAIN_US = 2000,
	PATIENCE_MS = 60000,  /* until a server must be ready: a guest may take long */
	FAREWELL_MS = 20000,  /* until one must have ended that was asked to */
	PORT_TRIES = 3,
	ANSWER_MS = 2000,
};
static const unsigned long HOSTFS = 0x00c0ffee; /* of statfs: fs/hostfs/hostfs_kern.c */

char server_description[SERVER_MOST + 1];

static struct {
	struct description description;
	struct keeper      keeper;
	struct keeper_user user;
	char               directory[PATH_MAX - 256], kept[PATH_MAX - 256], words[PATH_MAX];
	char               port_text[8];
	const char        *user_name;
	uint16_t           port;
	char               why[64]; /* it was not ready, as seen last */
} s = { .keeper = { .life = -1, .heard = -1 } };

static const char *name_of(void)
{
	return description_argument(&s.description, "name", "the server");
}

const char *server_directory(void)
{
	return s.directory;
}

const char *server_says(const char *word, const char *initial)
{
	return description_argument(&s.description, word, initial);
}

uint16_t server_port(void)
{
	return s.port;
}

/* Returns a length, or what fail_check returned. */
static int write_out(const char *text, char *into, size_t room)
{
	const struct meaning meanings[] = { { "directory", s.directory }, { "kept", s.kept },
		                            { "port", s.port_text },      { "user", s.user_name },
		                            { 0 } };
	int                  length = expand(text, meanings, into, room);

	return length < 0 ? fail_check("a line of %.100s's description is too long", name_of()) : length;
}

/* ---- Whose it is ---- */

/* A static program must not ask the C library, which would load shared ones. */
static int find_user(const char *name)
{
	FILE *file = fopen("/etc/passwd", "re");
	char  line[1024], format[96];
	int   found = 0;

	snprintf(format, sizeof(format), "%.60s:%%*[^:]:%%u:%%u:", name);
	while (file && !found && fgets(line, sizeof(line), file))
		found = sscanf(line, format, &s.user.user, &s.user.group) == 2;
	if (file)
		fclose(file);
	return found;
}

/* Another user must come through the directories that were made for this trial alone: its own, the one
 * of all copies, and the agent's, if that is a scratch directory and none that somebody has named.
 * Reading them stays refused. */
static void open_way(void)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s", trial_directory());
	for (int above = 0; above < 3; above++) {
		char       *slash = strrchr(path, '/');
		struct stat status;

		if (!slash || slash == path || (above == 2 && strncmp(slash, "/steelyard-", 11)))
			return;
		if (!stat(path, &status) && status.st_uid == geteuid())
			chmod(path, (status.st_mode & 07777) | S_IXOTH);
		*slash = 0;
	}
}

static int own(const char *path)
{
	return s.user.is_other && chown(path, s.user.user, s.user.group) ? fail("chown") : 0;
}

static int take_user(void)
{
	s.user_name = description_argument(&s.description, "user", "");
	if (geteuid() && !strcmp(s.user_name, "root"))
		return unsupported("%.100s works as root only", name_of());
	if (!*s.user_name || geteuid())
		return 0;
	if (!find_user(s.user_name))
		return unsupported("%.100s runs as the user '%.60s', whom this system does not have: install %.60s",
		                   name_of(), s.user_name,
		                   description_argument(&s.description, "package", "it"));
	s.user.is_other = s.user.user != 0;
	return 0;
}

/* ---- Its files ---- */

/* The first `length` bytes of the name. One that is there already is as good. */
static int make_directory(const char *name, size_t length)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%.*s", s.directory, (int)length, name) >= (int)sizeof(path))
		return fail_check("the name of a directory is too long: %.100s", name);
	if (mkdir(path, 0755))
		return errno == EEXIST ? 0 : fail("mkdir");
	return chmod(path, 0755) ? fail("chmod") : own(path);
}

/* The directories above a file, below the server's own. */
static int make_above(const char *name)
{
	int outcome = 0;

	for (const char *slash = strchr(name, '/'); slash && !outcome; slash = strchr(slash + 1, '/'))
		outcome = make_directory(name, (size_t)(slash - name));
	return outcome;
}

int server_file(const char *name, const void *bytes, size_t count)
{
	char path[PATH_MAX];
	int  file, outcome = 0;

	if (snprintf(path, sizeof(path), "%s/%s", s.directory, name) >= (int)sizeof(path))
		return fail_check("the name of a file is too long: %.100s", name);
	if ((outcome = make_above(name)))
		return outcome;
	file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (file < 0)
		return fail("open");
	if (write_whole(file, bytes, count))
		outcome = fail("write");
	if (close(file) && !outcome)
		outcome = fail("close");
	return outcome ? outcome : own(path);
}

static int write_file(const struct entry *entry)
{
	static char whole[4 * SERVER_MOST];
	char        line[EXPANDED_MOST];
	const char *next = entry->lines;
	size_t      count = 0;

	for (int i = 0; i < entry->count; i++, next += strlen(next) + 1) {
		int length = write_out(next + 1, line, sizeof(line));

		if (length < 0)
			return length;
		if (count + (size_t)length + 1 > sizeof(whole))
			return fail_check("the file %.100s of %.100s is too long", entry->argument, name_of());
		memcpy(whole + count, line, (size_t)length);
		count += (size_t)length;
		whole[count++] = '\n';
	}
	return server_file(entry->argument, whole, count);
}

/* An entry's lines as the words of a command. They stay as they are until the next call. */
static int command_of(const struct entry *entry, char *words[WORDS_MOST + 1])
{
	static char bytes[4 * SERVER_MOST];
	const char *next = entry->lines;
	size_t      used = 0;
	int         count = 0;

	for (; count < entry->count && count < WORDS_MOST; count++, next += strlen(next) + 1) {
		int length = write_out(next + 1, bytes + used, sizeof(bytes) - used);

		if (length < 0)
			return length;
		words[count] = bytes + used;
		used += (size_t)length + 1;
	}
	words[count] = NULL;
	if (!count)
		return fail_check("%.100s's description has an empty command", name_of());
	if (access(words[0], X_OK))
		return unsupported("there is no program '%.200s' on this system: install %.60s", words[0],
		                   description_argument(&s.description, "package", "it"));
	return 0;
}

/* ---- Words of its own ---- */

/* The last bytes of a file. Returns how many; -1 where there is none. */
static ssize_t read_end(const char *path, char *into, off_t most)
{
	int     file = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;
	off_t   length;

	if (file < 0)
		return -1;
	length = lseek(file, 0, SEEK_END);
	lseek(file, length > most ? length - most : 0, SEEK_SET);
	got = read(file, into, (size_t)most);
	close(file);
	return got;
}

/* The end of what it said, as one line: in its log, or else by its output. */
static const char *last_words(void)
{
	static char text[LAST_WORDS_MOST + 1];
	char        log[PATH_MAX];
	ssize_t     got = -1;

	if (write_out(description_argument(&s.description, "log", ""), log, sizeof(log)) > 0)
		got = read_end(log, text, LAST_WORDS_MOST);
	if (got <= 0)
		got = read_end(s.words, text, LAST_WORDS_MOST);
	while (got > 0 && (unsigned char)text[got - 1] <= ' ')
		got--;
	for (ssize_t i = 0; i < got; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 127)
			text[i] = text[i] == '\n' && i + 1 < got ? '|' : ' ';
	if (got <= 0)
		return "nothing";
	text[got] = 0;
	return text;
}

static const char *end_in_words(int status)
{
	static char text[64];

	if (WIFSIGNALED(status))
		snprintf(text, sizeof(text), "was killed by signal %d", WTERMSIG(status));
	else
		snprintf(text, sizeof(text), "ended with status %d", WEXITSTATUS(status));
	return text;
}

int server_check(void)
{
	int status;

	if (s.keeper.pid <= 0 || !keeper_has_ended(&s.keeper, 0, &status))
		return 0;
	fail_check("%.100s %s; it said: %s", name_of(), end_in_words(status), last_words());
	keeper_end(&s.keeper);
	return OUTCOME_FAILED;
}

/* ---- Preparing it ---- */

static int run_command(const struct entry *entry)
{
	char *words[WORDS_MOST + 1];
	int   outcome = command_of(entry, words), status;

	if (outcome)
		return outcome;
	if (keeper_start(&s.keeper, words, s.directory, s.words, &s.user))
		return fail("fork");
	if (!keeper_has_ended(&s.keeper, PATIENCE_MS, &status))
		outcome = fail_check("'%.200s' was not done after %d s; it said: %s", words[0],
		                     PATIENCE_MS / 1000, last_words());
	else if (status)
		outcome = fail_check("'%.200s' %s; it said: %s", words[0], end_in_words(status), last_words());
	keeper_end(&s.keeper);
	return outcome;
}

/* In User-mode Linux a directory of the host's tree (hostfs) gives all files to the host's user, whoever
 * made them in the guest: a server that changes its user could not use its own. So it gets memory; that
 * of one trial is gone with the trial's last process. */
static int take_memory(const char *path, int is_of_trial)
{
	struct statfs status;

	if (geteuid() || statfs(path, &status) || (unsigned long)status.f_type != HOSTFS)
		return 0;
	if (is_of_trial && (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL)))
		return fail("unshare");
	return mount("tmpfs", path, "tmpfs", 0, "mode=755") ? fail("mount") : 0;
}

/* What is prepared once stands in the agent's directory, with a mark in it when it is whole. */
static int make_kept(void)
{
	uint64_t sum = 14695981039346656037u; /* FNV-1a: a name for this description */
	int      outcome;

	for (const char *at = server_description; *at; at++)
		sum = (sum ^ (unsigned char)*at) * 1099511628211u;
	snprintf(s.kept, sizeof(s.kept), "%.3000s/../../server-%016llx", trial_directory(), (unsigned long long)sum);
	if (!description_next(&s.description, "prepare", NULL))
		return 0;
	if ((mkdir(s.kept, 0755) && errno != EEXIST) || chmod(s.kept, 0755))
		return fail("mkdir");
	outcome = take_memory(s.kept, 0);
	return outcome ? outcome : own(s.kept);
}

static int prepare_once(void)
{
	const struct entry *entry = NULL;
	char                mark[PATH_MAX];
	int                 outcome = 0, file;

	snprintf(mark, sizeof(mark), "%s/whole", s.kept);
	if (!access(mark, F_OK))
		return 0;
	while (!outcome && (entry = description_next(&s.description, "prepare", entry)))
		outcome = run_command(entry);
	if (outcome || !description_next(&s.description, "prepare", NULL))
		return outcome;
	file = open(mark, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	return file < 0 || close(file) ? fail("open") : 0;
}

int server_prepare(void)
{
	const struct entry *entry = NULL;
	int                 outcome;

	s.keeper = (struct keeper){ .life = -1, .heard = -1 };
	if ((outcome = refuse_emulator()) || (outcome = description_read(server_description, &s.description)) ||
	    (outcome = take_user()))
		return outcome;
	snprintf(s.directory, sizeof(s.directory), "%.3000s/server", trial_directory());
	snprintf(s.words, sizeof(s.words), "%s/words", s.directory);
	if (mkdir(s.directory, 0755) || chmod(s.directory, 0755))
		return fail("mkdir");
	if ((outcome = make_kept()) || (outcome = take_memory(s.directory, 1)))
		return outcome;
	open_way();
	if ((outcome = own(s.directory)))
		return outcome;
	while ((entry = description_next(&s.description, "directory", entry)))
		if ((outcome = make_directory(entry->argument, strlen(entry->argument))))
			return outcome;
	return prepare_once();
}

/* ---- Its port ---- */

/* One that nobody has; somebody may take it before the server does, who then says so and ends. */
static int choose_port(void)
{
	socket_t one = -1;
	int      outcome = loopback_bind(SOCKET_STREAM, &one, &s.port);

	loopback_close(&one);
	snprintf(s.port_text, sizeof(s.port_text), "%u", s.port);
	return outcome;
}

/* ---- Whether it is ready ---- */

static int connect_once(void)
{
	struct sockaddr_in address = socket_address(s.port);
	struct timeval     limit = { ANSWER_MS / 1000, ANSWER_MS % 1000 * 1000 };
	int                one = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (one < 0)
		return -1;
	setsockopt(one, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(one, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (connect(one, (struct sockaddr *)&address, sizeof(address)) == 0)
		return one;
	snprintf(s.why, sizeof(s.why), "its port refuses connections");
	close(one);
	return -1;
}

/* Whether what it answers to `asked` begins as `answer`. */
static int answers(const char *asked, const char *answer)
{
	char    got[256];
	size_t  wanted = strnlen(answer, sizeof(got) - 1), count = 0;
	ssize_t more = 1;
	int     one = connect_once();

	if (one < 0)
		return 0;
	if (*asked && send(one, asked, strlen(asked), MSG_NOSIGNAL) < 0)
		more = 0;
	while (count < wanted && more > 0) {
		more = recv(one, got + count, wanted - count, 0);
		count += more > 0 ? (size_t)more : 0;
	}
	close(one);
	if (count == wanted && !memcmp(got, answer, wanted))
		return 1;
	got[count] = 0;
	snprintf(s.why, sizeof(s.why), "it answered '%.*s'", (int)strcspn(got, "\r\n"), got);
	return 0;
}

static int is_ready(void)
{
	const char *how = description_argument(&s.description, "ready", "accepts");
	char        asked[512];

	if (!strncmp(how, "http ", 5)) {
		snprintf(asked, sizeof(asked), "GET %.400s HTTP/1.0\r\nHost: localhost\r\n\r\n", how + 5);
		return answers(asked, "HTTP/1.1 200") || answers(asked, "HTTP/1.0 200");
	}
	if (!strncmp(how, "greeting ", 9))
		return answers("", how + 9);
	return answers("", "");
}

static int await_readiness(void)
{
	uint64_t deadline = clock_ns() + PATIENCE_MS * (uint64_t)1000000;

	for (;;) {
		int outcome = server_check();

		if (outcome)
			return outcome;
		if (is_ready())
			return 0;
		if (clock_ns() > deadline)
			return fail_check("%.100s was not ready after %d s: %s; it said: %s", name_of(),
			                  PATIENCE_MS / 1000, s.why, last_words());
		usleep(LOOK_AGAIN_US);
	}
}

/* ---- From its start to its end ---- */

static int start_once(void)
{
	const struct entry *entry = NULL, *start = description_next(&s.description, "start", NULL);
	char               *words[WORDS_MOST + 1];
	int                 outcome = choose_port();

	if (outcome)
		return outcome;
	while ((entry = description_next(&s.description, "file", entry)))
		if ((outcome = write_file(entry)))
			return outcome;
	if (!start)
		return fail_check("%.100s's description has no command that starts it", name_of());
	if ((outcome = command_of(start, words)))
		return outcome;
	if (keeper_start(&s.keeper, words, s.directory, s.words, &s.user))
		return fail("fork");
	return await_readiness();
}

/* Another program may have taken the port in the meantime: then another port. */
static int port_was_taken(void)
{
	const char *words = last_words();

	return strstr(words, "ddress already in use") || strstr(words, "(98)");
}

int server_start(void)
{
	int outcome = 0;

	for (int i = 0; i < PORT_TRIES; i++) {
		outcome = start_once();
		if (outcome != OUTCOME_FAILED || s.keeper.pid > 0 || !port_was_taken())
			return outcome;
		unlink(s.words);
	}
	return outcome;
}

static int signal_to_end(void)
{
	const char *name = description_argument(&s.description, "end", "TERM");

	return !strcmp(name, "QUIT") ? SIGQUIT : !strcmp(name, "INT") ? SIGINT : SIGTERM;
}

void server_end(void)
{
	int status;

	if (s.keeper.pid <= 0)
		return;
	if (s.keeper.server > 0 && !kill(s.keeper.server, signal_to_end())) {
		kill(s.keeper.server, SIGCONT); /* who was stopped hears nothing */
		keeper_has_ended(&s.keeper, FAREWELL_MS, &status);
	}
	keeper_end(&s.keeper);
}

/* ---- What it used ---- */

/* Of a living process, by the clock of its own (clock_getcpuclockid(3)); and what those used for
 * which it has waited, in ticks. */
static void add_processor_ns(pid_t pid, void *sum)
{
	struct timespec used = { 0 };
	unsigned long   user, system;
	long            user_below, system_below, tick = sysconf(_SC_CLK_TCK);
	clockid_t       clock;
	char            path[64], line[512], *rest;
	FILE           *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return;
	rest = fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
	fclose(file);
	if (!rest || tick <= 0 ||
	    sscanf(rest + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %ld %ld", &user, &system,
	           &user_below, &system_below) != 4)
		return;
	*(uint64_t *)sum += (uint64_t)(user_below + system_below) * (1000000000u / (uint64_t)tick);
	if (!clock_getcpuclockid(pid, &clock) && !clock_gettime(clock, &used))
		*(uint64_t *)sum += (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
	else
		*(uint64_t *)sum += (uint64_t)(user + system) * (1000000000u / (uint64_t)tick);
}

uint64_t server_processor_ns(void)
{
	uint64_t sum = 0;

	if (!description_next(&s.description, "start", NULL)) {
		struct timespec used;

		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
		return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
	}
	if (s.keeper.pid > 0)
		descendants_each(s.keeper.pid, add_processor_ns, &sum);
	return sum;
}
