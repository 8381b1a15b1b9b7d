#include "config.h"

/* The life of one flat layout problem, and the order of its stages. */

#include "core/layout/layout-private.h"

/* A problem whose arrays are zero */
IrFlat *
ir_flat_new (gint32 n_vertices, gint32 n_nets, gint32 n_edges)
{
  IrFlat *flat = g_new0 (IrFlat, 1);

  flat->v = g_new0 (IrFlatVertex, MAX (1, n_vertices));
  flat->n_real = flat->n_vertices = n_vertices;
  flat->nets = g_new0 (IrFlatNet, MAX (1, n_nets));
  flat->n_nets = n_nets;
  flat->edges = g_new0 (IrFlatEdge, MAX (1, n_edges));
  flat->n_edges = n_edges;
  flat->points = g_array_new (FALSE, FALSE, sizeof (IrLayoutPoint));
  for (gint32 i = 0; i < n_vertices; i++)
    flat->v[i].net = -1;
  return flat;
}

void
ir_flat_free (IrFlat *flat)
{
  if (flat == NULL)
    return;
  g_free (flat->v);
  g_free (flat->nets);
  g_free (flat->edges);
  g_free (flat->layer_start);
  g_free (flat->order);
  g_free (flat->segs);
  g_free (flat->up_start);
  g_free (flat->up);
  g_free (flat->down_start);
  g_free (flat->down);
  g_array_unref (flat->points);
  g_free (flat);
}

gboolean
ir_flat_run (IrFlat *flat, GCancellable *cancellable, GError **error)
{
  if (!ir_flat_assign_layers (flat, cancellable, error))
    return FALSE;
  ir_flat_make_trunks (flat);
  return ir_flat_order (flat, cancellable, error) && ir_flat_place (flat, cancellable, error) &&
         ir_flat_route (flat, cancellable, error);
}
