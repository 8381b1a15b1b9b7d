/* Keeping values while a model runs, and finding any value afterwards. */
#include "config.h"

#include "core/exec/run/capture.h"

#include "core/exec/replay/replay.h"
#include "core/exec/run/runner-private.h"
#include "core/exec/plan/shelf.h"
#include "core/exec/run/spill.h"

struct _IrCapture
{
  IrRunOptions options;
  IrBackend backend;  /* a copy: the run may outlive what it was made with */
  GHashTable *inputs; /* value id -> IrTensor */
  IrSpill *spill;     /* (nullable) until something was spilled */
  guint n_dropped;    /* values that could be neither kept nor spilled */
  guint8 *beside;     /* (nullable) by node id: ran beside others, on one thread */
  IrShelf *shelf;     /* (nullable) keeps the values that are borrowed */
  guint8 *borrowed;   /* (nullable) by value id: no reference of its own */
  GMutex lock;        /* guards replay */
  IrReplay *replay;   /* (nullable) until something has to be computed again */
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
  capture->backend = *options->backend;
  capture->options.backend = &capture->backend;
  capture->inputs = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);
  g_hash_table_iter_init (&iter, inputs);
  while (g_hash_table_iter_next (&iter, &id, &tensor))
    if (tensor != NULL) /* else it is not given */
      g_hash_table_insert (capture->inputs, id, ir_tensor_ref (tensor));
  g_mutex_init (&capture->lock);
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
  g_clear_pointer (&capture->replay, ir_replay_free);
  g_clear_pointer (&capture->spill, ir_spill_unref);
  g_clear_pointer (&capture->shelf, ir_shelf_unref);
  g_free (capture->borrowed);
  g_free (capture->beside);
  g_hash_table_unref (capture->inputs);
  g_mutex_clear (&capture->lock);
  g_free (capture);
}

/* -- while it runs -- */

/* Lets go of what the run has of a value. */
static void
drop_value (IrRun *run, IrValueId id)
{
  guint8 *borrowed = run->capture != NULL ? run->capture->borrowed : NULL;

  if (run->values[id] != NULL && (borrowed == NULL || !borrowed[id]))
    ir_tensor_unref (run->values[id]);
  run->values[id] = NULL;
  if (borrowed != NULL)
    borrowed[id] = FALSE;
}

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
    if (run->values[id] != NULL)
      drop_value (run, id);
}

/**
 * ir_run_adopt:
 * @state: a run that ends
 * @n_steps: how many steps of its schedule have run
 *
 * Hands out the tensors that the plan keeps for values which outlive their last use, all at once.
 */
void
ir_run_adopt (IrRunState *state, guint n_steps)
{
  const IrPrepared *prepared = state->prepared;
  IrCapture *capture = state->run->capture;
  guint n = n_steps > 0 ? prepared->steps[n_steps - 1].n_lasting : 0;

  if (n == 0)
    return;
  capture->shelf = ir_shelf_ref (prepared->shelf);
  capture->borrowed = g_new0 (guint8, state->run->n_values + 1);
  for (guint i = 0; i < n; i++)
    {
      IrValueId id = g_array_index (prepared->lasting, IrValueId, i);
      if (state->run->values[id] != NULL) /* it got another shape than inference said */
        continue;
      state->run->values[id] = prepared->bindings[id].tensor;
      capture->borrowed[id] = TRUE;
    }
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
  drop_value (run, id);
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
         (node->op->flags & IR_OP_VIEW) && state->prepared->spill[in->id] &&
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
  gboolean blocked = ir_schedule_block (state->prepared->schedule, value) != 0 &&
                     ir_tensor_rank (tensor) != (guint) value->type->rank;

  if (capture->spill == NULL)
    capture->spill = ir_spill_new (capture->options.spill_limit);
  if (spill_view (state, value, tensor))
    return;
  const IrCall call = ir_run_call (state);
  g_autoptr (IrTensor) plain = blocked ? ir_blocks_present (&call, tensor, value->type, NULL)
                                       : ir_tensor_ref (tensor);
  if (plain != NULL)
    ir_spill_write (capture->spill, value->id, plain, &call);
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
  drop_value (run, value->id);
  spill_value (state, value, tensor);
}

static void
take_stats (IrRunState *state, const IrValue *value, IrTensor *tensor)
{
  const IrCall call = { .threads = state->threads,
                        .cancellable = state->cancellable,
                        .watch = &state->watch };
  g_autoptr (IrTensor) plain = ir_schedule_block (state->prepared->schedule, value) != 0
                                   ? ir_blocks_present (&call, tensor, value->type, NULL)
                                   : ir_tensor_ref (tensor);
  g_autofree IrTensorStats *stats = g_new (IrTensorStats, 1);

  if (plain != NULL && ir_tensor_stats_with (plain, G_N_ELEMENTS (stats->bins), &call, stats))
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
  guint8 keep = state->keep[value->id];

  if (state->options->capture == IR_CAPTURE_STATS)
    take_stats (state, value, tensor);
  if (keep == IR_KEEP_PLANNED)
    ir_run_keep (state->run, value->id, ir_tensor_ref (tensor));
  else if (keep == IR_KEEP_OPEN)
    keep_if_fits (state, value, tensor);
  else if (state->prepared->spill != NULL && state->prepared->spill[value->id])
    spill_value (state, value, tensor);
}

/**
 * ir_capture_ran_beside:
 * @run: a run under way
 * @node: a node that has run beside others, on one thread
 *
 * Notes it, as the number of threads shows in the last bits.
 */
void
ir_capture_ran_beside (IrRun *run, IrNodeId node)
{
  if (run->capture->beside == NULL)
    run->capture->beside = g_new0 (guint8, run->model->nodes->len);
  run->capture->beside[node] = TRUE;
}

/**
 * ir_capture_is_beside:
 * @run: a run
 * @node: a node
 *
 * Returns: whether it ran beside others, on one thread
 */
gboolean
ir_capture_is_beside (const IrRun *run, IrNodeId node)
{
  return run->capture != NULL && run->capture->beside != NULL && run->capture->beside[node];
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

static gboolean
is_spilled (const IrRun *run, IrValueId id)
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
    n += run->values[id] != NULL || is_spilled (run, id);
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

/* Captured in blocks of channels: brought into the order of the graph when first looked at. What
 * was spilled is a slice of a map, which costs no memory. */
static IrTensor *
find_captured (IrRun *run, IrValueId id, gboolean plain, GCancellable *cancellable, GError **error)
{
  const IrValue *value = ir_model_value (run->model, id);

  if (run->values[id] == NULL && is_spilled (run, id))
    run->values[id] = ir_spill_read (run->capture->spill, id, NULL);
  if (plain && run->values[id] != NULL && ir_schedule_block (run->schedule, value) != 0 &&
      ir_tensor_rank (run->values[id]) != (guint) value->type->rank)
    {
      const IrCall call = { .cancellable = cancellable };
      IrTensor *presented = ir_blocks_present (&call, run->values[id], value->type, error);
      if (presented == NULL)
        return NULL;
      ir_run_keep (run, id, presented);
    }
  return run->values[id];
}

/* (nullable) NULL without an error: it is not there. */
static IrTensor *
present (IrRun *run, IrValueId value, GCancellable *cancellable, GError **error)
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
  return present ((IrRun *) run, value, NULL, NULL);
}

static IrTensor *
known_to_run (const IrValue *value, GCancellable *cancellable, gpointer data)
{
  IrRun *run = data;

  g_mutex_lock (&run->presenting);
  IrTensor *tensor = value->id < run->n_values ? find_captured (run, value->id, FALSE, NULL, NULL)
                                               : NULL;
  if (tensor != NULL)
    ir_tensor_ref (tensor);
  g_mutex_unlock (&run->presenting);
  return tensor;
}

static IrTensor *
compute_again (
    IrRun *run, const IrValue *value, GCancellable *cancellable, IrFound *found, GError **error)
{
  IrCapture *capture = run->capture;
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&capture->lock);

  if (capture->replay == NULL)
    capture->replay = ir_replay_new (run->model, run->schedule, &capture->options, capture->inputs,
                                     known_to_run, run, error);
  if (capture->replay != NULL)
    ir_replay_set_run (capture->replay, run);
  return capture->replay != NULL
             ? ir_replay_find (capture->replay, value, cancellable, found, error)
             : NULL;
}

/**
 * ir_run_find:
 * @run: a run
 * @value: id of a value of its model
 * @cancellable: (nullable): looked at while nodes run
 * @found: (out caller-allocates) (optional): how the contents were had
 * @error: return location for an error
 *
 * Gives what @value held in @run: from memory, from the file that a budget sent it to, or else by
 * running the smallest set of nodes that leads to it from values that are there, with the same
 * kernels on as many threads, hence with the same bits. A value in a body of a loop is that of the
 * last round. May be called from any thread.
 *
 * Fails with an %IR_EXEC_ERROR where the run did not come through @value, or where a node fails.
 *
 * Returns: (transfer full) (nullable): the contents, as the graph has them
 */
IrTensor *
ir_run_find (IrRun *run, IrValueId value, GCancellable *cancellable, IrFound *found, GError **error)
{
  const IrValue *what = ir_model_live_value (run->model, value);
  g_auto (IrFound) unwanted = { 0 };
  g_autoptr (GError) local = NULL;
  const IrTensor *constant = what != NULL ? ir_value_constant (what) : NULL;
  IrTensor *tensor;

  found = found != NULL ? found : &unwanted;
  *found = (IrFound){ 0 };
  if (what == NULL)
    {
      g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_INPUT,
                   "The graph that ran has no such value");
      return NULL;
    }
  found->in_body = what->graph->kind == IR_GRAPH_SUBGRAPH;
  found->how = constant != NULL ? IR_FOUND_CONSTANT : IR_FOUND_GIVEN;
  tensor = constant != NULL ? (IrTensor *) constant
                            : g_hash_table_lookup (run->capture->inputs, GUINT_TO_POINTER (value));
  if (tensor != NULL)
    return ir_tensor_ref (tensor);
  found->how = is_spilled (run, value) ? IR_FOUND_SPILLED : IR_FOUND_KEPT;
  tensor = present (run, value, cancellable, &local);
  if (local != NULL)
    {
      g_propagate_error (error, g_steal_pointer (&local));
      return NULL;
    }
  if (tensor == NULL && what->initializer != NULL)
    tensor = what->initializer;
  if (tensor != NULL)
    return ir_tensor_ref (tensor);
  found->how = IR_FOUND_NOT;
  return compute_again (run, what, cancellable, found, error);
}

/* -- in words -- */

/**
 * ir_found_clear:
 * @found: what a function that finds contents has filled in
 */
void
ir_found_clear (IrFound *found)
{
  g_clear_pointer (&found->from, g_ptr_array_unref);
  *found = (IrFound){ 0 };
}

/**
 * ir_found_name:
 * @how: how contents were had
 *
 * Returns: one word for it
 */
const char *
ir_found_name (IrFoundHow how)
{
  static const char *const names[IR_N_FOUNDS] = {
    [IR_FOUND_NOT] = "none",  [IR_FOUND_CONSTANT] = "constant", [IR_FOUND_GIVEN] = "input",
    [IR_FOUND_KEPT] = "kept", [IR_FOUND_SPILLED] = "spilled",   [IR_FOUND_COMPUTED] = "recomputed",
  };

  return how < IR_N_FOUNDS ? names[how] : "";
}

#define MAX_NAMES 4 /* where computing began; more are counted */

static void
append_from (GString *text, const IrFound *found)
{
  guint n = found->from != NULL ? found->from->len : 0;

  for (guint i = 0; i < MIN (n, MAX_NAMES); i++)
    g_string_append_printf (text, "%s%s", i == 0 ? " from " : ", ",
                            (const char *) g_ptr_array_index (found->from, i));
  if (n > MAX_NAMES)
    g_string_append_printf (text, " and %u more", n - MAX_NAMES);
}

/**
 * ir_found_text:
 * @found: how contents were had
 * @model: the model that ran
 *
 * Returns: (transfer full): the same as a sentence without its end
 */
char *
ir_found_text (const IrFound *found, const IrModel *model)
{
  static const char *const words[IR_N_FOUNDS] = {
    [IR_FOUND_NOT] = "there are no contents",
    [IR_FOUND_CONSTANT] = "a constant",
    [IR_FOUND_GIVEN] = "given as an input",
    [IR_FOUND_KEPT] = "kept by the run",
    [IR_FOUND_SPILLED] = "kept by the run, in a file",
    [IR_FOUND_COMPUTED] = "recomputed",
  };
  GString *text = g_string_new (words[found->how]);

  if (found->how == IR_FOUND_COMPUTED && found->n_nodes == 0)
    g_string_append (text, " before");
  else if (found->how == IR_FOUND_COMPUTED)
    {
      append_from (text, found);
      g_string_append_printf (text, " by %u %s in %.3g ms", found->n_nodes,
                              found->n_nodes == 1 ? "node" : "nodes",
                              (double) found->duration_ns / 1e6);
    }
  if (found->stands_for != 0)
    {
      const IrValue *value = ir_model_value (model, found->stands_for);
      g_string_append_printf (text, ", as %s of the optimized graph",
                              value != NULL ? value->name : "a value");
    }
  if (found->in_body)
    g_string_append (text, "; the last round");
  return g_string_free (text, FALSE);
}
