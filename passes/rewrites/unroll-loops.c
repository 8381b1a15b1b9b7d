/* Iterations of a Loop written out, as many as one asks for:
 *
 *     Loop (4, v) { f }                f (f (f (f (v))))
 *     by = 3:      Loop (M, v) { f }   Loop (M - 3 q, Loop (q, v) { f (f (f)) }) { f }    q = M / 3
 *     peel = 2..3: Loop (9, v) { f }   Loop (5, f (f (Loop (2, v) { f }))) { f }
 *
 * Copies of h are h_0, h_1 and so on, by the iteration that they are, in loops of one copy h_before, h_after or
 * h_rest, and say so in their metadata: errors give the loop and the node that were written, and the iteration. Only a Loop that nothing but its limit ends
 * can be divided. Random operators draw by names, so a body that has some stays.
 *
 * Source: Muchnick, Advanced Compiler Design and Implementation, 17.4; XLA WhileLoopUnroller. */
#include "config.h"

#include "core/exec/run/iterations.h"
#include "core/op/check.h"
#include "passes/rewrites/trips.h"
#include "passes/rewrites/unroll.h"
#include "passes/rule/rule.h"
#include "passes/rule/step.h"

#define RULE_WHOLE "unroll-whole"
#define RULE_BY    "unroll-by"
#define RULE_PEEL  "peel-iterations"

typedef struct
{
  IrPassContext *context;
  IrPassNames *names;
  guint64 by;         /* 0: not asked for */
  gboolean peels;     /* iterations @first to @last */
  gint64 first, last; /* of all: 0 to G_MAXINT64 */
  guint64 max_nodes;
  char **loops; /* names; empty: all */
} Unroller;

/* One loop under way. */
typedef struct
{
  const Unroller *u;
  IrKnownLoop loop;
  const char *rule;
  char *name;         /* as names of iterations have it */
  GPtrArray *carried; /* of IrValue: what the next part begins with */
  guint n_scans;
  GPtrArray **pieces; /* by scan output, of IrValue: what the parts so far have stacked */
  IrValue *axes;      /* (nullable) */
} Unrolling;

static IrGraph *
graph_of (const Unrolling *w)
{
  return w->loop.node->graph;
}

static IrValue *
add_node (
    const Unrolling *w, IrGraph *graph, const char *op, guint n_inputs, IrValue *const *inputs)
{
  IrEdit *edit = w->u->context->edit;
  IrNode *node = ir_edit_add_node (edit, graph, op, NULL, NULL, n_inputs, inputs, 1);

  ir_edit_set_rank (edit, node, w->loop.node->rank);
  ir_infer_node (edit, node, NULL);
  ir_edit_step_map_node (edit, w->loop.node->id, node->id);
  return node->outputs[0];
}

static IrValue *
constant (const Unrolling *w, IrGraph *graph, const char *name, gint64 n)
{
  return ir_unroll_scalar (w->u->context, graph, name, IR_DTYPE_INT64, n);
}

static gboolean
is_stacked (const Unrolling *w, guint scan)
{
  const guint i = w->loop.n_carried + scan;
  const IrValue *output = ir_node_output (w->loop.node, i);

  return output != NULL && output->n_uses > 0;
}

static GPtrArray **
lists_new (guint n)
{
  GPtrArray **lists = g_new0 (GPtrArray *, n + 1);

  for (guint i = 0; i < n; i++)
    lists[i] = g_ptr_array_new ();
  return lists;
}

static void
lists_free (GPtrArray **lists, guint n)
{
  for (guint i = 0; i < n; i++)
    g_ptr_array_unref (lists[i]);
  g_free (lists);
}

/* -- parts -- */

/* Iterations @first to @last, one behind the other */
static void
add_copies (Unrolling *w, gint64 first, gint64 last)
{
  GPtrArray **scans = lists_new (w->n_scans);

  for (gint64 i = first; i <= last; i++)
    {
      g_autofree char *suffix = g_strdup_printf ("%" G_GINT64_FORMAT, i);
      g_autofree char *mark = g_strdup_printf ("%s@%" G_GINT64_FORMAT, w->name, i);
      const IrUnrolledIteration iteration = {
        .to = graph_of (w), .constant = i, .suffix = suffix, .mark = mark
      };
      ir_unroll_copy (w->u->context, &w->loop, &iteration, w->carried, scans);
    }
  for (guint i = 0; i < w->n_scans; i++)
    if (is_stacked (w, i))
      g_ptr_array_add (w->pieces[i],
                       ir_unroll_stack (w->u->context, &w->loop, graph_of (w), scans[i], &w->axes));
  lists_free (scans, w->n_scans);
}

/* A loop of some of the iterations, with copies of the body. */
typedef struct
{
  IrValue *limit;
  gint64 n;         /* copies, the iterations n i, n i + 1 .. */
  IrValue *done;    /* (nullable): or, with one copy, i + done */
  const char *part; /* (nullable): which loop it is, of those with one copy, for names */
  IrGraph *graph;
  IrValue *iteration, *condition;
} Body;

static IrValue *
add_input (
    const Unrolling *w, IrGraph *body, const char *name, const IrType *type, GPtrArray *inputs)
{
  IrEdit *edit = w->u->context->edit;
  IrValue *input = ir_edit_add_value (edit, body, ir_edit_unique_name (edit, name), type);

  g_ptr_array_add (inputs, input);
  return input;
}

/* The number that copy @i gets, where the body reads it */
static IrValue *
number_inside (const Unrolling *w, const Body *body, gint64 i)
{
  IrValue *number = body->iteration;

  if (ir_graph_input (w->loop.body, 0)->n_uses == 0)
    return number;
  if (body->n > 1)
    {
      IrValue *product[] = { number, constant (w, body->graph, "copies", body->n) };
      number = add_node (w, body->graph, "Mul", 2, product);
    }
  if (i == 0 && body->done == NULL)
    return number;
  IrValue *sum[] = { number,
                     body->done != NULL ? body->done : constant (w, body->graph, "copy", i) };
  return add_node (w, body->graph, "Add", 2, sum);
}

static void
copy_into (Unrolling *w, const Body *body, GPtrArray *carried, GPtrArray **scans)
{
  for (gint64 i = 0; i < body->n; i++)
    {
      g_autofree char *suffix = body->part != NULL ? g_strdup (body->part)
                                                   : g_strdup_printf ("%" G_GINT64_FORMAT, i);
      g_autofree char *mark = body->part != NULL
                                  ? g_strdup_printf ("%s@%s", w->name, body->part)
                                  : g_strdup_printf ("%s@%" G_GINT64_FORMAT "i+%" G_GINT64_FORMAT,
                                                     w->name, body->n, i);
      const IrUnrolledIteration iteration = { .to = body->graph,
                                              .number = number_inside (w, body, i),
                                              .condition = body->condition,
                                              .suffix = suffix,
                                              .mark = mark };
      ir_unroll_copy (w->u->context, &w->loop, &iteration, carried, scans);
    }
}

/* What a body gives is made in it. */
static IrValue *
own_value (const Unrolling *w, IrGraph *body, IrValue *value)
{
  return value->graph == body && value->producer != NULL
             ? value
             : add_node (w, body, "Identity", 1, &value);
}

static void
fill_body (Unrolling *w, Body *body)
{
  IrEdit *edit = w->u->context->edit;
  IrContext *context = w->u->context->model->context;
  g_autoptr (GPtrArray) inputs = g_ptr_array_new (), outputs = g_ptr_array_new ();
  g_autoptr (GPtrArray) carried = g_ptr_array_new ();
  GPtrArray **scans = lists_new (w->n_scans);
  IrValue *axes = NULL;

  body->iteration = add_input (w, body->graph, "iteration",
                               ir_type_tensor (context, IR_DTYPE_INT64, 0, NULL), inputs);
  body->condition = add_input (w, body->graph, "condition", ir_graph_input (w->loop.body, 1)->type,
                               inputs);
  for (guint i = 0; i < w->loop.n_carried; i++)
    {
      const IrValue *like = ir_graph_input (w->loop.body, i + 2);
      g_ptr_array_add (carried, add_input (w, body->graph, like->name, like->type, inputs));
    }
  ir_edit_set_graph_inputs (edit, body->graph, (IrValue *const *) inputs->pdata, inputs->len);
  copy_into (w, body, carried, scans);
  g_ptr_array_add (outputs, own_value (w, body->graph, body->condition));
  for (guint i = 0; i < carried->len; i++)
    g_ptr_array_add (outputs, own_value (w, body->graph, carried->pdata[i]));
  for (guint i = 0; i < w->n_scans; i++)
    if (is_stacked (w, i))
      g_ptr_array_add (outputs, body->n == 1 ? own_value (w, body->graph, scans[i]->pdata[0])
                                             : ir_unroll_stack (w->u->context, &w->loop,
                                                                body->graph, scans[i], &axes));
  ir_edit_set_graph_outputs (edit, body->graph, (IrValue *const *) outputs->pdata, outputs->len);
  lists_free (scans, w->n_scans);
}

/* [q, n, ..] as [q n, ..]; why_not_by() has seen to it that the sizes are known. */
static IrValue *
merge_rows (const Unrolling *w, IrValue *value, guint scan)
{
  const IrType *row = ir_graph_output (w->loop.body, 1 + w->loop.n_carried + scan)->type;
  gint64 dims[IR_MAX_RANK + 1] = { -1 };

  for (int i = 0; i < row->rank; i++)
    dims[i + 1] = row->dims[i];
  g_autoptr (IrTensor) tensor = ir_tensor_new_int64s (dims, row->rank + 1);
  IrValue *inputs[] = { value, ir_pass_add_constant (w->u->context, graph_of (w), "rows", tensor) };
  return add_node (w, graph_of (w), "Reshape", 2, inputs);
}

static void
add_loop (Unrolling *w, Body *body)
{
  IrEdit *edit = w->u->context->edit;
  const IrNode *old = w->loop.node;
  g_autoptr (GPtrArray) inputs = g_ptr_array_new ();
  guint n_outputs = w->loop.n_carried, place = n_outputs;

  for (guint i = 0; i < w->n_scans; i++)
    n_outputs += is_stacked (w, i);
  g_ptr_array_add (inputs, body->limit);
  g_ptr_array_add (inputs, ir_node_input (old, 1));
  for (guint i = 0; i < w->carried->len; i++)
    g_ptr_array_add (inputs, w->carried->pdata[i]);
  IrNode *node = ir_edit_add_node (edit, graph_of (w), "Loop", NULL, NULL, inputs->len,
                                   (IrValue *const *) inputs->pdata, n_outputs);
  ir_edit_set_rank (edit, node, old->rank);
  ir_edit_step_map_node (edit, old->id, node->id);
  body->graph = ir_edit_add_graph (edit, IR_GRAPH_SUBGRAPH, "body");
  ir_edit_set_attr (edit, node,
                    ir_attr_graph (w->u->context->model->context, "body", body->graph->id));
  fill_body (w, body);
  ir_infer_node (edit, node, NULL);
  for (guint i = 0; i < w->carried->len; i++)
    w->carried->pdata[i] = node->outputs[i];
  for (guint i = 0; i < w->n_scans; i++)
    if (is_stacked (w, i))
      {
        IrValue *rows = node->outputs[place++];
        g_ptr_array_add (w->pieces[i], body->n == 1 ? rows : merge_rows (w, rows, i));
      }
}

/* -- what they are together -- */

/* The pieces of a scan output behind each other */
static IrValue *
join_pieces (const Unrolling *w, guint scan)
{
  IrEdit *edit = w->u->context->edit;
  const GPtrArray *pieces = w->pieces[scan];

  if (pieces->len == 1)
    return pieces->pdata[0];
  IrNode *node = ir_edit_add_node (edit, graph_of (w), "Concat", NULL, NULL, pieces->len,
                                   (IrValue *const *) pieces->pdata, 1);
  ir_edit_set_rank (edit, node, w->loop.node->rank);
  ir_edit_set_attr (edit, node, ir_attr_int (w->u->context->model->context, "axis", 0));
  ir_infer_node (edit, node, NULL);
  ir_edit_step_map_node (edit, w->loop.node->id, node->id);
  return node->outputs[0];
}

static gboolean
hand_over (const Unrolling *w)
{
  g_autoptr (GPtrArray) results = g_ptr_array_new ();

  for (guint i = 0; i < w->loop.node->n_outputs; i++)
    {
      const guint scan = i - w->loop.n_carried;
      g_ptr_array_add (results, i < w->loop.n_carried  ? w->carried->pdata[i]
                                : is_stacked (w, scan) ? join_pieces (w, scan)
                                                       : NULL);
    }
  return ir_unroll_hand_over (w->u->context, w->loop.node, results);
}

/* -- the ways -- */

static void
peel (Unrolling *w)
{
  const gint64 trips = w->loop.trips, first = w->u->peels ? w->u->first : 0;
  const gint64 last = w->u->peels ? MIN (w->u->last, trips - 1) : trips - 1;
  IrGraph *graph = graph_of (w);

  if (first > 0)
    add_loop (w,
              &(Body){ .limit = constant (w, graph, "before", first), .n = 1, .part = "before" });
  add_copies (w, first, last);
  if (last + 1 < trips)
    add_loop (w, &(Body){ .limit = constant (w, graph, "after", trips - 1 - last),
                          .n = 1,
                          .part = "after",
                          .done = constant (w, graph, "done", last + 1) });
}

/* Of M iterations q times n and the rest: constants, where M is */
static void
divide (Unrolling *w)
{
  const gint64 n = (gint64) w->u->by, trips = w->loop.trips;
  IrGraph *graph = graph_of (w);
  Body rest = { .n = 1, .part = "rest" };

  if (trips >= 0)
    {
      add_loop (w, &(Body){ .limit = constant (w, graph, "rounds", trips / n), .n = n });
      if (trips % n == 0)
        return;
      rest.limit = constant (w, graph, "left", trips % n);
      rest.done = constant (w, graph, "done", trips - trips % n);
    }
  else
    {
      IrValue *limit = ir_node_input (w->loop.node, 0), *by = constant (w, graph, "copies", n);
      IrValue *quotient[] = { limit, by };
      IrValue *rounds = add_node (w, graph, "Div", 2, quotient), *product[] = { rounds, by };
      rest.done = add_node (w, graph, "Mul", 2, product);
      IrValue *difference[] = { limit, rest.done };
      rest.limit = add_node (w, graph, "Sub", 2, difference);
      add_loop (w, &(Body){ .limit = rounds, .n = n });
    }
  add_loop (w, &rest);
}

/* (nullable) */
static const char *
why_not_divided (const Unrolling *w)
{
  const IrKnownLoop *loop = &w->loop;

  if (!ir_unroll_only_limit (loop))
    return "the condition that its body gives may end it";
  if (loop->trips < 0 && ir_node_input (loop->node, 0) == NULL)
    return "it has no limit";
  if (loop->trips >= 0 && loop->trips < (gint64) w->u->by)
    return "it runs fewer times than there are to be copies";
  for (guint i = 0; i < w->n_scans; i++)
    {
      const IrType *row = ir_graph_output (loop->body, 1 + loop->n_carried + i)->type;
      gboolean known = ir_type_is_tensor (row) && ir_type_is_static (row) &&
                       row->rank < IR_MAX_RANK;
      for (int k = 0; known && k < row->rank; k++)
        known = row->dims[k] > 0;
      if (is_stacked (w, i) && !known)
        return "the sizes of what it stacks are not known";
    }
  return NULL;
}

/* (nullable) */
static const char *
why_not_peeled (const Unrolling *w)
{
  const IrKnownLoop *loop = &w->loop;

  if (loop->trips == 0)
    return "it never runs; simplify-control-flow takes it away";
  if (w->u->peels && w->u->first >= loop->trips)
    return "it has no such iterations";
  return loop->trips > 1 && !ir_unroll_only_limit (loop)
             ? "the condition that its body gives may end it"
             : NULL;
}

/* (nullable) Why the loop stays as it is, where its iterations can be counted or need not be */
static const char *
why_not (const Unrolling *w)
{
  const guint64 size = ir_unroll_size (w->loop.body);
  const char *why = w->u->by > 0 ? why_not_divided (w) : why_not_peeled (w);

  if (why != NULL)
    return why;
  if (size == G_MAXUINT)
    return "the body draws random numbers, which depend on names";
  const guint64 n = w->u->by > 0
                        ? w->u->by
                        : (guint64) (MIN (w->u->last, w->loop.trips - 1) - w->u->first + 1);
  if (n > w->u->max_nodes || size * n > w->u->max_nodes)
    return "the copies would be too many nodes; set nodes to allow more";
  return ir_unroll_stacks_tensors (&w->loop) ? NULL : "what is stacked is not known to be a tensor";
}

static void
unroll (const Unroller *u, IrNode *node)
{
  Unrolling w = { .u = u, .rule = u->by > 0 ? RULE_BY : u->peels ? RULE_PEEL : RULE_WHOLE };
  const IrNodeId id = node->id;

  if (!ir_unroll_find (node, &w.loop))
    return;
  if (!ir_unroll_count_trips (&w.loop))
    w.loop.trips = -1;
  w.n_scans = ir_graph_n_outputs (w.loop.body) - 1 - w.loop.n_carried;
  g_autofree char *unknown = u->by == 0 && w.loop.trips < 0 ? ir_unroll_why_unknown (&w.loop)
                                                            : NULL;
  const char *why = unknown != NULL ? unknown : why_not (&w);
  if (why != NULL)
    {
      ir_edit_refuse (u->context->edit, w.rule, id, why);
      return;
    }
  if (!ir_pass_begin (u->context, w.rule, IR_CLASS_EXACT, node))
    return;
  w.name = ir_loop_name (node);
  w.carried = g_ptr_array_new ();
  w.pieces = lists_new (w.n_scans);
  for (guint i = 0; i < w.loop.n_carried; i++)
    g_ptr_array_add (w.carried, node->inputs[i + 2]);
  ir_unroll_move_free_values (u->context, u->names, w.loop.body, node->graph);
  if (u->by > 0)
    divide (&w);
  else
    peel (&w);
  const gboolean done = hand_over (&w);
  g_ptr_array_unref (w.carried);
  lists_free (w.pieces, w.n_scans);
  g_free (w.name);
  if (done)
    {
      ir_pass_end (u->context);
      return;
    }
  ir_pass_abort (u->context);
  ir_edit_refuse (u->context->edit, w.rule, id, "less would be known of the type of an output");
}

/* -- the pass -- */

static gboolean
is_asked_for (const Unroller *u, const IrNode *node)
{
  g_autofree char *name = ir_loop_name (node);

  return u->loops[0] == NULL || g_strv_contains ((const char *const *) u->loops, name);
}

/* A name that is wrong would do nothing, and say so nowhere. */
static gboolean
knows_loops (const Unroller *u, GError **error)
{
  g_autoptr (GHashTable) names = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GString) all = g_string_new (NULL);
  const IrModel *model = u->context->model;

  for (IrNodeId id = 1; id < model->nodes->len; id++)
    {
      const IrNode *node = ir_model_live_node (model, id);
      char *name = node != NULL && ir_op_is (node, IR_OP_LOOP) ? ir_loop_name (node) : NULL;
      if (name != NULL && !g_hash_table_contains (names, name))
        g_string_append_printf (all, "%s%s", all->len > 0 ? ", " : "", name);
      if (name != NULL)
        g_hash_table_add (names, name);
    }
  for (guint i = 0; u->loops[i] != NULL; i++)
    if (!g_hash_table_contains (names, u->loops[i]))
      return ir_pass_refuse (error, "unroll-loops", "loop is \"%s\", but the graph has %s%s",
                             u->loops[i], all->len > 0 ? "only these: " : "no Loop", all->str);
  return TRUE;
}

/* "2..5" */
static gboolean
read_range (Unroller *u, const char *text, GError **error)
{
  g_auto (GStrv) ends = g_strsplit (text, "..", 2);
  guint64 first = 0, last = 0;

  u->last = G_MAXINT64;
  u->peels = *text != '\0';
  if (!u->peels)
    return TRUE;
  if (g_strv_length (ends) != 2 ||
      !g_ascii_string_to_unsigned (ends[0], 10, 0, G_MAXINT64 - 1, &first, NULL) ||
      !g_ascii_string_to_unsigned (ends[1], 10, first, G_MAXINT64 - 1, &last, NULL))
    return ir_pass_refuse (error, "unroll-loops",
                           "peel is \"%s\", needed is a range of iterations such as 0..3", text);
  if (u->by > 0)
    return ir_pass_refuse (error, "unroll-loops",
                           "by and peel exclude each other; set one of them");
  u->first = (gint64) first;
  u->last = (gint64) last;
  return TRUE;
}

/* Inner loops first: what is copied has none then. */
static gboolean
unroll_all (Unroller *u, GError **error)
{
  g_autoptr (GPtrArray) graphs = ir_pass_graphs (u->context);
  gboolean good = TRUE;

  for (guint i = graphs->len; i > 0 && good && !u->context->stopped; i--)
    {
      const IrGraph *graph = graphs->pdata[i - 1];
      g_autoptr (GPtrArray) nodes = graph->state == IR_STATE_LIVE ? ir_graph_nodes (graph) : NULL;
      for (guint k = 0; nodes != NULL && k < nodes->len && good && !u->context->stopped; k++)
        {
          IrNode *node = nodes->pdata[k];
          good = !ir_pass_cancelled (u->context, error);
          if (good && node->state == IR_STATE_LIVE && ir_op_is (node, IR_OP_LOOP) &&
              !ir_pass_has_control (u->context, node) && is_asked_for (u, node))
            unroll (u, node);
        }
    }
  return good;
}

static gboolean
run (IrPassContext *context, GError **error)
{
  const IrPass *pass = context->priv->pass;
  g_auto (GStrv) loops = g_strsplit (ir_pass_option (pass, "loop"), ",", -1);
  Unroller u = { .context = context,
                 .by = ir_pass_option_number (pass, "by"),
                 .max_nodes = ir_pass_option_number (pass, "nodes"),
                 .loops = loops };

  if (u.by == 1 || u.by > G_MAXINT32)
    return ir_pass_refuse (error, "unroll-loops",
                           "by is %" G_GUINT64_FORMAT ", needed are 2 copies or more", u.by);
  if (!read_range (&u, ir_pass_option (pass, "peel"), error) || !knows_loops (&u, error))
    return FALSE;
  u.names = ir_pass_names_new (context->model);
  gboolean good = unroll_all (&u, error);
  ir_pass_names_free (u.names);
  return good;
}

static const IrRule rules[] = {
  { RULE_WHOLE, "a Loop of a constant number of iterations", "a copy of the body per iteration",
    IR_CLASS_EXACT, "Without an option all iterations are written out." },
  { RULE_BY, "a Loop that nothing but its limit ends",
    "a Loop of as many times less iterations with copies of the body, and one for the rest",
    IR_CLASS_EXACT,
    "With by = k each iteration of the first loop is k of the one that was written." },
  { RULE_PEEL, "a Loop of a constant number of iterations", "a Loop, copies of the body, a Loop",
    IR_CLASS_EXACT, "With peel = i..j these iterations are written out between two loops." },
  { NULL },
};

static const IrPassOption options[] = {
  { "by", IR_PASS_OPTION_INT, "0",
    "Copies in the body of a loop of as many times less iterations; 0: none." },
  { "peel", IR_PASS_OPTION_TEXT, "", "Iterations to write out, as 0..3; empty: all of them." },
  { "loop", IR_PASS_OPTION_TEXT, "", "Names of loops, separated by commas; empty: all." },
  { "nodes", IR_PASS_OPTION_INT, "256", "Most nodes that the copies of one loop may have." },
  { NULL },
};

const IrPass ir_pass_unroll_loops = {
  .name = "unroll-loops",
  .title = "Unroll loops",
  .doc =
      "Writes out iterations of Loops: all, some, or several in each iteration of a shorter loop, as its "
      "options say. Each copy has the name of what it is made from and its iteration.",
  .source = "Muchnick 1997, 17.4; XLA WhileLoopUnroller",
  .step_class = IR_CLASS_EXACT,
  .before_after = "x -> Loop (2) { f } -> y\nx -> f -> f -> y",
  .run = run,
  .documented_rules = rules,
  .options = options,
  .once = TRUE,
};
