/* Names of values in iterations, as users write them:
 *
 *     outer@3/inner@7/NAME    one value of one iteration of a loop in a loop
 *     outer@3/inner/NAME      of all iterations of inner in iteration 3 of outer
 *
 * Nodes are named likewise, and loops by themselves: outer@3/inner.
 *
 * What a function computes that closures call has the loops around the call in front of its own.
 *
 * A loop is called by its name, that of its first output where it has none, or #ID; a frame of tokens by
 * its frame_name. Names that exist are matched longest first; \/ and \@ stand for themselves. */
#pragma once

#include "core/ir/model.h"

/* Cleared with ir_iteration_name_clear(). */
typedef struct
{
  const IrValue *value; /* (nullable) a node is named */
  const IrNode *node;   /* (nullable) likewise */
  char *frame;          /* "outer@3/inner"; iterations that were not given are * */
  gint64 iteration;     /* of the innermost; -1: all */
  IrNodeId loop;        /* the outermost, if it is a node; 0: a frame of tokens */
  gint64 outermost;     /* iteration of that; -1: all */
} IrIterationName;
void ir_iteration_name_clear (IrIterationName *name);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (IrIterationName, ir_iteration_name_clear)
gboolean ir_iteration_name_parse (const IrModel *model,
                                  const char *text,
                                  IrIterationName *name,
                                  GError **error);
/* Likewise of a node, by its name or that of a value that it gives. */
gboolean ir_iteration_name_parse_node (const IrModel *model,
                                       const char *text,
                                       IrIterationName *name,
                                       GError **error);
/* Likewise of a loop: "outer@3/inner", or its name alone where it is in any iteration of what is around. */
gboolean ir_iteration_name_parse_loop (const IrModel *model,
                                       const char *text,
                                       IrIterationName *name,
                                       GError **error);
/* Whether @path, of a run, is @frame, which may have * for iterations. */
gboolean ir_iteration_frame_is (const char *frame, const char *path);
GPtrArray *ir_model_loop_names (const IrModel *model); /* (transfer full) of char *: each once */
gboolean ir_value_is_called (const IrValue *value);    /* in a function that closures name */
char *ir_value_loop (const IrValue *value);  /* (transfer full) (nullable) the innermost alone */
char *ir_value_loops (const IrValue *value); /* (transfer full) (nullable) "outer/inner" */
