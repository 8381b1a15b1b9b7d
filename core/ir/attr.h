/* Attributes of nodes: immutable, owned by the context, named. Kinds have ONNX's codes. A graph
 * attribute holds the graph's id, since graphs belong to the model and attributes are shared by
 * snapshots. */
#pragma once

#include "core/ir/tensor.h"

typedef enum
{
  IR_ATTR_UNDEFINED = 0,
  IR_ATTR_FLOAT = 1,
  IR_ATTR_INT = 2,
  IR_ATTR_STRING = 3,
  IR_ATTR_TENSOR = 4,
  IR_ATTR_GRAPH = 5,
  IR_ATTR_FLOATS = 6,
  IR_ATTR_INTS = 7,
  IR_ATTR_STRINGS = 8,
  IR_ATTR_TENSORS = 9,
  IR_ATTR_GRAPHS = 10,
  IR_ATTR_SPARSE_TENSOR = 11,
  IR_ATTR_SPARSE_TENSORS = 12,
  IR_ATTR_TYPE = 13,
  IR_ATTR_TYPES = 14,
  IR_N_ATTR_KINDS
} IrAttrKind;

typedef struct _IrAttr IrAttr;

typedef struct
{
  gsize length;
  const char *data; /* NUL-terminated as well; may hold NULs and any bytes */
} IrString;

struct _IrAttr
{
  const char *name; /* interned */
  IrAttrKind kind;
  const char *ref_name; /* (nullable) ref_attr_name: in function bodies; then n is 0 */
  const char *doc;      /* (nullable) */
  GBytes *unknown;      /* (nullable) unknown fields, raw wire bytes */
  guint n;              /* number of elements; 1 for the single kinds */
  union                 /* n elements; single kinds are arrays of one */
  {
    const float *floats;
    const gint64 *ints;
    const IrString *strings;
    IrTensor *const *tensors; /* also sparse */
    const guint32 *graphs;    /* graph ids */
    const IrType *const *types;
  };
};

const IrAttr *ir_attr_float (IrContext *context, const char *name, float value);
const IrAttr *ir_attr_int (IrContext *context, const char *name, gint64 value);
const IrAttr *ir_attr_string (IrContext *context,
                              const char *name,
                              const char *value,
                              gssize length);
const IrAttr *ir_attr_tensor (IrContext *context, const char *name, IrTensor *value);
const IrAttr *ir_attr_graph (IrContext *context, const char *name, guint32 graph_id);
const IrAttr *ir_attr_floats (IrContext *context, const char *name, const float *values, guint n);
const IrAttr *ir_attr_ints (IrContext *context, const char *name, const gint64 *values, guint n);
const IrAttr *ir_attr_strings (IrContext *context,
                               const char *name,
                               const IrString *values,
                               guint n);
const IrAttr *ir_attr_tensors (IrContext *context,
                               const char *name,
                               IrTensor *const *values,
                               guint n);
const IrAttr *ir_attr_graphs (IrContext *context, const char *name, const guint32 *ids, guint n);
const IrAttr *ir_attr_types (
    IrContext *context, const char *name, IrAttrKind kind, const IrType *const *types, guint n);
const IrAttr *ir_attr_ref (IrContext *context,
                           const char *name,
                           IrAttrKind kind,
                           const char *ref_name);
/* A copy with kind, doc, unknown fields or name changed; for readers. */
const IrAttr *ir_attr_annotate (
    IrContext *context, const IrAttr *attr, IrAttrKind kind, const char *doc, GBytes *unknown);
const IrAttr *ir_attr_renamed (IrContext *context, const IrAttr *attr, const char *name);

gboolean ir_attr_equal (const IrAttr *a, const IrAttr *b); /* bitwise: -0 differs from 0 */
guint ir_attr_hash (const IrAttr *attr);
const char *ir_attr_kind_name (IrAttrKind kind);
char *ir_attr_to_string (IrContext *context,
                         const IrAttr *attr,
                         guint max_elements); /* the value */
