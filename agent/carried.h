/* carried.h -- files that the laboratory sends to the system: a copy of each, in a directory of the
 * agent's own.
 *
 *   carry NAME KIND     begins one; KIND is "program" or "data"
 *   bytes BASE64        continues it
 *   carried             ends it
 *
 * Only the last is answered, with the file's size and digest, or why there is none.
 */
#ifndef STEELYARD_CARRIED_H
#define STEELYARD_CARRIED_H

/* Obeys the line if it is one of these. Returns whether it was. */
int carried_obey(const char *directory, char *line);

#endif
