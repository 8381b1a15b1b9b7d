/* Acts on nodes and on what connects them. */
#include "config.h"

#include "core/act/act-private.h"
#include "core/io/io.h"
#include "core/ir/grad-mark.h"
#include "core/op/op.h"

#include <string.h>

/* -- what may be connected -- */

gboolean
act_in_scope (const IrValue *value, const IrGraph *graph)
{
  for (const IrGraph *around = graph; around != NULL; around = ir_graph_outer (around))
    if (around == value->graph)
      return TRUE;
  return FALSE;
}

gboolean
act_no_cycle (const IrGraph *graph, GError **error)
{
  for (const IrGraph *around = graph; around != NULL; around = ir_graph_outer (around))
    if (ir_graph_is_cyclic (around))
      return act_refuse (error, "that would be a cycle: the value is computed from what the node "
                                "gives; connect a value that is there before it");
  return TRUE;
}

/* Whether a node of @graph may read the value, as far as branches and bodies go. */
gboolean
act_check_scope (const IrValue *value, const IrGraph *graph, GError **error)
{
  for (const IrGraph *around = graph; around != NULL; around = ir_graph_outer (around))
    if (value->producer != NULL && around->owner == value->producer->id)
      return act_refuse (error, "%s is what %s gives, and a branch or body of it cannot read it",
                         value->name, value->producer->op_type);
  if (act_in_scope (value, graph))
    return TRUE;
  return act_refuse (error,
                     "%s lies in graph %s, which graph %s does not see; needs a value of the same "
                     "graph, or of one around it",
                     value->name, value->graph->name, graph->name);
}

/* -- inputs by name or number -- */

static gboolean
read_slot (const IrNode *node, const char *word, guint *slot, GError **error)
{
  const guint n = ir_act_n_slots (node);
  g_autoptr (GString) names = g_string_new (NULL);
  g_autofree char *label = NULL;
  gint64 number;

  if (g_ascii_string_to_signed (word, 10, 0, G_MAXINT32, &number, NULL) && number < n)
    {
      *slot = (guint) number;
      return TRUE;
    }
  for (guint i = 0; i < n && node->op != NULL; i++)
    {
      g_autofree char *name = ir_op_input_name (node->op, i);

      if (strcmp (name, word) == 0)
        {
          *slot = i;
          return TRUE;
        }
      g_string_append_printf (names, "%s%s", i > 0 ? ", " : "", name);
    }
  label = ir_node_label (node);
  if (n == 0)
    return act_misread (error, "%s: has no inputs", label);
  return act_misread (error, "%s: has no input '%s'; needs a number below %u%s%s", label, word, n,
                      names->len > 0 ? ", or one of " : "", names->str);
}

/* Left out at the end is not there. */
static void
trim_inputs (IrEdit *edit, IrNode *node)
{
  guint n = node->n_inputs;

  while (n > 0 && node->inputs[n - 1] == NULL && node->op != NULL &&
         n > ir_op_least_inputs (node->op))
    n--;
  if (n < node->n_inputs)
    ir_edit_set_n_inputs (edit, node, n);
}

/* Constants among @values that nothing reads any more go. */
void
act_drop_unused (IrEdit *edit, GPtrArray *values)
{
  for (guint i = 0; i < values->len; i++)
    {
      IrValue *value = values->pdata[i];

      if (value->state == IR_STATE_LIVE && value->initializer != NULL && value->n_uses == 0 &&
          !ir_value_is_graph_input (value))
        ir_edit_remove_value (edit, value);
    }
}

static void
set_slot (IrEdit *edit, IrNode *node, guint slot, IrValue *value)
{
  if (slot >= node->n_inputs)
    ir_edit_set_n_inputs (edit, node, slot + 1);
  ir_edit_set_input (edit, node, slot, value);
}

/* -- adding -- */

typedef struct
{
  IrActOperator operator;
  GPtrArray *inputs; /* of IrValue, entries nullable */
  GPtrArray *attrs;  /* of IrAttr */
  const char *name;  /* (nullable) */
  const char *at;    /* (nullable): insert */
  IrGraph *graph;
} NewNode;

static void
new_node_clear (NewNode *node)
{
  g_clear_pointer (&node->inputs, g_ptr_array_unref);
  g_clear_pointer (&node->attrs, g_ptr_array_unref);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (NewNode, new_node_clear)

/* "axis=1", where the operator has such an attribute or no row says what it has. */
static gboolean
read_attr (IrActing *acting, const IrOp *op, const char *word, const IrAttr **attr, GError **error)
{
  const char *equals = strchr (word, '=');
  g_autofree char *name = equals != NULL ? g_strndup (word, (gsize) (equals - word)) : NULL;
  const IrAttrSpec *spec = name != NULL && op != NULL ? ir_op_attr (op, name) : NULL;

  if (name == NULL || name[0] == '\0')
    return act_misread (error, "'%s': needs ATTR=TEXT", word);
  if (op != NULL && spec == NULL)
    {
      g_autoptr (GString) names = g_string_new (NULL);

      for (spec = op->attrs; spec != NULL && spec->name != NULL; spec++)
        g_string_append_printf (names, "%s%s", names->len > 0 ? ", " : "", spec->name);
      return act_misread (error, "%s has no attribute '%s'; it has %s", op->name, name,
                          names->len > 0 ? names->str : "none");
    }
  *attr = act_attr (acting->model->context, name,
                    spec != NULL ? spec->kind : act_guess_kind (equals + 1), equals + 1, error);
  return *attr != NULL;
}

/* A word that begins with a name and '=' is no value, unless there is one that is called so. */
static gboolean
is_option (const IrModel *model, const char *word)
{
  const gsize length = strspn (word,
                               "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

  return length > 0 && word[length] == '=' && act_value (model, word, NULL) == NULL;
}

static gboolean
read_word (IrActing *acting, NewNode *node, const char *word, GError **error)
{
  const IrAttr *attr;
  IrValue *value = NULL;

  if (is_option (acting->model, word))
    {
      if (act_option (word, "name") != NULL)
        node->name = act_option (word, "name");
      else if (act_option (word, "at") != NULL)
        node->at = act_option (word, "at");
      else if (act_option (word, "in") != NULL)
        {
          node->graph = act_graph (acting->model, act_option (word, "in"), error);
          return node->graph != NULL;
        }
      else if (!read_attr (acting, node->operator.op, word, &attr, error))
        return FALSE;
      else
        g_ptr_array_add (node->attrs, (gpointer) attr);
      return TRUE;
    }
  if (strcmp (word, "-") != 0 && word[0] != '\0')
    {
      value = act_value (acting->model, word, error);
      if (value == NULL)
        return FALSE;
    }
  g_ptr_array_add (node->inputs, value);
  return TRUE;
}

/* The innermost graph of the inputs. */
static void
choose_graph (IrActing *acting, NewNode *node)
{
  if (node->graph != NULL)
    return;
  node->graph = acting->model->main;
  for (guint i = 0; i < node->inputs->len; i++)
    {
      const IrValue *value = node->inputs->pdata[i];

      if (value != NULL &&
          act_in_scope ((IrValue *) &(IrValue){ .graph = node->graph }, value->graph))
        node->graph = value->graph;
    }
}

static gboolean
check_opset (IrActing *acting, const IrOp *op, const IrGraph *graph, GError **error)
{
  const char *domain = op->domain != NULL ? op->domain : "";
  const gint64 opset = ir_graph_opset (graph, domain);
  gint64 newest = 1;

  if (opset != 0 && op->since > opset)
    return act_refuse (error,
                       "%s is of opset %" G_GINT64_FORMAT
                       ", and the model imports %" G_GINT64_FORMAT " of %s; change the opset first",
                       op->name, op->since, opset, domain[0] != '\0' ? domain : "ai.onnx");
  if (op->until != 0 && opset >= op->until)
    return act_refuse (error, "%s is not in opset %" G_GINT64_FORMAT " any more", op->name, opset);
  if (opset != 0)
    return TRUE;
  for (guint i = 1; i < ir_op_n (); i++)
    {
      const IrOp *other = ir_op_by_id ((IrOpId) i);

      if (strcmp (other->domain != NULL ? other->domain : "", domain) == 0)
        newest = MAX (newest, other->since);
    }
  ir_edit_set_opset (acting->edit, domain, domain[0] != '\0' ? newest : 17);
  return TRUE;
}

static void
set_attrs (IrActing *acting, IrNode *node, const NewNode *wanted)
{
  const IrOp *op = wanted->operator.op;

  for (const IrAttrSpec *spec = op != NULL ? op->attrs : NULL; spec != NULL && spec->name != NULL;
       spec++)
    {
      const IrAttr *attr = spec->required ? act_default_attr (acting->model->context, spec) : NULL;

      if (attr != NULL && ir_node_attr (node, spec->name) == NULL)
        ir_edit_set_attr (acting->edit, node, attr);
    }
  for (guint i = 0; i < wanted->attrs->len; i++)
    ir_edit_set_attr (acting->edit, node, wanted->attrs->pdata[i]);
}

/* One with branches or a body: a part in text, whose inputs are those of the node, and then what the
 * branches capture. (transfer full) */
IrModel *
act_read_start (const IrOp *op, GError **error)
{
  g_autofree char *text = g_strdup_printf ("<ir_version: 8, opset_import: [\"\": 17]>\n%s",
                                           op->start);
  g_autoptr (GPtrArray) problems = ir_problems_new ();

  return ir_text_read (text, -1, problems, error);
}

static IrNode *
add_started (IrActing *acting, const NewNode *wanted, GError **error)
{
  g_autoptr (IrModel) part = act_read_start (wanted->operator.op, error);
  g_autoptr (GHashTable) given = g_hash_table_new (NULL, NULL);
  g_autoptr (GPtrArray) made = NULL;

  if (part == NULL)
    return NULL;
  for (guint i = 0; i < ir_graph_n_inputs (part->main); i++)
    g_hash_table_insert (given, ir_graph_input (part->main, i),
                         i < wanted->inputs->len ? wanted->inputs->pdata[i] : NULL);
  made = act_place_part (acting, wanted->graph, part, given);
  return made->pdata[0];
}

/* (nullable) */
static IrNode *
add_plain (IrActing *acting, const NewNode *wanted)
{
  const IrActOperator *operator= & wanted->operator;
  guint n_outputs = 1, least = 0;

  if (operator->op != NULL)
    {
      n_outputs = MAX (operator->op->out.min, 1);
      least = ir_op_least_inputs (operator->op);
    }
  else
    {
      n_outputs = ir_graph_n_outputs (operator->function);
      least = ir_graph_n_inputs (operator->function);
    }
  while (wanted->inputs->len < least)
    g_ptr_array_add (wanted->inputs, NULL);
  return ir_edit_add_node (acting->edit, wanted->graph, operator->name, operator->domain,
                           wanted->name, wanted->inputs->len,
                           (IrValue *const *) wanted->inputs->pdata, n_outputs);
}

static gboolean
check_inputs (const NewNode *wanted, GError **error)
{
  const IrOp *op = wanted->operator.op;

  for (guint i = 0; i < wanted->inputs->len; i++)
    if (wanted->inputs->pdata[i] != NULL &&
        !act_check_scope (wanted->inputs->pdata[i], wanted->graph, error))
      return FALSE;
  if (op == NULL || op->start != NULL || op->in.max < 0 ||
      wanted->inputs->len <= (guint) op->in.max)
    return TRUE;
  return act_refuse (error, "%s takes at most %d inputs, and %u are given", op->name, op->in.max,
                     wanted->inputs->len);
}

static IrNode *
make_node (IrActing *acting, NewNode *wanted, GError **error)
{
  const IrOp *op = wanted->operator.op;
  IrNode *node;

  choose_graph (acting, wanted);
  if (!check_inputs (wanted, error) ||
      (op != NULL && !check_opset (acting, op, wanted->graph, error)))
    return NULL;
  node = op != NULL && op->start != NULL ? add_started (acting, wanted, error)
                                         : add_plain (acting, wanted);
  if (node == NULL)
    return NULL;
  set_attrs (acting, node, wanted);
  if (wanted->name != NULL)
    ir_edit_rename_node (acting->edit, node, wanted->name);
  return act_accepts (node, error) ? node : NULL;
}

static gboolean
read_new_node (IrActing *acting, NewNode *node, GError **error)
{
  node->inputs = g_ptr_array_new ();
  node->attrs = g_ptr_array_new ();
  if (!act_operator (acting->model, acting->words[0], &node->operator, error))
    return FALSE;
  for (guint i = 1; i < acting->n_words; i++)
    if (!read_word (acting, node, acting->words[i], error))
      return FALSE;
  return TRUE;
}

static void
show_new (IrActing *acting, const IrNode *node)
{
  const IrValue *value = ir_node_output (node, 0);

  act_show_node (acting, node);
  acting->done->value = value != NULL ? value->id : 0;
}

gboolean
act_add (IrActing *acting, GError **error)
{
  g_auto (NewNode) wanted = { 0 };
  IrNode *node = read_new_node (acting, &wanted, error) ? make_node (acting, &wanted, error) : NULL;

  if (node != NULL)
    show_new (acting, node);
  return node != NULL;
}

/* -- connecting -- */

gboolean
act_connect (IrActing *acting, GError **error)
{
  IrValue *value = act_value (acting->model, acting->words[0], error), *before;
  IrNode *node = value != NULL ? act_node (acting->model, acting->words[1], error) : NULL;
  g_autoptr (GPtrArray) freed = g_ptr_array_new ();
  guint slot;
  gint found;

  if (node == NULL)
    return FALSE;
  if (acting->n_words == 2)
    {
      found = ir_act_slot_for (node, value, error);
      if (found < 0)
        return FALSE;
      slot = (guint) found;
    }
  else if (!read_slot (node, acting->words[2], &slot, error))
    return FALSE;
  if (!act_check_scope (value, node->graph, error) || !ir_act_fits (node, slot, value, error))
    return FALSE;
  before = ir_node_input (node, slot);
  set_slot (acting->edit, node, slot, value);
  if (before != NULL)
    g_ptr_array_add (freed, before);
  act_drop_unused (acting->edit, freed);
  act_show_node (acting, node);
  return act_no_cycle (node->graph, error);
}

gboolean
act_disconnect (IrActing *acting, GError **error)
{
  IrNode *node = act_node (acting->model, acting->words[0], error);
  g_autoptr (GPtrArray) freed = g_ptr_array_new ();
  guint slot;

  if (node == NULL || !read_slot (node, acting->words[1], &slot, error))
    return FALSE;
  if (ir_node_input (node, slot) == NULL)
    return TRUE;
  g_ptr_array_add (freed, node->inputs[slot]);
  ir_edit_set_input (acting->edit, node, slot, NULL);
  trim_inputs (acting->edit, node);
  act_drop_unused (acting->edit, freed);
  act_show_node (acting, node);
  return TRUE;
}

gboolean
act_replace (IrActing *acting, GError **error)
{
  IrValue *old = act_value (acting->model, acting->words[0], error);
  IrValue *with = old != NULL ? act_value (acting->model, acting->words[1], error) : NULL;
  g_autoptr (GPtrArray) freed = g_ptr_array_new ();

  if (with == NULL)
    return FALSE;
  if (old == with)
    return TRUE;
  if (!act_check_scope (with, old->graph, error))
    return FALSE;
  ir_edit_replace_uses (acting->edit, old, with);
  g_ptr_array_add (freed, old);
  act_drop_unused (acting->edit, freed);
  acting->done->value = with->id;
  if (with->producer != NULL)
    act_show_node (acting, with->producer);
  return act_no_cycle (with->graph, error);
}

/* -- insert on an edge -- */

/* "NODE:INPUT" */
static gboolean
read_place (IrActing *acting,
            const char *word,
            const IrValue *value,
            IrNode **node,
            guint *slot,
            GError **error)
{
  const char *colon = strrchr (word, ':');
  g_autofree char *name = colon != NULL ? g_strndup (word, (gsize) (colon - word)) : NULL;

  if (name == NULL)
    return act_misread (error, "at=%s: needs NODE:INPUT", word);
  *node = act_node (acting->model, name, error);
  if (*node == NULL || !read_slot (*node, colon + 1, slot, error))
    return FALSE;
  if (ir_node_input (*node, *slot) == value)
    return TRUE;
  return act_refuse (error, "at=%s: that input does not read %s", word, value->name);
}

gboolean
act_insert (IrActing *acting, GError **error)
{
  g_auto (NewNode) wanted = { 0 };
  IrValue *value = NULL;
  IrNode *user = NULL, *node;
  guint slot = 0, first = 0;

  if (!read_new_node (acting, &wanted, error))
    return FALSE;
  while (first < wanted.inputs->len && wanted.inputs->pdata[first] == NULL)
    first++;
  if (first == wanted.inputs->len)
    return act_misread (error, "insert: needs the VALUE behind which the node is put");
  value = wanted.inputs->pdata[first];
  if (wanted.at != NULL && !read_place (acting, wanted.at, value, &user, &slot, error))
    return FALSE;
  if (user != NULL && wanted.graph == NULL)
    wanted.graph = user->graph;
  node = make_node (acting, &wanted, error);
  if (node == NULL)
    return FALSE;
  if (user != NULL)
    ir_edit_set_input (acting->edit, user, slot, ir_node_output (node, 0));
  else
    {
      ir_edit_replace_uses (acting->edit, value, ir_node_output (node, 0));
      for (guint i = 0; i < wanted.inputs->len; i++) /* those of the new one, too */
        if (wanted.inputs->pdata[i] == value && i < node->n_inputs)
          ir_edit_set_input (acting->edit, node, i, value);
    }
  show_new (acting, node);
  return act_no_cycle (node->graph, error);
}

/* -- bypass -- */

/* What stands for the output: the first input of the same type, else the first there is. */
static IrValue *
stand_in_for (const IrNode *node)
{
  const IrValue *output = ir_node_output (node, 0);
  IrValue *first = NULL;

  for (guint i = 0; i < node->n_inputs; i++)
    {
      IrValue *input = node->inputs[i];

      if (input == NULL)
        continue;
      first = first != NULL ? first : input;
      if (output != NULL && output->type != NULL && input->type == output->type &&
          input->initializer == NULL)
        return input;
    }
  return first;
}

static gboolean
bypass (IrActing *acting, IrNode *node, GPtrArray *freed, GError **error)
{
  IrValue *with = stand_in_for (node), *output = ir_node_output (node, 0);
  g_autofree char *label = ir_node_label (node);

  if (with == NULL)
    return act_refuse (error, "%s: has no input that could stand for its output; delete it instead",
                       label);
  for (guint i = 1; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL && node->outputs[i]->n_uses > 0)
      return act_refuse (error,
                         "%s: its output %s is read, and no input stands for it; connect "
                         "what reads it to something else first",
                         label, node->outputs[i]->name);
  if (output != NULL && output->n_uses > 0)
    ir_edit_replace_uses (acting->edit, output, with);
  for (guint i = 0; i < node->n_inputs; i++)
    if (node->inputs[i] != NULL)
      g_ptr_array_add (freed, node->inputs[i]);
  ir_edit_remove_node (acting->edit, node);
  acting->done->value = with->id;
  return TRUE;
}

gboolean
act_bypass (IrActing *acting, GError **error)
{
  g_autoptr (GPtrArray) freed = g_ptr_array_new ();

  for (guint i = 0; i < acting->n_words; i++)
    {
      IrNode *node = act_node (acting->model, acting->words[i], error);

      if (node == NULL || !bypass (acting, node, freed, error))
        return FALSE;
    }
  act_drop_unused (acting->edit, freed);
  return TRUE;
}

/* -- delete -- */

static void
drop_output (IrEdit *edit, IrGraph *graph, const IrValue *value)
{
  g_autoptr (GPtrArray) outputs = g_ptr_array_new ();

  for (guint i = 0; i < ir_graph_n_outputs (graph); i++)
    if (ir_graph_output (graph, i) != value)
      g_ptr_array_add (outputs, ir_graph_output (graph, i));
  ir_edit_set_graph_outputs (edit, graph, (IrValue *const *) outputs->pdata, outputs->len);
}

/* Leaves open what reads the value. */
static gboolean
release (IrActing *acting, IrValue *value, GError **error)
{
  while (value->n_uses > 0)
    {
      const IrUse use = ir_value_use (value, 0);

      if (use.node != NULL)
        {
          ir_edit_set_input (acting->edit, use.node, use.slot, NULL);
          trim_inputs (acting->edit, use.node);
        }
      else if (use.graph->kind == IR_GRAPH_MAIN)
        drop_output (acting->edit, use.graph, value);
      else
        return act_refuse (
            error,
            "%s is what the graph %s gives, and a branch or body has to give as much "
            "as before; connect or bypass it instead",
            value->name, use.graph->name);
    }
  return TRUE;
}

gboolean
act_delete (IrActing *acting, GError **error)
{
  g_autoptr (GPtrArray) nodes = g_ptr_array_new (), freed = g_ptr_array_new ();

  for (guint i = 0; i < acting->n_words; i++)
    {
      IrNode *node = act_node (acting->model, acting->words[i], error);

      if (node == NULL)
        return FALSE;
      if (!g_ptr_array_find (nodes, node, NULL))
        g_ptr_array_add (nodes, node);
    }
  for (guint i = 0; i < nodes->len; i++)
    {
      const IrNode *node = nodes->pdata[i];

      for (guint k = 0; k < node->n_inputs; k++)
        if (node->inputs[k] != NULL)
          g_ptr_array_add (freed, node->inputs[k]);
    }
  for (guint i = 0; i < nodes->len; i++)
    {
      IrNode *node = nodes->pdata[i];

      if (node->state != IR_STATE_LIVE)
        continue; /* in the body of one that went */
      for (guint k = 0; k < node->n_outputs; k++)
        if (node->outputs[k] != NULL && !release (acting, node->outputs[k], error))
          return FALSE;
      ir_edit_remove_node (acting->edit, node);
    }
  act_drop_unused (acting->edit, freed);
  return TRUE;
}

gboolean
act_remove (IrActing *acting, GError **error)
{
  IrValue *value = act_value (acting->model, acting->words[0], error);
  IrGraph *graph;
  g_autoptr (GPtrArray) inputs = g_ptr_array_new ();

  if (value == NULL)
    return FALSE;
  graph = value->graph;
  if (value->producer != NULL)
    {
      if (graph->kind != IR_GRAPH_MAIN || !ir_value_is_graph_output (value))
        return act_refuse (error,
                           "%s is no input, output or constant of the model; delete the node "
                           "that computes it",
                           value->name);
      drop_output (acting->edit, graph, value);
      acting->done->value = value->id;
      return TRUE;
    }
  if (graph->kind != IR_GRAPH_MAIN && ir_value_is_graph_input (value))
    return act_refuse (error, "%s is what the node around gives its body", value->name);
  if (!release (acting, value, error))
    return FALSE;
  for (guint i = 0; i < ir_graph_n_inputs (graph); i++)
    if (ir_graph_input (graph, i) != value)
      g_ptr_array_add (inputs, ir_graph_input (graph, i));
  ir_edit_set_graph_inputs (acting->edit, graph, (IrValue *const *) inputs->pdata, inputs->len);
  ir_edit_remove_value (acting->edit, value);
  return TRUE;
}

/* -- names and attributes -- */

gboolean
act_rename (IrActing *acting, GError **error)
{
  IrNode *node = act_node (acting->model, acting->words[0], error);
  const IrNode *other = NULL;

  if (node == NULL)
    return FALSE;
  for (guint i = 1; i < acting->model->graphs->len && other == NULL; i++)
    {
      const IrGraph *graph = acting->model->graphs->pdata[i];

      if (graph->state == IR_STATE_LIVE && acting->words[1][0] != '\0')
        other = ir_graph_find_node (graph, acting->words[1]);
    }
  if (other != NULL && other != node)
    return act_refuse (error, "there is a node '%s' already, of operator %s; names of nodes differ",
                       other->name, other->op_type);
  ir_edit_rename_node (acting->edit, node, acting->words[1]);
  act_show_node (acting, node);
  return TRUE;
}

gboolean
act_set (IrActing *acting, GError **error)
{
  IrNode *node = act_node (acting->model, acting->words[0], error);
  gboolean fitted;

  if (node == NULL)
    return FALSE;
  fitted = act_accepts (node, NULL);
  for (guint i = 1; i < acting->n_words; i++)
    {
      const IrAttr *attr;

      if (!read_attr (acting, node->op, acting->words[i], &attr, error))
        return FALSE;
      if (ir_node_attr (node, attr->name) != NULL && node->op == NULL)
        attr = act_attr (acting->model->context, attr->name, ir_node_attr (node, attr->name)->kind,
                         strchr (acting->words[i], '=') + 1, error);
      if (attr == NULL)
        return FALSE;
      ir_edit_set_attr (acting->edit, node, attr);
    }
  act_show_node (acting, node);
  return !fitted || act_accepts (node, error);
}

gboolean
act_unset (IrActing *acting, GError **error)
{
  IrNode *node = act_node (acting->model, acting->words[0], error);

  if (node == NULL)
    return FALSE;
  for (guint i = 1; i < acting->n_words; i++)
    {
      const IrAttr *attr = ir_node_attr (node, acting->words[i]);

      if (attr == NULL)
        return act_refuse (error, "%s has no attribute '%s' that could go", node->op_type,
                           acting->words[i]);
      if (attr->kind == IR_ATTR_GRAPH || attr->kind == IR_ATTR_GRAPHS)
        return act_refuse (error, "%s is a graph of the node, which does not go alone", attr->name);
      ir_edit_unset_attr (acting->edit, node, attr->name);
    }
  act_show_node (acting, node);
  return TRUE;
}

gboolean
act_mark_gradient (IrActing *acting, GError **error)
{
  IrNode *node = act_node (acting->model, acting->words[0], error);
  IrGradMark mark = 0;

  if (node == NULL)
    return FALSE;
  while (mark < IR_N_GRAD_MARKS && strcmp (ir_grad_mark_name (mark), acting->words[1]) != 0)
    mark++;
  if (mark == IR_N_GRAD_MARKS)
    return act_misread (
        error, "'%s' says nothing about a derivative; needs stop, straight-through or plain",
        acting->words[1]);
  ir_grad_set_mark (acting->edit, node, mark);
  act_show_node (acting, node);
  return TRUE;
}
