/* What is selected, what the pointer is on, and which part of the run is looked at. */
#include "config.h"

#include "views/session/frame-private.h"
#include "views/session/selection-private.h"

typedef struct
{
  GtkBitset *nodes;
  IrNodeId node;
  IrValueId value;
  const char *fold; /* (nullable) interned: a group instead of nodes */
  IrNodeId hover;
  IrValueId hover_value;
  double start_ms, end_ms;
  GtkBitset *span; /* (nullable) nodes between the two */
} Selection;

static void
init (gpointer state)
{
  ((Selection *) state)->nodes = gtk_bitset_new_empty ();
}

static void
clear (gpointer state)
{
  gtk_bitset_unref (((Selection *) state)->nodes);
  g_clear_pointer (&((Selection *) state)->span, gtk_bitset_unref);
}

IR_SESSION_NOUN (Selection, init, clear)

const GtkBitset *
ir_session_get_selection (IrSession *self)
{
  return own (self)->nodes;
}

IrNodeId
ir_session_get_selected_node (IrSession *self)
{
  return own (self)->node;
}

IrValueId
ir_session_get_selected_value (IrSession *self)
{
  return own (self)->value;
}

#define MAX_REVEALED 60 /* nodes; of more that are selected at once, folds stay closed */

/* What is selected is drawn: scopes that were closed by themselves open for it. */
static void
reveal_selection (IrSession *self)
{
  const IrFrame *frame = ir_session_get_frame (self);
  gboolean any = FALSE;
  GtkBitsetIter iter;
  guint id;

  if (frame == NULL || gtk_bitset_get_size (own (self)->nodes) > MAX_REVEALED)
    return;
  for (gboolean more = gtk_bitset_iter_init_first (&iter, own (self)->nodes, &id); more;
       more = gtk_bitset_iter_next (&iter, &id))
    {
      const IrNode *node = ir_frame_node (frame, id);

      if (node != NULL && ir_frame_find_box (frame, id) < 0)
        any |= ir_session_reveal (self, frame->diff, node);
    }
  if (any)
    ir_session_picture_changed (self);
}

/**
 * ir_session_select_node:
 * @node: 0 for nothing
 *
 * Selects @node alone and no value.
 */
void
ir_session_select_node (IrSession *self, IrNodeId node)
{
  if (own (self)->node == node && own (self)->value == 0 && own (self)->fold == NULL &&
      gtk_bitset_get_size (own (self)->nodes) == (node != 0))
    return;
  gtk_bitset_remove_all (own (self)->nodes);
  if (node != 0)
    gtk_bitset_add (own (self)->nodes, node);
  own (self)->node = node;
  own (self)->value = 0;
  own (self)->fold = NULL;
  ir_session_changed (self, IR_CHANGED_SELECTION);
  reveal_selection (self);
}

/**
 * ir_session_toggle_node:
 *
 * Adds @node to the selection, or takes it away.
 */
void
ir_session_toggle_node (IrSession *self, IrNodeId node)
{
  if (node == 0)
    return;
  own (self)->fold = NULL;
  if (gtk_bitset_contains (own (self)->nodes, node))
    {
      gtk_bitset_remove (own (self)->nodes, node);
      if (own (self)->node == node)
        own (self)->node = gtk_bitset_is_empty (own (self)->nodes)
                               ? 0
                               : gtk_bitset_get_maximum (own (self)->nodes);
    }
  else
    {
      gtk_bitset_add (own (self)->nodes, node);
      own (self)->node = node;
    }
  ir_session_changed (self, IR_CHANGED_SELECTION);
}

/**
 * ir_session_set_selection:
 * @nodes: (transfer none): copied
 */
void
ir_session_set_selection (IrSession *self, const GtkBitset *nodes)
{
  if (gtk_bitset_equals (own (self)->nodes, nodes))
    return;
  gtk_bitset_unref (own (self)->nodes);
  own (self)->nodes = gtk_bitset_copy (nodes);
  own (self)->fold = NULL;
  if (!gtk_bitset_contains (nodes, own (self)->node))
    own (self)->node = gtk_bitset_is_empty (nodes) ? 0 : gtk_bitset_get_minimum (nodes);
  ir_session_changed (self, IR_CHANGED_SELECTION);
  reveal_selection (self);
}

/**
 * ir_session_select_fold:
 * @fold: (nullable): the key of a box of the scene
 *
 * Selects a group, and no node.
 */
void
ir_session_select_fold (IrSession *self, const char *fold)
{
  fold = g_intern_string (fold);
  if (own (self)->fold == fold)
    return;
  gtk_bitset_remove_all (own (self)->nodes);
  own (self)->node = 0;
  own (self)->value = 0;
  own (self)->fold = fold;
  ir_session_changed (self, IR_CHANGED_SELECTION);
}

const char *
ir_session_get_selected_fold (IrSession *self)
{
  return own (self)->fold;
}

void
ir_session_select_value (IrSession *self, IrValueId value)
{
  if (own (self)->value == value)
    return;
  own (self)->value = value;
  ir_session_changed (self, IR_CHANGED_SELECTION);
}

IrNodeId
ir_session_get_hover (IrSession *self)
{
  return own (self)->hover;
}

/* A value that is pointed at, with what makes it. */
void
ir_session_set_hover_value (IrSession *self, IrNodeId producer, IrValueId value)
{
  if (own (self)->hover == producer && own (self)->hover_value == value)
    return;
  own (self)->hover = producer;
  own (self)->hover_value = value;
  ir_session_changed (self, IR_CHANGED_HOVER);
}

void
ir_session_set_hover (IrSession *self, IrNodeId node)
{
  ir_session_set_hover_value (self, node, 0);
}

IrValueId
ir_session_get_hover_value (IrSession *self)
{
  return own (self)->hover_value;
}

/**
 * ir_session_get_time_span:
 *
 * The part of the run that is looked at, in milliseconds from its start; 0, 0 is all of it.
 */
void
ir_session_get_time_span (IrSession *self, double *start_ms, double *end_ms)
{
  *start_ms = own (self)->start_ms;
  *end_ms = own (self)->end_ms;
}

/**
 * ir_session_get_time_span_nodes:
 *
 * Returns: (transfer none) (nullable): nodes that run in the part that is looked at; %NULL: it is all
 */
const GtkBitset *
ir_session_get_time_span_nodes (IrSession *self)
{
  return own (self)->span;
}

/**
 * ir_session_set_time_span:
 * @nodes: (nullable) (transfer none): those that run in it; copied
 */
void
ir_session_set_time_span (IrSession *self, double start_ms, double end_ms, const GtkBitset *nodes)
{
  if (own (self)->start_ms == start_ms && own (self)->end_ms == end_ms)
    return;
  own (self)->start_ms = start_ms;
  own (self)->end_ms = end_ms;
  g_clear_pointer (&own (self)->span, gtk_bitset_unref);
  if (nodes != NULL)
    own (self)->span = gtk_bitset_copy (nodes);
  ir_session_changed (self, IR_CHANGED_TIME_SPAN);
}

void
ir_session_forget_selection (IrSession *self)
{
  gtk_bitset_remove_all (own (self)->nodes);
  own (self)->node = 0;
  own (self)->value = 0;
  own (self)->fold = NULL;
  own (self)->hover = own (self)->hover_value = 0;
}

/* Ids of the steps that a re-run made anew may name other things now. */
void
ir_session_keep_live_selection (IrSession *self)
{
  const IrModel *model = ir_session_get_frame (self)->model;

  if (own (self)->node != 0 && ir_model_live_node (model, own (self)->node) == NULL)
    ir_session_forget_selection (self);
  else if (ir_model_live_value (model, own (self)->value) == NULL)
    own (self)->value = 0;
}

void
ir_session_forget_hover (IrSession *self)
{
  own (self)->hover = own (self)->hover_value = 0;
}
