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
