/* Values of the original graph from a run of the optimized one. Steps of the history say which
 * value stands for which; one that still exists, or that another one stands for, is looked up in
 * the run. The others, such as those inside of a fused kernel, are computed by nodes of the
 * original graph, from the nearest values that the run has. */
#include "config.h"

#include "core/exec/lower/lower.h"
#include "core/exec/replay/replay.h"
#include "core/exec/plan/plan.h"

struct _IrOriginals
{
  IrRun *run;
  IrModel *original;   /* at step 0, as it is shown */
  IrModel *flat;       /* without function calls, with the shapes of the run */
  GHashTable *current; /* id at step 0 -> id in the run */
  IrBackend backend;   /* the run's, without NCHWc */
  GHashTable *inputs;  /* id at step 0 -> IrTensor */
  IrReplay *replay;
  guint n_nodes; /* of the optimized graph that ran for the query under way */
  GMutex lock;
};

/* -- what stands for what -- */

static void
list_free (gpointer list)
{
  g_array_unref (list);
}

/* All of @lists that stood for @before stand for @after from now on. */
static void
move_list (GHashTable *lists, IrValueId before, IrValueId after)
{
  gpointer key = GUINT_TO_POINTER (before), found = NULL;
  GArray *list, *other = g_hash_table_lookup (lists, GUINT_TO_POINTER (after));

  if (before == after || !g_hash_table_steal_extended (lists, key, NULL, &found))
    return;
  list = found;
  if (other == NULL)
    g_hash_table_insert (lists, GUINT_TO_POINTER (after), list);
  else
    {
      g_array_append_vals (other, list->data, list->len);
      g_array_unref (list);
    }
}

/* In one walk over the steps, as ir_lineage_current_value() does for one value. */
static GHashTable *
find_current (IrModel *history, guint step, const IrModel *original, const IrModel *now)
{
  g_autoptr (GHashTable) lists = g_hash_table_new_full (NULL, NULL, NULL, list_free);
  GHashTable *current = g_hash_table_new (NULL, NULL);
  GHashTableIter iter;
  gpointer key, data;

  for (IrValueId id = 1; id < original->values->len; id++)
    if (ir_model_live_value (original, id) != NULL)
      {
        GArray *list = g_array_new (FALSE, FALSE, sizeof (IrValueId));
        g_array_append_val (list, id);
        g_hash_table_insert (lists, GUINT_TO_POINTER (id), list);
      }
  for (guint i = 1; i <= MIN (step, ir_history_n_steps (history)); i++)
    {
      const GArray *pairs = ir_history_step (history, i)->values;
      for (guint k = 0; pairs != NULL && k < pairs->len; k++)
        {
          const IrIdPair *pair = &g_array_index (pairs, IrIdPair, k);
          move_list (lists, pair->before, pair->after);
        }
    }
  g_hash_table_iter_init (&iter, lists);
  while (g_hash_table_iter_next (&iter, &key, &data))
    {
      const GArray *list = data;
      if (ir_model_live_value (now, GPOINTER_TO_UINT (key)) == NULL)
        continue;
      for (guint i = 0; i < list->len; i++)
        g_hash_table_insert (current, GUINT_TO_POINTER (g_array_index (list, IrValueId, i)), key);
    }
  return current;
}

static IrValueId
current_of (GHashTable *current, IrValueId original)
{
  return GPOINTER_TO_UINT (g_hash_table_lookup (current, GUINT_TO_POINTER (original)));
}

/* -- the original graph -- */

static GHashTable *
original_inputs (const IrOriginals *originals, GHashTable *given)
{
  GHashTable *inputs = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);
  const IrGraph *graph = originals->original->main;

  for (guint i = 0; i < ir_graph_n_inputs (graph); i++)
    {
      const IrValue *input = ir_graph_input (graph, i);
      IrValueId now = input != NULL ? current_of (originals->current, input->id) : 0;
      IrTensor *tensor = now != 0 ? g_hash_table_lookup (given, GUINT_TO_POINTER (now)) : NULL;
      if (tensor != NULL)
        g_hash_table_insert (inputs, GUINT_TO_POINTER (input->id), ir_tensor_ref (tensor));
    }
  return inputs;
}

/* Whether both would be the same tensor by their types, as far as these are known. */
static gboolean
same_type (const IrValue *before, const IrValue *after)
{
  if (before->type == NULL || after->type == NULL)
    return TRUE;
  if (before->type->kind != after->type->kind || before->type->dtype != after->type->dtype)
    return FALSE;
  if (!ir_type_is_tensor (before->type) || !ir_type_is_static (before->type) ||
      !ir_type_is_static (after->type))
    return TRUE;
  if (before->type->rank != after->type->rank)
    return FALSE;
  for (int i = 0; i < before->type->rank; i++)
    if (before->type->dims[i] != after->type->dims[i])
      return FALSE;
  return TRUE;
}

/* The value of the run that holds what @value of the flat graph holds; 0: none */
static IrValueId
counterpart (const IrOriginals *originals, const IrValue *value)
{
  IrValueId now = ir_model_live_value (originals->original, value->id) != NULL
                      ? current_of (originals->current, value->id)
                      : 0;
  const IrValue *found = now != 0 ? ir_model_live_value (originals->run->model, now) : NULL;

  return found != NULL && same_type (value, found) ? now : 0;
}

static IrTensor *
known_to_originals (const IrValue *value, GCancellable *cancellable, gpointer data)
{
  IrOriginals *originals = data;
  IrValueId now = counterpart (originals, value);
  g_auto (IrFound) found = { 0 };
  IrTensor *tensor = now != 0 ? ir_run_find (originals->run, now, cancellable, &found, NULL) : NULL;

  if (tensor != NULL)
    originals->n_nodes += found.n_nodes;
  return tensor;
}

/**
 * ir_originals_new:
 * @history: a model with the steps that made what ran
 * @step: the one that ran
 * @run: a run of the graph after @step
 * @error: return location for an error
 *
 * Fails as ir_executable_new() does if the original graph cannot run.
 *
 * Returns: (transfer full) (nullable): access to the values of the original graph; may be used from
 *   any thread
 */
IrOriginals *
ir_originals_new (IrModel *history, guint step, IrRun *run, GError **error)
{
  g_autoptr (IrOriginals) originals = g_new0 (IrOriginals, 1);
  const IrRunOptions *wanted = ir_run_options (run);
  IrRunOptions options = *wanted;

  g_mutex_init (&originals->lock);
  originals->run = ir_run_ref (run);
  originals->original = ir_history_snapshot (history, 0);
  originals->current = find_current (history, step, originals->original, run->model);
  originals->inputs = original_inputs (originals, ir_run_inputs (run));
  originals->backend = *wanted->backend;
  originals->backend.plan_blocks = NULL; /* nodes run one by one */
  options.backend = &originals->backend;
  g_autoptr (IrModel) expanded = ir_exec_expand (originals->original, error);
  if (expanded == NULL)
    return NULL;
  if (wanted->partial) /* what the run has left out */
    {
      g_autoptr (GArray) missing = ir_exec_omit (expanded, &originals->backend, NULL);
    }
  originals->flat = ir_prepared_bind_shapes (expanded, originals->inputs, NULL);
  g_autoptr (IrSchedule)
      schedule = ir_schedule_new (originals->flat, &originals->backend, 1, error);
  if (schedule == NULL)
    return NULL;
  originals->replay = ir_replay_new (originals->flat, schedule, &options, originals->inputs,
                                     known_to_originals, originals, error);
  return originals->replay != NULL ? g_steal_pointer (&originals) : NULL;
}

/**
 * ir_originals_free:
 * @originals: (transfer full) (nullable): what ir_originals_new() gave
 */
void
ir_originals_free (IrOriginals *originals)
{
  if (originals == NULL)
    return;
  g_clear_pointer (&originals->replay, ir_replay_free);
  g_clear_pointer (&originals->inputs, g_hash_table_unref);
  g_clear_pointer (&originals->current, g_hash_table_unref);
  g_clear_pointer (&originals->flat, ir_model_unref);
  g_clear_pointer (&originals->original, ir_model_unref);
  g_clear_pointer (&originals->run, ir_run_unref);
  g_mutex_clear (&originals->lock);
  g_free (originals);
}

/**
 * ir_originals_model:
 * @originals: what ir_originals_new() gave
 *
 * Returns: (transfer none): the original graph, whose values ir_originals_find() takes
 */
const IrModel *
ir_originals_model (const IrOriginals *originals)
{
  return originals->original;
}

/**
 * ir_originals_find:
 * @originals: what ir_originals_new() gave
 * @original: id of a value of the original graph
 * @cancellable: (nullable): looked at while nodes run
 * @found: (out caller-allocates) (optional): how the contents were had; stands_for names the value
 *   of the run that they are, 0 if they had to be computed by nodes of the original graph
 * @error: return location for an error
 *
 * What @original holds on the inputs of the run: what the run has of the value that stands for it,
 * up to the rounding of the steps between; or computed from what the run has nearest to it.
 *
 * Fails as ir_run_find() does.
 *
 * Returns: (transfer full) (nullable): the contents
 */
IrTensor *
ir_originals_find (IrOriginals *originals,
                   IrValueId original,
                   GCancellable *cancellable,
                   IrFound *found,
                   GError **error)
{
  const IrValue *value = ir_model_live_value (originals->flat, original);
  IrValueId now = value != NULL ? counterpart (originals, value) : 0;
  const IrTensor *constant = value != NULL ? ir_value_constant (value) : NULL;
  g_auto (IrFound) unwanted = { 0 };
  IrTensor *tensor;

  found = found != NULL ? found : &unwanted;
  *found = (IrFound){ 0 };
  if (value == NULL || ir_model_live_value (originals->original, original) == NULL)
    {
      g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_INPUT,
                   "The original graph has no such value, or it lies in a function");
      return NULL;
    }
  if (constant != NULL)
    {
      found->how = IR_FOUND_CONSTANT;
      return ir_tensor_ref ((IrTensor *) constant);
    }
  if (now != 0)
    {
      tensor = ir_run_find (originals->run, now, cancellable, found, NULL);
      found->stands_for = now;
      if (tensor != NULL)
        return tensor;
      ir_found_clear (found);
    }
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&originals->lock);
  originals->n_nodes = 0;
  tensor = ir_replay_find (originals->replay, value, cancellable, found, error);
  found->n_nodes += originals->n_nodes;
  return tensor;
}

/**
 * ir_originals_needs:
 * @history: a model with steps
 * @step: the one that is going to run
 * @original: id of a value of the original graph
 * @error: return location for an error
 *
 * Returns: (transfer full) (nullable): of #IrValueId: the values of the graph after @step that a
 * run has to keep so that ir_originals_find() can give @original by the fewest nodes
 */
GArray *
ir_originals_needs (IrModel *history, guint step, IrValueId original, GError **error)
{
  g_autoptr (IrModel) snapshot = ir_history_snapshot (history, 0),
                      then = ir_history_snapshot (history, step);
  g_autoptr (IrModel) flat = ir_exec_expand (snapshot, error);
  g_autoptr (GHashTable) current = find_current (history, step, snapshot, then);
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);
  g_autoptr (GPtrArray) todo = g_ptr_array_new ();
  const IrValue *value = flat != NULL ? ir_model_live_value (flat, original) : NULL;
  const IrNode *producer = value != NULL ? ir_replay_producer (value) : NULL;
  GArray *needs;

  if (flat == NULL)
    return NULL;
  needs = g_array_new (FALSE, FALSE, sizeof (IrValueId));
  if (current_of (current, original) != 0)
    {
      IrValueId now = current_of (current, original);
      g_array_append_val (needs, now);
      return needs;
    }
  if (producer != NULL)
    g_ptr_array_add (todo, (gpointer) producer);
  while (todo->len > 0)
    {
      g_autoptr (GPtrArray)
          reads = ir_replay_reads (g_ptr_array_steal_index_fast (todo, todo->len - 1));
      for (guint i = 0; i < reads->len; i++)
        {
          const IrValue *read = g_ptr_array_index (reads, i);
          IrValueId now = ir_model_live_value (snapshot, read->id) != NULL
                              ? current_of (current, read->id)
                              : 0;
          if (!g_hash_table_add (seen, GUINT_TO_POINTER (read->id)))
            continue;
          if (now != 0)
            g_array_append_val (needs, now);
          else if (read->producer != NULL)
            g_ptr_array_add (todo, read->producer);
        }
    }
  return needs;
}
