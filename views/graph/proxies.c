/* The boxes in sight as assistive technology sees them: one proxy each. */
#include "config.h"

#include "views/graph/canvas-private.h"
#include "views/graph/proxy.h"
#include "views/session/selection.h"

#include <math.h>
#include <string.h>

#define MAX_PROXIES   200
#define SYNC_DELAY_MS 40
#define SYNC_LEAST_MS 200 /* from one time to the next, while the camera moves */

/* What became of it, and what lies on the lines that lead to it. */
static void
append_tokens (IrCanvas *self, const IrSceneBox *box, GString *label)
{
  guint n;
  const IrSceneBox *boxes = ir_scene_boxes (canvas_scene (self), &n);
  const IrSceneLine *lines = ir_scene_lines (canvas_scene (self), &n);

  for (guint i = 0; self->tokens != NULL && i < self->tokens->len; i++)
    {
      const IrSceneToken *token = &g_array_index (self->tokens, IrSceneToken, i);
      if (token->box >= 0 && &boxes[token->box] == box)
        g_string_append_printf (label, ", %s", token->text);
      else if (token->line >= 0 && lines[token->line].to >= 0 &&
               &boxes[lines[token->line].to] == box)
        g_string_append_printf (label, ", token %s",
                                token->kind == IR_SCENE_TOKEN_DEAD ? "dead" : token->text);
    }
}

static char *
box_label (IrCanvas *self, const IrSceneBox *box)
{
  const IrNode *node = ir_frame_node (self->frame, ir_frame_box_node (self->frame, box));
  GString *label = g_string_new (NULL);

  if (box->kind == IR_SCENE_NODE && node != NULL)
    g_string_append_printf (label, "%s %s", node->op_type, node->name);
  else if (box->tip != NULL)
    g_string_append_len (label, box->tip, (gssize) strcspn (box->tip, "\n"));
  if (box->state != IR_SCENE_SAME && strstr (label->str, ir_scene_state_name (box->state)) == NULL)
    g_string_append_printf (label, ", %s", ir_scene_state_name (box->state));
  if (box->problem > 0)
    g_string_append (label, ", has problems");
  append_tokens (self, box, label);
  return g_string_free (g_steal_pointer (&label), FALSE);
}

static void
collect_boxes (IrSceneHit hit, gpointer data)
{
  if (hit.box >= 0)
    g_array_append_val ((GArray *) data, hit.box);
}

static GtkWidget *
find_proxy (IrCanvas *self, GPtrArray *old, guint64 key)
{
  for (guint i = 0; i < old->len; i++)
    if (old->pdata[i] != NULL && ir_node_proxy_get_key (old->pdata[i]) == key)
      {
        GtkWidget *proxy = old->pdata[i];

        old->pdata[i] = NULL;
        return proxy;
      }
  return NULL;
}

static void
allocate_proxy (IrCanvas *self, GtkWidget *proxy, const IrSceneBox *box)
{
  const IrCamera now = ir_canvas_get_camera (self);
  const graphene_rect_t r = ir_camera_rect (&now, box);
  GskTransform *transform = gsk_transform_translate (NULL,
                                                     &GRAPHENE_POINT_INIT (r.origin.x, r.origin.y));

  gtk_widget_measure (proxy, GTK_ORIENTATION_HORIZONTAL, -1, NULL, NULL, NULL, NULL);
  gtk_widget_allocate (proxy, MAX ((int) r.size.width, 1), MAX ((int) r.size.height, 1), -1,
                       transform);
}

void
canvas_allocate_proxies (IrCanvas *self)
{
  for (guint i = 0; i < self->proxies->len; i++)
    {
      const IrSceneBox *box = canvas_box (self, ir_node_proxy_get_box (self->proxies->pdata[i]));

      if (box != NULL)
        allocate_proxy (self, self->proxies->pdata[i], box);
    }
}

typedef struct
{
  gint32 box;
  double distance;
} Near;

static int
compare_distance (gconstpointer a, gconstpointer b)
{
  const Near *x = a, *y = b;

  return x->distance != y->distance ? (x->distance < y->distance ? -1 : 1)
                                    : (x->box > y->box) - (x->box < y->box);
}

static int
compare_box (gconstpointer a, gconstpointer b)
{
  return *(const gint32 *) a - *(const gint32 *) b;
}

/* Of more boxes than have proxies those around the one that is selected, or around the middle, in the
 * order that they had. */
static void
keep_nearest (IrCanvas *self, const IrLayoutRect *world, GArray *boxes)
{
  const IrSceneBox *focus = canvas_box (self, self->selected_box);
  const double x = focus != NULL ? focus->x + focus->width / 2 : world->x + world->width / 2,
               y = focus != NULL ? focus->y + focus->height / 2 : world->y + world->height / 2;
  g_autoptr (GArray) near = g_array_sized_new (FALSE, FALSE, sizeof (Near), boxes->len);

  for (guint i = 0; i < boxes->len; i++)
    {
      const gint32 index = g_array_index (boxes, gint32, i);
      const IrSceneBox *box = canvas_box (self, index);
      const Near one = { index, hypot (box->x + box->width / 2 - x, box->y + box->height / 2 - y) };

      if (box->kind != IR_SCENE_CLUSTER && canvas_shows (self, (IrSceneHit){ index, -1 }))
        g_array_append_val (near, one);
    }
  if (near->len > MAX_PROXIES)
    g_array_sort (near, compare_distance);
  g_array_set_size (boxes, MIN (near->len, MAX_PROXIES));
  for (guint i = 0; i < boxes->len; i++)
    g_array_index (boxes, gint32, i) = g_array_index (near, Near, i).box;
  g_array_sort (boxes, compare_box);
}

/* One proxy per box in sight, bound to the box's key as long as it is in sight. Not while sizes are
 * given: children that come and go would ask for another round. */
void
canvas_sync_proxies (IrCanvas *self)
{
  g_autoptr (GPtrArray) old = g_steal_pointer (&self->proxies);
  g_autoptr (GArray) boxes = g_array_new (FALSE, FALSE, sizeof (gint32));
  const IrCamera now = ir_canvas_get_camera (self);
  const IrLayoutRect world = ir_camera_world (&now);
  const GtkBitset *selection = ir_session_get_selection (self->session);

  g_clear_handle_id (&self->sync_timeout, g_source_remove);
  self->synced_us = g_get_monotonic_time ();
  self->proxies = g_ptr_array_new ();
  if (canvas_scene (self) != NULL)
    ir_scene_foreach_in_rect (canvas_scene (self), &world, collect_boxes, boxes);
  keep_nearest (self, &world, boxes);
  for (guint i = 0; i < boxes->len; i++)
    {
      const gint32 index = g_array_index (boxes, gint32, i);
      const IrSceneBox *box = canvas_box (self, index);
      g_autofree char *label = NULL;
      GtkWidget *proxy;

      proxy = find_proxy (self, old, box->key);
      if (proxy == NULL)
        {
          proxy = ir_node_proxy_new (box->key);
          gtk_widget_set_parent (proxy, GTK_WIDGET (self));
        }
      label = box_label (self, box);
      ir_node_proxy_update (IR_NODE_PROXY (proxy), index, label,
                            index == self->selected_box ||
                                (box->node != 0 && gtk_bitset_contains (selection, box->node)),
                            i + 1, boxes->len);
      g_ptr_array_add (self->proxies, proxy);
    }
  for (guint i = 0; i < old->len; i++)
    if (old->pdata[i] != NULL)
      {
        if (gtk_widget_has_focus (old->pdata[i]))
          gtk_widget_grab_focus (GTK_WIDGET (self));
        gtk_widget_unparent (old->pdata[i]);
      }
  /* By the whole chain of parents: one of them may still count as told from children that were
   * not placed, and then an allocation of the canvas alone is never done. */
  if (!self->allocating)
    gtk_widget_queue_resize (GTK_WIDGET (self));
}

static gboolean
on_sync_timeout (gpointer data)
{
  IrCanvas *self = data;

  const gint64 now = g_get_monotonic_time ();

  self->sync_timeout = 0;
  if (now - self->synced_us > SYNC_LEAST_MS * 1000)
    canvas_sync_proxies (self);
  else
    canvas_queue_sync (self);
  g_signal_emit_by_name (self, "moved");
  if (self->zoom_to_tell)
    g_signal_emit_by_name (self, "zoomed");
  self->zoom_to_tell = FALSE;
  return G_SOURCE_REMOVE;
}

void
canvas_queue_sync (IrCanvas *self)
{
  if (self->sync_timeout == 0)
    self->sync_timeout = g_timeout_add (SYNC_DELAY_MS, on_sync_timeout, self);
}
