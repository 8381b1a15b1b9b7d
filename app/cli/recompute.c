#include "config.h"

#include "app/cli/recompute.h"
#include "app/cli/output.h"

#include "core/exec/kernel/size.h"
#include "core/exec/memory/beside.h"

#include <string.h>

gboolean
cli_parse_budget (const char *text, guint64 whole, guint64 *bytes, GError **error)
{
  if (ir_size_parse (text, MAX (whole, 1), bytes))
    return TRUE;
  g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_INPUT,
               "--budget %s: needs bytes from 1 on and below 8388608T, such as 500000 or 20M, or a "
               "part of the peak without a budget, such as 50%%",
               text);
  return FALSE;
}

/* -- of a run -- */

void
cli_held_add_plan (cJSON *json, const IrHeld *held, guint64 planned)
{
  if (held->budget_bytes == 0)
    return;
  cJSON *object = cJSON_AddObjectToObject (json, "held");
  cli_json_add_uint (object, "budget_bytes", held->budget_bytes);
  cli_json_add_uint (object, "planned_bytes", planned);
  cli_json_add_uint (object, "plain_bytes", held->plain_bytes);
  cli_json_add_uint (object, "flops", held->flops);
  cli_json_add_uint (object, "extra_flops", held->extra_flops);
  cJSON_AddNumberToObject (object, "again", held->n_again);
}

void
cli_held_add (cJSON *json, const IrRun *run)
{
  const IrMemPlan *there = run->memplan != NULL ? run->memplan->there : NULL;

  cli_held_add_plan (json, &run->held, run->memplan != NULL ? run->memplan->peak_bytes : 0);
  if (there == NULL)
    return;
  cJSON *object = cJSON_AddObjectToObject (json, "device_memory");
  cli_json_add_uint (object, "values_bytes", there->peak_bytes);
  cli_json_add_uint (object, "constants_bytes", ir_mem_plan_beside (there)->constant_bytes);
  cli_json_add_uint (object, "late_copies_bytes", ir_mem_plan_beside (there)->late_bytes);
  cli_json_add_uint (object, "statistics_bytes", ir_mem_plan_beside (there)->stats_bytes);
}

/* What it took of the memory of a device. */
static void
print_device (const IrMemPlan *plan)
{
  const IrMemBeside *beside = ir_mem_plan_beside (plan);
  g_autofree char *values = cli_format_bytes (plan->peak_bytes);
  g_autofree char *constants = cli_format_bytes (beside->constant_bytes);
  g_autofree char *late = cli_format_bytes (beside->late_bytes);
  g_autofree char *stats = cli_format_bytes (beside->stats_bytes);

  cli_print ("in the memory of the %s: %s between nodes, %s of constants", plan->memory->name,
             values, constants);
  if (beside->late_bytes > 0)
    cli_print (", %s until values are copied", late);
  if (beside->stats_bytes > 0)
    cli_print (", %s to count values in", stats);
  cli_print ("\n");
}

void
cli_held_print (const IrRun *run)
{
  if (run->memplan != NULL && run->memplan->there != NULL)
    print_device (run->memplan->there);
  if (run->held.budget_bytes == 0)
    return;
  g_autofree char *budget = cli_format_bytes (run->held.budget_bytes);
  g_autofree char *arena = cli_format_bytes (run->trace != NULL ? run->trace->arena_bytes : 0);
  g_autofree char *plain = cli_format_bytes (run->held.plain_bytes);
  cli_print ("budget %s: held by %s, %s without; %u nodes ran again\n", budget, arena, plain,
             run->held.n_again);
}

CliStatus
cli_fail_run (const Cli *cli, const GError *error)
{
  const IrBudgetRefusal *refusal = ir_budget_refusal (error);

  if (refusal != NULL && cli->json)
    {
      cJSON *json = cJSON_CreateObject (), *object = cJSON_AddObjectToObject (json, "refused");
      cli_json_add_uint (object, "budget_bytes", refusal->budget_bytes);
      cli_json_add_uint (object, "plain_bytes", refusal->plain_bytes);
      cli_json_add_uint (object, "least_bytes", refusal->least_bytes);
      cJSON_AddItemToObject (object, "least_at",
                             refusal->least_at != NULL ? cJSON_CreateString (refusal->least_at)
                                                       : cJSON_CreateNull ());
      cli_json_print (json);
    }
  return cli_fail (cli_status_of (error), error);
}

static const IrNode *
node_of (const IrModel *model,
         const IrRecomputeGraph *graph,
         const IrRecomputePlan *plan,
         guint run)
{
  guint task = g_array_index (plan->runs, guint, run);

  return ir_model_node (model, g_array_index (graph->nodes, IrNodeId, task));
}

static const char *
name_of (const IrModel *model, const IrRecomputeGraph *graph, guint value)
{
  return ir_model_value (model, g_array_index (graph->values, IrValueId, value))->name;
}

/* By interval: the index of the next one of the same value, or IR_RECOMPUTE_NONE. */
static guint *
next_lives (const IrRecomputeGraph *graph, const IrRecomputePlan *plan)
{
  guint *next = g_new (guint, plan->intervals->len + 1);
  g_autofree guint *later = g_new (guint, graph->problem.n_values + 1);

  memset (later, 0xff, sizeof *later * (graph->problem.n_values + 1));
  for (guint i = plan->intervals->len; i-- > 0;)
    {
      guint value = g_array_index (plan->intervals, IrRecomputeInterval, i).value;
      next[i] = later[value];
      later[value] = i;
    }
  return next;
}

static gboolean *
repeated_runs (const IrRecomputeGraph *graph, const IrRecomputePlan *plan)
{
  gboolean *again = g_new0 (gboolean, plan->runs->len + 1);
  g_autofree gboolean *seen = g_new0 (gboolean, graph->problem.n_tasks + 1);

  for (guint run = 0; run < plan->runs->len; run++)
    {
      guint task = g_array_index (plan->runs, guint, run);
      again[run] = seen[task];
      seen[task] = TRUE;
    }
  return again;
}

/* -- JSON -- */

static void
add_names (cJSON *object,
           const char *key,
           const IrModel *model,
           const IrRecomputeGraph *graph,
           const guint *values,
           guint n)
{
  cJSON *array = cJSON_AddArrayToObject (object, key);

  for (guint i = 0; i < n; i++)
    cJSON_AddItemToArray (array, cJSON_CreateString (name_of (model, graph, values[i])));
}

static void
add_runs (cJSON *json,
          const IrModel *model,
          const IrRecomputeGraph *graph,
          const IrRecomputePlan *plan)
{
  g_autofree gboolean *again = repeated_runs (graph, plan);
  cJSON *array = cJSON_AddArrayToObject (json, "runs");

  for (guint run = 0; run < plan->runs->len; run++)
    {
      const IrRecomputeTask *task = &graph->problem.tasks[g_array_index (plan->runs, guint, run)];
      const IrNode *node = node_of (model, graph, plan, run);
      cJSON *object = cJSON_CreateObject ();
      cJSON_AddStringToObject (object, "node", node->name);
      cJSON_AddStringToObject (object, "op", node->op_type);
      cJSON_AddBoolToObject (object, "again", again[run]);
      cli_json_add_uint (object, "flops", task->flops);
      add_names (object, "reads", model, graph, task->reads, task->n_reads);
      add_names (object, "writes", model, graph, task->writes, task->n_writes);
      cJSON_AddItemToArray (array, object);
    }
}

static void
add_interval (cJSON *object,
              const char *key,
              const IrModel *model,
              const IrRecomputeGraph *graph,
              const IrRecomputePlan *plan,
              guint interval)
{
  if (interval != IR_RECOMPUTE_NONE)
    cJSON_AddStringToObject (
        object, key,
        name_of (model, graph,
                 g_array_index (plan->intervals, IrRecomputeInterval, interval).value));
}

static void
add_lives (cJSON *json,
           const IrModel *model,
           const IrRecomputeGraph *graph,
           const IrRecomputePlan *plan)
{
  g_autofree guint *next = next_lives (graph, plan);
  cJSON *evicted = cJSON_AddArrayToObject (json, "evicted");
  cJSON *values = cJSON_AddArrayToObject (json, "values");

  for (guint i = 0; i < plan->intervals->len; i++)
    {
      const IrRecomputeInterval *interval = &g_array_index (plan->intervals, IrRecomputeInterval,
                                                            i);
      const char *name = name_of (model, graph, interval->value);
      cJSON *object = cJSON_CreateObject ();
      cJSON_AddStringToObject (object, "name", name);
      cli_json_add_uint (object, "offset", interval->offset);
      cli_json_add_uint (object, "size", graph->problem.sizes[interval->value]);
      cJSON_AddNumberToObject (object, "first", interval->first);
      cJSON_AddNumberToObject (object, "last", interval->last);
      cJSON_AddNumberToObject (object, "block", interval->block);
      add_interval (object, "view_of", model, graph, plan, interval->view_of);
      add_interval (object, "over", model, graph, plan, interval->over);
      add_interval (object, "part_of", model, graph, plan, interval->part_of);
      cJSON_AddItemToArray (values, object);
      if (next[i] == IR_RECOMPUTE_NONE)
        continue;
      object = cJSON_CreateObject ();
      cJSON_AddStringToObject (object, "value", name);
      cJSON_AddNumberToObject (object, "after", interval->last);
      cJSON_AddNumberToObject (object, "again",
                               g_array_index (plan->intervals, IrRecomputeInterval, next[i]).first);
      cJSON_AddItemToArray (evicted, object);
    }
}

cJSON *
cli_recompute_json (const IrModel *model,
                    const IrRecomputeGraph *graph,
                    const IrRecomputePlan *plan)
{
  cJSON *json = cJSON_CreateObject ();

  cli_json_add_uint (json, "budget_bytes", plan->budget_bytes);
  cJSON_AddBoolToObject (json, "feasible", plan->feasible);
  cJSON_AddStringToObject (json, "method", ir_recompute_method_name (plan->method));
  cli_json_add_uint (json, "peak_bytes", plan->peak_bytes);
  cli_json_add_uint (json, "lower_bound_bytes", plan->lower_bound_bytes);
  cli_json_add_uint (json, "plain_peak_bytes", plan->plain_peak_bytes);
  cli_json_add_uint (json, "floor_bytes", plan->floor_bytes);
  cli_json_add_uint (json, "flops", plan->flops);
  cli_json_add_uint (json, "extra_flops", plan->extra_flops);
  add_lives (json, model, graph, plan);
  add_runs (json, model, graph, plan);
  return json;
}

/* -- text -- */

static void
print_summary (const IrRecomputePlan *plan, guint n_again, guint n_too_large)
{
  g_autofree char *budget = cli_format_bytes (plan->budget_bytes);
  g_autofree char *peak = cli_format_bytes (plan->peak_bytes);
  g_autofree char *bound = cli_format_bytes (plan->lower_bound_bytes);
  g_autofree char *plain = cli_format_bytes (plan->plain_peak_bytes);
  g_autofree char *lowest = cli_format_bytes (plan->floor_bytes);
  g_autofree char *extra = cli_format_count (plan->extra_flops);
  g_autofree char *flops = cli_format_count (plan->flops);

  if (plan->feasible)
    cli_print ("budget %s: held\n", budget);
  else if (n_too_large > 0)
    cli_print ("budget %s: not held: no memory has room for %u of the values, alone or together\n",
               budget, n_too_large);
  else
    cli_print ("budget %s: not held; the lowest peak found is %s, and no order of the nodes can be "
               "below %s\n",
               budget, peak, lowest);
  cli_print ("peak %s; lower bound %s; with nothing computed again %s\n", peak, bound, plain);
  cli_print ("%u runs again; %s FLOPs more than %s (%.1f %%); by %s\n", n_again, extra, flops,
             plan->flops > 0 ? 100.0 * (double) plan->extra_flops / (double) plan->flops : 0.0,
             ir_recompute_method_name (plan->method));
}

void
cli_recompute_print (const IrModel *model,
                     const IrRecomputeGraph *graph,
                     const IrRecomputePlan *plan)
{
  g_autofree gboolean *again = repeated_runs (graph, plan);
  g_autofree guint *next = next_lives (graph, plan);
  guint n_again = 0;

  for (guint run = 0; run < plan->runs->len; run++)
    n_again += again[run];
  print_summary (plan, n_again, graph->problem.n_too_large);
  for (guint i = 0; i < plan->intervals->len; i++)
    {
      const IrRecomputeInterval *interval = &g_array_index (plan->intervals, IrRecomputeInterval,
                                                            i);
      if (next[i] != IR_RECOMPUTE_NONE)
        cli_print ("evicted %s: after run %u, again in run %u\n",
                   name_of (model, graph, interval->value), interval->last,
                   g_array_index (plan->intervals, IrRecomputeInterval, next[i]).first);
    }
  for (guint run = 0; run < plan->runs->len; run++)
    if (again[run])
      {
        g_autofree char *label = ir_node_label (node_of (model, graph, plan, run));
        cli_print ("run %u: again %s\n", run, label);
      }
}

void
cli_recompute_print_csv (const IrModel *model,
                         const IrRecomputeGraph *graph,
                         const IrRecomputePlan *plan)
{
  g_autofree IrMemBlock *blocks = g_new0 (IrMemBlock, plan->intervals->len + 1);

  for (guint i = 0; i < plan->intervals->len; i++)
    {
      const IrRecomputeInterval *interval = &g_array_index (plan->intervals, IrRecomputeInterval,
                                                            i);
      IrMemBlock *block = &blocks[interval->block];
      block->offset = interval->offset - interval->at;
      block->size = MAX (block->size, interval->at + graph->problem.sizes[interval->value]);
      block->last = MAX (block->last, interval->last);
    }
  cli_print ("id,lower,upper,size,offset\n");
  for (guint i = 0, n_blocks = 0; i < plan->intervals->len; i++)
    {
      const IrRecomputeInterval *interval = &g_array_index (plan->intervals, IrRecomputeInterval,
                                                            i);
      if (interval->block < n_blocks)
        continue;
      n_blocks++;
      /* The format has no quotes. */
      g_autofree char *name = g_strdup (name_of (model, graph, interval->value));
      cli_print ("%s@%u,%u,%u,%" G_GUINT64_FORMAT ",%" G_GUINT64_FORMAT "\n",
                 g_strdelimit (name, ",\r\n", '_'), interval->first, interval->first,
                 blocks[interval->block].last + 1, blocks[interval->block].size,
                 blocks[interval->block].offset);
    }
}
