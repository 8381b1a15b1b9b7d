/* The model that is planned and run: a private copy whose function calls are replaced by the
 * bodies, and Gradient nodes by what derives. Functions of a file that say what a row of the op
 * table says (as every file with fused operators has, so that other runtimes run it) are left out
 * first, so that the fused kernels run.
 */
#include "config.h"

#include <string.h>

#include "core/grad/grad.h"
#include "core/exec/lower/lower.h"
#include "core/exec/kernel/backend.h"
#include "core/io/io.h"
#include "core/ir/inline.h"
#include "core/op/infer.h"

/* Two bodies, perhaps of two models, hence of two contexts: texts are compared, not pointers. */
typedef struct
{
  GHashTable *values; /* value of a -> value of b */
  IrContext *a_context, *b_context;
} Match;

static gboolean
same_value (Match *match, const IrValue *a, const IrValue *b)
{
  if (a == NULL || b == NULL)
    return a == b;
  const IrValue *known = g_hash_table_lookup (match->values, a);
  if (known != NULL)
    return known == b;
  g_hash_table_insert (match->values, (gpointer) a, (gpointer) b);
  return TRUE;
}

static gboolean
same_attr (const Match *match, const IrAttr *a, const IrAttr *b)
{
  if (strcmp (a->name, b->name) != 0 || a->kind != b->kind ||
      g_strcmp0 (a->ref_name, b->ref_name) != 0)
    return FALSE;
  g_autofree char *a_text = ir_attr_to_string (match->a_context, a, G_MAXUINT);
  g_autofree char *b_text = ir_attr_to_string (match->b_context, b, G_MAXUINT);
  return g_strcmp0 (a_text, b_text) == 0;
}

static gboolean
same_node (Match *match, const IrNode *a, const IrNode *b)
{
  if (strcmp (a->op_type, b->op_type) != 0 || strcmp (a->domain, b->domain) != 0 ||
      a->n_inputs != b->n_inputs || a->n_outputs != b->n_outputs || a->n_attrs != b->n_attrs)
    return FALSE;
  for (guint i = 0; i < a->n_inputs; i++)
    if (!same_value (match, a->inputs[i], b->inputs[i]))
      return FALSE;
  for (guint i = 0; i < a->n_outputs; i++)
    if (!same_value (match, a->outputs[i], b->outputs[i]))
      return FALSE;
  for (guint i = 0; i < a->n_attrs; i++)
    if (!same_attr (match, a->attrs[i], b->attrs[i]))
      return FALSE;
  return TRUE;
}

static gboolean
same_body (const IrGraph *a, const IrGraph *b)
{
  g_autoptr (GHashTable) values = g_hash_table_new (NULL, NULL);
  Match match = { values, a->model->context, b->model->context };
  guint n_a, n_b;
  IrNode *const *a_nodes = ir_graph_order (a, &n_a);
  IrNode *const *b_nodes = ir_graph_order (b, &n_b);

  if (n_a != n_b || ir_graph_n_inputs (a) != ir_graph_n_inputs (b) ||
      ir_graph_n_outputs (a) != ir_graph_n_outputs (b))
    return FALSE;
  for (guint i = 0; i < ir_graph_n_inputs (a); i++)
    if (!same_value (&match, ir_graph_input (a, i), ir_graph_input (b, i)))
      return FALSE;
  for (guint i = 0; i < n_a; i++)
    if (!same_node (&match, a_nodes[i], b_nodes[i]))
      return FALSE;
  for (guint i = 0; i < ir_graph_n_outputs (a); i++)
    if (!same_value (&match, ir_graph_output (a, i), ir_graph_output (b, i)))
      return FALSE;
  return TRUE;
}

static gboolean
same_defaults (const IrGraph *a, const IrGraph *b)
{
  const IrFunctionInfo *a_info = a->function, *b_info = b->function;
  Match match = { NULL, a->model->context, b->model->context };

  if (a_info->n_attr_defaults != b_info->n_attr_defaults)
    return FALSE;
  for (guint i = 0; i < a_info->n_attr_defaults; i++)
    if (!same_attr (&match, a_info->attr_defaults[i], b_info->attr_defaults[i]))
      return FALSE;
  return TRUE;
}

/* Whether @function says what the op table says about the operator of its name. */
static gboolean
is_known (const IrGraph *function)
{
  const IrFunctionInfo *info = function->function;
  const IrOp *op = info != NULL && *info->overload == '\0' ? ir_op_find (info->domain, info->name)
                                                           : NULL;

  if (op == NULL || op->body == NULL || ir_ref_kernel (op) == NULL)
    return FALSE;
  const char *domain = op->domain != NULL ? op->domain : "";
  g_autoptr (IrModel) holder = ir_function_from_text (op->body, domain, op->name, NULL);
  const IrGraph *body = holder != NULL ? ir_model_find_function (holder, domain, op->name, "")
                                       : NULL;
  return body != NULL && same_defaults (function, body) && same_body (function, body);
}

static void
drop_known_functions (IrEdit *edit)
{
  IrModel *model = ir_edit_model (edit);

  for (guint i = 1; i < model->graphs->len; i++)
    {
      IrGraph *graph = g_ptr_array_index (model->graphs, i);
      if (graph != NULL && graph->state == IR_STATE_LIVE && graph->kind == IR_GRAPH_FUNCTION &&
          is_known (graph))
        ir_edit_remove_graph (edit, graph);
    }
}

/* What cannot be derived cannot run. */
static gboolean
expand_gradients (IrEdit *edit, GError **error)
{
  const IrGradHooks hooks = { .inline_body = ir_exec_inline_node };
  g_autoptr (GError) local = NULL;

  if (ir_grad_expand (edit, &hooks, &local))
    return TRUE;
  if (local->domain == IR_GRAD_ERROR || local->domain == IR_EXEC_ERROR)
    g_set_error_literal (error, IR_EXEC_ERROR, IR_EXEC_ERROR_UNSUPPORTED, local->message);
  else
    g_propagate_error (error, g_steal_pointer (&local));
  return FALSE;
}

/**
 * ir_exec_expand:
 * @model: a model
 * @error: return location for an error
 *
 * Fails with %IR_EXEC_ERROR_UNSUPPORTED where a call of a function cannot be replaced by its body.
 *
 * Returns: (transfer full) (nullable): a copy of @model without function calls, with types; ids of
 *   what @model has are the same
 */
IrModel *
ir_exec_expand (IrModel *model, GError **error)
{
  g_autoptr (IrModel) copy = ir_model_clone (model);
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (IrEdit) edit = ir_edit_new_import (copy);

  ir_exec_take_closures (edit);
  drop_known_functions (edit);
  if (!ir_exec_expand_bodies (edit, NULL, problems, error))
    return NULL;
  if (problems->len > 0)
    {
      const IrProblem *problem = g_ptr_array_index (problems, 0);
      g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_UNSUPPORTED, "%s", problem->message);
      return NULL;
    }
  if (!expand_gradients (edit, error))
    return NULL;
  ir_infer_model (edit, IR_INFER_DEFAULT, NULL);
  return g_steal_pointer (&copy);
}
