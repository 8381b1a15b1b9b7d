/* Acts on values: names, types, constants, and what the model takes and gives. */
#include "config.h"

#include "core/act/act-private.h"
#include "core/io/io.h"
#include "core/op/check.h"
#include "core/op/infer.h"
#include "core/op/op.h"

#include <string.h>

/* -- names -- */

static gboolean
check_free (IrActing *acting, const char *name, GError **error)
{
  if (name[0] == '\0')
    return act_misread (error, "a value needs a name");
  if (!ir_edit_name_is_free (acting->edit, name))
    return act_refuse (error, "there is a value '%s' already; names of values differ", name);
  return TRUE;
}

gboolean
act_rename_value (IrActing *acting, GError **error)
{
  IrValue *value = act_value (acting->model, acting->words[0], error);

  if (value == NULL)
    return FALSE;
  acting->done->value = value->id;
  if (strcmp (value->name, acting->words[1]) == 0)
    return TRUE;
  if (!check_free (acting, acting->words[1], error))
    return FALSE;
  ir_edit_rename_value (acting->edit, value, acting->words[1]);
  ir_edit_set_flags (acting->edit, value, value->flags | IR_VALUE_NAMED_BY_USER);
  return TRUE;
}

/* -- types -- */

/* What was declared behind a value that has another type now need not hold. */
static void
forget_claims (IrEdit *edit, const IrValue *changed)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);
  g_autoptr (GPtrArray) stack = g_ptr_array_new ();

  g_ptr_array_add (stack, (gpointer) changed);
  while (stack->len > 0)
    {
      const IrValue *value = g_ptr_array_steal_index_fast (stack, stack->len - 1);

      for (guint i = 0; i < value->n_uses; i++)
        {
          const IrUse use = ir_value_use (value, i);
          const IrNode *node = use.node != NULL
                                   ? use.node
                                   : ir_model_live_node (use.graph->model, use.graph->owner);

          if (node == NULL || !g_hash_table_add (seen, (gpointer) node))
            continue;
          for (guint k = 0; k < node->n_outputs; k++)
            if (node->outputs[k] != NULL)
              {
                ir_edit_set_claim (edit, node->outputs[k], NULL);
                g_ptr_array_add (stack, node->outputs[k]);
              }
        }
    }
}

gboolean
act_set_type (IrActing *acting, GError **error)
{
  IrValue *value = act_value (acting->model, acting->words[0], error);
  const IrType *type = value != NULL ? act_type (acting->model, acting->words[1], error) : NULL;

  if (type == NULL)
    return FALSE;
  if (ir_value_constant (value) != NULL || value->initializer != NULL)
    return act_refuse (error,
                       "%s is a constant, whose type is that of its contents; set those, or "
                       "change its element type",
                       value->name);
  acting->done->value = value->id;
  if (value->producer == NULL)
    {
      ir_edit_set_claim (acting->edit, value, NULL);
      ir_edit_set_type (acting->edit, value, type);
      forget_claims (acting->edit, value);
    }
  else if (value->type != NULL && ir_type_merge (acting->model->context, value->type, type) == NULL)
    {
      g_autofree char *label = act_value_label (value);

      return act_refuse (error,
                         "%s follows from what computes it, and %s contradicts it; change the "
                         "inputs or attributes of %s",
                         label, acting->words[1], value->producer->op_type);
    }
  else
    ir_edit_set_claim (acting->edit, value, type);
  ir_edit_set_flags (acting->edit, value, value->flags | IR_VALUE_DECLARED);
  return TRUE;
}

/* -- constants -- */

static const IrType *
type_of (IrActing *acting, const IrTensor *tensor)
{
  return ir_tensor_type (tensor, acting->model->context);
}

/* Nodes that read the value and fitted their inputs before have to fit them again. */
static GPtrArray *
fitting_users (const IrValue *value)
{
  GPtrArray *users = g_ptr_array_new ();

  for (guint i = 0; i < ir_value_n_node_uses (value); i++)
    if (act_accepts (ir_value_use (value, i).node, NULL))
      g_ptr_array_add (users, ir_value_use (value, i).node);
  return users;
}

static gboolean
all_accept (const GPtrArray *users, GError **error)
{
  for (guint i = 0; i < users->len; i++)
    if (!act_accepts (users->pdata[i], error))
      return FALSE;
  return TRUE;
}

static void
drop_input (IrEdit *edit, IrGraph *graph, const IrValue *value)
{
  g_autoptr (GPtrArray) inputs = g_ptr_array_new ();

  for (guint i = 0; i < ir_graph_n_inputs (graph); i++)
    if (ir_graph_input (graph, i) != value)
      g_ptr_array_add (inputs, ir_graph_input (graph, i));
  ir_edit_set_graph_inputs (edit, graph, (IrValue *const *) inputs->pdata, inputs->len);
}

static gboolean
check_dtype (const IrValue *value, const IrTensor *tensor, GError **error)
{
  const IrDtype wanted = ir_value_dtype (value), found = ir_tensor_dtype (tensor);

  if (wanted == IR_DTYPE_UNDEFINED || wanted == found)
    return TRUE;
  return act_refuse (error,
                     "%s holds %s, and the contents are %s; give elements of %s, or change "
                     "the element type of %s first",
                     value->name, ir_dtype_name (wanted), ir_dtype_name (found),
                     ir_dtype_name (wanted), value->name);
}

/* The output of a Constant node. */
static gboolean
set_constant_node (IrActing *acting, IrNode *node, IrTensor *tensor)
{
  for (guint i = node->n_attrs; i > 0; i--)
    ir_edit_unset_attr (acting->edit, node, node->attrs[i - 1]->name);
  ir_edit_set_attr (acting->edit, node, ir_attr_tensor (acting->model->context, "value", tensor));
  act_show_node (acting, node);
  return TRUE;
}

gboolean
act_set_constant (IrActing *acting, GError **error)
{
  IrValue *value = act_value (acting->model, acting->words[0], error);
  g_autoptr (IrTensor) tensor = NULL;
  g_autoptr (GPtrArray) users = NULL;

  if (value != NULL)
    tensor = act_contents (acting->model->context, value->type, acting->words[1], error);
  if (tensor == NULL || !check_dtype (value, tensor, error))
    return FALSE;
  acting->done->value = value->id;
  users = fitting_users (value);
  if (value->producer != NULL && !ir_op_is (value->producer, IR_OP_CONSTANT))
    return act_refuse (error,
                       "%s is computed by %s, and is no constant; add one, and connect it "
                       "where it is needed",
                       value->name, value->producer->op_type);
  if (value->producer != NULL)
    set_constant_node (acting, value->producer, tensor);
  else if (value->graph->kind == IR_GRAPH_MAIN)
    {
      ir_edit_set_initializer (acting->edit, value, tensor);
      ir_edit_set_claim (acting->edit, value, NULL);
      ir_edit_set_type (acting->edit, value, type_of (acting, tensor));
      drop_input (acting->edit, value->graph, value);
      forget_claims (acting->edit, value);
    }
  else
    return act_refuse (error, "%s is what the node around gives its body", value->name);
  return all_accept (users, error);
}

/* -- weights of another file -- */

/* What @value is called here; NULL without @error: nothing that could take it */
static IrValue *
find_weight (const IrActing *acting, const IrValue *value, const char *path, GError **error)
{
  IrValue *own = ir_graph_find_value (acting->model->main, value->name);

  if (value->initializer == NULL || own == NULL)
    return NULL;
  if (own->initializer == NULL && own->producer != NULL &&
      !ir_op_is (own->producer, IR_OP_CONSTANT))
    act_refuse (error, "%s is a constant in %s, and computed by %s here; open that file instead",
                own->name, path, own->producer->op_type);
  else if (own->initializer != NULL &&
           ir_tensor_type (own->initializer, acting->model->context) !=
               ir_tensor_type (value->initializer, acting->model->context))
    act_refuse (error, "%s has another shape or element type in %s", own->name, path);
  else
    return own->initializer != NULL ? own : NULL;
  return NULL;
}

gboolean
act_take_weights (IrActing *acting, GError **error)
{
  const char *path = acting->words[0];
  g_autoptr (IrModel) other = ir_model_load (path, NULL, NULL, error);
  IrValue *const *values;
  GError *local = NULL;
  guint n, n_taken = 0, n_same = 0;

  if (other == NULL)
    return FALSE;
  values = ir_graph_values (other->main, &n);
  for (guint i = 0; i < n; i++)
    {
      IrValue *own = find_weight (acting, values[i], path, &local);
      if (local != NULL)
        {
          g_propagate_error (error, local);
          return FALSE;
        }
      if (own == NULL)
        continue;
      n_same++;
      if (ir_tensor_equal (own->initializer, values[i]->initializer))
        continue;
      ir_edit_set_initializer (acting->edit, own, values[i]->initializer);
      n_taken++;
    }
  if (n_same == 0)
    return act_refuse (error, "%s has no constant with the name of one of this model", path);
  return n_taken > 0 || act_refuse (error, "%s holds the weights that this model has", path);
}

gboolean
act_add_constant (IrActing *acting, GError **error)
{
  const char *in = acting->n_words > 2 ? act_option (acting->words[2], "in") : "";
  IrGraph *graph;
  IrValue *value;
  g_autoptr (IrTensor) tensor = NULL;

  if (in == NULL)
    return act_misread (error, "'%s': needs in=NODE:ATTR, or nothing", acting->words[2]);
  graph = act_graph (acting->model, in, error);
  if (graph == NULL || !check_free (acting, acting->words[0], error))
    return FALSE;
  tensor = act_contents (acting->model->context, NULL, acting->words[1], error);
  if (tensor == NULL)
    return FALSE;
  value = ir_edit_add_initializer (acting->edit, graph, acting->words[0], tensor);
  ir_edit_set_flags (acting->edit, value, value->flags | IR_VALUE_NAMED_BY_USER);
  acting->done->value = value->id;
  return TRUE;
}

/* -- what the model takes and gives -- */

/* "x float[2,3]" where only a name is asked for */
static gboolean
check_bare_name (const IrActing *acting, const char *name, GError **error)
{
  const char *space = strchr (name, ' ');

  if (space == NULL || ir_type_parse (acting->model->context, space + 1, NULL) == NULL)
    return TRUE;
  return act_misread (
      error,
      "'%s': a name is needed, and a type was found behind it; name it '%.*s', with the type %s",
      name, (int) (space - name), name, space + 1);
}

gboolean
act_add_input (IrActing *acting, GError **error)
{
  IrGraph *main = acting->model->main;
  const IrType *type = act_type (acting->model, acting->words[1], error);
  g_autoptr (GPtrArray) inputs = g_ptr_array_new ();
  IrValue *value;

  if (type == NULL || !check_bare_name (acting, acting->words[0], error) ||
      !check_free (acting, acting->words[0], error))
    return FALSE;
  value = ir_edit_add_value (acting->edit, main, acting->words[0], type);
  ir_edit_set_flags (acting->edit, value, IR_VALUE_DECLARED | IR_VALUE_NAMED_BY_USER);
  for (guint i = 0; i < ir_graph_n_inputs (main); i++)
    g_ptr_array_add (inputs, ir_graph_input (main, i));
  g_ptr_array_add (inputs, value);
  ir_edit_set_graph_inputs (acting->edit, main, (IrValue *const *) inputs->pdata, inputs->len);
  acting->done->value = value->id;
  return TRUE;
}

gboolean
act_add_output (IrActing *acting, GError **error)
{
  IrValue *value = act_value (acting->model, acting->words[0], error);
  IrGraph *main = acting->model->main;
  g_autoptr (GPtrArray) outputs = g_ptr_array_new ();

  if (value == NULL)
    return FALSE;
  if (value->graph != main)
    return act_refuse (error,
                       "%s lies in graph %s, which a node of the model owns; only values of "
                       "the main graph can be outputs of the model",
                       value->name, value->graph->name);
  acting->done->value = value->id;
  if (acting->n_words > 1 && strcmp (value->name, acting->words[1]) != 0)
    {
      if (!check_free (acting, acting->words[1], error))
        return FALSE;
      ir_edit_rename_value (acting->edit, value, acting->words[1]);
    }
  ir_edit_set_flags (acting->edit, value, value->flags | IR_VALUE_NAMED_BY_USER);
  if (ir_value_is_graph_output (value))
    return TRUE;
  for (guint i = 0; i < ir_graph_n_outputs (main); i++)
    g_ptr_array_add (outputs, ir_graph_output (main, i));
  g_ptr_array_add (outputs, value);
  ir_edit_set_graph_outputs (acting->edit, main, (IrValue *const *) outputs->pdata, outputs->len);
  return TRUE;
}

/* -- sizes, versions, element types -- */

static void
add_symbols (const IrModel *model, const IrValue *value, GPtrArray *names)
{
  const IrType *type = value->type;

  for (int i = 0; ir_type_has_rank (type) && i < type->rank; i++)
    {
      const char *name = ir_dim_is_symbolic (type->dims[i])
                             ? ir_dim_symbol_name (model->context, type->dims[i])
                             : NULL;

      if (name != NULL && !g_ptr_array_find_with_equal_func (names, name, g_str_equal, NULL))
        g_ptr_array_add (names, (gpointer) name);
    }
}

gboolean
act_fix_size (IrActing *acting, GError **error)
{
  const IrGraph *main = acting->model->main;
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  g_autoptr (GHashTable) bindings = g_hash_table_new (g_str_hash, g_str_equal);
  gint64 size;

  if (!g_ascii_string_to_signed (acting->words[1], 10, 0, G_MAXINT64, &size, NULL))
    return act_misread (error, "'%s' is no size; needs a whole number, 0 or more",
                        acting->words[1]);
  for (guint i = 0; i < ir_graph_n_inputs (main); i++)
    add_symbols (acting->model, ir_graph_input (main, i), names);
  if (!g_ptr_array_find_with_equal_func (names, acting->words[0], g_str_equal, NULL))
    {
      g_autofree char *list = NULL;

      g_ptr_array_add (names, NULL);
      list = g_strjoinv (", ", (char **) names->pdata);
      return act_refuse (error, "no input has a free size '%s'; there %s %s", acting->words[0],
                         names->len == 2 ? "is" : "are", list[0] != '\0' ? list : "none");
    }
  g_hash_table_insert (bindings, (gpointer) acting->words[0], &size);
  for (guint i = 0; i < ir_graph_n_inputs (main); i++)
    forget_claims (acting->edit, ir_graph_input (main, i));
  return ir_infer_bind (acting->edit, bindings, NULL, error);
}

/* Whether an operator has another form between the two versions, which its adapters know. */
static gboolean
means_the_same (const IrNode *node, gint64 before, gint64 after)
{
  const gint64 low = MIN (before, after), high = MAX (before, after);

  if (node->op == NULL)
    return TRUE;
  for (const IrAdapt *adapt = node->op->adapt; adapt->below != 0; adapt++)
    if (adapt->below > low && adapt->below <= high)
      return FALSE;
  return node->op->since <= after && (node->op->until == 0 || after < node->op->until);
}

gboolean
act_set_opset (IrActing *acting, GError **error)
{
  const char *domain = acting->n_words > 1 ? acting->words[1] : "";
  gint64 version, before;

  if (strcmp (domain, "ai.onnx") == 0)
    domain = "";
  before = ir_model_opset (acting->model, domain);
  if (!g_ascii_string_to_signed (acting->words[0], 10, 1, 1000, &version, NULL))
    return act_misread (error, "'%s' is no version; needs a whole number", acting->words[0]);
  for (IrNodeId id = 1; id < acting->model->nodes->len; id++)
    {
      const IrNode *node = ir_model_live_node (acting->model, id);
      g_autofree char *label = NULL;

      if (node == NULL || strcmp (node->domain, domain) != 0 || node->op == NULL ||
          ir_node_opset (node) != before || means_the_same (node, before, version))
        continue;
      label = ir_node_label (node);
      if (node->op->since > version)
        return act_refuse (error, "%s is of opset %" G_GINT64_FORMAT "; needs at least that", label,
                           node->op->since);
      return act_refuse (error,
                         "%s has another form in opset %" G_GINT64_FORMAT
                         " than in %" G_GINT64_FORMAT
                         "; the pass upgrade-opset rewrites such nodes: irscope convert --opset "
                         "%" G_GINT64_FORMAT,
                         label, version, before, version);
    }
  ir_edit_set_opset (acting->edit, domain, version);
  return TRUE;
}

/* Gives an input or a constant elements of another type. */
static gboolean
change_dtype (IrActing *acting, IrValue *value, IrDtype dtype, GError **error)
{
  const IrType *type = value->type != NULL ? value->type : value->claim;

  if (value->initializer != NULL)
    {
      g_autoptr (IrTensor) cast = act_cast (value->initializer, dtype, error);

      if (cast == NULL)
        return FALSE;
      ir_edit_set_initializer (acting->edit, value, cast);
      ir_edit_set_claim (acting->edit, value, NULL);
      ir_edit_set_type (acting->edit, value, type_of (acting, cast));
    }
  else if (type == NULL || type->kind != IR_TYPE_TENSOR)
    return act_refuse (error, "%s is no tensor whose type is known; set its type", value->name);
  else
    {
      ir_edit_set_claim (acting->edit, value, NULL);
      ir_edit_set_type (acting->edit, value,
                        ir_type_tensor (acting->model->context, dtype, type->rank, type->dims));
    }
  forget_claims (acting->edit, value);
  return TRUE;
}

static void
cast_behind (IrActing *acting, IrValue *value, IrDtype dtype)
{
  IrNode *node = ir_edit_add_node (acting->edit, value->graph, "Cast", "", NULL, 1, &value, 1);

  ir_edit_set_attr (acting->edit, node, ir_attr_int (acting->model->context, "to", dtype));
  ir_edit_replace_uses (acting->edit, value, ir_node_output (node, 0));
  ir_edit_set_input (acting->edit, node, 0, value);
  act_show_node (acting, node);
}

gboolean
act_set_dtype (IrActing *acting, GError **error)
{
  IrValue *value = act_value (acting->model, acting->words[0], error);
  const IrDtype dtype = value != NULL ? act_dtype (acting->words[1], error) : IR_DTYPE_UNDEFINED;

  if (dtype == IR_DTYPE_UNDEFINED)
    return FALSE;
  acting->done->value = value->id;
  if (ir_value_dtype (value) == dtype)
    return TRUE;
  if (value->producer != NULL)
    {
      cast_behind (acting, value, dtype);
      return TRUE;
    }
  if (value->graph->kind != IR_GRAPH_MAIN && value->initializer == NULL)
    return act_refuse (error, "%s is what the node around gives its body", value->name);
  return change_dtype (acting, value, dtype, error);
}

/* Tensors of the type in attributes, and the types that Cast and its like name. */
static gboolean
convert_attrs (IrActing *acting, IrNode *node, IrDtype from, IrDtype to, GError **error)
{
  static const char *const named[] = { "to", "dtype" };

  for (guint i = 0; i < node->n_attrs; i++)
    {
      const IrAttr *attr = node->attrs[i];

      if (attr->kind == IR_ATTR_TENSOR && attr->n == 1 &&
          ir_tensor_dtype (attr->tensors[0]) == from)
        {
          g_autoptr (IrTensor) cast = act_cast (attr->tensors[0], to, error);

          if (cast == NULL)
            return FALSE;
          ir_edit_set_attr (acting->edit, node,
                            ir_attr_tensor (acting->model->context, attr->name, cast));
        }
      for (guint k = 0; k < G_N_ELEMENTS (named); k++)
        if (strcmp (attr->name, named[k]) == 0 && attr->kind == IR_ATTR_INT && attr->n == 1 &&
            attr->ints[0] == (gint64) from)
          ir_edit_set_attr (acting->edit, node,
                            ir_attr_int (acting->model->context, attr->name, to));
    }
  return TRUE;
}

gboolean
act_convert (IrActing *acting, GError **error)
{
  const IrDtype from = act_dtype (acting->words[0], error);
  const IrDtype to = from != IR_DTYPE_UNDEFINED ? act_dtype (acting->words[1], error)
                                                : IR_DTYPE_UNDEFINED;
  guint n = 0;

  if (to == IR_DTYPE_UNDEFINED)
    return FALSE;
  for (IrValueId id = 1; id < acting->model->values->len; id++)
    {
      IrValue *value = ir_model_live_value (acting->model, id);

      if (value == NULL || value->producer != NULL || ir_value_dtype (value) != from ||
          (value->graph->kind != IR_GRAPH_MAIN && value->initializer == NULL))
        continue;
      if (!change_dtype (acting, value, to, error))
        return FALSE;
      n++;
    }
  for (IrNodeId id = 1; id < acting->model->nodes->len; id++)
    {
      IrNode *node = ir_model_live_node (acting->model, id);

      if (node != NULL && !convert_attrs (acting, node, from, to, error))
        return FALSE;
    }
  if (n == 0)
    return act_refuse (error, "no input and no constant of the model is of %s", acting->words[0]);
  return TRUE;
}
