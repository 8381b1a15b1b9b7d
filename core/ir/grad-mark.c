/* What somebody has said about the derivative of one node: metadata of it, which files keep. */
#include "config.h"

#include "core/ir/grad-mark.h"

#include <string.h>

#define KEY "irscope.gradient"

static const char *const names[IR_N_GRAD_MARKS] = { "plain", "stop", "straight-through" };

/**
 * ir_grad_mark:
 * @node: a node
 *
 * Returns: how it is derived: as its operator says, not at all, or as if it were the identity
 */
IrGradMark
ir_grad_mark (const IrNode *node)
{
  const char *text = node->extra != NULL && node->extra->props != NULL
                         ? ir_props_get (node->extra->props, KEY)
                         : NULL;

  for (guint i = 0; text != NULL && i < IR_N_GRAD_MARKS; i++)
    if (strcmp (names[i], text) == 0)
      return i;
  return IR_GRAD_MARK_PLAIN;
}

/**
 * ir_grad_mark_name:
 *
 * Returns: (transfer none) (nullable): its name; %NULL behind the last one
 */
const char *
ir_grad_mark_name (IrGradMark mark)
{
  return mark < IR_N_GRAD_MARKS ? names[mark] : NULL;
}

/**
 * ir_grad_set_mark:
 * @edit: an edit
 * @node: a node
 * @mark: how it shall be derived
 */
void
ir_grad_set_mark (IrEdit *edit, IrNode *node, IrGradMark mark)
{
  const IrProps *old = node->extra != NULL ? node->extra->props : NULL;
  IrContext *context = ir_edit_model (edit)->context;
  g_autoptr (GPtrArray) keys = g_ptr_array_new (), values = g_ptr_array_new ();

  for (guint i = 0; old != NULL && i < old->n; i++)
    if (strcmp (old->pairs[i].key, KEY) != 0)
      {
        g_ptr_array_add (keys, (gpointer) old->pairs[i].key);
        g_ptr_array_add (values, (gpointer) old->pairs[i].value);
      }
  if (mark != IR_GRAD_MARK_PLAIN)
    {
      g_ptr_array_add (keys, (gpointer) KEY);
      g_ptr_array_add (values, (gpointer) names[mark]);
    }
  ir_edit_set_node_extra (
      edit, node,
      ir_extra_new (context, node->extra != NULL ? node->extra->doc : NULL,
                    keys->len == 0
                        ? NULL
                        : ir_props_new (context, keys->len, (const char *const *) keys->pdata,
                                        (const char *const *) values->pdata),
                    node->extra != NULL ? node->extra->unknown : NULL));
}
