/* CUDA graphs, as IrMemory has them. */
#pragma once

#include "core/exec/kernel/memory.h"

gboolean gpu_graph_begin (GError **error);
gboolean gpu_graph_end (IrMemoryGraph *graph, GError **error); /* @graph: (nullable) */
gboolean gpu_graph_launch (const IrMemoryGraph *graph, GError **error);
void gpu_graph_free (IrMemoryGraph *graph);
