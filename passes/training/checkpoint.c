/* The file of a training run: the network as it is used, with the weights of now as its initializers,
 * and in training_info the optimizer, its states and what becomes of what. Where the run stands is in the
 * metadata. What else is random follows from the seed and that place, so that is the random state.
 *
 *   irscope.training   {"step": 45, "epoch": 1, "place": 0, "seed": "1", ...}
 *
 * Source: ONNX TrainingInfoProto. */
#include "config.h"

#include "core/io/io.h"
#include "passes/training/training.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define KEY "irscope.training"

/* -- where it stands, as text -- */

/* All bits of it, as C writes them. */
static void
add_exact (cJSON *json, const char *key, double value)
{
  g_autofree char *text = g_strdup_printf ("%a", value);

  cJSON_AddStringToObject (json, key, text);
}

static void
add_count (cJSON *json, const char *key, guint64 value)
{
  g_autofree char *text = g_strdup_printf ("%" G_GUINT64_FORMAT, value);

  cJSON_AddStringToObject (json, key, text);
}

static char *
place_text (const IrTrainer *trainer, const IrCheckpointKey *key)
{
  IrTrainerPlace place = ir_trainer_place (trainer);
  guint64 per_epoch = ir_trainer_steps_per_epoch (trainer);
  cJSON *json = cJSON_CreateObject ();

  add_count (json, "step", place.step);
  add_count (json, "epoch", place.step / per_epoch);
  add_count (json, "place", place.step % per_epoch * key->batch);
  add_count (json, "seed", key->seed);
  add_count (json, "batch", key->batch);
  add_count (json, "samples", key->n_training);
  cJSON_AddStringToObject (json, "method", key->method);
  add_exact (json, "loss", place.loss);
  add_exact (json, "right", place.right);
  char *raw = cJSON_PrintUnformatted (json), *text = g_strdup (raw);
  cJSON_free (raw);
  cJSON_Delete (json);
  return text;
}

static guint64
count_of (const cJSON *json, const char *key)
{
  const char *text = cJSON_GetStringValue (cJSON_GetObjectItemCaseSensitive (json, key));

  return text != NULL ? g_ascii_strtoull (text, NULL, 10) : G_MAXUINT64;
}

static double
exact_of (const cJSON *json, const char *key)
{
  const char *text = cJSON_GetStringValue (cJSON_GetObjectItemCaseSensitive (json, key));

  return text != NULL ? g_ascii_strtod (text, NULL) : NAN;
}

/* -- saving -- */

/* (transfer full) name -> IrTensor */
static GHashTable *
tensors_of (const IrTrainer *trainer)
{
  const GArray *states = ir_trainer_states (trainer);
  GHashTable *tensors = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 0; i < states->len; i++)
    {
      const IrTrainerState *state = &g_array_index (states, IrTrainerState, i);
      g_hash_table_insert (tensors, state->name, state->tensor);
    }
  return tensors;
}

static void
set_place (IrModel *model, const IrModel *algorithm, const char *text)
{
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);
  IrModelInfo info = *model->info;
  g_autoptr (GBytes) unknown = ir_onnx_without_training (info.extra.unknown);

  info.extra.unknown = g_bytes_get_size (unknown) > 0 ? unknown : NULL;
  info.ir_version = MAX (info.ir_version, 7); /* training_info */
  ir_edit_set_info (edit, &info);
  ir_edit_set_metadata (edit, KEY, text);
  for (guint i = 0; i < algorithm->opsets->n; i++)
    if (ir_model_opset (model, algorithm->opsets->opsets[i].domain) == 0)
      ir_edit_set_opset (edit, algorithm->opsets->opsets[i].domain,
                         algorithm->opsets->opsets[i].version);
}

static GPtrArray *
bindings_of (const IrModel *algorithm)
{
  GPtrArray *bindings = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; i < ir_graph_n_outputs (algorithm->main); i++)
    {
      const char *output = ir_graph_output (algorithm->main, i)->name;
      if (!g_str_has_suffix (output, IR_TRAINING_SUFFIX))
        continue;
      g_ptr_array_add (bindings, g_strndup (output, strlen (output) - strlen (IR_TRAINING_SUFFIX)));
      g_ptr_array_add (bindings, g_strdup (output));
    }
  return bindings;
}

/**
 * ir_checkpoint_save:
 * @training: graphs of a training
 * @trainer: the run
 * @key: what another run must have in common to go on from there
 * @path: where to
 * @error: return location for an error
 *
 * Writes the network with the weights of now, and all that a run needs to go on, as one act: the
 * file is replaced as a whole.
 *
 * Returns: %TRUE if it is written
 */
gboolean
ir_checkpoint_save (const IrTraining *training,
                    const IrTrainer *trainer,
                    const IrCheckpointKey *key,
                    const char *path,
                    GError **error)
{
  g_autoptr (IrModel) result = ir_model_clone (training->result);
  g_autoptr (GPtrArray) bindings = bindings_of (training->algorithm);
  g_autoptr (GHashTable) tensors = tensors_of (trainer);
  g_autofree char *text = place_text (trainer, key);

  set_place (result, training->algorithm, text);
  const IrOnnxTraining written = { training->algorithm, (const char *const *) bindings->pdata,
                                   bindings->len / 2, tensors };
  return ir_onnx_save_training (result, &written, path, error);
}

/* -- going on -- */

static gboolean fail (GError **error, const char *format, ...) G_GNUC_PRINTF (2, 3);

static gboolean
fail (GError **error, const char *format, ...)
{
  va_list args;

  va_start (args, format);
  g_autofree char *message = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error_literal (error, IR_EXEC_ERROR, IR_EXEC_ERROR_INPUT, message);
  return FALSE;
}

static gboolean
check_count (const cJSON *json, const char *name, const char *what, guint64 needed, GError **error)
{
  guint64 found = count_of (json, name);

  return found == needed ||
         fail (error,
               "it was trained with %s %" G_GUINT64_FORMAT ", and now it is %" G_GUINT64_FORMAT
               "; the same bits need the same",
               what, found, needed);
}

static gboolean
check_key (const cJSON *json, const IrCheckpointKey *key, GError **error)
{
  const char *method = cJSON_GetStringValue (cJSON_GetObjectItemCaseSensitive (json, "method"));

  if (!check_count (json, "seed", "--seed", key->seed, error) ||
      !check_count (json, "batch", "--batch", key->batch, error) ||
      !check_count (json, "samples", "a number of samples of", key->n_training, error))
    return FALSE;
  return g_strcmp0 (method, key->method) == 0 ||
         fail (error, "it was trained by \"%s\", and now it would be by \"%s\"",
               method != NULL ? method : "?", key->method);
}

/* Weights are initializers of the network, the rest those of the algorithm. */
static GHashTable *
read_tensors (IrModel *model, GError **error)
{
  GHashTable *tensors = ir_onnx_training_states (model, error);
  guint n;
  IrValue *const *values = ir_graph_values (model->main, &n);

  for (guint i = 0; tensors != NULL && i < n; i++)
    if (values[i]->initializer != NULL)
      g_hash_table_replace (tensors, g_strdup (values[i]->name),
                            ir_tensor_ref (values[i]->initializer));
  return tensors;
}

static gboolean
resume (IrTrainer *trainer, const IrCheckpointKey *key, IrModel *model, GError **error)
{
  const IrProps *props = model->info->extra.props;
  const char *text = props != NULL ? ir_props_get (props, KEY) : NULL;
  cJSON *json = text != NULL ? cJSON_Parse (text) : NULL;
  gboolean done = FALSE;

  if (json == NULL)
    return fail (error, "it is no checkpoint: its metadata say nothing of a training");
  const IrTrainerPlace place = { count_of (json, "step"), exact_of (json, "loss"),
                                 exact_of (json, "right") };
  if (place.step == G_MAXUINT64)
    fail (error, "its metadata do not say where the training stands");
  else if (check_key (json, key, error))
    {
      g_autoptr (GHashTable) tensors = read_tensors (model, error);
      done = tensors != NULL && ir_trainer_resume (trainer, &place, tensors, error);
    }
  cJSON_Delete (json);
  return done;
}

/**
 * ir_checkpoint_resume:
 * @trainer: a training run before its first step
 * @key: what it is
 * @path: a file that ir_checkpoint_save() has written
 * @error: return location for an error
 *
 * Goes on from there: the same bits follow as without an interruption.
 *
 * Fails with %IR_EXEC_ERROR_INPUT, naming the file and what is another than it was, and where the
 * file cannot be read.
 *
 * Returns: %TRUE if the run stands where that one stood
 */
gboolean
ir_checkpoint_resume (IrTrainer *trainer,
                      const IrCheckpointKey *key,
                      const char *path,
                      GError **error)
{
  g_autoptr (IrModel) model = ir_model_load (path, NULL, NULL, error);

  if (model == NULL)
    return FALSE;
  if (resume (trainer, key, model, error))
    return TRUE;
  g_prefix_error (error, "%s: ", path);
  return FALSE;
}
