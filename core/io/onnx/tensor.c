/* TensorProto and SparseTensorProto.
 *
 *   dims 1 (packed or not)   data_type 2   segment 3 (kept raw)
 *   raw_data 9               all but strings: little-endian, as in memory; never copied
 *   float_data 4             float, complex64 (pairs)
 *   int32_data 5             int32, 16- and 8-bit integers, bool; the bits of float16, bfloat16,
 *                            float8, float6; bytes of packed 4- and 2-bit elements
 *   string_data 6            int64_data 7: int64     uint64_data 11: uint64, uint32
 *   double_data 10           double, complex128 (pairs)
 *   name 8   doc_string 12   external_data 13 { key 1, value 2 }   data_location 14
 *   metadata_props 16 (kept raw)
 *
 * A sparse one: values 1, indices 2, dims 3.
 */
#include "config.h"

#include "core/io/onnx/onnx.h"

#include <string.h>

typedef struct
{
  const char *what;   /* for messages */
  guint64 code;       /* data_type */
  GArray *dims;       /* of guint64 */
  GBytes *raw;        /* (nullable) raw_data, or float_data and double_data as one packed run */
  guint raw_field;    /* where @raw is from */
  guint data_field;   /* the last numeric field seen, 0 = none */
  GArray *numbers;    /* of guint64: what stood in it */
  GPtrArray *strings; /* of GBytes */
  gboolean external;
  IrTensorOrigin origin;
  GByteArray *unknown;
} Parts;

static void
parts_init (Parts *parts, const char *what)
{
  memset (parts, 0, sizeof *parts);
  parts->what = what;
  parts->dims = g_array_new (FALSE, FALSE, sizeof (guint64));
  parts->numbers = g_array_new (FALSE, FALSE, sizeof (guint64));
  parts->strings = g_ptr_array_new_with_free_func ((GDestroyNotify) g_bytes_unref);
  parts->origin.offset = parts->origin.length = -1;
}

static void
parts_clear (Parts *parts)
{
  g_array_unref (parts->dims);
  g_array_unref (parts->numbers);
  g_ptr_array_unref (parts->strings);
  g_clear_pointer (&parts->raw, g_bytes_unref);
  g_clear_pointer (&parts->origin.unknown, g_bytes_unref);
  g_clear_pointer (&parts->unknown, g_byte_array_unref);
}

static GBytes *
slice (IrOnnxReader *reader, const guint8 *data, gsize length)
{
  return g_bytes_new_from_bytes (reader->bytes, length > 0 ? (gsize) (data - reader->base) : 0,
                                 length);
}

static gint64
parse_number (const char *text)
{
  char *end = NULL;
  guint64 number = g_ascii_strtoull (text, &end, 10);

  return end == text || *end != '\0' || text[0] == '-' || number > G_MAXINT64 ? -1
                                                                              : (gint64) number;
}

static void
read_external_entry (IrOnnxReader *reader, const IrWireField *field, Parts *parts)
{
  const char *key = "", *value = "";
  IrWire wire;
  IrWireField part;

  ir_wire_init_field (&wire, field);
  while (ir_wire_next (&wire, &part))
    if (part.id == 1)
      key = ir_onnx_intern (reader, &part);
    else if (part.id == 2)
      value = ir_onnx_intern (reader, &part);
  if (strcmp (key, "location") == 0)
    parts->origin.location = value;
  else if (strcmp (key, "offset") == 0)
    parts->origin.offset = parse_number (value);
  else if (strcmp (key, "length") == 0)
    parts->origin.length = parse_number (value);
}

static void
read_numbers (IrOnnxReader *reader, const IrWireField *field, IrWireType type, Parts *parts)
{
  /* One packed run of fixed-size numbers is as good as raw data. */
  if (field->type == IR_WIRE_BYTES && type != IR_WIRE_VARINT && parts->raw == NULL &&
      parts->numbers->len == 0)
    {
      parts->raw = slice (reader, field->data, field->length);
      parts->raw_field = field->id;
      return;
    }
  if (parts->raw != NULL && parts->raw_field == field->id)
    {
      IrWire run;
      guint64 number;

      ir_wire_init (&run, g_bytes_get_data (parts->raw, NULL), g_bytes_get_size (parts->raw));
      while (ir_wire_packed_next (&run, type, &number))
        g_array_append_val (parts->numbers, number);
      g_clear_pointer (&parts->raw, g_bytes_unref);
    }
  parts->data_field = field->id;
  ir_wire_field_numbers (field, type, parts->numbers);
}

static void
read_part (IrOnnxReader *reader, const IrWireField *field, Parts *parts)
{
  gboolean bytes = field->type == IR_WIRE_BYTES;

  switch (field->id)
    {
    case 1:
      if (parts->dims->len <= IR_MAX_RANK)
        ir_wire_field_numbers (field, IR_WIRE_VARINT, parts->dims);
      break;
    case 2:
      parts->code = field->number;
      break;
    case 4:
      read_numbers (reader, field, IR_WIRE_FIXED32, parts);
      break;
    case 5:
    case 7:
    case 11:
      read_numbers (reader, field, IR_WIRE_VARINT, parts);
      break;
    case 10:
      read_numbers (reader, field, IR_WIRE_FIXED64, parts);
      break;
    case 6:
      if (bytes)
        g_ptr_array_add (parts->strings, slice (reader, field->data, field->length));
      break;
    case 8:
      parts->origin.name = ir_onnx_intern (reader, field);
      break;
    case 9:
      if (bytes)
        {
          g_clear_pointer (&parts->raw, g_bytes_unref);
          parts->raw = slice (reader, field->data, field->length);
          parts->raw_field = 9;
        }
      break;
    case 12:
      parts->origin.doc = ir_onnx_intern (reader, field);
      break;
    case 13:
      read_external_entry (reader, field, parts);
      break;
    case 14:
      parts->external = field->number == 1;
      break;
    default:
      ir_onnx_keep_unknown (&parts->unknown, field);
    }
}

static IrTensor *
bad (IrOnnxReader *reader, const Parts *parts, IrProblemCode code, const char *message)
{
  const char *name = parts->origin.name;
  gboolean named = name != NULL && name[0] != '\0';

  ir_draft_problem (reader->draft, IR_SEVERITY_ERROR, code, IR_DRAFT_NOWHERE, "%s%s%s%s: %s",
                    parts->what, named ? " \"" : "", named ? name : "", named ? "\"" : "", message);
  return NULL;
}

/* Dims of the tensor and the number of elements; FALSE with a problem if they make no sense. */
static gboolean
check_dims (IrOnnxReader *reader, const Parts *parts, guint64 *n_elements)
{
  g_autofree char *message = NULL;

  *n_elements = 1;
  if (parts->dims->len > IR_MAX_RANK)
    message = g_strdup_printf ("it has more than %d dimensions", IR_MAX_RANK);
  for (guint i = 0; i < parts->dims->len && message == NULL; i++)
    {
      gint64 dim = (gint64) g_array_index (parts->dims, guint64, i);

      if (dim < 0)
        message = g_strdup_printf ("dimension %u is %" G_GINT64_FORMAT ", which is negative", i,
                                   dim);
      else if (!g_uint64_checked_mul (n_elements, *n_elements, (guint64) dim) ||
               *n_elements > G_MAXINT64 / 16)
        message = g_strdup ("its dimensions multiply to more elements than memory can hold");
    }
  if (message != NULL)
    bad (reader, parts, IR_PROBLEM_BAD_TENSOR, message);
  return message == NULL;
}

/* The field, beside raw_data, that elements of a type are written in, and their number per
 * element. */
static guint
field_of_dtype (IrDtype dtype)
{
  switch (ir_dtype_kind (dtype))
    {
    case IR_DTYPE_KIND_FLOAT:
      return dtype == IR_DTYPE_FLOAT ? 4 : dtype == IR_DTYPE_DOUBLE ? 10 : 5;
    case IR_DTYPE_KIND_COMPLEX:
      return dtype == IR_DTYPE_COMPLEX64 ? 4 : 10;
    case IR_DTYPE_KIND_SINT:
      return dtype == IR_DTYPE_INT64 ? 7 : 5;
    case IR_DTYPE_KIND_UINT:
      return dtype == IR_DTYPE_UINT64 || dtype == IR_DTYPE_UINT32 ? 11 : 5;
    case IR_DTYPE_KIND_BOOL:
      return 5;
    case IR_DTYPE_KIND_STRING:
      return 6;
    case IR_DTYPE_KIND_NONE:
    case IR_N_DTYPE_KINDS:
      break;
    }
  return 0;
}

static gboolean
fits (guint64 number, guint n_bytes)
{
  gint64 value = (gint64) number;

  if (n_bytes >= 8)
    return TRUE;
  return value >= -(G_GINT64_CONSTANT (1) << (8 * n_bytes - 1)) &&
         value < (G_GINT64_CONSTANT (1) << (8 * n_bytes));
}

/* Elements of 6 bits stand one to a number, where smaller ones fill its byte. */
static GBytes *
pack_codes (IrOnnxReader *reader, const Parts *parts, IrDtype dtype, guint64 n, gsize size)
{
  g_autofree guint8 *data = g_malloc0 (MAX (size, 1));

  for (guint i = 0; i < parts->numbers->len && parts->numbers->len == n; i++)
    {
      guint64 code = g_array_index (parts->numbers, guint64, i);

      if (code >> ir_dtype_bits (dtype) != 0)
        {
          g_autofree char *message = g_strdup_printf ("element %u does not fit %s", i,
                                                      ir_dtype_name (dtype));
          bad (reader, parts, IR_PROBLEM_BAD_TENSOR, message);
          return NULL;
        }
      ir_dtype_set_code (dtype, data, i, (guint) code);
    }
  if (parts->numbers->len == n)
    return g_bytes_new_take (g_steal_pointer (&data), size);
  g_autofree char *message = g_strdup_printf ("has %u numbers, its shape needs %" G_GUINT64_FORMAT,
                                              parts->numbers->len, n);
  bad (reader, parts, IR_PROBLEM_BAD_TENSOR, message);
  return NULL;
}

static GBytes *
pack_numbers (IrOnnxReader *reader, const Parts *parts, IrDtype dtype, gsize expected)
{
  guint bits = ir_dtype_bits (dtype);
  guint n_bytes = bits < 8 ? 1 : bits / 8;
  g_autofree guint8 *data = NULL;

  if (ir_dtype_kind (dtype) == IR_DTYPE_KIND_COMPLEX)
    n_bytes /= 2;
  if ((guint64) parts->numbers->len * n_bytes != expected)
    {
      g_autofree char *message = g_strdup_printf (
          "has %u numbers, its shape and type need %" G_GSIZE_FORMAT, parts->numbers->len,
          expected / n_bytes);
      bad (reader, parts, IR_PROBLEM_BAD_TENSOR, message);
      return NULL;
    }
  data = g_malloc (MAX (expected, 1));
  for (guint i = 0; i < parts->numbers->len; i++)
    {
      guint64 number = g_array_index (parts->numbers, guint64, i);

      if (!fits (number, n_bytes))
        {
          g_autofree char *message = g_strdup_printf ("element %u does not fit %s", i,
                                                      ir_dtype_name (dtype));
          bad (reader, parts, IR_PROBLEM_BAD_TENSOR, message);
          return NULL;
        }
      for (guint b = 0; b < n_bytes; b++)
        data[(gsize) i * n_bytes + b] = (guint8) (number >> (8 * b));
    }
  return g_bytes_new_take (g_steal_pointer (&data), expected);
}

static IrTensor *
make_strings (IrOnnxReader *reader, const Parts *parts, guint64 n_elements)
{
  if (parts->strings->len != n_elements)
    {
      g_autofree char *message = g_strdup_printf (
          "has %u strings, its shape needs %" G_GUINT64_FORMAT, parts->strings->len, n_elements);
      return bad (reader, parts, IR_PROBLEM_BAD_TENSOR, message);
    }
  return ir_tensor_new_strings (parts->dims->len, (const gint64 *) (gpointer) parts->dims->data,
                                (GBytes **) parts->strings->pdata);
}

static GBytes *
external_bytes (IrOnnxReader *reader, const Parts *parts, gsize expected)
{
  g_autoptr (GError) error = NULL;
  GBytes *bytes;

  bytes = ir_onnx_external_bytes (reader, parts->origin.location,
                                  parts->origin.offset > 0 ? (guint64) parts->origin.offset : 0,
                                  parts->origin.length, expected, &error);
  if (bytes == NULL)
    bad (reader, parts, IR_PROBLEM_EXTERNAL_DATA, error->message);
  return bytes;
}

static GBytes *
element_bytes (IrOnnxReader *reader, const Parts *parts, IrDtype dtype, guint64 n_elements)
{
  gsize expected;

  if (!ir_dtype_storage_bytes (dtype, n_elements, &expected))
    {
      bad (reader, parts, IR_PROBLEM_BAD_TENSOR, "needs more memory than there is");
      return NULL;
    }
  if (parts->external)
    return external_bytes (reader, parts, expected);
  if (parts->raw == NULL && ir_dtype_bits (dtype) == 6)
    return pack_codes (reader, parts, dtype, n_elements, expected);
  if (parts->raw == NULL)
    return pack_numbers (reader, parts, dtype, expected);
  if (g_bytes_get_size (parts->raw) == expected &&
      (parts->raw_field == 9 || parts->raw_field == field_of_dtype (dtype)))
    return g_bytes_ref (parts->raw);
  g_autofree char *message = g_strdup_printf (
      "has %" G_GSIZE_FORMAT " bytes of data, its shape and type need %" G_GSIZE_FORMAT,
      g_bytes_get_size (parts->raw), expected);
  bad (reader, parts, IR_PROBLEM_BAD_TENSOR, message);
  return NULL;
}

static IrTensor *
make_tensor (IrOnnxReader *reader, Parts *parts, gboolean keep_name, const IrType **type)
{
  const gint64 *dims = (const gint64 *) (gpointer) parts->dims->data;
  IrDtype dtype = (IrDtype) parts->code;
  g_autoptr (GBytes) bytes = NULL;
  IrTensor *tensor;
  guint64 n_elements;

  if (!ir_dtype_is_valid ((gint64) parts->code))
    {
      g_autofree char *message = g_strdup_printf (
          "its element type %" G_GUINT64_FORMAT " is unknown", parts->code);
      return bad (reader, parts, IR_PROBLEM_BAD_TENSOR, message);
    }
  if (!check_dims (reader, parts, &n_elements))
    return NULL;
  if (type != NULL)
    *type = ir_type_tensor (reader->context, dtype, (int) parts->dims->len, dims);
  if (dtype == IR_DTYPE_STRING)
    tensor = make_strings (reader, parts, n_elements);
  else
    {
      bytes = element_bytes (reader, parts, dtype, n_elements);
      if (bytes == NULL)
        return NULL;
      tensor = ir_tensor_new (dtype, parts->dims->len, dims, bytes);
    }
  if (tensor == NULL)
    return NULL;
  if (!keep_name || (parts->origin.name != NULL && parts->origin.name[0] == '\0'))
    parts->origin.name = NULL;
  if (!parts->external)
    {
      parts->origin.location = NULL;
      parts->origin.offset = parts->origin.length = -1;
    }
  if (parts->origin.doc != NULL && parts->origin.doc[0] == '\0')
    parts->origin.doc = NULL;
  parts->origin.unknown = ir_onnx_take_unknown (&parts->unknown);
  if (parts->origin.name != NULL || parts->origin.doc != NULL || parts->external ||
      parts->origin.unknown != NULL)
    ir_tensor_set_origin (tensor, &parts->origin);
  return tensor;
}

/**
 * ir_onnx_read_tensor:
 * @reader: a reader
 * @field: a TensorProto
 * @what: what it is, for messages: "Initializer"
 * @name: (out) (optional): its name, interned, "" if it has none; where the caller takes it, as the
 *   name of a value, the tensor does not keep it
 * @type: (out) (optional) (nullable): its type, also where the contents cannot be read
 *
 * Raw data stays where it is in the file. What is missing, too long or out of range is a problem,
 * and then there is no tensor.
 *
 * Returns: (transfer full) (nullable): the tensor
 */
IrTensor *
ir_onnx_read_tensor (IrOnnxReader *reader,
                     const IrWireField *field,
                     const char *what,
                     const char **name,
                     const IrType **type)
{
  IrTensor *tensor = NULL;
  Parts parts;
  IrWire wire;
  IrWireField part;

  parts_init (&parts, what);
  ir_wire_init_field (&wire, field);
  while (ir_wire_next (&wire, &part))
    read_part (reader, &part, &parts);
  ir_onnx_check_end (reader, &wire, what);
  if (name != NULL)
    *name = parts.origin.name != NULL ? parts.origin.name : ir_context_intern (reader->context, "");
  if (type != NULL)
    *type = NULL;
  if (wire.status == IR_WIRE_OK)
    tensor = make_tensor (reader, &parts, name == NULL, type);
  parts_clear (&parts);
  return tensor;
}

static gboolean
sparse_shapes_fit (const IrTensor *values, const IrTensor *indices, guint rank)
{
  guint64 n = ir_tensor_n_elements (values);

  if (ir_tensor_rank (values) != 1 || ir_tensor_dtype (indices) != IR_DTYPE_INT64)
    return FALSE;
  if (ir_tensor_rank (indices) == 1)
    return ir_tensor_n_elements (indices) == n;
  return ir_tensor_rank (indices) == 2 && (guint64) ir_tensor_dims (indices)[0] == n &&
         (guint64) ir_tensor_dims (indices)[1] == rank;
}

/* Every index within the shape: linear ones below the product, others below their dim. */
static gboolean
sparse_indices_fit (const IrTensor *indices, guint rank, const gint64 *dims)
{
  guint64 n = ir_tensor_n_elements (indices), n_elements = 1;
  gboolean linear = ir_tensor_rank (indices) == 1;

  for (guint i = 0; i < rank; i++)
    n_elements *= (guint64) dims[i];
  for (guint64 i = 0; i < n; i++)
    {
      gint64 index = ir_tensor_get_int64 (indices, i);

      if (index < 0 || (guint64) index >= (linear ? n_elements : (guint64) dims[i % rank]))
        return FALSE;
    }
  return TRUE;
}

/**
 * ir_io_sparse_fits:
 * @values: the values
 * @indices: their places
 * @rank: of the whole tensor
 * @dims: (array length=rank): of the whole tensor
 *
 * Whether @values [NNZ] and @indices, int64 [NNZ] (linear) or [NNZ, rank], are a sparse tensor of
 * that shape. Cost: O(NNZ).
 *
 * Returns: %TRUE if they are
 */
gboolean
ir_io_sparse_fits (const IrTensor *values, const IrTensor *indices, guint rank, const gint64 *dims)
{
  return ir_tensor_sparse_values (values) == NULL && ir_tensor_sparse_values (indices) == NULL &&
         sparse_shapes_fit (values, indices, rank) && sparse_indices_fit (indices, rank, dims);
}

static IrTensor *
make_sparse (IrOnnxReader *reader, const Parts *parts, IrTensor *values, IrTensor *indices)
{
  guint64 n_elements;

  if (values == NULL || indices == NULL)
    return bad (reader, parts, IR_PROBLEM_BAD_TENSOR,
                "it is sparse, and its values or its indices cannot be read");
  if (!check_dims (reader, parts, &n_elements))
    return NULL;
  if (!ir_io_sparse_fits (values, indices, parts->dims->len,
                          (const gint64 *) (gpointer) parts->dims->data))
    return bad (reader, parts, IR_PROBLEM_BAD_TENSOR,
                "it is sparse, and its indices do not fit its values or its shape");
  return ir_tensor_new_sparse (parts->dims->len, (const gint64 *) (gpointer) parts->dims->data,
                               values, indices);
}

/**
 * ir_onnx_read_sparse_tensor:
 * @reader: a reader
 * @field: a SparseTensorProto
 * @what: what it is, for messages
 * @name: (out) (optional): name of the values, which is the name of all
 *
 * Returns: (transfer full) (nullable): the tensor
 */
IrTensor *
ir_onnx_read_sparse_tensor (IrOnnxReader *reader,
                            const IrWireField *field,
                            const char *what,
                            const char **name)
{
  g_autoptr (IrTensor) values = NULL;
  g_autoptr (IrTensor) indices = NULL;
  const char *values_name = ir_context_intern (reader->context, "");
  IrTensor *tensor;
  Parts parts;
  IrWire wire;
  IrWireField part;

  parts_init (&parts, what);
  ir_wire_init_field (&wire, field);
  while (ir_wire_next (&wire, &part))
    if (part.id == 1)
      {
        g_clear_pointer (&values, ir_tensor_unref);
        values = ir_onnx_read_tensor (reader, &part, what, &values_name, NULL);
      }
    else if (part.id == 2)
      {
        g_clear_pointer (&indices, ir_tensor_unref);
        indices = ir_onnx_read_tensor (reader, &part, what, NULL, NULL);
      }
    else if (part.id == 3 && parts.dims->len <= IR_MAX_RANK)
      ir_wire_field_numbers (&part, IR_WIRE_VARINT, parts.dims);
  ir_onnx_check_end (reader, &wire, what);
  parts.origin.name = values_name;
  tensor = make_sparse (reader, &parts, values, indices);
  if (name != NULL)
    *name = values_name;
  parts_clear (&parts);
  return tensor;
}

/* -- writing -- */

static void
put_entry (IrWireWriter *writer, const char *key, const char *value)
{
  IrWireMark mark = ir_wire_begin (writer, 13);

  ir_wire_put_string (writer, 1, key);
  ir_wire_put_string (writer, 2, value);
  ir_wire_end (writer, mark);
}

/* Below this a tensor stays in the model even if a data file is written. */
#define EXTERNAL_BYTES 1024
#define EXTERNAL_ALIGN 64

static void
put_external (IrWireWriter *writer, GBytes *bytes, IrDataFile *data_file)
{
  guint64 gap = (EXTERNAL_ALIGN - data_file->size % EXTERNAL_ALIGN) % EXTERNAL_ALIGN;
  g_autofree char *offset = NULL, *length = NULL;

  if (gap > 0)
    g_ptr_array_add (data_file->pieces, g_bytes_new_take (g_malloc0 (gap), gap));
  data_file->size += gap;
  offset = g_strdup_printf ("%" G_GUINT64_FORMAT, data_file->size);
  length = g_strdup_printf ("%" G_GSIZE_FORMAT, g_bytes_get_size (bytes));
  put_entry (writer, "location", data_file->location);
  put_entry (writer, "offset", offset);
  put_entry (writer, "length", length);
  ir_wire_put_varint (writer, 14, 1);
  g_ptr_array_add (data_file->pieces, g_bytes_ref (bytes));
  data_file->size += g_bytes_get_size (bytes);
}

static void
put_elements (IrWireWriter *writer, const IrTensor *tensor, IrDataFile *data_file)
{
  GBytes *bytes;

  if (ir_tensor_dtype (tensor) == IR_DTYPE_STRING)
    {
      for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
        ir_wire_put_reference (writer, 6, ir_tensor_string (tensor, i));
      return;
    }
  bytes = ir_tensor_bytes (tensor);
  if (data_file != NULL && g_bytes_get_size (bytes) >= EXTERNAL_BYTES)
    put_external (writer, bytes, data_file);
  else
    ir_wire_put_reference (writer, 9, bytes);
}

/**
 * ir_onnx_write_tensor:
 * @writer: in the middle of a TensorProto
 * @tensor: not sparse
 * @name: (nullable): its name; %NULL: the one that it had in its file
 * @data_file: (nullable): takes the large ones
 *
 * Writes the fields of a TensorProto, elements as raw_data by reference.
 */
void
ir_onnx_write_tensor (IrWireWriter *writer,
                      const IrTensor *tensor,
                      const char *name,
                      IrDataFile *data_file)
{
  const IrTensorOrigin *origin = ir_tensor_origin (tensor);

  ir_wire_put_packed (writer, 1, ir_tensor_dims (tensor), ir_tensor_rank (tensor));
  ir_wire_put_varint (writer, 2, ir_tensor_dtype (tensor));
  ir_wire_put_string (writer, 8, name != NULL ? name : origin != NULL ? origin->name : NULL);
  put_elements (writer, tensor, data_file);
  if (origin != NULL)
    {
      ir_wire_put_string (writer, 12, origin->doc);
      ir_wire_put_raw (writer, origin->unknown);
    }
}

/**
 * ir_onnx_write_sparse_tensor:
 * @writer: in the middle of a SparseTensorProto
 * @tensor: a sparse tensor
 * @name: (nullable): name of its values, which is the name of all
 * @data_file: (nullable): takes the large ones
 *
 * Writes the fields of a SparseTensorProto.
 */
void
ir_onnx_write_sparse_tensor (IrWireWriter *writer,
                             const IrTensor *tensor,
                             const char *name,
                             IrDataFile *data_file)
{
  IrWireMark mark = ir_wire_begin (writer, 1);

  ir_onnx_write_tensor (writer, ir_tensor_sparse_values (tensor), name, data_file);
  ir_wire_end (writer, mark);
  mark = ir_wire_begin (writer, 2);
  ir_onnx_write_tensor (writer, ir_tensor_sparse_indices (tensor), NULL, data_file);
  ir_wire_end (writer, mark);
  ir_wire_put_packed (writer, 3, ir_tensor_dims (tensor), ir_tensor_rank (tensor));
}
