/* Upgrades the model to a newer version of ai.onnx:
 *
 *     x --Squeeze {axes = [1]}--> y        x, [1] --Squeeze--> y
 *
 * First every node whose form changed in between is rewritten, one step each, into a form that
 * means the same in the old version and in the new one; then one step changes the import. So the
 * model can be run, and each step proven, at any point. Where adapters of the op table know the new
 * form, they are what is written into the node (upgrade-forms.c); where the meaning changed, nodes
 * are put around it. What has no form in the old version waits for the last step. Source: the
 * change logs of the ONNX operators; onnx.version_converter. */
#include "config.h"

#include "core/op/check.h"
#include "passes/pass.h"
#include "passes/rule/rule.h"
#include "passes/rewrites/upgrade.h"

#include <string.h>

#define RULE_IMPORT "import"

/* ai.onnx version -> IR version of the release that it came with, ascending. */
static const struct
{
  gint64 opset, ir_version;
} releases[] = {
  { 1, 3 },  { 9, 4 },   { 10, 5 },  { 11, 6 },  { 12, 7 },  { 15, 8 },
  { 19, 9 }, { 21, 10 }, { 23, 11 }, { 24, 12 }, { 25, 13 }, { IR_OPSET_NEWEST, 14 },
};

static gint64
ir_version_of (gint64 opset)
{
  gint64 version = releases[0].ir_version;

  for (guint i = 0; i < G_N_ELEMENTS (releases); i++)
    if (releases[i].opset <= opset)
      version = releases[i].ir_version;
  return version;
}

/* -- which nodes -- */

static gboolean
is_standard (const IrNode *node)
{
  return node->domain[0] == '\0' || strcmp (node->domain, "ai.onnx") == 0;
}

static gboolean
calls_function (const IrNode *node)
{
  return ir_model_find_function (node->graph->model, node->domain, node->op_type, node->overload) !=
         NULL;
}

/* Live graphs, functions too, that import an older version than the target. */
static GPtrArray *
old_graphs (const IrUpgrade *upgrade)
{
  IrModel *model = upgrade->context->model;
  GPtrArray *graphs = g_ptr_array_new ();

  for (guint i = 1; i < model->graphs->len; i++)
    {
      IrGraph *graph = model->graphs->pdata[i];
      gint64 opset = graph->state == IR_STATE_LIVE ? ir_graph_opset (graph, "") : 0;
      if (opset > 0 && opset < upgrade->target)
        g_ptr_array_add (graphs, graph);
    }
  return graphs;
}

static gboolean
must_be_known (const IrNode *node, GError **error)
{
  g_autofree char *label = NULL;

  if (!is_standard (node) || node->op != NULL || calls_function (node))
    return TRUE;
  label = ir_node_label (node);
  g_set_error (error, IR_OP_ERROR, IR_OP_ERROR_UNSUPPORTED,
               "%s: cannot be upgraded: irscope knows no operator %s of ai.onnx, so what a newer "
               "version makes of it cannot be said",
               label, node->op_type);
  return FALSE;
}

/* What is left after all changes must exist in the target. */
static gboolean
must_exist (const IrUpgrade *upgrade, const IrNode *node, GError **error)
{
  g_autofree char *label = NULL;

  if (!is_standard (node) || node->op == NULL || calls_function (node) || node->op->until == 0 ||
      node->op->until > upgrade->target)
    return TRUE;
  label = ir_node_label (node);
  g_set_error (error, IR_OP_ERROR, IR_OP_ERROR_UNSUPPORTED,
               "%s: cannot be upgraded: opset %" G_GINT64_FORMAT
               " has no %s, which was removed in %" G_GINT64_FORMAT,
               label, upgrade->target, node->op_type, node->op->until);
  return FALSE;
}

static gboolean
concerns (const IrUpgrade *upgrade, const IrFormChange *change, const IrNode *node)
{
  return is_standard (node) && change->version > ir_node_opset (node) &&
         change->version <= upgrade->target &&
         (change->ops == NULL || g_strv_contains (change->ops, node->op_type));
}

/* A node that does not fit its row has no meaning that another form could have. */
static gboolean
must_fit (const IrFormChange *change, const IrNode *node, GError **error)
{
  g_autoptr (GError) why = NULL;
  g_autofree char *label = NULL;

  if (change->ops == NULL || node->op == NULL || ir_node_check (node, &why))
    return TRUE;
  label = ir_node_label (node);
  g_set_error (error, IR_OP_ERROR, IR_OP_ERROR_UNSUPPORTED,
               "%s: cannot be upgraded to opset %" G_GINT64_FORMAT ": %s", label, change->version,
               why->message);
  return FALSE;
}

/* -- steps -- */

static gboolean
rewrite (IrUpgrade *upgrade, const IrFormChange *change, IrNode *node, GError **error)
{
  g_autoptr (GError) why = NULL;
  g_autofree char *label = ir_node_label (node);

  if (change->rewrite (upgrade, change, node, &why))
    return TRUE;
  g_set_error (error, IR_OP_ERROR, IR_OP_ERROR_UNSUPPORTED,
               "%s: cannot be upgraded to opset %" G_GINT64_FORMAT ": %s", label, change->version,
               why->message);
  return FALSE;
}

static gboolean
run_change (IrUpgrade *upgrade, const IrFormChange *change, IrNode *node, GError **error)
{
  IrPassContext *context = upgrade->context;

  if (!ir_pass_begin (context, change->rule, IR_CLASS_EXACT, node))
    {
      upgrade->incomplete = TRUE;
      return TRUE;
    }
  ir_edit_step_reason (context->edit, "%s: %s (opset %" G_GINT64_FORMAT ")", node->op_type,
                       change->what, change->version);
  if (!rewrite (upgrade, change, node, error))
    {
      ir_pass_abort (context);
      return FALSE;
    }
  ir_pass_end (context);
  return TRUE;
}

static gboolean
upgrade_node (IrUpgrade *upgrade, IrNode *node, gboolean late, GError **error)
{
  guint n;
  const IrFormChange *changes = ir_form_changes (&n);

  if (!must_be_known (node, error))
    return FALSE;
  for (guint i = 0; i < n && node->state == IR_STATE_LIVE && !upgrade->context->stopped; i++)
    {
      if (changes[i].late != late || !concerns (upgrade, &changes[i], node))
        continue;
      if (!must_fit (&changes[i], node, error))
        return FALSE;
      if (changes[i].needed (&changes[i], node) &&
          !(late ? rewrite : run_change) (upgrade, &changes[i], node, error))
        return FALSE;
    }
  return !late || node->state != IR_STATE_LIVE || must_exist (upgrade, node, error);
}

static gboolean
upgrade_nodes (IrUpgrade *upgrade, GPtrArray *graphs, gboolean late, GError **error)
{
  for (guint i = 0; i < graphs->len; i++)
    {
      g_autoptr (GPtrArray) nodes = ir_graph_nodes (graphs->pdata[i]);

      for (guint k = 0; k < nodes->len; k++)
        {
          IrNode *node = nodes->pdata[k];

          if (ir_pass_cancelled (upgrade->context, error))
            return FALSE;
          if (node->state == IR_STATE_LIVE && !upgrade_node (upgrade, node, late, error))
            return FALSE;
        }
    }
  return TRUE;
}

/* -- the last step -- */

static void
import_in_function (IrUpgrade *upgrade, IrGraph *graph)
{
  IrContext *context = upgrade->context->model->context;
  IrFunctionInfo info = *graph->function;
  gsize size = sizeof *info.opsets + info.opsets->n * sizeof info.opsets->opsets[0];
  g_autofree IrOpsets *opsets = g_memdup2 (info.opsets, size);

  for (guint i = 0; i < opsets->n; i++)
    if (opsets->opsets[i].domain[0] == '\0')
      opsets->opsets[i].version = upgrade->target;
  info.opsets = ir_context_dup (context, opsets, size);
  ir_edit_set_function_info (upgrade->context->edit, graph, &info);
}

/* Before IR version 4 every initializer had to be an input too, and was constant all the same. */
static void
take_initializers_from_inputs (IrUpgrade *upgrade)
{
  IrGraph *graph = upgrade->context->model->main;
  guint n = ir_graph_n_inputs (graph), left = 0;
  g_autofree IrValue **inputs = g_new (IrValue *, MAX (n, 1));

  for (guint i = 0; i < n; i++)
    if (ir_graph_input (graph, i)->initializer == NULL)
      inputs[left++] = ir_graph_input (graph, i);
  if (left < n)
    ir_edit_set_graph_inputs (upgrade->context->edit, graph, inputs, left);
}

static void
set_ir_version (IrUpgrade *upgrade)
{
  IrModelInfo info = *upgrade->context->model->info;
  gint64 version = ir_version_of (upgrade->target);

  if (info.ir_version >= version)
    return;
  if (info.ir_version < 4 && version >= 4)
    take_initializers_from_inputs (upgrade);
  info.ir_version = version;
  ir_edit_set_info (upgrade->context->edit, &info);
}

static gboolean
change_import (IrUpgrade *upgrade, GPtrArray *graphs, GError **error)
{
  IrPassContext *context = upgrade->context;
  gint64 old = ir_model_opset (context->model, "");

  if (!ir_pass_begin (context, RULE_IMPORT, IR_CLASS_EXACT, NULL))
    return TRUE;
  ir_edit_step_reason (context->edit, "ai.onnx %" G_GINT64_FORMAT " instead of %" G_GINT64_FORMAT,
                       upgrade->target, old);
  if (!upgrade_nodes (upgrade, graphs, TRUE, error))
    {
      ir_pass_abort (context);
      return FALSE;
    }
  for (guint i = 0; i < graphs->len; i++)
    {
      IrGraph *graph = graphs->pdata[i];
      if (graph->state == IR_STATE_LIVE && graph->kind == IR_GRAPH_FUNCTION)
        import_in_function (upgrade, graph);
    }
  if (old > 0 && old < upgrade->target)
    ir_edit_set_opset (context->edit, "", upgrade->target);
  set_ir_version (upgrade);
  ir_infer_model (context->edit, IR_INFER_DEFAULT, NULL);
  ir_pass_end (context);
  return TRUE;
}

/**
 * ir_opset_may_be:
 * @model: a model
 * @opset: version of ai.onnx that somebody asks for
 * @error: return location for an error
 *
 * Returns: %FALSE with %IR_OP_ERROR_UNSUPPORTED if upgrading cannot lead there: the version is not
 *   known, or older than the model's
 */
gboolean
ir_opset_may_be (const IrModel *model, gint64 opset, GError **error)
{
  gint64 old = ir_model_opset (model, "");

  if (opset < 1 || opset > IR_OPSET_NEWEST)
    g_set_error (error, IR_OP_ERROR, IR_OP_ERROR_UNSUPPORTED,
                 "opset %" G_GINT64_FORMAT ": versions 1 to %d of ai.onnx are known", opset,
                 IR_OPSET_NEWEST);
  else if (opset < old)
    g_set_error (error, IR_OP_ERROR, IR_OP_ERROR_UNSUPPORTED,
                 "opset %" G_GINT64_FORMAT ": the model imports %" G_GINT64_FORMAT
                 " of ai.onnx; a model can be upgraded, not downgraded",
                 opset, old);
  else
    return TRUE;
  return FALSE;
}

static gboolean
run (IrPassContext *context, GError **error)
{
  gint64 opset = (gint64) ir_pass_option_number (context->priv->pass, "opset");
  IrUpgrade upgrade = { .context = context, .target = opset > 0 ? opset : IR_OPSET_NEWEST };
  gint64 ir_version = MAX (context->model->info->ir_version, ir_version_of (upgrade.target));

  if (opset > 0 && !ir_opset_may_be (context->model, opset, error))
    return FALSE;
  upgrade.constants_are_nodes = ir_version < 4;
  g_autoptr (GPtrArray) graphs = old_graphs (&upgrade);
  for (guint i = 0; i < graphs->len; i++)
    if (ir_graph_is_cyclic (graphs->pdata[i]))
      {
        g_set_error (error, IR_OP_ERROR, IR_OP_ERROR_UNSUPPORTED,
                     "graph %s: has a cycle, so it cannot be upgraded",
                     ((IrGraph *) graphs->pdata[i])->name);
        return FALSE;
      }
  if (!upgrade_nodes (&upgrade, graphs, FALSE, error))
    return FALSE;
  if (graphs->len == 0 || upgrade.incomplete || context->stopped)
    return TRUE;
  return change_import (&upgrade, graphs, error);
}

static const IrRule rules[] = {
#define ROW(NAME, LEFT, RIGHT, DOC) { NAME, LEFT, RIGHT, IR_CLASS_EXACT, DOC },
  IR_FORM_RULES (ROW)
#undef ROW
      { RULE_IMPORT, "a model of an older version", "the newer import", IR_CLASS_EXACT,
        "When every node has its new form, the import is changed, and the IR version with it." },
  { NULL },
};

static const IrPassOption options[] = {
  { "opset", IR_PASS_OPTION_INT, "0", "The version of ai.onnx; 0: the newest. --opset sets it." },
  { NULL },
};

const IrPass ir_pass_upgrade_opset = {
  .name = IR_PASS_UPGRADE_OPSET,
  .title = "Upgrade the opset",
  .doc =
      "Brings the model to a newer version of ai.onnx, the newest or the one of its option opset: first "
      "each node whose form changed, then the import. Functions and subgraphs too.",
  .source = "change logs of the ONNX operators; onnx.version_converter",
  .step_class = IR_CLASS_EXACT,
  .before_after = "x -> Squeeze {axes = [1]} -> y\nx, [1] -> Squeeze -> y",
  .run = run,
  .documented_rules = rules,
  .options = options,
};
