/* Preparing a model for one set of input shapes: concrete types, schedule, memory plan, and what
 * back ends make once per node. */
#include "config.h"

#include "core/exec/plan/plan.h"
#include "core/exec/schedule/tasks.h"
#include "core/exec/schedule/schedule.h"
#include "core/op/infer.h"
#include "core/ir/pages.h"

static void
note_sizes (const IrType *declared, const IrTensor *tensor, IrContext *context, GHashTable *sizes)
{
  if (!ir_type_is_tensor (declared) || ir_tensor_is_container (tensor) ||
      declared->rank != (int) ir_tensor_rank (tensor))
    return;
  for (int i = 0; i < declared->rank; i++)
    {
      const char *name = ir_dim_symbol_name (context, declared->dims[i]);
      if (name != NULL)
        g_hash_table_insert (sizes, (gpointer) name,
                             g_memdup2 (&ir_tensor_dims (tensor)[i], sizeof (gint64)));
    }
}

/* What the file declares by the symbols of its inputs' sizes, it declares of these sizes. */
static void
bind_claims (IrEdit *edit, const IrModel *base, GHashTable *inputs)
{
  IrModel *model = ir_edit_model (edit);
  g_autoptr (GHashTable) sizes = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, g_free);

  for (guint i = 0; i < ir_graph_n_inputs (base->main); i++)
    {
      const IrValue *input = ir_graph_input (base->main, i);
      const IrTensor *tensor = input != NULL
                                   ? g_hash_table_lookup (inputs, GUINT_TO_POINTER (input->id))
                                   : NULL;
      if (tensor != NULL)
        note_sizes (input->type, tensor, model->context, sizes);
    }
  for (IrValueId id = 1; id < model->values->len && g_hash_table_size (sizes) > 0; id++)
    {
      IrValue *value = ir_model_value (model, id);
      if (value->claim != NULL)
        ir_edit_set_claim (edit, value, ir_type_substitute (model->context, value->claim, sizes));
    }
}

/**
 * ir_prepared_bind_shapes:
 * @base: a model without function calls
 * @inputs: value id -> #IrTensor
 * @cancellable: (nullable): polled between the parts of it
 *
 * Returns: (transfer full) (nullable): @base with the shapes of @inputs put in and the types
 *   inferred from them, frozen; %NULL: cancelled
 */
IrModel *
ir_prepared_bind_shapes (IrModel *base, GHashTable *inputs, GCancellable *cancellable)
{
  g_autoptr (IrModel) model = ir_model_clone (base);
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);

  for (guint i = 0; i < ir_graph_n_inputs (model->main); i++)
    {
      IrValue *input = ir_graph_input (model->main, i);
      const IrTensor *tensor = input != NULL
                                   ? g_hash_table_lookup (inputs, GUINT_TO_POINTER (input->id))
                                   : NULL;
      if (tensor == NULL)
        continue;
      /* An overridden initializer's contents must not be folded into the shapes. */
      if (input->initializer != NULL)
        ir_edit_set_initializer (edit, input, NULL);
      if (ir_tensor_is_container (tensor))
        {
          const IrType *type = ir_tensor_type (tensor, model->context);
          const IrType *merged = ir_type_merge (model->context, input->type, type);
          ir_edit_set_type (edit, input, merged != NULL ? merged : type);
        }
      else if (input->type == NULL || !ir_type_has_rank (input->type))
        ir_edit_set_type (edit, input, ir_tensor_type (tensor, model->context));
      else if (!ir_type_is_static (input->type))
        ir_infer_bind_input (edit, input, ir_tensor_rank (tensor), ir_tensor_dims (tensor));
    }
  bind_claims (edit, base, inputs);
  if (g_cancellable_is_cancelled (cancellable))
    return NULL;
  ir_infer_model (edit, IR_INFER_DEFAULT, NULL);
  IrModel *bound = ir_model_snapshot (model);
  ir_model_order (bound);
  return bound;
}

/**
 * ir_plan_values_new:
 * @n_values: largest id of a value + 1
 *
 * Returns: (transfer full) (array): rows of values that lie outside of the arena and are not kept;
 *   one more than @n_values
 */
IrPlanValue *
ir_plan_values_new (guint n_values)
{
  IrPlanValue *values = g_new0 (IrPlanValue, n_values + 1);

  for (guint id = 0; id <= n_values; id++)
    values[id].place.offset = IR_PLACE_EXTERNAL;
  return values;
}

/**
 * ir_prepared_ready:
 * @prepared: a plan
 * @id: a node of its main graph, or of a body
 * @error: return location for an error
 *
 * Lets the back end pack weights and build primitives, which needs constants and shapes only.
 *
 * Returns: %TRUE if the kernel of the node can run
 */
gboolean
ir_prepared_ready (IrPrepared *prepared, IrNodeId id, GError **error)
{
  const IrNode *node = ir_model_node (prepared->model, id);
  const IrKernelChoice *choice = ir_prepared_choice (prepared, node);
  g_autoptr (GError) local = NULL;
  IrCall call;

  if (choice->kernel == NULL || choice->backend->prepare == NULL || prepared->states[id] != NULL)
    return TRUE;
  ir_call_init (&call, node);
  prepared->states[id] = choice->backend->prepare (&call, &local);
  ir_call_clear (&call);
  if (local == NULL)
    return TRUE;
  g_propagate_error (error, ir_exec_error_from_kernel (node, g_steal_pointer (&local)));
  return FALSE;
}

/**
 * ir_prepared_unready:
 * @prepared: a plan
 * @id: a node
 *
 * Lets go of what ir_prepared_ready() has made.
 */
void
ir_prepared_unready (IrPrepared *prepared, IrNodeId id)
{
  gpointer state = g_steal_pointer (&prepared->states[id]);
  const IrBackend *backend = prepared->kernels->rows[id].backend;

  if (state != NULL && backend->release != NULL)
    backend->release (state);
}

/* Nodes of bodies, whose kernels keep what they make for the shapes that come; a device has programs for the main
 * graph alone. A body runs one iteration after the other, so a state serves one call at a time. */
static gboolean
prepare_bodies (IrPrepared *prepared, GCancellable *cancellable, GError **error)
{
  for (guint id = 1; id < prepared->n_nodes; id++)
    {
      const IrNode *node = ir_model_node (prepared->model, id);

      if (node == NULL || node->graph->owner == 0)
        continue;
      const IrKernelChoice *choice = ir_prepared_choice (prepared, node);
      if (choice->kernel == NULL || choice->backend->memory != NULL)
        continue;
      if (ir_exec_cancelled (cancellable, 0, error) || !ir_prepared_ready (prepared, id, error))
        return FALSE;
    }
  return TRUE;
}

static gboolean
prepare_states (IrPrepared *prepared, GCancellable *cancellable, GError **error)
{
  for (guint i = 0; i < prepared->schedule->items->len; i++)
    if (ir_exec_cancelled (cancellable, 0, error) ||
        !ir_prepared_ready (
            prepared, g_array_index (prepared->schedule->items, IrScheduleItem, i).node, error))
      return FALSE;
  return prepare_bodies (prepared, cancellable, error);
}

static void
fill_places (IrPrepared *prepared)
{
  const GArray *items = prepared->memplan->items;
  guint n_steps = prepared->schedule->items->len;

  for (guint i = 0; i < prepared->n_values; i++)
    prepared->values[i].place = (IrPlace){ .offset = IR_PLACE_EXTERNAL };
  prepared->release = g_new0 (IrValueId, items->len);
  prepared->release_start = g_new0 (guint, n_steps + 2);
  /* A counting sort by last use: counts, then starts, then places. */
  for (guint i = 0; i < items->len; i++)
    {
      const IrMemItem *item = &g_array_index (items, IrMemItem, i);
      prepared->values[item->value].place = (IrPlace){ item->offset, item->size };
      prepared->release_start[MIN (item->last, n_steps) + 1]++;
    }
  for (guint step = 0; step <= n_steps; step++)
    prepared->release_start[step + 1] += prepared->release_start[step];
  g_autofree guint *next = g_memdup2 (prepared->release_start, sizeof (guint) * (n_steps + 1));
  for (guint i = 0; i < items->len; i++)
    {
      const IrMemItem *item = &g_array_index (items, IrMemItem, i);
      prepared->release[next[MIN (item->last, n_steps)]++] = item->value;
    }
}

static IrSchedule *
make_schedule (IrModel *model,
               const IrBackend *backend,
               guint n_threads,
               IrParallelMode parallel,
               GCancellable *cancellable,
               GError **error)
{
  IrScheduleOptions options = ir_schedule_run_options (n_threads, parallel);

  options.stages.cancellable = cancellable;
  if (!options.compare)
    return ir_schedule_new (model, backend, n_threads, error);
  return ir_schedule_new_with (model, backend, &options, NULL, error);
}

static gboolean
plan_memory (IrPrepared *prepared, GCancellable *cancellable, GError **error)
{
  const IrPlanExceptions *except = prepared->except;
  gboolean some = except != NULL && (except->decisions & IR_DECISION_SHARING) != 0;
  const IrMemOptions options = { .align_bytes = IR_ALIGN_BYTES,
                                 .max_steps = IR_MEM_DEFAULT_STEPS,
                                 .apart = some ? except->values : NULL,
                                 .n_apart = some ? except->n_values : 0,
                                 .cancellable = cancellable };

  g_clear_pointer (&prepared->memplan, ir_mem_plan_unref);
  g_clear_pointer (&prepared->release, g_free);
  g_clear_pointer (&prepared->release_start, g_free);
  prepared->memplan = ir_mem_plan_new_full (
      prepared->model, prepared->schedule,
      prepared->without & IR_DECISION_SHARING ? IR_MEM_SEPARATE : 0, &options);
  if (prepared->memplan == NULL)
    return !ir_exec_cancelled (cancellable, 0, error);
  if (ir_exec_cancelled (cancellable, 0, error))
    return FALSE;
  fill_places (prepared);
  return !ir_exec_cancelled (cancellable, 0, error);
}

static IrValueId
first_output (const IrPrepared *prepared, guint step)
{
  const IrNode *node = ir_model_node (
      prepared->model, g_array_index (prepared->schedule->items, IrScheduleItem, step).node);

  return node->n_outputs > 0 && node->outputs[0] != NULL ? node->outputs[0]->id : 0;
}

/* What the schedule has decided for values for which it is not to. */
static void
leave_out (IrPrepared *prepared)
{
  const IrPlanExceptions *except = prepared->except;
  IrSchedule *schedule = prepared->schedule;

  for (guint id = 0; except != NULL && schedule->blocks != NULL && id < schedule->n_blocks; id++)
    if (ir_plan_is_excepted (except, IR_DECISION_BLOCKS, id))
      schedule->blocks[id] = 0;
  for (guint i = schedule->spans != NULL && except != NULL ? schedule->spans->len : 0; i > 0; i--)
    {
      guint first = g_array_index (schedule->spans, IrScheduleSpan, i - 1).first;
      if (ir_plan_is_excepted (except, IR_DECISION_SPANS, first_output (prepared, first)))
        g_array_remove_index (schedule->spans, i - 1);
    }
}

/**
 * ir_prepared_reschedule:
 * @prepared: a plan that no run uses
 * @schedule: (transfer full): of the same model
 *
 * Takes another order; what back ends have prepared stays. Arena and steps are made again before
 * the next run.
 */
void
ir_prepared_reschedule (IrPrepared *prepared, IrSchedule *schedule)
{
  ir_steps_free (prepared);
  g_clear_pointer (&prepared->arena, free);
  ir_schedule_unref (prepared->schedule);
  prepared->schedule = schedule;
  leave_out (prepared);
  plan_memory (prepared, NULL, NULL);
}

/* Values of which the file says more than is known for these inputs, or something else. (transfer full)
 * (nullable) */
static GArray *
claimed_values (const IrModel *model)
{
  GArray *claimed = NULL;

  for (IrValueId id = 1; id < model->values->len; id++)
    {
      const IrValue *value = ir_model_live_value (model, id);
      if (value == NULL || value->claim == NULL || (value->flags & IR_VALUE_DECLARED) == 0)
        continue;
      if (claimed == NULL)
        claimed = g_array_new (FALSE, FALSE, sizeof (IrValueId));
      g_array_append_val (claimed, id);
    }
  return claimed;
}

static IrModel *
bind_model (const IrPreparing *from, IrHeld *held, GError **error)
{
  g_autoptr (GError) local = NULL;
  g_autoptr (IrModel)
      model = from->budget != NULL
                  ? ir_plan_hold_budget (from, held, &local)
                  : ir_prepared_bind_shapes (from->base, from->inputs, from->cancellable);

  if (local == NULL && ir_exec_cancelled (from->cancellable, 0, &local))
    g_clear_pointer (&model, ir_model_unref);
  if (local != NULL)
    g_propagate_error (error, g_steal_pointer (&local));
  return g_steal_pointer (&model);
}

/**
 * ir_prepared_new:
 * @from: what it is made from
 * @shapes: (transfer full): key of the inputs' shapes
 * @error: return location for an error
 *
 * Fails with %IR_EXEC_ERROR_UNSUPPORTED where a node has no kernel, and with
 * %IR_EXEC_ERROR_CANCELLED.
 *
 * Returns: (transfer full) (nullable): the plan
 */
IrPrepared *
ir_prepared_new (const IrPreparing *from, char *shapes, GError **error)
{
  g_autoptr (IrPrepared) prepared = g_new0 (IrPrepared, 1);
  GCancellable *cancellable = from->cancellable;

  prepared->without = from->without;
  prepared->except = from->except;
  prepared->packed = ir_packed_ref (from->packed);
  prepared->control = from->control;
  prepared->shapes = shapes;
  prepared->model = bind_model (from, &prepared->held, error);
  if (prepared->model == NULL)
    return NULL;
  prepared->claimed = claimed_values (prepared->model);
  prepared->n_nodes = prepared->model->nodes->len;
  prepared->n_values = prepared->model->values->len;
  prepared->states = g_new0 (gpointer, prepared->n_nodes + 1);
  prepared->values = ir_plan_values_new (prepared->n_values);
  prepared->schedule = make_schedule (prepared->model, from->backend, from->n_threads,
                                      from->parallel, cancellable, error);
  if (prepared->schedule == NULL)
    return NULL;
  prepared->kernels = ir_kernels_ref (prepared->schedule->kernels);
  leave_out (prepared);
  if (!ir_kernels_check (prepared->kernels, prepared->model, error) ||
      !prepare_states (prepared, cancellable, error) || !plan_memory (prepared, cancellable, error))
    return NULL;
  return g_steal_pointer (&prepared);
}

/**
 * ir_prepared_new_bare:
 * @frozen: a model without function calls, with concrete shapes
 * @schedule: of it
 * @error: return location for an error
 *
 * A plan for running single nodes: nothing has a place in an arena, and nodes have to be made ready
 * one by one with ir_prepared_ready().
 *
 * Returns: (transfer full) (nullable): the plan
 */
IrPrepared *
ir_prepared_new_bare (IrModel *frozen, IrSchedule *schedule, GError **error)
{
  g_autoptr (IrPrepared) prepared = g_new0 (IrPrepared, 1);

  prepared->packed = ir_packed_new ();
  prepared->model = ir_model_ref (frozen);
  prepared->schedule = ir_schedule_ref (schedule);
  prepared->kernels = ir_kernels_ref (schedule->kernels);
  prepared->n_nodes = frozen->nodes->len;
  prepared->n_values = frozen->values->len;
  prepared->states = g_new0 (gpointer, prepared->n_nodes + 1);
  prepared->values = ir_plan_values_new (prepared->n_values);
  return ir_kernels_check (prepared->kernels, frozen, error) ? g_steal_pointer (&prepared) : NULL;
}

/**
 * ir_prepared_free:
 * @prepared: (transfer full) (nullable): a plan
 */
void
ir_prepared_free (IrPrepared *prepared)
{
  if (prepared == NULL)
    return;

  ir_steps_free (prepared);
  for (IrNodeId id = 0; prepared->kernels != NULL && id < prepared->n_nodes; id++)
    ir_prepared_unready (prepared, id);
  free (prepared->arena); /* from ir_pages_new() */
  ir_scratch_clear (&prepared->scratch);
  ir_packed_unref (prepared->packed);
  g_free (prepared->release_start);
  g_free (prepared->release);
  g_free (prepared->values);
  g_free (prepared->states);
  ir_kernels_unref (prepared->kernels);
  ir_mem_plan_unref (prepared->memplan);
  ir_schedule_unref (prepared->schedule);
  g_clear_pointer (&prepared->model, ir_model_unref);
  g_clear_pointer (&prepared->claimed, g_array_unref);
  g_free (prepared->shapes);
  g_free (prepared);
}
