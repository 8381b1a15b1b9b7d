/* Taping: each node is run as soon as its turn comes, and pushes how to go back, the nodes of its vjp,
 * which hold what they read. Backwards each is popped: its nodes are run on what came to the outputs,
 * and what they give is added to what had come to the inputs.
 *
 *   forwards   push v1 = Log (x1)     push v2 = Mul (x1, x2) ..
 *   backwards  seed f                 pop .. v2: to x1, to x2   pop v1: to x1, accumulate
 *
 * Sizes are those of the run, so nothing of a vjp is open. Tangents go along forwards, by the engine of
 * the pass tangent, one direction for each number that it is derived by. Source: Griewank and Walther,
 * Evaluating Derivatives, chapter 4; Paszke et al. 2017, Automatic Differentiation in PyTorch. */
#include "config.h"

#include "core/exec/tape/tape.h"

#include "core/exec/eval/eval.h"
#include "core/exec/lower/lower.h"
#include "core/grad/grad.h"
#include "core/ir/grad-mark.h"
#include "core/op/infer.h"
#include "core/op/op.h"

#include <math.h>
#include <string.h>

#define MAX_DIRECTIONS 8

/* What was pushed for a node. Values are of the copy that runs. */
typedef struct
{
  IrNode *node;
  GPtrArray *back; /* of IrNode: its vjp */
  IrValue **dy;    /* per output (nullable): what stands for its adjoint */
  IrValue **dx;    /* per input (nullable) */
  GArray *reads;   /* of IrValueId: what is held */
} Entry;

typedef struct
{
  IrTape *tape;
  IrEdit *edit;
  const IrTapeOptions *options;
  IrNodeId *stop;        /* (nullable) */
  GHashTable *values;    /* value id -> IrTensor */
  GHashTable *active;    /* value ids that depend on what it is derived by */
  IrReverse *activity;   /* that knows the same, for what subgraphs read */
  GHashTable *held;      /* value id -> how many entries hold it */
  GHashTable *adjoints;  /* value id -> IrTensor */
  GPtrArray *entries;    /* of Entry */
  GHashTable **tangents; /* per direction: value id -> IrTensor */
  guint64 bytes;
} Run;

static void
free_entry (gpointer data)
{
  Entry *entry = data;

  g_ptr_array_unref (entry->back);
  g_array_unref (entry->reads);
  g_free (entry->dy);
  g_free (entry->dx);
  g_free (entry);
}

static GHashTable *
new_tensors (void)
{
  return g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);
}

static void
run_clear (Run *run)
{
  g_clear_pointer (&run->activity, ir_reverse_free);
  g_clear_pointer (&run->edit, ir_edit_free);
  g_clear_pointer (&run->values, g_hash_table_unref);
  g_clear_pointer (&run->active, g_hash_table_unref);
  g_clear_pointer (&run->held, g_hash_table_unref);
  g_clear_pointer (&run->adjoints, g_hash_table_unref);
  g_clear_pointer (&run->entries, g_ptr_array_unref);
  for (guint i = 0; run->tangents != NULL && i < run->tape->n_directions; i++)
    g_hash_table_unref (run->tangents[i]);
  g_clear_pointer (&run->tangents, g_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Run, run_clear)

/**
 * ir_tape_event_name:
 * @kind: a kind of event
 *
 * Returns: "push", "seed", "pop" or "accumulate"
 */
const char *
ir_tape_event_name (IrTapeEventKind kind)
{
  static const char *const names[] = { "push", "seed", "pop", "accumulate" };

  return names[kind];
}

static void
clear_row (gpointer data)
{
  IrTapeRow *row = data;

  g_clear_pointer (&row->contents, ir_tensor_unref);
  g_ptr_array_unref (row->tangents);
  g_ptr_array_unref (row->adjoints);
  g_array_unref (row->partials);
}

static void
unref_tensor (gpointer tensor)
{
  if (tensor != NULL)
    ir_tensor_unref (tensor);
}

/**
 * ir_tape_free:
 * @tape: (transfer full): a tape
 */
void
ir_tape_free (IrTape *tape)
{
  g_clear_pointer (&tape->rows, g_array_unref);
  g_clear_pointer (&tape->events, g_array_unref);
  g_clear_pointer (&tape->by, g_array_unref);
  g_clear_pointer (&tape->places, g_hash_table_unref);
  g_clear_pointer (&tape->model, ir_model_unref);
  g_free (tape);
}

/**
 * ir_tape_row:
 * @tape: a tape
 * @value: a value
 *
 * Returns: (nullable): what the tape knows of it
 */
const IrTapeRow *
ir_tape_row (const IrTape *tape, IrValueId value)
{
  guint place = GPOINTER_TO_UINT (g_hash_table_lookup (tape->places, GUINT_TO_POINTER (value)));

  return place != 0 ? &g_array_index (tape->rows, IrTapeRow, place - 1) : NULL;
}

/**
 * ir_tape_gradient:
 * @tape: a tape
 * @value: a value
 *
 * Returns: (transfer none) (nullable): the derivative by it; %NULL: it is 0
 */
IrTensor *
ir_tape_gradient (const IrTape *tape, IrValueId value)
{
  const IrTapeRow *row = ir_tape_row (tape, value);

  return row != NULL && row->adjoints->len > 0 ? row->adjoints->pdata[row->adjoints->len - 1]
                                               : NULL;
}

/* -- contents -- */

static gpointer
key_of (const IrValue *value)
{
  return GUINT_TO_POINTER (value->id);
}

static IrTensor *
contents_of (const Run *run, IrValue *value)
{
  IrTensor *tensor = g_hash_table_lookup (run->values, key_of (value));

  if (tensor != NULL)
    return tensor;
  return value->initializer != NULL ? value->initializer : (IrTensor *) ir_value_constant (value);
}

static const IrTensor *
captured (const IrValue *value, gpointer data)
{
  return contents_of (data, (IrValue *) value);
}

static gboolean
is_number (const IrTensor *tensor)
{
  return tensor != NULL && ir_tensor_kind (tensor) == IR_TYPE_TENSOR &&
         ir_tensor_n_elements (tensor) == 1;
}

/* Runs @node now; what it gives is known then, and so are its types. */
static gboolean
evaluate (Run *run, IrNode *node, GError **error)
{
  g_autofree const IrTensor **inputs = g_new0 (const IrTensor *, node->n_inputs + 1);
  g_autofree IrTensor **outputs = g_new0 (IrTensor *, node->n_outputs + 1);
  gboolean control = node->op != NULL && (node->op->flags & IR_OP_SUBGRAPHS);
  const IrEvalOptions options = { .cancellable = run->options->cancellable,
                                  .contents = captured,
                                  .data = run,
                                  .limits = run->options->limits,
                                  .seed = run->options->seed };

  if (g_cancellable_set_error_if_cancelled (run->options->cancellable, error))
    return FALSE;
  for (guint i = 0; i < node->n_inputs; i++)
    if (node->inputs[i] != NULL)
      inputs[i] = contents_of (run, node->inputs[i]);
  if (!(control ? ir_eval_control : ir_eval_node_with) (node, inputs, outputs, &options, error))
    return FALSE;
  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL && outputs[i] != NULL)
      {
        ir_edit_set_type (run->edit, node->outputs[i],
                          ir_tensor_type (outputs[i], run->tape->model->context));
        g_hash_table_replace (run->values, key_of (node->outputs[i]), outputs[i]);
      }
    else
      g_clear_pointer (&outputs[i], ir_tensor_unref);
  return TRUE;
}

static gboolean
evaluate_all (Run *run, const GPtrArray *nodes, GError **error)
{
  for (guint i = 0; i < nodes->len; i++)
    if (!evaluate (run, nodes->pdata[i], error))
      return FALSE;
  return TRUE;
}

/* A value that is given contents, not computed: an input of the copy */
static IrValue *
placeholder (const Run *run, const IrTensor *like)
{
  IrGraph *graph = run->tape->model->main;
  g_autoptr (GPtrArray) inputs = g_ptr_array_new ();
  IrValue *value = ir_edit_add_value (run->edit, graph, NULL,
                                      ir_tensor_type (like, run->tape->model->context));

  for (guint i = 0; i < ir_graph_n_inputs (graph); i++)
    g_ptr_array_add (inputs, ir_graph_input (graph, i));
  g_ptr_array_add (inputs, value);
  ir_edit_set_graph_inputs (run->edit, graph, (IrValue *const *) inputs->pdata, inputs->len);
  return value;
}

static void
give (Run *run, const IrValue *value, IrTensor *tensor)
{
  g_hash_table_replace (run->values, key_of (value), ir_tensor_ref (tensor));
}

/* (transfer full) All elements @number, in the type and shape of @like */
static IrTensor *
filled (const IrTensor *like, double number)
{
  g_autoptr (IrTensor) scalar = ir_tensor_new_scalar (ir_tensor_dtype (like), number);
  IrTensor *tensor = ir_tensor_new_alloc (ir_tensor_dtype (like), ir_tensor_rank (like),
                                          ir_tensor_dims (like), NULL);
  const gsize size = ir_tensor_n_bytes (scalar);
  char *bytes = ir_tensor_data_writable (tensor);

  for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
    memcpy (bytes + i * size, ir_tensor_data (scalar), size);
  return tensor;
}

/* -- rows and events -- */

static void
add_row (Run *run, IrValue *value)
{
  IrTensor *contents = contents_of (run, value);
  IrTapeRow row = { .value = value->id,
                    .node = value->producer != NULL ? value->producer->id : 0,
                    .contents = contents != NULL ? ir_tensor_ref (contents) : NULL,
                    .tangents = g_ptr_array_new_with_free_func (unref_tensor),
                    .adjoints = g_ptr_array_new_with_free_func (unref_tensor),
                    .partials = g_array_new (FALSE, FALSE, sizeof (IrTapePartial)) };

  for (guint i = 0; i < run->tape->n_directions; i++)
    {
      IrTensor *tangent = g_hash_table_lookup (run->tangents[i], key_of (value));
      g_ptr_array_add (row.tangents, tangent != NULL ? ir_tensor_ref (tangent) : NULL);
    }
  g_array_append_val (run->tape->rows, row);
  g_hash_table_insert (run->tape->places, key_of (value), GUINT_TO_POINTER (run->tape->rows->len));
}

static void
add_event (Run *run, IrTapeEventKind kind, const IrNode *node, const IrValue *value)
{
  IrTapeEvent event = { .kind = kind,
                        .node = node != NULL ? node->id : 0,
                        .value = value != NULL ? value->id : 0,
                        .bytes_held = run->bytes };

  g_array_append_val (run->tape->events, event);
}

/* -- what is held -- */

static void
hold (Run *run, const Entry *entry, gint by)
{
  for (guint i = 0; i < entry->reads->len; i++)
    {
      gpointer id = GUINT_TO_POINTER (g_array_index (entry->reads, IrValueId, i));
      gint before = GPOINTER_TO_INT (g_hash_table_lookup (run->held, id));
      guint64 bytes = ir_tensor_n_bytes (g_hash_table_lookup (run->values, id));
      g_hash_table_insert (run->held, id, GINT_TO_POINTER (before + by));
      if (before == 0 && by > 0)
        run->bytes += bytes;
      else if (before + by == 0)
        run->bytes -= bytes;
    }
}

/* Of what was there before its nodes, and is no constant */
static void
find_reads (const Run *run, Entry *entry, guint first_value)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);

  for (guint i = 0; i < entry->back->len; i++)
    ir_node_for_each_input ((const IrNode *) entry->back->pdata[i], k, value)
      if (value->id < first_value &&
          (value->initializer == NULL || g_hash_table_contains (run->values, key_of (value))) &&
          ir_value_constant (value) == NULL && contents_of (run, value) != NULL &&
          g_hash_table_add (seen, value))
        g_array_append_val (entry->reads, value->id);
}

/* -- forwards -- */

static gboolean
is_active (const Run *run, const IrNode *node, guint slot)
{
  const IrValue *value = node->inputs[slot];

  return value != NULL && g_hash_table_contains (run->active, key_of (value)) &&
         (ir_dtype_is_float (ir_value_dtype (value)) || ir_vjp_passes_integers (node, slot));
}

static void
activate (Run *run, IrValue *value)
{
  g_hash_table_add (run->active, key_of (value));
  ir_reverse_by (run->activity, value);
}

static gboolean
reads_active (const Run *run, const IrNode *node)
{
  for (guint i = 0; i < node->n_inputs; i++)
    if (is_active (run, node, i))
      return TRUE;
  return FALSE;
}

static const IrGradHooks hooks = { .inline_body = ir_exec_inline_node };

static void
add_new_nodes (const Run *run, guint first, GPtrArray *nodes)
{
  for (guint i = first; i < run->tape->model->nodes->len; i++)
    if (ir_model_live_node (run->tape->model, i) != NULL)
      g_ptr_array_add (nodes, run->tape->model->nodes->pdata[i]);
}

static gboolean
stopped_at (const Run *run, const IrNode *node)
{
  if (run->stop != NULL)
    *run->stop = node->id;
  return FALSE;
}

/* How to go back through @node, as nodes */
static gboolean
push (Run *run, IrNode *node, GError **error)
{
  IrModel *model = run->tape->model;
  g_autoptr (IrReverse) reverse = ir_reverse_new (run->edit, model->main, node->rank, &hooks);
  g_autofree gboolean *wanted = g_new0 (gboolean, node->n_inputs + 1);
  const IrGradRow *row = node->op != NULL ? ir_grad_row (node->op) : NULL;
  Entry *entry = g_new0 (Entry, 1);

  entry->node = node;
  entry->back = g_ptr_array_new ();
  entry->reads = g_array_new (FALSE, FALSE, sizeof (IrValueId));
  entry->dy = g_new0 (IrValue *, node->n_outputs + 1);
  entry->dx = g_new0 (IrValue *, node->n_inputs + 1);
  g_ptr_array_add (run->entries, entry);
  for (guint i = 0; i < node->n_inputs; i++)
    wanted[i] = is_active (run, node, i);
  for (guint i = 0; i < node->n_outputs; i++)
    {
      IrTensor *y = node->outputs[i] != NULL ? contents_of (run, node->outputs[i]) : NULL;
      if (y != NULL && ir_tensor_kind (y) == IR_TYPE_TENSOR &&
          ir_dtype_is_float (ir_tensor_dtype (y)) &&
          (i == 0 || (row != NULL && (row->any_output || ir_grad_has_body (row)))))
        entry->dy[i] = placeholder (run, y);
    }
  guint first_node = model->nodes->len, first_value = node->id != 0 ? model->values->len : 0;
  for (guint i = 0; i < node->n_outputs; i++)
    if (entry->dy[i] != NULL)
      first_value = MIN (first_value, entry->dy[i]->id);
  IrVjp vjp = { .edit = run->edit,
                .node = node,
                .graph = model->main,
                .rank = node->rank,
                .dy = entry->dy,
                .wanted = wanted,
                .dx = entry->dx };
  gboolean any = FALSE;
  for (guint i = 0; i < node->n_outputs; i++)
    any |= entry->dy[i] != NULL;
  if (any && !ir_reverse_node (reverse, &vjp, error))
    return stopped_at (run, node);
  add_new_nodes (run, first_node, entry->back);
  find_reads (run, entry, first_value);
  hold (run, entry, 1);
  return TRUE;
}

/* Slopes by its inputs, where all are numbers */
static gboolean
find_partials (Run *run, const Entry *entry, GError **error)
{
  const IrNode *node = entry->node;

  if (node->outputs[0] == NULL)
    return TRUE;
  IrTapeRow *row = (IrTapeRow *) ir_tape_row (run->tape, node->outputs[0]->id);
  gboolean numbers = is_number (contents_of (run, node->outputs[0])) && entry->dy[0] != NULL &&
                     node->n_outputs == 1;

  for (guint i = 0; i < node->n_inputs; i++)
    numbers &= !is_active (run, node, i) || is_number (contents_of (run, node->inputs[i]));
  if (numbers)
    {
      g_autoptr (IrTensor) one = filled (contents_of (run, node->outputs[0]), 1);
      give (run, entry->dy[0], one);
      if (!evaluate_all (run, entry->back, error))
        return FALSE;
    }
  for (guint i = 0; i < node->n_inputs; i++)
    {
      if (!is_active (run, node, i))
        continue;
      IrTapePartial partial = { .input = node->inputs[i]->id, .slope = numbers ? 0 : NAN };
      if (numbers && entry->dx[i] != NULL)
        partial.slope = ir_tensor_get_double (contents_of (run, entry->dx[i]), 0);
      g_array_append_val (row->partials, partial);
    }
  return TRUE;
}

/* How the results of @node move, in each direction */
static gboolean
move (Run *run, IrNode *node, GError **error)
{
  IrModel *model = run->tape->model;
  g_autoptr (IrForward) forward = ir_forward_new (run->edit, model->main, &hooks);
  g_autoptr (GPtrArray) nodes = g_ptr_array_new (), outputs = g_ptr_array_new ();
  g_autofree IrValue **dx = g_new0 (IrValue *, node->n_inputs + 1);
  guint first = model->nodes->len;

  for (guint i = 0; i < node->n_inputs; i++)
    {
      gboolean again = FALSE;
      for (guint k = 0; k < i; k++)
        again |= node->inputs[k] == node->inputs[i];
      if (!is_active (run, node, i) || again)
        continue;
      dx[i] = placeholder (run, contents_of (run, node->inputs[i]));
      if (!ir_dtype_is_float (ir_value_dtype (dx[i])))
        return TRUE; /* straight through: its tangent is not of the quantized number */
      ir_forward_by (forward, node->inputs[i], dx[i]);
      ir_forward_hold (forward, node->inputs[i]);
    }
  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL)
      g_ptr_array_add (outputs, node->outputs[i]);
  if (!ir_forward_run (forward, (IrValue *const *) outputs->pdata, outputs->len, error))
    return stopped_at (run, node);
  add_new_nodes (run, first, nodes);
  for (guint d = 0; d < run->tape->n_directions; d++)
    {
      for (guint i = 0; i < node->n_inputs; i++)
        if (dx[i] != NULL)
          {
            IrTensor *tangent = g_hash_table_lookup (run->tangents[d], key_of (node->inputs[i]));
            g_autoptr (IrTensor) given = tangent != NULL
                                             ? ir_tensor_ref (tangent)
                                             : filled (contents_of (run, node->inputs[i]), 0);
            give (run, dx[i], given);
          }
      if (!evaluate_all (run, nodes, error))
        return FALSE;
      for (guint i = 0; i < outputs->len; i++)
        {
          IrValue *tangent = ir_forward_tangent (forward, outputs->pdata[i]);
          IrTensor *result = tangent != NULL ? contents_of (run, tangent) : NULL;
          if (result != NULL)
            g_hash_table_replace (run->tangents[d], key_of (outputs->pdata[i]),
                                  ir_tensor_ref (result));
        }
    }
  return TRUE;
}

static gboolean
has_container (const IrNode *node)
{
  ir_node_for_each_input (node, i, value)
    if (ir_type_is_container (value->type))
      return TRUE;
  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL && ir_type_is_container (node->outputs[i]->type))
      return TRUE;
  return FALSE;
}

/* What makes plain nodes of it first, where something can: of an If and of a Loop what decides is constant, of
 * sequences the length is known. */
static const char *
way_round (const IrNode *node, gboolean bodies)
{
  const IrValue *first = ir_node_input (node, 0);

  if (!bodies)
    return ", or take sequences of a known length apart first (split-sequences)";
  if (first == NULL || ir_value_constant (first) == NULL)
    return "";
  return ir_node_is (node, "Loop") ? ", or unroll it first (unroll-loops)"
         : ir_node_is (node, "If") ? ", or take its branch first (simplify-control-flow)"
                                   : "";
}

/* The tape has nodes of one graph, and tensors. */
static gboolean
can_be_recorded (const Run *run, const IrNode *node, gboolean active, GError **error)
{
  const IrGradRow *row = node->op != NULL ? ir_grad_row (node->op) : NULL;
  const gboolean bodies = row != NULL &&
                          ((node->op->flags & IR_OP_SUBGRAPHS) != 0 || row->expand != NULL);
  g_autoptr (GPtrArray) captured = ir_reverse_captured (run->activity, node);
  g_autofree char *label = ir_node_label (node);

  if (ir_grad_mark (node) == IR_GRAD_MARK_STOP || (!active && captured->len == 0) ||
      (!bodies && !has_container (node)))
    return TRUE;
  g_set_error (error, IR_GRAD_ERROR, IR_GRAD_ERROR_NO_RULE,
               "%s: the tape has %s; use --mode reverse or forward, which derive it%s", label,
               bodies ? "no nodes of bodies" : "tensors alone, no sequences",
               way_round (node, bodies));
  return FALSE;
}

static gboolean
run_node (Run *run, IrNode *node, GError **error)
{
  gboolean active = reads_active (run, node) && ir_grad_mark (node) != IR_GRAD_MARK_STOP;

  if (!can_be_recorded (run, node, active, error))
    return stopped_at (run, node);
  if (active)
    {
      g_autoptr (IrReverse)
          reverse = ir_reverse_new (run->edit, run->tape->model->main, node->rank, NULL);
      const IrVjp vjp = {
        .edit = run->edit, .node = node, .graph = run->tape->model->main, .rank = node->rank
      };
      ir_reverse_keep (reverse, &vjp);
    }
  if (!evaluate (run, node, error))
    return FALSE;
  for (guint i = 0; i < node->n_outputs && active; i++)
    if (node->outputs[i] != NULL)
      activate (run, node->outputs[i]);
  if (active && (!push (run, node, error) || !move (run, node, error)))
    return FALSE;
  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL)
      add_row (run, node->outputs[i]);
  if (!active)
    return TRUE;
  add_event (run, IR_TAPE_PUSH, node, node->outputs[0]);
  return find_partials (run, run->entries->pdata[run->entries->len - 1], error);
}

/* -- backwards -- */

/* @part comes to @value. */
static gboolean
accumulate (Run *run, const IrNode *node, IrValue *value, IrTensor *part, GError **error)
{
  IrTensor *before = g_hash_table_lookup (run->adjoints, key_of (value));
  g_autoptr (IrTensor) sum = ir_tensor_ref (part);
  IrTapeRow *row = (IrTapeRow *) ir_tape_row (run->tape, value->id);

  if (before != NULL)
    {
      IrValue *terms[2] = { placeholder (run, before), placeholder (run, part) };
      IrNode *add = ir_edit_add_node (run->edit, run->tape->model->main, "Add", "", NULL, 2, terms,
                                      1);
      give (run, terms[0], before);
      give (run, terms[1], part);
      if (!evaluate (run, add, error))
        return FALSE;
      g_clear_pointer (&sum, ir_tensor_unref);
      sum = ir_tensor_ref (contents_of (run, add->outputs[0]));
    }
  g_hash_table_replace (run->adjoints, key_of (value), ir_tensor_ref (sum));
  if (row != NULL)
    g_ptr_array_add (row->adjoints, ir_tensor_ref (sum));
  if (before != NULL)
    add_event (run, IR_TAPE_ACCUMULATE, node, value);
  return TRUE;
}

static gboolean
pop (Run *run, const Entry *entry, GError **error)
{
  const IrNode *node = entry->node;
  gboolean any = FALSE;

  hold (run, entry, -1);
  for (guint i = 0; i < node->n_outputs; i++)
    any |= node->outputs[i] != NULL &&
           g_hash_table_contains (run->adjoints, key_of (node->outputs[i]));
  add_event (run, IR_TAPE_POP, node, node->outputs[0]);
  if (!any)
    return TRUE;
  for (guint i = 0; i < node->n_outputs; i++)
    if (entry->dy[i] != NULL)
      {
        IrTensor *adjoint = g_hash_table_lookup (run->adjoints, key_of (node->outputs[i]));
        g_autoptr (IrTensor) given = adjoint != NULL
                                         ? ir_tensor_ref (adjoint)
                                         : filled (contents_of (run, node->outputs[i]), 0);
        give (run, entry->dy[i], given);
      }
  if (!evaluate_all (run, entry->back, error))
    return FALSE;
  for (guint i = 0; i < node->n_inputs; i++)
    if (entry->dx[i] != NULL &&
        !accumulate (run, node, node->inputs[i], contents_of (run, entry->dx[i]), error))
      return FALSE;
  return TRUE;
}

/* -- all of it -- */

/* The first thing that is derived by, and what it is told by each direction */
static void
seed (Run *run, GHashTable *inputs)
{
  IrTape *tape = run->tape;
  gboolean numbers = tape->by->len <= MAX_DIRECTIONS;

  for (guint i = 0; i < tape->by->len; i++)
    {
      IrValue *value = ir_model_value (tape->model, g_array_index (tape->by, IrValueId, i));
      activate (run, value);
      numbers &= is_number (contents_of (run, value));
    }
  tape->n_directions = numbers ? tape->by->len : 1;
  run->tangents = g_new0 (GHashTable *, tape->n_directions + 1);
  for (guint d = 0; d < tape->n_directions; d++)
    {
      run->tangents[d] = new_tensors ();
      for (guint i = 0; i < tape->by->len; i++)
        {
          IrValue *value = ir_model_value (tape->model, g_array_index (tape->by, IrValueId, i));
          if (contents_of (run, value) != NULL)
            g_hash_table_insert (run->tangents[d], key_of (value),
                                 filled (contents_of (run, value), !numbers || i == d));
        }
    }
  for (guint i = 0; i < tape->by->len; i++)
    add_row (run, ir_model_value (tape->model, g_array_index (tape->by, IrValueId, i)));
}

static gboolean
play (Run *run, GError **error)
{
  IrTape *tape = run->tape;
  IrValue *of = ir_model_value (tape->model, tape->of);
  g_autoptr (GHashTable) needed = ir_reverse_sources (run->activity, of);
  g_autoptr (GPtrArray) order = g_ptr_array_new ();
  guint n;
  IrNode *const *nodes = ir_graph_order (tape->model->main, &n);

  for (guint i = 0; i < n; i++)
    if (g_hash_table_contains (needed, nodes[i]))
      g_ptr_array_add (order, nodes[i]);
  for (guint i = 0; i < order->len; i++)
    if (!run_node (run, order->pdata[i], error))
      return FALSE;
  tape->n_pushed = tape->events->len;
  if (contents_of (run, of) == NULL)
    return TRUE;
  g_autoptr (IrTensor) one = filled (contents_of (run, of), 1);
  add_event (run, IR_TAPE_SEED, of->producer, of);
  if (!accumulate (run, of->producer, of, one, error))
    return FALSE;
  for (guint i = run->entries->len; i-- > 0;)
    if (!pop (run, run->entries->pdata[i], error))
      return FALSE;
  return TRUE;
}

static void
take_inputs (Run *run, GHashTable *inputs)
{
  const IrGraph *graph = run->tape->model->main;
  GHashTableIter iter;
  gpointer id, tensor;

  for (guint i = 0; i < ir_graph_n_inputs (graph); i++)
    if (ir_value_is_default (ir_graph_input (graph, i)))
      give (run, ir_graph_input (graph, i), ir_graph_input (graph, i)->initializer);
  g_hash_table_iter_init (&iter, inputs);
  while (g_hash_table_iter_next (&iter, &id, &tensor))
    {
      IrValue *value = ir_model_value (run->tape->model, GPOINTER_TO_UINT (id));
      g_hash_table_insert (run->values, id, ir_tensor_ref (tensor));
      if (value != NULL && ir_tensor_kind (tensor) == IR_TYPE_TENSOR)
        ir_edit_set_type (run->edit, value, ir_tensor_type (tensor, run->tape->model->context));
    }
}

/**
 * ir_tape_run:
 * @model: a model of opset 13 or newer, whose types are known
 * @inputs: value id -> #IrTensor for its inputs
 * @of: what is derived, a value of its main graph
 * @by: (element-type IrValue): by what; inputs and parameters
 * @options: limits
 * @stop: (out) (optional): the node that could not be derived; 0: there is none
 * @error: return location for an error
 *
 * Runs what leads to @of on reference kernels, recording, and plays it back. Fails with
 * %IR_GRAD_ERROR_NO_RULE where a node cannot be derived, and where it cannot be run.
 *
 * Returns: (transfer full) (nullable): what happened
 */
IrTape *
ir_tape_run (IrModel *model,
             GHashTable *inputs,
             const IrValue *of,
             const GPtrArray *by,
             const IrTapeOptions *options,
             IrNodeId *stop,
             GError **error)
{
  g_autoptr (IrTape) tape = g_new0 (IrTape, 1);
  g_auto (Run) run = { .tape = tape, .options = options, .stop = stop };

  if (stop != NULL)
    *stop = 0;
  tape->of = of->id;
  tape->rows = g_array_new (FALSE, FALSE, sizeof (IrTapeRow));
  g_array_set_clear_func (tape->rows, clear_row);
  tape->events = g_array_new (FALSE, FALSE, sizeof (IrTapeEvent));
  tape->by = g_array_new (FALSE, FALSE, sizeof (IrValueId));
  for (guint i = 0; i < by->len; i++)
    g_array_append_val (tape->by, ((const IrValue *) by->pdata[i])->id);
  if ((tape->model = ir_exec_expand (model, error)) == NULL)
    return NULL;
  run.edit = ir_edit_new_import (tape->model);
  run.activity = ir_reverse_new (run.edit, tape->model->main, 0, NULL);
  run.values = new_tensors ();
  run.adjoints = new_tensors ();
  run.active = g_hash_table_new (NULL, NULL);
  run.held = g_hash_table_new (NULL, NULL);
  tape->places = g_hash_table_new (NULL, NULL);
  run.entries = g_ptr_array_new_with_free_func (free_entry);
  take_inputs (&run, inputs);
  seed (&run, inputs);
  if (!play (&run, error))
    return NULL;
  return g_steal_pointer (&tape);
}
