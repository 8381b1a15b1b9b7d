/* Building: the replacement's expressions become nodes, inside the open step. */
#include "config.h"

#include "passes/rule/pattern.h"
#include "passes/rule/step.h"

#include <string.h>

/* -- prepare() binds what the replacement needs -- */

static int
var_of (IrMatch *match, const char *variable)
{
  return ir_compiled_rule_var (match->rule, variable);
}

/**
 * ir_match_bind_value:
 * @match: a match, in prepare()
 * @variable: a name that only the replacement has
 * @value: what it stands for
 */
void
ir_match_bind_value (IrMatch *match, const char *variable, IrValue *value)
{
  int index = var_of (match, variable);

  g_return_if_fail (index >= 0);
  match->vars[index].bound = TRUE;
  match->vars[index].value = value;
}

/**
 * ir_match_bind_tensor:
 * @match: a match, in prepare()
 * @variable: a name that only the replacement has
 * @base_name: what the name of the new initializer begins with
 * @tensor: (transfer full): its contents
 *
 * In the body of a function, which has no initializers, it is the output of a Constant.
 */
void
ir_match_bind_tensor (IrMatch *match, const char *variable, const char *base_name, IrTensor *tensor)
{
  g_autoptr (IrTensor) owned = tensor;

  ir_match_bind_value (
      match, variable,
      ir_pass_add_constant (match->context, match->nodes[0]->graph, base_name, owned));
}

/**
 * ir_match_bind_attr:
 * @match: a match, in prepare()
 * @variable: a name that only the replacement has
 * @attr: of the model's context
 */
void
ir_match_bind_attr (IrMatch *match, const char *variable, const IrAttr *attr)
{
  int index = var_of (match, variable);

  g_return_if_fail (index >= 0);
  match->vars[index].bound = TRUE;
  match->vars[index].attr = attr;
}

/**
 * ir_match_note:
 * @match: a match, in prepare()
 * @format: printf() format: a sentence for the reason of the step
 * @...: arguments
 */
void
ir_match_note (IrMatch *match, const char *format, ...)
{
  va_list args;

  if (match->notes == NULL)
    match->notes = g_string_new (NULL);
  va_start (args, format);
  g_string_append (match->notes, match->notes->len > 0 ? "; " : "");
  g_string_append_vprintf (match->notes, format, args);
  va_end (args);
}

/* -- nodes -- */

static const IrNode *
labelled (IrMatch *match, const char *label)
{
  int index = ir_compiled_rule_label (match->rule, label);

  return index >= 0 ? match->nodes[index] : NULL;
}

static gboolean
can_give_name (const IrMatch *match, const IrNode *node, const GPtrArray *made)
{
  if (node->name[0] == '\0')
    return FALSE;
  for (guint i = 0; i < match->rule->n_nodes; i++)
    if (match->nodes[i] == node && match->shared[i])
      return FALSE;
  for (guint i = 0; i < made->len; i++)
    if (g_str_equal (((const IrNode *) made->pdata[i])->name, node->name))
      return FALSE;
  return TRUE;
}

/* A fused node goes by the name of its main part, "conv1" and not "relu1": of the node whose
 * attributes it takes over, else, if it gives the first result, of the innermost one. No two nodes
 * go by one name, nor does a new one by that of a node that stays. */
static const char *
main_name (IrMatch *match, const IrPat *pat, const GPtrArray *made)
{
  const IrNode *main_part = pat->copy_attrs != NULL ? labelled (match, pat->copy_attrs) : NULL;

  if (main_part != NULL && can_give_name (match, main_part, made))
    return main_part->name;
  if (pat != match->rule->results->pdata[0])
    return NULL;
  for (guint i = match->rule->n_nodes; i > 0; i--)
    if (can_give_name (match, match->nodes[i - 1], made))
      return match->nodes[i - 1]->name;
  return NULL;
}

static void
set_attrs (IrMatch *match, const IrPat *pat, IrNode *node)
{
  IrEdit *edit = match->context->edit;
  const IrNode *from = pat->copy_attrs != NULL ? labelled (match, pat->copy_attrs) : NULL;

  for (guint i = 0; from != NULL && i < from->n_attrs; i++)
    ir_edit_set_attr (edit, node, from->attrs[i]);
  for (guint i = 0; pat->attrs != NULL && i < pat->attrs->len; i++)
    {
      const IrPatAttr *wanted = &g_array_index (pat->attrs, IrPatAttr, i);
      IrContext *context = match->context->model->context;
      const IrAttr *attr = NULL;

      if (wanted->variable != NULL)
        attr = match->vars[var_of (match, wanted->variable)].attr;
      else
        attr = ir_attr_int (context, wanted->name, wanted->number);
      if (attr != NULL)
        ir_edit_set_attr (edit, node, ir_attr_renamed (context, attr, wanted->name));
    }
}

static gboolean build (IrMatch *match, const IrPat *pat, IrValue **result, GPtrArray *made);

static gboolean
build_args (IrMatch *match, const IrPat *pat, GPtrArray *inputs, GPtrArray *made)
{
  for (guint i = 0; i < pat->args->len; i++)
    {
      const IrPat *arg = pat->args->pdata[i];
      IrValue *value = NULL;

      if (arg->kind == IR_PAT_REST)
        {
          for (guint k = 0; k < match->vars[arg->var].n_rest; k++)
            g_ptr_array_add (inputs, match->vars[arg->var].rest[k]);
          continue;
        }
      if (!build (match, arg, &value, made))
        return FALSE;
      g_ptr_array_add (inputs, value);
    }
  while (inputs->len > 0 && inputs->pdata[inputs->len - 1] == NULL)
    g_ptr_array_set_size (inputs, inputs->len - 1);
  return TRUE;
}

static gboolean
build_node (IrMatch *match, const IrPat *pat, IrValue **result, GPtrArray *made)
{
  const IrNode *like = pat->same_as != NULL ? labelled (match, pat->same_as) : NULL;
  const char *op_type = like != NULL ? like->op_type : pat->ops[0];
  const char *domain = like != NULL ? like->domain : pat->domain;
  g_autoptr (GPtrArray) inputs = g_ptr_array_new ();
  const IrNode *root = match->nodes[0];
  IrNode *node;

  if (!build_args (match, pat, inputs, made))
    return FALSE;
  ir_pass_import (match->context, root->graph, domain);
  node = ir_edit_add_node (match->context->edit, root->graph, op_type, domain,
                           main_name (match, pat, made), inputs->len,
                           (IrValue *const *) inputs->pdata, 1);
  set_attrs (match, pat, node);
  if (strcmp (root->device, node->device) != 0)
    ir_edit_set_device (match->context->edit, node, root->device);
  ir_infer_node (match->context->edit, node, NULL);
  g_ptr_array_add (made, node);
  *result = node->outputs[0];
  return TRUE;
}

static gboolean
build (IrMatch *match, const IrPat *pat, IrValue **result, GPtrArray *made)
{
  switch (pat->kind)
    {
    case IR_PAT_VAR:
      *result = match->vars[pat->var].value;
      return TRUE;
    case IR_PAT_NODE:
      return build_node (match, pat, result, made);
    case IR_PAT_ABSENT:
      *result = NULL;
      return TRUE;
    case IR_PAT_REF:
    case IR_PAT_NUMBER:
    case IR_PAT_REST:
      break;
    }
  return ir_match_fail (match, "the replacement cannot be built");
}

/**
 * ir_rule_build:
 * @match: a full match, whose step is open
 * @slot: output of the root
 * @made: (element-type IrNode): new nodes are appended
 *
 * Builds the replacement of the output.
 *
 * Returns: (transfer none) (nullable): it; %NULL with the reason in @match
 */
IrValue *
ir_rule_build (IrMatch *match, guint slot, GPtrArray *made)
{
  IrValue *result = NULL;

  if (!build (match, match->rule->results->pdata[slot], &result, made))
    return NULL;
  if (result == NULL)
    ir_match_fail (match, "the replacement has nothing for output %u", slot);
  return result;
}
