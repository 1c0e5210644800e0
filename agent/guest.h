/* guest.h -- the duties of the first process, where this program is a guest kernel's init. */
#ifndef STEELYARD_GUEST_H
#define STEELYARD_GUEST_H

/* Whether this is a guest kernel's first process, started as such. */
int guest_is(void);

/* Mounts what programs expect, loads an initramfs's /modules, raises the loopback interface, mounts
 * the disk that the environment names (STEELYARD_DISK: ext4), and makes the device named by the
 * environment (STEELYARD_STREAM) standard input and output. Ends the guest if it cannot. */
void guest_begin(void);

/* Raises the loopback interface of the network we are in; says so if it cannot. */
void loopback_up(void);

/* Where trials work: on the disk, in STEELYARD_DIRECTORY, or in /tmp. */
const char *guest_directory(void);

/* Whether this is a guest that was started with a swap device (STEELYARD_SWAP), and swaps to it. */
int guest_pages(void);

/* What of our own environment every trial's process gets as well, the harness's words: at most
 * `room` entries, of which the last is NULL. */
void guest_pass_on(const char *environment[], int room);

/* Switches the guest off. Does not return. */
void guest_end(void);

#endif
