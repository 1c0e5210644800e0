/* private_network.h -- a network of this process's own, in which nobody else can reach what
 * listens. Linux only.
 *
 * A server on the loopback interface of a machine answers every user of that machine. In a network
 * namespace of its own it answers only the processes that are in it: this one and those it starts.
 * It has no name, so it ends with the last of them. What is measured there is the same kernel's
 * loopback TCP: the interface's MTU and all settings below /proc/sys/net are copied, so that what a
 * study tunes holds there too. The machine's packet filter and its traffic control are not copied.
 */
#ifndef STEELYARD_API_PRIVATE_NETWORK_H
#define STEELYARD_API_PRIVATE_NETWORK_H

/* Moves the calling process, which has one thread, into such a network. Without the privilege for
 * that it first enters a user namespace in which it has the same number as before. Where the kernel
 * allows neither, or refuses a setting, the process stays where it is. Returns 1 if it has moved, 0
 * if it has not, or what fail() returned. */
int private_network_enter(void);

/* Why the last call returned 0: what was refused, and how. */
const char *private_network_refusal(void);

#endif
