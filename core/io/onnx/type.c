/* TypeProto:
 *
 *   tensor_type 1 { elem_type 1, shape 2 { dim 1 { dim_value 1 | dim_param 2, denotation 3 } } }
 *   sequence_type 4 { elem_type 1 }   optional_type 9 { elem_type 1 }
 *   map_type 5 { key_type 1, value_type 2 }   opaque_type 7 { domain 1, name 2 }
 *   sparse_tensor_type 8 { as tensor_type }   denotation 6
 */
#include "config.h"

#include "core/io/onnx/onnx.h"

#include <string.h>

typedef struct
{
  GArray *dims;           /* of IrDim */
  GPtrArray *denotations; /* of interned strings, entries nullable */
  gboolean has_denotation;
} Shape;

static void
read_dim (IrOnnxReader *reader, const IrWireField *field, Shape *shape)
{
  IrWire wire;
  IrWireField part;
  IrDim dim = IR_DIM_UNKNOWN;
  const char *denotation = NULL;

  ir_wire_init_field (&wire, field);
  while (ir_wire_next (&wire, &part))
    {
      if (part.id == 1 && part.type == IR_WIRE_VARINT)
        dim = (gint64) part.number >= 0 ? (gint64) part.number : IR_DIM_UNKNOWN;
      else if (part.id == 2 && part.type == IR_WIRE_BYTES && part.length > 0)
        dim = ir_draft_dim (reader->context, ir_onnx_intern (reader, &part));
      else if (part.id == 3 && part.type == IR_WIRE_BYTES && part.length > 0)
        denotation = ir_onnx_intern (reader, &part);
    }
  ir_onnx_check_end (reader, &wire, "a dimension");
  g_array_append_val (shape->dims, dim);
  g_ptr_array_add (shape->denotations, (gpointer) denotation);
  shape->has_denotation |= denotation != NULL;
}

static void
read_shape (IrOnnxReader *reader, const IrWireField *field, Shape *shape)
{
  IrWire wire;
  IrWireField part;

  ir_wire_init_field (&wire, field);
  while (ir_wire_next (&wire, &part))
    if (part.id == 1 && shape->dims->len <= IR_MAX_RANK)
      read_dim (reader, &part, shape);
  ir_onnx_check_end (reader, &wire, "a shape");
}

static const IrType *
shaped_type (IrOnnxReader *reader, IrTypeKind kind, IrDtype dtype, int rank, const Shape *shape)
{
  const IrDim *dims = (const IrDim *) (gpointer) shape->dims->data;
  const IrType *type;

  if (rank > IR_MAX_RANK)
    {
      ir_draft_problem (
          reader->draft, IR_SEVERITY_ERROR, IR_PROBLEM_LIMIT, IR_DRAFT_NOWHERE,
          "A declared shape has more than %d dimensions; its rank is taken as unknown.",
          IR_MAX_RANK);
      rank = IR_RANK_UNKNOWN;
    }
  type = kind == IR_TYPE_TENSOR ? ir_type_tensor (reader->context, dtype, rank, dims)
                                : ir_type_sparse_tensor (reader->context, dtype, rank, dims);
  if (shape->has_denotation && rank != IR_RANK_UNKNOWN)
    type = ir_type_with_denotation (reader->context, type, NULL,
                                    (const char *const *) shape->denotations->pdata);
  return type;
}

static IrDtype
dtype_of_code (IrOnnxReader *reader, guint64 code)
{
  if (ir_dtype_is_valid ((gint64) code))
    return (IrDtype) code;
  if (code != 0)
    ir_draft_problem (reader->draft, IR_SEVERITY_WARNING, IR_PROBLEM_UNSUPPORTED, IR_DRAFT_NOWHERE,
                      "A declared type has the unknown element type %" G_GUINT64_FORMAT ".", code);
  return IR_DTYPE_UNDEFINED;
}

static const IrType *
read_tensor_type (IrOnnxReader *reader, const IrWireField *field, IrTypeKind kind)
{
  g_autoptr (GArray) dims = g_array_new (FALSE, FALSE, sizeof (IrDim));
  g_autoptr (GPtrArray) denotations = g_ptr_array_new ();
  Shape shape = { dims, denotations, FALSE };
  IrDtype dtype = IR_DTYPE_UNDEFINED;
  int rank = IR_RANK_UNKNOWN;
  IrWire wire;
  IrWireField part;

  ir_wire_init_field (&wire, field);
  while (ir_wire_next (&wire, &part))
    if (part.id == 1 && part.type == IR_WIRE_VARINT)
      dtype = dtype_of_code (reader, part.number);
    else if (part.id == 2 && part.type == IR_WIRE_BYTES)
      {
        read_shape (reader, &part, &shape);
        rank = (int) dims->len;
      }
  ir_onnx_check_end (reader, &wire, "a tensor type");
  return shaped_type (reader, kind, dtype, rank, &shape);
}

/* Sequence, optional and map: an element type, for maps with a key type before it. */
static const IrType *
read_container_type (IrOnnxReader *reader, const IrWireField *field, IrTypeKind kind, guint depth)
{
  const IrType *element = NULL;
  guint32 element_id = kind == IR_TYPE_MAP ? 2 : 1;
  IrDtype key = IR_DTYPE_UNDEFINED;
  IrWire wire;
  IrWireField part;

  ir_wire_init_field (&wire, field);
  while (ir_wire_next (&wire, &part))
    if (part.id == element_id && part.type == IR_WIRE_BYTES)
      element = ir_onnx_read_type (reader, &part, depth + 1);
    else if (part.id == 1 && part.type == IR_WIRE_VARINT)
      key = dtype_of_code (reader, part.number);
  ir_onnx_check_end (reader, &wire, "a type");
  if (kind == IR_TYPE_SEQUENCE)
    return ir_type_sequence (reader->context, element);
  if (kind == IR_TYPE_OPTIONAL)
    return ir_type_optional (reader->context, element);
  return ir_type_map (reader->context, key, element);
}

static const IrType *
read_opaque_type (IrOnnxReader *reader, const IrWireField *field)
{
  const char *domain = "", *name = "";
  g_autofree char *denotation = NULL;
  IrWire wire;
  IrWireField part;

  ir_wire_init_field (&wire, field);
  while (ir_wire_next (&wire, &part))
    if (part.id == 1)
      domain = ir_onnx_intern (reader, &part);
    else if (part.id == 2)
      name = ir_onnx_intern (reader, &part);
  denotation = g_strconcat (domain, "/", name, NULL);
  return ir_type_opaque (reader->context, denotation);
}

/**
 * ir_onnx_read_type:
 * @reader: a reader
 * @field: a TypeProto
 * @depth: types around this one
 *
 * Returns: (nullable): the type; %NULL if the message says none
 */
const IrType *
ir_onnx_read_type (IrOnnxReader *reader, const IrWireField *field, guint depth)
{
  const IrType *type = NULL;
  const char *denotation = NULL;
  IrWire wire;
  IrWireField part;

  if (depth > IR_DRAFT_MAX_DEPTH)
    {
      ir_draft_problem (reader->draft, IR_SEVERITY_ERROR, IR_PROBLEM_LIMIT, IR_DRAFT_NOWHERE,
                        "A type is nested more than %d deep.", IR_DRAFT_MAX_DEPTH);
      return NULL;
    }
  ir_wire_init_field (&wire, field);
  while (ir_wire_next (&wire, &part))
    {
      if (part.type != IR_WIRE_BYTES)
        continue;
      if (part.id == 1)
        type = read_tensor_type (reader, &part, IR_TYPE_TENSOR);
      else if (part.id == 8)
        type = read_tensor_type (reader, &part, IR_TYPE_SPARSE_TENSOR);
      else if (part.id == 4)
        type = read_container_type (reader, &part, IR_TYPE_SEQUENCE, depth);
      else if (part.id == 9)
        type = read_container_type (reader, &part, IR_TYPE_OPTIONAL, depth);
      else if (part.id == 5)
        type = read_container_type (reader, &part, IR_TYPE_MAP, depth);
      else if (part.id == 7)
        type = read_opaque_type (reader, &part);
      else if (part.id == 6 && part.length > 0)
        denotation = ir_onnx_intern (reader, &part);
    }
  ir_onnx_check_end (reader, &wire, "a type");
  if (type != NULL && denotation != NULL && type->kind != IR_TYPE_OPAQUE)
    type = ir_type_with_denotation (reader->context, type, denotation, type->dim_denotations);
  return type;
}

static void
write_dim (IrWireWriter *writer, IrContext *context, IrDim dim, const char *denotation)
{
  IrWireMark mark = ir_wire_begin (writer, 1);

  if (ir_dim_is_known (dim))
    ir_wire_put_varint (writer, 1, (guint64) dim);
  else if (ir_dim_is_symbolic (dim))
    {
      g_autofree char *text = ir_dim_to_string (context, dim);

      ir_wire_put_string (writer, 2, text);
    }
  ir_wire_put_string (writer, 3, denotation);
  ir_wire_end (writer, mark);
}

static void
write_tensor_type (IrWireWriter *writer, guint32 id, IrContext *context, const IrType *type)
{
  IrWireMark mark = ir_wire_begin (writer, id), shape;

  if (type->dtype != IR_DTYPE_UNDEFINED)
    ir_wire_put_varint (writer, 1, type->dtype);
  if (type->rank != IR_RANK_UNKNOWN)
    {
      shape = ir_wire_begin (writer, 2);
      for (int i = 0; i < type->rank; i++)
        write_dim (writer, context, type->dims[i],
                   type->dim_denotations != NULL ? type->dim_denotations[i] : NULL);
      ir_wire_end (writer, shape);
    }
  ir_wire_end (writer, mark);
}

static void
write_container_type (IrWireWriter *writer, guint32 id, IrContext *context, const IrType *type)
{
  IrWireMark mark = ir_wire_begin (writer, id);

  if (type->kind == IR_TYPE_MAP)
    ir_wire_put_varint (writer, 1, type->dtype);
  if (type->element != NULL)
    ir_onnx_write_type (writer, type->kind == IR_TYPE_MAP ? 2 : 1, context, type->element);
  ir_wire_end (writer, mark);
}

static void
write_opaque_type (IrWireWriter *writer, const char *denotation)
{
  IrWireMark mark = ir_wire_begin (writer, 7);
  const char *slash = denotation != NULL ? strchr (denotation, '/') : NULL;

  if (slash != NULL && slash > denotation)
    ir_wire_put_bytes (writer, 1, denotation, (gsize) (slash - denotation));
  ir_wire_put_string (writer, 2, slash != NULL ? slash + 1 : denotation);
  ir_wire_end (writer, mark);
}

/**
 * ir_onnx_write_type_body:
 * @writer: a writer
 * @context: of the type
 * @type: a type
 *
 * Writes the fields of a TypeProto.
 */
void
ir_onnx_write_type_body (IrWireWriter *writer, IrContext *context, const IrType *type)
{
  switch (type->kind)
    {
    case IR_TYPE_TENSOR:
      write_tensor_type (writer, 1, context, type);
      break;
    case IR_TYPE_SPARSE_TENSOR:
      write_tensor_type (writer, 8, context, type);
      break;
    case IR_TYPE_SEQUENCE:
      write_container_type (writer, 4, context, type);
      break;
    case IR_TYPE_OPTIONAL:
      write_container_type (writer, 9, context, type);
      break;
    case IR_TYPE_MAP:
      write_container_type (writer, 5, context, type);
      break;
    case IR_TYPE_OPAQUE:
      write_opaque_type (writer, type->denotation);
      return;
    case IR_TYPE_CLOSURE: /* ONNX has none; what is saved by a pipeline has become functions before */
      write_opaque_type (writer, "irscope.closure/closure");
      return;
    case IR_N_TYPE_KINDS:
      break;
    }
  ir_wire_put_string (writer, 6, type->denotation);
}

/**
 * ir_onnx_write_type:
 * @writer: a writer
 * @id: field number
 * @context: of the type
 * @type: a type
 *
 * Writes a TypeProto as a field.
 */
void
ir_onnx_write_type (IrWireWriter *writer, guint32 id, IrContext *context, const IrType *type)
{
  IrWireMark mark = ir_wire_begin (writer, id);

  ir_onnx_write_type_body (writer, context, type);
  ir_wire_end (writer, mark);
}
