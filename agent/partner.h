/* partner.h -- a partner process where a system has no fork; see workload.h. */
#ifndef STEELYARD_PARTNER_H
#define STEELYARD_PARTNER_H

/* In the partner, whose arguments partner_start made: serves, and returns an exit status. */
int partner_process(int argc, char *argv[]);

#endif
