/* irscope schedule: which node runs when and where, by the cost model or by measured times. */
#include "config.h"

#include "app/cli/commands.h"
#include "app/cli/output.h"
#include "app/cli/plans.h"
#include "app/cli/rates.h"
#include "app/cli/timeline.h"
#include "app/cli/token-rounds.h"
#include "core/io/io.h"
#include "core/exec/schedule/tasks.h"
#include "core/op/infer.h"

#include <stdio.h>

typedef struct
{
  CliModelOptions model;
  char *policy, *costs, *wide_costs, *parallel;
  gint workers, max_group, max_groups;
  gboolean run;
  CliTimelineOptions timeline;
} Options;

static const CliOption command_options[] = {
  { "policy", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, policy),
    "How nodes are placed: file (the default), list, memory or ios", "NAME" },
  { "workers", 0, G_OPTION_ARG_INT, G_STRUCT_OFFSET (Options, workers),
    "Workers that run nodes concurrently (as many as threads)", "N" },
  { "costs", 0, G_OPTION_ARG_FILENAME, G_STRUCT_OFFSET (Options, costs),
    "Take times from a Chrome trace that 'irscope run --trace' wrote; with --roofline, also what share "
    "of it nodes got, in JSON",
    "FILE" },
  { "wide-costs", 0, G_OPTION_ARG_FILENAME, G_STRUCT_OFFSET (Options, wide_costs),
    "With ios: times on all threads, likewise; each stage is then concurrent nodes, with the "
    "times of --costs on one thread, or one at a time, whichever takes less",
    "FILE" },
  { "parallel", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, parallel),
    "The schedule of a run with this option: off, on, or auto, which runs FILE until it is decided",
    "off,on,auto" },
  { "max-group", 0, G_OPTION_ARG_INT, G_STRUCT_OFFSET (Options, max_group),
    "With ios: nodes in a group of a stage at most", "N" },
  { "max-groups", 0, G_OPTION_ARG_INT, G_STRUCT_OFFSET (Options, max_groups),
    "With ios: groups in a stage at most", "N" },
  { "run", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (Options, run),
    "Run it, and say which node ran when: what it began behind, why its worker stood idle before it, and the "
    "critical path",
    NULL },
  { "from", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, timeline.from),
    "Say what lies in a range of time, and by which operators: begins here", "MS" },
  { "to", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, timeline.to), "Likewise: ends here",
    "MS" },
  { "node", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, timeline.node),
    "Likewise: of this node alone (name or #id)", "NODE" },
  { NULL },
};

/* All that is printed. */
typedef struct
{
  const IrModel *model;
  const IrSchedule *schedule;
  const IrScheduleDetails *details;
  const IrScheduleReport *report;
  const IrStreams *streams;
  const IrPlaces *places;        /* (nullable) without a device */
  const IrNodeCosts *costs;      /* (nullable) */
  const IrNodeCosts *wide_costs; /* (nullable) */
  const char *policy;
  IrParallelMode parallel;
} Answer;

static const char *const stage_names[] = {
  [IR_STAGE_CONCURRENT] = "concurrent",
  [IR_STAGE_MERGED] = "merged",
  [IR_STAGE_LIST] = "list",
  [IR_STAGE_WIDE] = "wide",
};

static const IrScheduleItem *
item_of (const Answer *answer, guint i)
{
  return &g_array_index (answer->schedule->items, IrScheduleItem, i);
}

static double
measured_ms (const Answer *answer, const IrScheduleItem *item)
{
  return answer->costs != NULL && item->node < answer->costs->n ? answer->costs->ms[item->node]
                                                                : -1;
}

/* What the trace of the costs says of the machine. (nullable) */
static const IrRoofline *
peaks_of (const Answer *answer)
{
  return answer->costs != NULL && answer->costs->peaks.gflops > 0 ? &answer->costs->peaks : NULL;
}

static CliRates
rates_of (const Answer *answer, const IrScheduleItem *item)
{
  const IrNode *node = ir_model_node (answer->model, item->node);
  gboolean partial = FALSE;

  return (CliRates){ .bytes = ir_cost_node_bytes (node, &partial),
                     .flops = ir_cost_node_flops (node, &partial),
                     .ns = measured_ms (answer, item) * 1e6 };
}

/* -- JSON -- */

static guint
device_stream (const Answer *answer, guint i)
{
  return answer->places != NULL ? answer->places->streams->stream[i] : IR_STREAM_NONE;
}

static const char *
copy_name (const IrScheduleCopy *copy)
{
  return copy->to_host ? "CopyToHost" : "CopyToDevice";
}

static void
add_widths (cJSON *json, const Answer *answer)
{
  cJSON *array = cJSON_AddArrayToObject (json, "widths");

  for (guint i = 0; i < answer->report->widths->len; i++)
    {
      const IrWidth *width = &g_array_index (answer->report->widths, IrWidth, i);
      cJSON *object = cJSON_CreateObject ();
      cJSON_AddNumberToObject (object, "from_ms", width->from_ms);
      cJSON_AddNumberToObject (object, "n", width->n);
      cJSON_AddItemToArray (array, object);
    }
}

/* What was compared: all of the graph one node at a time, and the stages that were faster. */
static double
one_at_a_time_ms (const Answer *answer)
{
  const IrTasks *tasks = answer->details->tasks;
  double ms = 0;

  for (guint i = 0; i < tasks->n; i++)
    ms += tasks->wide_ms[i];
  return ms;
}

static void
add_spans (cJSON *json, const Answer *answer)
{
  const GArray *spans = answer->schedule->spans;
  cJSON *array = cJSON_AddArrayToObject (json, "beside");

  for (guint i = 0; spans != NULL && i < spans->len; i++)
    {
      const IrScheduleSpan *span = &g_array_index (spans, IrScheduleSpan, i);
      cJSON *object = cJSON_CreateObject ();
      cJSON_AddNumberToObject (object, "first", span->first);
      cJSON_AddNumberToObject (object, "last", span->last);
      cJSON_AddNumberToObject (object, "beside_ms", span->together_ms);
      cJSON_AddNumberToObject (object, "one_at_a_time_ms", span->apart_ms);
      cJSON_AddItemToArray (array, object);
    }
}

static void
add_compared (cJSON *json, const Answer *answer)
{
  cJSON *compared = cJSON_AddObjectToObject (json, "compared");

  cJSON_AddNumberToObject (compared, "one_at_a_time_ms", one_at_a_time_ms (answer));
  cJSON_AddNumberToObject (compared, "measured_ms", answer->wide_costs->span_ms);
  add_spans (compared, answer);
}

static void
add_stages (cJSON *json, const IrStages *stages)
{
  cJSON *search = cJSON_AddObjectToObject (json, "search");
  cJSON *array = cJSON_AddArrayToObject (json, "stages");

  cJSON_AddNumberToObject (search, "blocks", stages->n_blocks);
  cJSON_AddNumberToObject (search, "contracted", stages->n_contracted);
  cJSON_AddNumberToObject (search, "pruned", stages->n_pruned);
  cJSON_AddNumberToObject (search, "listed", stages->n_listed);
  cli_json_add_uint (search, "endings", stages->n_steps);
  for (guint i = 0; i < stages->stages->len; i++)
    {
      const IrStage *stage = &g_array_index (stages->stages, IrStage, i);
      cJSON *object = cJSON_CreateObject ();
      cJSON_AddStringToObject (object, "kind", stage_names[stage->kind]);
      cJSON_AddNumberToObject (object, "nodes", stage->n_tasks);
      cJSON_AddNumberToObject (object, "groups", stage->n_groups);
      cJSON_AddNumberToObject (object, "start_ms", stage->start_ms);
      cJSON_AddNumberToObject (object, "end_ms", stage->end_ms);
      cJSON_AddItemToArray (array, object);
    }
}

static void
add_streams (cJSON *json, const Answer *answer)
{
  cJSON *streams = cJSON_AddObjectToObject (json, "streams");
  cJSON_AddNumberToObject (streams, "n", answer->streams->n_streams);
  cJSON_AddNumberToObject (streams, "events", answer->streams->n_events);
  cJSON *array = cJSON_AddArrayToObject (streams, "waits");

  for (guint i = 0; i < answer->streams->waits->len; i++)
    {
      const IrTaskEdge *wait = &g_array_index (answer->streams->waits, IrTaskEdge, i);
      cJSON *object = cJSON_CreateObject ();
      cJSON_AddNumberToObject (object, "from", wait->from);
      cJSON_AddNumberToObject (object, "to", wait->to);
      cJSON_AddItemToArray (array, object);
    }
}

/* Those of the device: events that streams wait for, by places in items. */
static void
add_device_streams (cJSON *json, const IrDeviceStreams *streams, guint n_steps)
{
  cJSON *object = cJSON_AddObjectToObject (json, "device_streams");
  cJSON *array = cJSON_AddArrayToObject (object, "waits");
  g_autofree guint *recorded = g_new0 (guint, (gsize) streams->n_events + 1);

  cJSON_AddNumberToObject (object, "n", streams->n_streams);
  cJSON_AddNumberToObject (object, "events", streams->n_events);
  for (guint k = 0; k < n_steps; k++)
    if (streams->event[k] != IR_STREAM_NONE)
      recorded[streams->event[k]] = k;
  for (guint k = 0; k < n_steps; k++)
    for (guint i = streams->wait_first[k]; i < streams->wait_first[k + 1]; i++)
      {
        cJSON *wait = cJSON_CreateObject ();
        cJSON_AddNumberToObject (wait, "from", recorded[streams->waits[i]]);
        cJSON_AddNumberToObject (wait, "to", k);
        cJSON_AddItemToArray (array, wait);
      }
}

static void
add_costs (cJSON *json, const IrNodeCosts *costs)
{
  cJSON *measured = cJSON_AddObjectToObject (json, "measured");

  cJSON_AddNumberToObject (measured, "nodes", costs->n_nodes);
  cJSON_AddNumberToObject (measured, "unknown", costs->n_unknown);
  cJSON_AddNumberToObject (measured, "workers", costs->n_workers);
  cJSON_AddNumberToObject (measured, "span_ms", costs->span_ms);
}

static cJSON *
item_to_json (const Answer *answer, guint i)
{
  const IrScheduleItem *item = item_of (answer, i);
  const IrNode *node = ir_model_node (answer->model, item->node);
  const CliRates rates = rates_of (answer, item);
  double measured = measured_ms (answer, item);
  cJSON *object = cJSON_CreateObject ();

  cJSON_AddStringToObject (object, "node", node->name);
  cJSON_AddStringToObject (object, "op", node->op_type);
  cJSON_AddNumberToObject (object, "worker", item->worker);
  cJSON_AddNumberToObject (object, "stream", answer->streams->stream[i]);
  if (device_stream (answer, i) != IR_STREAM_NONE)
    cJSON_AddNumberToObject (object, "device_stream", device_stream (answer, i));
  if (answer->details->stages != NULL)
    cJSON_AddNumberToObject (object, "stage", answer->details->places[i].stage);
  cJSON_AddNumberToObject (object, "start_ms", item->start_ms);
  cJSON_AddNumberToObject (object, "end_ms", item->end_ms);
  cJSON_AddNumberToObject (object, "predicted_ms", answer->details->predicted_ms[i]);
  if (measured >= 0)
    cJSON_AddNumberToObject (object, "measured_ms", measured);
  cli_json_add_rates (object, &rates, peaks_of (answer));
  cJSON_AddStringToObject (object, "device", item->device);
  cJSON_AddStringToObject (object, "kernel", item->kernel);
  if (item->why != NULL)
    cJSON_AddStringToObject (object, "why", item->why);
  if (item->choice != NULL)
    cJSON_AddStringToObject (object, "choice", item->choice);
  if (item->layout != NULL)
    cJSON_AddStringToObject (object, "layout", item->layout);
  if (item->candidates != NULL)
    cJSON_AddStringToObject (object, "candidates", item->candidates);
  return object;
}

/* Copies between two memories, in their order. */
static void
add_copies (cJSON *json, const Answer *answer)
{
  const IrPlaces *places = answer->places;
  cJSON *array = places != NULL ? cJSON_AddArrayToObject (json, "copies") : NULL;

  for (guint i = 0; places != NULL && i < places->copies->len; i++)
    {
      const IrScheduleCopy *copy = &g_array_index (places->copies, IrScheduleCopy, i);
      const IrNode *producer = ir_model_node (answer->model, copy->producer);
      const IrNode *reader = ir_model_node (answer->model, copy->reader);
      cJSON *object = cJSON_CreateObject ();
      cJSON_AddStringToObject (object, "copy", copy_name (copy));
      cJSON_AddStringToObject (object, "value", ir_model_value (answer->model, copy->value)->name);
      cJSON_AddNumberToObject (object, "step", copy->step);
      cJSON_AddBoolToObject (object, "behind", copy->behind);
      cJSON_AddBoolToObject (object, "once", copy->once);
      cli_json_add_uint (object, "bytes", copy->bytes);
      cJSON_AddNumberToObject (object, "predicted_ms", copy->ms);
      cJSON_AddNumberToObject (object, "stream", copy->stream);
      cJSON_AddBoolToObject (object, "late", copy->late);
      if (copy->to_host && !copy->late)
        cJSON_AddStringToObject (object, "host_waits", ir_schedule_copy_why (copy, answer->model));
      if (producer != NULL)
        cJSON_AddStringToObject (object, "producer", producer->name);
      if (reader != NULL)
        cJSON_AddStringToObject (object, "reader", reader->name);
      cJSON_AddItemToArray (array, object);
    }
}

static cJSON *
answer_json (Cli *cli, const Answer *answer)
{
  cJSON *json = cJSON_CreateObject (), *array;
  const IrScheduleReport *report = answer->report;

  cJSON_AddStringToObject (json, "policy", answer->policy);
  cJSON_AddNumberToObject (json, "makespan_ms", answer->schedule->makespan_ms);
  cJSON_AddNumberToObject (json, "critical_path_ms", answer->schedule->critical_path_ms);
  cJSON_AddNumberToObject (json, "work_ms", answer->schedule->work_ms);
  cJSON_AddNumberToObject (json, "bound_ms", report->bound_ms);
  cJSON_AddNumberToObject (json, "workers", answer->schedule->n_workers);
  cJSON_AddNumberToObject (json, "utilization", report->utilization);
  cJSON_AddNumberToObject (json, "parallelism", report->parallelism);
  cJSON_AddNumberToObject (json, "max_width", report->max_width);
  if (answer->costs != NULL)
    add_costs (json, answer->costs);
  if (peaks_of (answer) != NULL)
    cli_json_add_peaks (json, "roofline", peaks_of (answer));
  if (answer->details->stages != NULL)
    add_stages (json, answer->details->stages);
  if (answer->wide_costs != NULL)
    add_compared (json, answer);
  cJSON_AddStringToObject (json, "parallel", ir_parallel_mode_name (answer->parallel));
  if (answer->parallel != IR_PARALLEL_OFF)
    add_spans (json, answer);
  array = cJSON_AddArrayToObject (json, "items");
  for (guint i = 0; i < answer->schedule->items->len && !cli_cut (cli); i++)
    cJSON_AddItemToArray (array, item_to_json (answer, i));
  cli_token_rounds_json (json, answer->model);
  add_copies (json, answer);
  add_widths (json, answer);
  add_streams (json, answer);
  if (answer->places != NULL)
    add_device_streams (json, answer->places->streams, answer->schedule->items->len);
  return json;
}

/* -- text -- */

static void
print_copies (const Answer *answer)
{
  const GArray *copies = answer->places->copies;

  for (guint i = 0; i < copies->len; i++)
    {
      const IrScheduleCopy *copy = &g_array_index (copies, IrScheduleCopy, i);
      const IrNode *node = ir_model_node (answer->model,
                                          copy->behind ? copy->producer : copy->reader);
      g_autofree char *label = node != NULL ? ir_node_label (node) : g_strdup ("the end");
      g_autofree char *bytes = cli_format_bytes (copy->bytes);
      cli_print ("%s %s, %s: %s %s, %.4f ms (predicted)%s%s\n", copy_name (copy),
                 ir_model_value (answer->model, copy->value)->name, bytes,
                 copy->behind ? "behind" : "before", label, copy->ms,
                 copy->once      ? ", once for all runs"
                 : copy->late    ? "; while the device goes on: "
                 : copy->to_host ? "; the host waits: "
                                 : "",
                 copy->to_host && !copy->once ? ir_schedule_copy_why (copy, answer->model) : "");
    }
}

/* What a run asks of the device besides its kernels. */
static void
print_device (const Answer *answer)
{
  guint n = 0, n_waits = 0;
  double ms = 0;

  for (guint i = 0; i < answer->places->copies->len; i++)
    {
      const IrScheduleCopy *copy = &g_array_index (answer->places->copies, IrScheduleCopy, i);
      n += !copy->once;
      n_waits += !copy->once && copy->to_host && !copy->late;
      ms += copy->once ? 0 : copy->ms;
    }
  cli_print (
      "device: %u streams, %u events; %u copies in a run, for %u of them the host waits to read, "
      "%.4f ms (predicted)\n",
      answer->places->streams->n_streams, answer->places->streams->n_events, n, n_waits, ms);
}

static void
print_summary (const Answer *answer)
{
  const IrScheduleReport *report = answer->report;
  const IrStages *stages = answer->details->stages;

  cli_print ("makespan %.4f ms on %u workers; critical path %.4f ms, work %.4f ms (%s)\n",
             answer->schedule->makespan_ms, answer->schedule->n_workers,
             answer->schedule->critical_path_ms, answer->schedule->work_ms,
             answer->costs != NULL ? "measured" : "predicted");
  cli_print ("policy %s: %.3f of the lower bound, utilization %.0f %%, at most %u at once, %.2f on "
             "average if workers never lacked\n",
             answer->policy,
             report->bound_ms > 0 ? answer->schedule->makespan_ms / report->bound_ms : 1,
             100 * report->utilization, report->max_width, report->parallelism);
  if (answer->costs != NULL)
    cli_print (
        "trace: %u nodes measured, %u events of nodes that are not here, %.4f ms from first to "
        "last on %u threads\n",
        answer->costs->n_nodes, answer->costs->n_unknown, answer->costs->span_ms,
        answer->costs->n_workers);
  if (stages != NULL)
    cli_print (
        "%u stages in %u blocks; chains taken as one in %u, groups bounded in %u, too wide to "
        "search %u\n",
        stages->stages->len, stages->n_blocks, stages->n_contracted, stages->n_pruned,
        stages->n_listed);
}

static void
print_compared (const Answer *answer)
{
  double wide_ms = one_at_a_time_ms (answer);

  cli_print ("one at a time on all threads %.4f ms, %.4f ms in the trace; concurrent nodes in %u "
             "stages save %.4f ms\n",
             wide_ms, answer->wide_costs->span_ms, answer->schedule->spans->len,
             wide_ms - answer->schedule->makespan_ms);
}

static void
print_spans (const Answer *answer)
{
  const GArray *spans = answer->schedule->spans;

  for (guint i = 0; spans != NULL && i < spans->len; i++)
    {
      const IrScheduleSpan *span = &g_array_index (spans, IrScheduleSpan, i);
      g_autofree char *from = ir_node_label (
          ir_model_node (answer->model, item_of (answer, span->first)->node));
      g_autofree char *to = ir_node_label (
          ir_model_node (answer->model, item_of (answer, span->last)->node));
      cli_print ("  %s to %s: %u concurrent nodes %.4f ms, one at a time %.4f ms\n", from, to,
                 span->last + 1 - span->first, span->together_ms, span->apart_ms);
    }
}

static void
print_item (const Answer *answer, guint i)
{
  const IrScheduleItem *item = item_of (answer, i);
  g_autofree char *label = ir_node_label (ir_model_node (answer->model, item->node));
  const char *note = item->why != NULL ? item->why : item->layout;
  /* Where nothing else is to say of the layout, it is the choice. */
  const char *choice = item->choice != item->layout ? item->choice : NULL;
  double measured = measured_ms (answer, item);

  cli_print ("%10.4f %10.4f  %u  ", item->start_ms, item->end_ms, item->worker);
  if (answer->costs != NULL)
    {
      g_autofree char *text = measured >= 0 ? g_strdup_printf ("%.4f", measured) : g_strdup ("-");
      cli_print ("%10s %10.4f  ", text, answer->details->predicted_ms[i]);
    }
  if (answer->places != NULL && answer->places->streams->n_streams > 1)
    {
      guint stream = device_stream (answer, i);
      g_autofree char *text = stream != IR_STREAM_NONE ? g_strdup_printf ("%u", stream)
                                                       : g_strdup ("-");
      cli_print ("%s  ", text);
    }
  cli_print (
      "%-28s %s%s%s%s%s%s%s%s\n", item->kernel, label, note != NULL || choice != NULL ? "  # " : "",
      note != NULL ? note : "", note != NULL && choice != NULL ? "; " : "",
      choice != NULL ? choice : "", item->candidates != NULL ? "  [of " : "",
      item->candidates != NULL ? item->candidates : "", item->candidates != NULL ? ", ref]" : "");
}

static void
print_text (Cli *cli, const Answer *answer)
{
  print_summary (answer);
  if (answer->wide_costs != NULL)
    print_compared (answer);
  if (answer->parallel == IR_PARALLEL_AUTO)
    cli_print ("decided by runs of the model: concurrent nodes in %u stages\n",
               answer->schedule->spans != NULL ? answer->schedule->spans->len : 0);
  print_spans (answer);
  if (answer->places != NULL)
    {
      print_device (answer);
      print_copies (answer);
    }
  if (answer->costs != NULL)
    cli_print ("     start        end       measured  predicted  (ms)\n");
  for (guint i = 0; i < answer->schedule->items->len && !cli_cut (cli); i++)
    print_item (answer, i);
  cli_token_rounds_print (answer->model);
}

/* -- making it -- */

static gboolean
read_parallel (const Options *options, IrScheduleOptions *plan, IrParallelMode *mode)
{
  g_autoptr (GError) error = NULL;

  if (options->parallel == NULL && !options->run)
    return TRUE;
  if (options->parallel != NULL && !cli_parallel (options->parallel, mode, &error))
    {
      cli_printerr ("irscope schedule: %s\n", error->message);
      return FALSE;
    }
  if (options->policy != NULL || options->costs != NULL || options->wide_costs != NULL ||
      options->workers != 0 || options->max_group != 0 || options->max_groups != 0)
    {
      cli_printerr ("irscope schedule: %s is the schedule of a run, which takes none of "
                    "--policy, --workers, --costs, --wide-costs, --max-group and --max-groups\n",
                    options->run ? "--run" : "--parallel");
      return FALSE;
    }
  *plan = ir_schedule_run_options (cli_n_workers (&options->model), *mode);
  return TRUE;
}

static gboolean
read_options (const Cli *cli, IrScheduleOptions *plan, IrParallelMode *mode)
{
  const Options *options = cli->options;

  plan->policy = IR_SCHEDULE_FILE;
  if (options->policy != NULL && !ir_schedule_policy_find (options->policy, &plan->policy))
    {
      cli_printerr (
          "irscope schedule: found the policy “%s”, needed is file, list, memory or ios\n",
          options->policy);
      return FALSE;
    }
  if (options->workers < 0 || options->workers > 4096 || options->max_group < 0 ||
      options->max_groups < 0)
    {
      cli_printerr ("irscope schedule: needed are 1 to 4096 workers, and groups of 1 or more\n");
      return FALSE;
    }
  if ((options->wide_costs != NULL || options->max_group > 0 || options->max_groups > 0) &&
      plan->policy != IR_SCHEDULE_IOS)
    {
      cli_printerr ("irscope schedule: %s needs --policy ios, which has stages of groups\n",
                    options->wide_costs != NULL ? "--wide-costs"
                    : options->max_group > 0    ? "--max-group"
                                                : "--max-groups");
      return FALSE;
    }
  plan->compare = options->wide_costs != NULL;
  plan->stages.n_workers = options->workers > 0 ? (guint) options->workers
                                                : cli_n_workers (&options->model);
  plan->stages.max_group = (guint) options->max_group;
  plan->stages.max_groups = (guint) options->max_groups;
  return read_parallel (options, plan, mode);
}

static IrNodeCosts *
read_costs (const char *file, const IrModel *model, GError **error)
{
  gsize length;
  g_autofree char *text = ir_file_read_settings (file, &length, error);

  if (text == NULL)
    return NULL;
  IrNodeCosts *costs = ir_node_costs_parse (model, text, length, error);
  if (costs == NULL)
    g_prefix_error (error, "%s: ", file);
  return costs;
}

/* Of what a command is asked for. */
typedef struct
{
  IrModel *model;
  IrSchedule *schedule;
  IrScheduleDetails *details;
  IrNodeCosts *costs, *wide_costs; /* (nullable) */
  IrTimeline *timeline;            /* (nullable) */
  IrRun *run;                      /* (nullable) */
} Made;

static void
made_clear (Made *made)
{
  g_clear_pointer (&made->timeline, ir_timeline_free);
  g_clear_pointer (&made->wide_costs, ir_node_costs_free);
  g_clear_pointer (&made->costs, ir_node_costs_free);
  g_clear_pointer (&made->details, ir_schedule_details_free);
  g_clear_pointer (&made->schedule, ir_schedule_unref);
  g_clear_pointer (&made->run, ir_run_unref);
  g_clear_pointer (&made->model, ir_model_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Made, made_clear)

/* What a run follows, and for --run what it measured. */
static gboolean
make_by_run (Cli *cli, IrModel *model, IrParallelMode mode, Made *made, GError **error)
{
  Options *options = cli->options;

  if (options->run)
    made->run = cli_timed_run (cli, &options->model, model, mode, error);
  if (!options->run)
    made->schedule = cli_run_schedule (cli, &options->model, model, mode, &made->model,
                                       &made->details, error);
  else if (made->run != NULL)
    {
      made->model = ir_model_ref (made->run->model);
      made->schedule = ir_schedule_ref (made->run->schedule);
      made->details = ir_schedule_details_new (made->schedule, made->model);
      made->timeline = ir_timeline_new_measured (made->run->trace, made->schedule, made->model);
    }
  return made->schedule != NULL;
}

static gboolean
read_all_costs (const Options *options, IrScheduleOptions *plan, Made *made, GError **error)
{
  if (options->costs != NULL)
    plan->costs = made->costs = read_costs (options->costs, made->model, error);
  if (options->wide_costs != NULL && (options->costs == NULL || made->costs != NULL))
    plan->wide_costs = made->wide_costs = read_costs (options->wide_costs, made->model, error);
  return (options->costs == NULL || made->costs != NULL) &&
         (options->wide_costs == NULL || made->wide_costs != NULL);
}

static CliStatus
print (Cli *cli, const IrScheduleOptions *plan, IrParallelMode mode, const Made *made)
{
  const Options *options = cli->options;
  g_autoptr (IrScheduleReport) report = ir_tasks_report (
      made->details->tasks, made->schedule->n_workers, made->details->places);
  g_autoptr (IrPlaces) places = ir_places_new (made->schedule, made->model, NULL);
  g_autoptr (IrStreams) streams = ir_tasks_streams (made->details->tasks, cli->cancellable);
  g_autoptr (GError) error = NULL;
  cJSON *json = NULL;

  if (streams == NULL)
    return cli_cancelled (cli);
  const Answer answer = { .model = made->model,
                          .schedule = made->schedule,
                          .details = made->details,
                          .report = report,
                          .streams = streams,
                          .places = places,
                          .costs = made->costs,
                          .wide_costs = made->wide_costs,
                          .policy = ir_schedule_policy_name (plan->policy),
                          .parallel = mode };
  if (cli->json)
    json = answer_json (cli, &answer);
  if (made->timeline != NULL &&
      !cli_timeline_show (cli, &options->timeline, made->timeline, json, &error))
    {
      cJSON_Delete (json);
      return cli_fail (CLI_BAD, error);
    }
  if (json != NULL)
    cli_json_print_long (cli, json);
  else if (made->timeline == NULL)
    print_text (cli, &answer);
  return CLI_OK;
}

static CliStatus
run (Cli *cli)
{
  Options *options = cli->options;
  g_auto (CliModel) opened = { 0 };
  g_auto (Made) made = { 0 };
  g_autoptr (GError) error = NULL;
  IrScheduleOptions plan = { 0 };
  IrParallelMode mode = IR_PARALLEL_OFF;
  CliStatus status;

  if (!read_options (cli, &plan, &mode))
    return CLI_BAD;
  if (!cli_model_open (cli, &options->model, cli->args[0], FALSE, &opened, &status))
    return status;
  const IrBackend *backend = cli_backend (&options->model, &error);
  if (backend == NULL)
    return cli_fail (cli_status_of (error), error);
  if (mode == IR_PARALLEL_AUTO || options->run)
    make_by_run (cli, opened.model, mode, &made, &error);
  else
    {
      made.model = cli_sized_model (&options->model, opened.model, &error);
      if (made.model != NULL && !read_all_costs (options, &plan, &made, &error))
        return cli_fail (CLI_BAD, error);
      plan.stages.cancellable = cli->cancellable;
      if (made.model != NULL)
        made.schedule = ir_schedule_new_with (made.model, backend, &plan, &made.details, &error);
    }
  if (made.schedule == NULL)
    return cli_fail (cli_status_of (error), error);
  if (made.timeline == NULL && cli_timeline_wanted (&options->timeline))
    made.timeline = ir_timeline_new_predicted (made.schedule, made.model);
  return print (cli, &plan, mode, &made);
}

const CliCommand cli_command_schedule = {
  .name = "schedule",
  .arguments = "FILE",
  .takes_model = TRUE,
  .summary = "Which node runs when, where and with which kernel, by the cost model",
  .doc =
      "Times are predictions; 'irscope run --trace' measures, and --costs takes what it wrote.\n"
      "Policies: file keeps the order of the file; list lets a free worker take the node with\n"
      "the longest path behind it; memory keeps few bytes living at once; ios finds stages of\n"
      "groups that run concurrently, or as one kernel; with --wide-costs, where that takes\n"
      "less than one node at a time on all threads: 'irscope run --parallel' runs such stages. With\n"
      "--json, the streams of a device with the fewest waits between them, by places in items.\n"
      "--run, --from, --to and --node look at one axis of time: the critical path is the longest chain\n"
      "of nodes that wait for each other, and time for which a worker stands idle is explained.",
  .min_args = 1,
  .max_args = 1,
  .options = command_options,
  .model_options = cli_run_options,
  .options_size = sizeof (Options),
  .run = run,
};
