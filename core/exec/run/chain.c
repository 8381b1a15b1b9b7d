/* Chains of nodes that work element by element on large values: run together, piece by piece, so
 * that what one gives is still in the cache when the next reads it. Only steps that follow each
 * other, with nothing but constants between, each of which writes over what the one before it
 * gives, form a chain: then running all of them with the first writes nothing that the memory plan
 * has not given them by then. The last one
 * may also give a value with memory of its own. A value whose contents somebody wants to see ends
 * its chain, unless it has memory of its own. Such a value that only its chain reads is computed in
 * a piece of spare memory, which stays in the cache, and written past the caches where it is kept.
 *
 * Every kernel sees pieces of its operands as if they were all. */
#include "config.h"

#include "core/exec/run/chain.h"

#include <omp.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define PIECE_ELEMENTS   16384
#define LEAST_BYTES      (1 << 20)   /* of a value: smaller ones stay in the cache by themselves */
#define LEAST_KEPT_BYTES (128 << 10) /* of one that is kept: it leaves the cache in any case */
#define STREAM_BYTES     64          /* what is written past the caches at once */
#define LINE_ELEMENTS    (STREAM_BYTES / sizeof (float))
#define WORK_PER_THREAD  32768 /* elements of all steps: below, waking a thread costs more */
#define MOST_LINKS       16    /* of one chain: their pieces together stay in the cache */

typedef struct
{
  IrRunState *state;
  const IrRunStep *head;
  guint64 n, piece; /* elements of every value, and of a piece */
  float *spare;     /* (nullable) of every worker, one piece for each step */
  GError *error;    /* (nullable) the first */
  const IrRunStep *failed;
  GMutex lock;
} Job;

/* -- which steps can run in pieces -- */

static guint64
count (const IrType *type, int first)
{
  guint64 n = 1;

  for (int i = first; i < type->rank; i++)
    n *= (guint64) type->dims[i];
  return n;
}

/* The last axes of @out, or the first ones with all others 1; those that lack count as 1. */
static IrOperandForm
form_along (const IrType *type, const IrType *out, guint64 *unit)
{
  int shift = out->rank - type->rank, first = 0, last = 0;

  if (shift < 0)
    return IR_OPERAND_UNFIT;
  while (first < out->rank && (first < shift || type->dims[first - shift] == 1))
    first++;
  *unit = count (out, first);
  if (first >= shift && memcmp (type->dims + (first - shift), out->dims + first,
                                sizeof (IrDim) * (guint) (out->rank - first)) == 0)
    return IR_OPERAND_TAIL;
  while (last < out->rank && (last < shift ? 1 : type->dims[last - shift]) == out->dims[last])
    last++;
  *unit = count (out, last);
  for (int i = last; i < out->rank; i++)
    if (i >= shift && type->dims[i - shift] != 1)
      return IR_OPERAND_UNFIT;
  return IR_OPERAND_LEAD;
}

static IrOperandForm
form_of (const IrPrepared *prepared, const IrValue *value, const IrValue *whole, guint64 *unit)
{
  const IrType *type = value->type, *out = whole->type;
  guint block = ir_schedule_block (prepared->schedule, value);

  *unit = 1;
  if (type == out || (type->rank == out->rank &&
                      memcmp (type->dims, out->dims, sizeof (IrDim) * (guint) out->rank) == 0))
    return block == ir_schedule_block (prepared->schedule, whole) ? IR_OPERAND_FULL
                                                                  : IR_OPERAND_UNFIT;
  if (count (type, 0) == 1)
    return IR_OPERAND_ONE;
  if (block != 0 || ir_schedule_block (prepared->schedule, whole) != 0)
    return IR_OPERAND_UNFIT;
  return form_along (type, out, unit);
}

/* Whether @step can run in pieces of whole @unit elements, which it may make larger. */
static gboolean
fits (const IrPrepared *prepared, IrRunStep *step, guint64 *unit)
{
  const IrNode *node = step->node;
  const IrBackend *backend = step->plan->backend;
  gsize bytes = 0;

  if (!step->bound || step->idle || step->fixed || !step->call.settled || backend == NULL ||
      backend->in_pieces == NULL || !backend->in_pieces (node) ||
      step->call.n_inputs > IR_CHAIN_OPERANDS || step->call.n_outputs != 1 ||
      step->call.n_inputs != node->n_inputs || !ir_type_n_bytes (node->outputs[0]->type, &bytes) ||
      bytes < (prepared->keep[node->outputs[0]->id] ? LEAST_KEPT_BYTES : LEAST_BYTES))
    return FALSE;
  for (guint i = 0; i < node->n_inputs; i++)
    {
      guint64 own = 1;
      step->forms[i] = node->inputs[i] != NULL
                           ? form_of (prepared, node->inputs[i], node->outputs[0], &own)
                           : IR_OPERAND_ABSENT;
      if (step->forms[i] == IR_OPERAND_UNFIT || (own > 1 && *unit > 1 && own != *unit))
        return FALSE;
      *unit = MAX (*unit, own);
    }
  return TRUE;
}

static gboolean
in_arena (const IrPrepared *prepared, const IrValue *value)
{
  return prepared->places[value->id].offset != IR_PLACE_EXTERNAL && !prepared->keep[value->id];
}

/* Whether @step may run in pieces with the one before it. */
static gboolean
follows (const IrPrepared *prepared, const IrRunStep *before, const IrRunStep *step)
{
  const IrValue *from = before->node->outputs[0], *to = step->node->outputs[0];
  gboolean reads = FALSE;

  for (guint i = 0; i < step->node->n_inputs; i++)
    reads = reads || (step->node->inputs[i] == from && step->forms[i] == IR_OPERAND_FULL);
  if (!reads)
    return FALSE;
  if (!in_arena (prepared, to))
    return !before->watched || !in_arena (prepared, from);
  return in_arena (prepared, from) && !before->watched &&
         prepared->places[from->id].offset == prepared->places[to->id].offset;
}

static gboolean
is_beside (const IrSchedule *schedule, guint step)
{
  for (guint i = 0; schedule->spans != NULL && i < schedule->spans->len; i++)
    {
      const IrScheduleSpan *span = &g_array_index (schedule->spans, IrScheduleSpan, i);
      if (step >= span->first && step <= span->last)
        return TRUE;
    }
  return FALSE;
}

/* -- what is read by the chain alone -- */

/* The member of the chain of @head that runs @node. (nullable) */
static IrRunStep *
find_member (IrRunStep *head, const IrNode *node)
{
  for (guint i = 0; i < head->chain; i++)
    if (head[i].node == node)
      return head[i].link != 0 ? &head[i] : NULL;
  return NULL;
}

static gboolean
stays_inside (IrRunStep *head, const IrValue *value)
{
  for (guint i = 0; i < value->n_uses; i++)
    if (find_member (head, ir_value_use (value, i).node) == NULL)
      return FALSE;
  return value->n_uses > 0;
}

static void
find_streams (const IrPrepared *prepared, IrRunStep *head)
{
  for (IrRunStep *step = head; step < head + head->chain; step++)
    {
      if (step->link == 0)
        continue;
      const IrValue *value = step->node->outputs[0];
      step->streams = !in_arena (prepared, value) && stays_inside (head, value);
      for (guint k = 0; k < step->node->n_inputs; k++)
        {
          const IrValue *read = step->node->inputs[k];
          const IrRunStep *maker = read != NULL && read->producer != NULL
                                       ? find_member (head, read->producer)
                                       : NULL;
          step->sources[k] = maker != NULL && maker->streams ? (guint) (step - maker) : 0;
        }
    }
}

/* -- finding them -- */

/* What a Constant gives is there before the run. */
static gboolean
is_nothing (const IrRunStep *step)
{
  return step->bound && step->idle && step->node->n_inputs == 0;
}

/* The step behind the longest chain that begins with @first, and what its pieces consist of;
 * @first itself: there is none. */
static guint
find_end (IrPrepared *prepared, guint first, guint64 *unit)
{
  IrRunStep *steps = prepared->steps, *last = NULL;
  guint n_steps = prepared->schedule->items->len, end = first, n_links = 0;

  for (guint i = first; i < n_steps && n_links < MOST_LINKS; i++)
    {
      guint64 wider = *unit;
      if (last != NULL && is_nothing (&steps[i]))
        continue;
      if (!fits (prepared, &steps[i], &wider) || is_beside (prepared->schedule, i) ||
          (last != NULL && !follows (prepared, last, &steps[i])))
        break;
      *unit = wider;
      last = &steps[i];
      end = i + 1;
      n_links++;
    }
  return end;
}

/**
 * ir_chains_find:
 * @prepared: a plan with its steps
 * @cancellable: (nullable): looked at between steps
 * @error: return location for an error
 *
 * Lets the first step of every chain run the others, which have nothing left to do.
 *
 * Returns: %FALSE if it was cancelled
 */
gboolean
ir_chains_find (IrPrepared *prepared, GCancellable *cancellable, GError **error)
{
  guint n_steps = prepared->schedule->items->len, end, n = 0;

  for (guint first = 0; first < n_steps; first = MAX (end, first + 1))
    {
      IrRunStep *head = &prepared->steps[first];
      guint64 unit = 1;
      if (ir_prepared_cancelled (cancellable, n++, error))
        return FALSE;
      end = find_end (prepared, first, &unit);
      if (end < first + 2 || unit > 8 * PIECE_ELEMENTS)
        continue;
      head->chain = end - first;
      head->unit = unit;
      for (IrRunStep *step = head; step < head + head->chain; step++)
        if (!is_nothing (step))
          {
            step->link = ++head->n_links;
            step->idle = step != head;
          }
      find_streams (prepared, head);
    }
  return TRUE;
}

/* -- running them -- */

static IrTensor *
piece_of (IrOperandForm form, const IrTensor *tensor, guint64 first, guint64 n, guint64 unit)
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
give_piece (
    IrCall *call, guint output, IrDtype dtype, guint rank, const gint64 *dims, GError **error)
{
  IrTensor *piece = call->alloc_data;
  gint64 n = 1;

  for (guint i = 0; i < rank; i++)
    n *= dims[i];
  if (output == 0 && dtype == IR_DTYPE_FLOAT && (guint64) n == ir_tensor_n_elements (piece))
    return ir_tensor_ref (piece);
  ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "a piece of output %u is of another size", output);
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

/* Where worker's piece of what a step gives is computed: its own memory, or spare one. */
static IrTensor *
piece_of_output (const Job *job, const IrRunStep *step, guint worker, guint64 first, guint64 n)
{
  gint64 dims[2] = { (gint64) (n / job->head->unit), (gint64) job->head->unit };
  guint64 index = worker * job->head->n_links + step->link - 1;

  if (!step->streams || job->spare == NULL)
    return piece_of (IR_OPERAND_FULL, step->outputs[0], first, n, job->head->unit);
  return ir_tensor_new_static (IR_DTYPE_FLOAT, 2, dims, job->spare + index * job->piece,
                               n * sizeof (float));
}

static gboolean
run_piece (
    const Job *job, const IrRunStep *step, guint worker, guint64 first, guint64 n, GError **error)
{
  guint64 unit = job->head->unit;
  IrTensor *pieces[IR_CHAIN_OPERANDS] = { NULL };
  IrCallInput inputs[IR_CHAIN_OPERANDS];
  IrCallOutput output = step->call.outputs[0];
  g_autoptr (IrTensor) out = piece_of_output (job, step, worker, first, n);
  IrCall call = step->call;

  memcpy (inputs, step->call.inputs, call.n_inputs * sizeof *inputs);
  for (guint i = 0; i < call.n_inputs; i++)
    if (step->forms[i] != IR_OPERAND_ABSENT)
      {
        pieces[i] = step->sources[i] != 0
                        ? piece_of_output (job, step - step->sources[i], worker, first, n)
                        : piece_of (step->forms[i], step->call.inputs[i].tensor, first, n, unit);
        inputs[i].tensor = pieces[i];
        inputs[i].block = 0;
      }
  output.block = 0;
  output.tensor = NULL;
  call.inputs = inputs;
  call.outputs = &output;
  call.threads = NULL;
  call.scratch = NULL;
  call.cancellable = job->state->cancellable;
  call.watch = &job->state->watch;
  call.max_output_bytes = 0;
  call.alloc = give_piece;
  call.alloc_data = out;
  call.kernel_state = step->plan->state;
  gboolean done = step->plan->kernel (&call, error);
  if (done && output.tensor != out)
    done = ir_call_fail (&call, error, IR_OP_ERROR_UNSUPPORTED, "the kernel gives no piece");
  g_clear_pointer (&output.tensor, ir_tensor_unref);
  for (guint i = 0; i < call.n_inputs; i++)
    g_clear_pointer (&pieces[i], ir_tensor_unref);
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
run_pieces (Job *job, guint64 first, guint64 end, guint worker)
{
  for (guint64 i = first; i < end && !ir_call_stopped (&job->head->call); i++)
    for (guint k = 0; k < job->head->chain; k++)
      {
        GError *error = NULL;
        guint64 at = i * job->piece;
        if (job->head[k].link == 0 ||
            run_piece (job, &job->head[k], worker, at, MIN (job->piece, job->n - at), &error))
          continue;
        fail (job, &job->head[k], error);
        return;
      }
#ifdef __SSE2__
  _mm_sfence ();
#endif
}

/* Pieces of whole units, as many for each thread; where they are streamed, they begin at lines. */
static guint64
cut (Job *job, int n_threads)
{
  guint64 unit = job->head->unit, n_units = job->n / unit;
  guint64 n_pieces = (job->n + PIECE_ELEMENTS - 1) / PIECE_ELEMENTS;

  n_pieces = (n_pieces + (guint64) n_threads - 1) / (guint64) n_threads * (guint64) n_threads;
  guint64 each = (n_units + n_pieces - 1) / n_pieces;
  if (each > LINE_ELEMENTS)
    each = (each + LINE_ELEMENTS - 1) / LINE_ELEMENTS * LINE_ELEMENTS;
  job->piece = each * unit;
  return (n_units + each - 1) / each;
}

/**
 * ir_chain_run:
 * @state: a run under way
 * @head: the first step of a chain
 * @threads: (nullable): workers that share the pieces
 * @scratch: (nullable): for this step alone
 * @error: return location for an error
 *
 * Every element is computed as without: pieces do not show in the bits.
 *
 * Returns: %TRUE if all steps of the chain have run
 */
gboolean
ir_chain_run (
    IrRunState *state, IrRunStep *head, IrThreads *threads, IrScratch *scratch, GError **error)
{
  Job job = { .state = state, .head = head, .n = ir_tensor_n_elements (head->outputs[0]) };

  int n_threads = (int) CLAMP (job.n * head->n_links / WORK_PER_THREAD, 1, ir_threads_n (threads));
  guint64 n_pieces = cut (&job, n_threads);
  if (scratch != NULL)
    job.spare = ir_scratch_get (scratch, IR_SCRATCH_KERNEL,
                                (gsize) n_threads * head->n_links * job.piece * sizeof (float));
  head->call.cancellable = state->cancellable;
  head->call.watch = &state->watch;
  g_mutex_init (&job.lock);
  if (n_threads == 1)
    run_pieces (&job, 0, n_pieces, 0);
  else
#pragma omp parallel num_threads(n_threads)
    {
      guint worker = (guint) omp_get_thread_num (), n = (guint) omp_get_num_threads ();
      run_pieces (&job, n_pieces * worker / n, n_pieces * (worker + 1) / n, worker);
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
