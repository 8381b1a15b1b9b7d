/* Calls of closures. What a function computes lies where its values are; a function that is entered again while
 * it runs puts what it has aside first, so all that grows with the depth of a recursion is on the heap. Calls from
 * the nodes of a function, and from branches of an If there, are done by one loop (run_frames()), and one whose
 * results are those of its function takes that function's place. Only a call from the body of another
 * construct begins a loop of its own. */
#include "config.h"

#include "core/exec/flow/subgraph-private.h"
#include "core/ir/frames.h"
#include "core/ir/inline.h"
#include "core/op/op.h"

#include <string.h>

#define MAX_CALLS 200000 /* that wait for each other */

/* What is known of a function, or of a branch in one. */
typedef struct
{
  const IrGraph *graph;
  GPtrArray
      *nodes; /* of IrNode: in order; a call whose results are those of the graph comes last */
  gboolean has_tail; /* there is such a call, or an If in its place */
  GPtrArray *unread; /* of IrValue: nobody reads them behind the node of the same place */
  GArray *first;     /* of guint: of @unread, by node, and where they end */
  GPtrArray *values; /* of IrValue: all of its own, those of graphs inside too */
  guint n_active;
} Program;

typedef struct _IrCalls
{
  GHashTable *programs; /* IrGraph -> Program */
  GHashTable *bodies;   /* key of a function -> IrGraph */
  GHashTable *calling;  /* IrGraph -> 1 + whether something in it calls a closure */
  GHashTable *loops;    /* IrGraph -> 1 + whether its last call may come back to it */
  guint depth;
} IrCalls;

typedef struct
{
  const IrValue *value;
  IrTensor *tensor;
} Saved;

typedef struct
{
  Program *program;
  guint next;            /* node */
  const IrNode *node;    /* that waits for it: a Call, or an If whose branch it is */
  guint n_saved;         /* of the run's @saved, before its own */
  gboolean taken;        /* of a branch */
  const IrGraph *header; /* (nullable) the function to which last calls come back: a loop */
  gint64 round;          /* how often they did */
  IrFrameAt *at;         /* (nullable) (owned) likewise: where its values are */
} Frame;

/* From a call to where it returns */
typedef struct
{
  IrRunState *state;
  GArray *frames; /* of Frame */
  GArray *saved;  /* of Saved */
} Calling;

/* -- what is known before -- */

static gboolean calls_something (IrCalls *calls, const IrGraph *graph);

static gboolean
is_call (const IrNode *node)
{
  return ir_op_is (node, IR_OP_CLOSURE_CALL);
}

/* An If one of whose branches calls something. */
static gboolean
is_calling_if (IrCalls *calls, const IrNode *node)
{
  static const char *const names[] = { "then_branch", "else_branch" };
  gboolean is = FALSE;

  for (guint i = 0; ir_op_is (node, IR_OP_IF) && i < G_N_ELEMENTS (names); i++)
    {
      const IrGraph *branch = ir_node_attr_graph (node, names[i]);
      is = is || (branch != NULL && calls_something (calls, branch));
    }
  return is;
}

static gboolean
calls_something (IrCalls *calls, const IrGraph *graph)
{
  guint known = GPOINTER_TO_UINT (g_hash_table_lookup (calls->calling, graph)), n = 0;
  IrNode *const *nodes = known == 0 ? ir_graph_order (graph, &n) : NULL;
  gboolean is = known == 2;

  for (guint i = 0; i < n && !is; i++)
    is = is_call (nodes[i]) || is_calling_if (calls, nodes[i]);
  g_hash_table_insert (calls->calling, (gpointer) graph, GUINT_TO_POINTER (1 + is));
  return is;
}

/* Whether the results of @node are those of @graph, and read by nobody else. */
static gboolean
is_result (const IrGraph *graph, const IrNode *node)
{
  if (node->n_outputs != ir_graph_n_outputs (graph))
    return FALSE;
  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] == NULL || node->outputs[i] != ir_graph_output (graph, i) ||
        node->outputs[i]->n_uses != 1)
      return FALSE;
  return node->n_outputs > 0;
}

static void
order_nodes (IrCalls *calls, Program *program)
{
  guint n;
  IrNode *const *nodes = ir_graph_order (program->graph, &n);
  IrNode *tail = NULL;

  for (guint i = 0; i < n; i++)
    if ((is_call (nodes[i]) || is_calling_if (calls, nodes[i])) &&
        is_result (program->graph, nodes[i]) && !ir_node_has_control_uses (nodes[i]))
      tail = nodes[i];
    else
      g_ptr_array_add (program->nodes, nodes[i]);
  program->has_tail = tail != NULL;
  if (tail != NULL)
    g_ptr_array_add (program->nodes, tail);
}

static void
note_use (const IrGraph *graph, const IrValue *value, guint node, GHashTable *last)
{
  if (value != NULL && value->graph == graph && value->initializer == NULL)
    g_hash_table_insert (last, (gpointer) value, GUINT_TO_POINTER (node + 1));
}

/* @last: value -> 1 + the node that reads it last */
static void
group_unread (Program *program, GHashTable *last)
{
  const guint n_values = program->values->len;
  g_autofree guint *at = g_new (guint, n_values);
  g_autofree guint *next = g_new0 (guint, program->nodes->len + 2);

  for (guint i = 0; i < n_values; i++)
    {
      at[i] = GPOINTER_TO_UINT (g_hash_table_lookup (last, program->values->pdata[i]));
      if (at[i] > 0)
        next[at[i]]++;
    }
  for (guint i = 0; i <= program->nodes->len; i++)
    {
      next[i + 1] += next[i];
      g_array_append_val (program->first, next[i]);
    }
  g_ptr_array_set_size (program->unread, (int) next[program->nodes->len]);
  for (guint i = 0; i < n_values; i++)
    if (at[i] > 0)
      program->unread->pdata[next[at[i] - 1]++] = program->values->pdata[i];
}

static void
find_unread (Program *program)
{
  g_autoptr (GHashTable) last = g_hash_table_new (NULL, NULL);
  const IrGraph *graph = program->graph;

  for (guint i = 0; i < program->nodes->len; i++)
    {
      const IrNode *node = program->nodes->pdata[i];
      g_autoptr (GPtrArray) captures = ir_node_captures (node);
      for (guint k = 0; k < node->n_outputs; k++)
        note_use (graph, node->outputs[k], i, last);
      for (guint k = 0; k < node->n_inputs; k++)
        note_use (graph, node->inputs[k], i, last);
      for (guint k = 0; k < captures->len; k++)
        note_use (graph, captures->pdata[k], i, last);
    }
  for (guint i = 0; i < ir_graph_n_outputs (graph); i++)
    g_hash_table_remove (last, ir_graph_output (graph, i));
  group_unread (program, last);
}

/* Of @graph and of graphs inside */
static void
collect_values (const IrGraph *graph, GPtrArray *all)
{
  guint n_values, n_nodes;
  IrValue *const *values = ir_graph_values (graph, &n_values);
  IrNode *const *nodes = ir_graph_order (graph, &n_nodes);

  for (guint i = 0; i < n_values; i++)
    if (values[i]->initializer == NULL)
      g_ptr_array_add (all, values[i]);
  for (guint i = 0; i < n_nodes; i++)
    {
      g_autoptr (GPtrArray) graphs = ir_node_subgraphs (nodes[i]);
      for (guint k = 0; k < graphs->len; k++)
        collect_values (graphs->pdata[k], all);
    }
}

static void
program_free (gpointer data)
{
  Program *program = data;

  g_ptr_array_unref (program->nodes);
  g_ptr_array_unref (program->unread);
  g_ptr_array_unref (program->values);
  g_array_unref (program->first);
  g_free (program);
}

static Program *
program_of (IrCalls *calls, const IrGraph *graph)
{
  Program *program = g_hash_table_lookup (calls->programs, graph);

  if (program != NULL)
    return program;
  program = g_new0 (Program, 1);
  program->graph = graph;
  program->nodes = g_ptr_array_new ();
  program->unread = g_ptr_array_new ();
  program->values = g_ptr_array_new ();
  program->first = g_array_new (FALSE, FALSE, sizeof (guint));
  order_nodes (calls, program);
  collect_values (graph, program->values);
  find_unread (program);
  g_hash_table_insert (calls->programs, (gpointer) graph, program);
  return program;
}

static void
calls_free (gpointer data)
{
  IrCalls *calls = data;

  g_hash_table_unref (calls->programs);
  g_hash_table_unref (calls->bodies);
  g_hash_table_unref (calls->calling);
  g_hash_table_unref (calls->loops);
  g_free (calls);
}

static IrCalls *
calls_of (IrRunState *state)
{
  const IrModel *model = state->prepared->model;
  IrCalls *calls = state->calls;

  if (calls != NULL)
    return calls;
  calls = state->calls = g_new0 (IrCalls, 1);
  state->free_calls = calls_free;
  calls->programs = g_hash_table_new_full (NULL, NULL, NULL, program_free);
  calls->bodies = g_hash_table_new (g_str_hash, g_str_equal);
  calls->calling = g_hash_table_new (NULL, NULL);
  calls->loops = g_hash_table_new (NULL, NULL);
  for (guint i = 1; i < model->graphs->len; i++)
    {
      const IrGraph *graph = model->graphs->pdata[i];
      const IrNode *owner = graph->state == IR_STATE_LIVE && graph->owner != 0
                                ? ir_model_live_node (model, graph->owner)
                                : NULL;
      if (owner != NULL && ir_op_is (owner, IR_OP_FUNCTIONS))
        g_hash_table_insert (calls->bodies, (gpointer) graph->name, (gpointer) graph);
    }
  return calls;
}

/* -- loops -- */

/* Bodies of the functions that closures in @graph, and in graphs inside, name; each once. */
static void
add_named (IrCalls *calls, const IrGraph *graph, GPtrArray *bodies, GHashTable *seen)
{
  guint n;
  IrNode *const *nodes = ir_graph_order (graph, &n);

  for (guint i = 0; i < n; i++)
    {
      g_autoptr (GPtrArray) graphs = ir_node_subgraphs (nodes[i]);
      const IrGraph *function = ir_op_is (nodes[i], IR_OP_PARTIAL)
                                    ? ir_node_named_function (nodes[i])
                                    : NULL;
      g_autofree char *key = function != NULL ? ir_function_key (function->function) : NULL;
      gpointer body = key != NULL ? g_hash_table_lookup (calls->bodies, key) : NULL;
      if (body != NULL && g_hash_table_add (seen, body))
        g_ptr_array_add (bodies, body);
      for (guint k = 0; k < graphs->len; k++)
        add_named (calls, graphs->pdata[k], bodies, seen);
    }
}

/* Whether a call is the last that @graph does, in a branch or by itself: not one whose results something is made of */
static gboolean
calls_last (IrCalls *calls, const IrGraph *graph)
{
  static const char *const names[] = { "then_branch", "else_branch" };
  const Program *program = program_of (calls, graph);
  const IrNode *tail = program->has_tail ? program->nodes->pdata[program->nodes->len - 1] : NULL;
  gboolean does = tail != NULL && is_call (tail);

  for (guint i = 0; tail != NULL && !does && i < G_N_ELEMENTS (names); i++)
    {
      const IrGraph *branch = ir_node_attr_graph (tail, names[i]);
      does = branch != NULL && calls_last (calls, branch);
    }
  return does;
}

/* Whether functions that call something last lead from @body to itself: tail calls, so nothing waits. */
static gboolean
is_loop (IrCalls *calls, const IrGraph *body)
{
  guint known = GPOINTER_TO_UINT (g_hash_table_lookup (calls->loops, body));
  g_autoptr (GPtrArray) stack = g_ptr_array_new ();
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);

  if (known == 0)
    g_ptr_array_add (stack, (gpointer) body);
  for (guint i = 0; i < stack->len && !g_hash_table_contains (seen, body); i++)
    if (calls_last (calls, stack->pdata[i]))
      add_named (calls, stack->pdata[i], stack, seen);
  if (known == 0)
    known = 1 + g_hash_table_contains (seen, body);
  g_hash_table_insert (calls->loops, (gpointer) body, GUINT_TO_POINTER (known));
  return known == 2;
}

/* Whether somebody looks on, or values of iterations are kept */
static gboolean
minds_loops (const IrRunState *state)
{
  return (state->observer != NULL && state->observer->flow != NULL) ||
         state->run->iterations != NULL;
}

/* The loop of @frame comes to its next iteration, or begins with @body, of which @given are the inputs. */
static gboolean
go_round (Calling *x, Frame *frame, const IrGraph *body, GPtrArray *given, GError **error)
{
  IrRunState *state = x->state;

  if (!minds_loops (state))
    return TRUE;
  if (frame->header == body)
    {
      if (!ir_iterations_end (state, frame->at, error))
        return FALSE;
      frame->round++;
      state->frame = frame->at->outer;
    }
  else if (frame->header == NULL && is_loop (state->calls, body))
    {
      frame->header = body;
      frame->round = ir_iterations_first (state, frame->node, given);
      frame->at = g_new (IrFrameAt, 1);
      *frame->at = (IrFrameAt){ state->frame, frame->node, NULL, NULL, 0 };
    }
  else
    return TRUE;
  if (state->run->iterations != NULL &&
      !ir_iterations_begin (state, frame->node, frame->round, (IrTensor *const *) given->pdata,
                            given->len, error))
    return FALSE;
  frame->at->iteration = frame->round;
  state->frame = frame->at;
  ir_run_tell_flow (state, frame->round > 0 ? IR_FLOW_NEXT : IR_FLOW_ENTERED, frame->node,
                    frame->round, -1);
  return TRUE;
}

/* @frame ends; others that take its place keep where it is. */
static void
leave_loop (Calling *x, Frame *frame)
{
  if (frame->at == NULL)
    return;
  x->state->frame = frame->at->outer;
  g_clear_pointer (&frame->at, g_free);
}

/* -- types -- */

/* What is given for, or comes out of, @value of a function has to be what that declares of it. @how: "argument" */
static gboolean
check_type (const IrNode *node,
            const char *function,
            const char *how,
            guint index,
            const IrValue *value,
            const IrTensor *tensor,
            GError **error)
{
  IrContext *context = node->graph->model->context;
  const IrType *needed = ir_function_declared_type (value);

  if (needed == NULL)
    return TRUE;
  const IrType *found = ir_tensor_type (tensor, context);
  if (ir_type_merge (context, needed, found) != NULL)
    return TRUE;
  g_autofree char *is = ir_type_to_string (context, found);
  g_autofree char *wants = ir_type_to_string (context, needed);
  g_autofree char *message = g_strdup_printf (
      "%s: %s %u (%s) is %s, declared is %s; cast or reshape it, or change what the function declares",
      function, how, index, value->name, is, wants);
  return ir_subgraph_fail (node, error, IR_EXEC_ERROR_KERNEL, message);
}

/* (nullable) The graph that the closure of @node names, which all of @given fit */
static const IrGraph *
find_body (IrRunState *state, const IrNode *node, GPtrArray *given, GError **error)
{
  IrTensor *closure = ir_subgraph_input (state, node, 0);
  const char *key = closure != NULL ? ir_tensor_closure_function (closure) : NULL;
  const IrGraph *body = key != NULL ? g_hash_table_lookup (calls_of (state)->bodies, key) : NULL;
  g_autofree char *message = NULL;

  if (body == NULL)
    {
      message = key == NULL ? g_strdup ("what is called is no closure; Partial makes one")
                            : g_strdup_printf ("the model has no function %s", key);
      ir_subgraph_fail (node, error, IR_EXEC_ERROR_KERNEL, message);
      return NULL;
    }
  for (guint i = 0; i < ir_tensor_n_items (closure); i++)
    g_ptr_array_add (given, ir_tensor_ref (ir_tensor_item (closure, i)));
  for (guint i = 1; i < node->n_inputs; i++)
    {
      IrTensor *tensor = ir_subgraph_input (state, node, i);
      if (tensor == NULL)
        {
          ir_subgraph_fail (node, error, IR_EXEC_ERROR_KERNEL, "an argument has no contents");
          return NULL;
        }
      g_ptr_array_add (given, ir_tensor_ref (tensor));
    }
  if (given->len != ir_graph_n_inputs (body) || node->n_outputs > ir_graph_n_outputs (body))
    {
      message = g_strdup_printf (
          "%s takes %u inputs and gives %u values; the closure has %u of the inputs, %u are given, and %u "
          "values are read; let Partial and Call give as many as the function takes",
          key, ir_graph_n_inputs (body), ir_graph_n_outputs (body), ir_tensor_n_items (closure),
          node->n_inputs - 1, node->n_outputs);
      ir_subgraph_fail (node, error, IR_EXEC_ERROR_KERNEL, message);
      return NULL;
    }
  for (guint i = 0; i < given->len; i++)
    if (!check_type (node, key, "input", i, ir_graph_input (body, i), given->pdata[i], error))
      return NULL;
  return body;
}

/* -- frames -- */

static Frame *
top_of (const Calling *x)
{
  return x->frames->len > 0 ? &g_array_index (x->frames, Frame, x->frames->len - 1) : NULL;
}

static gboolean
is_branch (const Frame *frame)
{
  return !is_call (frame->node);
}

/* An outer run of the same function has its values kept until this one is over. */
static void
put_aside (Calling *x, const Program *program)
{
  IrTensor **tensors = x->state->tensors;

  for (guint i = 0; program->n_active > 0 && i < program->values->len; i++)
    {
      const Saved saved = { program->values->pdata[i],
                            tensors[((const IrValue *) program->values->pdata[i])->id] };
      if (saved.tensor == NULL)
        continue;
      tensors[saved.value->id] = NULL;
      g_array_append_val (x->saved, saved);
    }
}

static void
drop_all (Calling *x, const Program *program)
{
  for (guint i = 0; i < program->values->len; i++)
    ir_run_state_drop (x->state, program->values->pdata[i]);
}

static void
take_back (Calling *x, guint n_saved)
{
  while (x->saved->len > n_saved)
    {
      const Saved *saved = &g_array_index (x->saved, Saved, x->saved->len - 1);
      ir_run_state_drop (x->state, saved->value);
      x->state->tensors[saved->value->id] = saved->tensor;
      g_array_set_size (x->saved, x->saved->len - 1);
    }
}

/* The frame ends. What it has put aside stays there if @stay: another takes its place. */
static void
pop (Calling *x, gboolean stay)
{
  Frame frame = *top_of (x);

  g_array_set_size (x->frames, x->frames->len - 1);
  if (!stay)
    leave_loop (x, &frame);
  drop_all (x, frame.program);
  x->state->depth--;
  if (is_branch (&frame))
    return;
  frame.program->n_active--;
  x->state->calls->depth--;
  if (!stay)
    take_back (x, frame.n_saved);
}

/* Whether what the call gives is what its function gives: nothing is left to be done there. */
static gboolean
is_last (const Calling *x, const IrNode *node)
{
  for (guint i = x->frames->len; i > 0; i--)
    {
      const Frame *frame = &g_array_index (x->frames, Frame, i - 1);
      const GPtrArray *nodes = frame->program->nodes;
      if (!frame->program->has_tail || nodes->pdata[nodes->len - 1] != node)
        return FALSE;
      if (!is_branch (frame))
        return TRUE;
      node = frame->node;
    }
  return FALSE;
}

static void
drop_unread (Calling *x, Frame *frame)
{
  const Program *program = frame->program;
  const guint *first = &g_array_index (program->first, guint, frame->next);

  for (guint i = first[0]; i < first[1]; i++)
    ir_run_state_drop (x->state, program->unread->pdata[i]);
  frame->next++;
}

static gboolean
set_inputs (Calling *x, const IrGraph *body, const GPtrArray *given, GError **error)
{
  for (guint i = 0; i < given->len; i++)
    {
      const IrValue *input = ir_graph_input (body, i);
      if (!x->state->prepared->values[input->id].keep)
        ir_run_state_set (x->state, input, given->pdata[i]);
      else if (!ir_run_state_publish (x->state, input, given->pdata[i], error))
        return FALSE;
    }
  return TRUE;
}

static gboolean
begin_call (Calling *x, const IrNode *node, GError **error)
{
  IrRunState *state = x->state;
  g_autoptr (GPtrArray) given = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_tensor_unref);
  const IrGraph *body = find_body (state, node, given, error);
  Frame frame = { .node = node, .n_saved = x->saved->len };

  if (body == NULL || !ir_run_count_call (state, node, error))
    return FALSE;
  ir_run_tell_flow (state, IR_FLOW_CALLED, node, 0, -1);
  if (is_last (x, node))
    {
      /* Who looks on is told that it has run: its results are never there. */
      if (!ir_run_after (state, node, NULL, error))
        return FALSE;
      for (; is_branch (top_of (x)); pop (x, TRUE))
        if (!ir_run_after (state, top_of (x)->node, NULL, error))
          return FALSE;
      frame.node = top_of (x)->node;
      frame.header = top_of (x)->header;
      frame.round = top_of (x)->round;
      frame.at = top_of (x)->at;
      frame.n_saved = top_of (x)->n_saved;
      pop (x, TRUE);
    }
  else if (x->frames->len > 0)
    drop_unread (x, top_of (x));
  if (state->calls->depth >= MAX_CALLS)
    return ir_subgraph_fail (
        node, error, IR_EXEC_ERROR_LIMIT,
        "the recursion is too deep: 200,000 calls wait for each other; let it end sooner, "
        "or make the call the last thing that the function does");
  frame.program = program_of (state->calls, body);
  put_aside (x, frame.program);
  frame.program->n_active++;
  state->calls->depth++;
  state->depth++;
  const gboolean goes = go_round (x, &frame, body, given, error);
  g_array_append_val (x->frames, frame);
  return goes && set_inputs (x, body, given, error);
}

/* @node is the one that waited. */
static gboolean
hand_out (Calling *x, const IrNode *node, const GPtrArray *results, GError **error)
{
  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL &&
        !ir_run_state_publish (x->state, node->outputs[i], results->pdata[i], error))
      return FALSE;
  ir_run_tell_flow (x->state, IR_FLOW_RETURNED, node, 0, -1);
  x->state->ran[node->id] = TRUE;
  return x->frames->len == 0 || ir_run_after (x->state, node, NULL, error);
}

static gboolean
end_call (Calling *x, GError **error)
{
  const Frame *frame = top_of (x);
  const IrGraph *body = frame->program->graph;
  const IrNode *node = frame->node;
  const gboolean is_over = frame->header != NULL;
  const gint64 round = frame->round;
  g_autoptr (GPtrArray) results = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_tensor_unref);

  for (guint i = 0; i < ir_graph_n_outputs (body); i++)
    {
      const IrValue *value = ir_graph_output (body, i);
      IrTensor *tensor = value != NULL ? ir_run_state_tensor (x->state, value) : NULL;
      if (tensor == NULL)
        return ir_subgraph_fail (node, error, IR_EXEC_ERROR_KERNEL,
                                 "an output of the function has no contents");
      if (!check_type (node, body->name, "output", i, value, tensor, error))
        return FALSE;
      g_ptr_array_add (results, ir_tensor_ref (tensor));
    }
  if (is_over)
    ir_run_tell_flow (x->state, IR_FLOW_EXITED, node, round, -1);
  pop (x, FALSE);
  return hand_out (x, node, results, error);
}

static gboolean
end_branch (Calling *x, GError **error)
{
  const Frame frame = *top_of (x);

  if (!ir_if_end (x->state, frame.node, frame.program->graph, frame.taken, error))
    return FALSE;
  pop (x, FALSE);
  x->state->ran[frame.node->id] = TRUE;
  if (!ir_run_after (x->state, frame.node, NULL, error))
    return FALSE;
  drop_unread (x, top_of (x));
  return TRUE;
}

static gboolean
begin_branch (Calling *x, const IrNode *node, GError **error)
{
  Frame frame = { .node = node, .n_saved = x->saved->len };
  const IrGraph *branch = ir_if_begin (x->state, node, &frame.taken, error);

  if (branch == NULL)
    return FALSE;
  frame.program = program_of (x->state->calls, branch);
  x->state->depth++;
  g_array_append_val (x->frames, frame);
  return TRUE;
}

/* What is next in the innermost frame */
static gboolean
step (Calling *x, GError **error)
{
  IrRunState *state = x->state;
  Frame *frame = top_of (x);

  if (frame->next == frame->program->nodes->len)
    return is_branch (frame) ? end_branch (x, error) : end_call (x, error);
  const IrNode *node = frame->program->nodes->pdata[frame->next];
  if (!ir_run_before (state, node, NULL, error))
    return FALSE;
  if (is_call (node))
    return begin_call (x, node, error);
  if (is_calling_if (state->calls, node))
    return begin_branch (x, node, error);
  if (!ir_run_node (state, node, error) || !ir_run_after (state, node, NULL, error))
    return FALSE;
  drop_unread (x, frame);
  return TRUE;
}

/* An error of a node has the branches and the function around it in front, and how many calls wait for that. */
static void
say_where (const Calling *x, GError **error)
{
  const Frame *frame = top_of (x);
  guint i = x->frames->len;

  if (frame == NULL || error == NULL || *error == NULL || !ir_error_has_place (*error))
    return;
  for (; is_branch (frame); frame = &g_array_index (x->frames, Frame, --i - 1))
    ir_if_say_where (frame->node, frame->taken, error);
  g_prefix_error (error, "%s/", frame->program->graph->name);
  /* Behind the place, so that loops around can stand in front of it. */
  if (x->state->calls->depth > 1 && x->state->calls->depth < MAX_CALLS)
    {
      g_autofree char *message = (*error)->message;
      (*error)->message = g_strdup_printf ("%s (%u calls deep)", message, x->state->calls->depth);
    }
}

/* Call: runs the function of its closure. */
gboolean
ir_closure_call_run (IrRunState *state, const IrNode *node, GError **error)
{
  Calling x = { .state = state };
  gboolean good;

  calls_of (state);
  x.frames = g_array_new (FALSE, FALSE, sizeof (Frame));
  x.saved = g_array_new (FALSE, FALSE, sizeof (Saved));
  good = begin_call (&x, node, error);
  while (good && x.frames->len > 0)
    good = step (&x, error);
  if (!good)
    say_where (&x, error);
  while (x.frames->len > 0)
    pop (&x, FALSE);
  g_array_unref (x.frames);
  g_array_unref (x.saved);
  return good;
}

/* Functions: what it holds is run by those that call it. */
gboolean
ir_functions_run (IrRunState *state, const IrNode *node, GError **error)
{
  return TRUE;
}
