/* guest.h -- the duties of the first process, where this program is a guest kernel's init. */
#ifndef STEELYARD_GUEST_H
#define STEELYARD_GUEST_H

/* Whether this is a guest kernel's first process, started as such. */
int guest_is(void);

/* Mounts what programs expect, raises the loopback interface, and makes the device named by the
 * environment (STEELYARD_STREAM) standard input and output. Ends the guest if it cannot. */
void guest_begin(void);

/* Whether this is a guest that was started with a swap device (STEELYARD_SWAP), and swaps to it. */
int guest_pages(void);

/* Switches the guest off. Does not return. */
void guest_end(void);

#endif
