/* ledger.h -- the file in which the laboratory notes, before it does so, what it changes on this
 * machine for the sake of a tuned system: what its guard must put back if the laboratory is killed,
 * and the next laboratory if the guard is killed as well.
 *
 * A line a fact, its words separated by tabs; the last word may hold tabs of its own:
 *
 *   boot ID               the machine's boot: after another one nothing of this holds
 *   scratch DIRECTORY     the agent's directory
 *   mark SECRET           what the system's processes have in their environment
 *   group DIRECTORY       a control group that was made
 *   nice N                what the system's processes are started with
 *   processors N,N,...
 *   groups DIRECTORY      a tree of control groups that another program makes for us, or not
 *   undo WORD ...         a command that removes what is not ours to know: a container engine's
 *                         container
 *   set FILE VALUE        what FILE held, while it holds another value
 *
 * Whatever a ledger says is held against one table (ledger.c) first: a line that this program does
 * not write is reported, and nothing is done for it.
 */
#ifndef STEELYARD_LEDGER_H
#define STEELYARD_LEDGER_H

/* Puts the calling process where the ledger wants the system's: into its groups, on its processors,
 * at its nice value; each is read back. Returns 0, or -1 when it has said on standard error what is
 * refused. */
int ledger_enter(int file);

/* Does everything in the reverse order: puts values back, runs the commands that undo, and removes
 * the groups, which must be empty. Then the ledger holds only what could not be done, or is removed
 * if that is nothing. */
void ledger_put_back(int file);

/* For the laboratory: `read FD` writes each line of the ledger, behind "fits" or "unfit" and a tab;
 * `restore FD` does what ledger_put_back() does, and writes each line behind "done", "failed ERROR"
 * or "unfit", with tabs between. Returns 3, without a word, for a ledger of another boot. */
int ledger_verb(int argc, char *argv[]);

#endif
