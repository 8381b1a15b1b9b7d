/* Tensors and other values as files of their own: .npy, and ONNX's TensorProto, SequenceProto,
 * OptionalProto and MapProto as the test cases of ONNX use them. */
#include "config.h"

#include "core/io/formats.h"
#include "core/ir/tensor-text.h"
#include "core/io/mapped-file.h"
#include "core/io/onnx/onnx.h"

#include <string.h>

static gboolean
is_npy (const char *path)
{
  return g_str_has_suffix (path, ".npy");
}

/* @type: (nullable): what the value should be; only that tells which message it is. */
static IrTensor *
read_proto (GBytes *bytes, const char *path, const IrType *type, GError **error)
{
  g_autoptr (IrContext) context = ir_context_new ();
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (IrDraft) draft = ir_draft_new (context, problems, NULL);
  IrOnnxReader reader = { .draft = draft, .context = context, .bytes = bytes };
  IrWireField field = { .type = IR_WIRE_BYTES };
  IrTypeKind kind = type != NULL ? type->kind : IR_TYPE_TENSOR;
  gboolean is_container = kind == IR_TYPE_SEQUENCE || kind == IR_TYPE_OPTIONAL ||
                          kind == IR_TYPE_MAP;
  IrTensor *tensor = NULL;

  field.data = field.raw = reader.base = g_bytes_get_data (bytes, &field.length);
  if (is_container)
    tensor = ir_onnx_read_container (&reader, &field, kind, type, 0);
  else if (field.length > 0)
    tensor = ir_onnx_read_tensor (&reader, &field, "Tensor", NULL, NULL);
  if (tensor == NULL)
    g_set_error (error, IR_IO_ERROR, IR_IO_ERROR_FORMAT, "%s: is no %s. %s", path,
                 is_container ? "value of the input's type" : "tensor",
                 problems->len > 0 ? ((const IrProblem *) problems->pdata[0])->message : "");
  return tensor;
}

/**
 * ir_value_load:
 * @path: a .npy file, or a TensorProto, SequenceProto, OptionalProto or MapProto (.pb)
 * @type: (nullable): type of the value that it is for; %NULL: a tensor
 * @error: return location for an error
 *
 * Maps the file; the bytes of tensors stay in it. The first bytes tell .npy from the others, and
 * @type which of those it is. A tensor in a .npy file becomes an optional that holds it where
 * @type says so.
 *
 * Returns: (transfer full) (nullable): the value
 */
IrTensor *
ir_value_load (const char *path, const IrType *type, GError **error)
{
  g_autoptr (IrMappedFile) file = ir_mapped_file_open (path, error);
  g_autoptr (GBytes) bytes = NULL;
  g_autoptr (IrTensor) tensor = NULL;
  gsize length;
  const char *data;

  if (file == NULL)
    return NULL;
  bytes = ir_mapped_file_bytes (file);
  data = g_bytes_get_data (bytes, &length);
  if (!is_npy (path) && (length < 6 || memcmp (data, "\x93NUMPY", 6) != 0))
    return read_proto (bytes, path, type, error);
  tensor = ir_npy_read (bytes, error);
  if (tensor == NULL)
    g_prefix_error (error, "%s: ", path);
  return tensor != NULL && type != NULL && type->kind == IR_TYPE_OPTIONAL
             ? ir_tensor_new_optional (NULL, tensor)
             : g_steal_pointer (&tensor);
}

/**
 * ir_tensor_load:
 * @path: a .npy file, or a TensorProto (.pb)
 * @error: return location for an error
 *
 * As ir_value_load(), of a tensor.
 *
 * Returns: (transfer full) (nullable): the tensor
 */
IrTensor *
ir_tensor_load (const char *path, GError **error)
{
  return ir_value_load (path, NULL, error);
}

static gboolean
stream_csv (GOutputStream *stream, gpointer tensor, GError **error)
{
  return ir_tensor_write_csv (tensor, stream, error);
}

static gboolean
is_csv (const char *path)
{
  return g_str_has_suffix (path, ".csv");
}

static gboolean
stream_message (GOutputStream *stream, gpointer writer, GError **error)
{
  return ir_wire_writer_to_stream (writer, stream, error);
}

/* Whether it is a closure or has one inside */
static gboolean
has_closure (const IrTensor *tensor)
{
  gboolean has = ir_tensor_closure_function (tensor) != NULL;

  for (guint i = 0; !has && i < ir_tensor_n_items (tensor); i++)
    has = has_closure (ir_tensor_item (tensor, i));
  return has;
}

/**
 * ir_tensor_save:
 * @tensor: a tensor, or a sequence, an optional or a map
 * @path: where to: .npy for NumPy's format, .csv for text, anything else for ONNX's message of that kind
 * @error: return location for an error
 *
 * Replaces the file as a whole or not at all. Fails with %IR_IO_ERROR_UNSUPPORTED where the format
 * cannot hold the value: .npy and .csv have no sequences, and no file has closures; and with %IR_IO_ERROR_LIMIT for messages of more
 * than 2 GiB.
 *
 * Returns: %TRUE if it is saved
 */
gboolean
ir_tensor_save (const IrTensor *tensor, const char *path, GError **error)
{
  g_autoptr (GBytes) bytes = NULL;
  IrWireWriter writer;

  if ((is_npy (path) || is_csv (path)) && ir_tensor_is_container (tensor))
    {
      g_set_error (error, IR_IO_ERROR, IR_IO_ERROR_UNSUPPORTED,
                   "%s: such a file holds one tensor; save a sequence, optional or map as .pb",
                   path);
      return FALSE;
    }
  if (has_closure (tensor))
    {
      g_set_error (
          error, IR_IO_ERROR, IR_IO_ERROR_UNSUPPORTED,
          "%s: no file holds a closure, which names a function of its model; save what a Call gives",
          path);
      return FALSE;
    }
  if (is_csv (path))
    return ir_file_stream_atomic (path, stream_csv, (gpointer) tensor, error);
  if (is_npy (path))
    bytes = ir_npy_write (tensor, error);
  if (is_npy (path))
    return bytes != NULL && ir_file_write_atomic (path, bytes, error);
  ir_wire_writer_init (&writer);
  ir_onnx_write_value (&writer, tensor);
  gboolean ok = ir_wire_writer_fits (&writer, "The value", "save a tensor of numbers as .npy",
                                     error) &&
                ir_file_stream_atomic (path, stream_message, &writer, error);
  ir_wire_writer_clear (&writer);
  return ok;
}
