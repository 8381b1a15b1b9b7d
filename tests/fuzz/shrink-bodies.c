/* What is shrunk in branches and bodies: see shrink.h. */
#include "config.h"

#include "tests/fuzz/shrink.h"

#include "core/ir/inline.h"
#include "core/op/infer.h"

#define MAX_STAND_INS 3 /* that are tried for a value */

/* Nodes that nobody reads go, wherever they are. */
static void
remove_unread (IrEdit *edit, IrModel *model)
{
  for (gboolean changed = TRUE; changed;)
    {
      changed = FALSE;
      for (guint i = model->nodes->len; i > 1; i--)
        {
          IrNode *node = ir_model_live_node (model, i - 1);
          gboolean used = node == NULL || node->n_outputs == 0;
          for (guint k = 0; !used && k < node->n_outputs; k++)
            used = node->outputs[k] != NULL && node->outputs[k]->n_uses > 0;
          if (used)
            continue;
          ir_edit_remove_node (edit, node);
          changed = TRUE;
        }
    }
}

/* @edit (transfer full) ends; the model is tried. */
static gboolean
try_edited (Shrink *shrink, IrModel *model, IrEdit *edit)
{
  remove_unread (edit, model);
  ir_infer_model (edit, IR_INFER_DEFAULT, NULL);
  ir_edit_free (edit);
  return shrink_to (shrink, model);
}

static gboolean
is_like (const IrValue *a, const IrValue *b)
{
  const IrType *x = ir_value_shown_type (a), *y = ir_value_shown_type (b);

  return a != b && x != NULL && x == y;
}

static void
add_like (GPtrArray *found, IrValue *value, IrValue *other)
{
  if (other != NULL && is_like (value, other) && found->len < MAX_STAND_INS &&
      !g_ptr_array_find (found, other, NULL))
    g_ptr_array_add (found, other);
}

/* (transfer container) Values of the type of @value that may stand for it: what its node reads, and inputs and
 * initializers of graphs around */
static GPtrArray *
stand_ins (IrValue *value)
{
  GPtrArray *found = g_ptr_array_new ();

  for (guint i = 0; i < value->producer->n_inputs; i++)
    add_like (found, value, value->producer->inputs[i]);
  for (const IrGraph *graph = value->graph; graph != NULL; graph = ir_graph_outer (graph))
    for (guint i = 0; i < ir_graph_n_inputs (graph); i++)
      add_like (found, value, ir_graph_input (graph, i));
  return found;
}

/* What reads the output reads something else, which was there before. */
static gboolean
replace_output (Shrink *shrink, IrValueId id)
{
  for (guint i = 0; i < MAX_STAND_INS; i++)
    {
      IrModel *model = ir_model_clone (shrink->model);
      IrEdit *edit = ir_edit_new_import (model);
      IrValue *value = ir_model_value (model, id);
      g_autoptr (GPtrArray) others = stand_ins (value);
      if (i < others->len)
        ir_edit_replace_uses (edit, value, others->pdata[i]);
      if (i < others->len && try_edited (shrink, model, edit))
        return TRUE;
      if (i < others->len)
        continue;
      ir_edit_free (edit);
      ir_model_unref (model);
      return FALSE;
    }
  return FALSE;
}

/* The nodes of the body come in place of its node, once; inputs of the body are what a Loop begins with. */
static gboolean
open_body (Shrink *shrink, IrNodeId id, guint which)
{
  IrModel *model = ir_model_clone (shrink->model);
  IrEdit *edit = ir_edit_new_import (model);
  IrNode *node = ir_model_node (model, id);
  g_autoptr (GPtrArray) bodies = ir_node_subgraphs (node);
  g_autoptr (GHashTable) values = g_hash_table_new (NULL, NULL);
  const IrGraph *body = bodies->pdata[which];
  const guint first = ir_graph_n_outputs (body) - MIN (node->n_outputs, ir_graph_n_outputs (body));
  gboolean fits = ir_graph_n_inputs (body) <= node->n_inputs &&
                  ir_graph_n_outputs (body) >= node->n_outputs;

  for (guint i = 0; fits && i < ir_graph_n_inputs (body); i++)
    {
      fits = node->inputs[i] != NULL;
      g_hash_table_insert (values, ir_graph_input (body, i), node->inputs[i]);
    }
  if (fits)
    g_ptr_array_unref (ir_inline_body (edit, node, body, node->graph, values));
  for (guint i = 0; fits && i < node->n_outputs; i++)
    {
      IrValue *result = ir_graph_output (body, first + i),
              *with = g_hash_table_lookup (values, result);
      if (node->outputs[i] != NULL)
        ir_edit_replace_uses (edit, node->outputs[i], with != NULL ? with : result);
    }
  if (fits)
    return try_edited (shrink, model, edit);
  ir_edit_free (edit);
  ir_model_unref (model);
  return FALSE;
}

static gboolean
shrink_node (Shrink *shrink, IrNodeId id)
{
  const IrNode *node = ir_model_live_node (shrink->model, id);
  g_autoptr (GPtrArray) bodies = node != NULL ? ir_node_subgraphs (node) : NULL;
  gboolean changed = FALSE;

  for (guint i = 0; bodies != NULL && i < bodies->len && !changed; i++)
    changed = open_body (shrink, id, i);
  for (guint i = 0; (node = ir_model_live_node (shrink->model, id)) != NULL && i < node->n_outputs;
       i++)
    if (node->outputs[i] != NULL && node->outputs[i]->n_uses > 0)
      changed |= replace_output (shrink, node->outputs[i]->id);
  return changed;
}

gboolean
shrink_bodies (Shrink *shrink)
{
  gboolean changed = FALSE;

  for (guint i = shrink->model->nodes->len; i > 1; i--)
    if (i <= shrink->model->nodes->len)
      changed |= shrink_node (shrink, i - 1);
  return changed;
}
