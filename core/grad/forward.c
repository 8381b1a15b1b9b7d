/* Forward accumulation: each value x on the way becomes a dual number, x and its tangent.
 *
 *   y = Sin (x)               y = Sin (x)
 *   z = MatMul (y, w)   ->    y' = Mul (x', Cos (x))                    pointwise
 *                             z = MatMul (y, w)
 *                             z' = Sum (MatMul (y', w), MatMul (y, w')) linear = "Ab aB"
 *
 * x' has the shape of x; what does not depend on what is derived by has none, and costs no node. The tangent
 * of a node is found in one of four ways, the first that its row allows:
 *
 *   its body      a call becomes the nodes of its function, and so do products where the forward part may
 *                 round in another way; any other is computed once more by its body. These nodes
 *                 are derived in turn
 *   linear        words of letters, one per product: of tangents of inputs (A, B ..), inputs as they
 *                 are (a, b ..) or are left out (.); "*" is all of them, "+" those with a tangent, "each"
 *                 one word per input. The node itself, on these, and the sum of all words. An optional
 *                 input that several words have goes into the first whose product has a tangent.
 *   pointwise     the expressions of the GRAD column: each element of the result depends on those at
 *                 its place alone, so that a rule is its own transpose
 *   transposed    the vjp is linear in its cotangent v, hence y' is the derivative of <vjp (v), x'> by
 *                 v; what depends on v alone goes away
 *
 * Sources: Griewank and Walther, Evaluating Derivatives, chapter 3; for the last, Christianson 2018,
 * and Townsend's "double vjp". */
#include "config.h"

#include "core/grad/emit.h"
#include "core/grad/forward.h"
#include "core/ir/grad-mark.h"
#include "core/ir/inline.h"
#include "core/op/infer.h"
#include "core/op/op.h"

#include <string.h>

#define MAX_WORDS 4

struct _IrForward
{
  IrEdit *edit;
  IrGraph *graph;
  IrGradHooks hooks;
  GPtrArray *by, *held; /* of IrValue */
  GHashTable *tangents; /* IrValue -> IrValue (nullable): ones */
};

/* -- the derivation -- */

/**
 * ir_forward_new:
 * @edit: an edit; types of values are inferred
 * @graph: where values are derived
 * @hooks: (nullable): what to do around each part
 *
 * Returns: (transfer full): a derivation that begins
 */
IrForward *
ir_forward_new (IrEdit *edit, IrGraph *graph, const IrGradHooks *hooks)
{
  IrForward *forward = g_new0 (IrForward, 1);

  forward->edit = edit;
  forward->graph = graph;
  if (hooks != NULL)
    forward->hooks = *hooks;
  forward->by = g_ptr_array_new ();
  forward->held = g_ptr_array_new ();
  forward->tangents = g_hash_table_new (NULL, NULL);
  return forward;
}

/**
 * ir_forward_free:
 * @forward: (transfer full): a derivation
 */
void
ir_forward_free (IrForward *forward)
{
  g_ptr_array_unref (forward->by);
  g_ptr_array_unref (forward->held);
  g_hash_table_unref (forward->tangents);
  g_free (forward);
}

/**
 * ir_forward_by:
 * @forward: a derivation
 * @value: what it is derived by
 * @tangent: (nullable): how, in its type; %NULL: each element by 1
 */
void
ir_forward_by (IrForward *forward, IrValue *value, IrValue *tangent)
{
  g_ptr_array_add (forward->by, value);
  g_hash_table_insert (forward->tangents, value, tangent);
}

/**
 * ir_forward_hold:
 * @forward: a derivation
 * @value: what has no tangent, whatever it is computed from
 */
void
ir_forward_hold (IrForward *forward, IrValue *value)
{
  g_ptr_array_add (forward->held, value);
}

/**
 * ir_forward_tangent:
 * @forward: a derivation that has run
 * @value: a value
 *
 * Returns: (nullable): its tangent; %NULL: 0
 */
IrValue *
ir_forward_tangent (const IrForward *forward, const IrValue *value)
{
  return g_hash_table_lookup (forward->tangents, value);
}

static gboolean
begin (const IrForward *forward, const char *rule, const IrNode *anchor)
{
  return forward->hooks.begin == NULL || forward->hooks.begin (rule, anchor, forward->hooks.data);
}

static void
end (const IrForward *forward)
{
  if (forward->hooks.end != NULL)
    forward->hooks.end (forward->hooks.data);
}

/* -- one node -- */

typedef IrDual Dual;

/* The sum of @parts, in the shape of @like; (nullable) where there is none. */
static IrValue *
sum_of (const Dual *dual, const GPtrArray *parts, IrValue *like)
{
  const IrVjp *emit = &dual->emit;
  IrValue *sum;

  if (parts->len == 0)
    return NULL;
  sum = parts->len > 1 ? ir_emit (emit, "Sum", parts->len, (IrValue *const *) parts->pdata)
                       : parts->pdata[0];
  if (ir_type_is_container (like->type))
    return sum;
  if (sum->type != NULL && like->type != NULL && ir_type_has_rank (sum->type) &&
      sum->type->rank == like->type->rank &&
      memcmp (sum->type->dims, like->type->dims,
              (gsize) MAX (sum->type->rank, 0) * sizeof *sum->type->dims) == 0 &&
      ir_type_is_static (sum->type))
    return sum;
  return ir_emit2 (emit, "Expand", sum, ir_emit_shape (emit, like));
}

static void
move_pointwise (Dual *dual)
{
  g_autoptr (GPtrArray) parts = g_ptr_array_new ();

  for (guint i = 0; i < dual->node->n_inputs; i++)
    {
      IrVjp at = dual->emit;
      if (dual->tangents[i] == NULL)
        continue;
      at.dy = &dual->tangents[i];
      IrValue *part = ir_vjp_pointwise (&at, i);
      if (part != NULL)
        g_ptr_array_add (parts, part);
    }
  dual->results[0] = sum_of (dual, parts, dual->node->outputs[0]);
}

/* -- linear: the node itself, on tangents -- */

typedef struct
{
  IrValue **inputs;
  guint n;
  gboolean *given; /* per input: a word before has it */
} Word;

static gboolean
moves_in (const Dual *dual, const char *word, gboolean needed)
{
  const guint length = (guint) strlen (word);

  for (guint i = 0; i < dual->node->n_inputs; i++)
    if (dual->tangents[i] != NULL &&
        (*word == '*' || *word == '+' || (i < length && g_ascii_isupper (word[i]))) &&
        (!needed || *word == '*' || *word == '+' || i < (guint) dual->node->op->in.min))
      return TRUE;
  return FALSE;
}

/* All inputs, with zeros for what does not move, or only those that do */
static void
fill_all (const Dual *dual, gboolean zeros, Word *word)
{
  word->n = 0;
  for (guint i = 0; i < dual->node->n_inputs; i++)
    if (dual->tangents[i] != NULL)
      word->inputs[word->n++] = dual->tangents[i];
    else if (zeros)
      word->inputs[word->n++] = ir_emit_filled (&dual->emit, dual->node->inputs[i], 0);
}

/* By letters; a zero stands only for what the operator cannot do without. */
static void
fill_letters (const Dual *dual, const char *letters, Word *word)
{
  const IrNode *node = dual->node;
  const guint length = (guint) strlen (letters);

  word->n = 0;
  for (guint i = 0; i < node->n_inputs; i++)
    {
      char letter = i < length ? letters[i] : '.';
      word->inputs[i] = NULL;
      if (g_ascii_islower (letter))
        word->inputs[i] = node->inputs[i];
      else if (g_ascii_isupper (letter) && dual->tangents[i] != NULL && !word->given[i])
        word->inputs[i] = dual->tangents[i];
      else if (g_ascii_isupper (letter) && node->inputs[i] != NULL && i < (guint) node->op->in.min)
        word->inputs[i] = ir_emit_filled (&dual->emit, node->inputs[i], 0);
      word->given[i] |= g_ascii_isupper (letter);
      if (word->inputs[i] != NULL)
        word->n = i + 1;
    }
}

static void
add_product (Dual *dual, guint n, IrValue *const *inputs, GPtrArray *const *parts)
{
  const IrNode *node = dual->node;
  IrNode *again = ir_edit_add_node (dual->emit.edit, dual->emit.graph, node->op_type, node->domain,
                                    NULL, n, inputs, node->n_outputs);

  const IrGradRow *row = ir_grad_row (node->op);

  for (guint i = 0; i < node->n_attrs; i++)
    if (row->adds == NULL || strcmp (node->attrs[i]->name, row->adds) != 0)
      ir_edit_set_attr (dual->emit.edit, again, node->attrs[i]);
  ir_edit_set_rank (dual->emit.edit, again, dual->emit.rank);
  ir_infer_node (dual->emit.edit, again, NULL);
  for (guint i = 0; i < node->n_outputs; i++)
    g_ptr_array_add (parts[i], again->outputs[i]);
}

static void
add_words (Dual *dual, const char *linear, GPtrArray *const *parts)
{
  g_auto (GStrv) words = g_strsplit (linear, " ", MAX_WORDS);
  g_autofree IrValue **inputs = g_new0 (IrValue *, dual->node->n_inputs + 1);
  g_autofree gboolean *given = g_new0 (gboolean, dual->node->n_inputs + 1);
  Word word = { .inputs = inputs, .given = given };
  gboolean any = FALSE;

  for (guint i = 0; words[i] != NULL; i++)
    any |= moves_in (dual, words[i], TRUE);
  for (guint i = 0; words[i] != NULL; i++)
    {
      if (any ? !moves_in (dual, words[i], TRUE) : i > 0)
        continue;
      if (*words[i] == '*' || *words[i] == '+')
        fill_all (dual, *words[i] == '*', &word);
      else
        fill_letters (dual, words[i], &word);
      add_product (dual, word.n, word.inputs, parts);
    }
}

/* Linear in each input by itself */
static void
add_each (Dual *dual, GPtrArray *const *parts)
{
  const IrNode *node = dual->node;
  g_autofree IrValue **inputs = g_memdup2 (node->inputs, (node->n_inputs + 1) * sizeof (IrValue *));

  for (guint i = 0; i < node->n_inputs; i++)
    if (dual->tangents[i] != NULL)
      {
        inputs[i] = dual->tangents[i];
        add_product (dual, node->n_inputs, inputs, parts);
        inputs[i] = node->inputs[i];
      }
}

/* Does the result depend linearly on all that moves? */
static gboolean
is_linear_in_all (const Dual *dual, const char *linear)
{
  g_auto (GStrv) words = g_strsplit (linear, " ", MAX_WORDS);

  for (guint i = 0; i < dual->node->n_inputs; i++)
    {
      gboolean found = dual->tangents[i] == NULL || strcmp (linear, "each") == 0;
      for (guint k = 0; words[k] != NULL && !found; k++)
        found = strchr ("*+", words[k][0]) != NULL ||
                (i < strlen (words[k]) && g_ascii_isupper (words[k][i]));
      if (!found)
        return FALSE;
    }
  return TRUE;
}

static void
move_linear (Dual *dual, const char *linear)
{
  const IrNode *node = dual->node;
  g_autofree GPtrArray **parts = g_new0 (GPtrArray *, node->n_outputs + 1);

  for (guint i = 0; i < node->n_outputs; i++)
    parts[i] = g_ptr_array_new ();
  if (strcmp (linear, "each") == 0)
    add_each (dual, parts);
  else
    add_words (dual, linear, parts);
  for (guint i = 0; i < node->n_outputs; i++)
    {
      if (node->outputs[i] != NULL)
        dual->results[i] = sum_of (dual, parts[i], node->outputs[i]);
      g_ptr_array_unref (parts[i]);
    }
}

/* -- transposed -- */

/* The cotangent that stands for any: in the type of the output, or of the scale that quantizes. */
static IrValue *
cotangent_of (const Dual *dual, IrValue *y)
{
  const IrNode *node = dual->node;
  IrDtype dtype = ir_value_dtype (y);

  if (!ir_dtype_is_float (dtype) && ir_op_is (node, IR_OP_QUANTIZE_LINEAR))
    dtype = ir_value_dtype (node->inputs[1]);
  return ir_emit_filled (&dual->emit, ir_emit_cast (&dual->emit, y, dtype), 0);
}

/* Those whose derivatives the rule takes, and that are floating-point */
static gboolean
moves_at_all (const Dual *dual, guint output)
{
  const IrNode *node = dual->node;
  const IrGradRow *row = node->op != NULL ? ir_grad_row (node->op) : NULL;
  const IrValue *y = node->outputs[output];

  if (y == NULL || (output > 0 && (row == NULL || !row->any_output)))
    return FALSE;
  return ir_dtype_is_float (ir_value_dtype (y)) ||
         (output == 0 && ir_op_is (node, IR_OP_QUANTIZE_LINEAR));
}

static gboolean
move_transposed (Dual *dual, GError **error)
{
  const IrNode *node = dual->node;
  IrModel *model = ir_edit_model (dual->emit.edit);
  const IrGradHooks inner_hooks = { .inline_body = dual->forward->hooks.inline_body,
                                    .data = dual->forward->hooks.data };
  g_autoptr (IrReverse)
      rule = ir_reverse_new (dual->emit.edit, dual->emit.graph, dual->emit.rank, &inner_hooks);
  g_autoptr (IrReverse)
      back = ir_reverse_new (dual->emit.edit, dual->emit.graph, dual->emit.rank, &inner_hooks);
  g_autofree IrValue **v = g_new0 (IrValue *, node->n_outputs + 1);
  g_autofree IrValue **dx = g_new0 (IrValue *, node->n_inputs + 1);
  g_autofree gboolean *wanted = g_new0 (gboolean, node->n_inputs + 1);
  g_autoptr (GPtrArray) path = g_ptr_array_new ();
  IrVjp vjp = dual->emit;

  for (guint i = 0; i < node->n_outputs; i++)
    if (moves_at_all (dual, i))
      {
        v[i] = cotangent_of (dual, node->outputs[i]);
        ir_reverse_by (back, v[i]);
      }
  guint first = model->nodes->len;
  for (guint i = 0; i < node->n_inputs; i++)
    wanted[i] = dual->tangents[i] != NULL;
  vjp.dy = v;
  vjp.dx = dx;
  vjp.wanted = wanted;
  if (!ir_reverse_node (rule, &vjp, error))
    return FALSE;
  for (guint i = 0; i < node->n_inputs; i++)
    if (dx[i] != NULL)
      ir_reverse_give (back, dx[i], dual->tangents[i]);
  for (guint i = first; i < model->nodes->len; i++)
    if (ir_model_live_node (model, i) != NULL)
      g_ptr_array_add (path, model->nodes->pdata[i]);
  if (!ir_reverse_run (back, NULL, NULL, (IrNode *const *) path->pdata, path->len, error))
    {
      g_autofree char *label = ir_node_label (node);
      g_prefix_error (error, "%s, whose derivative is turned round: ", label);
      return FALSE;
    }
  for (guint i = 0; i < node->n_outputs; i++)
    if (v[i] != NULL)
      dual->results[i] = ir_reverse_gradient (back, v[i]);
  return TRUE;
}

/* -- by its body -- */

static gboolean move_node (IrForward *forward, IrNode *node, GError **error);

gboolean
ir_forward_each (IrForward *forward, const GPtrArray *path, GError **error)
{
  for (guint i = 0; i < path->len; i++)
    if (!move_node (forward, path->pdata[i], error))
      return FALSE;
  return TRUE;
}

/* A call becomes the nodes of its function, so that nothing is computed twice. */
static gboolean
move_call (Dual *dual, GError **error)
{
  IrModel *model = ir_edit_model (dual->emit.edit);
  const guint first = model->nodes->len;
  g_autoptr (GPtrArray) path = g_ptr_array_new ();

  if (!dual->forward->hooks.inline_body (dual->emit.edit, dual->node, dual->forward->hooks.data,
                                         error))
    return FALSE;
  for (guint i = first; i < model->nodes->len; i++)
    {
      IrNode *part = ir_model_live_node (model, i);
      if (part == NULL || part->graph != dual->emit.graph)
        continue;
      ir_edit_set_rank (dual->emit.edit, part, dual->emit.rank);
      ir_infer_node (dual->emit.edit, part, NULL);
      g_ptr_array_add (path, part);
    }
  return ir_forward_each (dual->forward, path, error);
}

/**
 * ir_forward_opens:
 * @node: a node
 *
 * Returns: whether its products stand in nodes that are derived in its place, which compute them too
 */
gboolean
ir_forward_opens (const IrNode *node)
{
  const IrGradRow *row = node->op != NULL ? ir_grad_row (node->op) : NULL;

  return row != NULL && (ir_grad_has_body (row) || (row->dual != NULL && node->n_inputs > 2)) &&
         ir_grad_mark (node) == IR_GRAD_MARK_PLAIN &&
         (node->op->family == IR_FAMILY_LINEAR || node->op->family == IR_FAMILY_FUSED);
}

static gboolean
move_body (Dual *dual, GError **error)
{
  const IrNode *node = dual->node;
  g_autoptr (IrReverse) reverse = ir_reverse_new (dual->emit.edit, dual->emit.graph,
                                                  dual->emit.rank, &dual->forward->hooks);
  g_autofree IrValue **outputs = NULL;
  g_autoptr (GPtrArray) path = ir_reverse_open_body (reverse, node, &outputs, error);

  if (path == NULL || !ir_forward_each (dual->forward, path, error))
    return FALSE;
  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL)
      dual->results[i] = ir_forward_tangent (dual->forward, outputs[i]);
  for (guint i = 0; i < node->n_outputs && dual->forward->hooks.opens && ir_forward_opens (node);
       i++)
    dual->values[i] = outputs[i];
  return TRUE;
}

/* -- which of them -- */

static gboolean
move_straight_through (Dual *dual, GError **error)
{
  const IrValue *x = ir_node_input (dual->node, 0), *y = ir_node_output (dual->node, 0);

  if (x == NULL || y == NULL || x->type == NULL || y->type == NULL ||
      x->type->rank != y->type->rank)
    return ir_emit_fail (&dual->emit, error,
                         "it is marked straight-through, which needs a first input with the shape "
                         "of the first output");
  if (dual->tangents[0] != NULL)
    dual->results[0] = ir_emit_cast (&dual->emit, dual->tangents[0], ir_value_dtype (y));
  return TRUE;
}

static gboolean
find_results (Dual *dual, GError **error)
{
  const IrNode *node = dual->node;
  const IrGradRow *row = node->op != NULL ? ir_grad_row (node->op) : NULL;
  gboolean can_open = dual->forward->hooks.inline_body != NULL;

  if (ir_grad_mark (node) == IR_GRAD_MARK_STRAIGHT_THROUGH)
    return move_straight_through (dual, error);
  if (ir_node_function (node) != NULL && can_open)
    return move_call (dual, error);
  if (row != NULL && row->zero)
    return TRUE;
  if (ir_grad_has_body (row) && (can_open || row->expand != NULL))
    return move_body (dual, error);
  if (row != NULL && row->dual != NULL && (row->linear == NULL || ir_forward_opens (node)))
    return row->dual (dual, error);
  if (row != NULL && row->linear != NULL && is_linear_in_all (dual, row->linear))
    return move_linear (dual, row->linear), TRUE;
  if (ir_vjp_is_pointwise (node))
    return move_pointwise (dual), TRUE;
  return move_transposed (dual, error);
}

/* How its inputs move; FALSE: none does, or nothing comes of it. */
static gboolean
find_moves (Dual *dual)
{
  const IrNode *node = dual->node;
  gboolean any = FALSE;

  for (guint i = 0; i < node->n_inputs; i++)
    {
      IrValue *input = node->inputs[i];
      if (input != NULL && (ir_emit_is_float (input) || ir_vjp_passes_integers (node, i)))
        dual->tangents[i] = ir_forward_tangent (dual->forward, input);
      any |= dual->tangents[i] != NULL;
    }
  return any || dual->emit.n_captured > 0;
}

/* (transfer container): what its subgraphs read, and that has a tangent */
static GPtrArray *
find_captured (const IrForward *forward, const IrNode *node)
{
  GPtrArray *captured = ir_grad_captured (node);

  for (guint i = captured->len; i-- > 0;)
    if (ir_forward_tangent (forward, captured->pdata[i]) == NULL)
      g_ptr_array_remove_index (captured, i);
  return captured;
}

static gboolean
has_results (const Dual *dual)
{
  for (guint i = 0; i < dual->node->n_outputs; i++)
    if (dual->results[i] != NULL)
      return TRUE;
  return FALSE;
}

static gboolean
is_empty (const IrNode *node)
{
  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL)
      return FALSE;
  return TRUE;
}

/* What its tangent is made of gives its outputs, too, so that nothing is computed twice: it goes. */
static void
take_place (const Dual *dual, guint first_node)
{
  IrEdit *edit = dual->emit.edit;
  IrNode *node = dual->node;

  for (guint i = 0; i < node->n_outputs; i++)
    {
      IrValue *y = node->outputs[i], *other = y != NULL ? dual->values[i] : NULL;
      IrNode *part = other != NULL ? other->producer : NULL;
      if (part == NULL || part->state != IR_STATE_LIVE || part->graph != node->graph ||
          part->id < first_node || other->type != y->type)
        continue;
      const guint slot = other->output_slot;
      ir_edit_replace_uses (edit, other, y);
      ir_edit_set_output (edit, part, slot, y);
    }
  if (is_empty (node))
    ir_edit_remove_node (edit, node);
}

static void
keep_results (const Dual *dual)
{
  const IrNode *node = dual->node;

  for (guint i = 0; i < node->n_outputs; i++)
    {
      IrValue *y = node->outputs[i];
      if (y == NULL || dual->results[i] == NULL ||
          g_ptr_array_find (dual->forward->held, y, NULL) ||
          (!ir_emit_is_float (y) && !ir_op_is (node, IR_OP_QUANTIZE_LINEAR)))
        continue;
      IrValue *own = ir_forward_tangent (dual->forward, y); /* it is derived by itself, too */
      g_hash_table_insert (dual->forward->tangents, y,
                           own != NULL ? ir_emit_add (&dual->emit, own, dual->results[i])
                                       : dual->results[i]);
    }
}

static gboolean
move_node (IrForward *forward, IrNode *node, GError **error)
{
  g_autofree IrValue **tangents = g_new0 (IrValue *, node->n_inputs + node->n_outputs + 1);
  g_autofree IrValue **results = g_new0 (IrValue *, 2 * node->n_outputs + 1);
  g_autofree gboolean *wanted = g_new0 (gboolean, node->n_inputs + 1);
  IrValue **values = results + node->n_outputs; /* both are kept */
  g_autoptr (GPtrArray) captured = find_captured (forward, node);
  Dual dual = { .forward = forward,
                .node = node,
                .emit = { .edit = forward->edit,
                          .node = node,
                          .graph = forward->graph,
                          .rank = node->rank,
                          .wanted = wanted,
                          .n_captured = captured->len,
                          .captured = (IrValue *const *) captured->pdata,
                          .inline_body = forward->hooks.inline_body,
                          .inline_data = forward->hooks.data },
                .tangents = tangents,
                .results = results,
                .values = values };
  const guint first_node = ir_edit_model (forward->edit)->nodes->len;
  const guint first_value = ir_edit_model (forward->edit)->values->len;

  if (ir_grad_mark (node) == IR_GRAD_MARK_STOP || !find_moves (&dual))
    return TRUE;
  for (guint i = 0; i < node->n_inputs; i++)
    wanted[i] = tangents[i] != NULL;
  dual.emit.dy = tangents; /* numbers have the type of tangents */
  if (!find_results (&dual, error))
    return FALSE;
  if (node->state != IR_STATE_LIVE) /* a call: its values are those of its last nodes */
    return TRUE;
  if (!has_results (&dual) || (ir_forward_opens (node) && !forward->hooks.opens))
    memset (values, 0, node->n_outputs * sizeof *values);
  ir_emit_sweep (forward->edit, first_node, first_value, results, 2 * node->n_outputs);
  keep_results (&dual);
  take_place (&dual, first_node);
  return TRUE;
}

/* -- all nodes between -- */

static gboolean
seed_all (IrForward *forward)
{
  const IrValue *first = forward->by->len > 0 ? forward->by->pdata[0] : NULL;

  if (first == NULL || !begin (forward, ir_grad_rule_SEED, first->producer))
    return FALSE;
  for (guint i = 0; i < forward->by->len; i++)
    {
      IrValue *value = forward->by->pdata[i];
      IrVjp emit = { .edit = forward->edit,
                     .node = value->producer,
                     .graph = forward->graph,
                     .rank = value->producer != NULL ? value->producer->rank : 0 };
      if (ir_forward_tangent (forward, value) == NULL)
        g_hash_table_insert (forward->tangents, value, ir_emit_filled (&emit, value, 1));
    }
  end (forward);
  return TRUE;
}

static gboolean
derive_node (IrForward *forward, const IrReverse *activity, IrNode *node, GError **error)
{
  const IrVjp emit = {
    .edit = forward->edit, .node = node, .graph = forward->graph, .rank = node->rank
  };

  if (ir_grad_mark (node) == IR_GRAD_MARK_STOP)
    return TRUE;
  ir_reverse_keep (activity, &emit);
  if (!begin (forward, ir_grad_rule_TANGENT, node))
    return TRUE;
  gboolean done = move_node (forward, node, error);
  end (forward);
  return done;
}

/**
 * ir_forward_run:
 * @forward: a derivation that knows what it is by
 * @of: (array length=n_of): what is derived
 * @n_of: how many
 * @error: return location for an error
 *
 * Visits what lies between, in order. Fails with %IR_GRAD_ERROR_NO_RULE, naming the node, where one
 * cannot be derived.
 *
 * Returns: %TRUE if the tangent of each of @of is known
 */
gboolean
ir_forward_run (IrForward *forward, IrValue *const *of, guint n_of, GError **error)
{
  g_autoptr (IrReverse)
      activity = ir_reverse_new (forward->edit, forward->graph, 0, &forward->hooks);

  for (guint i = 0; i < forward->by->len; i++)
    ir_reverse_by (activity, forward->by->pdata[i]);
  for (guint i = 0; i < forward->held->len; i++)
    ir_reverse_hold (activity, forward->held->pdata[i]);
  g_autoptr (GPtrArray) path = ir_reverse_path (activity, of, n_of);
  if (!seed_all (forward))
    return TRUE;
  for (guint i = 0; i < path->len; i++)
    if (!derive_node (forward, activity, path->pdata[i], error))
      return FALSE;
  return TRUE;
}
