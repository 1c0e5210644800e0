/* wine.h -- Wine, which has the interface of Windows. */
#ifndef STEELYARD_WINDOWS_WINE_H
#define STEELYARD_WINDOWS_WINE_H

/* Its version; NULL: this is not Wine. */
const char *wine_version(void);

#endif
