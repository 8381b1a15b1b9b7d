/* Tensors as files of their own: .npy, and ONNX's TensorProto as the test cases of ONNX use it. */
#include "config.h"

#include "core/io/formats.h"
#include "core/io/mapped-file.h"
#include "core/io/onnx-private.h"

#include <string.h>

static gboolean
is_npy (const char *path)
{
  return g_str_has_suffix (path, ".npy");
}

/* A SequenceProto and an OptionalProto begin otherwise; they are no tensors. */
static IrTensor *
read_proto (GBytes *bytes, const char *path, GError **error)
{
  g_autoptr (IrContext) context = ir_context_new ();
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (IrDraft) draft = ir_draft_new (context, problems);
  IrOnnxReader reader = { .draft = draft, .context = context, .bytes = bytes };
  IrWireField field = { .type = IR_WIRE_BYTES };
  IrTensor *tensor;

  field.data = field.raw = reader.base = g_bytes_get_data (bytes, &field.length);
  tensor = field.length > 0 ? ir_onnx_read_tensor (&reader, &field, "Tensor", NULL, NULL) : NULL;
  if (tensor == NULL)
    g_set_error (error, IR_IO_ERROR, IR_IO_ERROR_FORMAT, "%s: is no tensor. %s", path,
                 problems->len > 0 ? ((const IrProblem *) problems->pdata[0])->message : "");
  return tensor;
}

/**
 * ir_tensor_load:
 * @path: a .npy file, or a TensorProto (.pb)
 * @error: return location for an error
 *
 * Maps the file; the bytes of the tensor stay in it. The first bytes tell the format.
 *
 * Returns: (transfer full) (nullable): the tensor
 */
IrTensor *
ir_tensor_load (const char *path, GError **error)
{
  g_autoptr (IrMappedFile) file = ir_mapped_file_open (path, error);
  g_autoptr (GBytes) bytes = NULL;
  gsize length;
  const char *data;
  IrTensor *tensor;

  if (file == NULL)
    return NULL;
  bytes = ir_mapped_file_bytes (file);
  data = g_bytes_get_data (bytes, &length);
  if (is_npy (path) || (length >= 6 && memcmp (data, "\x93NUMPY", 6) == 0))
    {
      tensor = ir_npy_read (bytes, error);
      if (tensor == NULL)
        g_prefix_error (error, "%s: ", path);
      return tensor;
    }
  return read_proto (bytes, path, error);
}

/**
 * ir_tensor_save:
 * @tensor: a tensor
 * @path: where to: .npy for NumPy's format, anything else for a TensorProto
 * @error: return location for an error
 *
 * Replaces the file as a whole or not at all.
 *
 * Returns: %TRUE if it is saved
 */
gboolean
ir_tensor_save (const IrTensor *tensor, const char *path, GError **error)
{
  g_autoptr (GBytes) bytes = NULL;

  if (is_npy (path))
    bytes = ir_npy_write (tensor, error);
  else
    {
      IrWireWriter writer;

      ir_wire_writer_init (&writer);
      if (ir_tensor_sparse_values (tensor) != NULL)
        ir_onnx_write_sparse_tensor (&writer, tensor, NULL, NULL);
      else
        ir_onnx_write_tensor (&writer, tensor, NULL, NULL);
      bytes = ir_wire_writer_steal_bytes (&writer);
    }
  return bytes != NULL && ir_file_write_atomic (path, bytes, error);
}
