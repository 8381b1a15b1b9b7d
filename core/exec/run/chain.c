/* Chains of nodes that work element by element on large values: run together, tile by tile, so
 * that what one gives is still in the cache when the next reads it. Only steps that follow each
 * other, with nothing but constants between, each of which writes over what the one before it
 * gives, form a chain: then running all of them with the first writes nothing that the memory plan
 * has not given them by then. The last one
 * may also give a value with memory of its own. A value whose contents somebody wants to see ends
 * its chain, unless it has memory of its own. Such a value that only its chain reads is computed in
 * a tile of spare memory, which stays in the cache, and written past the caches where it is kept.
 *
 * Every kernel sees tiles of its operands as if they were all. */
#include "config.h"

#include "core/exec/run/chain.h"

#include <omp.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define STREAM_BYTES    64 /* what is written past the caches at once */
#define LINE_ELEMENTS   (STREAM_BYTES / sizeof (float))
#define WORK_PER_THREAD 32768 /* elements of all steps: below, waking a thread costs more */

typedef struct
{
  const IrRunStep *head;
  guint64 n, tile;  /* elements of every value, and of a tile */
  float *spare;     /* (nullable) of every worker, one tile for each step */
  GError *error;    /* (nullable) the first */
  const IrRunStep *failed;
  GMutex lock;
} Job;

/* -- running them -- */

static IrTensor *
tile_of (IrOperandForm form, const IrTensor *tensor, guint64 first, guint64 n, guint64 unit)
{
  gint64 dims[2] = { (gint64) (n / unit), (gint64) unit };
  guint rank = 2;
  guint64 at = first;
  gsize bytes = n;

  if (form == IR_OPERAND_ONE)
    rank = 0, at = 0, bytes = 1;
  else if (form == IR_OPERAND_TAIL)
    dims[0] = 1, at = 0, bytes = unit;
  else if (form == IR_OPERAND_LEAD)
    dims[1] = 1, at = first / unit, bytes = n / unit;
  return ir_tensor_new_static (IR_DTYPE_FLOAT, rank, dims, (float *) ir_tensor_data (tensor) + at,
                               bytes * sizeof (float));
}

static IrTensor *
give_tile (
    IrCall *call, guint output, IrDtype dtype, guint rank, const gint64 *dims, GError **error)
{
  IrTensor *tile = call->alloc_data;
  gint64 n = 1;

  for (guint i = 0; i < rank; i++)
    n *= dims[i];
  if (output == 0 && dtype == IR_DTYPE_FLOAT && (guint64) n == ir_tensor_n_elements (tile))
    return ir_tensor_ref (tile);
  ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "a tile of output %u is of another size", output);
  return NULL;
}

/* What is read next is in the cache; what is kept here has no reader before the run has ended. */
static void
stream (float *to, const float *from, gsize bytes)
{
#ifdef __SSE2__
  if ((guintptr) to % STREAM_BYTES == 0)
    for (; bytes >= STREAM_BYTES; bytes -= STREAM_BYTES)
      for (guint i = 0; i < STREAM_BYTES / sizeof (__m128); i++, to += 4, from += 4)
        _mm_stream_ps (to, _mm_loadu_ps (from));
#endif
  memcpy (to, from, bytes);
}

/* Where worker's tile of what a step gives is computed: its own memory, or spare one. */
static IrTensor *
piece_of_output (const Job *job, const IrRunStep *step, guint worker, guint64 first, guint64 n)
{
  gint64 dims[2] = { (gint64) (n / job->head->unit), (gint64) job->head->unit };
  guint64 index = worker * job->head->n_links + step->link - 1;

  if (!step->streams || job->spare == NULL)
    return tile_of (IR_OPERAND_FULL, step->outputs[0], first, n, job->head->unit);
  return ir_tensor_new_static (IR_DTYPE_FLOAT, 2, dims, job->spare + index * job->tile,
                               n * sizeof (float));
}

static gboolean
run_tile (
    const Job *job, const IrRunStep *step, guint worker, guint64 first, guint64 n, GError **error)
{
  guint64 unit = job->head->unit;
  IrTensor *tiles[IR_CHAIN_OPERANDS] = { NULL };
  IrCallInput inputs[IR_CHAIN_OPERANDS];
  IrCallOutput output = step->call.outputs[0];
  g_autoptr (IrTensor) out = piece_of_output (job, step, worker, first, n);
  IrCall call = step->call;

  memcpy (inputs, step->call.inputs, call.n_inputs * sizeof *inputs);
  for (guint i = 0; i < call.n_inputs; i++)
    if (step->forms[i] != IR_OPERAND_ABSENT)
      {
        tiles[i] = step->sources[i] != 0
                       ? piece_of_output (job, step - step->sources[i], worker, first, n)
                       : tile_of (step->forms[i], step->call.inputs[i].tensor, first, n, unit);
        inputs[i].tensor = tiles[i];
        inputs[i].block = 0;
      }
  output.block = 0;
  output.tensor = NULL;
  call.inputs = inputs;
  call.outputs = &output;
  call.alloc = give_tile;
  call.alloc_data = out;
  gboolean done = step->choice->kernel (&call, error);
  if (done && output.tensor != out)
    done = ir_call_fail (&call, error, IR_OP_ERROR_UNSUPPORTED, "the kernel gives no tile");
  g_clear_pointer (&output.tensor, ir_tensor_unref);
  for (guint i = 0; i < call.n_inputs; i++)
    g_clear_pointer (&tiles[i], ir_tensor_unref);
  if (done && step->streams && job->spare != NULL)
    stream ((float *) ir_tensor_data_writable (step->outputs[0]) + first, ir_tensor_data (out),
            n * sizeof (float));
  return done;
}

static void
fail (Job *job, const IrRunStep *step, GError *error)
{
  g_mutex_lock (&job->lock);
  if (job->failed == NULL)
    {
      job->failed = step;
      job->error = g_steal_pointer (&error);
    }
  g_mutex_unlock (&job->lock);
  g_clear_error (&error);
}

static void
run_tiles (Job *job, guint64 first, guint64 end, guint worker)
{
  for (guint64 i = first; i < end && !ir_call_stopped (&job->head->call); i++)
    for (guint k = 0; k < job->head->chain; k++)
      {
        GError *error = NULL;
        guint64 at = i * job->tile;
        if (job->head[k].link == 0 ||
            run_tile (job, &job->head[k], worker, at, MIN (job->tile, job->n - at), &error))
          continue;
        fail (job, &job->head[k], error);
        return;
      }
#ifdef __SSE2__
  _mm_sfence ();
#endif
}

/* Tiles of whole units, as many for each thread; where they are streamed, they begin at lines. */
static guint64
cut (Job *job, int n_threads)
{
  guint64 unit = job->head->unit, n_units = job->n / unit;
  guint64 n_tiles = (job->n + IR_CHAIN_TILE - 1) / IR_CHAIN_TILE;

  n_tiles = (n_tiles + (guint64) n_threads - 1) / (guint64) n_threads * (guint64) n_threads;
  guint64 each = (n_units + n_tiles - 1) / n_tiles;
  if (each > LINE_ELEMENTS)
    each = (each + LINE_ELEMENTS - 1) / LINE_ELEMENTS * LINE_ELEMENTS;
  job->tile = each * unit;
  return (n_units + each - 1) / each;
}

/* Every element is computed as without: tiles do not show in the bits. Returns TRUE if all
 * steps of the chain have run. */
gboolean
ir_chain_run (
    IrRunState *state, IrRunStep *head, IrThreads threads, IrScratch *scratch, GError **error)
{
  Job job = { .head = head, .n = ir_tensor_n_elements (head->outputs[0]) };

  int n_threads = (int) CLAMP (job.n * head->n_links / WORK_PER_THREAD, 1, ir_threads_n (threads));
  guint64 n_tiles = cut (&job, n_threads);
  if (scratch != NULL)
    job.spare = ir_scratch_get (scratch, IR_SCRATCH_KERNEL,
                                (gsize) n_threads * head->n_links * job.tile * sizeof (float));
  /* Kernels of tiles run on the thread that asks for them, and without scratch memory. */
  for (IrRunStep *step = head; step < head + head->chain; step++)
    if (step->link != 0)
      ir_run_enter_call (state, &step->call, (IrThreads){ 0 }, NULL);
  g_mutex_init (&job.lock);
  if (n_threads == 1)
    run_tiles (&job, 0, n_tiles, 0);
  else
#pragma omp parallel num_threads(n_threads)
    {
      guint worker = (guint) omp_get_thread_num (), n = (guint) omp_get_num_threads ();
      run_tiles (&job, n_tiles * worker / n, n_tiles * (worker + 1) / n, worker);
    }
  g_mutex_clear (&job.lock);
  if (job.failed != NULL)
    {
      if (job.error == NULL)
        return ir_call_fail (&head->call, error, IR_OP_ERROR_VALUE,
                             "the kernel failed and gave no reason");
      g_propagate_error (error, ir_exec_error_from_kernel (job.failed->node, job.error));
      return FALSE;
    }
  return !ir_call_fail_if_stopped (&head->call, error);
}
