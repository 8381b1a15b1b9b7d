/* Training states of a model, out of its TrainingInfoProto, which the reader keeps as it is. */
#include "config.h"

#include "core/io/onnx/onnx.h"

#define FIELD_TRAINING_INFO 20 /* of ModelProto */
#define FIELD_ALGORITHM     2  /* of TrainingInfoProto */
#define FIELD_INITIALIZER   5  /* of GraphProto */

static void
read_states (IrOnnxReader *reader, const IrWireField *graph, GHashTable *states)
{
  IrWire wire;
  IrWireField part;

  ir_wire_init_field (&wire, graph);
  while (ir_wire_next (&wire, &part))
    if (part.id == FIELD_INITIALIZER)
      {
        const char *name = NULL;
        const IrType *type = NULL;
        IrTensor *tensor = ir_onnx_read_tensor (reader, &part, "Training state", &name, &type);
        if (tensor != NULL && name != NULL)
          g_hash_table_replace (states, g_strdup (name), tensor);
        else
          g_clear_pointer (&tensor, ir_tensor_unref);
      }
}

/**
 * ir_onnx_training_states:
 * @model: a model
 * @error: return location for an error
 *
 * Fails with %IR_IO_ERROR_FORMAT if it has no training_info, or none that can be read.
 *
 * Returns: (transfer full) (nullable): name -> #IrTensor: initializers of its algorithms
 */
GHashTable *
ir_onnx_training_states (IrModel *model, GError **error)
{
  GBytes *unknown = model->info->extra.unknown;
  g_autoptr (GHashTable) states = g_hash_table_new_full (g_str_hash, g_str_equal, g_free,
                                                         (GDestroyNotify) ir_tensor_unref);
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (IrDraft) draft = ir_draft_new (model->context, problems, NULL);
  g_autoptr (GHashTable) files = g_hash_table_new (NULL, NULL);
  g_autofree char *folder = model->path != NULL ? g_path_get_dirname (model->path) : NULL;
  IrOnnxReader reader = { draft, model->context, unknown, NULL, folder, files, model->keep_alive };
  gboolean some = FALSE;
  gsize length = 0;
  IrWire wire, info;
  IrWireField field, part;

  reader.base = unknown != NULL ? g_bytes_get_data (unknown, &length) : NULL;
  ir_wire_init (&wire, reader.base, length);
  while (length > 0 && ir_wire_next (&wire, &field))
    if (field.id == FIELD_TRAINING_INFO)
      {
        some = TRUE;
        ir_wire_init_field (&info, &field);
        while (ir_wire_next (&info, &part))
          if (part.id == FIELD_ALGORITHM)
            read_states (&reader, &part, states);
      }
  if (some && problems->len == 0)
    return g_steal_pointer (&states);
  g_set_error (error, IR_IO_ERROR, IR_IO_ERROR_FORMAT, "%s%s",
               some ? "its training_info is damaged: " : "it has no training_info",
               problems->len > 0 ? ((const IrProblem *) problems->pdata[0])->message : "");
  return NULL;
}

/**
 * ir_onnx_without_training:
 * @unknown: (nullable): fields of a model that its reader has kept as they are
 *
 * Returns: (transfer full): the same without training_info
 */
GBytes *
ir_onnx_without_training (GBytes *unknown)
{
  GByteArray *kept = g_byte_array_new ();
  gsize length = 0;
  const guint8 *data = unknown != NULL ? g_bytes_get_data (unknown, &length) : NULL;
  IrWireField field;
  IrWire wire;

  ir_wire_init (&wire, data, length);
  while (length > 0 && ir_wire_next (&wire, &field))
    if (field.id != FIELD_TRAINING_INFO)
      g_byte_array_append (kept, field.raw, (guint) field.raw_length);
  return g_byte_array_free_to_bytes (kept);
}
