/* backend.c -- the monitor by BPF: everything seen, nothing stopped. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/membarrier.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel/cgroup.h"
#include "monitor.h"
#include "gather.h"
#include "hooks.h"
#include "budget.h"

/* Ends are written without waking us: this often we check whether the last has come. */
#define LAST_CHECK_NS UINT64_C(500000000)
#define MINUTE_NS     UINT64_C(60000000000)
/* How long threads that have exited may take to be over: tearing down a large memory, a grace
 * period of RCU. */
#define FINAL_STEP_NS UINT64_C(5000000)
enum { FINAL_STEPS = 100, SHARED_STEPS = 20 };
#define FIRST_PID_NAMESPACE 0xeffffffcu /* PROC_PID_INIT_INO */

/* Of processes that were named: of a control group, others may come; a command tells its own
 * end. */
static int ends_with_the_last;

static int can_count(const struct order *order)
{
	return order->detail == CALLS || order->detail == LATENCY || order->detail == BUDGET;
}

static int probe(const struct order *order, char *why, size_t why_room)
{
#ifndef __x86_64__
	(void)order;
	snprintf(why, why_room, "its programs are written for x86-64");
	return -1;
#else
	struct stat ours;

	/* The programs see the numbers that processes have outside all namespaces. */
	if (!stat("/proc/self/ns/pid", &ours) && ours.st_ino != FIRST_PID_NAMESPACE) {
		snprintf(why, why_room,
		         "this is a process namespace: process IDs here are not the kernel's");
		return -1;
	}
	return hooks_load(order, why, why_room);
#endif
}

static const char *const *missing(const struct order *order)
{
	static const char *sentences[8];
	int                count = 0;

	sentences[count++] =
		"io_uring operations and calls into the vDSO (clock_gettime, getcpu) are no system calls: not counted";
	sentences[count++] =
		"resident set and swap of running processes are approximate kernel counts";
	if (order->detail == LIFE)
		sentences[count++] =
			"system calls by type: not at detail life; reads and writes are the kernel's counts";
	if (order->detail == BUDGET)
		sentences[count++] =
			"calls are counted one by one within the budget, and in windows beyond it: "
			"each process record says whether its counts are exact";
	if (order->detail == PROFILE)
		sentences[count++] =
			"calls are not counted at detail profile: samples say where processor time goes";
	if (order->detail == LATENCY)
		sentences[count++] =
			"a call that was refused by seccomp, or in progress when the watch began, has no time";
	sentences[count] = NULL;
	return sentences;
}

static int attach(const struct order *order, char *why, size_t why_room)
{
	pid_t *members;
	size_t count;

	if (!order->cgroup) {
		if (order->pid_count && !hooks_attach(order->pids, order->pid_count)) {
			int is_there = !kill(order->pids[0], 0) || errno == EPERM;

			snprintf(why, why_room,
			         is_there ? "process %d is not shown by the kernel"
			                  : "process %d has ended",
			         (int)order->pids[0]);
			return -1;
		}
		return 0;
	}
	count = cgroup_members(order->cgroup, &members);
	hooks_attach(members, count);
	free(members);
	return 0;
}

static int try_to_begin(const struct order *order, pid_t child, char *why, size_t why_room)
{
	gather_open(order);
	if (hooks_on(order, why, why_room))
		return -1;
	if (can_count(order))
		hooks_calibrate();
	snprintf(why, why_room, "the hook on system calls was refused");
	if (budget_begin(order))
		return -1;
	if ((order->detail == CALLS || order->detail == LATENCY) && !order->prove &&
	    hooks_calls_on())
		return -1;
	snprintf(why, why_room, "the command's process cannot be watched");
	if (child && hooks_hold(child))
		return -1;
	return attach(order, why, why_room);
}

static int begin(const struct order *order, pid_t child, char *why, size_t why_room)
{
	if (try_to_begin(order, child, why, why_room)) {
		hooks_unload();
		return -1;
	}
	gather_refresh();
	ends_with_the_last = order->pid_count > 0;
	gather_ended();
	return 0;
}

static enum woken wait(uint64_t until_ns)
{
	for (;;) {
		uint64_t   now = boottime_ns();
		uint64_t   next = now + MINUTE_NS;
		enum woken woken;

		if (ends_with_the_last)
			next = now + LAST_CHECK_NS;
		if (until_ns < next)
			next = until_ns;
		if (budget_next() < next)
			next = budget_next();
		woken = wait_quietly(next, hooks_file());
		budget_turn();
		/* A window must end on time: what is to be written can wait. */
		if (!budget_window_is_open()) {
			hooks_settle();
			gather_ended();
			gather_fold();
		}
		if (woken != WOKEN_BY_TIME)
			return woken;
		if (ends_with_the_last && !budget_window_is_open() && gather_is_empty())
			return WOKEN_BY_END;
		if (boottime_ns() >= until_ns)
			return WOKEN_BY_TIME;
	}
}

static void read_all(uint64_t now)
{
	gather_refresh();
	gather_ended();
	gather_readings(now);
}

static uint64_t total(struct process *sum)
{
	gather_refresh();
	gather_ended();
	lost[LOST_EVENTS] = hooks_lost_events();
	return gather_total(sum);
}

/* Those that have exited are over when they have been left for the last time and reaped; those that
 * are not held, after a grace period of RCU besides. Zombies are not, and are known by a walk, but
 * for those without a slot. */
static void await_final(void)
{
	for (int step = 0; step < FINAL_STEPS; step++) {
		hooks_refresh_all();
		gather_ended();
		if (!gather_unfinished() && (!hooks_unfinished() || step > SHARED_STEPS))
			break;
		/* It waits for a grace period, at the kernel's own pace; then its callbacks must
		 * run. */
		syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
		usleep(FINAL_STEP_NS / 1000);
	}
}

static void end(struct account *account)
{
	struct process sum;

	budget_end();
	hooks_calls_off();
	await_final();
	process_clear(&sum);
	gather_total(&sum);
	account->hits = 0;
	for (size_t i = 0; i < sum.call_count; i++)
		account->hits += sum.calls[i].calls == UNKNOWN ? 0 : sum.calls[i].calls;
	hooks_account(account);
	lost[LOST_EVENTS] = hooks_lost_events() + gather_unfinished() + hooks_unfinished();
	account->total = sum;
	gather_rest();
	hooks_off();
}

const struct backend bpf_backend = {
	.name = "bpf",
	.probe = probe,
	.missing = missing,
	.begin = begin,
	.wait = wait,
	.read = read_all,
	.total = total,
	.end = end,
};
