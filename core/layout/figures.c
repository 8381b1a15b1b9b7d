/* What is written of a value: its type in short, or the value itself. */
#include "config.h"

#include "core/layout/draft-private.h"
#include "core/op/op.h"

static void
append_dims (GString *text, IrContext *context, const IrType *type)
{
  for (int i = 0; i < type->rank; i++)
    {
      g_autofree char *dim = type->dims[i] == IR_DIM_UNKNOWN
                                 ? g_strdup ("?")
                                 : ir_dim_to_string (context, type->dims[i]);
      g_string_append_printf (text, "%s%s", i > 0 ? "\303\227" : "", dim);
    }
}

/* Its type in short: "1×3×224×224", "int64 2", "float" for a scalar; float is not said where
 * there is a shape. Returns the text; NULL if nothing is known. */
char *
scene_type_text (const IrValue *value)
{
  const IrType *type = ir_value_shown_type (value);
  IrContext *context = value->graph->model->context;
  g_autoptr (GString) text = g_string_new (NULL);

  if (type == NULL)
    return NULL;
  if (!ir_type_is_tensor (type))
    return ir_type_to_string (context, type);
  if (type->dtype != IR_DTYPE_FLOAT || type->rank < 1)
    g_string_append (text, ir_dtype_name (type->dtype));
  if (type->rank > 0)
    {
      if (text->len > 0)
        g_string_append_c (text, ' ');
      append_dims (text, context, type);
    }
  return g_string_free (g_steal_pointer (&text), FALSE);
}

/* Its shape, and what made it of constants, if that moved or changed elements. */
static char *
computed_figure (const IrValue *value)
{
  const IrNode *node = value->producer;
  g_autofree char *type = scene_type_text (value);

  if (node == NULL || node->op == NULL || ir_node_is_constant (node) ||
      (node->op->flags & IR_OP_VIEW) != 0)
    return g_steal_pointer (&type);
  return g_strdup_printf ("%s %s", node->op->brief != NULL ? node->op->brief : node->op_type,
                          type != NULL ? type : "");
}

/* The value itself if it is a few numbers, else its shape. */
char *
scene_constant_figure (const IrValue *value)
{
  const IrTensor *tensor = ir_value_constant (value);
  g_autoptr (GString) text = g_string_new (NULL);
  guint rank = tensor ? ir_tensor_rank (tensor) : 0;

  if (tensor == NULL)
    return computed_figure (value);
  if (ir_tensor_n_elements (tensor) == 1 && ir_dtype_is_float (ir_tensor_dtype (tensor)))
    return g_strdup_printf ("%.6g", ir_tensor_get_double (tensor, 0));
  if (ir_tensor_n_elements (tensor) <= 4 && rank <= 1 &&
      ir_dtype_kind (ir_tensor_dtype (tensor)) != IR_DTYPE_KIND_STRING)
    return ir_tensor_to_string (tensor, 4);
  for (guint i = 0; i < rank; i++)
    g_string_append_printf (text, "%s%" G_GINT64_FORMAT, i > 0 ? "\303\227" : "",
                            ir_tensor_dims (tensor)[i]);
  return g_string_free (g_steal_pointer (&text), FALSE);
}

/* -- attributes -- */

/* Attributes that say most about a node, in this order, with short names. */
static const struct
{
  const char *name, *shown;
} telling[] = {
  { "kernel_shape", "kernel" },
  { "strides", "stride" },
  { "pads", "pad" },
  { "dilations", "dilation" },
  { "group", "group" },
  { "perm", "perm" },
  { "axis", "axis" },
  { "axes", "axes" },
  { "keepdims", "keepdims" },
  { "to", "to" },
  { "alpha", "alpha" },
  { "beta", "beta" },
  { "transA", "transA" },
  { "transB", "transB" },
  { "epsilon", "eps" },
  { "mode", "mode" },
  { "equation", "equation" },
  { "num_heads", "heads" },
  { "function", "function" },
};

/* "3×3" for sizes, "0, 2, 1" for the rest. */
static char *
ints_text (const IrAttr *attr)
{
  const char *between = strcmp (attr->name, "kernel_shape") == 0 ? "\303\227" : ", ";
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < attr->n && i < 8; i++)
    g_string_append_printf (text, "%s%" G_GINT64_FORMAT, i > 0 ? between : "", attr->ints[i]);
  if (attr->n > 8)
    g_string_append (text, "\342\200\246");
  return g_string_free (g_steal_pointer (&text), FALSE);
}

static gboolean
all_equal (const IrAttr *attr, gint64 value)
{
  for (guint i = 0; i < attr->n; i++)
    if (attr->ints[i] != value)
      return FALSE;
  return TRUE;
}

static char *
attr_figure (const IrAttr *attr)
{
  gboolean window = strcmp (attr->name, "strides") == 0 || strcmp (attr->name, "dilations") == 0;

  if (attr->ref_name != NULL)
    return g_strdup_printf ("@%s", attr->ref_name);
  if (attr->kind == IR_ATTR_INT && strcmp (attr->name, "to") == 0)
    return g_strdup (ir_dtype_is_valid (attr->ints[0]) ? ir_dtype_name ((IrDtype) attr->ints[0])
                                                       : "?");
  if (attr->kind == IR_ATTR_INT)
    return g_strdup_printf ("%" G_GINT64_FORMAT, attr->ints[0]);
  if (attr->kind == IR_ATTR_FLOAT)
    return g_strdup_printf ("%g", (double) attr->floats[0]);
  if (attr->kind == IR_ATTR_STRING)
    return g_strndup (attr->strings[0].data, MIN (attr->strings[0].length, 24));
  if (attr->kind != IR_ATTR_INTS || attr->n == 0)
    return NULL;
  if ((window && all_equal (attr, 1)) || (strcmp (attr->name, "pads") == 0 && all_equal (attr, 0)))
    return NULL;
  if (all_equal (attr, attr->ints[0]) &&
      (strcmp (attr->name, "strides") == 0 || strcmp (attr->name, "pads") == 0 ||
       strcmp (attr->name, "dilations") == 0))
    return g_strdup_printf ("%" G_GINT64_FORMAT, attr->ints[0]);
  return ints_text (attr);
}

/* Up to three telling attributes that differ from their default. */
char *
scene_attrs_text (const IrNode *node)
{
  g_autoptr (GString) text = g_string_new (NULL);
  guint n = 0;

  for (guint i = 0; i < G_N_ELEMENTS (telling) && n < 3; i++)
    {
      const IrAttr *attr = ir_node_attr (node, telling[i].name);
      const IrAttrSpec *spec = node->op ? ir_op_attr (node->op, telling[i].name) : NULL;
      g_autofree char *figure = attr ? attr_figure (attr) : NULL;
      if (figure == NULL ||
          (spec != NULL && spec->fallback != NULL && strcmp (spec->fallback, figure) == 0))
        continue;
      g_string_append_printf (text, "%s%s %s", n++ > 0 ? ", " : "", telling[i].shown, figure);
    }
  return n > 0 ? g_string_free (g_steal_pointer (&text), FALSE) : NULL;
}
