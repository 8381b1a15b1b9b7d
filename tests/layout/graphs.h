#pragma once

/* Seeded graphs for the tests and the bench of the layout. */

#include "core/layout/layout.h"

typedef struct
{
  GArray *boxes;  /* of IrLayoutBox */
  GArray *edges;  /* of IrLayoutEdge */
  GArray *groups; /* of IrLayoutGroup */
} TestGraph;

TestGraph *test_graph_new (void);
void test_graph_free (TestGraph *graph);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TestGraph, test_graph_free)

gint32 test_graph_box (
    TestGraph *graph, guint64 key, double width, double height, guint n_in, guint n_out);
void test_graph_edge (TestGraph *graph, gint32 from, gint32 from_port, gint32 to, gint32 to_port);
gint32 test_graph_group (TestGraph *graph, guint64 key, gint32 parent);
IrLayoutInput test_graph_input (const TestGraph *graph);

TestGraph *test_graph_chain (guint n);
TestGraph *test_graph_layered (guint n, double density, guint32 seed);
TestGraph *test_graph_transformer (guint n);
TestGraph *test_graph_long_skips (guint n, guint n_skips, guint32 seed);
TestGraph *test_graph_random (guint n, guint m, gboolean cyclic, guint n_groups, guint32 seed);
