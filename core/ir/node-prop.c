/* Metadata of nodes by key: see node-prop.h. */
#include "config.h"

#include "core/ir/node-prop.h"

#include <string.h>

/**
 * ir_node_prop:
 * @node: a node
 * @key: a key
 *
 * Returns: (transfer none) (nullable): what its metadata says by @key
 */
const char *
ir_node_prop (const IrNode *node, const char *key)
{
  return node->extra != NULL && node->extra->props != NULL ? ir_props_get (node->extra->props, key)
                                                           : NULL;
}

/**
 * ir_node_set_prop:
 * @edit: an edit
 * @node: a node
 * @key: a key
 * @value: (nullable): what it is to say; %NULL: nothing
 */
void
ir_node_set_prop (IrEdit *edit, IrNode *node, const char *key, const char *value)
{
  const IrProps *old = node->extra != NULL ? node->extra->props : NULL;
  IrContext *context = ir_edit_model (edit)->context;
  g_autoptr (GPtrArray) keys = g_ptr_array_new (), values = g_ptr_array_new ();

  for (guint i = 0; old != NULL && i < old->n; i++)
    if (strcmp (old->pairs[i].key, key) != 0)
      {
        g_ptr_array_add (keys, (gpointer) old->pairs[i].key);
        g_ptr_array_add (values, (gpointer) old->pairs[i].value);
      }
  if (value != NULL)
    {
      g_ptr_array_add (keys, (gpointer) key);
      g_ptr_array_add (values, (gpointer) value);
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
