/* Defaults of attributes, from the rows of the op table; of lists whose length follows from a
 * shape, what each element is. */
#include "config.h"

#include "core/op/defaults.h"

#include "core/op/op.h"

#include <string.h>

/* The same for all operators that have an attribute of this name. */
static const struct
{
  const char *name;
  gint64 each;
} lists[] = {
  { "dilations", 1 },
  { "output_padding", 0 },
  { "pads", 0 },
  { "strides", 1 },
};

static gboolean
holds_only (const IrAttr *attr, gint64 value)
{
  for (guint i = 0; i < attr->n; i++)
    if (attr->ints[i] != value)
      return FALSE;
  return TRUE;
}

/* "[0, 2, 3]" */
static gboolean
holds_listed (const IrAttr *attr, const char *text)
{
  g_auto (GStrv) words = g_strsplit_set (text, "[, ]", -1);
  guint n = 0;

  for (guint i = 0; words[i] != NULL; i++)
    {
      if (words[i][0] == '\0')
        continue;
      if (n >= attr->n || attr->ints[n] != g_ascii_strtoll (words[i], NULL, 10))
        return FALSE;
      n++;
    }
  return n == attr->n;
}

static gboolean
holds_text (const IrAttr *attr, const char *text)
{
  float number;

  switch (attr->kind)
    {
    case IR_ATTR_INT:
      return attr->ints[0] == g_ascii_strtoll (text, NULL, 10);
    case IR_ATTR_FLOAT:
      number = (float) g_ascii_strtod (text, NULL);
      return memcmp (&number, attr->floats, sizeof number) == 0; /* -0 is not 0 */
    case IR_ATTR_STRING:
      return attr->strings[0].length == strlen (text) &&
             memcmp (attr->strings[0].data, text, attr->strings[0].length) == 0;
    case IR_ATTR_INTS:
      return holds_listed (attr, text);
    case IR_ATTR_UNDEFINED:
    case IR_ATTR_TENSOR:
    case IR_ATTR_GRAPH:
    case IR_ATTR_FLOATS:
    case IR_ATTR_STRINGS:
    case IR_ATTR_TENSORS:
    case IR_ATTR_GRAPHS:
    case IR_ATTR_SPARSE_TENSOR:
    case IR_ATTR_SPARSE_TENSORS:
    case IR_ATTR_TYPE:
    case IR_ATTR_TYPES:
    case IR_N_ATTR_KINDS:
    default:
      return FALSE;
    }
}

/* The extents of the weights behind their two channels. */
static gboolean
is_shape_of_weights (const IrNode *node, const IrAttr *attr)
{
  const IrValue *weights = ir_node_input (node, 1);
  const IrType *type = weights != NULL ? weights->type : NULL;

  if (!ir_type_has_rank (type) || type->rank != (int) attr->n + 2)
    return FALSE;
  for (guint i = 0; i < attr->n; i++)
    if (type->dims[i + 2] != attr->ints[i])
      return FALSE;
  return TRUE;
}

/* A row tells of the newest form of its operator; adapters may give older ones other defaults. */
static gboolean
row_is_of (const IrNode *node)
{
  const gint64 opset = ir_node_opset (node);

  for (const IrAdapt *adapt = node->op->adapt; adapt->below != 0; adapt++)
    if (opset < adapt->below)
      return FALSE;
  return TRUE;
}

/**
 * ir_op_attr_is_default:
 * @node: a node
 * @attr: one of its attributes
 *
 * Returns: whether @node means the same without @attr; %FALSE where that is not known, as of
 *   operators without a row, and of forms that a later opset changed
 */
gboolean
ir_op_attr_is_default (const IrNode *node, const IrAttr *attr)
{
  const IrAttrSpec *spec = node->op != NULL ? ir_op_attr (node->op, attr->name) : NULL;

  if (spec == NULL || spec->required || spec->kind != attr->kind || attr->ref_name != NULL)
    return FALSE;
  if (spec->fallback != NULL)
    return row_is_of (node) && holds_text (attr, spec->fallback);
  if (spec->kind != IR_ATTR_INTS)
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS (lists); i++)
    if (strcmp (lists[i].name, attr->name) == 0)
      return holds_only (attr, lists[i].each);
  return strcmp (attr->name, "kernel_shape") == 0 && is_shape_of_weights (node, attr);
}
