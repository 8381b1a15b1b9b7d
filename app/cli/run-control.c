#include "config.h"

#include "app/cli/run-control.h"

#include "app/cli/output.h"
#include "app/cli/prompt.h"
#include "core/exec/check/check.h"
#include "core/ir/history.h"
#include "passes/proof/compare-values.h"

#define SHOWN 10 /* elements of a value */

struct _CliRunControl
{
  Cli *cli;
  IrRunControl *control;
  GPtrArray *breaks; /* of IrRunBreak */
  gboolean debugs, checks;
  cJSON *stops; /* (nullable) where it stood; NULL: text is wanted */
  guint n_stops;
  gboolean hit; /* by a breakpoint */
  /* While it stands: */
  const IrRunStop *stop; /* (nullable) */
  IrRunCommand command;
  IrIterationName to; /* what the command goes to */
  guint repeat;       /* moves that are left of a step of several */
  CliPrompt prompt;
};

GPtrArray *
cli_run_breaks (char *const *texts, const char *option, const IrModel *model, GError **error)
{
  g_autoptr (GPtrArray)
      breaks = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_run_break_unref);

  for (guint i = 0; texts != NULL && texts[i] != NULL; i++)
    {
      IrRunBreak *one = ir_run_break_parse (texts[i], error);

      if (one != NULL)
        g_ptr_array_add (breaks, one);
      if (one == NULL || !ir_run_break_check (one, model, error))
        {
          g_prefix_error (error, "%s ", option);
          return NULL;
        }
    }
  return g_steal_pointer (&breaks);
}

/* -- what is shown -- */

/* @contents: (nullable): it has none now. With --json nothing is printed between the answers. */
static void
print_value (CliRunControl *self, const char *role, const IrValue *value, IrTensor *contents)
{
  g_autofree char *range = NULL;
  IrTensorStats stats;

  if (contents == NULL || self->stops != NULL)
    return;
  cli_print ("  %s ", role);
  cli_print_contents (self->cli, value->name, value->graph->model->context, contents, SHOWN, NULL);
  if (ir_tensor_is_container (contents) || ir_tensor_dtype (contents) == IR_DTYPE_STRING)
    return;
  ir_tensor_stats (contents, 0, &stats);
  range = ir_tensor_stats_range_text (&stats, 6, "  ");
  cli_print ("    %s  NaN %" G_GUINT64_FORMAT "  Inf %" G_GUINT64_FORMAT
             "  zeros %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT "\n",
             range, stats.n_nan, stats.n_pos_inf + stats.n_neg_inf, stats.n_zero, stats.n);
}

static void
add_value (
    CliRunControl *self, cJSON *array, const char *role, const IrValue *value, IrTensor *contents)
{
  cJSON *object = cJSON_CreateObject ();
  IrTensorStats stats;

  cJSON_AddStringToObject (object, "name", value->name);
  cJSON_AddStringToObject (object, "role", role);
  if (contents != NULL)
    cli_json_add_contents (self->cli, object, contents);
  if (contents != NULL && !ir_tensor_is_container (contents) &&
      ir_tensor_dtype (contents) != IR_DTYPE_STRING)
    {
      ir_tensor_stats (contents, 0, &stats);
      cli_json_add_stats (object, &stats);
    }
  cJSON_AddItemToArray (array, object);
}

/* What is next reads, or what has run gave. */
static void
show_values (CliRunControl *self, const IrRunStop *stop, cJSON *array)
{
  const char *role = stop->after ? "output" : "input";
  const guint n = stop->node == NULL ? 1
                  : stop->after      ? stop->node->n_outputs
                                     : stop->node->n_inputs;

  for (guint i = 0; i < n; i++)
    {
      const IrValue *value = stop->node == NULL ? stop->value
                             : stop->after      ? stop->node->outputs[i]
                                                : stop->node->inputs[i];
      g_autoptr (IrTensor)
          contents = value != NULL ? ir_run_control_value (self->control, value, NULL) : NULL;

      if (value == NULL || ir_value_constant (value) != NULL)
        continue;
      if (array != NULL)
        add_value (self, array, role, value, contents);
      else
        print_value (self, role, value, contents);
    }
}

static void
print_stop (CliRunControl *self, const IrRunStop *stop)
{
  g_autofree char *text = ir_run_stop_text (stop);

  cli_print ("stopped %s\n", text);
  if (stop->came_in != NULL)
    cli_print ("  %s: it holds of this input, too\n", stop->came_in);
  else if (stop->finding.advice != NULL)
    cli_print ("  %s\n", stop->finding.advice);
  show_values (self, stop, NULL);
}

static void
add_node (cJSON *object, const IrNode *node)
{
  cJSON_AddStringToObject (object, "node", node != NULL ? node->name : "");
  cJSON_AddNumberToObject (object, "id", node != NULL ? node->id : 0);
  cJSON_AddStringToObject (object, "op", node != NULL ? node->op_type : "");
}

static void
add_finding (cJSON *object, const char *by, const IrValue *value, const IrRunFinding *finding)
{
  cJSON_AddStringToObject (object, "break", by);
  if (value != NULL)
    cJSON_AddStringToObject (object, "value", value->name);
  if (finding->text != NULL)
    cJSON_AddStringToObject (object, "found", finding->text);
  if (finding->advice != NULL)
    cJSON_AddStringToObject (object, "advice", finding->advice);
}

static void
add_stop (CliRunControl *self, const IrRunStop *stop)
{
  cJSON *object = cJSON_CreateObject ();
  g_autofree char *text = ir_run_stop_text (stop);

  add_node (object, stop->node);
  cJSON_AddStringToObject (object, "when", stop->after ? "after" : "before");
  cJSON_AddNumberToObject (object, "round", (double) stop->round);
  cJSON_AddNumberToObject (object, "depth", stop->depth);
  if (stop->place != NULL)
    cJSON_AddStringToObject (object, "place", stop->place);
  cJSON_AddNumberToObject (object, "done", stop->done);
  cJSON_AddNumberToObject (object, "nodes", stop->total);
  cli_json_add_uint (object, "live_bytes", stop->live_bytes);
  cJSON_AddStringToObject (object, "text", text);
  if (stop->hit != NULL)
    add_finding (object, ir_run_break_text (stop->hit), stop->value, &stop->finding);
  if (stop->came_in != NULL)
    cJSON_AddStringToObject (object, "came_in", stop->came_in);
  show_values (self, stop, cJSON_AddArrayToObject (object, "values"));
  cJSON_AddItemToArray (self->stops, object);
}

/* -- commands of --debug -- */

static gboolean
go (CliRunControl *self, IrRunMove move, IrNodeId node)
{
  self->command = (IrRunCommand){ .move = move, .node = node };
  self->prompt.done = TRUE;
  return TRUE;
}

static gboolean
step (gpointer data, const char *argument, GError **error)
{
  CliRunControl *self = data;

  if (!cli_prompt_number (argument, 1, &self->repeat, error))
    return FALSE;
  self->repeat -= self->repeat > 0;
  return go (self, IR_RUN_STEP, 0);
}

static gboolean
over (gpointer data, const char *argument, GError **error)
{
  return go (data, IR_RUN_OVER, 0);
}

static gboolean
next_round (gpointer data, const char *argument, GError **error)
{
  return go (data, IR_RUN_ROUND, 0);
}

static gboolean
go_on (gpointer data, const char *argument, GError **error)
{
  return go (data, IR_RUN_CONTINUE, 0);
}

/* Of a command to a node, which may be one in an iteration */
static const IrNode *
find_end (CliRunControl *self, const IrModel *model, const char *name, GError **error)
{
  ir_iteration_name_clear (&self->to);
  return cli_find_node_in (model, name, &self->to, error);
}

static gboolean
run_to (gpointer data, const char *argument, GError **error)
{
  CliRunControl *self = data;
  const IrNode *node = find_end (self, self->stop->model, argument, error);

  if (node == NULL)
    return FALSE;
  go (self, IR_RUN_TO, node->id);
  self->command.frame = self->to.frame;
  self->command.iteration = self->to.iteration;
  return TRUE;
}

static gboolean
show_value (gpointer data, const char *argument, GError **error)
{
  CliRunControl *self = data;
  const IrValue *value = cli_find_value (self->stop->model, argument, error);
  g_autoptr (IrTensor) contents = value != NULL ? ir_run_control_value (self->control, value, error)
                                                : NULL;

  if (contents != NULL)
    print_value (self, "value", value, contents);
  else if (value != NULL && *error == NULL)
    g_set_error (error, CLI_ERROR, 0,
                 "%s holds nothing now: it has not been computed, or was read for the last time; "
                 "--capture %s keeps it",
                 value->name, value->name);
  return contents != NULL;
}

static gboolean
where (gpointer data, const char *argument, GError **error)
{
  CliRunControl *self = data;

  if (self->stops == NULL)
    print_stop (self, self->stop);
  return TRUE;
}

static gboolean
any_needs (const GPtrArray *breaks, IrRunBreakNeeds what)
{
  for (guint i = 0; i < breaks->len; i++)
    if (ir_run_break_needs (breaks->pdata[i]) & what)
      return TRUE;
  return FALSE;
}

static gboolean
add_break (gpointer data, const char *argument, GError **error)
{
  CliRunControl *self = data;
  char *texts[] = { (char *) argument, NULL };

  if (argument[0] != '\0')
    {
      g_autoptr (GPtrArray) one = cli_run_breaks (texts, "break", self->stop->model, error);

      if (one == NULL)
        return FALSE;
      if ((ir_run_break_needs (one->pdata[0]) & IR_RUN_BREAK_ORIGINAL) &&
          !any_needs (self->breaks, IR_RUN_BREAK_ORIGINAL))
        {
          g_set_error_literal (error, CLI_ERROR, 0,
                               "diverges:original: the run began without it; begin with --break "
                               "diverges:original");
          return FALSE;
        }
      if ((ir_run_break_needs (one->pdata[0]) & IR_RUN_BREAK_REF) && !self->checks)
        {
          g_set_error_literal (error, CLI_ERROR, 0,
                               "diverges: the run began without it; begin with --break diverges");
          return FALSE;
        }
      g_ptr_array_add (self->breaks, ir_run_break_ref (one->pdata[0]));
      ir_run_control_set_breaks (self->control, self->breaks);
    }
  for (guint i = 0; i < self->breaks->len && self->stops == NULL; i++)
    cli_print ("%u  %s\n", i + 1, ir_run_break_text (self->breaks->pdata[i]));
  return TRUE;
}

static gboolean
drop_break (gpointer data, const char *argument, GError **error)
{
  CliRunControl *self = data;
  guint number;

  if (!cli_prompt_number (argument, 0, &number, error))
    return FALSE;
  if (argument[0] == '\0')
    g_ptr_array_set_size (self->breaks, 0);
  else if (number >= 1 && number <= self->breaks->len)
    g_ptr_array_remove_index (self->breaks, number - 1);
  else
    {
      g_set_error (error, CLI_ERROR, 0, "there is no breakpoint %s", argument);
      return FALSE;
    }
  ir_run_control_set_breaks (self->control, self->breaks);
  return TRUE;
}

/* What holds of the values that were kept so far. */
static gboolean
watch (gpointer data, const char *argument, GError **error)
{
  CliRunControl *self = data;
  char *texts[] = { (char *) argument, NULL };
  g_autoptr (GPtrArray) breaks = cli_run_breaks (texts, "watch", self->stop->model, error);
  g_autoptr (IrRun) run = breaks != NULL ? ir_run_control_snapshot (self->control) : NULL;

  if (run == NULL)
    return FALSE;
  g_autoptr (GArray) hits = ir_run_judge (run, breaks, self->cli->cancellable);
  if (self->stops != NULL)
    return TRUE;
  for (guint i = 0; i < hits->len; i++)
    {
      const IrRunHit *hit = &g_array_index (hits, IrRunHit, i);
      cli_print ("  %s: %s\n", ir_model_value (run->model, hit->value)->name, hit->finding.text);
    }
  cli_print ("%u of the values that were kept so far\n", hits->len);
  return TRUE;
}

static gboolean
quit (gpointer data, const char *argument, GError **error)
{
  return go (data, IR_RUN_STOP, 0);
}

static gboolean
help (gpointer data, const char *argument, GError **error)
{
  const char *const *examples = ir_run_break_examples ();

  if (((CliRunControl *) data)->stops != NULL)
    return TRUE;
  cli_prompt_help (&((CliRunControl *) data)->prompt);
  cli_print ("\nConditions:\n");
  for (guint i = 0; examples[i] != NULL; i += 2)
    cli_print ("  %-18s %s\n", examples[i], examples[i + 1]);
  return TRUE;
}

static const CliPromptCommand commands[] = {
  { "step", "s", "[N]", "to the next node, or N on, into bodies", step },
  { "over", "n", "", "to the next node that is in no body of this one", over },
  { "round", "r", "", "to where the body begins again, or is left", next_round },
  { "to", "t", "NODE", "until NODE has run", run_to },
  { "continue", "c", "", "to the next breakpoint", go_on },
  { "value", "v", "NAME", "what a value holds now", show_value },
  { "watch", "w", "COND", "which of the values that were kept it holds of", watch },
  { "break", "k", "[COND]", "stop there, too; alone: lists them", add_break },
  { "delete", "d", "[N]", "forget breakpoint N, or all", drop_break },
  { "where", "i", "", "where the run stands", where },
  { "help", "h", "", "these commands", help },
  { "quit", "q", "", "end the run", quit },
};

static char *
ask (gpointer data)
{
  const CliRunControl *self = data;

  return g_strdup_printf ("node %u of %u", self->stop->done, self->stop->total);
}

/* -- the run -- */

/* Without --debug it ends where it stops first. */
static void
on_stopped (IrRunControl *control, const IrRunStop *stop, gpointer data)
{
  CliRunControl *self = data;

  if (self->repeat > 0 && stop->kind == IR_RUN_STOPPED_BY_MOVE)
    {
      self->repeat--;
      ir_run_control_go (control, self->command);
      return;
    }
  self->repeat = 0;
  self->stop = stop;
  self->n_stops++;
  self->hit = self->hit || stop->kind == IR_RUN_STOPPED_BY_BREAK;
  cli_progress_end (self->cli);
  if (self->stops != NULL)
    add_stop (self, stop);
  else
    print_stop (self, stop);
  self->command = (IrRunCommand){ .move = IR_RUN_STOP };
  self->prompt.done = FALSE;
  if (self->debugs)
    cli_prompt_read (&self->prompt, ask);
  self->stop = NULL;
  ir_run_control_go (control, self->command);
}

gboolean
cli_run_control_compare (CliRunControl *self,
                         IrModel *model,
                         GHashTable *inputs,
                         const IrRunOptions *settings,
                         GError **error)
{
  g_autoptr (GHashTable) divergences = NULL;

  if (self == NULL || !any_needs (self->breaks, IR_RUN_BREAK_ORIGINAL))
    return TRUE;
  const CliModelOptions *asked = self->cli->options;
  if (ir_history_n_steps (model) == 0 && (asked->pipeline != NULL || asked->passes != NULL))
    return TRUE; /* nothing was changed, so nothing can diverge */
  if (ir_history_n_steps (model) == 0)
    {
      g_set_error_literal (error, CLI_ERROR, 0,
                           "--break diverges:original: the graph is the original one; add "
                           "--pipeline or --pass");
      return FALSE;
    }
  divergences = ir_history_divergences (model, ir_history_cursor (model), inputs, settings,
                                        self->cli->cancellable, error);
  if (divergences != NULL)
    ir_run_control_set_divergences (self->control, divergences);
  return divergences != NULL;
}

CliRunControl *
cli_run_control_new (Cli *cli,
                     const CliRunControlOptions *options,
                     const IrModel *model,
                     IrRunOptions *settings,
                     GError **error)
{
  g_autoptr (CliRunControl) self = NULL;
  IrRunCommand first = { .move = options->debug ? IR_RUN_STEP : IR_RUN_CONTINUE };

  if (options->breaks == NULL && options->until == NULL && !options->debug)
    return NULL;
  if (options->debug && options->until != NULL)
    {
      g_set_error_literal (error, CLI_ERROR, 0, "--until: with --debug, give the command to NODE");
      return NULL;
    }
  self = g_new0 (CliRunControl, 1);
  if (options->until != NULL)
    {
      const IrNode *node = find_end (self, model, options->until, error);

      if (node == NULL)
        return NULL;
      first = (IrRunCommand){ IR_RUN_TO, node->id, self->to.frame, self->to.iteration };
    }
  self->cli = cli;
  self->debugs = options->debug;
  self->breaks = cli_run_breaks (options->breaks, "--break", model, error);
  if (self->breaks == NULL)
    return NULL;
  if (!options->compares && any_needs (self->breaks, IR_RUN_BREAK_ORIGINAL))
    {
      g_set_error (error, CLI_ERROR, 0, "--break diverges:original: %s has no original graph",
                   options->program);
      return NULL;
    }
  self->prompt = (CliPrompt){
    .program = options->program, .commands = commands, .n = G_N_ELEMENTS (commands), .state = self
  };
  self->stops = cli->json ? cJSON_CreateArray () : NULL;
  self->control = ir_run_control_new (&(IrRunControlSetup){ on_stopped, NULL, self, first });
  ir_run_control_set_breaks (self->control, self->breaks);
  self->checks = any_needs (self->breaks, IR_RUN_BREAK_REF);
  if (self->checks)
    ir_run_control_check (self->control, options->budget);
  settings->control = self->control;
  return g_steal_pointer (&self);
}

void
cli_run_control_free (CliRunControl *self)
{
  if (self == NULL)
    return;
  if (self->control != NULL)
    ir_run_control_uncheck (self->control);
  g_clear_pointer (&self->control, ir_run_control_free);
  g_clear_pointer (&self->breaks, g_ptr_array_unref);
  cJSON_Delete (self->stops);
  ir_iteration_name_clear (&self->to);
  cli_prompt_clear (&self->prompt);
  g_free (self);
}

gboolean
cli_run_control_is_over (const CliRunControl *self)
{
  return self != NULL && self->n_stops > 0 && self->command.move == IR_RUN_STOP;
}

gboolean
cli_run_control_was_hit (const CliRunControl *self)
{
  return self != NULL && self->hit && !self->debugs;
}

gboolean
cli_run_control_report (const CliRunControl *self, cJSON *json, CliStatus *status)
{
  if (self == NULL)
    return TRUE;
  if (self->stops != NULL)
    cJSON_AddItemToObject (json, "stops", cJSON_Duplicate (self->stops, TRUE));
  else if (self->n_stops == 0)
    cli_print ("the run stopped nowhere\n");
  if (self->prompt.failed && !cli_prompt_is_terminal ())
    *status = CLI_BAD;
  return !cli_run_control_was_hit (self);
}

/* -- watchpoints -- */

gboolean
cli_run_report_watch (Cli *cli, const CliRun *options, IrRun *run, cJSON *json)
{
  cJSON *array;

  if (options->watched == NULL)
    return TRUE;
  g_autoptr (GArray) hits = ir_run_judge (run, options->watched, cli->cancellable);
  array = cJSON_AddArrayToObject (json, "watch");
  for (guint i = 0; i < hits->len; i++)
    {
      const IrRunHit *hit = &g_array_index (hits, IrRunHit, i);
      const IrNode *node = hit->node != 0 ? ir_model_node (run->model, hit->node) : NULL;
      const IrValue *value = ir_model_value (run->model, hit->value);
      cJSON *object = cJSON_CreateObject ();

      add_node (object, node);
      add_finding (object, ir_run_break_text (hit->by), value, &hit->finding);
      cli_json_add_stats (object, &hit->stats);
      cJSON_AddItemToArray (array, object);
      if (cli->json)
        continue;
      g_autofree char *label = node != NULL ? ir_node_label (node) : g_strdup ("input");
      cli_print ("watch %s: %s, %s: %s\n", ir_run_break_text (hit->by), label, value->name,
                 hit->finding.text);
      if (hit->finding.advice != NULL && i == 0)
        cli_print ("  %s\n", hit->finding.advice);
    }
  if (!cli->json)
    cli_print ("%u %s found that %s watched for\n", hits->len,
               hits->len == 1 ? "value was" : "values were", hits->len == 1 ? "is" : "are");
  return hits->len == 0;
}
