#include "config.h"

#include "tests/rules/graph-changes.h"

#include "core/ir/frames.h"
#include "core/ir/edit.h"
#include "tests/rules/pass-test.h"

#include <string.h>

#define N_TWO 24 /* draws of each graph in which two things are others */

/* A place of a model, and which change is made there; FALSE: there are no more. */
typedef gboolean (*Change) (IrModel *model, IrEdit *edit, guint index, GString *said);

static gboolean
change_nothing (IrModel *model, IrEdit *edit, guint index, GString *said)
{
  return index == 0;
}

static gboolean
change_opset (IrModel *model, IrEdit *edit, guint index, GString *said)
{
  static const guint opsets[] = { 7, 9, 11, 12, 13, 14, 17, 18, 20, 21, 23, 24 };

  if (index == G_N_ELEMENTS (opsets)) /* initializers are inputs, too */
    {
      IrModelInfo info = *model->info;
      info.ir_version = 3;
      ir_edit_set_info (edit, &info);
      g_string_append (said, "version 3");
    }
  if (index >= G_N_ELEMENTS (opsets))
    return index == G_N_ELEMENTS (opsets);
  ir_edit_set_opset (edit, "", opsets[index]);
  g_string_append_printf (said, "opset %u", opsets[index]);
  return TRUE;
}

/* What a run brings is known. */
static void
make_constant (IrModel *model, IrEdit *edit, IrValue *value)
{
  gint64 dims[IR_MAX_RANK];
  guint64 n = 1;

  for (int i = 0; i < value->type->rank; i++)
    n *= (guint64) (dims[i] = ir_dim_is_known (value->type->dims[i]) ? value->type->dims[i] : 2);
  g_autoptr (IrTensor)
      tensor = ir_tensor_new_alloc (value->type->dtype, (guint) value->type->rank, dims, NULL);
  if (tensor == NULL || ir_dtype_kind (value->type->dtype) == IR_DTYPE_KIND_STRING)
    return;
  for (guint64 i = 0; i < n; i++)
    ir_dtype_set_double (value->type->dtype, ir_tensor_data_writable (tensor), i, (double) (i % 3));
  ir_edit_set_type (edit, value, ir_tensor_type (tensor, model->context));
  ir_edit_set_initializer (edit, value, tensor);
  g_autoptr (GPtrArray) inputs = g_ptr_array_new ();
  for (guint i = 0; i < ir_graph_n_inputs (model->main); i++)
    if (ir_graph_input (model->main, i) != value)
      g_ptr_array_add (inputs, ir_graph_input (model->main, i));
  ir_edit_set_graph_inputs (edit, model->main, (IrValue *const *) inputs->pdata, inputs->len);
}

static gboolean
change_input (IrModel *model, IrEdit *edit, guint index, GString *said)
{
  static const IrDtype dtypes[] = { IR_DTYPE_DOUBLE, IR_DTYPE_FLOAT16, IR_DTYPE_INT32,
                                    IR_DTYPE_BFLOAT16 };
  enum
  {
    DTYPES = G_N_ELEMENTS (dtypes),
    AXES = 5,
    SIZES = 4, /* 1, one more, none, not known */
    EACH = DTYPES + 4 + SIZES * AXES
  };
  const guint n = ir_graph_n_inputs (model->main);

  if (index >= EACH * n)
    return FALSE;
  IrValue *value = ir_graph_input (model->main, index / EACH);
  const IrType *type = value->type;
  IrDim dims[IR_MAX_RANK] = { 0 };
  guint change = index % EACH;
  if (!ir_type_is_tensor (type) || !ir_type_has_rank (type))
    return TRUE;
  memcpy (dims, type->dims, sizeof *dims * (guint) type->rank);
  IrDtype dtype = type->dtype;
  int rank = type->rank;
  if (change < DTYPES)
    dtype = dtypes[change];
  else if (change == DTYPES)
    rank = IR_RANK_UNKNOWN;
  else if (change == DTYPES + 1 && rank < 6)
    dims[rank++] = 2;
  else if (change == DTYPES + 2 && value->initializer == NULL)
    make_constant (model, edit, value);
  else if (change > DTYPES + 3)
    {
      const guint axis = (change - DTYPES - 4) / SIZES, size = (change - DTYPES - 4) % SIZES;
      if (axis >= (guint) rank)
        return TRUE;
      dims[axis] = size == 0                                   ? 1
                   : size == 1 && ir_dim_is_known (dims[axis]) ? dims[axis] + 1
                   : size == 2                                 ? 0
                               : ir_dim_symbol (model->context, "other");
    }
  if (change == DTYPES + 3)
    ir_edit_set_type (edit, value, NULL);
  else if (change != DTYPES + 2)
    ir_edit_set_type (edit, value, ir_type_tensor (model->context, dtype, rank, dims));
  g_string_append_printf (said, "input %s change %u", value->name, change);
  return TRUE;
}

/* (nullable) */
static const IrAttr *
other_attr (IrContext *context, const IrAttr *attr, guint change)
{
  g_autofree gint64 *ints = NULL;

  if (attr->n == 0) /* or it is the caller's */
    return NULL;
  if (attr->kind == IR_ATTR_INT)
    return ir_attr_int (context, attr->name,
                        change == 2 ? 0 : attr->ints[0] + (change == 0 ? 1 : -1));
  if (attr->kind == IR_ATTR_FLOAT)
    return ir_attr_float (context, attr->name,
                          change == 0   ? attr->floats[0] * 1.5f
                          : change == 1 ? 0
                                        : -1);
  if (attr->kind == IR_ATTR_STRING)
    return ir_attr_string (context, attr->name, "other", -1);
  if (attr->kind != IR_ATTR_INTS)
    return NULL;
  ints = g_memdup2 (attr->ints, attr->n * sizeof *ints);
  ints[change == 1 ? attr->n - 1 : 0]++;
  ints[0] = change == 2 ? 0 : ints[0];
  return ir_attr_ints (context, attr->name, ints, attr->n);
}

/* Other contents: the first or the last element one more, an axis more, nearly 0, the first much less, another type, a
 * single element along each axis, the last axis one longer. */
enum
{
  FIRST,
  LAST,
  DEEPER,
  SMALL,
  LOWER,
  RETYPED,
  SINGLE,
  LONGER,
  N_CONTENTS
};

static IrDtype
other_dtype (IrDtype dtype)
{
  return dtype == IR_DTYPE_FLOAT   ? IR_DTYPE_DOUBLE
         : dtype == IR_DTYPE_INT64 ? IR_DTYPE_INT32
                                   : IR_DTYPE_FLOAT;
}

/* (transfer full) (nullable) */
static IrTensor *
converted (const IrTensor *tensor, IrDtype dtype)
{
  IrTensor *other = ir_tensor_new_alloc (dtype, ir_tensor_rank (tensor), ir_tensor_dims (tensor),
                                         NULL);

  for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
    ir_dtype_set_double (dtype, ir_tensor_data_writable (other), i,
                         ir_tensor_get_double (tensor, i));
  return other;
}

static IrTensor *
other_tensor (const IrTensor *tensor, guint change)
{
  guint64 n = tensor != NULL ? ir_tensor_n_elements (tensor) : 0;
  guint rank = tensor != NULL ? ir_tensor_rank (tensor) : 0;
  gint64 dims[IR_MAX_RANK] = { 1 };

  if (n == 0 || n > 4096 || ir_tensor_is_container (tensor) || rank + 1 > IR_MAX_RANK ||
      ir_dtype_kind (ir_tensor_dtype (tensor)) == IR_DTYPE_KIND_STRING)
    return NULL;
  if (change == RETYPED)
    return converted (tensor, other_dtype (ir_tensor_dtype (tensor)));
  if (change == SMALL && !ir_dtype_is_float (ir_tensor_dtype (tensor)))
    return NULL;
  memcpy (dims + (change == DEEPER), ir_tensor_dims (tensor), rank * sizeof *dims);
  for (guint i = 0; change == SINGLE && i < rank; i++)
    dims[i] = 1;
  if ((change == SINGLE && n == 1) || (change == LONGER && rank == 0))
    return NULL;
  if (change == LONGER)
    dims[rank - 1]++;
  IrTensor *other = ir_tensor_new_alloc (ir_tensor_dtype (tensor), rank + (change == DEEPER), dims,
                                         NULL);
  for (guint64 i = 0; i < ir_tensor_n_elements (other); i++)
    {
      double is = ir_tensor_get_double (tensor, i % n);
      double by = change == FIRST && i == 0      ? 1
                  : change == LAST && i == n - 1 ? 1
                  : change == LOWER && i == 0    ? -10
                                                 : 0;
      ir_dtype_set_double (ir_tensor_dtype (tensor), ir_tensor_data_writable (other), i,
                           change == SMALL ? is * 1e-38 : is + by);
    }
  return other;
}

GPtrArray *
graph_changes_nodes (const IrModel *model)
{
  GPtrArray *nodes = g_ptr_array_new ();

  for (guint i = 1; i < model->nodes->len; i++)
    if (((const IrNode *) model->nodes->pdata[i])->state == IR_STATE_LIVE)
      g_ptr_array_add (nodes, model->nodes->pdata[i]);
  return nodes;
}

static void
add_output (IrModel *model, IrEdit *edit, IrValue *value)
{
  g_autoptr (GPtrArray) outputs = g_ptr_array_new ();

  for (guint i = 0; i < ir_graph_n_outputs (model->main); i++)
    g_ptr_array_add (outputs, ir_graph_output (model->main, i));
  g_ptr_array_add (outputs, value);
  ir_edit_set_graph_outputs (edit, model->main, (IrValue *const *) outputs->pdata, outputs->len);
}

/* What was known becomes what a run brings. */
static void
make_variable (IrModel *model, IrEdit *edit, IrValue *value)
{
  const IrTensor *tensor = ir_value_constant (value);
  g_autoptr (GPtrArray) inputs = g_ptr_array_new ();

  if (tensor == NULL)
    return;
  IrValue *input = ir_edit_add_value (edit, model->main, "variable",
                                      ir_tensor_type (tensor, model->context));

  for (guint i = 0; i < ir_graph_n_inputs (model->main); i++)
    g_ptr_array_add (inputs, ir_graph_input (model->main, i));
  g_ptr_array_add (inputs, input);
  ir_edit_set_graph_inputs (edit, model->main, (IrValue *const *) inputs->pdata, inputs->len);
  while (value->n_uses > 0 && ir_value_use (value, 0).node != NULL)
    ir_edit_set_input (edit, ir_value_use (value, 0).node, ir_value_use (value, 0).slot, input);
}

/* Each node by itself. */
static gboolean
change_node (IrModel *model, IrEdit *edit, guint index, GString *said)
{
  enum
  {
    ATTRS = 6,
    INPUTS = 4,
    EACH = 4 + 4 * ATTRS + N_CONTENTS + 1 + INPUTS
  };
  g_autoptr (GPtrArray) nodes = graph_changes_nodes (model);
  guint change = index % EACH;

  if (index / EACH >= nodes->len)
    return FALSE;
  IrNode *node = nodes->pdata[index / EACH];
  g_string_append_printf (said, "node %u (%s) change %u", node->id, node->op_type, change);
  if (change == 0)
    ir_edit_set_device (edit, node, "gpu:1");
  else if (change < 3 && node->graph == model->main && node->outputs[0] != NULL)
    {
      IrNode *reader = change == 2 ? ir_edit_add_node (edit, model->main, "Identity", NULL,
                                                       "reader", 1, &node->outputs[0], 1)
                                   : NULL;
      add_output (model, edit, reader != NULL ? reader->outputs[0] : node->outputs[0]);
    }
  else if (change == 3 && node->n_inputs > 1)
    {
      IrValue *first = node->inputs[0];
      ir_edit_set_input (edit, node, 0, node->inputs[1]);
      ir_edit_set_input (edit, node, 1, first);
    }
  else if (change > 3 && change < 4 + 4 * ATTRS && (change - 4) / 4 < node->n_attrs)
    {
      const IrAttr *attr = node->attrs[(change - 4) / 4];
      const IrAttr *other = (change - 4) % 4 < 3
                                ? other_attr (model->context, attr, (change - 4) % 4)
                                : NULL;
      if (other != NULL)
        ir_edit_set_attr (edit, node, other);
      else if ((change - 4) % 4 == 3 && attr->kind != IR_ATTR_GRAPH)
        ir_edit_unset_attr (edit, node, attr->name);
    }
  else if (change >= EACH - INPUTS && change + INPUTS - EACH < node->n_inputs)
    ir_edit_set_input (edit, node, change + INPUTS - EACH, NULL);
  else if (change == EACH - INPUTS - 1 && ir_node_is_constant (node) && node->graph == model->main)
    make_variable (model, edit, node->outputs[0]);
  else if (change >= 4 + 4 * ATTRS && change < EACH - INPUTS - 1 && ir_node_is_constant (node))
    {
      g_autoptr (IrTensor)
          other = other_tensor (ir_value_constant (node->outputs[0]), change - 4 - 4 * ATTRS);
      if (other != NULL)
        ir_edit_set_attr (edit, node, ir_attr_tensor (model->context, "value", other));
    }
  return TRUE;
}

static gboolean
change_initializer (IrModel *model, IrEdit *edit, guint index, GString *said)
{
  enum
  {
    EACH = N_CONTENTS + 1
  };
  guint n;
  IrValue *const *values = ir_graph_values (model->main, &n);

  if (index / EACH >= n)
    return FALSE;
  IrValue *value = values[index / EACH];
  const guint change = index % EACH;
  if (value->initializer == NULL)
    return TRUE;
  if (change == N_CONTENTS)
    make_variable (model, edit, value);
  else
    {
      g_autoptr (IrTensor) other = other_tensor (value->initializer, change);
      if (other != NULL)
        {
          ir_edit_set_initializer (edit, value, other);
          ir_edit_set_type (edit, value, ir_tensor_type (other, model->context));
        }
    }
  g_string_append_printf (said, "initializer %s change %u", value->name, change);
  return TRUE;
}

/* An attribute that the node does not have gets a number; one that nobody knows does. */
static gboolean
change_absent (IrModel *model, IrEdit *edit, guint index, GString *said)
{
  g_autoptr (GPtrArray) nodes = graph_changes_nodes (model);
  guint at = 0;

  for (guint i = 0; i < nodes->len; i++)
    {
      IrNode *node = nodes->pdata[i];
      const IrAttrSpec *spec = node->op != NULL ? node->op->attrs : NULL;
      for (; spec != NULL && spec->name != NULL; spec++)
        for (gint64 number = 0; number < 2; number++)
          if ((spec->kind == IR_ATTR_INT || spec->kind == IR_ATTR_FLOAT) &&
              ir_node_attr (node, spec->name) == NULL && at++ == index)
            {
              ir_edit_set_attr (
                  edit, node,
                  spec->kind == IR_ATTR_INT
                      ? ir_attr_int (model->context, spec->name, number)
                      : ir_attr_float (model->context, spec->name, (float) number / 2));
              g_string_append_printf (said, "node %u (%s) %s %u", node->id, node->op_type,
                                      spec->name, (guint) number);
              return TRUE;
            }
      if (at++ == index)
        {
          ir_edit_set_attr (edit, node, ir_attr_int (model->context, "unknown", 1));
          g_string_append_printf (said, "node %u (%s) unknown", node->id, node->op_type);
          return TRUE;
        }
    }
  return FALSE;
}

/* Everything is of another type. */
static gboolean
change_dtype (IrModel *model, IrEdit *edit, guint index, GString *said)
{
  static const IrDtype dtypes[] = { IR_DTYPE_DOUBLE, IR_DTYPE_FLOAT16, IR_DTYPE_INT32 };

  if (index >= G_N_ELEMENTS (dtypes))
    return FALSE;
  const IrDtype dtype = dtypes[index];
  for (guint i = 1; i < model->values->len; i++)
    {
      IrValue *value = ir_model_live_value (model, i);
      const IrTensor *tensor = value != NULL ? ir_value_constant (value) : NULL;
      if (value == NULL || value->type == NULL || !ir_type_is_tensor (value->type))
        continue;
      gboolean floats = value->type->dtype == IR_DTYPE_FLOAT;
      if (tensor != NULL && floats)
        {
          g_autoptr (IrTensor) other = converted (tensor, dtype);
          if (value->producer == NULL)
            ir_edit_set_initializer (edit, value, other);
          else
            ir_edit_set_attr (edit, value->producer,
                              ir_attr_tensor (model->context, "value", other));
        }
      if (floats)
        ir_edit_set_type (
            edit, value,
            ir_type_tensor (model->context, dtype, value->type->rank, value->type->dims));
    }
  g_string_append_printf (said, "all of type %u", index);
  return TRUE;
}

/* The next operator of the table that takes as many inputs and gives as many outputs. */
static const char *
other_operator (const IrNode *node)
{
  const IrOp *op = node->op;

  for (guint i = 1; op != NULL && i < ir_op_n (); i++)
    {
      const IrOp *other = ir_op_by_id ((IrOpId) ((op->id + i) % ir_op_n ()));
      if (other != NULL && other->family == op->family && other->domain == op->domain &&
          other->start == NULL && op->start == NULL && other->in.min <= (gint) node->n_inputs &&
          other->out.min <= (gint) node->n_outputs)
        return other->name;
    }
  return NULL;
}

/* Another operator, the same name in a domain that nobody knows, or an input that reads what the graph or the node before
 * it does. */
static gboolean
change_link (IrModel *model, IrEdit *edit, guint index, GString *said)
{
  enum
  {
    INPUTS = 4,
    EACH = 2 + 2 * INPUTS
  };
  g_autoptr (GPtrArray) nodes = graph_changes_nodes (model);
  const guint change = index % EACH, slot = (change - 2) / 2;

  if (index / EACH >= nodes->len)
    return FALSE;
  IrNode *node = nodes->pdata[index / EACH];
  const char *other = change == 1 ? other_operator (node) : NULL;
  IrValue *input = change >= 2 && slot < node->n_inputs ? node->inputs[slot] : NULL;
  IrValue *reads = NULL;

  if (input != NULL && change % 2 == 0 && ir_graph_n_inputs (node->graph) > 0)
    reads = ir_graph_input (node->graph, 0);
  else if (input != NULL && change % 2 == 1 && input->producer != NULL)
    reads = ir_node_input (input->producer, 0);
  if (change == 0)
    ir_edit_set_op (edit, node, node->op_type, "other", node->overload);
  else if (other != NULL)
    ir_edit_set_op (edit, node, other, node->domain, node->overload);
  else if (reads != NULL && reads != input)
    ir_edit_set_input (edit, node, slot, reads);
  else
    return TRUE;
  g_string_append_printf (said, "node %u (%s) link %u", node->id, node->op_type, change);
  return TRUE;
}

static gboolean
reads_some (const IrNode *node, GHashTable *nodes)
{
  g_autoptr (GPtrArray) captures = ir_node_captures (node);
  gboolean some = FALSE;

  for (guint i = 0; i < node->n_inputs; i++)
    some |= node->inputs[i] != NULL && g_hash_table_contains (nodes, node->inputs[i]->producer);
  for (guint i = 0; i < captures->len; i++)
    some |= g_hash_table_contains (nodes, ((const IrValue *) captures->pdata[i])->producer);
  return some;
}

/* A node and what reads it run in a branch, which captures the rest; the other one hands on an input. */
static gboolean
change_graph (IrModel *model, IrEdit *edit, guint index, GString *said)
{
  g_autoptr (GPtrArray) nodes = ir_graph_nodes (model->main), inside = g_ptr_array_new (),
                        outputs = g_ptr_array_new (), inputs = g_ptr_array_new ();
  g_autoptr (GHashTable) moved = g_hash_table_new (NULL, NULL);

  if (index >= nodes->len)
    return FALSE;
  g_hash_table_add (moved, nodes->pdata[index]);
  for (guint last = 0; last != g_hash_table_size (moved);) /* loops of tokens */
    {
      last = g_hash_table_size (moved);
      for (guint i = 0; i < nodes->len; i++)
        if (reads_some (nodes->pdata[i], moved))
          g_hash_table_add (moved, nodes->pdata[i]);
    }
  for (guint i = 0; i < ir_graph_n_outputs (model->main); i++)
    g_ptr_array_add (outputs, ir_graph_output (model->main, i));
  for (guint i = 0; i < outputs->len; i++)
    if (g_hash_table_contains (moved, ((const IrValue *) outputs->pdata[i])->producer))
      g_ptr_array_add (inside, outputs->pdata[i]);
  for (guint i = 0; i < ir_graph_n_inputs (model->main); i++)
    g_ptr_array_add (inputs, ir_graph_input (model->main, i));
  if (inside->len == 0 || inputs->len == 0)
    return TRUE;
  IrValue *first = inputs->pdata[0],
          *choice = ir_edit_add_value (edit, model->main, "choice",
                                       ir_type_tensor (model->context, IR_DTYPE_BOOL, 0, NULL));
  IrNode *node = ir_edit_add_node (edit, model->main, "If", NULL, "", 1, &choice, inside->len);
  g_ptr_array_add (inputs, choice);
  ir_edit_set_graph_inputs (edit, model->main, (IrValue *const *) inputs->pdata, inputs->len);
  for (guint i = 0, k = 0; i < outputs->len; i++)
    if (k < inside->len && outputs->pdata[i] == inside->pdata[k])
      outputs->pdata[i] = node->outputs[k++];
  ir_edit_set_graph_outputs (edit, model->main, (IrValue *const *) outputs->pdata, outputs->len);
  for (guint branch = 0; branch < 2; branch++)
    {
      const char *name = branch == 0 ? "then_branch" : "else_branch";
      IrGraph *graph = ir_edit_add_graph (edit, IR_GRAPH_SUBGRAPH, name);
      ir_edit_set_attr (edit, node, ir_attr_graph (model->context, name, graph->id));
      for (guint i = 0; branch == 0 && i < nodes->len; i++)
        if (g_hash_table_contains (moved, nodes->pdata[i]))
          ir_edit_move_node (edit, nodes->pdata[i], graph);
      for (guint i = 0; branch == 1 && i < inside->len; i++)
        inside->pdata[i] = ir_edit_add_node (edit, graph, "Identity", NULL, "", 1, &first, 1)
                               ->outputs[0];
      ir_edit_set_graph_outputs (edit, graph, (IrValue *const *) inside->pdata, inside->len);
    }
  g_string_append_printf (said, "from node %u in a branch", index);
  return TRUE;
}

static gboolean
change_two (IrModel *model, IrEdit *edit, guint index, GString *said)
{
  static const Change changes[] = { change_input, change_node, change_absent, change_initializer,
                                    change_link };
  g_autoptr (GRand) rand = g_rand_new_with_seed (index);

  if (index >= N_TWO)
    return FALSE;
  for (guint made = 0, tried = 0; made < 2 && tried < 40; tried++)
    {
      const Change change = changes[g_rand_int_range (rand, 0, G_N_ELEMENTS (changes))];
      const gsize before = said->len;
      change (model, edit, (guint) g_rand_int_range (rand, 0, 1 << g_rand_int_range (rand, 2, 9)),
              said);
      made += said->len > before;
    }
  return TRUE;
}

/* -- all of them -- */

static const Change changes[] = { change_nothing, change_opset, change_input,       change_node,
                                  change_absent,  change_dtype, change_initializer, change_link,
                                  change_graph,   change_two };

void
graph_changes_try (IrModel *model, GraphChanged changed, gpointer data)
{
  g_autoptr (GString) said = g_string_new (NULL);

  for (guint i = 0; i < G_N_ELEMENTS (changes); i++)
    for (guint index = 0;; index++)
      {
        g_autoptr (IrModel) other = ir_model_clone (model);
        g_autoptr (IrEdit) edit = ir_edit_new_import (other);
        g_string_truncate (said, 0);
        if (!changes[i](other, edit, index, said))
          break;
        if (i > 0 && said->len == 0)
          continue;
        changed (other, g_steal_pointer (&edit), said->str, data);
      }
}
