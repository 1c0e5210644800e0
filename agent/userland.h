/* userland.h -- another distribution's userland on this machine's kernel. */
#ifndef STEELYARD_USERLAND_H
#define STEELYARD_USERLAND_H

/* argv: chroot|container ROOT WORK PROGRAM ARGUMENT ... Becomes the program, found in ROOT as that
 * names it, with WORK as its /tmp and ROOT's files as all others; its mounts are in a namespace
 * that ends with it. A container has processes, host name, IPC and network of its own too, a
 * loopback interface, and no more of /dev than programs expect. Returns only if it cannot: 77, when
 * it has said why; or, of a container, the program's exit status. */
int userland(int argc, char *argv[]);

#endif
