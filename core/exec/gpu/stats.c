/* Statistics of values where they lie: what is copied to the host is what two kernels have counted, a seventieth of a
 * value of float32. There is one pair of them for each element type, whatever the sizes. */
#include "config.h"

#include "core/exec/gpu/emit.h"
#include "core/exec/gpu/modules.h"
#include "core/exec/gpu/state.h"
#include "core/exec/gpu/stats.h"
#include "core/exec/kernel/stats-blocks.h"

#include <string.h>

#define THREADS IR_STATS_BINS /* of a block of threads: each writes a count of the histogram */
#define BLOCKS  (THREADS / 8) /* of elements, for one of threads */

static void
add (IrGpuProgram *program,
     const char *template_name,
     const GpuElement *element,
     const char *word,
     guint bits)
{
  g_autofree char *per = g_strdup_printf ("%uu", 64 / bits);
  g_autofree char *count = g_strdup_printf ("%d", IR_STATS_COUNT);
  g_autofree char *block = g_strdup_printf ("%du", IR_STATS_BLOCK);
  g_autofree char *blocks = g_strdup_printf ("%d", BLOCKS);
  g_autofree char *threads = g_strdup_printf ("%du", THREADS);
  char *text = gpu_fill (template_name, "type", element->storage, "load", element->load, "word",
                         word, "per", per, "bits", count, "block", block, "blocks", blocks,
                         "threads", threads, NULL);

  gpu_launch (program, "stats", text, 1, THREADS);
}

/**
 * ir_gpu_stats_program:
 * @dtype: of elements
 *
 * Returns: (transfer full) (nullable): the kernels that count them: of blocks, and of the histogram; %NULL: there are none
 */
IrGpuProgram *
ir_gpu_stats_program (IrDtype dtype)
{
  const GpuElement *element = gpu_element (dtype == IR_DTYPE_BOOL ? IR_DTYPE_UINT8 : dtype);
  IrGpuProgram *program;

  if (element == NULL)
    return NULL;
  program = ir_gpu_program_new ();
  add (program, "stats", element, gpu_word (dtype), ir_dtype_bits (dtype));
  gpu_launch_arg (program->launches->pdata[0], IR_GPU_INPUT, 0);
  gpu_launch_arg (program->launches->pdata[0], IR_GPU_INPUT, 0);
  gpu_launch_arg (program->launches->pdata[0], IR_GPU_INPUT, 1);
  gpu_launch_arg (program->launches->pdata[0], IR_GPU_OUTPUT, 0);
  gpu_launch_arg (program->launches->pdata[0], IR_GPU_OUTPUT, 1);
  add (program, "stats-bins", element, gpu_word (dtype), ir_dtype_bits (dtype));
  gpu_launch_arg (program->launches->pdata[1], IR_GPU_INPUT, 0);
  gpu_launch_arg (program->launches->pdata[1], IR_GPU_INPUT, 1);
  gpu_launch_arg (program->launches->pdata[1], IR_GPU_INPUT, 2);
  gpu_launch_arg (program->launches->pdata[1], IR_GPU_OUTPUT, 2);
  return program;
}

/* -- on the device, with its lock held -- */

static const IrGpuProgram *
program_of (IrDtype dtype)
{
  if (gpu_state.stats[dtype] == NULL)
    gpu_state.stats[dtype] = ir_gpu_stats_program (dtype);
  return gpu_state.stats[dtype];
}

void
gpu_stats_close (void)
{
  for (guint i = 0; i < IR_N_DTYPES; i++)
    g_clear_pointer (&gpu_state.stats[i], ir_gpu_program_free);
}

/* Without a compiler, if its kernels were compiled before. */
static gboolean
has (IrDtype dtype)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&gpu_state.lock);
  const IrGpuProgram *program;

  if (!gpu_enter (NULL) || (program = program_of (dtype)) == NULL)
    return FALSE;
  for (guint i = 0; i < program->launches->len; i++)
    if (!gpu_modules_have (program->launches->pdata[i]))
      return FALSE;
  for (guint i = 0; i < program->launches->len; i++)
    gpu_modules_want (program->launches->pdata[i]);
  return TRUE;
}

/* By the half of the staging memory that what is counted does not come back to before these have left it. */
static gboolean
give_sizes (gpointer room, guint64 n, guint n_parts, GError **error)
{
  const guint64 sizes[] = { n, n_parts };
  gpointer half = (guint8 *) gpu_state.staging + GPU_STAGING_BYTES;

  memcpy (half, sizes, sizeof sizes);
  return GPU_CALL (cuMemcpyHtoDAsync_v2, error, (unsigned long long) (gsize) room, half,
                   sizeof sizes, gpu_state.streams[gpu_stream]);
}

static gboolean
launch (const IrGpuProgram *program,
        guint which,
        guint blocks,
        gpointer const *inputs,
        gpointer const *outputs,
        GError **error)
{
  IrGpuLaunch own = *(const IrGpuLaunch *) program->launches->pdata[which];

  own.blocks = blocks;
  return gpu_launch_kernel (&own, inputs, outputs, error);
}

static gboolean
count (IrDtype dtype,
       guint64 n,
       gboolean histogram,
       gconstpointer data,
       gpointer room,
       gpointer counted,
       GError **error)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&gpu_state.lock);
  const IrGpuProgram *program;
  IrStatsLayout layout;

  ir_stats_layout (n, &layout);
  if (layout.n_blocks == 0)
    return TRUE;
  gpointer const inputs[] = { (gpointer) data, room, (guint8 *) room + layout.numbers };
  gpointer const outputs[] = { inputs[2], (guint8 *) room + layout.wholes,
                               (guint8 *) room + layout.bins };
  if (!gpu_enter (error))
    return FALSE;
  program = program_of (dtype);
  for (guint i = 0; i < program->launches->len; i++)
    gpu_modules_want (program->launches->pdata[i]);
  return gpu_modules_load (error) && give_sizes (room, n, layout.n_parts, error) &&
         launch (program, 0, (guint) ((layout.n_blocks + BLOCKS - 1) / BLOCKS), inputs, outputs,
                 error) &&
         (!histogram || launch (program, 1, layout.n_parts, inputs, outputs, error)) &&
         gpu_copy_out (counted, room, histogram ? layout.bytes : layout.bins, error);
}

const IrDeviceStats ir_gpu_stats = { &ir_gpu_memory, has, count };
