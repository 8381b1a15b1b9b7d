/* A bundle: a folder that makes a failure happen again, with nothing but irscope: the smallest part
 * of a graph on which a pass still fails, its inputs, a pipeline of that pass alone, what should
 * come out and what does, a picture of the step, and the one command that finds it. */
#include "config.h"

#include "passes/debug/bundle.h"

#include "core/io/io.h"
#include "core/io/staging.h"
#include "core/diff/diff.h"
#include "core/layout/scene.h"
#include "core/render/render.h"
#include "passes/session/session-file.h"

#include <cjson/cJSON.h>
#include <glib/gstdio.h>
#include <string.h>

#define README "README.md" /* it names the others, and comes last */

/* What is being written. */
typedef struct
{
  const IrBundleOptions *options;
  const char *folder; /* where files are written */
  IrTrial *trial;     /* of the part */
  const IrReproduceOptions *how;
  const IrReproducer *part;
  GString *command, *readme;
  GPtrArray *inputs; /* of char *: a name, its file, and so on */
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
      g_ptr_array_add (bundle->inputs, g_strdup (input->name));
      g_ptr_array_add (bundle->inputs, g_steal_pointer (&name));
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
  g_autoptr (GPtrArray) passes = g_ptr_array_new ();
  const IrPipeline pipeline = {
    .name = (char *) "reproducer",
    .title = (char *) "Reproducer",
    .doc = (char *) "The pass that fails, alone.",
    .passes = passes,
    .max_iterations = 1,
  };
  g_autofree char *text = NULL;

  g_ptr_array_add (passes, (gpointer) bundle->how->pass);
  text = ir_pipeline_to_json (&pipeline);
  return write_text (bundle, "pipeline.json", text, error);
}

static gboolean
write_model (const Bundle *bundle, GError **error)
{
  g_autoptr (IrModel) model = ir_history_snapshot (bundle->part->model, 0);
  g_autofree char *path = g_build_filename (bundle->folder, "model.onnx", NULL);

  return ir_model_save (model, path, "onnx", NULL, error);
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
      scene = ir_scene_new_for_diff (diff, &options, bundle->how->cancellable, error);
  IrRenderOptions render = { 0 };
  gboolean done = scene != NULL && ir_render_file (scene, path, &render, error);

  g_free (render.note);
  return done;
}

/* The part with its inputs and the pass that fails, at the step that fails: what irscope view --session opens. */
static gboolean
write_session (const Bundle *bundle, GError **error)
{
  const IrReproducer *part = bundle->part;
  g_autoptr (IrSessionFile) file = ir_session_file_new ();
  g_autofree char *path = g_build_filename (bundle->folder, "session.json", NULL),
                  *pipeline = g_build_filename (bundle->folder, "pipeline.json", NULL);
  IrDone *done = ir_done_new (IR_DONE_PIPELINE, pipeline, NULL, 0);

  file->model = g_build_filename (bundle->folder, "model.onnx", NULL);
  file->sha256 = ir_session_hash (file->model, error);
  file->pipeline = g_strdup (pipeline);
  file->step_class = g_strdup (bundle->options->step_class);
  file->step = part->step;
  ir_done_expect (done, part->model, ir_history_n_steps (part->model));
  g_ptr_array_add (file->done, done);
  file->n_done = 1;
  for (guint i = 0; i < bundle->inputs->len; i += 2)
    {
      g_autofree char *full = g_build_filename (bundle->folder, bundle->inputs->pdata[i + 1], NULL);

      ir_session_file_add_input (file, bundle->inputs->pdata[i], "file", full);
    }
  return file->sha256 != NULL && ir_session_file_write (file, path, error);
}

static void
begin_command (Bundle *bundle)
{
  const IrBundleOptions *options = bundle->options;

  g_string_append (bundle->command, "irscope bisect model.onnx --pipeline pipeline.json");
  if (options->step_class != NULL)
    add_option (bundle, "--class", "%s", options->step_class);
  if (options->device != NULL)
    add_option (bundle, "--device", "%s", options->device);
  if (options->threads != 0)
    add_option (bundle, "--threads", "%d", options->threads);
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
  begin_command (bundle);
  begin_readme (bundle);
  if (!write_model (bundle, error) || !write_pipeline (bundle, error) ||
      !write_picture (bundle, error) || !write_inputs (bundle, error) ||
      !write_session (bundle, error))
    return FALSE;
  add_option (bundle, "--fail", "%s", bundle->part->predicate);
  g_string_append (bundle->readme, "\nOutputs, before and after the step:\n\n");
  if (!write_outputs (bundle, "expected", 0, error) ||
      !write_outputs (bundle, "actual", bundle->part->step, error))
    return FALSE;
  g_string_append_printf (bundle->readme,
                          "\nIn this folder, this finds the step again:\n\n    %s\n\n"
                          "and this opens it in the window:\n\n"
                          "    irscope view --session session.json\n",
                          bundle->command->str);
  return write_text (bundle, README, bundle->readme->str, error);
}

/* What the command does: the files are read back, the pass runs, and the failure is looked for. */
static gboolean
check_bundle (const Bundle *bundle, gboolean *fails, GError **error)
{
  g_autofree char *path = g_build_filename (bundle->folder, "model.onnx", NULL);
  g_autoptr (IrModel) model = ir_model_load (path, NULL, bundle->how->cancellable, error);
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

/**
 * ir_bundle_write:
 * @trial: the history that was bisected
 * @found: of ir_bisect() and ir_bisect_find_divergence() on @trial: a step was found
 * @predicate: its text
 * @how: how the pass is run
 * @options: where to write, and what the command repeats
 * @result: (out caller-allocates): what was written; clear with ir_bundle_clear()
 * @error: return location for an error
 *
 * Cuts the smallest failing part out of the graph before the step, writes the folder, reads it back
 * and tries whether the part fails as it does here.
 *
 * Returns: %FALSE if the part could not be cut out or the folder not be written
 */
gboolean
ir_bundle_write (IrTrial *trial,
                 const IrBisection *found,
                 const char *predicate,
                 const IrReproduceOptions *how,
                 const IrBundleOptions *options,
                 IrBundle *result,
                 GError **error)
{
  g_autoptr (GString) command = g_string_new (NULL), readme = g_string_new (NULL);
  g_autoptr (GPtrArray) inputs = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (IrTrial) part_trial = NULL;
  g_autoptr (IrStaging) stage = ir_staging_new (options->folder, error);

  if (stage == NULL)
    return FALSE;
  Bundle bundle = { options, ir_staging_folder (stage), NULL, how, &result->part, command, readme,
                    inputs };
  memset (result, 0, sizeof *result);
  if (!ir_reproduce (trial, found, predicate, how, &result->part, error))
    return FALSE;
  part_trial = ir_trial_new (result->part.model, result->part.inputs, how->backend, how->n_threads,
                             how->cancellable);
  bundle.trial = part_trial;
  if (!write_bundle (&bundle, error) || !check_bundle (&bundle, &result->reproduced, error) ||
      !ir_staging_commit (stage, README, error))
    return FALSE;
  result->command = g_strdup (command->str);
  return TRUE;
}

/**
 * ir_bundle_clear:
 * @result: what ir_bundle_write() filled, or zeros
 */
void
ir_bundle_clear (IrBundle *result)
{
  ir_reproducer_clear (&result->part);
  g_clear_pointer (&result->command, g_free);
}
