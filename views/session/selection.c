/* What is selected, what the pointer is on, and which part of the run is looked at. */
#include "config.h"

#include "views/picture.h"
#include "views/session/session-private.h"

const GtkBitset *
ir_session_get_selection (IrSession *self)
{
  return self->selection;
}

IrNodeId
ir_session_get_selected_node (IrSession *self)
{
  return self->selected_node;
}

IrValueId
ir_session_get_selected_value (IrSession *self)
{
  return self->selected_value;
}

#define MAX_REVEALED 60 /* nodes; of more that are selected at once, folds stay closed */

/* What is selected is drawn: scopes that were closed by themselves open for it. */
static void
reveal_selection (IrSession *self)
{
  gboolean any = FALSE;
  GtkBitsetIter iter;
  guint id;

  if (self->frame == NULL || gtk_bitset_get_size (self->selection) > MAX_REVEALED)
    return;
  for (gboolean more = gtk_bitset_iter_init_first (&iter, self->selection, &id); more;
       more = gtk_bitset_iter_next (&iter, &id))
    {
      const IrNode *node = ir_frame_node (self->frame, id);

      if (node != NULL && ir_frame_find_box (self->frame, id) < 0)
        any |= ir_picture_reveal (self->automatic, self->frame->diff, node);
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
  if (self->selected_node == node && self->selected_value == 0 &&
      gtk_bitset_get_size (self->selection) == (node != 0))
    return;
  gtk_bitset_remove_all (self->selection);
  if (node != 0)
    gtk_bitset_add (self->selection, node);
  self->selected_node = node;
  self->selected_value = 0;
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
  if (gtk_bitset_contains (self->selection, node))
    {
      gtk_bitset_remove (self->selection, node);
      if (self->selected_node == node)
        self->selected_node = gtk_bitset_is_empty (self->selection)
                                  ? 0
                                  : gtk_bitset_get_maximum (self->selection);
    }
  else
    {
      gtk_bitset_add (self->selection, node);
      self->selected_node = node;
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
  if (gtk_bitset_equals (self->selection, nodes))
    return;
  gtk_bitset_unref (self->selection);
  self->selection = gtk_bitset_copy (nodes);
  if (!gtk_bitset_contains (nodes, self->selected_node))
    self->selected_node = gtk_bitset_is_empty (nodes) ? 0 : gtk_bitset_get_minimum (nodes);
  ir_session_changed (self, IR_CHANGED_SELECTION);
  reveal_selection (self);
}

void
ir_session_select_value (IrSession *self, IrValueId value)
{
  if (self->selected_value == value)
    return;
  self->selected_value = value;
  ir_session_changed (self, IR_CHANGED_SELECTION);
}

IrNodeId
ir_session_get_hover (IrSession *self)
{
  return self->hover;
}

void
ir_session_set_hover (IrSession *self, IrNodeId node)
{
  if (self->hover == node)
    return;
  self->hover = node;
  ir_session_changed (self, IR_CHANGED_HOVER);
}

/**
 * ir_session_get_time_span:
 *
 * The part of the run that is looked at, in milliseconds from its start; 0, 0 is all of it.
 */
void
ir_session_get_time_span (IrSession *self, double *start_ms, double *end_ms)
{
  *start_ms = self->span_start_ms;
  *end_ms = self->span_end_ms;
}

void
ir_session_set_time_span (IrSession *self, double start_ms, double end_ms)
{
  if (self->span_start_ms == start_ms && self->span_end_ms == end_ms)
    return;
  self->span_start_ms = start_ms;
  self->span_end_ms = end_ms;
  ir_session_changed (self, IR_CHANGED_TIME_SPAN);
}

void
ir_session_forget_selection (IrSession *self)
{
  gtk_bitset_remove_all (self->selection);
  self->selected_node = 0;
  self->selected_value = 0;
  self->hover = 0;
}

/* Ids of the steps that a re-run made anew may name other things now: keep what still is there. */
void
ir_session_keep_live_selection (IrSession *self)
{
  if (self->selected_node != 0 &&
      ir_model_live_node (self->frame->model, self->selected_node) == NULL)
    ir_session_forget_selection (self);
  else if (ir_model_live_value (self->frame->model, self->selected_value) == NULL)
    self->selected_value = 0;
}
