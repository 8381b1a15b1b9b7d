/* SequenceProto, OptionalProto and MapProto (onnx-data.proto): values of other kinds than tensors,
 * as the test cases of ONNX store them. Which of them a file holds is not in the file; the type of
 * the value tells.
 *
 *   SequenceProto: name 1   elem_type 2   tensor_values 3   sparse_tensor_values 4
 *                  sequence_values 5   map_values 6   optional_values 7
 *   OptionalProto: the same numbers, one value
 *   MapProto:      name 1   key_type 2   keys 3   string_keys 4   values 5 (a SequenceProto)
 *
 *   elem_type: 0 undefined, 1 tensor, 2 sparse tensor, 3 sequence, 4 map, 5 optional
 */
#include "config.h"

#include "core/io/onnx/onnx.h"

#include <string.h>

#define MAX_DEPTH 16 /* of values in values */

/* Field numbers and elem_type of each kind of item. */
static const struct
{
  IrTypeKind kind;
  guint field, code;
} kinds[] = {
  { IR_TYPE_TENSOR, 3, 1 }, { IR_TYPE_SPARSE_TENSOR, 4, 2 }, { IR_TYPE_SEQUENCE, 5, 3 },
  { IR_TYPE_MAP, 6, 4 },    { IR_TYPE_OPTIONAL, 7, 5 },
};

static IrTensor *
bad (IrOnnxReader *reader, const char *message)
{
  ir_draft_problem (reader->draft, IR_SEVERITY_ERROR, IR_PROBLEM_BAD_TENSOR, IR_DRAFT_NOWHERE, "%s",
                    message);
  return NULL;
}

static IrTensor *
read_kind (IrOnnxReader *reader,
           const IrWireField *field,
           IrTypeKind kind,
           const IrType *type,
           guint depth)
{
  if (kind == IR_TYPE_TENSOR)
    return ir_onnx_read_tensor (reader, field, "Item", NULL, NULL);
  if (kind == IR_TYPE_SPARSE_TENSOR)
    return ir_onnx_read_sparse_tensor (reader, field, "Item", NULL);
  return ir_onnx_read_container (reader, field, kind, type, depth + 1);
}

/* The items of a SequenceProto or OptionalProto. (transfer full) (nullable) */
static GPtrArray *
read_items (IrOnnxReader *reader, const IrWireField *field, const IrType *element, guint depth)
{
  g_autoptr (GPtrArray) items = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_tensor_unref);
  IrWire wire;
  IrWireField part;

  ir_wire_init_field (&wire, field);
  while (ir_wire_next (&wire, &part))
    for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
      {
        if (part.id != kinds[i].field || part.type != IR_WIRE_BYTES)
          continue;
        IrTensor *item = read_kind (
            reader, &part, kinds[i].kind,
            element != NULL && element->kind == kinds[i].kind ? element : NULL, depth);
        if (item == NULL)
          return NULL;
        g_ptr_array_add (items, item);
      }
  ir_onnx_check_end (reader, &wire, "Sequence");
  return wire.status == IR_WIRE_OK ? g_steal_pointer (&items) : NULL;
}

static IrTensor *
make_keys (GArray *numbers, GPtrArray *strings, gint64 code)
{
  gint64 n = strings->len > 0 ? strings->len : numbers->len;
  IrDtype dtype = ir_dtype_is_valid (code) ? (IrDtype) code : IR_DTYPE_INT64;

  if (strings->len > 0 || dtype == IR_DTYPE_STRING)
    return ir_tensor_new_strings (1, &n, (GBytes **) strings->pdata);
  if (!ir_dtype_is_integer (dtype))
    return NULL;
  IrTensor *keys = ir_tensor_new_alloc (dtype, 1, &n, NULL);
  for (gint64 i = 0; keys != NULL && i < n; i++)
    ir_dtype_set_int64 (dtype, ir_tensor_data_writable (keys), (gsize) i,
                        (gint64) g_array_index (numbers, guint64, i));
  return keys;
}

static IrTensor *
read_map (IrOnnxReader *reader, const IrWireField *field, const IrType *type, guint depth)
{
  g_autoptr (GArray) numbers = g_array_new (FALSE, FALSE, sizeof (guint64));
  g_autoptr (GPtrArray) strings = g_ptr_array_new_with_free_func ((GDestroyNotify) g_bytes_unref);
  g_autoptr (IrTensor) values = NULL;
  gint64 code = type != NULL ? (gint64) type->dtype : 0;
  const IrType *element = type != NULL ? type->element : NULL;
  const IrType *sequence = element != NULL ? ir_type_sequence (reader->context, element) : NULL;
  IrWire wire;
  IrWireField part;

  ir_wire_init_field (&wire, field);
  while (ir_wire_next (&wire, &part))
    if (part.id == 2 && part.type == IR_WIRE_VARINT)
      code = (gint64) part.number;
    else if (part.id == 3)
      ir_wire_field_numbers (&part, IR_WIRE_VARINT, numbers);
    else if (part.id == 4 && part.type == IR_WIRE_BYTES)
      g_ptr_array_add (strings, g_bytes_new (part.data, part.length));
    else if (part.id == 5 && part.type == IR_WIRE_BYTES)
      {
        g_clear_pointer (&values, ir_tensor_unref);
        values = ir_onnx_read_container (reader, &part, IR_TYPE_SEQUENCE, sequence, depth + 1);
      }
  g_autoptr (IrTensor) keys = make_keys (numbers, strings, code);
  IrTensor *map = keys != NULL && values != NULL && wire.status == IR_WIRE_OK
                      ? ir_tensor_new_map (keys, values)
                      : NULL;
  return map != NULL ? map : bad (reader, "a map has not as many values as keys");
}

/**
 * ir_onnx_read_container:
 * @reader: a reader
 * @field: a SequenceProto, OptionalProto or MapProto
 * @kind: which of them
 * @type: (nullable): what it should be; gives empty ones their type
 * @depth: how many values are around it
 *
 * What is not understood is a problem, and then there is no value.
 *
 * Returns: (transfer full) (nullable): the value
 */
IrTensor *
ir_onnx_read_container (IrOnnxReader *reader,
                        const IrWireField *field,
                        IrTypeKind kind,
                        const IrType *type,
                        guint depth)
{
  const IrType *element = type != NULL ? type->element : NULL;
  IrTensor *value;

  if (depth > MAX_DEPTH)
    return bad (reader, "values are nested too deeply");
  if (kind == IR_TYPE_MAP)
    return read_map (reader, field, type, depth);
  g_autoptr (GPtrArray) items = read_items (reader, field, element, depth);
  if (items == NULL)
    return NULL;
  if (element == NULL && items->len == 0)
    element = ir_type_tensor (reader->context, IR_DTYPE_UNDEFINED, IR_RANK_UNKNOWN, NULL);
  if (kind == IR_TYPE_OPTIONAL && items->len > 1)
    return bad (reader, "an optional has more than one value");
  /* With items their own type is the truth; the caller compares it with what it needs. */
  value = kind == IR_TYPE_OPTIONAL
              ? ir_tensor_new_optional (items->len > 0 ? NULL : element,
                                        items->len > 0 ? g_ptr_array_index (items, 0) : NULL)
              : ir_tensor_new_sequence (items->len > 0 ? NULL : element,
                                        (IrTensor *const *) items->pdata, items->len);
  return value != NULL ? value : bad (reader, "the items of a sequence have different types");
}

/* -- writing -- */

static void
put_item (IrWireWriter *writer, const IrTensor *item)
{
  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    if (kinds[i].kind == ir_tensor_kind (item))
      {
        IrWireMark mark = ir_wire_begin (writer, kinds[i].field);
        ir_onnx_write_value (writer, item);
        ir_wire_end (writer, mark);
      }
}

static void
put_items (IrWireWriter *writer, const IrTensor *value)
{
  guint n = ir_tensor_n_items (value);

  for (guint i = 0; n > 0 && i < G_N_ELEMENTS (kinds); i++)
    if (kinds[i].kind == ir_tensor_kind (ir_tensor_item (value, 0)))
      ir_wire_put_varint (writer, 2, kinds[i].code);
  for (guint i = 0; i < n; i++)
    put_item (writer, ir_tensor_item (value, i));
}

static void
put_map (IrWireWriter *writer, const IrTensor *map)
{
  const IrTensor *keys = ir_tensor_item (map, 0), *values = ir_tensor_item (map, 1);
  guint64 n = ir_tensor_n_elements (keys);

  ir_wire_put_varint (writer, 2, ir_tensor_dtype (keys));
  for (guint64 i = 0; i < n; i++)
    if (ir_tensor_dtype (keys) == IR_DTYPE_STRING)
      {
        gsize length;
        gconstpointer data = g_bytes_get_data (ir_tensor_string (keys, i), &length);
        ir_wire_put_bytes (writer, 4, data, length);
      }
    else
      ir_wire_put_varint (writer, 3, (guint64) ir_tensor_get_int64 (keys, i));
  IrWireMark mark = ir_wire_begin (writer, 5);
  if (ir_tensor_is_container (values))
    put_items (writer, values);
  else
    {
      /* One tensor of all values stands for a sequence of scalars. */
      ir_wire_put_varint (writer, 2, 1);
      for (guint64 i = 0; i < n; i++)
        {
          g_autoptr (IrTensor) value = ir_tensor_entry (values, i);
          if (value != NULL)
            put_item (writer, value);
        }
    }
  ir_wire_end (writer, mark);
}

/**
 * ir_onnx_write_value:
 * @writer: in the middle of the message that fits @value
 * @value: a tensor or container
 *
 * Writes the fields of a TensorProto, SparseTensorProto, SequenceProto, OptionalProto or MapProto.
 */
void
ir_onnx_write_value (IrWireWriter *writer, const IrTensor *value)
{
  switch (ir_tensor_kind (value))
    {
    case IR_TYPE_SEQUENCE:
    case IR_TYPE_OPTIONAL:
      put_items (writer, value);
      break;
    case IR_TYPE_MAP:
      put_map (writer, value);
      break;
    case IR_TYPE_SPARSE_TENSOR:
      ir_onnx_write_sparse_tensor (writer, value, NULL, NULL);
      break;
    case IR_TYPE_TENSOR:
    case IR_TYPE_OPAQUE:
    case IR_TYPE_CLOSURE:
    case IR_N_TYPE_KINDS:
    default:
      ir_onnx_write_tensor (writer, value, NULL, NULL);
      break;
    }
}
