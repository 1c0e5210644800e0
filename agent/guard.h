/* guard.h -- sees to a clean end: starts a system's command and lets nothing of it outlive us. */
#ifndef STEELYARD_GUARD_H
#define STEELYARD_GUARD_H

/* argv: LIFELINE SCRATCH COMMAND ARGUMENT ... Runs the command with our standard streams. When the
 * pipe whose reading end is descriptor LIFELINE ends (its writer has died, however), or the command
 * ends, every process that descends from the command is killed, in its sessions and groups too,
 * what the ledger (ledger.h; STEELYARD_LEDGER names its descriptor, if there is one) says is put
 * back, and the directory SCRATCH is removed. Other descriptors that we inherit stay open as long
 * as we live: locks. Returns the command's exit status. */
int guard(int argc, char *argv[]);

#endif
