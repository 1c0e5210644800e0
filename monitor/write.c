/* write.c -- processes into records, as docs/explanation/monitor.md has them. */
#include "write.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "../base/record.h"

/* A pipe's own 64 KiB are full after some 40 processes at LATENCY, and who waits to write gives no
 * slots back. */
enum { PIPE_BYTES = 1 << 20 };

static int         records_file = 1;
static enum detail written_detail;
static int         is_broken;
static int         marks_only;
static uint64_t    processes; /* of which there were records */

void write_to(int file, enum detail detail)
{
	records_file = file;
	written_detail = detail;
	/* What is no pipe, or may not be so large, stays as it is. */
	fcntl(file, F_SETPIPE_SZ, PIPE_BYTES);
}

void write_marks_only(void)
{
	marks_only = 1;
}

int write_is_broken(void)
{
	return is_broken;
}

/* Our reader may have gone, or a disk be full: then there is no use in watching. */
void write_close(void)
{
	if (!is_broken && record_close(records_file))
		is_broken = 1;
}

void write_known(const char *key, uint64_t value)
{
	if (value == UNKNOWN)
		record_null(key);
	else
		record_number(key, value);
}

void write_figures(const uint64_t figure[FIGURES], unsigned kinds)
{
	for (int i = 0; i < FIGURES; i++)
		if (figures[i].kind & kinds)
			write_known(figures[i].name, figure[i]);
}

static const char *name_of(const struct call_type *call, char room[32])
{
	const char *name = call_name(call->abi, call->number);

	if (call->number == OTHER_CALLS)
		snprintf(room, 32, "other");
	else if (!name)
		snprintf(room, 32, "call %u", call->number);
	else
		snprintf(room, 32, "%s", name);
	if (call->abi == ABI_32)
		strcat(room, "/32");
	else if (call->abi == ABI_X32)
		strcat(room, "/x32");
	return room;
}

/* Where counting was not interrupted, what was counted. Else what was counted while it was on, and
 * for the rest a ratio estimate: as many in each ns of run time as there were in the windows. */
static double expanded(const struct process *process, uint64_t counted, uint64_t in_windows,
                       double weighted)
{
	if (!process->is_missed || process->windows_weighted_ns <= 0)
		return (double)counted;
	return (double)(counted - in_windows) +
	       weighted * (double)process->missed_run_ns / process->windows_weighted_ns;
}

static double expanded_calls(const struct process *process, const struct call_type *call)
{
	return expanded(process, call->calls, call->in_windows, call->weighted);
}

static double expanded_errors(const struct process *process, const struct call_type *call)
{
	return expanded(process, call->errors, call->errors_in_windows, call->weighted_errors);
}

static int can_expand(const struct process *process)
{
	return written_detail == BUDGET && (!process->is_missed || process->windows_run_ns > 0);
}

static void write_real(const char *key, double value, int is_known)
{
	if (is_known)
		record_real(key, value);
	else
		record_null(key);
}

static void write_call(const struct process *process, const struct call_type *call)
{
	int has_windows = written_detail == BUDGET && !process->thread; /* a thread's are its
	                                                                   process's */
	char name[32];

	record_object(name_of(call, name));
	write_known("calls", call->calls);
	write_known("errors", call->errors);
	write_known("time_ns", call->time_ns);
	if (call->histogram)
		record_numbers("histogram", call->histogram, HISTOGRAM_BUCKETS);
	else
		record_null("histogram");
	write_known("samples", call->samples);
	write_real("expanded", expanded_calls(process, call), can_expand(process));
	write_real("expanded_errors", expanded_errors(process, call), can_expand(process));
	write_known("in_windows", has_windows ? call->in_windows : UNKNOWN);
	write_known("errors_in_windows", has_windows ? call->errors_in_windows : UNKNOWN);
	write_real("weighted", call->weighted, has_windows);
	write_real("weighted_errors", call->weighted_errors, has_windows);
	write_real("squares", call->squares, has_windows);
	write_real("products", call->products, has_windows);
	record_object_close();
}

static void write_calls(const struct process *process)
{
	int has_windows = written_detail == BUDGET && process->calls_known;

	if (has_windows || process->is_missed)
		record_truth("exact", !process->is_missed);
	else
		record_null("exact");
	write_known("missed_run_ns", has_windows ? process->missed_run_ns : UNKNOWN);
	write_known("windows", has_windows ? process->windows : UNKNOWN);
	write_known("windows_ns", has_windows ? process->windows_ns : UNKNOWN);
	write_known("windows_active", has_windows ? process->windows_active : UNKNOWN);
	write_real("windows_run_ns", process->windows_run_ns, has_windows);
	write_real("windows_weighted_ns", process->windows_weighted_ns, has_windows);
	write_real("windows_weighted_twice_ns", process->windows_weighted_twice_ns, has_windows);
	write_real("windows_hook_ns", process->windows_hook_ns, has_windows);
	write_real("windows_run_squares", process->windows_run_squares, has_windows);
	if (!process->calls_known) {
		record_null("calls");
		return;
	}
	record_object("calls");
	for (size_t i = 0; i < process->call_count; i++)
		write_call(process, &process->calls[i]);
	record_object_close();
}

/* The members of an object that tells of a process. */
static void write_members(const struct process *process)
{
	record_number("pid", (uint64_t)process->pid);
	write_known("thread", process->thread ? (uint64_t)process->thread : UNKNOWN);
	record_number("parent", (uint64_t)process->parent);
	record_number("generation", process->generation);
	record_text("program", process->program);
	record_text("program_before", process->program_before[0] ? process->program_before : NULL);
	record_truth("attached", process->attached);
	record_number("begin_ns", process->begin_ns);
	record_number("watched_ns", process->watched_ns);
	write_known("end_ns", process->end_ns);
	write_known("status", process->status >= 0 && WIFEXITED(process->status)
	                              ? (uint64_t)WEXITSTATUS(process->status)
	                              : UNKNOWN);
	write_known("signal", process->status >= 0 && WIFSIGNALED(process->status)
	                              ? (uint64_t)WTERMSIG(process->status)
	                              : UNKNOWN);
	write_known("threads", process->threads);
	write_known("children", process->children);
	write_figures(process->figure, ALL);
	record_list("at_least");
	for (int i = 0; i < FIGURES; i++)
		if (process->at_least & UINT32_C(1) << i && process->figure[i] != UNKNOWN)
			record_text(NULL, figures[i].name);
	record_list_close();
	write_known("samples_user", process->samples_user);
	write_known("samples_kernel", process->samples_kernel);
	write_calls(process);
}

uint64_t write_processes(void)
{
	return processes;
}

void write_process(const struct process *process)
{
	processes += !process->thread;
	if (marks_only)
		return;
	record_open("process");
	write_members(process);
	write_close();
}

void write_total(const struct process *total)
{
	record_object("total");
	write_members(total);
	record_object_close();
}

/* What stands for a call in a series: how often it was made, as far as that is known. */
static void weight(const struct process *process, const struct call_type *call, double weights[2])
{
	weights[0] = (double)call->calls;
	weights[1] = call->errors == UNKNOWN ? -1 : (double)call->errors;
	if (written_detail == BUDGET) {
		weights[0] = expanded_calls(process, call);
		weights[1] = expanded_errors(process, call);
	} else if (written_detail == PROFILE) {
		weights[0] = (double)call->samples;
		weights[1] = -1;
	}
}

static const struct call_type *find_call(const struct process   *process,
                                         const struct call_type *like)
{
	for (size_t i = 0; process && i < process->call_count; i++)
		if (process->calls[i].number == like->number && process->calls[i].abi == like->abi)
			return &process->calls[i];
	return NULL;
}

static int call_has_changed(const struct process *process, const struct call_type *call,
                            const struct process *before)
{
	const struct call_type *old = find_call(before, call);
	double                  now_weights[2], old_weights[2] = { 0, 0 };

	weight(process, call, now_weights);
	if (old)
		weight(before, old, old_weights);
	return now_weights[0] != old_weights[0];
}

void write_calls_briefly(const struct process *process, const struct process *before)
{
	record_object("calls");
	for (size_t i = 0; i < process->call_count; i++) {
		char   name[32];
		double weights[2];

		if (!call_has_changed(process, &process->calls[i], before))
			continue;
		weight(process, &process->calls[i], weights);
		record_list(name_of(&process->calls[i], name));
		record_real(NULL, weights[0]);
		if (weights[1] < 0)
			record_null(NULL);
		else
			record_real(NULL, weights[1]);
		record_list_close();
	}
	record_object_close();
}

static int has_changed(const struct process *process, const struct process *before)
{
	if (memcmp(process->figure, before->figure, sizeof process->figure))
		return 1;
	for (size_t i = 0; i < process->call_count; i++)
		if (call_has_changed(process, &process->calls[i], before))
			return 1;
	return 0;
}

void write_reading(uint64_t at_ns, const struct process *process, const struct process *before)
{
	if (before && !has_changed(process, before))
		return;
	record_open("reading");
	record_number("at_ns", at_ns);
	record_number("pid", (uint64_t)process->pid);
	record_number("begin_ns", process->begin_ns);
	if (!before || strcmp(process->program, before->program))
		record_text("program", process->program);
	for (int i = 0; i < FIGURES; i++)
		if (!before || process->figure[i] != before->figure[i])
			write_known(figures[i].name, process->figure[i]);
	if (process->calls_known)
		write_calls_briefly(process, before);
	write_close();
}

void write_window(uint64_t at_ns, uint64_t length_ns, int hooked, uint64_t ran_ns, uint64_t work)
{
	record_open("window");
	record_number("at_ns", at_ns);
	record_number("length_ns", length_ns);
	record_truth("hooked", hooked);
	write_known("run_ns", ran_ns);
	write_known("work", work);
	write_close();
}
