/* What is selected, what the pointer is on, and which part of the run is looked at. */
#pragma once

#include "core/ir/model.h"
#include "views/session/session.h"

#include <gtk/gtk.h>

const GtkBitset *ir_session_get_selection (IrSession *self);  /* node ids */
IrNodeId ir_session_get_selected_node (IrSession *self);      /* the last one selected; 0 = none */
IrValueId ir_session_get_selected_value (IrSession *self);    /* 0 = none */
void ir_session_select_node (IrSession *self, IrNodeId node); /* 0 = nothing; clears the value */
void ir_session_toggle_node (IrSession *self, IrNodeId node); /* adds or takes away */
void ir_session_set_selection (IrSession *self, const GtkBitset *nodes);
void ir_session_select_value (IrSession *self, IrValueId value); /* keeps the nodes */
void ir_session_select_fold (IrSession *self, const char *fold); /* (nullable) and no node */
const char *ir_session_get_selected_fold (IrSession *self);      /* (nullable) key of a box */
IrNodeId ir_session_get_hover (IrSession *self);
void ir_session_set_hover (IrSession *self, IrNodeId node);
IrValueId ir_session_get_hover_value (IrSession *self); /* 0 = none */
void ir_session_set_hover_value (IrSession *self, IrNodeId producer, IrValueId value);
void ir_session_get_time_span (IrSession *self, double *start_ms, double *end_ms); /* 0, 0 = all */
/* @nodes: (nullable): those that run in it */
void ir_session_set_time_span (IrSession *self,
                               double start_ms,
                               double end_ms,
                               const GtkBitset *nodes);
const GtkBitset *ir_session_get_time_span_nodes (IrSession *self); /* (nullable) NULL: all */
