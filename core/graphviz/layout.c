/* dot's layout of boxes and edges, in the child. Graphviz counts sizes in inches of 72 points and
 * lets y go up; here both are pixels at one per point, and y goes down. */
#include "config.h"

#include "core/graphviz/child.h"
#include "core/io/io.h"

#include <graphviz/gvc.h>
#include <stdio.h>
#include <string.h>

typedef struct
{
  const IrGraphvizBox *boxes;
  guint n_boxes;
  const IrGraphvizEdge *edges;
  guint n_edges;
  Agnode_t **nodes; /* room for n_boxes, made before the fork */
  Agedge_t **links; /* room for n_edges */
} Job;

/* -- in the child: no GLib -- */

static void
set (void *object, const char *key, const char *value)
{
  agsafeset (object, (char *) key, (char *) value, (char *) "");
}

static void
put_result (IrChildPipe *out, const Job *job, double top)
{
  for (guint i = 0; i < job->n_boxes; i++)
    {
      ir_child_put_double (out, ND_coord (job->nodes[i]).x);
      ir_child_put_double (out, top - ND_coord (job->nodes[i]).y);
    }
  for (guint i = 0; i < job->n_edges; i++)
    {
      const splines *spline = ED_spl (job->links[i]);
      guint n = spline != NULL && spline->size > 0 ? (guint) spline->list[0].size : 0;

      ir_child_put_number (out, n);
      for (guint k = 0; k < n; k++)
        {
          ir_child_put_double (out, spline->list[0].list[k].x);
          ir_child_put_double (out, top - spline->list[0].list[k].y);
        }
    }
}

static void
layout_in_child (IrChildPipe *out, gpointer user_data)
{
  const Job *job = user_data;
  GVC_t *context = gvContext ();
  Agraph_t *graph = agopen ((char *) "g", Agdirected, NULL);
  char text[64];

  for (guint i = 0; i < job->n_boxes; i++)
    {
      snprintf (text, sizeof text, "n%u", i);
      job->nodes[i] = agnode (graph, text, 1);
      /* No label: so no font is ever looked for. */
      set (job->nodes[i], "label", "");
      set (job->nodes[i], "shape", "box");
      set (job->nodes[i], "fixedsize", "true");
      snprintf (text, sizeof text, "%f", job->boxes[i].width / POINTS_PER_INCH);
      set (job->nodes[i], "width", text);
      snprintf (text, sizeof text, "%f", job->boxes[i].height / POINTS_PER_INCH);
      set (job->nodes[i], "height", text);
    }
  for (guint i = 0; i < job->n_edges; i++)
    {
      snprintf (text, sizeof text, "e%u", i);
      job->links[i] = agedge (graph, job->nodes[job->edges[i].from], job->nodes[job->edges[i].to],
                              text, 1);
    }
  if (gvLayout (context, graph, "dot") != 0)
    return;
  ir_child_put_byte (out, 'L');
  put_result (out, job, GD_bb (graph).UR.y);
}

/* -- in the parent -- */

static gboolean
take_result (IrGraphvizBox *boxes,
             guint n_boxes,
             IrGraphvizEdge *edges,
             guint n_edges,
             IrChildAnswer *answer)
{
  if (ir_child_get_byte (answer) != 'L')
    return FALSE;
  for (guint i = 0; i < n_boxes; i++)
    {
      boxes[i].x = ir_child_get_double (answer);
      boxes[i].y = ir_child_get_double (answer);
    }
  for (guint i = 0; i < n_edges && !answer->failed; i++)
    {
      guint n = ir_child_get_number (answer);

      if ((gsize) n * 16 > (gsize) (answer->end - answer->next))
        return FALSE;
      edges[i].n_points = n;
      edges[i].points = g_new (double, 2 * (gsize) n + 1);
      for (guint k = 0; k < 2 * n; k++)
        edges[i].points[k] = ir_child_get_double (answer);
    }
  return !answer->failed;
}

/* Layers the graph by Graphviz's dot. Good for up to some hundred boxes; it takes minutes for
 * ten thousand, and then fails with %IR_IO_ERROR_LIMIT. Returns TRUE if all boxes have places. */
gboolean
ir_graphviz_layout (IrGraphvizBox *boxes,
                    guint n_boxes,
                    IrGraphvizEdge *edges,
                    guint n_edges,
                    const IrGraphvizLimits *limits,
                    GCancellable *cancellable,
                    GError **error)
{
  g_autofree Agnode_t **nodes = g_new0 (Agnode_t *, n_boxes + 1);
  g_autofree Agedge_t **links = g_new0 (Agedge_t *, n_edges + 1);
  Job job = { boxes, n_boxes, edges, n_edges, nodes, links };
  g_autoptr (GBytes) bytes = NULL;
  IrChildAnswer answer;

  for (guint i = 0; i < n_edges; i++)
    {
      g_return_val_if_fail (edges[i].from < n_boxes && edges[i].to < n_boxes, FALSE);
      edges[i].n_points = 0;
      edges[i].points = NULL;
    }
  bytes = ir_child_run (layout_in_child, &job, limits, cancellable, error);
  if (bytes == NULL)
    return FALSE;
  ir_child_answer_init (&answer, bytes);
  if (take_result (boxes, n_boxes, edges, n_edges, &answer))
    return TRUE;
  for (guint i = 0; i < n_edges; i++)
    g_clear_pointer (&edges[i].points, g_free);
  g_set_error (error, IR_IO_ERROR, IR_IO_ERROR_UNSUPPORTED,
               "Graphviz could not lay the graph out; is its dot plugin installed?");
  return FALSE;
}
