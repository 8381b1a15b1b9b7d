/* Graphviz: reading DOT by cgraph, and dot's layout. Both run in a child process with limits on
 * time and memory, since a DOT file of 50 kB can cost cgraph gigabytes. Only this folder includes
 * Graphviz's headers. */
#pragma once

#include "core/ir/problem.h"
#include <gio/gio.h>

typedef struct
{
  gsize max_memory_bytes; /* beyond what the process has; 0: 512 MiB */
  guint max_seconds;      /* of CPU; twice as much by the clock; 0: 10 */
  gsize max_output_bytes; /* of the child's answer; 0: 64 MiB */
} IrGraphvizLimits;

/* -- DOT as a model -- */
IrModel *ir_dot_read (const char *text,
                      gssize length,
                      const IrGraphvizLimits *limits, /* (nullable) */
                      GPtrArray *problems,
                      GCancellable *cancellable,
                      GError **error);

/* -- dot's layout, for small graphs -- */
typedef struct
{
  double width, height; /* px, given */
  double x, y;          /* px, result: the centre; y goes down */
} IrGraphvizBox;

typedef struct
{
  guint from, to; /* indices of boxes, given */
  guint n_points; /* result: 1 + 3 k points of a Bézier spline */
  double *points; /* result: x, y pairs in px; g_free() */
} IrGraphvizEdge;

gboolean ir_graphviz_layout (IrGraphvizBox *boxes,
                             guint n_boxes,
                             IrGraphvizEdge *edges,
                             guint n_edges,
                             const IrGraphvizLimits *limits, /* (nullable) */
                             GCancellable *cancellable,
                             GError **error);
