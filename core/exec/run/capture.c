/* Keeping values while a model runs, and finding any value afterwards. */
#include "config.h"

#include "core/exec/kernel/stats.h"
#include "core/exec/run/capture.h"

#include "core/exec/run/state.h"
#include "core/exec/run/spill.h"

struct _IrCapture
{
  IrRunOptions options;
  IrBackend backend;  /* a copy: the run may outlive what it was made with */
  GHashTable *inputs; /* value id -> IrTensor */
  IrSpill *spill;     /* (nullable) until something was spilled */
  guint n_dropped;    /* values that could be neither kept nor spilled */
  guint8 *concurrent; /* (nullable) by node id: ran concurrently, on one thread */
  IrCaptureAttachment attachment;
};

/**
 * ir_capture_new:
 * @options: of the run
 * @inputs: value id -> #IrTensor: what the run is given
 *
 * Returns: (transfer full): an empty capture
 */
IrCapture *
ir_capture_new (const IrRunOptions *options, GHashTable *inputs)
{
  IrCapture *capture = g_new0 (IrCapture, 1);
  GHashTableIter iter;
  gpointer id, tensor;

  capture->options = *options;
  capture->options.chosen = NULL;
  capture->options.control = NULL;
  capture->options.before = NULL;
  capture->options.show = NULL;
  capture->options.iterations.frame = NULL;
  capture->backend = *options->backend;
  capture->options.backend = &capture->backend;
  capture->inputs = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);
  g_hash_table_iter_init (&iter, inputs);
  while (g_hash_table_iter_next (&iter, &id, &tensor))
    if (tensor != NULL) /* else it is not given */
      g_hash_table_insert (capture->inputs, id, ir_tensor_ref (tensor));
  g_mutex_init (&capture->attachment.lock);
  return capture;
}

/**
 * ir_capture_free:
 * @capture: (transfer full) (nullable): a capture
 */
void
ir_capture_free (IrCapture *capture)
{
  if (capture == NULL)
    return;
  if (capture->attachment.data != NULL)
    capture->attachment.free (capture->attachment.data);
  g_clear_pointer (&capture->spill, ir_spill_unref);
  g_free (capture->concurrent);
  g_hash_table_unref (capture->inputs);
  g_mutex_clear (&capture->attachment.lock);
  g_free (capture);
}

/* -- while it runs -- */

/**
 * ir_capture_drop_values:
 * @run: a run that nobody has any more
 *
 * Lets go of everything that it kept.
 */
void
ir_capture_drop_values (IrRun *run)
{
  for (guint id = 0; id < run->n_values; id++)
    g_clear_pointer (&run->values[id], ir_tensor_unref);
}

/**
 * ir_capture_comes_with_whole:
 * @prepared: a plan
 * @id: a value that is kept
 *
 * Returns: whether it is not copied from a device by itself, as it lies in another value that is
 */
gboolean
ir_capture_comes_with_whole (const IrPrepared *prepared, IrValueId id)
{
  const IrValuePlaces *row = prepared->places != NULL ? &prepared->places->values[id] : NULL;

  return row != NULL && row->made_there && row->first_here > row->last_here;
}

/* The tensors of the first @n values of the slab, or (@with_whole) those of them that came with others. */
static void
adopt (IrRunState *state, guint n, gboolean with_whole)
{
  const IrPrepared *prepared = state->prepared;
  IrTensor **values = state->run->values;
  guint64 at;

  for (guint i = 0; i < n; i++)
    {
      IrValueId id = g_array_index (prepared->slab_values, IrValueId, i);
      IrValueId root = ir_capture_root (prepared, id, &at);
      if (values[id] != NULL || ir_capture_comes_with_whole (prepared, id) != with_whole)
        continue; /* the first: it got another shape than inference said */
      if (!with_whole ||
          (!state->diverged && values[root] == prepared->values[root].binding.tensor))
        values[id] = ir_tensor_ref (prepared->values[id].binding.tensor);
    }
}

/**
 * ir_run_adopt:
 * @state: a run that ends, or is left behind
 * @n_steps: how many steps of its schedule have run
 *
 * Hands out the tensors that the plan keeps for values which outlive their last use, all at once.
 */
void
ir_run_adopt (IrRunState *state, guint n_steps)
{
  const IrPrepared *prepared = state->prepared;
  guint n = n_steps > 0 ? prepared->steps[n_steps - 1].n_slab_values : 0;

  adopt (state, n, FALSE);
  adopt (state, n, TRUE);
}

/**
 * ir_run_keep:
 * @run: a run under way
 * @id: a value of its model
 * @tensor: (transfer full): its contents
 *
 * Hands @tensor out with @run; what a body of a loop computed before is replaced.
 */
void
ir_run_keep (IrRun *run, IrValueId id, IrTensor *tensor)
{
  g_clear_pointer (&run->values[id], ir_tensor_unref);
  run->values[id] = tensor;
}

/* Items of sequences count, shared ones too often; of their own items, the list does not. */
static guint64
bytes_of (const IrTensor *tensor)
{
  gboolean strings = ir_tensor_dtype (tensor) == IR_DTYPE_STRING;

  return ir_tensor_n_bytes (tensor) + sizeof (gpointer) * ir_tensor_n_items (tensor) +
         (strings ? sizeof (GBytes *) * ir_tensor_n_elements (tensor) : 0);
}

/* Views of what was spilled need no bytes of their own, outside of loops. */
static gboolean
spill_view (IrRunState *state, const IrValue *value, const IrTensor *tensor)
{
  const IrNode *node = value->producer;
  const IrValue *in = node != NULL ? ir_node_input (node, 0) : NULL;

  return in != NULL && node->graph == state->prepared->model->main && node->op != NULL &&
         (node->op->flags & IR_OP_VIEW) && state->prepared->values[in->id].spill &&
         state->tensors[in->id] != NULL &&
         ir_tensor_data (state->tensors[in->id]) == ir_tensor_data (tensor) &&
         ir_schedule_block (state->prepared->schedule, in) == 0 &&
         ir_spill_alias (state->run->capture->spill, value->id, in->id, tensor);
}

/* Written as the graph has it, so that looking at it takes no memory. */
static void
spill_value (IrRunState *state, const IrValue *value, IrTensor *tensor)
{
  IrCapture *capture = state->run->capture;

  if (capture->spill == NULL)
    capture->spill = ir_spill_new (capture->options.spill_limit);
  if (spill_view (state, value, tensor))
    return;
  g_autoptr (IrTensor) plain = ir_run_state_plain (state, value, tensor, NULL);
  if (plain != NULL)
    ir_spill_write (capture->spill, value->id, plain);
  else
    capture->n_dropped++;
}

/* What a body computed before makes room for what it computes now. */
static void
keep_if_fits (IrRunState *state, const IrValue *value, IrTensor *tensor)
{
  IrRun *run = state->run;
  IrTensor *old = run->values[value->id];
  guint64 bytes = bytes_of (tensor);
  gboolean is_output = value->graph == state->prepared->model->main &&
                       ir_value_is_graph_output (value);

  state->kept_bytes -= old != NULL ? bytes_of (old) : 0;
  if (state->kept_bytes + bytes <= state->capture_budget || is_output)
    {
      state->kept_bytes += bytes;
      ir_run_keep (run, value->id, ir_tensor_ref (tensor));
      return;
    }
  g_clear_pointer (&run->values[value->id], ir_tensor_unref);
  spill_value (state, value, tensor);
}

/**
 * ir_run_wants_contents:
 * @state: a run under way
 * @value: a value that a device has made, of no body
 *
 * Returns: whether ir_run_capture() keeps more of it than statistics
 */
gboolean
ir_run_wants_contents (const IrRunState *state, const IrValue *value)
{
  const IrPlanValue *row = &state->prepared->values[value->id];

  return row->keep != IR_KEEP_NOT || row->spill;
}

static void
take_stats (IrRunState *state, const IrValue *value, IrTensor *tensor)
{
  g_autoptr (IrTensor) plain = ir_run_state_plain (state, value, tensor, NULL);
  g_autofree IrTensorStats *stats = g_new (IrTensorStats, 1);

  if (plain == NULL)
    return;
  ir_tensor_stats_with (plain, G_N_ELEMENTS (stats->bins), state->threads, stats);
  g_hash_table_insert (state->run->stats, GUINT_TO_POINTER (value->id), g_steal_pointer (&stats));
}

/**
 * ir_run_capture:
 * @state: a run under way
 * @value: a value that has just got its contents
 * @tensor: (transfer none): its contents
 *
 * Keeps what the options of the run ask for.
 */
void
ir_run_capture (IrRunState *state, const IrValue *value, IrTensor *tensor)
{
  const IrPlanValue *row = &state->prepared->values[value->id];

  if (state->frame != NULL && state->run->iterations != NULL && row->keep != IR_KEEP_NOT &&
      !state->is_on_way)
    ir_iterations_note (state, value, tensor);
  if (state->options->capture == IR_CAPTURE_STATS)
    take_stats (state, value, tensor);
  if (row->keep == IR_KEEP_PLANNED)
    ir_run_keep (state->run, value->id, ir_tensor_ref (tensor));
  else if (row->keep == IR_KEEP_OPEN)
    keep_if_fits (state, value, tensor);
  else if (row->spill)
    spill_value (state, value, tensor);
}

/**
 * ir_capture_ran_concurrently:
 * @run: a run under way
 * @node: a node that has run concurrently, on one thread
 *
 * Notes it, as the number of threads shows in the last bits.
 */
void
ir_capture_ran_concurrently (IrRun *run, IrNodeId node)
{
  if (run->capture->concurrent == NULL)
    run->capture->concurrent = g_new0 (guint8, run->model->nodes->len);
  run->capture->concurrent[node] = TRUE;
}

/**
 * ir_capture_is_concurrent:
 * @run: a run
 * @node: a node
 *
 * Returns: whether it ran concurrently, on one thread
 */
gboolean
ir_capture_is_concurrent (const IrRun *run, IrNodeId node)
{
  return run->capture != NULL && run->capture->concurrent != NULL && run->capture->concurrent[node];
}

/* -- afterwards -- */

/**
 * ir_run_options:
 * @run: a run
 *
 * Returns: (transfer none): what it was made with; the list of chosen values is not kept
 */
const IrRunOptions *
ir_run_options (const IrRun *run)
{
  return &run->capture->options;
}

/**
 * ir_run_inputs:
 * @run: a run
 *
 * Returns: (transfer none): value id -> #IrTensor that it was given
 */
GHashTable *
ir_run_inputs (const IrRun *run)
{
  return run->capture->inputs;
}

/**
 * ir_capture_is_spilled:
 * @run: a run
 * @id: a value
 *
 * Returns: whether its contents are in the file of the budget
 */
gboolean
ir_capture_is_spilled (const IrRun *run, IrValueId id)
{
  return run->capture != NULL && run->capture->spill != NULL &&
         ir_spill_has (run->capture->spill, id);
}

/**
 * ir_run_n_kept:
 * @run: a run
 *
 * Returns: how many values ir_run_value() has contents of
 */
guint
ir_run_n_kept (const IrRun *run)
{
  guint n = 0;

  for (guint id = 0; id < run->n_values; id++)
    n += run->values[id] != NULL || ir_capture_is_spilled (run, id);
  return n;
}

/**
 * ir_run_n_spilled:
 * @run: a run
 *
 * Returns: how many values are in a file, as the budget was used up
 */
guint
ir_run_n_spilled (const IrRun *run)
{
  return run->capture != NULL && run->capture->spill != NULL ? ir_spill_n (run->capture->spill) : 0;
}

/**
 * ir_run_spilled_bytes:
 * @run: a run
 *
 * Returns: size of that file
 */
guint64
ir_run_spilled_bytes (const IrRun *run)
{
  return run->capture != NULL && run->capture->spill != NULL ? ir_spill_bytes (run->capture->spill)
                                                             : 0;
}

/**
 * ir_run_n_lost:
 * @run: a run
 *
 * Returns: how many values should have been captured and are not, as there was no room; they are
 *   computed again when they are asked for
 */
guint
ir_run_n_lost (const IrRun *run)
{
  if (run->capture == NULL)
    return 0;
  return run->capture->n_dropped +
         (run->capture->spill != NULL ? ir_spill_n_lost (run->capture->spill) : 0);
}

/**
 * ir_run_capture_note:
 * @run: a run
 *
 * Returns: (transfer full) (nullable): what went wrong with capturing, in words; %NULL: nothing
 */
char *
ir_run_capture_note (const IrRun *run)
{
  guint n = ir_run_n_lost (run);
  const char *problem = n > 0 && run->capture->spill != NULL
                            ? ir_spill_problem (run->capture->spill)
                            : NULL;

  if (n == 0)
    return NULL;
  return g_strdup_printf ("%u values could not be kept (%s); they are computed again when they are "
                          "asked for",
                          n, problem != NULL ? problem : "there is not enough memory");
}

/* Captured in NCHWc: brought into the order of the graph when first looked at. What
 * was spilled is a slice of a map, which costs no memory. */
static IrTensor *
find_captured (IrRun *run, IrValueId id, gboolean plain, GCancellable *cancellable, GError **error)
{
  const IrValue *value = ir_model_value (run->model, id);

  if (run->values[id] == NULL && ir_capture_is_spilled (run, id))
    run->values[id] = ir_spill_read (run->capture->spill, id, NULL);
  if (plain && run->values[id] != NULL && ir_schedule_block (run->schedule, value) != 0 &&
      ir_tensor_rank (run->values[id]) != (guint) value->type->rank)
    {
      IrTensor *presented = ir_nchwc_to_graph (run->values[id], value->type, error);
      if (presented == NULL)
        return NULL;
      ir_run_keep (run, id, presented);
    }
  return run->values[id];
}

/**
 * ir_capture_present:
 * @run: a run
 * @value: id of a value
 * @cancellable: (nullable): polled while it is brought into the layout of the graph
 * @error: return location for an error
 *
 * Returns: (transfer none) (nullable): what was captured of it, as the graph has it; %NULL without
 *   an error: nothing
 */
IrTensor *
ir_capture_present (IrRun *run, IrValueId value, GCancellable *cancellable, GError **error)
{
  const IrValue *found = value < run->n_values ? ir_model_value (run->model, value) : NULL;

  if (found == NULL ||
      (run->values[value] != NULL && ir_schedule_block (run->schedule, found) == 0))
    return found != NULL ? run->values[value] : NULL;
  g_mutex_lock (&run->presenting);
  IrTensor *tensor = find_captured (run, value, TRUE, cancellable, error);
  g_mutex_unlock (&run->presenting);
  return tensor;
}

/**
 * ir_run_value:
 * @run: a run
 * @value: id of a value
 *
 * Returns: (transfer none) (nullable): its contents, as the graph has them: an output, or what was
 *   captured; ir_run_find() has the others too
 */
IrTensor *
ir_run_value (const IrRun *run, IrValueId value)
{
  return ir_capture_present ((IrRun *) run, value, NULL, NULL);
}

/**
 * ir_capture_peek:
 * @run: a run
 * @id: a value
 *
 * Returns: (transfer full) (nullable): what was captured of it, in the layout in which it lies
 */
IrTensor *
ir_capture_peek (IrRun *run, IrValueId id)
{
  g_mutex_lock (&run->presenting);
  IrTensor *tensor = id < run->n_values ? find_captured (run, id, FALSE, NULL, NULL) : NULL;
  if (tensor != NULL)
    ir_tensor_ref (tensor);
  g_mutex_unlock (&run->presenting);
  return tensor;
}

/**
 * ir_capture_attachment:
 * @run: a run
 *
 * Returns: (transfer none): what was made from @run and ends with it; its user takes the lock
 */
IrCaptureAttachment *
ir_capture_attachment (IrRun *run)
{
  return &run->capture->attachment;
}
