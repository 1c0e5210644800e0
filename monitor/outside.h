/* outside.h -- what only main needs of outside.c. */
#ifndef STEELYARD_OUTSIDE_H
#define STEELYARD_OUTSIDE_H

/* Takes over SIGCHLD, SIGINT, SIGTERM and SIGHUP. Returns 0, or -1 with errno. */
int outside_open(void);
/* In a child: signals as our caller had them. */
void outside_restore_for_child(void);

#endif
