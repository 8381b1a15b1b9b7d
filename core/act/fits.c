/* What fits where, asked before anything is changed: while a line is dragged, and by the palette.
 * The graph is not touched: a node of the same kind is checked in a model of its own, which has
 * inputs of the same types. */
#include "config.h"

#include "core/act/act-private.h"
#include "core/op/call.h"
#include "core/op/check.h"
#include "core/op/op.h"

#include <string.h>

static const IrType *
carry_type (IrContext *to, const IrModel *from, const IrType *type)
{
  g_autofree char *text = type != NULL ? ir_type_to_string (from->context, type) : NULL;

  return text != NULL ? ir_type_parse (to, text, NULL) : NULL;
}

/* The same value as an input, or as a constant. */
static IrValue *
stand_in (IrEdit *edit, const IrValue *value)
{
  IrModel *model = ir_edit_model (edit);
  const IrModel *from = value != NULL ? value->graph->model : NULL;
  IrValue *own;

  if (value != NULL && ir_value_constant (value) != NULL)
    return ir_edit_add_initializer (edit, model->main, NULL,
                                    (IrTensor *) ir_value_constant (value));
  own = ir_edit_add_value (edit, model->main, NULL,
                           value != NULL ? carry_type (model->context, from, value->type) : NULL);
  if (value != NULL && value->type == NULL)
    ir_edit_set_type (edit, own, carry_type (model->context, from, value->claim));
  return own;
}

static void
set_inputs (IrEdit *edit, GPtrArray *values)
{
  g_autoptr (GPtrArray) inputs = g_ptr_array_new ();

  for (guint i = 0; i < values->len; i++)
    if (values->pdata[i] != NULL && ((IrValue *) values->pdata[i])->initializer == NULL)
      g_ptr_array_add (inputs, values->pdata[i]);
  ir_edit_set_graph_inputs (edit, ir_edit_model (edit)->main, (IrValue *const *) inputs->pdata,
                            inputs->len);
}

/* The element types that the standard lets an operator read, by input: the TAKES column, a letter each.
 * A row without one, of another domain, says nothing. */
/* clang-format off */
static const struct
{
  IrOpId op;
  const char *takes; /* (nullable) the last one goes for all that follow */
} rows[IR_N_OPS] = { { .op = IR_OP_NONE
#define IR_OP(ID, NAME, ...) }, [IR_OP_##ID] = { .op = IR_OP_##ID
#define TAKES(letters) , .takes = letters
#include "core/op/ops.def"
} };

#define FLOAT (1 << IR_DTYPE_KIND_FLOAT)
#define SINT  (1 << IR_DTYPE_KIND_SINT)
#define UINT  (1 << IR_DTYPE_KIND_UINT)
#define BOOL  (1 << IR_DTYPE_KIND_BOOL)
#define TEXT  (1 << IR_DTYPE_KIND_STRING)

static const struct
{
  char letter;
  const char *name;
  guint kinds;
  guint least_bits, most_bits; /* of integers; 0: any */
  guint most_float_bits;       /* 0: any */
} element_classes[] = {
  { 'F', "floating-point numbers", FLOAT },
  { 'N', "numbers", FLOAT | SINT | UINT },
  { 'A', "floating-point numbers, or integers of 32 or 64 bits", FLOAT | SINT | UINT, 32 },
  { 'G', "floating-point numbers or signed integers", FLOAT | SINT },
  { 'R', "floating-point numbers or int32", FLOAT | SINT, 32, 32 },
  { 'Q', "integers of at most 32 bits, or floating-point numbers of at most 8", FLOAT | SINT | UINT, 0, 32, 8 },
  { 'X', "numbers or bool", FLOAT | SINT | UINT | BOOL },
  { 'I', "integers", SINT | UINT },
  { 'U', "unsigned integers", UINT },
  { 'E', "int8 or uint8", SINT | UINT, 8, 8 },
  { 'L', "int32 or int64", SINT, 32 },
  { 'Z', "int64", SINT, 64 },
  { 'T', "int32, int64 or string", SINT | TEXT, 32 },
  { 'B', "bool", BOOL },
  { 'S', "string", TEXT },
};
/* clang-format on */

static char
letter_of (const IrOp *op, guint slot)
{
  const char *takes = rows[op->id].takes;

  return takes == NULL ? '*' : takes[MIN (slot, strlen (takes) - 1)];
}

/* (nullable): elements of @dtype will do */
static const char *
wanted_elements (const IrOp *op, guint slot, IrDtype dtype)
{
  const char letter = letter_of (op, slot);
  const guint bits = dtype != IR_DTYPE_UNDEFINED ? ir_dtype_bits (dtype) : 0;

  for (guint i = 0; dtype != IR_DTYPE_UNDEFINED && i < G_N_ELEMENTS (element_classes); i++)
    if (letter == element_classes[i].letter)
      {
        const guint least = element_classes[i].least_bits, most = element_classes[i].most_bits,
                    most_float = element_classes[i].most_float_bits;
        const gboolean fits = ir_dtype_is_integer (dtype)
                                  ? bits >= least && (most == 0 || bits <= most)
                              : ir_dtype_is_float (dtype) ? most_float == 0 || bits <= most_float
                                                          : TRUE;

        return fits && (element_classes[i].kinds & 1u << ir_dtype_kind (dtype)) != 0
                   ? NULL
                   : element_classes[i].name;
      }
  return NULL;
}

static gboolean
check_elements (const IrNode *node, GError **error)
{
  for (guint i = 0; node->op != NULL && i < node->n_inputs; i++)
    {
      const IrDtype dtype = node->inputs[i] != NULL ? ir_value_dtype (node->inputs[i])
                                                    : IR_DTYPE_UNDEFINED;
      const char *wanted = wanted_elements (node->op, i, dtype);
      g_autofree char *label = wanted != NULL ? ir_node_label (node) : NULL;

      if (wanted != NULL)
        return act_refuse (error, "%s: input %u is %s, and needs to be %s", label, i,
                           ir_dtype_name (dtype), wanted);
    }
  return TRUE;
}

/* Whether types speak against it; what is still open, or left to an attribute, does not. */
gboolean
act_accepts (const IrNode *node, GError **error)
{
  g_autoptr (GError) why = NULL;

  if (!check_elements (node, error))
    return FALSE;
  if (ir_node_check (node, &why) || (!g_error_matches (why, IR_OP_ERROR, IR_OP_ERROR_SHAPE) &&
                                     !g_error_matches (why, IR_OP_ERROR, IR_OP_ERROR_DTYPE)))
    return TRUE;
  return act_refuse (error, "%s", why->message);
}

static gboolean
owns_graphs (const IrNode *node)
{
  for (guint i = 0; i < node->n_attrs; i++)
    if (node->attrs[i]->kind == IR_ATTR_GRAPH || node->attrs[i]->kind == IR_ATTR_GRAPHS)
      return TRUE;
  return FALSE;
}

/**
 * ir_act_fits:
 * @node: a node; may be of a frozen model
 * @slot: one of its inputs, or the first that it has not
 * @value: a value of the same model
 * @error: return location for an error
 *
 * Whether the input may read the value: by scope, by the order of computing, and by the types of all
 * inputs of the node then. A node that does not fit its inputs as it is takes what makes it no worse.
 *
 * Returns: whether "connect" would do it
 */
gboolean
ir_act_fits (const IrNode *node, guint slot, const IrValue *value, GError **error)
{
  g_autoptr (IrModel) model = NULL;
  g_autoptr (IrEdit) edit = NULL;
  g_autoptr (GPtrArray) values = g_ptr_array_new ();
  IrNode *own;

  if (!act_check_scope (value, node->graph, error))
    return FALSE;
  if (node->op == NULL || owns_graphs (node) || !act_accepts (node, NULL))
    return TRUE;
  model = ir_model_new ();
  edit = ir_edit_new_import (model);
  ir_edit_set_opset (edit, node->domain, MAX (ir_node_opset (node), 1));
  for (guint i = 0; i < MAX (node->n_inputs, slot + 1); i++)
    {
      const IrValue *input = i == slot ? value : ir_node_input (node, i);

      g_ptr_array_add (values, i == slot || input != NULL ? stand_in (edit, input) : NULL);
    }
  set_inputs (edit, values);
  own = ir_edit_add_node (edit, model->main, node->op_type, node->domain, node->name, values->len,
                          (IrValue *const *) values->pdata, node->n_outputs);
  for (guint i = 0; i < node->n_attrs; i++)
    if (node->attrs[i]->kind != IR_ATTR_TYPE && node->attrs[i]->kind != IR_ATTR_TYPES)
      ir_edit_set_attr (edit, own, node->attrs[i]);
  return act_accepts (own, error);
}

/**
 * ir_act_n_slots:
 * @node: a node
 *
 * Returns: how many inputs it has or may have, with one more where there may be any number
 */
guint
ir_act_n_slots (const IrNode *node)
{
  if (node->op == NULL)
    return node->n_inputs;
  return node->op->in.max < 0 ? node->n_inputs + 1 : MAX (node->n_inputs, (guint) node->op->in.max);
}

/**
 * ir_act_slot_for:
 * @node: a node; may be of a frozen model
 * @value: a value of the same model
 * @error: return location for an error
 *
 * Returns: the first open input that the value fits, else the only input of the node; -1 with
 *   @error: none
 */
gint
ir_act_slot_for (const IrNode *node, const IrValue *value, GError **error)
{
  g_autoptr (GError) why = NULL;
  const guint n = ir_act_n_slots (node);

  for (guint i = 0; i < n; i++)
    if (ir_node_input (node, i) == NULL && i <= node->n_inputs &&
        ir_act_fits (node, i, value, why == NULL ? &why : NULL))
      return (gint) i;
  if (n == 1 && ir_act_fits (node, 0, value, why == NULL ? &why : NULL))
    return 0;
  if (why != NULL)
    g_propagate_error (error, g_steal_pointer (&why));
  else
    {
      g_autofree char *label = ir_node_label (node);

      act_refuse (error, "%s: has no open input; say which one is to read %s", label, value->name);
    }
  return -1;
}

/* A new node with @value at @slot, and other inputs of which nothing is known. */
static gboolean
op_takes (const IrOp *op, guint slot, const IrValue *value)
{
  g_autoptr (IrModel) model = ir_model_new ();
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);
  g_autoptr (GPtrArray) values = g_ptr_array_new ();
  g_autoptr (GError) why = NULL;
  gint64 opset = ir_model_opset (value->graph->model, op->domain != NULL ? op->domain : "");
  IrNode *node;

  ir_edit_set_opset (edit, op->domain != NULL ? op->domain : "", MAX (opset, op->since));
  for (guint i = 0; i < MAX (ir_op_least_inputs (op), slot + 1); i++)
    g_ptr_array_add (values, stand_in (edit, i == slot ? value : NULL));
  set_inputs (edit, values);
  node = ir_edit_add_node (edit, model->main, op->name, op->domain, "", values->len,
                           (IrValue *const *) values->pdata, MAX (op->out.min, 1));
  for (const IrAttrSpec *spec = op->attrs; spec != NULL && spec->name != NULL; spec++)
    {
      const IrAttr *attr = spec->required ? act_default_attr (model->context, spec) : NULL;

      if (attr != NULL)
        ir_edit_set_attr (edit, node, attr);
      if (spec->required && spec->kind == IR_ATTR_STRING)
        return check_elements (node, NULL); /* shapes are a matter of what is written there */
    }
  return act_accepts (node, NULL);
}

/* Where a new node that owns graphs takes the value: what is behind its inputs, its branches capture. */
static gint
started_slot_for (const IrOp *op, const IrValue *value)
{
  const IrType *type = ir_value_shown_type (value);
  guint n = 1;

  for (guint i = 0; i < n; i++)
    {
      g_autoptr (IrModel) part = act_read_start (op, NULL);
      g_autoptr (IrEdit) edit = part != NULL ? ir_edit_new_import (part) : NULL;

      if (edit == NULL)
        return -1;
      n = ir_graph_n_inputs (part->main);
      ir_edit_set_type (edit, ir_graph_input (part->main, i),
                        carry_type (part->context, value->graph->model, type));
      if (act_accepts (ir_graph_output (part->main, 0)->producer, NULL))
        return (gint) i;
    }
  return -1;
}

/**
 * ir_act_op_slot_for:
 * @op: a row of the op table
 * @value: a value, of any model
 *
 * Returns: the first input of a new node of the operator that the value fits by its type; -1: none
 */
gint
ir_act_op_slot_for (const IrOp *op, const IrValue *value)
{
  const guint n = op->in.max < 0 ? MAX (ir_op_least_inputs (op), 1) : (guint) op->in.max;

  if (op->in.max == 0)
    return -1;
  if (op->start != NULL)
    return started_slot_for (op, value);
  for (guint i = 0; i < n; i++)
    if (op_takes (op, i, value))
      return (gint) i;
  return -1;
}
