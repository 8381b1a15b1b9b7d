/* irscope reproduce: a folder that makes a failure happen again, with nothing but irscope. */
#include "config.h"

#include "app/cli/commands.h"
#include "app/cli/output.h"
#include "app/cli/proof.h"
#include "core/io/io.h"
#include "core/ir/diff.h"
#include "core/layout/scene.h"
#include "core/render/render.h"
#include "passes/reproduce.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>

typedef struct
{
  CliModelOptions model;
  char *fail, *output;
} Options;

static const CliOption reproduce_options[] = {
  { "fail", 'f', G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, fail),
    "What counts as a failure, as irscope bisect takes it", "EXPR" },
  { "output", 'o', G_OPTION_ARG_FILENAME, G_STRUCT_OFFSET (Options, output),
    "The folder to write; it is made, and what is in it stays", "DIR" },
  { 0 },
};

/* What is being written. */
typedef struct
{
  Cli *cli;
  const Options *options;
  const char *folder;
  IrTrial *trial; /* of the part */
  const IrReproduceOptions *how;
  const IrReproducer *part;
  GString *command, *readme;
} Bundle;

static void G_GNUC_PRINTF (3, 4)
    add_option (Bundle *bundle, const char *name, const char *format, ...)
{
  va_list args;
  g_autofree char *value = NULL, *quoted = NULL;

  va_start (args, format);
  value = g_strdup_vprintf (format, args);
  va_end (args);
  quoted = g_shell_quote (value);
  g_string_append_printf (bundle->command, " %s %s", name, quoted);
}

/* -- tensors -- */

/* As .npy, or as .pb what has no .npy: bfloat16, strings, sequences. @name becomes the path in the
 * folder. */
static gboolean
save_tensor (const Bundle *bundle, const IrTensor *tensor, char **name, GError **error)
{
  static const char *const endings[] = { ".npy", ".pb" };
  g_autoptr (GError) local = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (endings); i++)
    {
      g_autofree char *file = g_strconcat (*name, endings[i], NULL);
      g_autofree char *path = g_build_filename (bundle->folder, file, NULL);

      g_clear_error (&local);
      if (ir_tensor_save (tensor, path, &local))
        {
          g_free (*name);
          *name = g_steal_pointer (&file);
          return TRUE;
        }
    }
  g_propagate_error (error, g_steal_pointer (&local));
  return FALSE;
}

static gboolean
write_inputs (Bundle *bundle, GError **error)
{
  const IrModel *model = bundle->part->model;

  g_string_append (bundle->readme, "Inputs:\n\n");
  for (guint i = 0; i < ir_graph_n_inputs (model->main); i++)
    {
      const IrValue *input = ir_graph_input (model->main, i);
      const IrTensor *tensor = g_hash_table_lookup (bundle->part->inputs,
                                                    GUINT_TO_POINTER (input->id));
      g_autofree char *name = g_strdup_printf ("input_%u", i);

      if (tensor == NULL)
        continue;
      if (!save_tensor (bundle, tensor, &name, error))
        return FALSE;
      add_option (bundle, "--input", "%s=%s", input->name, name);
      g_string_append_printf (bundle->readme, "- `%s`: %s\n", name, input->name);
    }
  return TRUE;
}

static gboolean
write_outputs (Bundle *bundle, const char *what, guint step, GError **error)
{
  g_autoptr (IrModel) model = ir_history_snapshot (bundle->part->model, step);
  g_autoptr (IrRun) run = NULL;
  g_autoptr (GError) local = NULL;

  run = ir_trial_run (bundle->trial, step, NULL, &local);
  if (run == NULL)
    {
      g_string_append_printf (bundle->readme, "- %s: the graph does not run: %s\n", what,
                              local->message);
      return TRUE;
    }
  for (guint i = 0; i < ir_graph_n_outputs (model->main); i++)
    {
      const IrValue *output = ir_graph_output (model->main, i);
      const IrTensor *tensor = ir_trial_contents (bundle->trial, run, output->id);
      g_autofree char *name = g_strdup_printf ("%s_%u", what, i);

      if (tensor == NULL)
        continue;
      if (!save_tensor (bundle, tensor, &name, error))
        return FALSE;
      g_string_append_printf (bundle->readme, "- `%s`: %s\n", name, output->name);
    }
  return TRUE;
}

/* -- the other files -- */

static gboolean
write_text (const Bundle *bundle, const char *name, const char *text, GError **error)
{
  g_autofree char *path = g_build_filename (bundle->folder, name, NULL);
  g_autoptr (GBytes) bytes = g_bytes_new (text, strlen (text));

  return ir_file_write_atomic (path, bytes, error);
}

static gboolean
write_pipeline (const Bundle *bundle, GError **error)
{
  cJSON *json = cJSON_CreateObject ();
  char *text;
  gboolean done;

  cJSON_AddStringToObject (json, "name", "reproducer");
  cJSON_AddStringToObject (json, "title", "Reproducer");
  cJSON_AddStringToObject (json, "doc", "The pass that fails, alone.");
  cJSON_AddNumberToObject (json, "max_iterations", 1);
  cJSON_AddItemToArray (cJSON_AddArrayToObject (json, "passes"),
                        cJSON_CreateString (bundle->how->pass->name));
  text = cJSON_Print (json);
  done = write_text (bundle, "pipeline.json", text, error);
  cJSON_free (text);
  cJSON_Delete (json);
  return done;
}

static gboolean
write_model (const Bundle *bundle, GError **error)
{
  g_autoptr (IrModel) model = ir_history_snapshot (bundle->part->model, 0);
  g_autofree char *path = g_build_filename (bundle->folder, "model.onnx", NULL);

  return ir_model_save (model, path, "onnx", error);
}

static gboolean
write_picture (const Bundle *bundle, GError **error)
{
  g_autofree char *path = g_build_filename (bundle->folder, "diff.svg", NULL);
  g_autoptr (IrModel)
      before = ir_history_snapshot (bundle->part->model, MAX (bundle->part->step, 1) - 1);
  g_autoptr (IrModel) after = ir_history_snapshot (bundle->part->model, bundle->part->step);
  g_autoptr (IrDiff) diff = ir_diff_new (before, after, TRUE);
  g_autoptr (IrTextMeasure) measure = ir_text_measure_new ();
  IrSceneOptions options = { .measure = ir_text_measure_width, .measure_data = measure };
  g_autoptr (IrScene)
      scene = ir_scene_new_for_diff (diff, &options, bundle->cli->cancellable, error);
  IrRenderOptions render = { 0 };
  gboolean done = scene != NULL && ir_render_file (scene, path, &render, error);

  g_free (render.note);
  return done;
}

static void
begin_command (Bundle *bundle)
{
  const CliModelOptions *model = &bundle->options->model;

  g_string_append (bundle->command, "irscope bisect model.onnx --pipeline pipeline.json");
  if (model->step_class != NULL)
    add_option (bundle, "--class", "%s", model->step_class);
  if (model->opset != 0)
    add_option (bundle, "--opset", "%" G_GINT64_FORMAT, model->opset);
  if (model->device != NULL)
    add_option (bundle, "--device", "%s", model->device);
  if (model->threads != 0)
    add_option (bundle, "--threads", "%d", model->threads);
}

static void
begin_readme (Bundle *bundle)
{
  const IrReproducer *part = bundle->part;

  g_string_append_printf (bundle->readme,
                          "# A failure of the pass %s\n\n"
                          "`model.onnx` has %u of the %u nodes that the graph had before the step "
                          "that fails%s.\n`pipeline.json` runs the pass alone. `diff.svg` shows "
                          "what the step does.\n\n",
                          bundle->how->pass->name, part->n_part, part->n_whole,
                          part->is_whole ? " (nothing smaller fails)" : "");
}

static gboolean
write_bundle (Bundle *bundle, GError **error)
{
  if (g_mkdir_with_parents (bundle->folder, 0777) != 0)
    {
      g_set_error (error, IR_IO_ERROR, IR_IO_ERROR_OPEN, "%s: cannot be made (%s)", bundle->folder,
                   g_strerror (errno));
      return FALSE;
    }
  begin_command (bundle);
  begin_readme (bundle);
  if (!write_model (bundle, error) || !write_pipeline (bundle, error) ||
      !write_picture (bundle, error) || !write_inputs (bundle, error))
    return FALSE;
  add_option (bundle, "--fail", "%s", bundle->part->predicate);
  g_string_append (bundle->readme, "\nOutputs, before and after the step:\n\n");
  if (!write_outputs (bundle, "expected", 0, error) ||
      !write_outputs (bundle, "actual", bundle->part->step, error))
    return FALSE;
  g_string_append_printf (bundle->readme,
                          "\nIn this folder, this finds the step again:\n\n    %s\n",
                          bundle->command->str);
  return write_text (bundle, "README.md", bundle->readme->str, error);
}

/* What the command does: the files are read back, the pass runs, and the failure is looked for. */
static gboolean
check_bundle (const Bundle *bundle, gboolean *fails, GError **error)
{
  g_autofree char *path = g_build_filename (bundle->folder, "model.onnx", NULL);
  g_autoptr (IrModel) model = ir_model_load (path, NULL, bundle->cli->cancellable, error);
  g_autoptr (GHashTable)
      inputs = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);
  g_auto (IrBisection) found = { 0 };

  if (model == NULL)
    return FALSE;
  for (guint i = 0; i < ir_graph_n_inputs (bundle->part->model->main); i++)
    {
      const IrValue *input = ir_graph_input (bundle->part->model->main, i);
      const IrValue *read = ir_graph_find_value (model->main, input->name);
      IrTensor *tensor = g_hash_table_lookup (bundle->part->inputs, GUINT_TO_POINTER (input->id));

      if (read != NULL && tensor != NULL)
        g_hash_table_insert (inputs, GUINT_TO_POINTER (read->id), ir_tensor_ref (tensor));
    }
  if (!ir_reproduce_check (model, inputs, bundle->part->predicate, bundle->how, &found, error))
    return FALSE;
  *fails = found.answer == IR_BISECT_FOUND;
  return TRUE;
}

/* -- the command -- */

static void
print_answer (const Bundle *bundle, const IrModel *model, guint step, gboolean reproduced)
{
  const IrReproducer *part = bundle->part;
  const char *rule = ir_history_step (model, step)->rule;
  cJSON *json;

  if (!bundle->cli->json)
    {
      printf ("step %u: %s, %s\n%u of %u nodes fail, in %s%s\n  %s\n", step,
              ir_history_pass_of (model, step), rule, part->n_part, part->n_whole, bundle->folder,
              reproduced ? "" : ", but not when read back", bundle->command->str);
      return;
    }
  json = cJSON_CreateObject ();
  cJSON_AddStringToObject (json, "answer", ir_bisect_answer_name (IR_BISECT_FOUND));
  cJSON_AddNumberToObject (json, "step", step);
  cJSON_AddStringToObject (json, "pass", ir_history_pass_of (model, step));
  cJSON_AddStringToObject (json, "rule", rule);
  cJSON_AddStringToObject (json, "folder", bundle->folder);
  cJSON_AddNumberToObject (json, "nodes", part->n_part);
  cJSON_AddNumberToObject (json, "nodes_whole", part->n_whole);
  cJSON_AddNumberToObject (json, "tries", part->tries);
  cJSON_AddStringToObject (json, "fail", part->predicate);
  cli_json_add_double (json, "value", part->value);
  cJSON_AddStringToObject (json, "command", bundle->command->str);
  cJSON_AddBoolToObject (json, "reproduced", reproduced);
  cli_json_print (json);
}

static CliStatus
print_nothing (const Cli *cli, const IrBisection *found)
{
  cJSON *json;

  if (!cli->json)
    {
      printf ("%s: there is nothing to reproduce\n", found->answer == IR_BISECT_ORIGINAL_FAILS
                                                         ? "the original graph fails already"
                                                         : "nothing fails");
      return CLI_NO;
    }
  json = cJSON_CreateObject ();
  cJSON_AddStringToObject (json, "answer", ir_bisect_answer_name (found->answer));
  cli_json_print (json);
  return CLI_NO;
}

static CliStatus
reproduce (Cli *cli, IrModel *model, IrTrial *trial, const IrBisection *found, GError **error)
{
  const Options *options = cli->options;
  const char *pass = ir_history_pass_of (model, found->step);
  g_auto (IrReproducer) part = { 0 };
  g_autoptr (GString) command = g_string_new (NULL), readme = g_string_new (NULL);
  g_autoptr (IrTrial) part_trial = NULL;
  IrReproduceOptions how = {
    .pass = ir_pass_find (pass),
    .opset = options->model.opset,
    .backend = cli_backend (&options->model, error),
    .n_threads = MAX (options->model.threads, 0),
    .cancellable = cli->cancellable,
  };
  Bundle bundle = { cli, options, options->output, NULL, &how, &part, command, readme };
  gboolean reproduced = FALSE;

  if (how.backend == NULL || !cli_class (&options->model, &how.max_class, error) ||
      !ir_reproduce (trial, found, options->fail, &how, &part, error))
    return CLI_FAILED;
  part_trial = ir_trial_new (part.model, part.inputs, how.backend, how.n_threads, cli->cancellable);
  bundle.trial = part_trial;
  if (!write_bundle (&bundle, error) || !check_bundle (&bundle, &reproduced, error))
    return CLI_FAILED;
  print_answer (&bundle, model, found->step, reproduced);
  return reproduced ? CLI_OK : CLI_NO;
}

static CliStatus
run (Cli *cli)
{
  Options *options = cli->options;
  g_auto (CliModel) opened = { 0 };
  g_auto (IrBisection) found = { 0 };
  g_autoptr (IrPredicate) predicate = NULL;
  g_autoptr (IrTrial) trial = NULL;
  g_autoptr (GError) error = NULL;
  CliStatus status;

  if (options->fail == NULL || options->output == NULL)
    {
      g_printerr ("irscope reproduce: needs --fail EXPR and -o DIR\n");
      return CLI_BAD;
    }
  predicate = ir_predicate_parse (options->fail, &error);
  if (predicate == NULL)
    {
      g_prefix_error (&error, "--fail: ");
      return cli_fail (CLI_BAD, error);
    }
  if (!cli_model_open (cli, &options->model, cli->args[0], TRUE, &opened, &status))
    return status;
  trial = cli_trial (cli, &options->model, &opened, &error);
  if (trial == NULL || !ir_bisect (trial, predicate, NULL, NULL, &found, &error) ||
      (found.answer == IR_BISECT_FOUND && ir_predicate_runs_graph (predicate) &&
       !ir_bisect_find_divergence (trial, &found, &error)))
    return cli_fail (cli_status_of (error), error);
  if (found.answer != IR_BISECT_FOUND)
    return print_nothing (cli, &found);
  status = reproduce (cli, opened.model, trial, &found, &error);
  return error != NULL ? cli_fail (cli_status_of (error), error) : status;
}

const CliCommand cli_command_reproduce = {
  .name = "reproduce",
  .arguments = "FILE[@N]",
  .summary = "Write the smallest graph on which a pass still fails, with all that shows it",
  .doc =
      "Bisects as irscope bisect does, cuts the smallest failing part out of the graph before the\n"
      "step found, and writes into DIR: model.onnx, its inputs, pipeline.json with the pass, the\n"
      "expected and the actual outputs, diff.svg, and README.md with the one command that finds the\n"
      "failure again. EXPR is explained by irscope bisect --help. The part fails if its outputs\n"
      "differ by at least half of what the step changed; conditions on the whole graph (nodes, flops,\n"
      "peak_memory, cmd) keep it whole. Exit status 1: there is nothing to reproduce, or the files,\n"
      "read back, do not fail.",
  .min_args = 1,
  .max_args = 1,
  .options = reproduce_options,
  .model_options = cli_run_options,
  .options_size = sizeof (Options),
  .run = run,
};
