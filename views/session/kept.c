/* Views of the graph that are kept under numbers: what is drawn, selected and looked at. */
#include "config.h"

#include "views/session/kept.h"

#include "views/session/frame-private.h"
#include "views/session/places.h"
#include "views/session/selection-private.h"

#include <string.h>

typedef struct
{
  GPtrArray *views;         /* of IrKeptView, IR_N_KEPT of them, NULL where nothing is kept */
  IrKeptView sight, wanted; /* places alone; zoom 0: none */
} Kept;

static void
init (gpointer state)
{
  Kept *self = state;

  self->views = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_kept_view_free);
  g_ptr_array_set_size (self->views, IR_N_KEPT);
}

static void
clear (gpointer state)
{
  g_ptr_array_unref (((Kept *) state)->views);
}

IR_SESSION_NOUN (Kept, init, clear)

/* Of IrKeptView, NULL where nothing is kept. (transfer none) */
GPtrArray *
ir_session_get_kept (IrSession *self)
{
  return own (self)->views;
}

/* Those of another model, or of another time; tells nobody. @views: (transfer full) */
void
ir_session_take_kept (IrSession *self, GPtrArray *views)
{
  g_ptr_array_unref (own (self)->views);
  own (self)->views = views;
}

/* Of another graph nothing is kept. */
void
ir_session_forget_kept (IrSession *self)
{
  g_ptr_array_set_size (own (self)->views, 0);
  g_ptr_array_set_size (own (self)->views, IR_N_KEPT);
  own (self)->sight.zoom = own (self)->wanted.zoom = 0;
}

static IrKeptView
place_of (const IrKeptView *view)
{
  return (IrKeptView){
    .zoom = view->zoom, .x = view->x, .y = view->y, .width = view->width, .height = view->height
  };
}

/* Of which the place alone is there. (transfer none) (nullable): nobody has looked yet */
const IrKeptView *
ir_session_get_sight (IrSession *self)
{
  return own (self)->sight.zoom > 0 ? &own (self)->sight : NULL;
}

/* Of what whoever owns the camera sees. */
void
ir_session_note_sight (IrSession *self, const IrKeptView *place)
{
  const IrKeptView now = place_of (place);

  if (memcmp (&now, &own (self)->sight, sizeof now) == 0)
    return;
  own (self)->sight = now;
  ir_session_changed (self, IR_CHANGED_SIGHT);
}

/* It is where the camera goes when the graph is drawn again. */
void
ir_session_go_to_sight (IrSession *self, const IrKeptView *place)
{
  own (self)->wanted = own (self)->sight = place_of (place);
  ir_session_changed (self, IR_CHANGED_SIGHT);
}

/* Once. @place: gets it. Returns: whether somebody wants to go somewhere */
gboolean
ir_session_take_wanted_sight (IrSession *self, IrKeptView *place)
{
  const gboolean any = own (self)->wanted.zoom > 0;

  *place = own (self)->wanted;
  own (self)->wanted.zoom = 0;
  return any;
}

/**
 * ir_session_keep_view:
 * @number: 1 … %IR_N_KEPT
 * @place: what is looked at: zoom, middle and size
 *
 * Keeps what is drawn, selected and looked at.
 */
void
ir_session_keep_view (IrSession *self, guint number, const IrKeptView *place)
{
  IrKeptView *view = ir_kept_view_new (ir_session_get_look (self));
  GtkBitsetIter iter;
  guint id;

  view->zoom = place->zoom;
  view->x = place->x;
  view->y = place->y;
  view->width = place->width;
  view->height = place->height;
  view->numbers = ir_session_get_numbers (self) != NULL
                      ? g_strdup (ir_numbers_path (ir_session_get_numbers (self)))
                      : NULL;
  ir_session_keep_places (self, view);
  for (gboolean more = gtk_bitset_iter_init_first (&iter, ir_session_get_selection (self), &id);
       more; more = gtk_bitset_iter_next (&iter, &id))
    g_hash_table_add (view->selected, GUINT_TO_POINTER (id));
  ir_kept_view_free (own (self)->views->pdata[number - 1]);
  own (self)->views->pdata[number - 1] = view;
  ir_session_message (self, "This view is kept as %u: %u shows it again", number, number);
  ir_session_changed (self, IR_CHANGED_KEPT);
}

/**
 * ir_session_show_kept:
 * @number: 1 … %IR_N_KEPT
 *
 * Draws and selects what was kept; who owns the camera brings it there.
 *
 * Returns: (transfer none) (nullable): the view; %NULL: nothing is kept there
 */
const IrKeptView *
ir_session_show_kept (IrSession *self, guint number)
{
  const IrKeptView *view = own (self)->views->pdata[number - 1];
  g_autoptr (GtkBitset) nodes = gtk_bitset_new_empty ();
  GHashTableIter iter;
  gpointer id;

  if (view == NULL)
    {
      ir_session_message (self, "No view is kept as %u: Ctrl+%u keeps one", number, number);
      return NULL;
    }
  g_hash_table_iter_init (&iter, view->selected);
  while (g_hash_table_iter_next (&iter, &id, NULL))
    gtk_bitset_add (nodes, GPOINTER_TO_UINT (id));
  if (view->numbers != NULL &&
      (ir_session_get_numbers (self) == NULL ||
       strcmp (ir_numbers_path (ir_session_get_numbers (self)), view->numbers) != 0))
    ir_session_open_numbers (self, view->numbers);
  ir_session_show_places (self, view);
  ir_session_set_look (self, view->look);
  ir_session_set_selection (self, nodes);
  return view;
}
