/* The stand-in names what is wrong with how a device is used: each of these programs is wrong in one way,
 * and the first ones are right. */
#include "config.h"

#include "core/exec/gpu/compile.h"
#include "core/exec/gpu/runtime.h"

#include <string.h>

#define N 256

typedef struct
{
  IrGpu *gpu;
  int device;
  struct CUctx_st *context;
  struct CUstream_st *streams[2];
  struct CUevent_st *event;
  struct CUmod_st *module;
  struct CUfunc_st *twice;
  unsigned long long x, y, z; /* N floats each */
  float *host;
} Use;

static const char twice[] =
    "IR_KERNEL (twice) (const float *x, float *y)\n{\n"
    "  K_STORE (y, K_BLOCK * 64 + K_THREAD, 2 * K_LOAD (x, K_BLOCK * 64 + K_THREAD));\n}\n";

static IrGpuCode *code; /* of twice */

static IrGpu *
open_stand_in (void)
{
  GPtrArray *places = ir_gpu_places_new ();

  ir_gpu_places_add (places, g_test_get_dir (G_TEST_BUILT), "test");
  return ir_gpu_open (places);
}

#define RIGHT(call) g_assert_cmpuint (use->gpu->functions.call, ==, 0)

static void
use_begin (Use *use)
{
  g_autoptr (GError) error = NULL;

  *use = (Use){ .gpu = open_stand_in () };
  g_assert_true (use->gpu->stand_in);
  RIGHT (cuDeviceGet (&use->device, 0));
  RIGHT (cuDevicePrimaryCtxRetain (&use->context, use->device));
  RIGHT (cuCtxSetCurrent (use->context));
  RIGHT (cuStreamCreate (&use->streams[0], 1));
  RIGHT (cuStreamCreate (&use->streams[1], 1));
  RIGHT (cuEventCreate (&use->event, 2));
  RIGHT (cuMemAlloc_v2 (&use->x, N * sizeof (float)));
  RIGHT (cuMemAlloc_v2 (&use->y, N * sizeof (float)));
  RIGHT (cuMemAlloc_v2 (&use->z, N * sizeof (float)));
  if (code == NULL)
    code = ir_gpu_compile (use->gpu, twice, 90, &error);
  g_assert_no_error (error);
  RIGHT (cuModuleLoadData (&use->module, g_bytes_get_data (code->cubin, NULL)));
  RIGHT (cuModuleGetFunction (&use->twice, use->module, "twice"));
  use->host = g_new0 (float, N);
  for (guint i = 0; i < N; i++)
    use->host[i] = (float) i;
}

static void
use_end (Use *use)
{
  use->gpu->functions.cuMemFree_v2 (use->x);
  use->gpu->functions.cuMemFree_v2 (use->y);
  use->gpu->functions.cuMemFree_v2 (use->z);
  use->gpu->functions.cuDevicePrimaryCtxRelease_v2 (use->device);
  ir_gpu_free (use->gpu);
  g_free (use->host);
}

/* The last result that was not 0. */
static IrGpuResult
launch (Use *use, guint stream, unsigned long long from, unsigned long long to)
{
  void *parameters[] = { &from, &to };

  return use->gpu->functions.cuLaunchKernel (use->twice, N / 64, 1, 1, 64, 1, 1, 0,
                                             use->streams[stream], parameters, NULL);
}

static IrGpuResult
load (Use *use, guint stream)
{
  return use->gpu->functions.cuMemcpyHtoDAsync_v2 (use->x, use->host, N * sizeof (float),
                                                   use->streams[stream]);
}

static IrGpuResult
fetch (Use *use, guint stream, unsigned long long from)
{
  return use->gpu->functions.cuMemcpyDtoHAsync_v2 (use->host, from, N * sizeof (float),
                                                   use->streams[stream]);
}

static IrGpuResult
wait (Use *use, guint stream)
{
  return use->gpu->functions.cuStreamSynchronize (use->streams[stream]);
}

#define FIRST(result, call)                                                                        \
  if (result == 0)                                                                                 \
    result = call;

/* -- what is right -- */

static IrGpuResult
in_one_stream (Use *use)
{
  IrGpuResult result = load (use, 0);

  FIRST (result, launch (use, 0, use->x, use->y));
  FIRST (result, launch (use, 0, use->y, use->z));
  FIRST (result, wait (use, 0));
  FIRST (result, fetch (use, 0, use->z));
  FIRST (result, wait (use, 0));
  for (guint i = 0; i < N && result == 0; i++)
    g_assert_cmpfloat (use->host[i], ==, 4 * (float) i);
  return result;
}

static IrGpuResult
by_an_event (Use *use)
{
  IrGpuResult result = load (use, 0);

  FIRST (result, launch (use, 0, use->x, use->y));
  FIRST (result, use->gpu->functions.cuEventRecord (use->event, use->streams[0]));
  FIRST (result, use->gpu->functions.cuStreamWaitEvent (use->streams[1], use->event, 0));
  FIRST (result, launch (use, 1, use->y, use->z));
  FIRST (result, wait (use, 1));
  return result;
}

static IrGpuResult
by_the_host (Use *use)
{
  IrGpuResult result = load (use, 0);

  FIRST (result, launch (use, 0, use->x, use->y));
  FIRST (result, wait (use, 0));
  FIRST (result, launch (use, 1, use->y, use->z));
  FIRST (result, wait (use, 1));
  return result;
}

static IrGpuResult
two_readers (Use *use)
{
  IrGpuResult result = load (use, 0);

  FIRST (result, wait (use, 0));
  FIRST (result, launch (use, 0, use->x, use->y));
  FIRST (result, launch (use, 1, use->x, use->z));
  FIRST (result, wait (use, 0));
  FIRST (result, wait (use, 1));
  return result;
}

/* -- graphs: twice (x) = y in stream 0, twice (y) = z in stream 1 -- */

static IrGpuResult
begin (Use *use)
{
  return use->gpu->functions.cuStreamBeginCapture_v2 (use->streams[0], 1);
}

static IrGpuResult
go_to (Use *use, guint from, guint to)
{
  IrGpuResult result = use->gpu->functions.cuEventRecord (use->event, use->streams[from]);

  FIRST (result, use->gpu->functions.cuStreamWaitEvent (use->streams[to], use->event, 0));
  return result;
}

/* What was captured of streams is launched @n times. */
static IrGpuResult
end (Use *use, guint n)
{
  struct CUgraph_st *graph = NULL;
  struct CUgraphExec_st *made = NULL;
  IrGpuResult result = use->gpu->functions.cuStreamEndCapture (use->streams[0], &graph), freed;

  FIRST (result, use->gpu->functions.cuGraphInstantiateWithFlags (&made, graph, 0));
  for (guint i = 0; i < n; i++)
    FIRST (result, use->gpu->functions.cuGraphLaunch (made, use->streams[0]));
  freed = graph != NULL ? use->gpu->functions.cuGraphDestroy (graph) : 0;
  FIRST (result, wait (use, 0));
  FIRST (result, freed);
  freed = made != NULL ? use->gpu->functions.cuGraphExecDestroy (made) : 0;
  FIRST (result, freed);
  return result;
}

static IrGpuResult
captured (Use *use)
{
  IrGpuResult result = load (use, 0);

  FIRST (result, begin (use));
  FIRST (result, launch (use, 0, use->x, use->y));
  FIRST (result, go_to (use, 0, 1));
  FIRST (result, launch (use, 1, use->y, use->z));
  FIRST (result, launch (use, 0, use->y, use->x));
  FIRST (result, go_to (use, 1, 0));
  FIRST (result, end (use, 2)); /* x: 2 * 2 * 2 * 2, z: the same */
  FIRST (result, fetch (use, 0, use->z));
  FIRST (result, wait (use, 0));
  for (guint i = 0; i < N && result == 0; i++)
    g_assert_cmpfloat (use->host[i], ==, 16 * (float) i);
  return result;
}

/* Nothing orders the two kernels of one graph. */
static IrGpuResult
captured_race (Use *use)
{
  IrGpuResult result = load (use, 0);

  FIRST (result, begin (use));
  FIRST (result, go_to (use, 0, 1));
  FIRST (result, launch (use, 0, use->x, use->y));
  FIRST (result, launch (use, 1, use->y, use->z));
  FIRST (result, go_to (use, 1, 0));
  FIRST (result, end (use, 1));
  return result;
}

static IrGpuResult
captured_wait (Use *use)
{
  IrGpuResult result = begin (use);

  FIRST (result, launch (use, 0, use->x, use->y));
  FIRST (result, wait (use, 0));
  end (use, 0);
  return result;
}

static IrGpuResult
captured_alloc (Use *use)
{
  IrGpuResult result = begin (use);
  unsigned long long memory;

  FIRST (result, use->gpu->functions.cuMemAlloc_v2 (&memory, 4));
  end (use, 0);
  return result;
}

static IrGpuResult
invalid (Use *use)
{
  captured_wait (use);
  IrGpuResult result = begin (use);
  wait (use, 0);
  FIRST (result, launch (use, 0, use->x, use->y));
  end (use, 0);
  return result;
}

static IrGpuResult
not_joined (Use *use)
{
  IrGpuResult result = begin (use);

  FIRST (result, go_to (use, 0, 1));
  FIRST (result, launch (use, 1, use->x, use->y));
  FIRST (result, end (use, 1));
  return result;
}

static IrGpuResult
from_outside (Use *use)
{
  IrGpuResult result = begin (use);

  FIRST (result, go_to (use, 1, 0));
  end (use, 0);
  return result;
}

static IrGpuResult
event_of_capture (Use *use)
{
  IrGpuResult result = begin (use);

  FIRST (result, use->gpu->functions.cuEventRecord (use->event, use->streams[0]));
  FIRST (result, end (use, 0));
  FIRST (result, use->gpu->functions.cuStreamWaitEvent (use->streams[1], use->event, 0));
  return result;
}

static IrGpuResult
ended_elsewhere (Use *use)
{
  struct CUgraph_st *graph = NULL;
  IrGpuResult result = begin (use);

  FIRST (result, go_to (use, 0, 1));
  FIRST (result, use->gpu->functions.cuStreamEndCapture (use->streams[1], &graph));
  end (use, 0);
  return result;
}

/* -- what is wrong -- */

static IrGpuResult
no_event (Use *use)
{
  IrGpuResult result = load (use, 0);

  FIRST (result, launch (use, 0, use->x, use->y));
  FIRST (result, launch (use, 1, use->y, use->z));
  FIRST (result, wait (use, 0));
  FIRST (result, wait (use, 1));
  return result;
}

/* The event was recorded before what it is to order. */
static IrGpuResult
early_event (Use *use)
{
  IrGpuResult result = load (use, 0);

  FIRST (result, use->gpu->functions.cuEventRecord (use->event, use->streams[0]));
  FIRST (result, launch (use, 0, use->x, use->y));
  FIRST (result, use->gpu->functions.cuStreamWaitEvent (use->streams[1], use->event, 0));
  FIRST (result, launch (use, 1, use->y, use->z));
  FIRST (result, wait (use, 0));
  FIRST (result, wait (use, 1));
  return result;
}

/* What is read is written again by somebody else. */
static IrGpuResult
overwritten (Use *use)
{
  IrGpuResult result = load (use, 0);

  FIRST (result, wait (use, 0));
  FIRST (result, launch (use, 0, use->x, use->y));
  FIRST (result,
         use->gpu->functions.cuMemsetD8Async (use->x, 0, N * sizeof (float), use->streams[1]));
  FIRST (result, wait (use, 0));
  FIRST (result, wait (use, 1));
  return result;
}

static IrGpuResult
host_overwritten (Use *use)
{
  IrGpuResult result = load (use, 0);

  FIRST (result, fetch (use, 1, use->z));
  FIRST (result, wait (use, 0));
  FIRST (result, wait (use, 1));
  return result;
}

static IrGpuResult
freed (Use *use)
{
  IrGpuResult result = load (use, 0);

  FIRST (result, wait (use, 0));
  FIRST (result, use->gpu->functions.cuMemFree_v2 (use->y));
  FIRST (result, launch (use, 0, use->x, use->y));
  return result;
}

static IrGpuResult
too_long (Use *use)
{
  return use->gpu->functions.cuMemcpyHtoDAsync_v2 (use->x, use->host, N * sizeof (float) + 4,
                                                   use->streams[0]);
}

static IrGpuResult
at_an_odd_place (Use *use)
{
  return launch (use, 0, use->x + 2, use->y);
}

static IrGpuResult
beyond_its_end (Use *use)
{
  IrGpuResult result = load (use, 0);

  FIRST (result, launch (use, 0, use->x + 64 * sizeof (float), use->y));
  FIRST (result, wait (use, 0));
  return result;
}

static IrGpuResult
host_address (Use *use)
{
  return launch (use, 0, (unsigned long long) (gsize) use->host, use->y);
}

static IrGpuResult
too_many_threads (Use *use)
{
  void *parameters[] = { &use->x, &use->y };

  return use->gpu->functions.cuLaunchKernel (use->twice, 1, 1, 1, 2048, 1, 1, 0, use->streams[0],
                                             parameters, NULL);
}

static IrGpuResult
no_kernel (Use *use)
{
  struct CUfunc_st *function;

  return use->gpu->functions.cuModuleGetFunction (&function, use->module, "thrice");
}

static IrGpuResult
no_program (Use *use)
{
  struct CUmod_st *module;

  return use->gpu->functions.cuModuleLoadData (&module, "thrice");
}

static IrGpuResult
no_context (Use *use)
{
  use->gpu->functions.cuCtxSetCurrent (NULL);
  IrGpuResult result = wait (use, 0);
  use->gpu->functions.cuCtxSetCurrent (use->context);
  return result;
}

typedef struct
{
  const char *name;
  IrGpuResult (*use) (Use *use);
  IrGpuResult result;
  const char *says[2];
} Row;

static const Row rows[] = {
  { "in one stream", in_one_stream, 0, { NULL } },
  { "ordered by an event", by_an_event, 0, { NULL } },
  { "ordered by the host", by_the_host, 0, { NULL } },
  { "two readers", two_readers, 0, { NULL } },
  { "captured and launched twice", captured, 0, { NULL } },
  { "not in order in a graph", captured_race, 719, { "nothing orders twice (stream", NULL } },
  { "waited for while captured", captured_wait, 900, { NULL } },
  { "memory taken while captured", captured_alloc, 900, { NULL } },
  { "on with an invalid capture", invalid, 901, { NULL } },
  { "another stream's end", ended_elsewhere, 903, { NULL } },
  { "a stream that did not come back", not_joined, 904, { "have come back", NULL } },
  { "an event from outside of the capture", from_outside, 905, { NULL } },
  { "an event of a capture that is over", event_of_capture, 907, { "captured last", NULL } },
  { "no event", no_event, 719, { "nothing orders twice (stream", "bytes 0 to 1024" } },
  { "an event too early", early_event, 719, { "nothing orders twice (stream", NULL } },
  { "read and overwritten", overwritten, 719, { "twice", "a fill" } },
  { "the host's memory read and overwritten",
    host_overwritten,
    719,
    { "the host's memory", NULL } },
  { "freed", freed, 1, { "argument 1", "no block" } },
  { "too long", too_long, 1, { "1028 bytes to no block", NULL } },
  { "at an odd place", at_an_odd_place, 1, { "no multiple of 4", NULL } },
  { "beyond its end", beyond_its_end, 700, { "reads 4 bytes that are in no buffer", NULL } },
  { "an address of the host", host_address, 1, { "no block", NULL } },
  { "too many threads", too_many_threads, 1, { "2048 threads", NULL } },
  { "no such kernel", no_kernel, 500, { "no kernel thrice", NULL } },
  { "no program", no_program, 200, { "no program", NULL } },
  { "no context", no_context, 201, { "without a context", NULL } },
};

static void
test_row (gconstpointer data)
{
  const Row *row = data;

  for (guint seed = 1; seed <= 8; seed++)
    {
      g_autofree char *option = g_strdup_printf ("seed=%u", seed);
      const char *text = "";
      Use use;

      g_setenv ("IRSCOPE_STAND_IN", option, TRUE);
      use_begin (&use);
      g_assert_cmpuint (row->use (&use), ==, row->result);
      use.gpu->functions.cuGetErrorString (row->result, &text);
      for (guint i = 0; i < G_N_ELEMENTS (row->says) && row->says[i] != NULL; i++)
        if (strstr (text, row->says[i]) == NULL)
          g_error ("“%s” lacks “%s”", text, row->says[i]);
      use_end (&use);
    }
}

/* Memory of the device is nobody's but the driver's, and what is copied out is there when the host has
 * waited for it, not before. */
static void
test_late (void)
{
  Use row, *use = &row;
  guint n_early = 0;

  for (guint seed = 1; seed <= 8; seed++)
    {
      g_autofree char *option = g_strdup_printf ("seed=%u", seed);
      g_setenv ("IRSCOPE_STAND_IN", option, TRUE);
      use_begin (use);
      RIGHT (cuMemcpyHtoDAsync_v2 (use->x, use->host, N * sizeof (float), use->streams[0]));
      RIGHT (cuMemcpyDtoHAsync_v2 (use->host, use->x, N * sizeof (float), use->streams[0]));
      n_early += use->host[1] != 1;
      RIGHT (cuStreamSynchronize (use->streams[0]));
      use_end (use);
    }
  g_assert_cmpuint (n_early, >, 2);
}

static void
test_reading_device (void)
{
  if (g_test_subprocess ())
    {
      Use use;
      use_begin (&use);
      g_print ("%f", *(const float *) (gsize) use.x);
      return;
    }
  g_test_trap_subprocess (NULL, 0, 0);
  g_test_trap_assert_failed ();
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autofree char *path = g_strdup_printf ("/gpu/stand-in/%s", rows[i].name);
      g_test_add_data_func (path, &rows[i], test_row);
    }
  g_test_add_func ("/gpu/stand-in/copies are late", test_late);
  g_test_add_func ("/gpu/stand-in/the host cannot read the device", test_reading_device);
  int failed = g_test_run ();
  ir_gpu_code_free (code);
  return failed;
}
