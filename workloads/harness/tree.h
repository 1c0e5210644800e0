/* tree.h -- this program's own file, and trees of files and processes. */
#ifndef STEELYARD_TREE_H
#define STEELYARD_TREE_H

/* The path by which this program can be started again. */
const char *self_path(void);
void self_path_set(const char *argv0);

/* Removes a directory and everything in it; what cannot be removed stays. Follows no link. */
void tree_remove(const char *directory);

#endif
