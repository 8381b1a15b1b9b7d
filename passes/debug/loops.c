#include "config.h"

#include "passes/debug/loops.h"

#include "core/exec/run/iterations.h"
#include "core/ir/frames.h"
#include "core/ir/inline.h"
#include "core/op/infer-util.h"
#include "core/op/infer.h"
#include "core/op/op.h"
#include "core/op/trips.h"
#include "passes/rewrites/closure-loop.h"

#define MAX_DEPTH 64 /* of loops of functions */

static void find_loops (const IrGraph *graph, const char *around, guint depth, GArray *loops);

static void
facts_clear (gpointer data)
{
  IrLoopFacts *facts = data;

  g_free (facts->path);
  g_ptr_array_unref (facts->invariants);
}

/* -- what an iteration costs -- */

static void
add_cost (IrLoopFacts *facts, const IrNode *node, guint64 times)
{
  const guint64 flops = ir_mul_saturated (ir_cost_node_flops (node, &facts->partial), times);
  const guint64 bytes = ir_mul_saturated (ir_cost_node_bytes (node, &facts->partial), times);

  facts->flops = flops > G_MAXUINT64 - facts->flops ? G_MAXUINT64 : facts->flops + flops;
  facts->bytes = bytes > G_MAXUINT64 - facts->bytes ? G_MAXUINT64 : facts->bytes + bytes;
}

static guint64
times_inside (IrLoopFacts *facts, guint64 times, gint64 trips)
{
  facts->partial = facts->partial || trips < 0;
  return ir_mul_saturated (times, trips < 0 ? 1 : (guint64) trips);
}

static void
add_graph (IrLoopFacts *facts, const IrGraph *graph, guint64 times)
{
  guint n;
  IrNode *const *nodes = ir_graph_order (graph, &n);

  for (guint i = 0; i < n; i++)
    {
      const IrGraph *body = ir_node_repeated (nodes[i]);
      g_autoptr (GPtrArray) inner = ir_node_subgraphs (nodes[i]);
      const guint64 inside = body != NULL ? times_inside (facts, times, ir_node_trips (nodes[i]))
                                          : times;
      add_cost (facts, nodes[i], times);
      for (guint k = 0; k < inner->len; k++)
        add_graph (facts, inner->pdata[k], inside);
    }
}

/* -- the loops -- */

static char *
path_below (const char *around, const char *name)
{
  return *around != '\0' ? g_strconcat (around, "/", name, NULL) : g_strdup (name);
}

static void
add_body (const IrNode *node, const IrGraph *body, const char *around, guint depth, GArray *loops)
{
  g_autofree char *name = ir_loop_name (node);
  g_autoptr (GPtrArray) captures = ir_node_captures (node);
  IrLoopFacts facts = { .node = node->id,
                        .path = path_below (around, name),
                        .depth = depth + 1,
                        .trips = ir_node_trips (node),
                        .invariants = g_ptr_array_new () };

  for (guint i = 0; i < captures->len; i++)
    if (ir_value_constant (captures->pdata[i]) == NULL)
      g_ptr_array_add (facts.invariants, (gpointer) ((IrValue *) captures->pdata[i])->name);
  add_graph (&facts, body, 1);
  g_array_append_val (loops, facts);
  find_loops (body, facts.path, depth + 1, loops);
}

/* Whether @graph, or one around it, is @function */
static gboolean
is_within (const IrGraph *graph, const IrGraph *function)
{
  while (graph != NULL && graph != function)
    graph = graph->kind == IR_GRAPH_SUBGRAPH ? ir_graph_outer (graph) : NULL;
  return graph != NULL;
}

/* A loop of functions that call each other last; what its closures hold is there in each iteration. */
static void
add_calls (const IrNode *call, const char *around, guint depth, GArray *loops)
{
  const IrNode *partial = ir_closure_partial_of (ir_node_input (call, 0));
  IrClosureLoop loop;

  if (partial == NULL || depth >= MAX_DEPTH ||
      !ir_closure_find_loop (ir_node_named_function (partial), &loop) ||
      is_within (call->graph, loop.body) || is_within (call->graph, loop.header))
    return;
  g_autofree char *name = ir_loop_name (call);
  IrLoopFacts facts = { .node = call->id,
                        .path = path_below (around, name),
                        .depth = depth + 1,
                        .trips = -1,
                        .invariants = g_ptr_array_new () };

  for (guint i = 0; i < partial->n_inputs; i++)
    if (partial->inputs[i] != NULL && ir_value_constant (partial->inputs[i]) == NULL)
      g_ptr_array_add (facts.invariants, (gpointer) partial->inputs[i]->name);
  add_graph (&facts, loop.header, 1);
  add_graph (&facts, loop.body, 1);
  g_autofree char *path = g_strdup (facts.path);
  g_array_append_val (loops, facts);
  find_loops (loop.header, path, depth + 1, loops);
  find_loops (loop.body, path, depth + 1, loops);
}

/* How often a frame runs in one iteration of @of; 0: it lies elsewhere. */
static guint64
times_in_frame (IrLoopFacts *facts, const IrFrames *frames, guint frame, guint of)
{
  guint64 times = 1;

  for (; frame != of && frame != 0; frame = g_array_index (frames->frames, IrFrame, frame).parent)
    times = times_inside (facts, times, g_array_index (frames->frames, IrFrame, frame).trips);
  return frame == of ? times : 0;
}

static gboolean
is_inside (const IrFrames *frames, guint frame, guint of)
{
  while (frame != of && frame != 0)
    frame = g_array_index (frames->frames, IrFrame, frame).parent;
  return frame == of;
}

/* @paths: (inout): by frame, those around first */
static void
add_frame (const IrFrames *frames, guint index, GPtrArray *paths, guint depth, GArray *loops)
{
  const IrFrame *frame = &g_array_index (frames->frames, IrFrame, index);
  IrLoopFacts facts = { .node = frame->loop_cond,
                        .path = path_below (paths->pdata[frame->parent], frame->name),
                        .depth = depth + frame->depth,
                        .trips = frame->trips,
                        .invariants = g_ptr_array_new () };
  guint n;
  IrNode *const *nodes = ir_graph_order (frames->graph, &n);

  g_ptr_array_add (paths, g_strdup (facts.path));
  for (guint i = 0; i < frame->invariants->len; i++)
    {
      const IrNode *enter = ir_model_live_node (frames->graph->model,
                                                g_array_index (frame->invariants, IrNodeId, i));
      if (enter != NULL && ir_node_input (enter, 0) != NULL)
        g_ptr_array_add (facts.invariants, (gpointer) enter->inputs[0]->name);
    }
  for (guint i = 0; i < n; i++)
    if (is_inside (frames, frames->frame_of[nodes[i]->id], index))
      add_cost (&facts, nodes[i],
                times_in_frame (&facts, frames, frames->frame_of[nodes[i]->id], index));
  g_array_append_val (loops, facts);
}

static void
find_loops (const IrGraph *graph, const char *around, guint depth, GArray *loops)
{
  g_autoptr (IrFrames) frames = ir_graph_has_tokens (graph) ? ir_frames_new (graph) : NULL;
  g_autoptr (GPtrArray) paths = g_ptr_array_new_with_free_func (g_free);
  guint n;
  IrNode *const *nodes = ir_graph_order (graph, &n);

  g_ptr_array_add (paths, g_strdup (around));
  for (guint i = 1; frames != NULL && i < frames->frames->len; i++)
    add_frame (frames, i, paths, depth, loops);
  for (guint i = 0; i < n; i++)
    {
      const guint frame = frames != NULL ? frames->frame_of[nodes[i]->id] : 0;
      const char *path = paths->pdata[frame];
      const guint below = depth +
                          (frame != 0 ? g_array_index (frames->frames, IrFrame, frame).depth : 0);
      const IrGraph *body = ir_node_repeated (nodes[i]);
      g_autoptr (GPtrArray) inner = ir_node_subgraphs (nodes[i]);
      if (body != NULL)
        add_body (nodes[i], body, path, below, loops);
      if (ir_op_is (nodes[i], IR_OP_CLOSURE_CALL))
        add_calls (nodes[i], path, below, loops);
      for (guint k = 0; body == NULL && k < inner->len; k++)
        find_loops (inner->pdata[k], path, below, loops);
    }
}

/**
 * ir_loops:
 * @model: a model
 *
 * Lists the loops of the main graph: bodies, frames of tokens, and functions that call each other last. Trips are proved by a constant limit and a
 * condition that stays true, by the length of what a Scan is cut from, and by induction over the counter of a
 * frame.
 *
 * Returns: (transfer full) (element-type IrLoopFacts): those around before those inside
 */
GArray *
ir_loops (const IrModel *model)
{
  GArray *loops = g_array_new (FALSE, FALSE, sizeof (IrLoopFacts));

  g_array_set_clear_func (loops, facts_clear);
  find_loops (model->main, "", 0, loops);
  return loops;
}
