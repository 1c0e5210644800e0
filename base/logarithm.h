/* logarithm.h -- logarithm and exponential that are the same to the last bit on every system.
 *
 * They are made of additions, multiplications and divisions, because those of the C libraries
 * differ in their last bits.
 */
#ifndef STEELYARD_LOGARITHM_H
#define STEELYARD_LOGARITHM_H

double own_log(double x); /* of a normal number above 0 */
double own_exp(double x); /* from -700 to 700 */

#endif
