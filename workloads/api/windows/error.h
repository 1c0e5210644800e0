/* error.h -- Windows' own error numbers, carried in errno. */
#ifndef STEELYARD_WINDOWS_ERROR_H
#define STEELYARD_WINDOWS_ERROR_H

#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#include <windows.h>

/* Puts the error of the last call, or a given one, into errno. Returns -1. */
int windows_failed(void);
int windows_failed_as(DWORD error);
/* The number of Windows that errno carries; 0: it is one of the C library's. */
DWORD windows_error(int error);

#endif
