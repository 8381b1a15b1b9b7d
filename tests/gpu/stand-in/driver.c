/* The driver: one device, its context and its memory; of several they are the same one. A call that finds that something is wrong loses the
 * context, as with a real device; it is found again when all that retain it have released it. */
#define _GNU_SOURCE
#include "tests/gpu/stand-in/stand-in.h"

#include <stdio.h>
#include <string.h>

/* By its being there a program knows what it has before it. */
extern const int irscope_stand_in;
const int irscope_stand_in = 1;

static GRecMutex lock;
static unsigned int lost;
static guint retained;
static GHashTable *pinned; /* set of memory */
static GHashTable *registered;
static __thread gboolean is_current;

unsigned int
enter (const char *symbol, gboolean context)
{
  unsigned int fails;

  g_rec_mutex_lock (&lock);
  if (strcmp (symbol, "cuStreamSynchronize") != 0)
    streams_go_on ();
  fails = stand_in_fails (symbol);
  if (fails != OK)
    return problem (fails, "%s was made to fail", symbol);
  if (context && lost != OK)
    return lost;
  if (context && (retained == 0 || !is_current))
    return problem (INVALID_CONTEXT, "%s without a context that is current in this thread", symbol);
  return context ? capture_forbids (symbol) : OK;
}

unsigned int
leave (unsigned int result)
{
  if (result >= 700 && result < 800 && result != ALREADY_REGISTERED && result != NOT_REGISTERED &&
      retained > 0)
    lost = result;
  blocks_close ();
  g_rec_mutex_unlock (&lock);
  return result;
}

unsigned int
cuInit (unsigned int flags)
{
  return stand_in_fails (__func__);
}

unsigned int
cuDriverGetVersion (int *version)
{
  *version = 13000;
  return OK;
}

static int
n_devices (void)
{
  guint64 n;

  stand_in_option ("devices", 1, &n);
  return (int) n;
}

unsigned int
cuDeviceGetCount (int *n)
{
  ENTER_WITH (__func__, FALSE);
  *n = n_devices ();
  return leave (OK);
}

unsigned int
cuDeviceGet (int *device, int index)
{
  ENTER_WITH (__func__, FALSE);
  *device = 100 + index; /* handles are no indices */
  return leave (index >= 0 && index < n_devices () ? OK : 101);
}

unsigned int
cuDeviceGetName (char *name, int length, int device)
{
  ENTER_WITH (__func__, FALSE);
  snprintf (name, (size_t) length, "stand-in on the processor");
  return leave (OK);
}

unsigned int
cuDeviceGetAttribute (int *value, unsigned int attribute, int device)
{
  ENTER_WITH (__func__, FALSE);
  *value = attribute == 75 ? STAND_IN_ARCHITECTURE / 10 : attribute == 16 ? 1 : 0;
  return leave (OK);
}

unsigned int
cuDeviceTotalMem_v2 (size_t *bytes, int device)
{
  ENTER_WITH (__func__, FALSE);
  guint64 limit;

  stand_in_option ("memory", G_GUINT64_CONSTANT (4) << 30, &limit);
  *bytes = (size_t) limit;
  return leave (OK);
}

unsigned int
cuDevicePrimaryCtxRetain (struct CUctx_st **context, int device)
{
  ENTER_WITH (__func__, FALSE);
  retained++;
  *context = (struct CUctx_st *) (gpointer) &retained;
  return leave (device >= 100 && device < 100 + n_devices () ? OK : 101);
}

unsigned int
cuDevicePrimaryCtxRelease_v2 (int device)
{
  ENTER_WITH (__func__, FALSE);
  gboolean was_lost = lost != OK;
  guint n_blocks, n_graphs;

  if (retained == 0)
    return leave (problem (INVALID_CONTEXT, "the context was released more often than retained"));
  if (--retained > 0)
    return leave (OK);
  n_graphs = graphs_clear ();
  streams_clear ();
  modules_clear ();
  g_clear_pointer (&registered, g_hash_table_unref);
  n_blocks = blocks_clear ();
  lost = OK;
  if (n_blocks > 0 && !was_lost)
    fprintf (stderr, "stand-in: %u blocks of memory were not freed\n", n_blocks);
  if (n_graphs > 0 && !was_lost)
    fprintf (stderr, "stand-in: %u graphs were not destroyed\n", n_graphs);
  return leave (OK);
}

unsigned int
cuCtxSetCurrent (struct CUctx_st *context)
{
  ENTER_WITH (__func__, FALSE);
  is_current = context != NULL;
  return leave (OK);
}

unsigned int
cuMemAlloc_v2 (unsigned long long *memory, size_t bytes)
{
  ENTER;
  if (bytes == 0)
    return leave (problem (INVALID_VALUE, "cuMemAlloc_v2 of no bytes"));
  *memory = block_new (bytes);
  return leave (*memory != 0 ? OK : OUT_OF_MEMORY);
}

/* As a driver's, it waits for all work. */
unsigned int
cuMemFree_v2 (unsigned long long memory)
{
  ENTER;
  unsigned int result = streams_finish (), freed = block_free (memory, host_clock ());

  return leave (result != OK ? result : freed);
}

unsigned int
cuMemAllocHost_v2 (void **memory, size_t bytes)
{
  ENTER;
  if (pinned == NULL)
    pinned = g_hash_table_new (NULL, NULL);
  *memory = g_malloc (bytes);
  memset (*memory, 0xff, bytes);
  g_hash_table_add (pinned, *memory);
  return leave (OK);
}

unsigned int
cuMemFreeHost (void *memory)
{
  ENTER_WITH (__func__, FALSE);
  if (pinned == NULL || !g_hash_table_remove (pinned, memory))
    return leave (problem (INVALID_VALUE, "cuMemFreeHost of what is no such memory"));
  g_free (memory);
  return leave (OK);
}

unsigned int
cuMemHostRegister_v2 (void *memory, size_t bytes, unsigned int flags)
{
  ENTER;
  if (memory == NULL || bytes == 0 || flags != 0)
    return leave (problem (INVALID_VALUE, "cuMemHostRegister_v2 of nothing"));
  if (registered == NULL)
    registered = g_hash_table_new (NULL, NULL);
  if (!g_hash_table_add (registered, memory))
    return leave (problem (ALREADY_REGISTERED, "cuMemHostRegister_v2 twice"));
  return leave (OK);
}

/* It waits for all work that may still go there. */
unsigned int
cuMemHostUnregister (void *memory)
{
  ENTER;
  unsigned int result = streams_finish ();

  if (registered == NULL || !g_hash_table_remove (registered, memory))
    return leave (problem (NOT_REGISTERED, "cuMemHostUnregister of what is not registered"));
  return leave (result);
}

/* -- words -- */

unsigned int
cuGetErrorName (unsigned int result, const char **name)
{
  static const struct
  {
    unsigned int result;
    const char *name;
  } names[] = { { INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE" },
                { OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY" },
                { INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE" },
                { INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT" },
                { NO_BINARY, "CUDA_ERROR_NO_BINARY_FOR_GPU" },
                { INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE" },
                { NOT_FOUND, "CUDA_ERROR_NOT_FOUND" },
                { ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS" },
                { LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED" },
                { CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED" },
                { CAPTURE_INVALIDATED, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED" },
                { CAPTURE_UNMATCHED, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED" },
                { CAPTURE_UNJOINED, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED" },
                { CAPTURE_ISOLATION, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION" },
                { CAPTURED_EVENT, "CUDA_ERROR_CAPTURED_EVENT" },
                { CAPTURE_WRONG_THREAD, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD" } };

  *name = "CUDA_ERROR_UNKNOWN";
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    if (names[i].result == result)
      *name = names[i].name;
  return OK;
}

unsigned int
cuGetErrorString (unsigned int result, const char **text)
{
  *text = result != OUT_OF_MEMORY && last_problem () != NULL ? last_problem () : "no words for it";
  return OK;
}
