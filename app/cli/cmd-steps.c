/* irscope steps: the edit log of a pipeline run. */
#include "config.h"

#include "app/cli/commands.h"
#include "app/cli/output.h"
#include "app/cli/proof.h"
#include "app/cli/step-summary.h"
#include "app/cli/stepper.h"
#include "core/io/json/print.h"
#include "passes/debug/rewrite.h"

#include <stdio.h>

typedef struct
{
  CliModelOptions model;
  gint at;
  gboolean prove, scoreboard, summary, debug;
  char **breaks;
} Options;

static const CliOption steps_options[] = {
  { "at", 0, G_OPTION_ARG_INT, G_STRUCT_OFFSET (Options, at), "Only this step, with its records",
    "N" },
  { "prove", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (Options, prove),
    "Judge each step by running what it changed", NULL },
  { "scoreboard", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (Options, scoreboard),
    "What each step changes in nodes, FLOPs, bytes moved and planned memory", NULL },
  { "summary", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (Options, summary),
    "What each pass did in sum: equal steps together, verdicts, and which passes did nothing",
    NULL },
  { "break", 'b', G_OPTION_ARG_STRING_ARRAY, G_STRUCT_OFFSET (Options, breaks),
    "Only steps at which going on would stop, such as 'op=Conv' or 'nodes<50'; repeatable",
    "BREAKPOINT" },
  { "debug", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (Options, debug),
    "Go through the steps by commands on standard input: help lists them", NULL },
  { 0 },
};

static char *
anchor_name (const IrModel *model, const IrStep *step)
{
  const IrNode *node = step->anchor != 0 ? ir_model_node (model, step->anchor) : NULL;

  if (node == NULL)
    return g_strdup ("");
  return node->name[0] != '\0' ? g_strdup (node->name) : g_strdup_printf ("#%u", node->id);
}

static IrRewrite *
rewrite_of (IrModel *model, const IrStep *step)
{
  g_autoptr (IrModel) before = ir_history_snapshot (model, step->index - 1);
  g_autoptr (IrModel) after = ir_history_snapshot (model, step->index);

  return ir_rewrite_new (model, step->index, before, after);
}

static void
add_rewrite (cJSON *object, IrModel *model, const IrStep *step)
{
  static const char *const names[IR_N_REWRITE_SIDES] = { "before", "after" };
  g_autoptr (IrRewrite) rewrite = rewrite_of (model, step);
  g_autofree char *sentence = ir_rewrite_sentence (rewrite);

  cJSON_AddStringToObject (object, "sentence", sentence);
  for (guint side = 0; side < IR_N_REWRITE_SIDES; side++)
    {
      g_autoptr (GPtrArray) lines = ir_rewrite_text (rewrite, side);
      cJSON *array = cJSON_AddArrayToObject (object, names[side]);

      for (guint i = 0; i < lines->len; i++)
        cJSON_AddItemToArray (array, cJSON_CreateString (lines->pdata[i]));
    }
}

static void
add_records (cJSON *object, IrModel *model, const IrStep *step)
{
  g_autofree char *key = ir_step_stable_key (model, step->index);
  cJSON *array;

  cJSON_AddStringToObject (object, "key", key);
  add_rewrite (object, model, step);
  array = cJSON_AddArrayToObject (object, "changes");

  for (guint i = 0; i < step->n_records; i++)
    {
      g_autofree char *text = ir_record_to_string (
          model, ir_history_record (model, step->first_record + i));
      cJSON_AddItemToArray (array, cJSON_CreateString (text));
    }
}

static cJSON *
step_json (IrModel *model, const IrStep *step, gboolean with_records)
{
  g_autofree char *anchor = anchor_name (model, step);
  cJSON *object = cJSON_CreateObject ();

  cJSON_AddNumberToObject (object, "index", step->index);
  cJSON_AddStringToObject (object, "pass", ir_history_pass_of (model, step->index));
  cJSON_AddStringToObject (object, "rule", step->rule);
  cJSON_AddStringToObject (object, "class", ir_class_name (step->step_class));
  cJSON_AddStringToObject (object, "anchor", anchor);
  cJSON_AddNumberToObject (object, "records", step->n_records);
  cJSON_AddStringToObject (object, "verdict", ir_verdict_name (step->proof.verdict));
  cJSON_AddNumberToObject (object, "nodes", step->cost_after.n_nodes);
  cli_json_add_uint (object, "flops", step->cost_after.flops);
  cli_json_add_uint (object, "bytes", step->cost_after.bytes);
  if (step->reason != NULL)
    cJSON_AddStringToObject (object, "reason", step->reason);
  if (step->proof.verdict == IR_VERDICT_ROUNDING || step->proof.verdict == IR_VERDICT_BROKEN)
    {
      cli_json_add_double (object, "max_abs", step->proof.max_abs);
      cli_json_add_double (object, "max_rel", step->proof.max_rel);
      cli_json_add_uint (object, "max_ulp", step->proof.max_ulp);
    }
  if (step->proof.text != NULL)
    cJSON_AddStringToObject (object, "finding", step->proof.text);
  if (with_records)
    add_records (object, model, step);
  return object;
}

/* (transfer full): by how much a step changes what it computes; "" if not at all, or not proved. */
static char *
error_text (const IrProof *proof)
{
  if (proof->verdict != IR_VERDICT_ROUNDING && proof->verdict != IR_VERDICT_BROKEN)
    return g_strdup ("");
  return g_strdup_printf ("  max abs %.3g, max rel %.3g, %" G_GUINT64_FORMAT " ULP", proof->max_abs,
                          proof->max_rel, proof->max_ulp);
}

/* What is at no node says what it is about instead. */
static void
print_step (const IrModel *model, const IrStep *step)
{
  g_autofree char *anchor = anchor_name (model, step), *error = error_text (&step->proof);
  const char *place = step->anchor != 0 || step->reason == NULL ? anchor : step->reason;

  cli_print ("%5u  %-26s %-28s %-9s %5u nodes  %s%s\n", step->index,
             ir_history_pass_of (model, step->index), step->rule,
             ir_verdict_name (step->proof.verdict), step->cost_after.n_nodes, place, error);
}

/* The nodes that went, and those that came, in ONNX text. */
static void
print_expression (const IrRewrite *rewrite)
{
  for (guint side = 0; side < IR_N_REWRITE_SIDES; side++)
    {
      g_autoptr (GPtrArray) lines = ir_rewrite_text (rewrite, side);

      for (guint i = 0; i < lines->len; i++)
        cli_print ("     %c %s\n", side == IR_REWRITE_BEFORE ? '-' : '+',
                   (const char *) lines->pdata[i]);
    }
}

static void
print_step_details (IrModel *model, const IrStep *step)
{
  g_autofree char *key = ir_step_stable_key (model, step->index);
  g_autoptr (IrRewrite) rewrite = rewrite_of (model, step);
  g_autofree char *sentence = ir_rewrite_sentence (rewrite);

  print_step (model, step);
  cli_print ("       %s\n", sentence);
  print_expression (rewrite);
  cli_print ("       key %s\n", key);
  if (step->reason != NULL)
    cli_print ("       %s\n", step->reason);
  if (step->proof.text != NULL)
    cli_print ("       %s\n", step->proof.text);
  for (guint i = 0; i < step->n_records; i++)
    {
      g_autofree char *text = ir_record_to_string (
          model, ir_history_record (model, step->first_record + i));
      cli_print ("       %s\n", text);
    }
}

/* -- scores and breakpoints -- */

static void
show_scored (guint done, guint total, gpointer data)
{
  cli_progress (data, "score", done, total);
}

static IrScoreboard *
score (Cli *cli, const CliModelOptions *options, IrModel *model, GError **error)
{
  const IrBackend *backend = cli_backend (options, error);
  g_autoptr (GHashTable) inputs = NULL;
  g_autoptr (IrTrial) trial = NULL;
  IrScoreboard *board;

  if (backend == NULL)
    return NULL;
  /* The inputs are those of the graph as it was opened. */
  ir_history_goto (model, 0);
  inputs = cli_inputs (cli, options, model, error);
  ir_history_goto (model, ir_history_n_steps (model));
  if (inputs == NULL)
    return NULL;
  trial = ir_trial_new (model, inputs, backend, MAX (options->threads, 0), cli->cancellable);
  board = ir_scoreboard_new (trial, show_scored, cli, error);
  cli_progress_end (cli);
  return board;
}

static GPtrArray *
read_breaks (char **texts, GError **error)
{
  g_autoptr (GPtrArray)
      breaks = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_breakpoint_free);

  for (guint i = 0; texts != NULL && texts[i] != NULL; i++)
    {
      IrBreakpoint *breakpoint = ir_breakpoint_parse (texts[i], error);

      if (breakpoint == NULL)
        {
          g_prefix_error (error, "--break %s: ", texts[i]);
          return NULL;
        }
      g_ptr_array_add (breaks, breakpoint);
    }
  return g_steal_pointer (&breaks);
}

/* What nothing is called by would never stop. */
static gboolean
check_breaks (const GPtrArray *breaks, const IrModel *model, GError **error)
{
  for (guint i = 0; i < breaks->len; i++)
    if (!ir_breakpoint_check (breaks->pdata[i], model, error))
      {
        g_prefix_error (error, "--break %s: ", ir_breakpoint_text (breaks->pdata[i]));
        return FALSE;
      }
  return TRUE;
}

static gboolean
need_scores (const GPtrArray *breaks)
{
  for (guint i = 0; i < breaks->len; i++)
    if (ir_breakpoint_needs_scores (breaks->pdata[i]))
      return TRUE;
  return FALSE;
}

static gboolean
need_proof (const GPtrArray *breaks)
{
  for (guint i = 0; i < breaks->len; i++)
    if (ir_breakpoint_needs_proof (breaks->pdata[i]))
      return TRUE;
  return FALSE;
}

static gboolean
stops (const GPtrArray *breaks, const IrModel *model, const IrScoreboard *board, guint step)
{
  for (guint i = 0; i < breaks->len; i++)
    if (ir_breakpoint_hits (breaks->pdata[i], model, board, step))
      return TRUE;
  return breaks->len == 0;
}

static void
add_scores (cJSON *object, const IrScoreboard *board, guint step)
{
  cJSON *scores = cJSON_AddObjectToObject (object, "scores"),
        *changes = cJSON_AddObjectToObject (object, "change"),
        *spikes = cJSON_AddArrayToObject (object, "spikes");

  for (guint i = 0; i < IR_N_SCORES; i++)
    {
      cli_json_add_double (scores, ir_score_name (i), ir_scoreboard_value (board, i, step));
      cli_json_add_double (changes, ir_score_name (i), ir_scoreboard_change (board, i, step));
      if (ir_scoreboard_is_spike (board, i, step))
        cJSON_AddItemToArray (spikes, cJSON_CreateString (ir_score_name (i)));
    }
}

/* Each score with its change; a rise that is noticed has an exclamation mark. */
static void
print_scores (const IrModel *model, const IrScoreboard *board, guint step)
{
  cli_print ("%5u  %-26.26s", step, step == 0 ? "original" : ir_history_step (model, step)->rule);
  for (guint i = 0; i < IR_N_SCORES; i++)
    {
      const double now = ir_scoreboard_value (board, i, step);
      g_autofree char *value = ir_score_text (i, now), *change = NULL;

      change = step > 0 ? ir_score_change_text (i, ir_scoreboard_value (board, i, step - 1), now)
                        : g_strdup ("");
      cli_print ("  %11s %*s%s%s", value, (int) (10 - g_utf8_strlen (change, -1)), "", change,
                 ir_scoreboard_is_spike (board, i, step) ? "!" : " ");
    }
  cli_print ("\n");
}

static void
print_scores_head (void)
{
  cli_print ("%5s  %-26s", "step", "rule");
  for (guint i = 0; i < IR_N_SCORES; i++)
    cli_print ("  %11s %10s ", ir_score_title (i), "change");
  cli_print ("\n");
}

static void
print_one (const Options *options, IrModel *model, const IrScoreboard *board, guint step)
{
  const IrStep *at = ir_history_step (model, step);

  if (options->scoreboard)
    print_scores (model, board, step);
  else if (options->at != 0)
    print_step_details (model, at);
  else
    print_step (model, at);
}

static void
print_steps (Cli *cli,
             const Options *options,
             IrModel *model,
             const IrScoreboard *board,
             const GPtrArray *breaks)
{
  const guint first = options->at != 0 ? (guint) options->at : 1;
  const guint last = options->at != 0 ? first : ir_history_n_steps (model);
  guint n_stops = 0;
  cJSON *json = cJSON_CreateObject (), *array = cJSON_AddArrayToObject (json, "steps");

  if (options->scoreboard && !cli->json)
    {
      print_scores_head ();
      if (options->at == 0)
        print_scores (model, board, 0);
    }
  for (guint i = first; i <= last && !cli_cut (cli); i++)
    {
      cJSON *object;

      if (!stops (breaks, model, board, i))
        continue;
      n_stops++;
      if (!cli->json)
        {
          print_one (options, model, board, i);
          continue;
        }
      object = step_json (model, ir_history_step (model, i), options->at != 0);
      if (options->scoreboard)
        add_scores (object, board, i);
      cJSON_AddItemToArray (array, object);
    }
  if (cli->json)
    cli_json_print_long (cli, json);
  else
    cJSON_Delete (json);
  if (n_stops == 0 && breaks->len > 0 && last >= first)
    cli_printerr ("irscope steps: no breakpoint stops at any of the %u steps\n", last - first + 1);
}

/* -- by commands -- */

typedef struct
{
  Cli *cli;
  const Options *options;
  IrModel *model;
  IrScoreboard *board; /* (nullable) (owned) */
  gboolean proved;
} Debugger;

static void
show_step (guint step, gboolean details, gpointer data)
{
  const Debugger *self = data;
  const IrStep *at = ir_history_step (self->model, step);
  cJSON *object;
  g_autofree char *line = NULL;

  if (!self->cli->json)
    {
      if (details)
        print_step_details (self->model, at);
      else
        print_step (self->model, at);
      if (!details && at->reason != NULL)
        cli_print ("       %s\n", at->reason);
      return;
    }
  object = step_json (self->model, at, details);
  line = ir_json_print_line (object);
  cli_print ("%s\n", line);
  cJSON_Delete (object);
}

static gboolean
prepare_break (const IrBreakpoint *breakpoint,
               const IrScoreboard **board,
               gpointer data,
               GError **error)
{
  Debugger *self = data;
  IrProofSummary proof;

  if (ir_breakpoint_needs_proof (breakpoint) && !self->proved)
    {
      if (!cli_prove (self->cli, &self->options->model, self->model, &proof, error))
        return FALSE;
      self->proved = TRUE;
    }
  if (ir_breakpoint_needs_scores (breakpoint) && self->board == NULL)
    self->board = score (self->cli, &self->options->model, self->model, error);
  *board = self->board;
  return self->board != NULL || !ir_breakpoint_needs_scores (breakpoint);
}

static CliStatus
debug (Cli *cli, const Options *options, IrModel *model, GPtrArray *breaks, gboolean proved)
{
  Debugger self = { .cli = cli, .options = options, .model = model, .proved = proved };
  CliStepper stepper = {
    .model = model, .breaks = breaks, .data = &self, .show = show_step, .prepare = prepare_break
  };
  CliStatus status = cli_step_through (cli, &stepper);

  g_clear_pointer (&self.board, ir_scoreboard_unref);
  return status;
}

static CliStatus
run (Cli *cli)
{
  Options *options = cli->options;
  g_auto (CliModel) opened = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) breaks = read_breaks (options->breaks, &error);
  g_autoptr (IrScoreboard) board = NULL;
  IrProofSummary proof;
  CliStatus status;
  guint n;

  if (breaks == NULL)
    return cli_fail (CLI_BAD, error);
  if (!cli_model_open (cli, &options->model, cli->args[0], TRUE, &opened, &status))
    return status;
  cli_print_problems (opened.problems, IR_SEVERITY_ERROR);
  n = ir_history_n_steps (opened.model);
  if (!check_breaks (breaks, opened.model, &error))
    return cli_fail (CLI_BAD, error);
  if (options->at < 0 || (guint) options->at > n)
    {
      cli_printerr ("irscope steps: --at %d: the pipeline made %u steps\n", options->at, n);
      return CLI_BAD;
    }
  if (!options->debug && need_proof (breaks))
    options->prove = TRUE;
  if (options->prove && !cli_prove (cli, &options->model, opened.model, &proof, &error))
    return cli_fail (cli_status_of (error), error);
  if (options->summary)
    {
      cli_print_step_summary (cli, opened.model);
      return CLI_OK;
    }
  if (options->debug)
    return debug (cli, options, opened.model, breaks, options->prove);
  if (options->scoreboard || need_scores (breaks))
    {
      board = score (cli, &options->model, opened.model, &error);
      if (board == NULL)
        return cli_fail (cli_status_of (error), error);
      if (board->problem != NULL)
        cli_printerr ("irscope steps: %s\n", board->problem);
    }
  print_steps (cli, options, opened.model, board, breaks);
  return CLI_OK;
}

const CliCommand cli_command_steps = {
  .name = "steps",
  .arguments = "FILE",
  .takes_model = TRUE,
  .summary = "The edit log: every step with rule, place, records, cost and proof",
  .doc =
      "A breakpoint is one of:\n"
      "  rule=R pass=P        name of the rule or pass; * and ? match as in file names\n"
      "  op=TYPE node=N       the step begins at, makes or removes such a node; #ID too\n"
      "  verdict=V            exact, rounding, broken, skipped; the steps are proved then\n"
      "  nodes<50 memory>1MiB the comparison becomes true; flops and bytes alike\n"
      "A rise in the scoreboard that is worth a look has an exclamation mark. With --debug commands\n"
      "step on and back, run to breakpoints and set new ones, such as\n"
      "  printf 'break op=Gemm\\ncontinue\\nshow\\nback 2\\n' | irscope steps FILE --debug",
  .min_args = 1,
  .max_args = 1,
  .options = steps_options,
  .model_options = cli_limited_options,
  .options_size = sizeof (Options),
  .run = run,
};
