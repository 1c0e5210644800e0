/* tree.h -- how this program was started, and the removal of trees of files. */
#ifndef STEELYARD_TREE_H
#define STEELYARD_TREE_H

#include <stddef.h>

/* Finds out self_path() (workloads/api/system.h), from the first word of the command line where
 * there is nothing better. */
void self_path_set(const char *argv0);

/* The command, a monitor's, under which the agent starts each trial's process (STEELYARD_UNDER
 * holds its words, a newline between two). Fills `words`, a NULL after the last; they stay as they
 * are. Returns how many: 0 where there is no such command, as on Windows. */
enum { UNDER_MOST = 63 };
size_t self_under(const char *words[UNDER_MOST + 1]);

/* Removes a directory and everything in it; what cannot be removed, and what is mounted in it,
 * stays. Follows no link, even if names are exchanged meanwhile. */
void tree_remove(const char *directory);

/* Has the directory removed when this process has been killed, by a process that waits for its end,
 * where the system has one for that (on Windows it stays). tree_removed() ends that process, when
 * the directory is gone. */
void tree_removed_if_killed(const char *directory);
void tree_removed(void);

#endif
