/* main.c -- steelyard-watch: from the command line to the last record. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../base/numbers.h"
#include "../base/clock.h"
#include "../base/posix/timespec.h"
#include "../base/posix/usage.h"
#include "../base/record.h"
#include "command.h"
#include "kernel/processors.h"
#include "kernel/procfs.h"
#include "kernel/snapshot.h"
#include "monitor.h"
#include "outside.h"
#include "write.h"

enum { DONE = 0, FAILED = 1, USAGE = 2, UNSUPPORTED = 77 };
enum { PIDS_MOST = 4096, WHY_ROOM = 512 };

/* In the order of preference: each sees more than the next, but where it says itself that it sees
 * less. */
static const struct backend *const backends[] = {
	&bpf_backend, &perf_backend, &taskstats_backend, &ptrace_backend, &proc_backend,
};
enum { BACKENDS = sizeof backends / sizeof *backends };
static const char *const detail_names[DETAILS] = { "life", "budget", "calls", "profile",
	                                           "latency" };

static struct order order = { .detail = BUDGET, .children = 1, .budget = 0.005 };
static pid_t        pids[PIDS_MOST];
static int          detail_is_asked, has_seed;
static int          records_file = 1;
static char         refusals[BACKENDS][WHY_ROOM]; /* why a preferred backend was passed over */
static int          has_failed[BACKENDS];         /* when it was to begin */

static int usage(const char *what, const char *value, const char *allowed)
{
	fprintf(stderr, "steelyard-watch: %s '%s': %s\n", what, value, allowed);
	return USAGE;
}

/* The number after an option, or a usage error. */
static int number(const char *option, const char *text, uint64_t least, uint64_t most,
                  uint64_t *value)
{
	char allowed[96];

	if (!parse_number(text, value) && *value >= least && *value <= most)
		return 0;
	snprintf(allowed, sizeof allowed, "a number from %" PRIu64 " to %" PRIu64, least, most);
	return usage(option, text, allowed);
}

static int take_detail(const char *text)
{
	for (int i = 0; i < DETAILS; i++)
		if (!strcmp(text, detail_names[i])) {
			order.detail = (enum detail)i;
			detail_is_asked = 1;
			return 0;
		}
	return usage("--detail", text, "life, budget, calls, profile or latency");
}

static int take_backend(const char *text)
{
	for (int i = 0; i < BACKENDS; i++)
		if (!strcmp(text, backends[i]->name)) {
			order.backend = backends[i]->name;
			return 0;
		}
	return usage("--backend", text, "bpf, perf, taskstats, ptrace or proc");
}

/* The number is to be a process's own, and the process is to run: numbers of threads work in most
 * of the kernel's calls too, and would be watched as something else by each backend. Returns 0, or
 * a usage error. */
static int check_process(pid_t pid, const char *text)
{
	struct procfs_status status = { 0 };
	struct procfs_stat   stat;
	char                 allowed[96];

	if (kill(pid, 0) && errno == ESRCH)
		return usage("-p", text, "there is no such process");
	if (procfs_status_of(pid, &status) || procfs_stat_of(pid, 0, &stat))
		return 0; /* hidden from us, or gone by now: each backend says so */
	if (status.group != pid) {
		snprintf(allowed, sizeof allowed, "a thread of process %d; watch -p %d",
		         (int)status.group, (int)status.group);
		return usage("-p", text, allowed);
	}
	return procfs_has_ended(&stat)
	               ? usage("-p", text,
	                       "that process has ended, and its parent has not waited for it yet")
	               : 0;
}

static int take_pid(const char *text)
{
	uint64_t pid;
	int      wrong;

	if (parse_number(text, &pid) || pid == 0 || pid > INT32_MAX)
		return usage("-p", text, "the number of a process");
	if (order.pid_count == PIDS_MOST)
		return usage("-p", text, "no more than 4096 processes");
	if ((wrong = check_process((pid_t)pid, text)))
		return wrong;
	pids[order.pid_count++] = (pid_t)pid;
	order.pids = pids;
	return 0;
}

static int take_cgroup(const char *directory)
{
	char members[4096];

	order.cgroup = directory;
	if (snprintf(members, sizeof members, "%s/cgroup.procs", directory) < (int)sizeof members &&
	    !access(members, R_OK))
		return 0;
	return usage("--cgroup", directory, "the directory of a control group");
}

static int take(int option, char *text)
{
	uint64_t value = 0;
	int      wrong;

	switch (option) {
	case 'd':
		return take_detail(text);
	case 'b':
		return take_backend(text);
	case 'p':
		return take_pid(text);
	case 'g':
		return take_cgroup(text);
	case 'e':
		return number("--every", text, 1000000, UINT32_MAX * UINT64_C(1000000),
		              &order.every_ns);
	case 'f':
		return number("--for", text, 1000000, UINT64_MAX / 4, &order.for_ns);
	case 'c':
		wrong = number("--children", text, 1, UINT32_MAX, &value);
		order.children = (uint32_t)value;
		return wrong;
	case 'F':
		wrong = number("--drawn-from", text, 1, UINT32_MAX, &value);
		order.drawn_from = (uint32_t)value;
		return wrong;
	case 'S':
		has_seed = 1;
		return number("--seed", text, 0, UINT32_MAX, &order.seed);
	case 'B':
		wrong = number("--budget", text, 1, 1000000, &value);
		order.budget = (double)value / 1e6;
		return wrong;
	case 's':
		wrong = number("--slots", text, 1, 1 << 20, &value);
		order.slots = (uint32_t)value;
		return wrong;
	case 'r':
		wrong = number("--records", text, 0, INT32_MAX, &value);
		records_file = (int)value;
		return wrong;
	case 'C':
		wrong = number("--control", text, 0, INT32_MAX, &value);
		outside.control_file = (int)value;
		return wrong;
	case 'x':
		wrong = number("--except", text, 1, INT32_MAX, &value);
		order.except = (pid_t)value;
		return wrong;
	case 'm':
		write_marks_only();
		return 0;
	case 't':
		order.threads = 1;
		return 0;
	case 'P':
		order.prove = 1;
		return 0;
	default:
		return USAGE;
	}
}

/* Every option: what follows it (NULL: nothing) and what the help says of it. */
static const struct {
	const char *name, *follows, *says;
	int         letter;
} table[] = {
	{ "pid", "PID",
	  "watch that process and its descendants; again for a further one; short: -p", 'p' },
	{ "cgroup", "DIR", "watch everything in a control group, by its directory", 'g' },
	{ "children", "N", "follow one in N of a followed process's children, drawn at random",
	  'c' },
	{ "drawn-from", "N", "the first generation that --children leaves any out of (default: 1)",
	  'F' },
	{ "seed", "N", "random seed of --children (default: random)", 'S' },
	{ "except", "PID", "leave that process out", 'x' },
	{ "for", "NS", "end after that time", 'f' },
	{ "detail", "DETAIL", "life, budget, calls, profile or latency (default: budget)", 'd' },
	{ "budget", "PPM", "millionths of one processor that counting may cost (default: 5000)",
	  'B' },
	{ "every", "NS", "write a reading so often", 'e' },
	{ "threads", NULL, "account for each thread as well", 't' },
	{ "prove", NULL, "measure what watching costs the watched", 'P' },
	{ "backend", "NAME", "bpf, perf, taskstats, ptrace or proc (default: the best that works)",
	  'b' },
	{ "slots", "N", "processes and threads at one time", 's' },
	{ "records", "FD", "write records to that descriptor (default: 1)", 'r' },
	{ "control", "FD", "read marks from that descriptor; its end ends the watch", 'C' },
	{ "marks", NULL, "write what a mark asks for, and no ends of processes", 'm' },
	{ "probe", NULL, "say of each backend whether it works here, and why not", 'q' },
	{ "help", NULL, "print this", 'h' },
};
enum { OPTIONS = sizeof table / sizeof *table };

static void print_help(void)
{
	printf("usage: steelyard-watch [OPTION ...] -- COMMAND [ARGUMENT ...]\n"
	       "       steelyard-watch [OPTION ...] -p PID [-p PID ...]\n"
	       "       steelyard-watch [OPTION ...] --cgroup DIR\n"
	       "\n"
	       "The monitor of Steelyard: writes the costs of processes as records, one JSON object per line.\n"
	       "'steelyard watch' starts it, and reports its records.\n"
	       "\n");
	for (int i = 0; i < OPTIONS; i++) {
		char option[32];

		snprintf(option, sizeof option, "--%s%s%s", table[i].name,
		         table[i].follows ? " " : "", table[i].follows ? table[i].follows : "");
		printf("  %-16s  %s\n", option, table[i].says);
	}
	printf("\n"
	       "Exit status: the command's own; 0 done, 1 failed, 2 usage, 77 no monitor works here.\n"
	       "\n"
	       "  steelyard-watch --probe\n"
	       "  steelyard-watch --detail calls -- make -j2\n"
	       "  steelyard-watch --every 1000000000 -p 4711\n");
}

static void draw_seed(void)
{
	uint32_t seed;

	if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != (ssize_t)sizeof seed)
		seed = (uint32_t)boottime_ns();
	order.seed = seed;
}

/* Returns 0, or the exit status. *probe_only: the backends are to be asked, and nothing watched. */
static int read_arguments(int count, char *words[], int *probe_only)
{
	struct option options[OPTIONS + 1] = { 0 };
	int           option, wrong;

	for (int i = 0; i < OPTIONS; i++)
		options[i] = (struct option){ table[i].name, table[i].follows != NULL, NULL,
			                      table[i].letter };
	while ((option = getopt_long(count, words, "+p:", options, NULL)) != -1) {
		if (option == 'h') {
			print_help();
			exit(DONE);
		}
		if (option == 'q')
			*probe_only = 1;
		else if ((wrong = take(option, optarg)))
			return wrong;
	}
	for (size_t i = 0; i < order.pid_count; i++)
		if (pids[i] == getpid() || pids[i] == order.except) {
			fprintf(stderr,
			        "steelyard-watch: -p %d is the monitor itself or its reader, which are never watched\n",
			        (int)pids[i]);
			return USAGE;
		}
	if (!has_seed)
		draw_seed();
	if (order.prove)
		order.detail = BUDGET; /* calls are counted in windows */
	if (optind < count)
		order.command = words + optind;
	if (*probe_only)
		return 0;
	if (!order.command && !order.pid_count && !order.cgroup) {
		fprintf(stderr,
		        "steelyard-watch: watch what? -p PID, --cgroup DIR, or -- COMMAND\n");
		return USAGE;
	}
	if (order.command && (order.pid_count || order.cgroup)) {
		fprintf(stderr,
		        "steelyard-watch: a command is watched alone, without -p and --cgroup\n");
		return USAGE;
	}
	return 0;
}

static int probe(int i, char why[WHY_ROOM])
{
	return procfs_check(why, WHY_ROOM) ? -1 : backends[i]->probe(&order, why, WHY_ROOM);
}

static void write_probes(void)
{
	for (int i = 0; i < BACKENDS; i++) {
		char why[WHY_ROOM] = "";
		int  works = !probe(i, why);

		record_open("probe");
		record_text("backend", backends[i]->name);
		record_truth("works", works);
		record_text("why", works ? NULL : why);
		write_close();
	}
}

/* The first that works, or the one asked for; one that sees less only if there is no other. -1:
 * none, and what each says is in `refusals`. */
static int choose_for_detail(void)
{
	int second_best = -1;

	for (int i = 0; i < BACKENDS; i++) {
		if ((order.backend && strcmp(order.backend, backends[i]->name)) || has_failed[i] ||
		    probe(i, refusals[i]))
			continue;
		if (!order.backend && backends[i]->sees_less &&
		    backends[i]->sees_less(&order, refusals[i], WHY_ROOM)) {
			second_best = i;
			continue;
		}
		refusals[i][0] = '\0';
		return i;
	}
	if (second_best >= 0)
		refusals[second_best][0] = '\0';
	return second_best;
}

/* Where no backend can do what is usual, and nothing was asked for, what all can do is better than
 * nothing. */
static int choose(void)
{
	int chosen = choose_for_detail();

	if (chosen >= 0 || detail_is_asked || order.prove)
		return chosen;
	order.detail = LIFE;
	for (int i = 0; i < BACKENDS; i++)
		if (!has_failed[i])
			refusals[i][0] = '\0'; /* that was of another detail */
	return choose_for_detail();
}

/* Whether one of the named processes runs still, or something else is to be watched. */
static int is_there(void)
{
	struct process process;

	for (size_t i = 0; i < order.pid_count; i++)
		if (!snapshot_of(order.pids[i], &process))
			return 1;
	return order.command || order.cgroup;
}

/* The backend that has begun. NULL: none; a sentence in `why`, or what each says in `refusals`. */
static const struct backend *begin(char why[WHY_ROOM])
{
	for (int i; (i = choose()) >= 0; has_failed[i] = 1) {
		if (!backends[i]->begin(&order, outside.command, why, WHY_ROOM))
			return backends[i];
		if (order.backend || !is_there())
			return NULL;
		memset(lost, 0, sizeof lost); /* by that one */
		memcpy(refusals[i], why, WHY_ROOM);
		why[0] = '\0';
	}
	return NULL;
}

static void write_refusals(void)
{
	record_list("refused");
	for (int i = 0; i < BACKENDS; i++) {
		if (!refusals[i][0])
			continue;
		record_object(NULL);
		record_text("backend", backends[i]->name);
		record_text("why", refusals[i]);
		record_object_close();
	}
	record_list_close();
}

static void write_beginning(const struct backend *backend, uint64_t began_ns)
{
	const char *const *missing = backend->missing(&order);
	uint64_t           now_ns = clock_wall_ns();

	record_open("watch");
	record_number("protocol", 1);
	record_text("version", STEELYARD_VERSION);
	record_text("backend", backend->name);
	record_text("detail", detail_names[order.detail]);
	write_refusals();
	record_real("began", (double)now_ns / 1e9);
	record_number("began_ns", began_ns);
	record_number("processors", processors_on(NULL, 0));
	write_known("every_ns", order.every_ns ? order.every_ns : UNKNOWN);
	record_number("children", order.children);
	write_known("seed", order.children > 1 ? order.seed : UNKNOWN);
	if (order.detail == BUDGET)
		record_real("budget", order.budget);
	else
		record_null("budget");
	write_known("sample_ns", order.detail == PROFILE ? SAMPLE_NS : UNKNOWN);
	record_list("missing");
	for (; missing && *missing; missing++)
		record_text(NULL, *missing);
	record_list_close();
	write_close();
}

static void write_mark(const struct backend *backend, const char *id)
{
	struct process total;
	uint64_t       processes;

	process_clear(&total);
	processes = backend->total(&total);
	record_open("mark");
	record_text("id", id);
	record_number("at_ns", boottime_ns());
	record_number("processes", processes);
	record_number("lost", losses());
	write_figures(total.figure, SUMS);
	if (total.calls_known)
		write_calls_briefly(&total, NULL);
	else
		record_null("calls");
	write_close();
	process_free_calls(&total);
}

/* Does what the control descriptor's lines say. Returns -1 at its end. */
static int obey(const struct backend *backend)
{
	static char   line[256];
	static size_t filled;
	ssize_t       count = read(outside.control_file, line + filled, sizeof line - 1 - filled);
	char         *end;

	if (count <= 0)
		return count < 0 && errno == EINTR ? 0 : -1;
	filled += (size_t)count;
	line[filled] = '\0';
	while ((end = strchr(line, '\n'))) {
		*end = '\0';
		if (!strncmp(line, "mark ", 5))
			write_mark(backend, line + 5);
		filled -= (size_t)(end + 1 - line);
		memmove(line, end + 1, filled + 1);
	}
	return filled < sizeof line - 1 ? 0 : -1;
}

/* While there is an end to be kept, so often we see whether we run; and a waking that comes so much
 * too late shows that we did not: stopped by Ctrl-Z, in a frozen control group, on a suspended
 * machine. A busy one's are sooner. */
enum { SIGN_NS = 1000000000, LATE_NS = 2000000000 };

static uint64_t least(uint64_t one, uint64_t other)
{
	return one < other ? one : other;
}

/* Until something ends the watch; returns what. A time in which we stood still is no part of
 * --for's. */
static const char *watch(const struct backend *backend, uint64_t began_ns)
{
	uint64_t stop_ns = order.for_ns ? began_ns + order.for_ns : UNKNOWN;
	uint64_t next_ns = order.every_ns ? began_ns + order.every_ns : UNKNOWN;

	for (;;) {
		uint64_t   sign_ns = stop_ns == UNKNOWN ? UNKNOWN : boottime_ns() + SIGN_NS;
		uint64_t   until_ns = least(sign_ns, least(next_ns, stop_ns));
		enum woken woken = backend->wait(until_ns);
		uint64_t   now = boottime_ns();

		if (stop_ns != UNKNOWN && now > until_ns + LATE_NS)
			stop_ns += now - until_ns;

		if (outside.command_ended)
			return "command";
		if (outside.stop || write_is_broken())
			return "signal";
		if (woken == WOKEN_BY_END)
			return "end";
		if (woken == WOKEN_BY_CONTROL && obey(backend))
			return "control";
		if (now >= stop_ns)
			return "time";
		if (now < next_ns)
			continue;
		backend->read(now);
		/* A late reading does not make the next ones late. */
		while (next_ns <= now)
			next_ns += order.every_ns;
	}
}

/* One of the kernel's figures of our memory, in bytes. */
static uint64_t memory_of(const char *field)
{
	FILE    *file = fopen("/proc/self/status", "re");
	char     line[128];
	uint64_t kib = UNKNOWN;

	while (file && fgets(line, sizeof line, file))
		if (!strncmp(line, field, strlen(field)))
			sscanf(line + strlen(field), ": %" SCNu64, &kib);
	if (file)
		fclose(file);
	return kib == UNKNOWN ? UNKNOWN : 1024 * kib;
}

static void write_end(const struct account *account, const char *stopped_by)
{
	int           known = account->hits != UNKNOWN && account->hook_ns != UNKNOWN;
	struct rusage ours;
	int           is_counted = !usage_try(RUSAGE_SELF, &ours);

	record_open("end");
	record_number("at_ns", boottime_ns());
	write_known("cpu_user_ns", is_counted ? timeval_ns(ours.ru_utime) : UNKNOWN);
	write_known("cpu_system_ns", is_counted ? timeval_ns(ours.ru_stime) : UNKNOWN);
	/* Without pages of files: those of the maps are in maps_bytes, and the program's own are
	 * anybody's. */
	write_known("memory_bytes", memory_of("RssAnon"));
	write_known("memory_peak_bytes", memory_of("VmHWM"));
	write_known("maps_bytes", account->maps_bytes);
	write_known("hook_ns", account->hook_ns);
	write_known("hits", account->hits);
	write_known("hits_of_all", account->hits_of_all);
	write_known("bpf_ns", known ? account->hits * account->hook_ns : UNKNOWN);
	write_known("lost_slots", account->lost_slots);
	write_known("lost_calls", account->lost_calls);
	write_known("lost_events", losses());
	write_losses();
	write_known("unfollowed", account->unfollowed);
	if (account->unfollowed && account->unfollowed != UNKNOWN) {
		record_object("unfollowed_figures");
		write_figures(account->unfollowed_figure, SUMS);
		record_object_close();
	} else {
		record_null("unfollowed_figures");
	}
	write_total(&account->total);
	if (outside.command_ended)
		record_number("command_status", (uint64_t)outside.command_status);
	else
		record_null("command_status");
	record_text("stopped_by", stopped_by);
	write_close();
}

static int status_of_command(void)
{
	int failure;

	if (!outside.command_ended)
		return DONE;
	failure = command_failure();
	if (failure)
		fprintf(stderr, "steelyard-watch: cannot execute '%s': %s\n", order.command[0],
		        strerror(failure));
	return WIFSIGNALED(outside.command_status) ? 128 + WTERMSIG(outside.command_status)
	                                           : WEXITSTATUS(outside.command_status);
}

static int give_up(const char *why)
{
	if (outside.command && !outside.command_ended)
		kill(outside.command, SIGKILL);
	if (*why) {
		fprintf(stderr, "steelyard-watch: %s\n", why);
		return UNSUPPORTED;
	}
	for (int i = 0; i < BACKENDS; i++)
		if (refusals[i][0])
			fprintf(stderr, "steelyard-watch: %s: %s\n", backends[i]->name,
			        refusals[i]);
	fprintf(stderr, "steelyard-watch: no monitor here can watch that at detail %s\n",
	        detail_names[order.detail]);
	return UNSUPPORTED;
}

/* A sandbox may refuse it, and the command would never be seen to end. */
static int can_wait(void)
{
	siginfo_t info = { 0 };

	return !waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) || errno == ECHILD;
}

/* Descriptors that are ours; the standard ones are the command's. */
static void keep_from_command(int file)
{
	if (file > STDERR_FILENO)
		fcntl(file, F_SETFD, FD_CLOEXEC);
}

int main(int count, char *words[])
{
	const struct backend *backend;
	struct account        account;
	const char           *stopped_by;
	char                  why[WHY_ROOM] = "";
	uint64_t              began_ns;
	int                   probe_only = 0;
	int                   wrong = read_arguments(count, words, &probe_only);

	if (wrong)
		return wrong;
	write_to(records_file, order.detail);
	if (probe_only) {
		write_probes();
		return DONE;
	}
	if (outside_open()) {
		perror("steelyard-watch: signals");
		return FAILED;
	}
	keep_from_command(records_file);
	keep_from_command(outside.control_file);
	if (order.command && !can_wait()) {
		fprintf(stderr,
		        "steelyard-watch: '%s' cannot be started: its end could not be waited for: %s\n",
		        order.command[0], strerror(errno));
		return FAILED;
	}
	if (order.command && (outside.command = command_hold(order.command)) < 0) {
		fprintf(stderr,
		        "steelyard-watch: '%s' cannot be started: no process can be made for it: %s\n",
		        order.command[0], strerror(errno));
		return FAILED;
	}
	backend = begin(why);
	if (!backend)
		return give_up(why);
	write_to(records_file, order.detail);
	began_ns = boottime_ns();
	write_beginning(backend, began_ns);
	if (outside.command)
		command_release();
	stopped_by = watch(backend, began_ns);
	memset(&account, 0xff, sizeof account);
	process_clear(&account.total);
	backend->end(&account);
	/* The account of the kernel to us, as its parent, holds what the backend may not have
	 * seen. */
	if (account.total.figure[memory_peak] == UNKNOWN)
		account.total.figure[memory_peak] = command_peak_of_all();
	command_check(&order, &account, backend->has_own_counters);
	write_end(&account, stopped_by);
	if (write_is_broken() && record_error() != EPIPE) /* a reader that has gone knows of it */
		fprintf(stderr,
		        "steelyard-watch: the records cannot be written: %s (steelyard watch has them in "
		        "a file in TMPDIR, or /tmp)\n",
		        strerror(record_error()));
	return write_is_broken() ? FAILED : status_of_command();
}
