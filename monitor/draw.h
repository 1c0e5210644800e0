/* draw.h -- which children --children N follows: each by a draw of its own, with a chance of one in
 * N.
 *
 * Not each Nth: a program that makes its children in turns would have all those that are followed
 * be of one kind. The draws follow from a seed, so that they can be repeated; the kernel's side of
 * the monitor draws by this file too.
 */
#ifndef STEELYARD_DRAW_H
#define STEELYARD_DRAW_H

/* Of the child of that number, in the order of births. splitmix64 (Steele, Lea and Flood, 2014): as
 * good as independent of whatever makes the children. */
static inline int draw_follows(unsigned long long seed, unsigned long long number,
                               unsigned int one_in)
{
	unsigned long long z = seed + (number + 1) * 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	z ^= z >> 31;
	return (z >> 32) * one_in >> 32 == 0;
}

#endif
