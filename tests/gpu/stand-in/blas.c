/* cuBLAS and cuBLASLt, of which nothing is used yet but who they are. */
#include "tests/gpu/stand-in/stand-in.h"

unsigned int
cublasGetProperty (unsigned int property, int *value)
{
  *value = property == 0 ? 13 : 0;
  return stand_in_fails (__func__);
}

const char *
cublasGetStatusString (unsigned int result)
{
  return "an error of the stand-in";
}

size_t
cublasLtGetVersion (void)
{
  return 130000;
}

const char *
cublasLtGetStatusString (unsigned int result)
{
  return "an error of the stand-in";
}
