/* How the graph is drawn: what is shown beside the nodes, which scopes are closed. */
#include "config.h"

#include "views/session/frame-private.h"
#include "views/session/selection.h"

#include <string.h>

typedef struct
{
  IrLook *look;
  IrNumbers *numbers;    /* (nullable) of the file that an overlay shows */
  GHashTable *errors;    /* (nullable) of the last check of the execution */
  GHashTable *gradients; /* (nullable) of the last derivation */
  GHashTable *updates;   /* (nullable) of the last training */
  guint serial;          /* counts changes of what the picture depends on */
  IrSceneMarks *marks;   /* (nullable) a rule's pattern that is drawn */
  guint marks_step;      /* where */
  char *rule, *text;     /* (nullable) */
} Display;

static void
init (gpointer state)
{
  Display *self = state;

  self->look = ir_look_new ();
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
  ir_look_free (self->look);
  g_clear_pointer (&self->numbers, ir_numbers_unref);
  g_clear_pointer (&self->errors, g_hash_table_unref);
  g_clear_pointer (&self->gradients, g_hash_table_unref);
  g_clear_pointer (&self->updates, g_hash_table_unref);
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
  IrPictureSettings *settings = ir_picture_settings_new (display->serial, display->look, problems);

  ir_picture_settings_set_facts (settings, run, display->errors, display->gradients,
                                 display->updates, display->numbers);
  ir_picture_settings_set_marks (settings, display->marks, display->marks_step);
  ir_session_place_boxes (self, settings);
  return settings;
}

const char *
ir_session_get_overlay (IrSession *self)
{
  return own (self)->look->overlay;
}

void
ir_session_set_overlay (IrSession *self, const char *id)
{
  IrLook *look = own (self)->look;

  if (g_strcmp0 (look->overlay, id) == 0)
    return;
  g_free (look->overlay);
  look->overlay = g_strdup (id);
  own (self)->serial++;
  ir_session_changed (self, IR_CHANGED_OVERLAY | IR_CHANGED_PICTURE);
}

IrShow
ir_session_get_show (IrSession *self)
{
  return own (self)->look->show;
}

/**
 * ir_session_set_show:
 * @show: what the picture of the graph shows
 */
void
ir_session_set_show (IrSession *self, IrShow show)
{
  if (own (self)->look->show == show)
    return;
  own (self)->look->show = show;
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
  if (g_str_has_prefix (fold, IR_SCENE_BESIDE_FOLD))
    {
      ir_session_set_beside (self, fold + strlen (IR_SCENE_BESIDE_FOLD), FALSE);
      return;
    }
  if (g_str_has_prefix (fold, IR_SCENE_CALL_FOLD) && ir_session_get_frame (self) != NULL)
    {
      ir_look_toggle_call (own (self)->look, ir_session_get_frame (self)->model, fold);
      ir_session_picture_changed (self);
      return;
    }
  const gboolean was_closed = g_hash_table_remove (own (self)->look->folded, fold);
  const gboolean was_automatic = g_hash_table_remove (own (self)->look->automatic, fold);

  /* the picture may show one open that is closed elsewhere, because of what it holds */
  if (is_drawn_open (self, fold) || (!was_closed && !was_automatic))
    g_hash_table_add (own (self)->look->folded, g_strdup (fold));
  ir_session_picture_changed (self);
}

/* Not a call: its function is a graph of its own. */
static gboolean
is_group (const IrSceneBox *box)
{
  return box->fold != NULL && !g_str_has_prefix (box->fold, IR_SCENE_CALL_FOLD);
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
    if (is_group (&boxes[i]) && ir_scene_box_is_closed (&boxes[i]) == closed)
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
      g_hash_table_remove_all (own (self)->look->folded);
      g_hash_table_remove_all (own (self)->look->automatic);
    }
  for (guint i = 0; closed && i < n; i++)
    if (is_group (&boxes[i]))
      g_hash_table_add (own (self)->look->folded, g_strdup (boxes[i].fold));
  ir_session_picture_changed (self);
}

/* The graph that was entered is left where @node does not lie in it; what was filtered away comes
 * back. */
static gboolean
leave_part_without (IrSession *self, const IrNode *node)
{
  IrLook *look = own (self)->look;
  const IrGraph *root = ir_scene_find_root (node->graph->model, look->root);
  const IrGraph *graph = node->graph;
  gboolean any = FALSE;

  while (graph != NULL && graph != root)
    {
      const IrNode *owner = graph->kind == IR_GRAPH_SUBGRAPH
                                ? ir_model_live_node (graph->model, graph->owner)
                                : NULL;

      if (owner == NULL)
        break;
      graph = owner->graph;
    }
  if ((root != NULL || (graph != NULL && graph->kind == IR_GRAPH_FUNCTION)) && graph != root)
    {
      g_free (look->root);
      look->root = graph != NULL ? ir_scene_graph_root (graph) : NULL;
      any = TRUE;
    }
  if (look->nodes != NULL && g_hash_table_add (look->nodes, GUINT_TO_POINTER (node->id)))
    any = TRUE;
  return any;
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
  any = ir_frame_find_box (frame, node) < 0 && leave_part_without (self, found);
  any |= ir_look_reveal (own (self)->look->folded, frame->diff, found);
  any |= ir_look_reveal (own (self)->look->automatic, frame->diff, found);
  ir_session_select_node (self, node);
  if (any)
    ir_session_picture_changed (self);
}

/* Of another file nothing is filtered, entered or beside. */
static void
forget_parts (IrLook *look)
{
  g_hash_table_remove_all (look->beside);
  g_hash_table_remove_all (look->calls);
  g_clear_pointer (&look->nodes, g_hash_table_unref);
  g_clear_pointer (&look->root, g_free);
  g_array_set_size (look->rules, 0);
}

void
ir_session_reset_folds (IrSession *self, GHashTable *automatic)
{
  g_hash_table_remove_all (own (self)->look->folded);
  g_hash_table_remove_all (own (self)->look->automatic);
  forget_parts (own (self)->look);
  if (automatic == NULL)
    return;
  g_hash_table_unref (own (self)->look->automatic);
  own (self)->look->automatic = automatic;
}

/* Opens what was closed by itself around @node. */
gboolean
ir_session_reveal (IrSession *self, const IrDiff *diff, const IrNode *node)
{
  return ir_look_reveal (own (self)->look->automatic, diff, node);
}

/* -- parts, filters, styles -- */

/**
 * ir_session_get_look:
 *
 * Returns: (transfer none): how the graph is drawn
 */
const IrLook *
ir_session_get_look (IrSession *self)
{
  return own (self)->look;
}

/**
 * ir_session_set_look:
 * @look: copied
 *
 * Draws the graph as @look says, with all that it opens, closes, hides and colours.
 */
void
ir_session_set_look (IrSession *self, const IrLook *look)
{
  ir_look_free (own (self)->look);
  own (self)->look = ir_look_copy (look);
  own (self)->serial++;
  ir_session_changed (self, IR_CHANGED_OVERLAY | IR_CHANGED_PICTURE);
}

/**
 * ir_session_enter:
 * @root: (nullable): a graph as ir_scene_graph_root() calls it; %NULL: the main graph
 *
 * Draws that graph alone.
 */
void
ir_session_enter (IrSession *self, const char *root)
{
  IrLook *look = own (self)->look;

  if (g_strcmp0 (look->root, root) == 0)
    return;
  g_free (look->root);
  look->root = g_strdup (root);
  ir_session_picture_changed (self);
}

/**
 * ir_session_set_beside:
 * @fold: the fold key of a node with graphs
 *
 * Puts its graphs beside the picture, or back.
 */
void
ir_session_set_beside (IrSession *self, const char *fold, gboolean beside)
{
  IrLook *look = own (self)->look;
  const gboolean changed = beside ? g_hash_table_add (look->beside, g_strdup (fold))
                                  : g_hash_table_remove (look->beside, fold);

  if (changed)
    ir_session_picture_changed (self);
}

/**
 * ir_session_show_only:
 * @nodes: (nullable): set of node ids, copied; %NULL: all nodes
 *
 * Draws these nodes alone.
 */
void
ir_session_show_only (IrSession *self, GHashTable *nodes)
{
  IrLook *look = own (self)->look;
  GHashTableIter iter;
  gpointer id;

  if (nodes == NULL && look->nodes == NULL)
    return;
  g_clear_pointer (&look->nodes, g_hash_table_unref);
  if (nodes != NULL)
    {
      look->nodes = g_hash_table_new (NULL, NULL);
      g_hash_table_iter_init (&iter, nodes);
      while (g_hash_table_iter_next (&iter, &id, NULL))
        g_hash_table_add (look->nodes, id);
    }
  ir_session_picture_changed (self);
}

/**
 * ir_session_add_rule:
 * @query: that ir_query_new() reads
 *
 * Filters or colours the picture by a query, from now on.
 */
void
ir_session_add_rule (IrSession *self, const char *query, IrRuleEffect effect, guint colour)
{
  ir_look_add_rule (own (self)->look, query, effect, colour);
  ir_session_picture_changed (self);
}

void
ir_session_remove_rule (IrSession *self, guint index)
{
  if (ir_look_remove_rule (own (self)->look, index))
    ir_session_picture_changed (self);
}

/**
 * ir_session_set_numbers:
 * @numbers: (nullable): a number per node, which the overlay "file" shows
 */
void
ir_session_set_numbers (IrSession *self, IrNumbers *numbers)
{
  g_clear_pointer (&own (self)->numbers, ir_numbers_unref);
  own (self)->numbers = numbers != NULL ? ir_numbers_ref (numbers) : NULL;
  ir_session_picture_changed (self);
}

/**
 * ir_session_open_numbers:
 * @path: a JSON file
 *
 * Colours the graph by its numbers, or says why not.
 *
 * Returns: whether it has some
 */
gboolean
ir_session_open_numbers (IrSession *self, const char *path)
{
  const IrFrame *frame = ir_session_get_frame (self);
  g_autoptr (GError) error = NULL;
  g_autofree char *note = NULL;
  g_autoptr (IrNumbers) numbers = frame != NULL ? ir_numbers_load (path, &error) : NULL;

  if (numbers != NULL && !ir_numbers_check (numbers, frame->model, &note, &error))
    g_clear_pointer (&numbers, ir_numbers_unref);
  if (error != NULL)
    ir_session_failed (self, "The numbers cannot be shown", error);
  if (numbers == NULL)
    return FALSE;
  ir_session_set_numbers (self, numbers);
  ir_session_set_overlay (self, "file");
  if (note != NULL)
    ir_session_message (self, "%s", note);
  return TRUE;
}

/* @errors: (nullable): as ir_overlay_errors() gives them, of the graph on screen; tells nobody */
void
ir_session_place_errors (IrSession *self, GHashTable *errors)
{
  g_clear_pointer (&own (self)->errors, g_hash_table_unref);
  own (self)->errors = errors != NULL ? g_hash_table_ref (errors) : NULL;
  if (g_strcmp0 (own (self)->look->overlay, "error") == 0)
    own (self)->serial++;
}

/* What overlays with @needs show becomes @table. Whether one is shown */
static gboolean
place (IrSession *self, GHashTable **place, GHashTable *table, IrOverlayNeeds needs)
{
  const IrOverlay *overlay = ir_overlay_find (own (self)->look->overlay);

  g_clear_pointer (place, g_hash_table_unref);
  *place = table != NULL ? g_hash_table_ref (table) : NULL;
  if (overlay == NULL || (overlay->needs & needs) == 0)
    return FALSE;
  own (self)->serial++;
  return TRUE;
}

/* @gradients: (nullable): as ir_gradients_by_node() gives them; tells nobody. Whether they are shown */
gboolean
ir_session_place_gradients (IrSession *self, GHashTable *gradients)
{
  return place (self, &own (self)->gradients, gradients, IR_OVERLAY_NEEDS_GRADIENTS);
}

/* @updates: (nullable): as ir_parameter_courses_by_node() gives them; likewise */
gboolean
ir_session_place_updates (IrSession *self, GHashTable *updates)
{
  return place (self, &own (self)->updates, updates, IR_OVERLAY_NEEDS_TRAINING);
}

const IrNumbers *
ir_session_get_numbers (IrSession *self)
{
  return own (self)->numbers;
}

void
ir_session_set_scale (IrSession *self, IrScaleKind kind)
{
  if (own (self)->look->scale == kind)
    return;
  own (self)->look->scale = kind;
  ir_session_picture_changed (self);
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
