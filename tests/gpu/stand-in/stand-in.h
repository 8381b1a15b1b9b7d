/* Libraries with the symbols of the driver, NVRTC and cuBLAS that run on the processor: kernels in the
 * emulator, memory of the device in memory that nobody but a call of the driver can touch. What a
 * real device would let pass, or show once in a thousand runs, is an error here that says what it was.
 *
 * The environment variable IRSCOPE_STAND_IN has options with commas between:
 *   seed=N     of the order in which streams make progress, and threads of kernels
 *   fast       accesses of kernels are not watched, nor their order (there are guard pages still): for whole
 *              networks
 *   fail=F:N:R the N-th call of function F, from 1, returns R; N 0: each
 *   late       nothing is done before somebody waits for it
 *   skip=F:N   the N-th wait or copy, by function F, from 1, is left out, which F does not say
 *   memory=N   bytes of the device
 *   devices=N  how many there are; the first one by default
 *   wrong=K    kernels of the family K add 1 to the first number that they write */
#pragma once

#include "core/exec/gpu/library.h"
#include "tests/gpu/emulator/emulator.h"

#define STAND_IN_ARCHITECTURE 90 /* of each of its devices: sm_90 */
#define STAND_IN_VARIABLE     "IRSCOPE_STAND_IN"

/* -- options.c, in each library -- */
gboolean stand_in_option (const char *name, guint64 fallback, guint64 *value);
char *stand_in_text (const char *name); /* (transfer full) (nullable) */
/* Of programs that go together: other ones have another emulator's prelude, or do not watch accesses. */
guint64 stand_in_make (void);
/* What a call of @symbol is to return instead of being done; 0: nothing. */
unsigned int stand_in_fails (const char *symbol);
/* Whether this call of @symbol is left out; stand_in_n_skipped counts those. */
gboolean stand_in_skips (const char *symbol);

/* What stands behind a shared object in what NVRTC's stand-in gives as CUBIN: of which make it is, its size,
 * and the text that it was made from. */
typedef struct
{
  char magic[16];
  guint64 make, object_bytes, text_bytes;
} StandInTail;
#define STAND_IN_MAGIC "irscope stand-in"

/* -- results of the driver -- */
enum
{
  OK = 0,
  INVALID_VALUE = 1,
  OUT_OF_MEMORY = 2,
  INVALID_IMAGE = 200,
  INVALID_CONTEXT = 201,
  NO_BINARY = 209,
  INVALID_HANDLE = 400,
  NOT_FOUND = 500,
  NOT_READY = 600,
  ILLEGAL_ADDRESS = 700,
  ALREADY_REGISTERED = 712,
  NOT_REGISTERED = 713,
  LAUNCH_FAILED = 719,
  CAPTURE_UNSUPPORTED = 900,
  CAPTURE_INVALIDATED = 901,
  CAPTURE_UNMATCHED = 903,
  CAPTURE_UNJOINED = 904,
  CAPTURE_ISOLATION = 905,
  CAPTURED_EVENT = 907,
  CAPTURE_WRONG_THREAD = 908
};

/* -- memory.c -- */
#define MAX_AGENTS 32 /* the host is 0, streams follow */
typedef struct
{
  guint32 at[MAX_AGENTS];
} Clock;

/* Who touches memory. */
typedef struct
{
  guint agent;
  guint32 epoch; /* of the agent */
  const Clock *clock;
  const char *name;
} Toucher;

typedef struct _Block Block;
void block_open (Block *block); /* before something is done to it; touch() does it, too */
void blocks_close (void);       /* at the end of a call of the driver */
guint64 block_new (gsize bytes);
Block *block_find (gconstpointer at, gsize bytes); /* (nullable) alive, with all these bytes */
gsize block_left (const Block *block, gconstpointer at);
guint block_number (const Block *block);
unsigned int block_free (guint64 at, const Clock *host);
unsigned int touch (gconstpointer at, gsize bytes, gboolean writes, const Toucher *by);
unsigned int touch_host (gconstpointer at, gsize bytes, gboolean writes, const Toucher *by);
void blocks_forget (const Clock *host); /* accesses that are over for the host */
guint blocks_clear (void);              /* the number of those that were not freed */
/* Keeps the words of what went wrong, which cuGetErrorString() gives. */
unsigned int problem (unsigned int result, const char *format, ...) G_GNUC_PRINTF (2, 3);
const char *last_problem (void); /* (nullable) */

/* -- modules.c -- */
unsigned int function_check (const struct CUfunc_st *function,
                             const IrGpuLaunch *launch,
                             void **parameters,
                             gpointer *args);
unsigned int function_run (struct CUfunc_st *function,
                           IrGpuLaunch *launch,
                           gpointer *args,
                           const Toucher *by);
const char *function_name (const struct CUfunc_st *function);
guint function_n_parameters (const struct CUfunc_st *function);
void modules_clear (void);

/* -- streams.c -- */
unsigned int streams_finish (void); /* all of them; what went wrong */
void streams_clear (void);
void streams_go_on (void); /* something else than a wait is asked for */
const Clock *host_clock (void);

/* Work of another library, which reads and writes these bytes; @data is freed behind it. */
typedef struct
{
  gconstpointer at;
  gsize bytes;
  gboolean writes;
} StandInTouch;
#define MAX_TOUCHES 4
unsigned int stand_in_enqueue (struct CUstream_st *stream,
                               const char *name,
                               void (*call) (gpointer data),
                               gpointer data,
                               gsize data_bytes,
                               const StandInTouch *touches,
                               guint n_touches);

/* -- graphs.c -- */
/* What may not be asked for while this thread captures; @symbol: a function of the driver */
unsigned int capture_forbids (const char *symbol);
guint graphs_clear (void); /* the number of those that were not destroyed */

/* -- driver.c: each entry of the driver begins and ends with these -- */
unsigned int enter (const char *symbol, gboolean context);
unsigned int leave (unsigned int result);
#define ENTER_WITH(symbol, context)                                                                \
  unsigned int entered = enter (symbol, context);                                                  \
  if (entered != OK)                                                                               \
    return leave (entered);
#define ENTER ENTER_WITH (__func__, TRUE)

/* Prototypes of all that is planted. */
#define GPU_FUNCTION(LIBRARY, symbol, since, ...)      unsigned int symbol (__VA_ARGS__);
#define GPU_TEXT_FUNCTION(LIBRARY, symbol, since, ...) const char *symbol (__VA_ARGS__);
#define GPU_SIZE_FUNCTION(LIBRARY, symbol, since, ...) size_t symbol (__VA_ARGS__);
#include "core/exec/gpu/functions.def"
