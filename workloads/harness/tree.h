/* tree.h -- this program's own file, and trees of files and processes. */
#ifndef STEELYARD_TREE_H
#define STEELYARD_TREE_H

#include <stddef.h>

/* The path by which this program can be started again. */
const char *self_path(void);
void self_path_set(const char *argv0);

/* The emulator that runs this program where the kernel itself could not start it, so that it must be asked to
 * start it again (STEELYARD_EMULATOR names its file); NULL if there is none. */
const char *self_emulator(void);

/* The command, a monitor's, under which the agent starts each trial's process (STEELYARD_UNDER holds its words, a
 * newline between two). Fills `words`, a NULL after the last; they stay as they are. Returns how many: 0 where there
 * is no such command, as on Windows. */
enum { UNDER_MOST = 63 };
size_t self_under(const char *words[UNDER_MOST + 1]);

/* Under an emulator, what is executed by another program than ours is this machine's own, and not emulated:
 * returns what unsupported() does there, and else 0. */
int refuse_emulator(void);

/* Removes a directory and everything in it; what cannot be removed stays. Follows no link. */
void tree_remove(const char *directory);

#endif
