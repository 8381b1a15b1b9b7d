/* NVTX: ranges are counted, and the last name is kept; a range that ends before it has begun shows as one less. */
#include "tests/gpu/stand-in/stand-in.h"

/* For tests, which find them by name. */
extern int nvtx_n_ranges, nvtx_depth;
extern char nvtx_names[4096];
int nvtx_n_ranges, nvtx_depth;
char nvtx_names[4096]; /* of all, with spaces between */

int nvtxRangePushA (const char *text);
int nvtxRangePop (void);

int
nvtxRangePushA (const char *text)
{
  g_strlcat (nvtx_names, text, sizeof nvtx_names);
  g_strlcat (nvtx_names, " ", sizeof nvtx_names);
  nvtx_n_ranges++;
  return nvtx_depth++;
}

int
nvtxRangePop (void)
{
  return --nvtx_depth;
}
