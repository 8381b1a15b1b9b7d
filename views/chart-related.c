#include "config.h"

#include "views/chart-related.h"

#include "views/session/frame.h"
#include "views/session/selection.h"

/* Gives @related what the selected node reads from, and what reads from it. */
void
ir_chart_find_related (IrSession *session, GHashTable *related)
{
  const IrFrame *frame = session != NULL ? ir_session_get_frame (session) : NULL;
  const IrNode *node = frame != NULL ? ir_frame_node (frame, ir_session_get_selected_node (session))
                                     : NULL;

  g_hash_table_remove_all (related);
  for (guint i = 0; node != NULL && i < node->n_outputs; i++)
    for (guint k = 0; node->outputs[i] != NULL && k < node->outputs[i]->n_uses; k++)
      {
        const IrNode *user = ir_value_use (node->outputs[i], k).node;

        if (user != NULL)
          g_hash_table_insert (related, GUINT_TO_POINTER (user->id), IR_CHART_OUTPUT);
      }
  for (guint i = 0; node != NULL && i < node->n_inputs; i++)
    if (node->inputs[i] != NULL && node->inputs[i]->producer != NULL)
      g_hash_table_insert (related, GUINT_TO_POINTER (node->inputs[i]->producer->id),
                           IR_CHART_INPUT);
}
