/* How the graph is drawn: what is shown beside the nodes, which scopes are closed. */
#include "config.h"

#include "views/session/frame-private.h"
#include "views/session/selection.h"

typedef struct
{
  const char *overlay; /* interned */
  IrShow show;
  GHashTable *folded;    /* set of fold keys, closed by hand */
  GHashTable *automatic; /* set of fold keys, closed because the graph is large */
  guint serial;          /* counts changes of what the picture depends on */
  IrSceneMarks *marks;   /* (nullable) a rule's pattern that is drawn */
  guint marks_step;      /* where */
  char *rule, *text;     /* (nullable) */
} Display;

static void
init (gpointer state)
{
  Display *self = state;

  self->show = IR_SHOW_SHAPES | IR_SHOW_NAMES | IR_SHOW_SCOPES | IR_SHOW_COLUMNS;
  self->folded = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  self->automatic = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
}

static void
drop_marks (Display *self)
{
  g_clear_pointer (&self->marks, ir_scene_marks_unref);
  g_clear_pointer (&self->rule, g_free);
  g_clear_pointer (&self->text, g_free);
}

static void
clear (gpointer state)
{
  Display *self = state;

  drop_marks (self);
  g_hash_table_unref (self->folded);
  g_hash_table_unref (self->automatic);
}

IR_SESSION_NOUN (Display, init, clear)

/* -- what the picture is made of -- */

void
ir_session_picture_changed (IrSession *self)
{
  own (self)->serial++;
  ir_session_changed (self, IR_CHANGED_PICTURE);
}

void
ir_session_age_picture (IrSession *self)
{
  own (self)->serial++;
}

/* @problems: of the graph that is drawn */
IrPictureSettings *
ir_session_picture_settings (IrSession *self, IrRun *run, GPtrArray *problems)
{
  const Display *display = own (self);
  IrPictureSettings *settings = ir_picture_settings_new (
      display->serial, display->show, display->folded, display->overlay, run, problems);

  ir_picture_settings_set_automatic (settings, display->automatic);
  ir_picture_settings_set_marks (settings, display->marks, display->marks_step);
  ir_session_place_boxes (self, settings);
  return settings;
}

const char *
ir_session_get_overlay (IrSession *self)
{
  return own (self)->overlay;
}

void
ir_session_set_overlay (IrSession *self, const char *id)
{
  id = g_intern_string (id);
  if (own (self)->overlay == id)
    return;
  own (self)->overlay = id;
  own (self)->serial++;
  ir_session_changed (self, IR_CHANGED_OVERLAY | IR_CHANGED_PICTURE);
}

IrShow
ir_session_get_show (IrSession *self)
{
  return own (self)->show;
}

/**
 * ir_session_set_show:
 * @show: what the picture of the graph shows
 */
void
ir_session_set_show (IrSession *self, IrShow show)
{
  if (own (self)->show == show)
    return;
  own (self)->show = show;
  ir_session_picture_changed (self);
}

guint
ir_session_get_picture_serial (IrSession *self)
{
  return own (self)->serial;
}

static gboolean
is_drawn_open (IrSession *self, const char *fold)
{
  guint n = 0;
  const IrFrame *frame = ir_session_get_frame (self);
  const IrSceneBox *boxes = frame != NULL && frame->scene != NULL
                                ? ir_scene_boxes (frame->scene, &n)
                                : NULL;

  for (guint i = 0; i < n; i++)
    if (boxes[i].kind == IR_SCENE_CLUSTER && g_strcmp0 (boxes[i].fold, fold) == 0)
      return TRUE;
  return FALSE;
}

/**
 * ir_session_toggle_fold:
 * @fold: the key of a scope or of a node with subgraphs, from a box of the scene
 *
 * Closes it into one box, or opens it again.
 */
void
ir_session_toggle_fold (IrSession *self, const char *fold)
{
  const gboolean was_closed = g_hash_table_remove (own (self)->folded, fold);
  const gboolean was_automatic = g_hash_table_remove (own (self)->automatic, fold);

  /* the picture may show one open that is closed elsewhere, because of what it holds */
  if (is_drawn_open (self, fold) || (!was_closed && !was_automatic))
    g_hash_table_add (own (self)->folded, g_strdup (fold));
  ir_session_picture_changed (self);
}

static const IrSceneBox *
boxes_on_screen (IrSession *self, guint *n)
{
  const IrFrame *frame = ir_session_get_frame (self);

  *n = 0;
  return frame != NULL && frame->scene != NULL ? ir_scene_boxes (frame->scene, n) : NULL;
}

/**
 * ir_session_has_folds:
 * @closed: which ones are asked for
 *
 * Returns: whether groups on screen are closed, or open
 */
gboolean
ir_session_has_folds (IrSession *self, gboolean closed)
{
  guint n;
  const IrSceneBox *boxes = boxes_on_screen (self, &n);

  for (guint i = 0; i < n; i++)
    if (boxes[i].fold != NULL && (boxes[i].kind == IR_SCENE_FOLD) == closed)
      return TRUE;
  return FALSE;
}

/**
 * ir_session_set_folds:
 * @closed: what they shall be
 *
 * Closes all groups on screen, or opens all.
 */
void
ir_session_set_folds (IrSession *self, gboolean closed)
{
  guint n;
  const IrSceneBox *boxes = boxes_on_screen (self, &n);

  if (!closed)
    {
      g_hash_table_remove_all (own (self)->folded);
      g_hash_table_remove_all (own (self)->automatic);
    }
  for (guint i = 0; closed && i < n; i++)
    if (boxes[i].fold != NULL)
      g_hash_table_add (own (self)->folded, g_strdup (boxes[i].fold));
  ir_session_picture_changed (self);
}

/**
 * ir_session_show_node:
 * @node: as it is selected
 *
 * Selects @node, and opens what it lies in, whoever closed that.
 */
void
ir_session_show_node (IrSession *self, IrNodeId node)
{
  const IrFrame *frame = ir_session_get_frame (self);
  const IrNode *found = frame != NULL ? ir_frame_node (frame, node) : NULL;
  gboolean any;

  if (found == NULL)
    return;
  any = ir_picture_reveal (own (self)->folded, frame->diff, found);
  any |= ir_picture_reveal (own (self)->automatic, frame->diff, found);
  ir_session_select_node (self, node);
  if (any)
    ir_session_picture_changed (self);
}

void
ir_session_reset_folds (IrSession *self, GHashTable *automatic)
{
  g_hash_table_remove_all (own (self)->folded);
  g_hash_table_remove_all (own (self)->automatic);
  if (automatic == NULL)
    return;
  g_hash_table_unref (own (self)->automatic);
  own (self)->automatic = automatic;
}

/* Opens what was closed by itself around @node. */
gboolean
ir_session_reveal (IrSession *self, const IrDiff *diff, const IrNode *node)
{
  return ir_picture_reveal (own (self)->automatic, diff, node);
}

/* -- a rule's pattern -- */

void
ir_session_take_marks (
    IrSession *self, IrSceneMarks *marks, guint step, const char *rule, char *text)
{
  drop_marks (own (self));
  own (self)->marks = marks;
  own (self)->marks_step = step;
  own (self)->rule = g_strdup (rule);
  own (self)->text = text;
}

void
ir_session_forget_marks (IrSession *self)
{
  drop_marks (own (self));
}

void
ir_session_clear_marks (IrSession *self)
{
  if (own (self)->marks == NULL)
    return;
  drop_marks (own (self));
  own (self)->serial++;
  ir_session_changed (self, IR_CHANGED_PICTURE | IR_CHANGED_WHY);
}

void
ir_session_hide_marks (IrSession *self, guint step)
{
  if (own (self)->marks == NULL || own (self)->marks_step == step)
    return;
  drop_marks (own (self));
  own (self)->serial++;
}

gboolean
ir_session_has_marks (IrSession *self)
{
  return own (self)->marks != NULL;
}

gboolean
ir_session_has_marks_at (IrSession *self, guint step)
{
  return own (self)->marks != NULL && own (self)->marks_step == step;
}

const char *
ir_session_get_shown_why (IrSession *self)
{
  return own (self)->rule;
}

const char *
ir_session_get_shown_why_text (IrSession *self)
{
  return own (self)->text;
}
