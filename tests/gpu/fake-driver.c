/* A library with the symbols of the driver that does nothing but answer: what kind of driver it is says
 * FAKE_KIND. */
#include <stddef.h>
#include <string.h>

#define USABLE    0
#define OLD       1 /* of CUDA 9.0 */
#define NO_DEVICE 2 /* as drivers are where there is no GPU */
#define STUB      3 /* as the toolkit's */
#define MISMATCH  4 /* the kernel's part is of another version */
#define LACKING   5 /* without a function */

/* The test sets it: the call that fails, from 1; 0: none. */
int fake_fail_at, fake_calls;

#define CALL                                                                                       \
  if (++fake_calls == fake_fail_at)                                                                \
    return 719;

unsigned int cuInit (unsigned int flags);
unsigned int cuDriverGetVersion (int *version);
unsigned int cuDeviceGetCount (int *n);
unsigned int cuDeviceGet (int *device, int index);
unsigned int cuDeviceGetName (char *name, int length, int device);
unsigned int cuDeviceGetAttribute (int *value, unsigned int attribute, int device);
unsigned int cuDeviceTotalMem_v2 (size_t *bytes, int device);
unsigned int cuGetErrorName (unsigned int result, const char **name);
unsigned int cuGetErrorString (unsigned int result, const char **text);

unsigned int
cuInit (unsigned int flags)
{
  return FAKE_KIND == NO_DEVICE ? 100 : FAKE_KIND == STUB ? 34 : FAKE_KIND == MISMATCH ? 803 : 0;
}

unsigned int
cuDriverGetVersion (int *version)
{
  *version = FAKE_KIND == OLD ? 9000 : 12040;
  return 0;
}

unsigned int
cuDeviceGetCount (int *n)
{
  CALL;
  *n = 2;
  return 0;
}

unsigned int
cuDeviceGet (int *device, int index)
{
  CALL;
  *device = 10 + index; /* handles are no indices */
  return 0;
}

unsigned int
cuDeviceGetName (char *name, int length, int device)
{
  CALL;
  strncpy (name, device == 10 ? "Fake One" : "Fake \xff Two", (size_t) length);
  return 0;
}

unsigned int
cuDeviceGetAttribute (int *value, unsigned int attribute, int device)
{
  CALL;
  *value = attribute == 75   ? (device == 10 ? 9 : 12)
           : attribute == 76 ? 0
           : attribute == 16 ? 132
                             : 50 << 20;
  return 0;
}

#if FAKE_KIND != LACKING
unsigned int
cuDeviceTotalMem_v2 (size_t *bytes, int device)
{
  CALL;
  *bytes = (size_t) 141 << 30;
  return 0;
}
#endif

unsigned int
cuGetErrorName (unsigned int result, const char **name)
{
  *name = result == 719 ? "CUDA_ERROR_LAUNCH_FAILED" : "CUDA_ERROR_OTHER";
  return 0;
}

unsigned int
cuGetErrorString (unsigned int result, const char **text)
{
  *text = "in the words of the driver";
  return 0;
}
