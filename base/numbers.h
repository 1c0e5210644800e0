/* numbers.h -- numbers from outside, read strictly. */
#ifndef STEELYARD_NUMBERS_H
#define STEELYARD_NUMBERS_H

#include <stdint.h>

/* Reads a decimal number. strtoull alone accepts "-1", " 1", "12abc" and "". Returns 0, or -1 if
 * `text` contains anything but digits, or a number that is too large. */
int parse_number(const char *text, uint64_t *value);

/* Takes the next word, up to a space, from *rest as parse_number does, and moves *rest behind
 * it. */
int take_number(char **rest, uint64_t *value);

#endif
