/* The graph's search: all nodes and inputs of the frame that a query names, drawn or not. */
#pragma once

#include "core/query/query.h"
#include "views/session/frame.h"

#include <gio/gio.h>

#define IR_TYPE_FOUND (ir_found_get_type ())
G_DECLARE_FINAL_TYPE (IrFound, ir_found, IR, FOUND, GObject)

struct _IrFound
{
  GObject parent_instance;

  IrNodeId node;   /* as it is selected, or 0 */
  IrValueId value; /* of inputs */
  char *title;     /* the operator */
  char *name;
  char *scope;
  char *shape;
};

/* (transfer full) of IrFound; NULL with @error: the text asks nothing that can be asked */
GListStore *ir_search_frame (IrSession *session,
                             const IrFrame *frame,
                             const char *text,
                             GError **error);
