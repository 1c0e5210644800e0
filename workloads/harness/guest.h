/* guest.h -- the duties of the first process, where this program is a guest kernel's init. */
#ifndef STEELYARD_GUEST_H
#define STEELYARD_GUEST_H

/* Mounts what programs expect, raises the loopback interface, and makes the device named by the
 * environment (STEELYARD_STREAM) standard input and output. Ends the guest if it cannot. */
void guest_begin(void);

/* Whether this is a guest that was started with a swap device (STEELYARD_SWAP), and swaps to it. */
int guest_pages(void);

/* What of our own environment every trial's process gets as well, the harness's words: at most `room`
 * entries, of which the last is NULL. */
void guest_pass_on(const char *environment[], int room);

/* Switches the guest off. Does not return. */
void guest_end(void);

#endif
