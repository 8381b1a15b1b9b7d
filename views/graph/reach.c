/* What the selected nodes reach, and what lies between two of them, becomes the selection. */
#include "config.h"

#include "views/graph/reach.h"

#include "views/session/frame.h"
#include "views/session/selection.h"

static void
select_set (IrSession *session, GHashTable *ids)
{
  g_autoptr (GtkBitset) nodes = gtk_bitset_new_empty ();
  GHashTableIter iter;
  gpointer id;

  g_hash_table_iter_init (&iter, ids);
  while (g_hash_table_iter_next (&iter, &id, NULL))
    gtk_bitset_add (nodes, GPOINTER_TO_UINT (id));
  if (!gtk_bitset_is_empty (nodes))
    ir_session_set_selection (session, nodes);
}

/* Adds what the selected nodes reach within @steps. */
void
ir_reach_select (IrSession *session, IrReach direction, guint steps)
{
  const IrFrame *frame = ir_session_get_frame (session);
  const GtkBitset *selection = ir_session_get_selection (session);
  g_autoptr (GArray) from = g_array_new (FALSE, FALSE, sizeof (IrNodeId));
  g_autoptr (GHashTable) reached = NULL;

  for (guint i = 0; i < gtk_bitset_get_size (selection); i++)
    {
      const IrNodeId id = gtk_bitset_get_nth (selection, i);

      g_array_append_val (from, id);
    }
  reached = ir_reach (frame->model, (const IrNodeId *) (void *) from->data, from->len, direction,
                      steps);
  select_set (session, reached);
}

/* Selects all paths between the two that are selected. */
void
ir_reach_select_between (IrSession *session)
{
  const GtkBitset *two = ir_session_get_selection (session);
  g_autoptr (GHashTable) between = NULL;

  if (gtk_bitset_get_size (two) != 2)
    return;
  between = ir_reach_between (ir_session_get_frame (session)->model, gtk_bitset_get_nth (two, 0),
                              gtk_bitset_get_nth (two, 1));
  select_set (session, between);
}
