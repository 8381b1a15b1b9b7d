/* What a predicate measures of the graph after a step: values that changed, by how much, sizes, and what a
 * command says of it. */
#include "config.h"

#include "passes/debug/predicate-private.h"

#include "core/exec/run/iterations.h"
#include "core/io/io.h"
#include "core/op/call.h"
#include "core/op/infer.h"

#include <gio/gio.h>
#include <glib/gstdio.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* -- measuring -- */

void
ir_term_collect (const IrTerm *term, gboolean iterations, GArray *ids)
{
  if (term == NULL)
    return;
  ir_term_collect (term->a, iterations, ids);
  ir_term_collect (term->b, iterations, ids);
  if (term->values != NULL && (iterations || term->picks == NULL))
    g_array_append_vals (ids, term->values->data, term->values->len);
}

static GHashTable *
values_of (IrMeasuring *work, GError **error)
{
  g_autoptr (GArray) originals = g_array_new (FALSE, FALSE, sizeof (IrValueId));
  g_autoptr (GArray) chosen = g_array_new (FALSE, FALSE, sizeof (IrValueId));

  if (work->values != NULL)
    return work->values;
  ir_term_collect (work->predicate->root, FALSE, originals);
  for (guint i = 0; i < originals->len; i++)
    {
      IrValueId now = ir_lineage_current_value (
          ir_trial_history (work->trial), g_array_index (originals, IrValueId, i), work->step);
      if (now != 0)
        g_array_append_val (chosen, now);
    }
  return work->values = ir_trial_probe (work->trial, work->step, chosen, error);
}

/* (transfer none) (nullable) */
static const IrTensor *
contents_now (IrMeasuring *work, IrValueId original, GError **error)
{
  GHashTable *values = values_of (work, error);
  IrValueId now;
  const IrTensor *tensor;

  if (values == NULL)
    return NULL;
  now = ir_lineage_current_value (ir_trial_history (work->trial), original, work->step);
  tensor = g_hash_table_lookup (values, GUINT_TO_POINTER (now));
  if (tensor == NULL)
    g_set_error (error, IR_PREDICATE_ERROR, IR_PREDICATE_ERROR_VALUE,
                 "%s has no contents at step %u",
                 ir_model_value (ir_trial_history (work->trial), original)->name, work->step);
  return tensor;
}

/* (transfer full) (nullable): a run of the graph after @step that has what @term names */
static IrRun *
run_picked (IrMeasuring *work, const IrTerm *term, guint step, GError **error)
{
  const IrIterationPick *wanted = &g_array_index (term->picks, IrIterationPick, 0);
  g_autoptr (GArray) picks = ir_iteration_picks_new ();
  const IrIterationPick pick = { .value = ir_lineage_current_value (ir_trial_history (work->trial),
                                                                    wanted->value, step),
                                 .frame = g_strdup (wanted->frame),
                                 .iteration = wanted->iteration };
  g_array_append_val (picks, pick);
  IrRun *run = ir_trial_run_picked (work->trial, step, picks, error);
  if (run == NULL || ir_run_n_iterations_kept (run) > 0)
    return run;
  g_set_error (error, IR_PREDICATE_ERROR, IR_PREDICATE_ERROR_VALUE,
               "%s was not computed at step %u: no loop there has that iteration", term->argument,
               step);
  ir_run_unref (run);
  return NULL;
}

static const IrTensor *
kept_at (const IrRun *run, const IrKeptIteration *like)
{
  for (guint i = 0; i < ir_run_n_iterations_kept (run); i++)
    {
      const IrKeptIteration *kept = ir_run_iteration (run, i);
      if (kept->iteration == like->iteration && strcmp (kept->frame, like->frame) == 0)
        return kept->tensor;
    }
  return NULL;
}

/* An iteration that one side alone has is a difference without end. */
static gboolean
measure_iterations (IrMeasuring *work, const IrTerm *term, IrDifference *worst, GError **error)
{
  const IrDifference endless = { INFINITY, INFINITY, INFINITY };
  g_autoptr (IrRun) before = run_picked (work, term, 0, error);
  g_autoptr (IrRun) after = before != NULL ? run_picked (work, term, work->step, error) : NULL;

  if (after == NULL)
    return FALSE;
  if (ir_run_n_iterations_kept (after) != ir_run_n_iterations_kept (before))
    *worst = endless;
  for (guint i = 0; i < ir_run_n_iterations_kept (before); i++)
    {
      const IrKeptIteration *kept = ir_run_iteration (before, i);
      const IrTensor *now = kept_at (after, kept);
      IrDifference difference = endless;

      if (now != NULL)
        ir_trial_difference (kept->tensor, now, &difference);
      ir_difference_take_larger (worst, &difference);
    }
  return TRUE;
}

static gboolean
measure_difference (IrMeasuring *work, const IrTerm *term, IrDifference *worst, GError **error)
{
  IrRun *original = ir_trial_original (work->trial, error);

  memset (worst, 0, sizeof *worst);
  if (original == NULL)
    return FALSE;
  if (term->picks != NULL)
    return measure_iterations (work, term, worst, error);
  for (guint i = 0; i < term->values->len; i++)
    {
      IrValueId id = g_array_index (term->values, IrValueId, i);
      const IrTensor *before = ir_trial_contents (work->trial, original, id);
      const IrTensor *after = contents_now (work, id, error);
      IrDifference difference;

      if (after == NULL)
        return FALSE;
      if (before == NULL)
        {
          g_set_error (error, IR_PREDICATE_ERROR, IR_PREDICATE_ERROR_VALUE,
                       "%s was not computed by the original graph",
                       ir_model_value (ir_trial_history (work->trial), id)->name);
          return FALSE;
        }
      ir_trial_difference (before, after, &difference);
      ir_difference_take_larger (worst, &difference);
    }
  return TRUE;
}

static gboolean
measure_max_abs (IrMeasuring *work, const IrTerm *term, double *result, GError **error)
{
  IrDifference worst;

  if (!measure_difference (work, term, &worst, error))
    return FALSE;
  *result = worst.max_abs;
  return TRUE;
}

static gboolean
measure_rel (IrMeasuring *work, const IrTerm *term, double *result, GError **error)
{
  IrDifference worst;

  if (!measure_difference (work, term, &worst, error))
    return FALSE;
  *result = worst.max_rel;
  return TRUE;
}

static gboolean
has_nan (const IrTensor *tensor)
{
  if (!ir_dtype_is_float (ir_tensor_dtype (tensor)))
    return FALSE;
  for (guint64 k = 0; k < ir_tensor_n_elements (tensor); k++)
    if (isnan (ir_tensor_get_double (tensor, k)))
      return TRUE;
  return FALSE;
}

static gboolean
measure_nan_of_iterations (IrMeasuring *work, const IrTerm *term, double *result, GError **error)
{
  g_autoptr (IrRun) run = run_picked (work, term, work->step, error);

  for (guint i = 0; run != NULL && i < ir_run_n_iterations_kept (run) && *result == 0; i++)
    *result = has_nan (ir_run_iteration (run, i)->tensor);
  return run != NULL;
}

static gboolean
measure_has_nan (IrMeasuring *work, const IrTerm *term, double *result, GError **error)
{
  *result = 0;
  if (term->picks != NULL)
    return measure_nan_of_iterations (work, term, result, error);
  for (guint i = 0; i < term->values->len; i++)
    {
      const IrTensor *tensor = contents_now (work, g_array_index (term->values, IrValueId, i),
                                             error);

      if (tensor == NULL)
        return FALSE;
      if (*result == 0)
        *result = has_nan (tensor);
    }
  return TRUE;
}

static gboolean
measure_peak_memory (IrMeasuring *work, const IrTerm *term, double *result, GError **error)
{
  g_autoptr (IrMemPlan) plan = ir_trial_plan (work->trial, work->step, error);

  if (plan == NULL)
    return FALSE;
  *result = plan->peak_bytes;
  return TRUE;
}

static gboolean
measure_flops (IrMeasuring *work, const IrTerm *term, double *result, GError **error)
{
  g_autoptr (IrModel) sized = ir_trial_sized (work->trial, work->step);
  gboolean partial;

  *result = ir_cost_model (sized, &partial).flops;
  return TRUE;
}

static gboolean
lies_in_function (const IrNode *node)
{
  const IrGraph *graph = node->graph;

  while (graph != NULL && graph->kind == IR_GRAPH_SUBGRAPH)
    graph = ir_graph_outer (graph);
  return graph != NULL && graph->kind == IR_GRAPH_FUNCTION;
}

static gboolean
measure_nodes (IrMeasuring *work, const IrTerm *term, double *result, GError **error)
{
  g_autoptr (IrModel) model = ir_history_snapshot (ir_trial_history (work->trial), work->step);

  if (term->argument == NULL)
    {
      *result = ir_model_n_counted_nodes (model);
      return TRUE;
    }
  *result = 0;
  for (guint i = 1; i < model->nodes->len; i++)
    {
      const IrNode *node = model->nodes->pdata[i];
      *result += node->state == IR_STATE_LIVE && strcmp (node->op_type, term->argument) == 0 &&
                 !lies_in_function (node);
    }
  return TRUE;
}

/* -- external commands -- */

static void
remove_folder (const char *path)
{
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *file = g_build_filename (path, name, NULL);
      g_unlink (file);
    }
  g_rmdir (path);
}

static GStrv
command_line (const char *command, const char *path, GError **error)
{
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();
  g_auto (GStrv) words = NULL;
  gboolean placed = FALSE;

  if (!g_shell_parse_argv (command, NULL, &words, error))
    return NULL;
  for (guint i = 0; words[i] != NULL; i++)
    {
      GString *word = g_string_new (words[i]);

      placed |= g_string_replace (word, "{}", path, 0) > 0;
      g_strv_builder_add (builder, word->str);
      g_string_free (word, TRUE);
    }
  if (!placed)
    g_strv_builder_add (builder, path);
  return g_strv_builder_end (builder);
}

/* Between fork() and exec(): the program shall hear of its children and of those who end it. */
static void
unblock_signals (gpointer unused)
{
  sigset_t none;

  sigemptyset (&none);
  sigprocmask (SIG_SETMASK, &none, NULL);
}

static gboolean
run_command (
    IrMeasuring *work, const char *command, const char *path, double *status, GError **error)
{
  g_autoptr (GSubprocessLauncher) launcher = g_subprocess_launcher_new (G_SUBPROCESS_FLAGS_NONE);
  g_autoptr (GSubprocess) process = NULL;
  g_auto (GStrv) words = command_line (command, path, error);
  GCancellable *cancellable = ir_trial_cancellable (work->trial);

  if (words == NULL)
    return FALSE;
  g_subprocess_launcher_take_stdout_fd (launcher, dup (STDERR_FILENO));
  g_subprocess_launcher_set_child_setup (launcher, unblock_signals, NULL, NULL);
  process = g_subprocess_launcher_spawnv (launcher, (const char *const *) words, error);
  if (process == NULL)
    {
      g_autofree char *why = error != NULL ? g_strdup ((*error)->message) : NULL;
      g_clear_error (error);
      g_set_error (error, IR_PREDICATE_ERROR, IR_PREDICATE_ERROR_COMMAND, "cmd: %s: %s", command,
                   why != NULL ? why : "could not be started");
      return FALSE;
    }
  if (!g_subprocess_wait (process, cancellable, error))
    {
      g_subprocess_force_exit (process);
      return FALSE;
    }
  *status = g_subprocess_get_if_exited (process) ? g_subprocess_get_exit_status (process)
                                                 : 128 + g_subprocess_get_term_sig (process);
  return TRUE;
}

static gboolean
measure_command (IrMeasuring *work, const IrTerm *term, double *result, GError **error)
{
  g_autoptr (IrModel) model = ir_history_snapshot (ir_trial_history (work->trial), work->step);
  g_autofree char *folder = g_dir_make_tmp ("irscope-bisect-XXXXXX", error), *path = NULL;
  gboolean done;

  if (folder == NULL)
    return FALSE;
  path = g_build_filename (folder, "model.onnx", NULL);
  done = ir_model_save (model, path, "onnx", NULL, error) &&
         run_command (work, term->argument, path, result, error);
  remove_folder (folder);
  return done;
}

/* -- in words -- */

static gboolean
is_any_output (const IrTerm *term)
{
  return strcmp (term->argument, "*") == 0;
}

static char *
describe_max_abs (const IrTerm *term, double value)
{
  return g_strdup_printf ("%s differs from the original by %.3g",
                          is_any_output (term) ? "an output" : term->argument, value);
}

static char *
describe_rel (const IrTerm *term, double value)
{
  return g_strdup_printf ("%s differs from the original by %.3g %%",
                          is_any_output (term) ? "an output" : term->argument, 100 * value);
}

static char *
describe_has_nan (const IrTerm *term, double value)
{
  if (is_any_output (term))
    return g_strdup (value != 0 ? "an output holds a NaN" : "no output holds a NaN");
  return g_strdup_printf (value != 0 ? "%s holds a NaN" : "%s holds no NaN", term->argument);
}

static char *
describe_peak_memory (const IrTerm *term, double value)
{
  g_autofree char *size = g_format_size_full ((guint64) value, G_FORMAT_SIZE_IEC_UNITS);

  return g_strdup_printf ("the planned peak memory is %s", size);
}

static char *
describe_nodes (const IrTerm *term, double value)
{
  return g_strdup_printf ("the graph has %.0f %s%s%s", value,
                          term->argument != NULL ? term->argument : "",
                          term->argument != NULL ? " " : "", value == 1 ? "node" : "nodes");
}

static char *
describe_flops (const IrTerm *term, double value)
{
  return g_strdup_printf ("a run takes %.4g FLOPs", value);
}

static char *
describe_command (const IrTerm *term, double value)
{
  return g_strdup_printf ("the command's exit status is %.0f", value);
}

static const IrMeasure measures[] = {
  { "max_abs", IR_ARGUMENT_VALUE, FALSE, TRUE, measure_max_abs, describe_max_abs },
  { "rel", IR_ARGUMENT_VALUE, FALSE, TRUE, measure_rel, describe_rel },
  { "has_nan", IR_ARGUMENT_VALUE, TRUE, TRUE, measure_has_nan, describe_has_nan },
  { "peak_memory", IR_ARGUMENT_NONE, FALSE, FALSE, measure_peak_memory, describe_peak_memory },
  { "nodes", IR_ARGUMENT_OPERATOR, FALSE, FALSE, measure_nodes, describe_nodes },
  { "flops", IR_ARGUMENT_NONE, FALSE, FALSE, measure_flops, describe_flops },
  { "cmd", IR_ARGUMENT_COMMAND, TRUE, FALSE, measure_command, describe_command },
};

const IrMeasure *
ir_measure_at (guint index)
{
  return index < G_N_ELEMENTS (measures) ? &measures[index] : NULL;
}
