/* irscope play: the events of a run's control flow. */
#include "config.h"

#include "app/cli/commands.h"
#include "app/cli/model.h"
#include "app/cli/output.h"
#include "app/cli/run-control.h"
#include "core/exec/lower/lower.h"
#include "core/exec/run/flow-log.h"
#include "core/exec/run/iteration-name.h"
#include "core/io/io.h"

#include <string.h>

#define SHOWN      1000 /* events, where nothing else is asked for */
#define SHOWN_LAST 20   /* before a stop, likewise */

typedef struct
{
  CliModelOptions model;
  char *loop, *iteration, *events;
  char **breaks;
  gboolean summary;
  IrIterationName *place; /* no option: what --loop names */
} Options;

static const CliOption play_options[] = {
  { "loop", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, loop),
    "Only events of this frame, or of the body of this node; OUTER@1/INNER: in this iteration of the loop around",
    "NAME" },
  { "iteration", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, iteration),
    "Only events of this iteration of the innermost loop, from 0", "N" },
  { "events", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, events),
    "Those with these numbers, B not included (default 0:1000)", "A:B" },
  { "break", 0, G_OPTION_ARG_STRING_ARRAY, G_STRUCT_OFFSET (Options, breaks),
    "Stop where this holds, and show the last events before: 'iteration>=3 frame:LOOP', nan, 'max>6 op:mul'; of "
    "several, where one holds; exit status 1: it was so",
    "COND" },
  { "summary", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (Options, summary),
    "Only how often nodes fired or were dead, and the iterations of each frame", NULL },
  { NULL },
};

/* -- what is asked for -- */

static gboolean
parse_number (const char *option, const char *text, gint64 *number, GError **error)
{
  if (text == NULL || g_ascii_string_to_signed (text, 10, 0, G_MAXINT64, number, NULL))
    return TRUE;
  g_set_error (error, CLI_ERROR, 0, "%s %s: needs a number from 0", option, text);
  return FALSE;
}

static gboolean
parse_filter (const Options *options, IrFlowFilter *filter, GError **error)
{
  gint64 from = 0, to = SHOWN, iteration = -1;
  g_auto (GStrv) ends = options->events != NULL ? g_strsplit (options->events, ":", 2) : NULL;

  if (options->summary &&
      (options->events != NULL || options->loop != NULL || options->iteration != NULL))
    {
      g_set_error (
          error, CLI_ERROR, 0,
          "--summary counts the whole run; leave it out to see single events, or leave out %s",
          options->events != NULL ? "--events"
          : options->loop != NULL ? "--loop"
                                  : "--iteration");
      return FALSE;
    }
  if (options->events != NULL && (ends[0] == NULL || ends[1] == NULL))
    {
      g_set_error (error, CLI_ERROR, 0, "--events %s: needs two numbers, as in 0:100",
                   options->events);
      return FALSE;
    }
  if (!parse_number ("--iteration", options->iteration, &iteration, error) ||
      !parse_number ("--events", ends != NULL ? ends[0] : NULL, &from, error) ||
      !parse_number ("--events", ends != NULL ? ends[1] : NULL, &to, error))
    return FALSE;
  if (to <= from)
    {
      g_set_error (error, CLI_ERROR, 0,
                   "--events %s: the first number has to be the smaller one, as in 0:100",
                   options->events);
      return FALSE;
    }
  if (options->events == NULL && (options->loop != NULL || iteration >= 0))
    to = G_MAXINT64;
  *filter = (IrFlowFilter){ (guint64) from, (guint64) to, options->loop, iteration, 0 };
  if (options->breaks != NULL && options->events == NULL)
    {
      filter->to = G_MAXUINT64;
      filter->last = SHOWN_LAST;
    }
  if (options->summary)
    filter->to = 0;
  return TRUE;
}

/* Loops in functions have names of their own in what runs. */
static gboolean
reads_loop (const Options *options, IrModel *model, const IrBackend *backend)
{
  if (ir_iteration_name_parse_loop (model, options->loop, options->place, NULL))
    return TRUE;
  g_autoptr (IrModel) lowered = ir_exec_lower (model, backend, NULL);
  return lowered != NULL &&
         ir_iteration_name_parse_loop (lowered, options->loop, options->place, NULL);
}

static gboolean
find_loop (Options *options,
           IrModel *model,
           const IrBackend *backend,
           IrFlowFilter *filter,
           GError **error)
{
  if (options->loop == NULL || !reads_loop (options, model, backend))
    return TRUE;
  filter->loop = options->place->frame;
  if (options->place->iteration >= 0 && options->iteration != NULL)
    {
      g_set_error (error, CLI_ERROR, 0, "--iteration %s: --loop %s says which, too; leave one out",
                   options->iteration, options->loop);
      return FALSE;
    }
  if (options->place->iteration >= 0)
    filter->iteration = options->place->iteration;
  return TRUE;
}

/* A loop that was found may not have been entered in the iterations that were named. */
static gboolean
came_there (const Options *options, const IrFlowLog *log, GError **error)
{
  if ((options->loop == NULL && options->iteration == NULL) || options->events != NULL ||
      options->breaks != NULL || ir_flow_log_events (log)->len > 0)
    return TRUE;
  g_set_error (error, CLI_ERROR, 0,
               "--%s %s: the run did not come there; --summary says how many iterations "
               "each loop had",
               options->loop != NULL ? "loop" : "iteration",
               options->loop != NULL ? options->loop : options->iteration);
  return FALSE;
}

static gboolean
knows_loop (const Options *options, const IrFlowLog *log, GError **error)
{
  const GArray *frames = ir_flow_log_frames (log);
  g_autoptr (GString) names = g_string_new (NULL);

  for (guint i = 0; i < frames->len; i++)
    {
      const char *name = g_array_index (frames, IrFlowFrame, i).name;
      if (options->loop == NULL || options->place->frame != NULL ||
          strcmp (name, options->loop) == 0)
        return came_there (options, log, error);
      g_string_append_printf (names, "%s%s", i > 0 ? ", " : "", name);
    }
  if (options->loop == NULL)
    return came_there (options, log, error);
  g_set_error (
      error, CLI_ERROR, 0, "--loop %s: no frame of this name was entered; %s%s", options->loop,
      frames->len > 0 ? "those of this run are " : "there is none in this run", names->str);
  return FALSE;
}

/* -- as text -- */

static void
print_events (const IrFlowLog *log)
{
  const GArray *events = ir_flow_log_events (log);

  for (guint i = 0; i < events->len; i++)
    {
      const IrFlowEvent *event = &g_array_index (events, IrFlowEvent, i);
      g_autofree char *label = ir_node_label (ir_model_node (ir_flow_log_model (log), event->node));
      cli_print ("%8" G_GUINT64_FORMAT "  %-8s  %s", event->index, ir_flow_kind_name (event->kind),
                 label);
      if (*event->frame != '\0')
        cli_print ("  in iteration %" G_GINT64_FORMAT " of %s", event->iteration, event->frame);
      if (event->slot >= 0)
        cli_print ("  slot %d", event->slot);
      cli_print ("\n");
    }
}

static void
print_summary (const IrFlowLog *log)
{
  const IrModel *model = ir_flow_log_model (log);
  const GArray *frames = ir_flow_log_frames (log);

  cli_print ("%10s %10s  %s\n", "fired", "dead", "node");
  for (guint i = 1; model != NULL && i < model->nodes->len; i++)
    {
      const IrFlowCount *count = ir_flow_log_counts (log, i);
      if (count->fired + count->dead == 0)
        continue;
      g_autofree char *label = ir_node_label (ir_model_node (model, i));
      cli_print ("%10" G_GUINT64_FORMAT " %10" G_GUINT64_FORMAT "  %s\n", count->fired, count->dead,
                 label);
    }
  if (frames->len > 0)
    cli_print ("\n%10s %10s %10s  %s\n", "entered", "iterations", "in flight", "frame");
  for (guint i = 0; i < frames->len; i++)
    {
      const IrFlowFrame *frame = &g_array_index (frames, IrFlowFrame, i);
      cli_print ("%10" G_GUINT64_FORMAT " %10" G_GUINT64_FORMAT " %10u  %s\n", frame->n_entered,
                 frame->n_iterations, frame->most_in_flight, frame->name);
    }
}

static void
print_text (const Options *options, const IrFlowLog *log)
{
  const guint64 n = ir_flow_log_n_events (log), kept = ir_flow_log_events (log)->len;

  if (options->summary)
    {
      print_summary (log);
      return;
    }
  print_events (log);
  if (kept < n)
    cli_print ("%" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT " events; --events A:B shows others, "
               "--summary counts all\n",
               kept, n);
}

/* -- as JSON -- */

static void
add_events (cJSON *json, const IrFlowLog *log)
{
  const GArray *events = ir_flow_log_events (log);
  cJSON *array = cJSON_AddArrayToObject (json, "events");

  for (guint i = 0; i < events->len; i++)
    {
      const IrFlowEvent *event = &g_array_index (events, IrFlowEvent, i);
      g_autofree char *label = ir_node_label (ir_model_node (ir_flow_log_model (log), event->node));
      cJSON *object = cJSON_CreateObject ();
      cJSON_AddNumberToObject (object, "index", (double) event->index);
      cJSON_AddStringToObject (object, "kind", ir_flow_kind_name (event->kind));
      cJSON_AddStringToObject (object, "node", label);
      cJSON_AddStringToObject (object, "frame", event->frame);
      cJSON_AddNumberToObject (object, "iteration", (double) event->iteration);
      if (event->slot >= 0)
        cJSON_AddNumberToObject (object, "slot", event->slot);
      else
        cJSON_AddNullToObject (object, "slot");
      cJSON_AddItemToArray (array, object);
    }
}

static void
add_summary (cJSON *json, const IrFlowLog *log)
{
  const IrModel *model = ir_flow_log_model (log);
  const GArray *frames = ir_flow_log_frames (log);
  cJSON *array = cJSON_AddArrayToObject (json, "nodes");

  for (guint i = 1; model != NULL && i < model->nodes->len; i++)
    {
      const IrFlowCount *count = ir_flow_log_counts (log, i);
      if (count->fired + count->dead == 0)
        continue;
      g_autofree char *label = ir_node_label (ir_model_node (model, i));
      cJSON *object = cJSON_CreateObject ();
      cJSON_AddStringToObject (object, "node", label);
      cJSON_AddNumberToObject (object, "fired", (double) count->fired);
      cJSON_AddNumberToObject (object, "dead", (double) count->dead);
      cJSON_AddItemToArray (array, object);
    }
  array = cJSON_AddArrayToObject (json, "frames");
  for (guint i = 0; i < frames->len; i++)
    {
      const IrFlowFrame *frame = &g_array_index (frames, IrFlowFrame, i);
      cJSON *object = cJSON_CreateObject ();
      cJSON_AddStringToObject (object, "frame", frame->name);
      cJSON_AddNumberToObject (object, "entered", (double) frame->n_entered);
      cJSON_AddNumberToObject (object, "iterations", (double) frame->n_iterations);
      cJSON_AddNumberToObject (object, "most_in_flight", frame->most_in_flight);
      cJSON_AddItemToArray (array, object);
    }
}

static void
print_json (const IrFlowLog *log, const CliRunControl *control, const GError *error)
{
  CliStatus status = CLI_OK;
  cJSON *json = cJSON_CreateObject ();

  cJSON_AddNumberToObject (json, "n_events", (double) ir_flow_log_n_events (log));
  add_events (json, log);
  add_summary (json, log);
  if (error != NULL)
    cJSON_AddStringToObject (json, "error", error->message);
  else
    cJSON_AddNullToObject (json, "error");
  cli_run_control_report (control, json, &status);
  cli_json_print (json);
}

/* -- all -- */

static gboolean
run_options (const Options *options, IrRunOptions *settings, GError **error)
{
  IrRunLimits limits;

  settings->seed = (guint64) options->model.seed;
  settings->backend = cli_backend (&options->model, error);
  if (settings->backend == NULL || !cli_limits (&options->model, &limits, error))
    return FALSE;
  settings->memory_limit = limits.memory_limit;
  settings->output_limit = limits.output_limit;
  settings->iteration_limit = limits.iteration_limit;
  settings->time_limit_ms = limits.time_limit_ms;
  return TRUE;
}

/* Stops by kernels of ref, or by another run, are for irscope run. */
static CliRunControl *
control_of (
    Cli *cli, const Options *options, const IrModel *model, IrRunOptions *settings, GError **error)
{
  const CliRunControlOptions wanted = { options->breaks, NULL, FALSE, "irscope play", NULL, FALSE };
  g_autoptr (GPtrArray) breaks = cli_run_breaks (options->breaks, "--break", model, error);

  for (guint i = 0; breaks != NULL && i < breaks->len; i++)
    if (ir_run_break_needs (breaks->pdata[i]) & IR_RUN_BREAK_REF)
      {
        g_set_error (error, CLI_ERROR, 0, "--break %s: irscope run --break compares with ref",
                     ir_run_break_text (breaks->pdata[i]));
        return NULL;
      }
  return breaks != NULL ? cli_run_control_new (cli, &wanted, model, settings, error) : NULL;
}

static CliStatus
run (Cli *cli)
{
  Options *options = cli->options;
  g_auto (CliModel) opened = { 0 };
  g_autoptr (GHashTable) inputs = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (CliRunControl) control = NULL;
  IrRunOptions settings = { 0 };
  g_auto (IrIterationName) place = { 0 };
  IrFlowFilter filter;
  CliStatus status;

  options->place = &place;
  if (!parse_filter (options, &filter, &error) || !run_options (options, &settings, &error))
    return cli_fail (cli_status_of (error), error);
  if (!cli_model_open (cli, &options->model, cli->args[0], FALSE, &opened, &status))
    return status;
  cli_print_problems (opened.problems, IR_SEVERITY_ERROR);
  inputs = cli_inputs_within (cli, &options->model, opened.model, settings.memory_limit, &error);
  if (inputs == NULL)
    return cli_fail (cli_status_of (error), error);
  control = control_of (cli, options, opened.model, &settings, &error);
  if (error == NULL)
    find_loop (options, opened.model, settings.backend, &filter, &error);
  if (error != NULL)
    return cli_fail (cli_status_of (error), error);
  g_autoptr (IrFlowLog) log = ir_flow_log_new (&filter);
  g_autoptr (IrRun)
      result = ir_flow_log_run (log, opened.model, inputs, &settings, cli->cancellable, &error);
  if (result != NULL && !knows_loop (options, log, &error))
    return cli_fail (CLI_BAD, error);
  const gboolean stopped = g_error_matches (error, IR_EXEC_ERROR, IR_EXEC_ERROR_STOPPED);
  if (cli->json)
    print_json (log, control, stopped ? NULL : error);
  else
    {
      print_text (options, log);
      cli_run_control_report (control, NULL, &status);
    }
  if (stopped || cli_run_control_was_hit (control))
    return CLI_NO;
  return result != NULL ? CLI_OK : cli_fail (cli_status_of (error), error);
}

const CliCommand cli_command_play = {
  .name = "play",
  .arguments = "FILE",
  .takes_model = TRUE,
  .summary = "What happens in the control flow of a run, event by event",
  .doc =
      "Runs FILE on one thread, and tells of each node when it runs, in which iteration of which loop,\n"
      "which branch was called, and of graphs of Switch and Merge what was dead, which input a Merge\n"
      "took, and which tokens waited. The same inputs give the same events. A loop in a loop is\n"
      "OUTER@3/INNER: in iteration 3 of OUTER.",
  .min_args = 1,
  .max_args = 1,
  .options = play_options,
  .model_options = cli_limited_options,
  .options_size = sizeof (Options),
  .run = run,
};
