/* The table of formats, and opening and saving by it. A new format is a row here. */
#include "config.h"

#include "core/io/formats.h"
#include "core/io/mapped-file.h"
#include "core/ir/history.h"
#include "core/ir/origin.h"
#include "core/op/infer.h"

#include <string.h>

static const char *const onnx_extensions[] = { "onnx", "onnx.pb", NULL };

static const IrFormat onnx_format = { "onnx", "ONNX model", onnx_extensions, ir_onnx_read_file,
                                      ir_onnx_write_file };

static const char *const text_extensions[] = { "onnxtxt", "onnx.txt", "txt", NULL };

static const IrFormat text_format = { "text", "ONNX text", text_extensions, ir_text_read_file,
                                      ir_text_write_file };

static const char *const json_extensions[] = { "json", NULL };

static const IrFormat json_format = { "json", "JSON", json_extensions, ir_json_read_file,
                                      ir_json_write_file };

static const char *const dot_extensions[] = { "dot", "gv", NULL };

static const IrFormat dot_format = { "dot", "Graphviz DOT", dot_extensions, ir_dot_read_file,
                                     ir_dot_write_file };

static const IrFormat *const formats[] = { &onnx_format, &text_format, &json_format, &dot_format };

/**
 * ir_formats:
 * @n: (out): how many
 *
 * Returns: (transfer none) (array length=n): all formats
 */
const IrFormat *const *
ir_formats (guint *n)
{
  *n = G_N_ELEMENTS (formats);
  return formats;
}

static gboolean
has_extension (const char *path, const char *extension)
{
  gsize path_length = strlen (path), length = strlen (extension);

  return path_length > length + 1 && path[path_length - length - 1] == '.' &&
         g_ascii_strcasecmp (path + path_length - length, extension) == 0;
}

/**
 * ir_format_find:
 * @name_or_path: name of a format, or a file name
 *
 * Returns: (transfer none) (nullable): the format of that name, else the one with that extension
 */
const IrFormat *
ir_format_find (const char *name_or_path)
{
  for (guint i = 0; i < G_N_ELEMENTS (formats); i++)
    if (strcmp (formats[i]->name, name_or_path) == 0)
      return formats[i];
  for (guint i = 0; i < G_N_ELEMENTS (formats); i++)
    for (guint e = 0; formats[i]->extensions[e] != NULL; e++)
      if (has_extension (name_or_path, formats[i]->extensions[e]))
        return formats[i];
  return NULL;
}

/* Protobuf starts with the tag of a small field; text formats with text. */
static const IrFormat *
find_by_contents (const char *path)
{
  g_autoptr (IrMappedFile) file = ir_mapped_file_open (path, NULL);
  g_autoptr (GBytes) bytes = file != NULL ? ir_mapped_file_bytes (file) : NULL;
  gsize length = 0, at = 0;
  const char *data = bytes != NULL ? g_bytes_get_data (bytes, &length) : NULL;

  length = MIN (length, 4096);
  if (length == 0 || !g_utf8_validate_len (data, length, NULL) || data[0] == '\b' ||
      data[0] == '\n')
    return ir_format_find ("onnx");
  while (at < length && g_ascii_isspace (data[at]))
    at++;
  if (at < length && data[at] == '{')
    return ir_format_find ("json");
  if (g_strstr_len (data, (gssize) length, "graph") == data + at && strstr (data, "=>") == NULL)
    return ir_format_find ("dot");
  return ir_format_find ("text");
}

/**
 * ir_model_load:
 * @path: a model file of any format
 * @problems: (nullable): gets the findings
 * @cancellable: (nullable): stops reading
 * @error: return location for an error
 *
 * Opens a model and infers the types of its values.
 *
 * Fails with %IR_IO_ERROR_OPEN or %IR_IO_ERROR_FORMAT only if nothing of a model is there, and with
 * %G_IO_ERROR_CANCELLED.
 *
 * Returns: (transfer full) (nullable): the model, perhaps with problems
 */
IrModel *
ir_model_load (const char *path, GPtrArray *problems, GCancellable *cancellable, GError **error)
{
  const IrFormat *format = ir_format_find (path);
  g_autoptr (IrModel) model = NULL;
  g_autoptr (IrEdit) edit = NULL;
  g_autoptr (GError) cause = NULL;

  if (format == NULL)
    format = find_by_contents (path);
  model = format->read (path, problems, cancellable, &cause);
  /* Then what the reader says of it is said of a part. */
  if (g_cancellable_set_error_if_cancelled (cancellable, error))
    return NULL;
  if (model == NULL)
    {
      g_propagate_error (error, g_steal_pointer (&cause));
      return NULL;
    }
  edit = ir_edit_new_import (model);
  ir_infer_model (edit, IR_INFER_DEFAULT, problems);
  return g_steal_pointer (&model);
}

/**
 * ir_model_save:
 * @model: a model
 * @path: file to make or replace
 * @format: (nullable): name of a format; %NULL: by the extension of @path
 * @cancellable: (nullable): polled before the file takes its place
 * @error: return location for an error
 *
 * Saves a model, atomically. A model whose file was changed by somebody else is not saved, since
 * its weights are not what they were. If steps of its history were applied, their lineage is
 * written into the metadata (ir_model_with_origins()).
 *
 * Returns: %TRUE if it is saved
 */
gboolean
ir_model_save (
    IrModel *model, const char *path, const char *format, GCancellable *cancellable, GError **error)
{
  g_autoptr (GError) cause = NULL;
  const IrFormat *row = ir_format_find (format != NULL ? format : path);
  g_autoptr (IrModel) traced = NULL;

  if (row == NULL || row->write == NULL)
    {
      g_set_error (
          error, IR_IO_ERROR, IR_IO_ERROR_UNSUPPORTED,
          "%s: no format to write is known by that name; use .onnx, .onnxtxt, .json or .dot.",
          format != NULL ? format : path);
      return FALSE;
    }
  if (g_cancellable_set_error_if_cancelled (cancellable, error) ||
      !ir_model_check_file (model, error))
    return FALSE;
  traced = model->log != NULL && ir_history_cursor (model) > 0 ? ir_model_with_origins (model)
                                                               : ir_model_ref (model);
  if (row->write (traced, path, cancellable, &cause))
    return TRUE;
  if (cause != NULL)
    g_propagate_error (error, g_steal_pointer (&cause));
  else
    g_cancellable_set_error_if_cancelled (cancellable, error);
  return FALSE;
}

/**
 * ir_model_check_file:
 * @model: a model
 * @error: return location for an error
 *
 * Whether every file that tensors of @model lie in is what it was when it was opened.
 *
 * Fails with %IR_IO_ERROR_CHANGED.
 *
 * Returns: %TRUE if the weights can be trusted
 */
gboolean
ir_model_check_file (IrModel *model, GError **error)
{
  for (guint i = 0; i < model->keep_alive->len; i++)
    if (!ir_mapped_file_check (model->keep_alive->pdata[i], error))
      return FALSE;
  return TRUE;
}
