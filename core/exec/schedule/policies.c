/* Schedules of models by policy: tasks are made of the nodes, placed by one of the pure functions
 * of tasks.h, and what comes out is written into the items, which then stand in the
 * order in which they start. */
#include "config.h"

#include "core/exec/kernel/backend.h"
#include "core/exec/kernel/names.h"
#include "core/exec/schedule/tasks.h"
#include "core/exec/schedule/schedule.h"

#include <stdlib.h>

static const char *const policy_names[IR_N_SCHEDULE_POLICIES] = {
  [IR_SCHEDULE_FILE] = "file",
  [IR_SCHEDULE_LIST] = "list",
  [IR_SCHEDULE_MEMORY] = "memory",
  [IR_SCHEDULE_IOS] = "ios",
};

/**
 * ir_schedule_policy_name:
 * @policy: a policy
 *
 * Returns: its name, as ir_schedule_policy_find() takes it
 */
const char *
ir_schedule_policy_name (IrSchedulePolicy policy)
{
  return policy_names[policy];
}

/**
 * ir_schedule_policy_find:
 * @name: "file", "list", "memory" or "ios"
 * @policy: (out): the policy
 *
 * Returns: %FALSE if there is none of that name
 */
gboolean
ir_schedule_policy_find (const char *name, IrSchedulePolicy *policy)
{
  const int found = ir_name_find (policy_names, IR_N_SCHEDULE_POLICIES, name);

  if (found >= 0)
    *policy = (IrSchedulePolicy) found;
  return found >= 0;
}

/* -- which nodes can be one kernel -- */

static gboolean
is_constant (const IrValue *value)
{
  return value == NULL || ir_value_constant (value) != NULL ||
         (value->producer != NULL && ir_node_is_constant (value->producer));
}

/* Where the output channels lie in the weights of @node, or -1 if it cannot be merged. */
static int
channel_axis (const IrNode *node)
{
  const IrType *type;

  if (node->n_inputs < 2 || node->inputs[0] == NULL || node->inputs[1] == NULL ||
      is_constant (node->inputs[0]))
    return -1;
  for (guint i = 1; i < node->n_inputs; i++)
    if (!is_constant (node->inputs[i]))
      return -1;
  type = node->inputs[1]->type;
  if (type == NULL || type->rank < 2)
    return -1;
  if (ir_op_is (node, IR_OP_CONV))
    return ir_node_attr_int (node, "group", 1) == 1 ? 0 : -1;
  return ir_op_is (node, IR_OP_MATMUL) && type->rank == 2 ? 1 : -1;
}

/* Whether weights of the two can be put behind each other along the output channels. */
static gboolean
are_kin (const IrNode *a, const IrNode *b)
{
  int axis = channel_axis (a);
  const IrType *x = a->inputs[1]->type, *y = b->inputs[1]->type;

  if (axis < 0 || axis != channel_axis (b) || a->op_type != b->op_type ||
      a->n_inputs != b->n_inputs || a->n_attrs != b->n_attrs || x->rank != y->rank ||
      x->dtype != y->dtype)
    return FALSE;
  for (guint i = 0; i < a->n_attrs; i++)
    if (!ir_attr_equal (a->attrs[i], b->attrs[i]))
      return FALSE;
  for (int i = 0; i < x->rank; i++)
    if (i != axis && x->dims[i] != y->dims[i])
      return FALSE;
  for (guint i = 2; i < a->n_inputs; i++)
    if ((a->inputs[i] == NULL) != (b->inputs[i] == NULL))
      return FALSE;
  return TRUE;
}

/* Tasks that read the same value are kin of the first of them that they fit to. */
static void
find_kin (IrTasks *tasks, const IrSchedule *schedule, const IrModel *model)
{
  g_autoptr (GHashTable)
      readers = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) g_array_unref);
  tasks->kin_saving_ms = IR_NODE_OVERHEAD_MS;
  for (guint i = 0; i < tasks->n; i++)
    {
      const IrNode *node = ir_model_node (model,
                                          g_array_index (schedule->items, IrScheduleItem, i).node);
      if (channel_axis (node) < 0)
        continue;
      gpointer key = GUINT_TO_POINTER (node->inputs[0]->id);
      GArray *firsts = g_hash_table_lookup (readers, key);
      if (firsts == NULL)
        {
          firsts = g_array_new (FALSE, FALSE, sizeof (guint));
          g_hash_table_insert (readers, key, firsts);
        }
      for (guint k = 0; k < firsts->len && tasks->kin[i] == 0; k++)
        {
          guint first = g_array_index (firsts, guint, k);
          IrNodeId id = g_array_index (schedule->items, IrScheduleItem, first).node;
          if (are_kin (ir_model_node (model, id), node))
            tasks->kin[i] = first + 1;
        }
      if (tasks->kin[i] != 0)
        continue;
      tasks->kin[i] = i + 1;
      g_array_append_val (firsts, i);
    }
}

/* -- tasks of a schedule -- */

/* @wide_ms: (nullable): what tasks take on the threads of all workers, which takes the place of
 * running several as one kernel: there is no such kernel to run. */
static IrTasks *
make_tasks (const IrSchedule *schedule,
            const IrModel *model,
            const double *ms,
            const double *wide_ms)
{
  g_autoptr (GArray) edges = g_array_new (FALSE, FALSE, sizeof (IrTaskEdge));
  g_autoptr (GHashTable) index = g_hash_table_new (NULL, NULL);

  for (guint i = 0; i < schedule->items->len; i++)
    {
      const IrScheduleItem *item = &g_array_index (schedule->items, IrScheduleItem, i);
      g_hash_table_insert (index, GUINT_TO_POINTER (item->node), GUINT_TO_POINTER (i));
      for (guint k = 0; k < item->n_after; k++)
        {
          IrTaskEdge edge = {
            GPOINTER_TO_UINT (g_hash_table_lookup (index, GUINT_TO_POINTER (item->after[k]))), i
          };
          g_array_append_val (edges, edge);
        }
    }
  IrTasks *tasks = ir_tasks_new (schedule->items->len, ms,
                                 (const IrTaskEdge *) (void *) edges->data, edges->len);
  if (wide_ms != NULL)
    tasks->wide_ms = g_memdup2 (wide_ms, sizeof *wide_ms * ((gsize) tasks->n + 1));
  else
    find_kin (tasks, schedule, model);
  return tasks;
}

/* Constants that a trace does not have did not run. */
static double
cost_of (const IrModel *model, const IrNodeCosts *costs, IrNodeId id, double predicted_ms)
{
  if (costs == NULL || id >= costs->n)
    return predicted_ms;
  if (costs->ms[id] >= 0)
    return costs->ms[id];
  return ir_node_is_constant (ir_model_node (model, id)) ? 0 : predicted_ms;
}

static void
set_times (IrSchedule *schedule, const IrTasks *tasks, const IrTaskPlace *places)
{
  g_autoptr (IrScheduleReport) report = ir_tasks_report (tasks, schedule->n_workers, places);

  schedule->makespan_ms = report->makespan_ms;
  schedule->critical_path_ms = report->critical_path_ms;
  schedule->work_ms = report->work_ms;
  for (guint i = 0; i < tasks->n; i++)
    {
      IrScheduleItem *item = &g_array_index (schedule->items, IrScheduleItem, i);
      item->worker = places[i].worker;
      item->start_ms = places[i].start_ms;
      item->end_ms = places[i].end_ms;
    }
}

static void
take_times (const IrSchedule *schedule, IrTaskPlace *places)
{
  for (guint i = 0; i < schedule->items->len; i++)
    {
      const IrScheduleItem *item = &g_array_index (schedule->items, IrScheduleItem, i);
      places[i] = (IrTaskPlace){ item->worker, 0, item->start_ms, item->end_ms };
    }
}

typedef struct
{
  IrTaskPlace place;
  guint item;
} Placed;

/* What takes no time may start with what waits for it, and stands before it as it did. */
static int
compare_starts (gconstpointer a, gconstpointer b)
{
  const Placed *x = a, *y = b;

  if (x->place.stage != y->place.stage)
    return x->place.stage < y->place.stage ? -1 : 1;
  if (x->place.start_ms < y->place.start_ms || x->place.start_ms > y->place.start_ms)
    return x->place.start_ms < y->place.start_ms ? -1 : 1;
  return x->item < y->item ? -1 : x->item > y->item;
}

static void
sort_times (double *times, const Placed *sorted, guint n)
{
  g_autofree double *old = g_memdup2 (times, sizeof *old * n);

  for (guint i = 0; i < n; i++)
    times[i] = old[sorted[i].item];
}

/* Brings items, and what is known of them, into the order in which they start. */
static void
sort_items (
    IrSchedule *schedule, IrTaskPlace *places, double *predicted, double *ms, double *wide_ms)
{
  guint n = schedule->items->len;
  g_autofree Placed *sorted = g_new (Placed, (gsize) n + 1);
  g_autofree IrScheduleItem *items = g_memdup2 (schedule->items->data, sizeof *items * n);

  for (guint i = 0; i < n; i++)
    sorted[i] = (Placed){ places[i], i };
  if (n > 0)
    qsort (sorted, n, sizeof *sorted, compare_starts);
  for (guint i = 0; i < n; i++)
    {
      g_array_index (schedule->items, IrScheduleItem, i) = items[sorted[i].item];
      places[i] = sorted[i].place;
    }
  sort_times (predicted, sorted, n);
  sort_times (ms, sorted, n);
  if (wide_ms != NULL)
    sort_times (wide_ms, sorted, n);
}

/* -- one at a time, or concurrently -- */

/* Longer than any stage of others: what must not run beside them. */
#define NEVER_MS 1e9

static gboolean
is_plain (const IrValue *value)
{
  return value == NULL || (value->type != NULL && ir_type_is_static (value->type) &&
                           ir_type_is_tensor (value->type));
}

/* Whether a runner can run @node while others run: all is known of it before. */
static gboolean
is_independent (const IrNode *node)
{
  if (node->op == NULL || (node->op->flags & (IR_OP_SUBGRAPHS | IR_OP_RANDOM)))
    return FALSE;
  for (guint i = 0; i < node->n_inputs; i++)
    if (!is_plain (node->inputs[i]))
      return FALSE;
  for (guint i = 0; i < node->n_outputs; i++)
    if (!is_plain (node->outputs[i]))
      return FALSE;
  return TRUE;
}

/* What each item takes on all threads. */
static double *
wide_times (const IrSchedule *schedule, const IrNodeCosts *costs, const double *ms)
{
  guint n = schedule->items->len;
  double *wide = g_memdup2 (ms, sizeof *wide * ((gsize) n + 1));

  for (guint i = 0; i < n && costs != NULL; i++)
    {
      IrNodeId id = g_array_index (schedule->items, IrScheduleItem, i).node;
      if (id < costs->n && costs->ms[id] >= 0)
        wide[i] = costs->ms[id];
    }
  return wide;
}

/* Tasks to place: those that cannot run concurrently take too long for it. */
static IrTasks *
tasks_to_place (const IrSchedule *schedule,
                const IrModel *model,
                const double *ms,
                const double *wide_ms)
{
  g_autofree double *apart = g_memdup2 (ms, sizeof *ms * ((gsize) schedule->items->len + 1));

  for (guint i = 0; i < schedule->items->len && wide_ms != NULL; i++)
    if (!is_independent (
            ir_model_node (model, g_array_index (schedule->items, IrScheduleItem, i).node)))
      apart[i] = NEVER_MS;
  return make_tasks (schedule, model, apart, wide_ms);
}

/* Which stages run concurrently, in steps. */
static void
find_spans (IrSchedule *schedule, const IrScheduleDetails *details)
{
  const IrTasks *tasks = details->tasks;

  schedule->spans = g_array_new (FALSE, FALSE, sizeof (IrScheduleSpan));
  for (guint first = 0, end; first < tasks->n; first = end)
    {
      const IrStage *stage = &g_array_index (details->stages->stages, IrStage,
                                             details->places[first].stage);
      IrScheduleSpan span = { first, first, stage->end_ms - stage->start_ms, 0 };
      for (end = first;
           end < tasks->n && details->places[end].stage == details->places[first].stage; end++)
        span.apart_ms += tasks->wide_ms[end];
      span.last = end - 1;
      if (stage->kind != IR_STAGE_WIDE && span.last > span.first)
        g_array_append_val (schedule->spans, span);
    }
}

static double *
durations (const IrSchedule *schedule)
{
  double *ms = g_new (double, (gsize) schedule->items->len + 1);

  for (guint i = 0; i < schedule->items->len; i++)
    {
      const IrScheduleItem *item = &g_array_index (schedule->items, IrScheduleItem, i);
      ms[i] = item->end_ms - item->start_ms;
    }
  return ms;
}

static void
place (IrScheduleDetails *details, const IrScheduleOptions *options)
{
  switch (options->policy)
    {
    case IR_SCHEDULE_LIST:
      ir_tasks_place_by_list (details->tasks, options->stages.n_workers, details->places);
      break;
    case IR_SCHEDULE_IOS:
      details->stages = ir_tasks_place_in_stages (details->tasks, &options->stages,
                                                  details->places);
      break;
    case IR_SCHEDULE_FILE:
    case IR_SCHEDULE_MEMORY:
    case IR_N_SCHEDULE_POLICIES:
    default:
      ir_tasks_place_in_order (details->tasks, options->stages.n_workers, details->places);
      break;
    }
}

/**
 * ir_schedule_new_with:
 * @model: a model without cycles, with types
 * @backend: which kernels are wanted
 * @options: policy, workers, costs
 * @details: (out) (optional) (transfer full): what the schedule was made of, by item
 * @error: return location for an error
 *
 * Makes a schedule by a policy. %IR_SCHEDULE_FILE is ir_schedule_new(): items in the order of the
 * file, each on a worker by the longest path behind it. The others put the items into the order in
 * which they start: by list scheduling, in the order that needs little memory, or in stages.
 *
 * Fails as ir_schedule_new() does, and with %IR_EXEC_ERROR_CANCELLED.
 *
 * Returns: (transfer full) (nullable): the schedule
 */
IrSchedule *
ir_schedule_new_with (IrModel *model,
                      const IrBackend *backend,
                      const IrScheduleOptions *options,
                      IrScheduleDetails **details,
                      GError **error)
{
  g_return_val_if_fail (model != NULL && backend != NULL && options != NULL, NULL);
  GCancellable *cancellable = options->stages.cancellable;
  guint n_workers = options->stages.n_workers;
  g_autoptr (IrSchedule) schedule = options->kernels != NULL
                                        ? ir_schedule_new_by (model, options->kernels, n_workers)
                                        : ir_schedule_new (model, backend, n_workers, error);
  if (schedule == NULL)
    return NULL;
  if (options->policy == IR_SCHEDULE_MEMORY)
    ir_schedule_order_for_memory (schedule, model);
  g_autoptr (IrScheduleDetails) found = g_new0 (IrScheduleDetails, 1);
  guint n = schedule->items->len;
  g_autofree double *ms = durations (schedule);
  found->predicted_ms = g_memdup2 (ms, sizeof *ms * ((gsize) n + 1));
  found->places = g_new0 (IrTaskPlace, (gsize) n + 1);
  for (guint i = 0; i < n; i++)
    ms[i] = cost_of (model, options->costs, g_array_index (schedule->items, IrScheduleItem, i).node,
                     ms[i]);
  g_autofree double *wide_ms = options->compare && options->policy == IR_SCHEDULE_IOS
                                   ? wide_times (schedule, options->wide_costs, ms)
                                   : NULL;
  found->tasks = tasks_to_place (schedule, model, ms, wide_ms);
  found->tasks->fork_ms = options->wide_costs != NULL ? IR_FORK_MS : 0;
  if (options->policy == IR_SCHEDULE_FILE)
    {
      for (guint i = 0; i < n && options->costs != NULL; i++)
        g_array_index (schedule->items, IrScheduleItem, i).end_ms = ms[i];
      if (options->costs != NULL)
        ir_schedule_place (schedule);
      take_times (schedule, found->places);
    }
  else
    {
      place (found, options);
      sort_items (schedule, found->places, found->predicted_ms, ms, wide_ms);
      ir_tasks_free (found->tasks);
      found->tasks = make_tasks (schedule, model, ms, wide_ms);
      set_times (schedule, found->tasks, found->places);
      if (wide_ms != NULL)
        find_spans (schedule, found);
    }
  if (g_cancellable_is_cancelled (cancellable))
    {
      g_set_error_literal (error, IR_EXEC_ERROR, IR_EXEC_ERROR_CANCELLED,
                           "Cancelled while the schedule was made");
      return NULL;
    }
  if (details != NULL)
    *details = g_steal_pointer (&found);
  return g_steal_pointer (&schedule);
}

/**
 * ir_schedule_run_options:
 * @n_threads: threads of the run
 * @mode: whether nodes may run concurrently
 *
 * Returns: how the schedule of such a run is made, before anything has been measured
 */
IrScheduleOptions
ir_schedule_run_options (guint n_threads, IrParallelMode mode)
{
  gboolean concurrent = mode == IR_PARALLEL_ON && n_threads > 1;

  return (IrScheduleOptions){
    .policy = concurrent ? IR_SCHEDULE_IOS : IR_SCHEDULE_FILE,
    .stages = { .n_workers = n_threads },
    .compare = concurrent,
  };
}

/**
 * ir_schedule_details_new:
 * @schedule: a schedule
 * @model: the model that it is of
 *
 * Returns: (transfer full): its items as tasks that take as long as it says; no stages
 */
IrScheduleDetails *
ir_schedule_details_new (const IrSchedule *schedule, const IrModel *model)
{
  IrScheduleDetails *details = g_new0 (IrScheduleDetails, 1);

  details->predicted_ms = durations (schedule);
  details->places = g_new0 (IrTaskPlace, (gsize) schedule->items->len + 1);
  details->tasks = make_tasks (schedule, model, details->predicted_ms, NULL);
  take_times (schedule, details->places);
  return details;
}

/**
 * ir_schedule_details_free:
 * @details: (transfer full) (nullable): details
 */
void
ir_schedule_details_free (IrScheduleDetails *details)
{
  if (details == NULL)
    return;
  ir_tasks_free (details->tasks);
  ir_stages_free (details->stages);
  g_free (details->places);
  g_free (details->predicted_ms);
  g_free (details);
}
