/* snapshot.c -- see snapshot.h. */
#include "kernel/snapshot.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernel/procfs.h"

int snapshot_of(pid_t pid, struct process *process)
{
	struct procfs_status status;
	struct procfs_stat   stat;
	uint64_t             figure[FIGURES];
	int                  directory = procfs_open(pid, 0);

	figures_forget(figure, ALL);
	if (directory < 0)
		return -1;
	if (procfs_totals(pid, directory, &stat, figure) || procfs_has_ended(&stat)) {
		close(directory);
		return -1;
	}
	process->parent = stat.parent;
	process->threads = stat.threads;
	process->begin_ns = stat.begin_ns;
	procfs_program(directory, process->program);
	figures_split_time(figure);
	/* Switches are there too, but of the first thread alone. */
	procfs_status(directory, &status, figure);
	figures_take(process->figure, figure, TOTAL | LEVELS);
	close(directory);
	return 0;
}

struct threads {
	pid_t *list;
	size_t count, most;
};

static void add_thread(pid_t thread, void *context)
{
	struct threads *threads = context;

	if (threads->count < threads->most)
		threads->list[threads->count++] = thread;
}

size_t snapshot_threads(pid_t pid, pid_t threads[], size_t most)
{
	struct threads found = { threads, 0, most };

	procfs_threads(pid, add_thread, &found);
	return found.count;
}

struct everybody {
	struct kin *list;
	size_t      count, room;
};

static void add_process(pid_t pid, void *context)
{
	struct everybody  *all = context;
	struct procfs_stat stat;

	if (procfs_stat_of(pid, 0, &stat) || procfs_has_ended(&stat))
		return;
	all->list = list_grow(all->list, all->count, &all->room, sizeof *all->list);
	all->list[all->count++] = (struct kin){ .pid = pid, .parent = stat.parent };
}

static int is_among(const struct kin *kin, size_t count, pid_t pid)
{
	for (size_t i = 0; i < count; i++)
		if (kin[i].pid == pid)
			return 1;
	return 0;
}

size_t snapshot_descendants(const pid_t pids[], size_t count, struct kin **kin)
{
	struct everybody all = { 0 };
	size_t           found = 0;

	procfs_processes(add_process, &all);
	*kin = malloc((all.count + count + 1) * sizeof **kin);
	if (!*kin)
		no_memory();
	for (size_t i = 0; i < count; i++)
		if (!is_among(*kin, found, pids[i]))
			(*kin)[found++] = (struct kin){ .pid = pids[i] };
	for (size_t i = 0; i < found; i++)
		for (size_t j = 0; j < all.count; j++) {
			struct kin *one = &all.list[j];

			if (one->pid == (*kin)[i].pid && !(*kin)[i].parent)
				(*kin)[i].parent = one->parent;
			if (one->parent != (*kin)[i].pid || is_among(*kin, found, one->pid))
				continue;
			one->generation = (*kin)[i].generation + 1;
			(*kin)[found++] = *one;
		}
	free(all.list);
	return found;
}
