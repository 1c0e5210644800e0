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
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../base/posix/timespec.h"
#include "../../base/record.h"
#include "../api/descendants.h"
#include "../api/found.h"
#include "../api/private_network.h"
#include "../api/processor_time.h"
#include "../api/random.h"
#include "../api/system.h"
#include "../api/workload.h"
#include "../network/loopback.h"
#include "description.h"
#include "find.h"
#include "keeper.h"
#include "login.h"
#include "running.h"

enum {
	WORDS_MOST = 128,
	LAST_WORDS_MOST = 400,
	LOOK_AGAIN_US = 2000,
	PATIENCE_MS = 60000, /* until a server must be ready: a guest may take long */
	FAREWELL_MS = 20000, /* until one must have ended that was asked to */
	PORT_TRIES = 3,
	ANSWER_MS = 2000,
	SECRET_BYTES = 16,
	LAST_BREATH_US = 300000,
	LONE_USER = 60706, /* of the numbers that neither Debian nor systemd gives to anybody */
};
static const unsigned long HOSTFS = 0x00c0ffee; /* of statfs: fs/hostfs/hostfs_kern.c */

char server_description[SERVER_MOST + 1];

/* A user, as files and processes have one. */
struct owner {
	uid_t user;
	gid_t group;
};

static struct {
	struct description description;
	struct keeper      keeper;
	struct owner       owner;    /* whose rights the server has, if is_other */
	int                is_other; /* or else ours */
	int is_shared; /* its port is one of the system's, and not of the trial's own network */
	struct owner guests; /* whose group must come through our directories; none: 0 */
	int          trial, inside, beside, kept_inside, words; /* held open */
	char         kept_name[32];
	char         directory[PATH_MAX - 256], kept[PATH_MAX - 256];
	char         found[PATH_MAX]; /* the directory of the program that was looked for */
	char         secret[2 * SECRET_BYTES + 1];
	char         port_text[8];
	const char  *user_name;
	uint16_t     port;
	char         why[64]; /* it was not ready, as seen last */
} s = { .keeper = { .life = -1, .heard = -1 },
	.trial = -1,
	.inside = -1,
	.beside = -1,
	.kept_inside = -1,
	.words = -1 };

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

const char *server_secret(void)
{
	return s.secret;
}

void server_tell(uint64_t copy, int file)
{
	/* A database asks everybody for the trial's password. */
	if (copy || !s.is_shared || description_next(&s.description, "speaks", NULL))
		return;
	record_open("shared");
	record_number("copy", copy);
	record_text("server", name_of());
	record_text("why", private_network_refusal());
	record_close(file);
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
		                            { "found", s.found },         { 0 } };
	int                  length = expand(text, meanings, into, room);

	return length < 0 ? fail_check("a line of %.100s's description is too long", name_of())
	                  : length;
}

static int is_not_installed(const char *program)
{
	return unsupported("there is no program '%.200s' on this system: install %.60s", program,
	                   description_argument(&s.description, "package", "it"));
}

/* Where its programs are on this system: of the places that the description names, the first that
 * has one. */
static int find_program(void)
{
	const struct entry *first = description_next(&s.description, "find", NULL), *entry = first;

	while (entry && !find_newest(entry->argument, s.found))
		entry = description_next(&s.description, "find", entry);
	if (!first)
		return 0;
	if (!entry)
		return is_not_installed(first->argument);
	program_found(s.found, s.found);
	*strrchr(s.found, '/') = 0;
	return 0;
}

/* ---- Whose it is ---- */

/* A static program must not ask the C library, which would load shared ones. */
static int find_user(const char *name, struct owner *owner)
{
	FILE *file = fopen("/etc/passwd", "re");
	char  line[1024], format[96];
	int   found = 0;

	snprintf(format, sizeof(format), "%.60s:%%*[^:]:%%u:%%u:", name);
	while (file && !found && fgets(line, sizeof(line), file))
		found = sscanf(line, format, &owner->user, &owner->group) == 2;
	if (file)
		fclose(file);
	return found;
}

static int has_no_user(const char *name)
{
	return unsupported(
		"%.100s runs as the user '%.60s', whom this system does not have: install %.60s",
		name_of(), name, description_argument(&s.description, "package", "it"));
}

/* Where root is the only user that there is, as in a sandbox that an ordinary user has started,
 * nothing can be given to another: then nobody can be kept out by it, either. */
static int is_alone(void)
{
	return fchown(s.inside, LONE_USER, LONE_USER) != 0;
}

/* The user who is nobody else ("*"), one by name, or ours. */
static int take_user(void)
{
	s.user_name = description_argument(&s.description, "user", "");
	if (geteuid() && !strcmp(s.user_name, "root"))
		return unsupported("%.100s works as root only", name_of());
	if (!*s.user_name || geteuid())
		return 0;
	if (!strcmp(s.user_name, "*")) {
		s.owner = (struct owner){ LONE_USER, LONE_USER };
		s.is_other = !is_alone();
		return s.is_other && fchown(s.inside, geteuid(), getegid()) ? fail("fchown") : 0;
	}
	if (!find_user(s.user_name, &s.owner))
		return has_no_user(s.user_name);
	s.is_other = s.owner.user != 0;
	return 0;
}

/* Who must come through our directories to the server's: its user's group; or that of the user
 * whose rights its processes take by themselves; or nobody. */
static int find_guests(void)
{
	const char *name = description_argument(&s.description, "becomes", "");

	s.guests = s.owner;
	if (geteuid() || s.is_other || !*name)
		return 0;
	return find_user(name, &s.guests) ? 0 : has_no_user(name);
}

/* In User-mode Linux, a directory of the host's tree. */
static int is_of_host(int directory)
{
	struct statfs status;

	return !fstatfs(directory, &status) && (unsigned long)status.f_type == HOSTFS;
}

/* Lets that group come through a directory of ours; reading it stays refused. Where a file system
 * has no groups to give it to, everybody may: in a guest of an ordinary user, all files are that
 * user's. */
static int let_through(int directory)
{
	struct stat status;
	mode_t      way = S_IXGRP;

	if (fstat(directory, &status) || status.st_mode & S_IXOTH ||
	    (status.st_uid != geteuid() && !is_of_host(directory)))
		return 0; /* somebody else's, who has opened it or not; or it is open */
	if (status.st_gid != s.guests.group && fchown(directory, (uid_t)-1, s.guests.group))
		way = S_IXOTH;
	return fchmod(directory, (status.st_mode & 0700) | way) ? fail("fchmod") : 0;
}

/* Through the directories that were made for this trial alone: its own, the one of all copies, and
 * the agent's, if that is a scratch directory and none that somebody has named. */
static int open_way(void)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s", trial_directory());
	for (int above = 0; above < 3; above++) {
		char *slash = strrchr(path, '/');
		int   directory, outcome;

		if (!slash || slash == path || (above == 2 && strncmp(slash, "/steelyard-", 11)))
			return 0;
		directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		outcome = directory < 0 ? fail("open") : let_through(directory);
		if (directory >= 0)
			close(directory);
		if (outcome)
			return outcome;
		*slash = 0;
	}
	return 0;
}

/* Gives it to the server's user. */
static int own(int file)
{
	return s.is_other && fchown(file, s.owner.user, s.owner.group) ? fail("fchown") : 0;
}

/* ---- Its files ---- */

/* Opens the directory of that name in `above`, and makes it where there is none. Returns -1 with
 * errno. */
static int enter(int above, const char *name, mode_t mode)
{
	int directory, made = !mkdirat(above, name, mode);

	if (!made && errno != EEXIST)
		return -1;
	directory = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (directory >= 0 && made && fchmod(directory, mode)) {
		close(directory);
		return -1;
	}
	return directory;
}

/* Opens the directory below the server's, and those above it, and gives them to the server's user,
 * except for the last part of the name if `of_file`: that is left in *last. Returns an outcome. */
static int descend(const char *name, int of_file, int *reached, char last[NAME_MAX + 1])
{
	char path[PATH_MAX], *rest = path, *part;
	int  outcome = 0;

	if (snprintf(path, sizeof(path), "%s", name) >= (int)sizeof(path))
		return fail_check("the name of a file is too long: %.100s", name);
	*reached = openat(s.inside, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*reached < 0)
		return fail("open");
	while (!outcome && (part = strsep(&rest, "/"))) {
		int above = *reached;

		if (snprintf(last, NAME_MAX + 1, "%s", part) > NAME_MAX) {
			outcome = fail_check("the name of a file is too long: %.100s", part);
			break;
		}
		if ((of_file && !rest) || !*part)
			continue;
		*reached = enter(above, part, 0755);
		close(above);
		outcome = *reached < 0 ? fail("making a directory") : own(*reached);
	}
	if (outcome && *reached >= 0)
		close(*reached);
	return outcome;
}

static int make_directory(const char *name)
{
	char last[NAME_MAX + 1];
	int  reached, outcome = descend(name, 0, &reached, last);

	if (!outcome)
		close(reached);
	return outcome;
}

/* A file that is new, or nothing: what stands there already is not opened, whatever it is. */
static int write_new(int directory, const char *name, const void *bytes, size_t count)
{
	int file = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
	                  0644);
	int outcome = 0;

	if (file < 0)
		return fail("open");
	if (write_whole(file, bytes, count))
		outcome = fail("write");
	else
		outcome = own(file);
	if (close(file) && !outcome)
		outcome = fail("close");
	return outcome;
}

int server_file(const char *name, const void *bytes, size_t count)
{
	char last[NAME_MAX + 1];
	int  directory, outcome = descend(name, 1, &directory, last);

	if (outcome)
		return outcome;
	unlinkat(directory, last, 0); /* of an earlier start, at another port */
	outcome = write_new(directory, last, bytes, count);
	close(directory);
	return outcome;
}

/* From now on the directory is the server's, who may put in it what it will; or ours again, and
 * then nobody else changes it. */
static int hand_over(void)
{
	return s.is_other ? own(s.inside) : s.guests.group ? let_through(s.inside) : 0;
}

static int take_back(void)
{
	return fchown(s.inside, geteuid(), getegid()) || fchmod(s.inside, 0700) ? fail("fchown")
	                                                                        : 0;
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
			return fail_check("the file %.100s of %.100s is too long", entry->argument,
			                  name_of());
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
		return is_not_installed(words[0]);
	program_found(words[0], words[0]);
	return 0;
}

/* ---- Words of its own ---- */

/* The last bytes of a file. Returns how many; -1 where that cannot be read, or is no file. */
static ssize_t read_end(int file, char *into, off_t most)
{
	struct stat status;

	if (file < 0 || fstat(file, &status) || !S_ISREG(status.st_mode))
		return -1;
	return pread(file, into, (size_t)most, status.st_size > most ? status.st_size - most : 0);
}

/* The server's log, through no link, and no file of another user that stands there in its place. */
static int open_log(void)
{
	enum { FLAGS = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC };
	char        path[PATH_MAX], *name = path, *slash;
	struct stat status;
	size_t      length = strlen(s.directory);
	int         directory = AT_FDCWD, file;

	if (write_out(description_argument(&s.description, "log", ""), path, sizeof(path)) <= 0)
		return -1;
	if (!strncmp(path, s.directory, length) && path[length] == '/') {
		directory = openat(s.inside, ".", O_DIRECTORY | FLAGS);
		name += length + 1;
		while (directory >= 0 && (slash = strchr(name, '/'))) {
			int above = directory;

			*slash = 0;
			directory = openat(above, name, O_DIRECTORY | FLAGS);
			close(above);
			name = slash + 1;
		}
		if (directory < 0)
			return -1;
	}
	file = openat(directory, name, FLAGS);
	if (directory >= 0)
		close(directory);
	if (file < 0 || !s.is_other || (!fstat(file, &status) && status.st_uid == s.owner.user))
		return file;
	close(file);
	return -1;
}

/* The end of what it said, as one line: in its log, or else by its output. */
static const char *last_words(void)
{
	static char text[LAST_WORDS_MOST + 1];
	int         log = open_log();
	ssize_t     got = read_end(log, text, LAST_WORDS_MOST);

	if (log >= 0)
		close(log);
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

int server_explain(int outcome)
{
	int of_server;

	if (!outcome)
		return 0;
	usleep(LAST_BREATH_US);
	of_server = server_check();
	return of_server ? of_server : outcome;
}

/* ---- Preparing it ---- */

static int start_process(char *const words[], int directory)
{
	const struct keeper_order order = { .command = words,
		                            .directory = directory,
		                            .words = s.words,
		                            .secret = s.secret,
		                            .is_other = s.is_other,
		                            .user = s.owner.user,
		                            .group = s.owner.group };

	return keeper_start(&s.keeper, &order);
}

static int run_command(const struct entry *entry)
{
	char *words[WORDS_MOST + 1];
	int   outcome = command_of(entry, words), status;

	if (outcome)
		return outcome;
	if (start_process(words, s.kept_inside))
		return fail("fork");
	if (!keeper_has_ended(&s.keeper, PATIENCE_MS, &status))
		outcome = fail_check("'%.200s' did not end within %d s; its output: %s", words[0],
		                     PATIENCE_MS / 1000, last_words());
	else if (status)
		outcome = fail_check("'%.200s' %s; it said: %s", words[0], end_in_words(status),
		                     last_words());
	keeper_end(&s.keeper);
	return outcome;
}

/* In User-mode Linux a directory of the host's tree (hostfs) gives all files to the host's user,
 * whoever made them in the guest: a server that changes its user could not use its own. So it gets
 * memory; that of one trial is gone with the trial's last process. */
static int take_memory(const char *path, int is_of_trial)
{
	struct statfs status;

	if (geteuid() || statfs(path, &status) || (unsigned long)status.f_type != HOSTFS)
		return 0;
	if (is_of_trial &&
	    (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL)))
		return fail("unshare");
	return mount("tmpfs", path, "tmpfs", 0, "mode=700") ? fail("mount") : 0;
}

/* A directory of ours. One that is there already is as good if it is ours, which open_own finds
 * out. */
static int make_own(const char *path, int is_of_trial)
{
	if (!mkdir(path, 0700))
		return take_memory(path, is_of_trial);
	return errno == EEXIST ? 0 : fail("mkdir");
}

/* Opens it. One that another user has put there is refused. */
static int open_own(int above, const char *name, int *opened)
{
	struct stat status;

	*opened = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (*opened < 0 || fstat(*opened, &status))
		return fail("opening a directory");
	return status.st_uid == geteuid() ? 0
	                                  : fail_check("'%.200s' belongs to another user", name);
}

/* The trial's directory, the server's in it, the file for what it says, and the directory beside
 * the trials' for what is prepared once. Directories are opened when all is mounted, in the
 * namespace where it is. */
static int make_place(void)
{
	uint64_t sum = 14695981039346656037u; /* FNV-1a: a name for this description */
	char     path[PATH_MAX];
	int      outcome = 0, agent;

	for (const char *at = server_description; *at; at++)
		sum = (sum ^ (unsigned char)*at) * 1099511628211u;
	snprintf(s.kept_name, sizeof(s.kept_name), "server-%016llx", (unsigned long long)sum);
	snprintf(path, sizeof(path), "%.3000s/../../%s", trial_directory(), s.kept_name);
	snprintf(s.kept, sizeof(s.kept), "%.3500s/kept", path);
	snprintf(s.directory, sizeof(s.directory), "%.3000s/server", trial_directory());
	if (description_next(&s.description, "prepare", NULL))
		outcome = make_own(path, 0);
	if (outcome || (outcome = make_own(s.directory, 1)))
		return outcome;
	s.trial = open(trial_directory(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (s.trial < 0)
		return fail("open");
	if ((outcome = open_own(s.trial, "server", &s.inside)))
		return outcome;
	if (description_next(&s.description, "prepare", NULL)) {
		agent = openat(s.trial, "../..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (agent < 0)
			return fail("open");
		outcome = open_own(agent, s.kept_name, &s.beside);
		close(agent);
		if (outcome)
			return outcome;
	}
	s.words = openat(s.trial, "words",
	                 O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	return s.words < 0 ? fail("open") : random_text(s.secret, SECRET_BYTES);
}

/* Fills `kept`, which is the server's, in a directory of ours, where a mark stands when it is
 * whole. */
static int prepare_once(void)
{
	const struct entry *entry = NULL;
	int                 outcome = 0;

	if (s.beside < 0)
		return 0;
	if (s.guests.group)
		outcome = let_through(s.beside);
	if (!outcome && flock(s.beside, LOCK_EX)) /* a copy of this trial may be preparing it */
		outcome = fail("flock");
	if (!outcome && (s.kept_inside = enter(s.beside, "kept", 0700)) < 0)
		outcome = fail("making a directory");
	if (outcome || !faccessat(s.beside, "whole", F_OK, 0) || (outcome = own(s.kept_inside)))
		return outcome;
	while (!outcome && (entry = description_next(&s.description, "prepare", entry)))
		outcome = run_command(entry);
	return outcome ? outcome : write_new(s.beside, "whole", "", 0);
}

int server_prepare(void)
{
	const struct entry *entry = NULL;
	int                 outcome;

	s.keeper = (struct keeper){ .life = -1, .heard = -1 };
	if ((outcome = refuse_emulator()) ||
	    (outcome = description_read(server_description, &s.description)))
		return outcome;
	if (running_is_described())
		return fail_check(
			"%.100s runs already, and this workload starts its server by itself",
			name_of());
	if ((outcome = find_program()) || (outcome = make_place()) || (outcome = take_user()) ||
	    (outcome = find_guests()))
		return outcome;
	s.is_shared = 0;
	if (description_next(&s.description, "start", NULL)) {
		if ((outcome = private_network_enter()) < 0)
			return outcome;
		s.is_shared = !outcome;
	}
	if (s.guests.group && (outcome = open_way()))
		return outcome;
	while ((entry = description_next(&s.description, "directory", entry)))
		if ((outcome = make_directory(entry->argument)))
			return outcome;
	outcome = prepare_once();
	if (s.beside >= 0)
		flock(s.beside, LOCK_UN);
	return outcome;
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
		snprintf(asked, sizeof(asked), "GET %.400s HTTP/1.0\r\nHost: localhost\r\n\r\n",
		         how + 5);
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
			return fail_check("%.100s was not ready after %d s: %s; it said: %s",
			                  name_of(), PATIENCE_MS / 1000, s.why, last_words());
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
	if ((outcome = command_of(start, words)) || (outcome = hand_over()))
		return outcome;
	if (start_process(words, s.inside))
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

	for (int i = 0; i < PORT_TRIES && !outcome; i++) {
		outcome = start_once();
		if (outcome != OUTCOME_FAILED || s.keeper.pid > 0 || !port_was_taken() ||
		    i + 1 == PORT_TRIES)
			return outcome;
		outcome = ftruncate(s.words, 0) ? fail("ftruncate") : take_back();
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
	if (!keeper_signal(&s.keeper, signal_to_end()))
		keeper_has_ended(&s.keeper, FAREWELL_MS, &status);
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
	    sscanf(rest + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %ld %ld", &user,
	           &system, &user_below, &system_below) != 4)
		return;
	*(uint64_t *)sum += (uint64_t)(user_below + system_below) * (1000000000u / (uint64_t)tick);
	if (!clock_getcpuclockid(pid, &clock) && !clock_gettime(clock, &used))
		*(uint64_t *)sum += timespec_ns(used);
	else
		*(uint64_t *)sum += (uint64_t)(user + system) * (1000000000u / (uint64_t)tick);
}

uint64_t server_processor_ns(void)
{
	uint64_t sum = 0;

	if (running_is_described()) {
		if (running_pid()) {
			add_processor_ns(running_pid(), &sum);
			descendants_each(running_pid(), add_processor_ns, &sum);
		}
		return sum;
	}
	if (!description_next(&s.description, "start", NULL))
		return own_processor_ns();
	if (s.keeper.pid > 0)
		descendants_each(s.keeper.pid, add_processor_ns, &sum);
	return sum;
}
