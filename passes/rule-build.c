/* Building: the replacement's expressions become nodes, inside the open step. */
#include "config.h"

#include "passes/rule-private.h"
#include "passes/step.h"

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
 */
void
ir_match_bind_tensor (IrMatch *match, const char *variable, const char *base_name, IrTensor *tensor)
{
  IrEdit *edit = match->context->edit;
  g_autoptr (IrTensor) owned = tensor;

  ir_match_bind_value (match, variable,
                       ir_edit_add_initializer (edit, match->nodes[0]->graph,
                                                ir_edit_unique_name (edit, base_name), owned));
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

/* A fused node goes by the name of its main part, "conv1" and not "relu1": of the node whose
 * attributes it takes over, else of the innermost one. */
static const char *
main_name (IrMatch *match, const IrPat *pat)
{
  const IrNode *main_part = pat->copy_attrs != NULL ? labelled (match, pat->copy_attrs) : NULL;

  if (main_part != NULL && main_part->name[0] != '\0')
    return main_part->name;
  for (guint i = match->rule->n_nodes; i > 0; i--)
    if (!match->shared[i - 1] && match->nodes[i - 1]->name[0] != '\0')
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

/* irscope's own operators need an import, or no reader would know their version. */
static void
import_domain (IrMatch *match, const char *domain)
{
  if (domain[0] != '\0' && ir_model_opset (match->context->model, domain) == 0)
    ir_edit_set_opset (match->context->edit, domain, 1);
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
  import_domain (match, domain);
  node = ir_edit_add_node (match->context->edit, root->graph, op_type, domain,
                           main_name (match, pat), inputs->len, (IrValue *const *) inputs->pdata,
                           1);
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
