/* tree.h -- this program's own file, and trees of files and processes. */
#ifndef STEELYARD_TREE_H
#define STEELYARD_TREE_H

/* The path by which this program can be started again. */
const char *self_path(void);
void self_path_set(const char *argv0);

/* The emulator that runs this program where the kernel itself could not start it, so that it must be asked to
 * start it again (STEELYARD_EMULATOR names its file); NULL if there is none. */
const char *self_emulator(void);

/* Under an emulator, what is executed by another program than ours is this machine's own, and not emulated:
 * returns what unsupported() does there, and else 0. */
int refuse_emulator(void);

/* Removes a directory and everything in it; what cannot be removed stays. Follows no link. */
void tree_remove(const char *directory);

#endif
