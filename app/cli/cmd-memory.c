/* irscope memory: the memory plan of a graph, or of a list of buffers. */
#include "config.h"

#include "app/cli/commands.h"
#include "app/cli/memory-lists.h"
#include "app/cli/output.h"
#include "app/cli/plans.h"
#include "app/cli/recompute.h"
#include "app/cli/token-rounds.h"
#include "core/io/io.h"
#include "core/exec/memory/memory.h"
#include "core/ir/pages.h"

#include <stdio.h>

typedef struct
{
  CliModelOptions model;
  CliPlanOptions plan;
  gboolean csv, at_peak, events;
  gint64 capacity;
  gint time_limit, seed;
  char *why, *against;
  char *of;
} Options;

static const CliOption command_options[] = {
  { "csv", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (Options, csv),
    "Print buffers as lines of id,lower,upper,size,offset", NULL },
  { "separate", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (Options, plan.separate), CLI_SEPARATE_DOC,
    NULL },
  { "order", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, plan.order), CLI_ORDER_DOC,
    "ORDER" },
  { "parallel", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, plan.parallel),
    "The plan of a run with this option, in which concurrent nodes need what they need at "
    "once: off (the default), on, or auto, which runs FILE until it is decided",
    "off,on,auto" },
  { "at-peak", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (Options, at_peak),
    "Say at which step most bytes are held, and by which values, the largest first; JSON has it always",
    NULL },
  { "events", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (Options, events),
    "List what an allocator would be asked for, step by step, and what is held behind each", NULL },
  { "against", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, against),
    "Compare the plan with that of another model, or of step N of the pipeline (@N): what became larger, and "
    "what lives at the peak of one alone; values are the same by name",
    "FILE|@N" },
  { "of", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, of),
    "Of a back end with a memory of its own: whose plan is meant, that of the device or of the host; the lists "
    "tell of the device where this is not said",
    "device,host" },
  { "why", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, why),
    "Say why a value lies where it lies, and what it could not share bytes with", "VALUE" },
  { "budget", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, plan.budget),
    "Compute values again so that all fit into this: bytes, with K, M or G, or a part of the peak "
    "without, such as 50%",
    "SIZE" },
  { "capacity", 0, G_OPTION_ARG_INT64, G_STRUCT_OFFSET (Options, capacity),
    "Stop the search at a placement that fits into this many bytes", "BYTES" },
  { "time-limit", 0, G_OPTION_ARG_INT, G_STRUCT_OFFSET (Options, time_limit),
    "Search for this many seconds of processor time (60 for a list of buffers)", "SECONDS" },
  { "seed", 0, G_OPTION_ARG_INT, G_STRUCT_OFFSET (Options, seed),
    "Seed of what the search leaves to chance (default 0); the same one gives the same plan", "N" },
  { NULL },
};

static void
add_result (cJSON *json, const IrMemResult *result)
{
  cJSON *peaks = cJSON_AddObjectToObject (json, "peaks");

  cJSON_AddStringToObject (json, "algorithm", ir_mem_algorithm_name (result->algorithm));
  cJSON_AddBoolToObject (json, "proven", result->proven);
  for (guint i = 0; i < IR_MEM_N_ALGORITHMS; i++)
    if (result->peaks[i] > 0)
      cli_json_add_uint (peaks, ir_mem_algorithm_name (i), result->peaks[i]);
  cli_json_add_uint (json, "search_steps", result->n_steps);
  cJSON_AddNumberToObject (json, "search_ms", result->search_ms);
}

static void
print_result (const IrMemResult *result)
{
  cli_print ("placed by %s%s", ir_mem_algorithm_name (result->algorithm),
             result->proven ? ", and none can be lower" : "");
  for (guint i = 0; i < IR_MEM_N_ALGORITHMS; i++)
    if (result->peaks[i] > 0)
      {
        g_autofree char *peak = cli_format_bytes (result->peaks[i]);
        cli_print ("; %s %s", ir_mem_algorithm_name (i), peak);
      }
  cli_print ("\n");
}

/* -- a list of buffers -- */

static void
print_instance_json (Cli *cli, const IrMemInstance *instance, const IrMemResult *result)
{
  cJSON *json = cJSON_CreateObject (), *array;
  guint64 naive = 0;

  for (guint i = 0; i < instance->blocks->len; i++)
    naive += g_array_index (instance->blocks, IrMemBlock, i).size;
  cli_json_add_uint (json, "lower_bound_bytes", result->lower_bound_bytes);
  cli_json_add_uint (json, "peak_bytes", result->peak_bytes);
  cli_json_add_uint (json, "naive_bytes", naive);
  cJSON_AddNumberToObject (json, "align_bytes", 1);
  add_result (json, result);
  array = cJSON_AddArrayToObject (json, "values");
  for (guint i = 0; i < instance->blocks->len && !cli_cut (cli); i++)
    {
      const IrMemBlock *block = &g_array_index (instance->blocks, IrMemBlock, i);
      const IrMemRow *row = &g_array_index (instance->rows, IrMemRow, i);
      g_autofree char *name = g_utf8_make_valid (row->id, -1);
      cJSON *object = cJSON_CreateObject ();
      cJSON_AddStringToObject (object, "name", name);
      cli_json_add_uint (object, "offset", block->offset);
      cli_json_add_uint (object, "size", block->size);
      cJSON_AddNumberToObject (object, "first", (double) row->lower);
      cJSON_AddNumberToObject (object, "last", (double) (row->upper - 1));
      cJSON_AddItemToArray (array, object);
    }
  cli_json_print_long (cli, json);
}

static CliStatus
run_instance (Cli *cli)
{
  Options *options = cli->options;
  g_autoptr (GError) error = NULL;
  gsize length;
  g_autofree char *text = ir_file_read_settings (cli->args[0], &length, &error);

  if (text == NULL)
    return cli_fail (CLI_BAD, error);
  g_autoptr (IrMemInstance) instance = ir_mem_instance_parse (text, length, &error);
  if (instance == NULL)
    {
      g_prefix_error (&error, "%s: ", cli->args[0]);
      return cli_fail (CLI_BAD, error);
    }
  IrMemOptions place = {
    .align_bytes = 1,
    .capacity = (guint64) MAX (options->capacity, 0),
    .max_steps = G_MAXUINT64,
    .time_limit_ms = (guint) CLAMP (options->time_limit, 0, 1000000) * 1000,
    .seed = (guint) options->seed,
    .cancellable = cli->cancellable,
  };
  IrMemResult result;
  if (options->time_limit <= 0)
    place.time_limit_ms = 60000;
  if (!ir_mem_place ((IrMemBlock *) (void *) instance->blocks->data, instance->blocks->len, &place,
                     &result))
    return cli_cancelled (cli);
  if (cli->json)
    print_instance_json (cli, instance, &result);
  else if (options->csv)
    {
      g_autofree char *csv = ir_mem_instance_to_csv (instance);
      cli_write (csv);
    }
  else
    {
      g_autofree char *peak = cli_format_bytes (result.peak_bytes);
      g_autofree char *bound = cli_format_bytes (result.lower_bound_bytes);
      cli_print ("peak %s; lower bound %s; %u buffers\n", peak, bound, instance->blocks->len);
      print_result (&result);
    }
  return place.capacity == 0 || result.peak_bytes <= place.capacity ? CLI_OK : CLI_NO;
}

/* -- a graph -- */

static void
add_value (cJSON *object, const char *key, const IrModel *model, IrValueId id)
{
  if (id != 0)
    cJSON_AddStringToObject (object, key, ir_model_value (model, id)->name);
}

/* When a value is read, for it has to be there until then. */
static void
add_readers (cJSON *object, const IrModel *model, const IrMemPlan *plan, IrValueId id)
{
  g_autoptr (GArray) steps = ir_mem_plan_readers (plan, model, id);
  cJSON *array = cJSON_AddArrayToObject (object, "read_by");

  for (guint i = 0; i < steps->len; i++)
    cJSON_AddItemToArray (array, cJSON_CreateNumber (g_array_index (steps, guint, i)));
}

/* Steps have workers where they run concurrently. */
static void
add_steps (Cli *cli, cJSON *json, const IrModel *model, const IrSchedule *schedule)
{
  cJSON *spans = cJSON_AddArrayToObject (json, "spans");
  cJSON *steps = cJSON_AddArrayToObject (json, "steps");
  guint next = 0;

  for (guint i = 0; schedule->spans != NULL && i < schedule->spans->len; i++)
    {
      const IrScheduleSpan *span = &g_array_index (schedule->spans, IrScheduleSpan, i);
      cJSON *object = cJSON_CreateObject ();
      cJSON_AddNumberToObject (object, "first", span->first);
      cJSON_AddNumberToObject (object, "last", span->last);
      cJSON_AddItemToArray (spans, object);
    }
  for (guint i = 0; i < schedule->items->len && !cli_cut (cli); i++)
    {
      const IrScheduleItem *item = &g_array_index (schedule->items, IrScheduleItem, i);
      const IrNode *node = ir_model_node (model, item->node);
      cJSON *object = cJSON_CreateObject ();
      while (schedule->spans != NULL && next < schedule->spans->len &&
             g_array_index (schedule->spans, IrScheduleSpan, next).last < i)
        next++;
      cJSON_AddStringToObject (object, "node", node->name);
      cJSON_AddStringToObject (object, "op", node->op_type);
      if (schedule->spans != NULL && next < schedule->spans->len &&
          g_array_index (schedule->spans, IrScheduleSpan, next).first <= i)
        cJSON_AddNumberToObject (object, "worker", item->worker);
      cJSON_AddItemToArray (steps, object);
    }
}

static void
add_at_peak (cJSON *json, const IrModel *model, const IrMemPlan *plan)
{
  guint step;
  guint64 bytes;
  g_autoptr (GArray) items = ir_mem_plan_at_peak (plan, &step, &bytes);
  cJSON *peak = cJSON_AddObjectToObject (json, "at_peak"), *values;

  cJSON_AddNumberToObject (peak, "step", step);
  cli_json_add_uint (peak, "bytes", bytes);
  values = cJSON_AddArrayToObject (peak, "values");
  for (guint i = 0; i < items->len; i++)
    cJSON_AddItemToArray (
        values, cJSON_CreateString (
                    ir_model_value (model, g_array_index (items, IrMemItem, i).value)->name));
}

static void
add_sizes (cJSON *json, const IrMemPlan *plan)
{
  cli_json_add_uint (json, "lower_bound_bytes", plan->lower_bound_bytes);
  cli_json_add_uint (json, "peak_bytes", plan->peak_bytes);
  cli_json_add_uint (json, "naive_bytes", plan->naive_bytes);
  cJSON_AddNumberToObject (json, "too_large", plan->n_too_large);
  cJSON_AddNumberToObject (json, "align_bytes", plan->align_bytes);
}

static void
add_values (Cli *cli, cJSON *json, const IrModel *model, const IrMemPlan *plan)
{
  cJSON *array = cJSON_AddArrayToObject (json, "values");

  for (guint i = 0; i < plan->items->len && !cli_cut (cli); i++)
    {
      const IrMemItem *item = &g_array_index (plan->items, IrMemItem, i);
      cJSON *object;

      if (item->offset == IR_PLACE_EXTERNAL)
        continue;
      object = cJSON_CreateObject ();
      cJSON_AddStringToObject (object, "name", ir_model_value (model, item->value)->name);
      cli_json_add_uint (object, "offset", item->offset);
      cli_json_add_uint (object, "size", item->size);
      cJSON_AddNumberToObject (object, "first", item->first);
      cJSON_AddNumberToObject (object, "last", item->last);
      add_readers (object, model, plan, item->value);
      add_value (object, "alias_of", model, item->alias_of);
      add_value (object, "view_of", model, item->view_of);
      add_value (object, "over", model, item->over);
      add_value (object, "part_of", model, item->part_of);
      cJSON_AddItemToArray (array, object);
    }
}

static cJSON *
plan_json (Cli *cli, const IrModel *model, const IrMemPlan *plan)
{
  const IrSchedule *schedule = ir_mem_plan_schedule (plan);
  cJSON *json = cJSON_CreateObject (), *there;

  if (plan->memory != NULL)
    cJSON_AddStringToObject (json, "memory", plan->memory->name);
  add_sizes (json, plan);
  cJSON_AddNumberToObject (json, "workers", schedule->n_workers);
  add_result (json, ir_mem_plan_result (plan));
  add_steps (cli, json, model, schedule);
  add_at_peak (json, model, plan);
  add_values (cli, json, model, plan);
  if (plan->there != NULL)
    {
      there = cJSON_AddObjectToObject (json, "device");
      cJSON_AddStringToObject (there, "memory", plan->there->memory->name);
      add_sizes (there, plan->there);
      add_values (cli, there, model, plan->there);
    }
  return json;
}

static void
print_json (Cli *cli, const IrModel *model, const IrMemPlan *plan)
{
  cJSON *json = plan_json (cli, model, plan);

  cli_token_rounds_json (json, model);
  cli_json_print_long (cli, json);
}

/* The plan, and the lines that explain one value. */
static void
print_why_json (
    Cli *cli, const IrModel *model, const IrMemPlan *plan, const IrValue *value, const char *text)
{
  cJSON *json = plan_json (cli, model, plan), *why = cJSON_AddObjectToObject (json, "why");
  cJSON *array;
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);

  cJSON_AddStringToObject (why, "value", value->name);
  array = cJSON_AddArrayToObject (why, "lines");
  for (guint i = 0; lines[i] != NULL; i++)
    if (*lines[i] != '\0')
      cJSON_AddItemToArray (array, cJSON_CreateString (g_strstrip (lines[i])));
  cli_json_print_long (cli, json);
}

/* One line per block of the arena: values that share bytes are named by the first of them. */
static void
print_csv (Cli *cli, const IrModel *model, const IrMemPlan *plan)
{
  guint n_blocks;
  const IrMemBlock *blocks = ir_mem_plan_blocks (plan, &n_blocks);

  cli_print ("id,lower,upper,size,offset\n");
  for (guint i = 0; i < n_blocks && !cli_cut (cli); i++)
    {
      const IrMemBlock *block = &blocks[i];
      g_autofree char *name = g_strdup (
          ir_model_value (model, ir_mem_plan_block_value (plan, i))->name);
      /* The format has no quotes. */
      cli_print ("%s,%u,%u,%" G_GUINT64_FORMAT ",%" G_GUINT64_FORMAT "\n",
                 g_strdelimit (name, ",\r\n", '_'), block->first, block->last + 1,
                 (block->size + plan->align_bytes - 1) / plan->align_bytes * plan->align_bytes,
                 block->offset);
    }
}

static void
print_relation (const IrModel *model,
                const IrMemPlan *plan,
                const IrMemItem *item,
                const char *verb,
                IrValueId id)
{
  guint64 at = ir_mem_plan_distance (plan, id, item->value);

  if (id == 0)
    return;
  cli_print ("; %s %s", verb, ir_model_value (model, id)->name);
  if (at > 0)
    cli_print (" + %" G_GUINT64_FORMAT, at);
}

static void
print_spans (const IrModel *model, const IrSchedule *schedule)
{
  for (guint i = 0; schedule->spans != NULL && i < schedule->spans->len; i++)
    {
      const IrScheduleSpan *span = &g_array_index (schedule->spans, IrScheduleSpan, i);
      g_autofree char *from = ir_node_label (
          ir_model_node (model, g_array_index (schedule->items, IrScheduleItem, span->first).node));
      g_autofree char *to = ir_node_label (
          ir_model_node (model, g_array_index (schedule->items, IrScheduleItem, span->last).node));
      cli_print ("steps %u to %u concurrent on %u workers: %s to %s\n", span->first, span->last,
                 schedule->n_workers, from, to);
    }
}

static void
print_text (Cli *cli, const IrModel *model, const IrMemPlan *plan)
{
  g_autofree char *peak = cli_format_bytes (plan->peak_bytes),
                  *bound = cli_format_bytes (plan->lower_bound_bytes);
  g_autofree char *naive = cli_format_bytes (plan->naive_bytes);

  if (plan->memory != NULL)
    cli_print ("in the memory of the %s:\n", plan->memory->name);
  cli_print ("peak %s; lower bound %s; without reuse %s\n", peak, bound, naive);
  print_result (ir_mem_plan_result (plan));
  if (plan->n_too_large > 0)
    cli_print ("without %u values that no memory has room for\n", plan->n_too_large);
  print_spans (model, ir_mem_plan_schedule (plan));
  for (guint i = 0; i < plan->items->len && !cli_cut (cli); i++)
    {
      const IrMemItem *item = &g_array_index (plan->items, IrMemItem, i);
      if (item->offset == IR_PLACE_EXTERNAL)
        continue;
      cli_print ("%12" G_GUINT64_FORMAT " %12" G_GUINT64_FORMAT "  %5u-%-5u %s", item->offset,
                 item->size, item->first, item->last, ir_model_value (model, item->value)->name);
      print_relation (model, plan, item, "is in", item->view_of);
      print_relation (model, plan, item, "is written over", item->over);
      print_relation (model, plan, item, "is part of", item->part_of);
      cli_print ("\n");
    }
  if (plan->there != NULL)
    print_text (cli, model, plan->there);
  else
    cli_token_rounds_print (model);
}

static CliStatus
print_why (Cli *cli, const IrModel *model, const IrMemPlan *plan, const char *name)
{
  const IrValue *value = NULL;

  for (guint i = 0; i < plan->items->len && value == NULL; i++)
    {
      const IrMemItem *item = &g_array_index (plan->items, IrMemItem, i);
      const IrValue *candidate = ir_model_value (model, item->value);
      if (g_strcmp0 (candidate->name, name) == 0)
        value = candidate;
    }
  if (value == NULL)
    {
      cli_printerr ("irscope memory: %s is no value of the main graph\n", name);
      return CLI_BAD;
    }
  g_autofree char *text = ir_mem_plan_explain (plan, model, value->id);
  if (cli->json)
    print_why_json (cli, model, plan, value, text);
  else
    cli_write (text);
  return CLI_OK;
}

/* The plan beside it is the one in which nothing runs again. */
static CliStatus
run_budget (Cli *cli,
            const CliPlanChoice *choice,
            IrModel *model,
            const IrSchedule *schedule,
            const IrMemPlan *plan)
{
  const Options *options = cli->options;
  IrMemOptions place = { .align_bytes = IR_ALIGN_BYTES,
                         .max_steps = CLI_BUDGET_STEPS,
                         .cancellable = cli->cancellable };
  g_autoptr (GError) error = NULL;
  guint64 budget;

  if (!cli_parse_budget (options->plan.budget, plan->peak_bytes, &budget, &error))
    return cli_fail (CLI_BAD, error);
  g_autoptr (IrRecomputeGraph)
      graph = ir_recompute_graph_new (model, schedule, choice->flags, &place);
  g_autoptr (IrRecomputePlan)
      again = graph != NULL ? ir_mem_recompute (&graph->problem, budget, &place) : NULL;
  if (again == NULL)
    return cli_cancelled (cli);
  if (cli->json)
    {
      cJSON *json = plan_json (cli, model, plan);
      cJSON_AddItemToObject (json, "recompute", cli_recompute_json (model, graph, again));
      cli_json_print_long (cli, json);
    }
  else
    (options->csv ? cli_recompute_print_csv : cli_recompute_print) (model, graph, again);
  return again->feasible ? CLI_OK : CLI_NO;
}

/* Of a list of buffers, what is said of graphs would go unheard. */
static gboolean
check_options (const Options *options, gboolean of_graph)
{
  const CliPlanOptions *plan = &options->plan;
  const gboolean lists = options->events || options->against != NULL;

  if (options->capacity < 0 || options->time_limit < 0)
    cli_printerr ("irscope memory: --capacity and --time-limit must not be negative\n");
  else if ((options->why != NULL || lists) && (options->csv || plan->budget != NULL))
    cli_printerr (
        "irscope memory: --why, --events and --against tell of the plan without a budget; leave "
        "out --csv and --budget\n");
  else if (lists && (options->why != NULL || (options->events && options->against != NULL)))
    cli_printerr ("irscope memory: --why, --events and --against are one question each; ask one\n");
  else if (!of_graph && (plan->separate || plan->order != NULL || options->why != NULL || lists ||
                         plan->budget != NULL || plan->parallel != NULL))
    cli_printerr (
        "irscope memory: a list of buffers takes none of --separate, --order, --why, --events, "
        "--against, --budget and --parallel, which are of graphs\n");
  else
    return TRUE;
  return FALSE;
}

/* Replaces the plan by the one that is asked for, of those of two memories. FALSE: it was said why not */
static gboolean
choose_memory (const Options *options, IrMemPlan **plan)
{
  const gboolean lists = options->why != NULL || options->events || options->csv ||
                         options->against != NULL || options->at_peak;
  const gboolean device = options->of != NULL ? strcmp (options->of, "device") == 0 : lists;
  IrMemPlan *there = (*plan)->there;

  if (options->of != NULL && !device && strcmp (options->of, "host") != 0)
    cli_printerr ("irscope memory --of %s: needs device or host\n", options->of);
  else if (options->of != NULL && there == NULL)
    cli_printerr (
        "irscope memory --of %s: all values are in the memory of the host; use a --device that "
        "has its own\n",
        options->of);
  else if (there != NULL && options->plan.budget != NULL)
    cli_printerr (
        "irscope memory --budget: tells of a plan in the memory of the host alone; leave it "
        "out, or --device\n");
  else
    {
      if (there != NULL && device)
        {
          ir_mem_plan_ref (there);
          ir_mem_plan_unref (*plan);
          *plan = there;
        }
      return TRUE;
    }
  return FALSE;
}

static IrMemOptions
place_options (Cli *cli)
{
  const Options *options = cli->options;
  IrMemOptions place = { .align_bytes = IR_ALIGN_BYTES,
                         .max_steps = IR_MEM_DEFAULT_STEPS,
                         .cancellable = cli->cancellable };

  place.capacity = (guint64) MAX (options->capacity, 0);
  place.seed = (guint) options->seed;
  if (options->time_limit > 0)
    {
      place.max_steps = G_MAXUINT64;
      place.time_limit_ms = (guint) MIN (options->time_limit, 1000000) * 1000;
    }
  return place;
}

/* A plan, with what it is of. */
typedef struct
{
  CliModel opened;
  IrModel *model;
  IrSchedule *schedule;
  IrMemPlan *plan;
} Made;

static void
made_clear (Made *made)
{
  g_clear_pointer (&made->plan, ir_mem_plan_unref);
  g_clear_pointer (&made->schedule, ir_schedule_unref);
  g_clear_pointer (&made->model, ir_model_unref);
  cli_model_clear (&made->opened);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Made, made_clear)

/* FALSE: it was said why */
static gboolean
make_plan (Cli *cli, const char *file, const CliPlanChoice *choice, Made *made, CliStatus *status)
{
  Options *options = cli->options;
  const IrMemOptions place = place_options (cli);
  g_autoptr (GError) error = NULL;

  if (!cli_model_open (cli, &options->model, file, FALSE, &made->opened, status))
    return FALSE;
  made->schedule = cli_plan_schedule (cli, &options->model, choice, made->opened.model,
                                      &made->model, &error);
  if (made->schedule != NULL)
    made->plan = ir_mem_plan_new_full (made->model, made->schedule, choice->flags, &place);
  if (made->plan == NULL)
    {
      *status = made->schedule == NULL ? cli_fail (cli_status_of (error), error)
                                       : cli_cancelled (cli);
      return FALSE;
    }
  *status = CLI_BAD;
  return choose_memory (options, &made->plan);
}

static CliStatus
run_lists (Cli *cli, const CliPlanChoice *choice, const Made *made)
{
  const Options *options = cli->options;
  g_auto (Made) other = { 0 };
  g_autofree char *file = NULL;
  CliStatus status;
  cJSON *json;

  if (options->against != NULL)
    file = options->against[0] == '@' ? g_strconcat (made->opened.path, options->against, NULL)
                                      : g_strdup (options->against);
  if (file != NULL && !make_plan (cli, file, choice, &other, &status))
    return status;
  json = cli->json ? plan_json (cli, made->model, made->plan) : NULL;
  if (file != NULL)
    cli_memory_against (cli, options->against, other.model, other.plan, made->model, made->plan,
                        json);
  else
    cli_memory_events (cli, made->model, made->plan, json);
  if (json != NULL)
    cli_json_print_long (cli, json);
  return CLI_OK;
}

static void
print_at_peak (const Made *made)
{
  g_autofree char *text = ir_mem_plan_peak_text (made->plan, made->model, G_MAXUINT);
  g_auto (GStrv) lines = g_strsplit (g_strchomp (text), "\n", -1);

  for (guint i = 0; lines[i] != NULL; i++)
    cli_print ("%s\n", lines[i]);
}

static CliStatus
run (Cli *cli)
{
  Options *options = cli->options;
  g_auto (Made) made = { 0 };
  CliPlanChoice choice;
  g_autoptr (GError) error = NULL;
  CliStatus status;

  gboolean of_graph = !g_str_has_suffix (cli->args[0], ".csv");
  if (!check_options (options, of_graph))
    return CLI_BAD;
  if (!of_graph)
    return run_instance (cli);
  if (!cli_plan_choice (&options->plan, &choice, &error))
    return cli_fail (CLI_BAD, error);
  if (!make_plan (cli, cli->args[0], &choice, &made, &status))
    return status;
  if (options->why != NULL)
    return print_why (cli, made.model, made.plan, options->why);
  if (options->events || options->against != NULL)
    return run_lists (cli, &choice, &made);
  if (options->plan.budget != NULL)
    return run_budget (cli, &choice, made.model, made.schedule, made.plan);
  if (options->at_peak && !cli->json)
    {
      print_at_peak (&made);
      return CLI_OK;
    }
  (cli->json ? print_json : options->csv ? print_csv : print_text) (cli, made.model, made.plan);
  return options->capacity == 0 || made.plan->peak_bytes <= (guint64) options->capacity ? CLI_OK
                                                                                        : CLI_NO;
}

const CliCommand cli_command_memory = {
  .name = "memory",
  .arguments = "FILE",
  .takes_model = TRUE,
  .summary = "Where each value lies in memory and when, beside the lower bound",
  .doc =
      "Values between nodes lie in one block, the arena; the peak is its size, the highest edge of\n"
      "a value. The lower bound is the most that lives at one step, so that no placement needs\n"
      "less; without reuse the arena would be the total of all sizes.\n"
      "Graph inputs, graph outputs and constants lie outside the arena and are not listed.\n"
      "A FILE that ends in .csv is a list of buffers with the columns id, lower, upper and\n"
      "size; each lives from lower to before upper. With --capacity the exit status is 1 if\n"
      "no placement was found that fits. With --budget values are dropped and their nodes run\n"
      "again, at the price of more FLOPs; the exit status is 1 if the budget cannot be held.\n"
      "The plan is the one that 'irscope run' with the same options follows.",
  .min_args = 1,
  .max_args = 1,
  .options = command_options,
  .model_options = cli_run_options,
  .options_size = sizeof (Options),
  .run = run,
};
