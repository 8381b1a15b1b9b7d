/* What is known of a graph that tokens move through: who hands a token to whom, and how many a node waits
 * for in an iteration. */
#include "config.h"

#include "core/exec/flow/token-private.h"

/* Constants, and values of graphs around, are no tokens: whoever reads them finds them there. */
gboolean
ir_token_is (const IrGraph *graph, const IrValue *value)
{
  return value != NULL && value->graph == graph && value->producer != NULL;
}

static void
note_data (IrTokenNode *node, const IrGraph *graph)
{
  g_autoptr (GPtrArray) captures = ir_node_captures (node->node);
  const IrNode *own = node->node;

  node->data = g_new (const IrValue *, own->n_inputs + captures->len + 1);
  for (guint i = 0; i < own->n_inputs; i++)
    if (node->rule == IR_TOKENS_MERGE || ir_token_is (graph, own->inputs[i]))
      {
        node->has_fixed |= !ir_token_is (graph, own->inputs[i]);
        node->data[node->n_data++] = own->inputs[i];
      }
  for (guint i = 0; i < captures->len; i++)
    if (ir_token_is (graph, captures->pdata[i]))
      node->data[node->n_data++] = captures->pdata[i];
}

static guint
count_controls (const IrNode *node)
{
  guint n = 0;

  for (guint i = 0; node->controls != NULL && i < node->controls->n; i++)
    {
      const IrNode *before = ir_model_live_node (node->graph->model, node->controls->ids[i]);
      n += before != NULL && before->graph == node->graph;
    }
  return n;
}

static IrTokenNode *
node_of (const IrTokenProgram *program, const IrNode *node)
{
  guint index = GPOINTER_TO_UINT (g_hash_table_lookup (program->index, node));

  return index > 0 ? &program->nodes[index - 1] : NULL;
}

static void
add_edge (GArray *edges, guint from_slot, guint to, guint to_slot)
{
  const IrTokenEdge edge = { from_slot, to, to_slot, FALSE };

  g_array_append_val (edges, edge);
}

static void
mark_last (GArray *edges)
{
  for (guint i = 0; i < edges->len; i++)
    {
      IrTokenEdge *edge = &g_array_index (edges, IrTokenEdge, i);
      edge->is_last = edge->from_slot != IR_TOKEN_CONTROL && edge->to != IR_TOKEN_OUTPUT;
      for (guint k = i + 1; edge->is_last && k < edges->len; k++)
        edge->is_last = g_array_index (edges, IrTokenEdge, k).from_slot != edge->from_slot;
    }
}

/* Each node hands its tokens on in the order of those that wait for them. */
static void
connect_nodes (IrTokenProgram *program)
{
  g_autoptr (GPtrArray) lists = g_ptr_array_new_with_free_func ((GDestroyNotify) g_array_unref);

  for (guint i = 0; i < program->n_nodes; i++)
    g_ptr_array_add (lists, g_array_new (FALSE, FALSE, sizeof (IrTokenEdge)));
  for (guint i = 0; i < program->n_nodes; i++)
    {
      const IrTokenNode *to = &program->nodes[i];
      const IrIdList *controls = to->node->controls;
      for (guint k = 0; k < to->n_data; k++)
        {
          const IrTokenNode *from = ir_token_is (program->graph, to->data[k])
                                        ? node_of (program, to->data[k]->producer)
                                        : NULL;
          if (from != NULL)
            add_edge (lists->pdata[from - program->nodes], to->data[k]->output_slot, i, k);
        }
      for (guint k = 0; controls != NULL && k < controls->n; k++)
        {
          const IrNode *before = ir_model_live_node (program->graph->model, controls->ids[k]);
          const IrTokenNode *from = before != NULL ? node_of (program, before) : NULL;
          if (from != NULL)
            add_edge (lists->pdata[from - program->nodes], IR_TOKEN_CONTROL, i, IR_TOKEN_CONTROL);
        }
    }
  for (guint i = 0; i < ir_graph_n_outputs (program->graph); i++)
    {
      const IrValue *value = ir_graph_output (program->graph, i);
      const IrTokenNode *from = ir_token_is (program->graph, value)
                                    ? node_of (program, value->producer)
                                    : NULL;
      if (from != NULL)
        add_edge (lists->pdata[from - program->nodes], value->output_slot, IR_TOKEN_OUTPUT, i);
    }
  for (guint i = 0; i < program->n_nodes; i++)
    {
      GArray *list = lists->pdata[i];
      mark_last (list);
      program->nodes[i].n_edges = list->len;
      program->nodes[i].edges = g_memdup2 (list->data, sizeof (IrTokenEdge) * list->len);
    }
}

static void
place_node (IrTokenProgram *program, guint index)
{
  IrTokenNode *node = &program->nodes[index];
  IrTokenFrame *frame = &program->by_frame[node->frame];

  node->place = frame->n_nodes++;
  node->first_data = frame->n_data;
  frame->n_data += node->n_data;
  g_array_append_val (frame->nodes, index);
  if (node->has_fixed)
    g_array_append_val (frame->fixed, index);
  if (node->rule == IR_TOKENS_ENTER)
    program->by_frame[node->child].n_enters++;
  if (node->n_data == 0 && node->n_control == 0)
    g_array_append_val (program->sources, index);
}

/* (transfer full) @graph: without broken frames */
IrTokenProgram *
ir_token_program_new (const IrGraph *graph)
{
  IrTokenProgram *program = g_new0 (IrTokenProgram, 1);
  guint n;
  IrNode *const *nodes = ir_graph_order (graph, &n);

  g_atomic_ref_count_init (&program->ref_count);
  program->graph = graph;
  program->frames = ir_frames_new (graph);
  program->n_nodes = n;
  program->nodes = g_new0 (IrTokenNode, n + 1);
  program->n_frames = program->frames->frames->len;
  program->by_frame = g_new0 (IrTokenFrame, program->n_frames);
  program->sources = g_array_new (FALSE, FALSE, sizeof (guint32));
  program->index = g_hash_table_new (NULL, NULL);
  for (guint i = 0; i < program->n_frames; i++)
    {
      program->by_frame[i].nodes = g_array_new (FALSE, FALSE, sizeof (guint32));
      program->by_frame[i].fixed = g_array_new (FALSE, FALSE, sizeof (guint32));
      program->by_frame[i].parallel = g_array_index (program->frames->frames, IrFrame, i)
                                          .parallel_iterations;
    }
  for (guint i = 0; i < n; i++)
    {
      IrTokenNode *node = &program->nodes[i];
      node->node = nodes[i];
      node->rule = ir_node_tokens (nodes[i]);
      node->frame = program->frames->frame_of[nodes[i]->id];
      node->child = program->frames->child_of[nodes[i]->id];
      node->is_constant = node->rule == IR_TOKENS_ENTER &&
                          ir_node_attr_int (nodes[i], "is_constant", 0) != 0;
      note_data (node, graph);
      node->n_control = count_controls (nodes[i]);
      g_hash_table_insert (program->index, nodes[i], GUINT_TO_POINTER (i + 1));
    }
  for (guint i = 0; i < n; i++)
    place_node (program, i);
  connect_nodes (program);
  return program;
}

/* (transfer full) */
IrTokenProgram *
ir_token_program_ref (IrTokenProgram *program)
{
  g_atomic_ref_count_inc (&program->ref_count);
  return program;
}

/* (nullable) @program */
void
ir_token_program_unref (IrTokenProgram *program)
{
  if (program == NULL || !g_atomic_ref_count_dec (&program->ref_count))
    return;
  for (guint i = 0; i < program->n_nodes; i++)
    {
      g_free (program->nodes[i].data);
      g_free (program->nodes[i].edges);
    }
  for (guint i = 0; i < program->n_frames; i++)
    {
      g_array_unref (program->by_frame[i].nodes);
      g_array_unref (program->by_frame[i].fixed);
    }
  g_free (program->nodes);
  g_free (program->by_frame);
  g_array_unref (program->sources);
  g_hash_table_unref (program->index);
  ir_frames_free (program->frames);
  g_free (program);
}
