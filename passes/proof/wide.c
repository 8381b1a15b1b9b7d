/* A cone in float64, and how far rounding may take each of its elements from that.
 *
 * A running error analysis (Higham, Accuracy and Stability of Numerical Algorithms, 2002, chapter
 * 3): every value has a bound of the error of each of its elements, made from those of the inputs
 * of its node and from what the node itself rounds. It depends on the graph, the contents and the
 * element types, not on the machine, nor on the order in which a kernel sums.
 *
 * Sums of products: an operator that is bounded by itself on magnitudes (IR_OP_SUMS) gives
 * S = sum |a| |b| there, and S' with the inputs' bounds added: what comes in adds S' - S. Of the F
 * operations of an element half are additions, each of which rounds by at most u times the partial
 * sum M that it makes. Where these errors are independent they grow as u sqrt (F) S (Higham and
 * Mary, A new approach to probabilistic rounding error analysis, 2019); where they are not, as with
 * constant contents, u (F / 2) M is reached. The sum over half of the elements of the first input,
 * drawn at random, and the whole stand for M. Where these are as small as a random walk leaves them
 * the terms have neither sign nor size in common, and the errors are independent.
 *
 * Others: each floating-point input is moved by its bound, up or down element by element; where
 * sums are inside, by F u of its magnitude as well: what is computed is exact for inputs that near.
 * So are the values that bodies capture, with the F of all nodes of the bodies and iterations. The
 * tolerance of the row is added.
 */
#include "config.h"

#include "passes/proof/proof-private.h"
#include "passes/proof/gradcheck.h"

#include "core/op/infer.h"
#include "core/exec/check/difference.h"

#include <float.h>
#include <math.h>

#define MAX_DEPTH      500   /* nodes between a value of a cone and the nearest captured one */
#define FEW            8     /* operations of an element whose errors are simply added */
#define WALK           4     /* deviations that a random walk is taken to end within */
#define N_MOVES        4     /* of an input whose elements meet in one element of the output */
#define MAX_ITERATIONS 10000 /* that are taken to add to what a body rounds */

static void
unref_bound (gpointer bound)
{
  if (bound != NULL)
    ir_tensor_unref (bound);
}

void
ir_wide_init (IrWide *wide, IrProver *prover, IrScope *scope, const IrModel *given)
{
  *wide = (IrWide){ .prover = prover, .scope = scope, .given = given };
  wide->values = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);
  wide->bounds = g_hash_table_new_full (NULL, NULL, NULL, unref_bound);
}

void
ir_wide_clear (IrWide *wide)
{
  g_clear_pointer (&wide->values, g_hash_table_unref);
  g_clear_pointer (&wide->bounds, g_hash_table_unref);
  g_clear_error (&wide->error);
  g_clear_pointer (&wide->widened, ir_model_unref);
}

/* -- contents -- */

static const IrTensor *
outer_value (const IrValue *value, gpointer data)
{
  IrWide *wide = data;

  if (wide->outer != NULL && value->id == wide->outer->id)
    return wide->outer_moved;
  return ir_wide_value (wide, value, wide->error == NULL ? &wide->error : NULL);
}

/* What bodies compute is kept in float64, too: constants, casts and types. */
static const IrNode *
with_wide_bodies (IrWide *wide, const IrNode *node)
{
  const IrNode *twin;

  if (node->op == NULL || !(node->op->flags & IR_OP_SUBGRAPHS))
    return node;
  if (wide->widened == NULL)
    wide->widened = ir_model_widen (node->graph->model);
  twin = ir_model_live_node (wide->widened, node->id);
  return twin != NULL ? twin : node;
}

static gboolean
eval (IrWide *wide,
      const IrNode *node,
      const IrTensor *const *inputs,
      IrTensor **outputs,
      GError **error)
{
  IrEvalOptions options = { .backend = ir_backend_find ("ref"),
                            .cancellable = wide->prover->cancellable,
                            .contents = outer_value,
                            .data = wide };

  ir_evaluator_bound (wide->prover->evaluator, &options);
  return ir_eval_node_with (with_wide_bodies (wide, node), inputs, outputs, &options, error);
}

/* (transfer container) (nullable) */
static const IrTensor **
inputs_of (IrWide *wide, const IrNode *node, GError **error)
{
  g_autofree const IrTensor **inputs = g_new0 (const IrTensor *, node->n_inputs + 1);

  ir_node_for_each_input (node, i, value)
    {
      inputs[i] = ir_wide_value (wide, value, error);
      if (inputs[i] == NULL)
        return NULL;
    }
  return g_steal_pointer (&inputs);
}

static gboolean
run (IrWide *wide, const IrNode *node, GError **error)
{
  g_autofree const IrTensor **inputs = inputs_of (wide, node, error);
  g_autofree IrTensor **outputs = g_new0 (IrTensor *, node->n_outputs + 1);
  gboolean done = inputs != NULL && eval (wide, node, inputs, outputs, error);

  for (guint i = 0; i < node->n_outputs; i++)
    {
      g_autoptr (IrTensor) output = g_steal_pointer (&outputs[i]);
      IrTensor *kept = done && output != NULL ? ir_tensor_widen (output) : NULL;

      if (kept != NULL)
        g_hash_table_insert (wide->values, GUINT_TO_POINTER (node->outputs[i]->id), kept);
    }
  return done;
}

static gboolean
is_given (const IrWide *wide, const IrValue *value)
{
  return ir_value_constant (value) != NULL || value->producer == NULL ||
         wide->scope->known (value, wide->scope->data) != 0;
}

/* (transfer none) (nullable): what @value holds in float64, computed from the inputs of the cone */
const IrTensor *
ir_wide_value (IrWide *wide, const IrValue *value, GError **error)
{
  gpointer key = GUINT_TO_POINTER (value->id);
  IrTensor *tensor = g_hash_table_lookup (wide->values, key);
  const IrTensor *narrow;

  if (tensor != NULL)
    return tensor;
  if (!is_given (wide, value) && wide->depth < MAX_DEPTH)
    {
      gboolean done;

      wide->depth++;
      done = run (wide, value->producer, error);
      wide->depth--;
      return done ? g_hash_table_lookup (wide->values, key) : NULL;
    }
  narrow = ir_value_constant (value);
  if (narrow == NULL)
    narrow = ir_scope_contents (wide->scope, value, error);
  tensor = narrow != NULL ? ir_tensor_widen (narrow) : NULL;
  if (tensor != NULL)
    g_hash_table_insert (wide->values, key, tensor);
  return tensor;
}

/* -- bounds of errors -- */

/* Half the distance of 1 from the next number, of the type that a run keeps @value in. */
static double
unit_roundoff (const IrValue *value)
{
  return ir_tolerance_scale (ir_value_dtype (value)) * FLT_EPSILON / 2;
}

/* Half the distance of 0 from the next number of that type: where results are subnormal, each is
 * off by up to that, however small it is. Double has no smaller number than that distance. */
static double
underflow (const IrValue *value)
{
  IrDtype dtype = ir_value_dtype (value);

  if (dtype == IR_DTYPE_FLOAT16)
    return 0x1p-25;
  if (dtype == IR_DTYPE_BFLOAT16)
    return 0x1p-134;
  return dtype == IR_DTYPE_DOUBLE ? 0x1p-1074 : 0x1p-150;
}

static gboolean
is_wide (const IrTensor *tensor)
{
  return tensor != NULL && !ir_tensor_is_container (tensor) &&
         ir_tensor_dtype (tensor) == IR_DTYPE_DOUBLE;
}

static double
at (const IrTensor *wide, guint64 i)
{
  return ((const double *) ir_tensor_data (wide))[i];
}

/* (transfer full) (nullable) */
static IrTensor *
zeros_like (const IrTensor *tensor)
{
  return ir_tensor_new_alloc (IR_DTYPE_DOUBLE, ir_tensor_rank (tensor), ir_tensor_dims (tensor),
                              NULL);
}

/* What one node is asked, beside its inputs as they are. */
typedef struct
{
  IrWide *wide;
  const IrNode *node;
  const IrTensor **inputs, **bounds; /* a bound that is NULL: no error */
  double flops;                      /* of an element of output 0 */
} Trial;

/* x with each element moved by @factor |x| and its bound, up or down as @move says: a second move
 * goes the other way. (transfer full) (nullable) */
static IrTensor *
moved (const IrTensor *x, const IrTensor *bound, double factor, guint move)
{
  IrTensor *tensor = zeros_like (x);
  const double *from = ir_tensor_data (x), *by = bound != NULL ? ir_tensor_data (bound) : NULL;
  double *to = tensor != NULL ? ir_tensor_data_writable (tensor) : NULL;
  guint64 n = tensor != NULL ? ir_tensor_n_elements (x) : 0;
  guint32 draw = 1 + move / 2 * 7919, way = move % 2 << 31;

  for (guint64 i = 0; i < n; i++)
    {
      double error = factor * fabs (from[i]) + (by != NULL ? by[i] : 0);

      draw = draw * 1664525 + 1013904223; /* the top bit of a linear congruential generator */
      to[i] = (draw ^ way) & 0x80000000 ? from[i] - error : from[i] + error;
    }
  return tensor;
}

/* What the inputs are made into. */
typedef enum
{
  MAGNITUDES,       /* |x| */
  EXACT_MAGNITUDES, /* |x| in float64: its difference to the next is small */
  MORE_MAGNITUDES,  /* |x| + bound, in float64 */
  HALF              /* x, of the first input every other element at random */
} Form;

static double
formed (Form form, double x, double bound, gboolean drawn)
{
  if (form == HALF)
    return drawn ? x : 0;
  return fabs (x) + (form == MORE_MAGNITUDES ? bound : 0);
}

/* (transfer full) (nullable): input @slot in @form */
static IrTensor *
form_input (const Trial *trial, guint slot, Form form, IrDtype dtype)
{
  const IrTensor *x = trial->inputs[slot], *bound = trial->bounds[slot];
  IrTensor *tensor = ir_tensor_new_alloc (dtype, ir_tensor_rank (x), ir_tensor_dims (x), NULL);
  const double *from = ir_tensor_data (x), *by = bound != NULL ? ir_tensor_data (bound) : NULL;
  gpointer to = tensor != NULL ? ir_tensor_data_writable (tensor) : NULL;
  guint64 n = tensor != NULL ? ir_tensor_n_elements (x) : 0;
  guint32 draw = 1;

  for (guint64 i = 0; i < n; i++)
    {
      gboolean drawn = slot > 0 || (draw & 0x80000000) != 0;
      double value = formed (form, from[i], by != NULL ? by[i] : 0, drawn);

      draw = draw * 1664525 + 1013904223;
      if (dtype == IR_DTYPE_DOUBLE)
        ((double *) to)[i] = value;
      else
        ((float *) to)[i] = (float) value;
    }
  return tensor;
}

static void
free_outputs (const IrNode *node, IrTensor **outputs)
{
  for (guint i = 0; outputs != NULL && i < node->n_outputs; i++)
    g_clear_pointer (&outputs[i], ir_tensor_unref);
  g_free (outputs);
}

/* Sizes of errors need few digits: float32 kernels of the back end do, where the node has them. */
static gboolean
is_narrow (const Trial *trial)
{
  for (guint i = 0; i < trial->node->n_inputs; i++)
    if (is_wide (trial->inputs[i]) && ir_value_dtype (trial->node->inputs[i]) != IR_DTYPE_FLOAT)
      return FALSE;
  return TRUE;
}

/* (transfer full) (nullable): what the node gives in @form, in float64 */
static IrTensor *
run_form (Trial *trial, Form form)
{
  const IrNode *node = trial->node;
  gboolean narrow = (form == MAGNITUDES || form == HALF) && is_narrow (trial);
  IrEvalOptions options = {
    .backend = narrow ? &trial->wide->prover->plain : ir_backend_find ("ref"),
    .cancellable = trial->wide->prover->cancellable,
    .contents = outer_value,
    .data = trial->wide,
  };
  g_autoptr (GPtrArray) held = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_tensor_unref);
  g_autofree const IrTensor **inputs = g_memdup2 (trial->inputs,
                                                  (node->n_inputs + 1) * sizeof *inputs);
  IrTensor **outputs = g_new0 (IrTensor *, node->n_outputs + 1), *answer = NULL;

  ir_evaluator_bound (trial->wide->prover->evaluator, &options);
  for (guint i = 0; i < node->n_inputs; i++)
    if (is_wide (inputs[i]))
      {
        IrTensor *made = form_input (trial, i, form, narrow ? IR_DTYPE_FLOAT : IR_DTYPE_DOUBLE);

        if (made != NULL)
          g_ptr_array_add (held, made);
        inputs[i] = made;
      }
  if (ir_eval_node_with (node, inputs, outputs, &options, NULL) && outputs[0] != NULL)
    answer = ir_tensor_widen (outputs[0]);
  free_outputs (node, outputs);
  return answer;
}

static gboolean
has_bounds (const Trial *trial)
{
  for (guint i = 0; i < trial->node->n_inputs; i++)
    if (trial->bounds[i] != NULL)
      return TRUE;
  return FALSE;
}

/* Factors below zero are no magnitudes. */
static gboolean
is_sum (const IrNode *node)
{
  if (node->op == NULL || (node->op->flags & IR_OP_SUMS) == 0)
    return FALSE;
  for (guint i = 0; i < node->n_attrs; i++)
    if (node->attrs[i]->kind == IR_ATTR_FLOAT && node->attrs[i]->floats[0] < 0)
      return FALSE;
  return TRUE;
}

static gboolean
has_size (const IrTensor *tensor, guint64 n)
{
  return tensor == NULL || (is_wide (tensor) && ir_tensor_n_elements (tensor) == n);
}

/* Whether partial sums are no larger than those of a random walk of so many terms, none of which is
 * large by itself: then neither have additions a common direction to round to. */
static gboolean
are_mixed (const Trial *trial, double partial, double sum)
{
  return partial * sqrt (trial->flops / 2) <= WALK * sum && partial < sum / WALK;
}

/* FALSE if it could not be had. */
static gboolean
bound_sum (Trial *trial, const IrTensor *exact, IrTensor *bound)
{
  gboolean has = has_bounds (trial), few = trial->flops <= FEW;
  g_autoptr (IrTensor) sums = run_form (trial, MAGNITUDES);
  g_autoptr (IrTensor) before = has ? run_form (trial, EXACT_MAGNITUDES) : NULL;
  g_autoptr (IrTensor) after = has ? run_form (trial, MORE_MAGNITUDES) : NULL;
  g_autoptr (IrTensor) half = few ? NULL : run_form (trial, HALF);
  guint64 n = ir_tensor_n_elements (bound);
  double unit = unit_roundoff (trial->node->outputs[0]), *to = ir_tensor_data_writable (bound);
  double independent = few ? trial->flops : 1 + sqrt (trial->flops);
  double tiny = underflow (trial->node->outputs[0]) * trial->flops;

  if (sums == NULL || (has && (before == NULL || after == NULL)) || (!few && half == NULL) ||
      !has_size (sums, n) || !has_size (before, n) || !has_size (after, n) || !has_size (half, n))
    return FALSE;
  for (guint64 i = 0; i < n; i++)
    {
      double partial = half != NULL ? MAX (fabs (at (half, i)), fabs (at (exact, i))) : 0;

      if (are_mixed (trial, partial, at (sums, i)))
        partial = 0;

      to[i] = unit * (independent * at (sums, i) + trial->flops / 2 * partial) + tiny;
      if (has)
        to[i] += at (after, i) - at (before, i);
    }
  return TRUE;
}

/* @most: gets the larger of itself and the distance; what is not finite says nothing. */
static void
take_distance (const IrTensor *exact, const IrTensor *other, double *most)
{
  const double *a = ir_tensor_data (exact), *b = ir_tensor_data (other);
  guint64 n = ir_tensor_n_elements (exact);

  for (guint64 i = 0; ir_tensor_n_elements (other) == n && i < n; i++)
    {
      double distance = fabs (a[i] - b[i]);

      if (isfinite (distance) && distance > most[i])
        most[i] = distance;
    }
}

/* What is moved: an input of the node, or a value that its bodies capture. */
typedef struct
{
  guint slot;
  const IrValue *captured; /* (nullable) */
  const IrTensor *x, *bound;
} Moving;

/* FALSE: it cannot be run so. */
static gboolean
eval_moved (Trial *trial,
            const Moving *moving,
            const IrTensor *to,
            const IrTensor **inputs,
            IrTensor **outputs)
{
  gboolean done;

  if (moving->captured == NULL)
    inputs[moving->slot] = to;
  trial->wide->outer = moving->captured;
  trial->wide->outer_moved = to;
  done = to != NULL && eval (trial->wide, trial->node, inputs, outputs, NULL);
  trial->wide->outer = NULL;
  return done;
}

/* What moving one of its inputs changes is added to the bounds of the outputs. */
static void
add_moves (Trial *trial, const Moving *moving, double factor, IrTensor **bounds)
{
  const IrNode *node = trial->node;
  guint n_moves = node->op != NULL && (node->op->flags & IR_OP_ELEMENTWISE) != 0 ? 2 : N_MOVES;
  g_autofree double **most = g_new0 (double *, node->n_outputs + 1);
  g_autofree const IrTensor **inputs = g_memdup2 (trial->inputs,
                                                  (node->n_inputs + 1) * sizeof *inputs);

  for (guint k = 0; k < node->n_outputs; k++)
    most[k] = bounds[k] != NULL ? g_new0 (double, ir_tensor_n_elements (bounds[k]) + 1) : NULL;
  for (guint move = 0; move < n_moves; move++)
    {
      g_autoptr (IrTensor) to = moved (moving->x, moving->bound, factor, move);
      IrTensor **outputs = g_new0 (IrTensor *, node->n_outputs + 1);

      if (eval_moved (trial, moving, to, inputs, outputs))
        for (guint k = 0; k < node->n_outputs; k++)
          if (most[k] != NULL && is_wide (outputs[k]))
            take_distance (ir_wide_value (trial->wide, node->outputs[k], NULL), outputs[k],
                           most[k]);
      free_outputs (node, outputs);
    }
  for (guint k = 0; k < node->n_outputs; k++)
    {
      double *to = most[k] != NULL ? ir_tensor_data_writable (bounds[k]) : NULL;

      for (guint64 i = 0; to != NULL && i < ir_tensor_n_elements (bounds[k]); i++)
        to[i] += most[k][i];
      g_free (most[k]);
    }
}

/* What the node itself rounds: of a row that does not round, one rounding in the type of the
 * output; else what the row allows. */
static void
add_row (const IrNode *node, guint slot, const IrTensor *exact, IrTensor *bound)
{
  const IrValue *value = node->outputs[slot];
  double unit = unit_roundoff (value), scale = 2 * unit / FLT_EPSILON;
  double rtol = MAX (unit, node->op != NULL ? node->op->tol.rtol * scale : 0);
  double atol = underflow (value) + (node->op != NULL ? node->op->tol.atol * scale : 0);
  const double *y = ir_tensor_data (exact);
  double *to = ir_tensor_data_writable (bound);

  for (guint64 i = 0; i < ir_tensor_n_elements (exact); i++)
    if (isfinite (y[i]))
      to[i] += rtol * fabs (y[i]) + atol;
}

/* -- bodies -- */

/* Of the nodes in the bodies of one: what they round together, and which values they capture. */
typedef struct
{
  GHashTable *inside;  /* set of IrGraph */
  GPtrArray *captured; /* of IrValue, each once */
  double flops;        /* behind one element, added up over the nodes of all bodies */
} Bodies;

static void
note_capture (Bodies *bodies, IrValue *value)
{
  if (value != NULL && !g_hash_table_contains (bodies->inside, value->graph) &&
      !g_ptr_array_find (bodies->captured, value, NULL))
    g_ptr_array_add (bodies->captured, value);
}

static void note_bodies (Bodies *bodies, const IrNode *owner);

static void
note_node (Bodies *bodies, const IrNode *node)
{
  guint64 n_elements = 1;

  for (guint i = 0; i < node->n_inputs; i++)
    note_capture (bodies, node->inputs[i]);
  if (node->n_outputs > 0 && node->outputs[0] != NULL && node->outputs[0]->type != NULL)
    ir_type_n_elements (node->outputs[0]->type, &n_elements);
  bodies->flops += MAX ((double) ir_cost_node (node).flops / (double) MAX (n_elements, 1), 1);
  note_bodies (bodies, node);
}

static void
note_bodies (Bodies *bodies, const IrNode *owner)
{
  g_autoptr (GPtrArray) graphs = ir_node_subgraphs (owner);

  for (guint i = 0; i < graphs->len; i++)
    g_hash_table_add (bodies->inside, graphs->pdata[i]);
  for (guint i = 0; i < graphs->len; i++)
    {
      IrGraph *graph = graphs->pdata[i];
      g_autoptr (GPtrArray) nodes = ir_graph_nodes (graph);

      for (guint k = 0; k < nodes->len; k++)
        note_node (bodies, nodes->pdata[k]);
      for (guint k = 0; k < ir_graph_n_outputs (graph); k++)
        note_capture (bodies, ir_graph_output (graph, k));
    }
}

/* How often a body runs at most: as often as Loop is told, or as a scanned input or output has
 * parts, where its first dimension is the one that is cut. */
static double
n_iterations (const Trial *trial)
{
  const IrNode *node = trial->node;
  double n = 1;

  if (ir_node_is (node, "If"))
    return 1;
  if (ir_node_is (node, "Loop") && trial->inputs[0] != NULL &&
      ir_tensor_n_elements (trial->inputs[0]) == 1)
    return CLAMP (ir_tensor_get_double (trial->inputs[0], 0), 1, MAX_ITERATIONS);
  for (guint i = 0; i < node->n_inputs; i++)
    if (is_wide (trial->inputs[i]) && ir_tensor_rank (trial->inputs[i]) > 0)
      n = MAX (n, (double) ir_tensor_dims (trial->inputs[i])[0]);
  for (guint i = 0; i < node->n_outputs; i++)
    {
      const IrTensor *exact = node->outputs[i] != NULL
                                  ? ir_wide_value (trial->wide, node->outputs[i], NULL)
                                  : NULL;

      if (is_wide (exact) && ir_tensor_rank (exact) > 0)
        n = MAX (n, (double) ir_tensor_dims (exact)[0]);
    }
  return MIN (n, MAX_ITERATIONS);
}

/* What bodies round is as large as what inputs and captured values make of it that are moved by
 * what all their nodes round: the sums of every iteration, each of F operations by F u. */
static double
body_factor (Trial *trial, GPtrArray *captured)
{
  g_autoptr (GHashTable) inside = g_hash_table_new (NULL, NULL);
  Bodies bodies = { inside, captured, 0 };

  note_bodies (&bodies, trial->node);
  return FLT_EPSILON / 2 * bodies.flops * n_iterations (trial);
}

static void
bound_captured (Trial *trial, const GPtrArray *captured, double factor, IrTensor **bounds)
{
  for (guint i = 0; i < captured->len; i++)
    {
      const IrValue *value = captured->pdata[i];
      Moving moving = { 0, value, ir_wide_value (trial->wide, value, NULL), NULL };

      moving.bound = is_wide (moving.x) ? ir_wide_bound (trial->wide, value) : NULL;
      if (is_wide (moving.x))
        add_moves (trial, &moving, factor, bounds);
    }
}

static void
bound_others (Trial *trial, IrTensor **bounds)
{
  const IrNode *node = trial->node;
  gboolean sums = node->op != NULL && node->op->tol.rtol >= IR_RTOL_SUMS;
  gboolean owns = node->op != NULL && (node->op->flags & IR_OP_SUBGRAPHS) != 0;
  g_autoptr (GPtrArray) captured = g_ptr_array_new ();
  double factor = sums ? trial->flops * unit_roundoff (node->outputs[0]) : 0;

  if (owns)
    factor = body_factor (trial, captured);
  for (guint i = 0; i < node->n_inputs; i++)
    {
      Moving moving = { i, NULL, trial->inputs[i], trial->bounds[i] };

      if (is_wide (moving.x) && (factor > 0 || moving.bound != NULL))
        add_moves (trial, &moving, factor, bounds);
    }
  bound_captured (trial, captured, factor, bounds);
  for (guint k = 0; k < node->n_outputs; k++)
    if (bounds[k] != NULL)
      add_row (node, k, ir_wide_value (trial->wide, node->outputs[k], NULL), bounds[k]);
}

/* Operations behind one element of output 0, at least one. */
static double
flops_of (const IrNode *node, const IrTensor *const *inputs, const IrTensor *output)
{
  guint64 flops = 0, bytes, n = MAX (ir_tensor_n_elements (output), 1);
  IrCall call;

  if (node->op == NULL || node->op->infer == NULL)
    return 1;
  ir_call_layout (&call, node);
  for (guint i = 0; i < node->n_inputs; i++)
    if (inputs[i] != NULL)
      ir_call_set_input (&call, i, inputs[i]);
  ir_call_adapt (&call);
  if (ir_call_check (&call, NULL) && node->op->infer (&call, NULL))
    ir_cost_call (&call, &flops, &bytes);
  ir_call_clear (&call);
  return MAX ((double) flops / (double) n, 1);
}

static void
bound_node (IrWide *wide, const IrNode *node)
{
  g_autofree const IrTensor **inputs = inputs_of (wide, node, NULL);
  g_autofree const IrTensor **bounds = g_new0 (const IrTensor *, node->n_inputs + 1);
  g_autofree IrTensor **made = g_new0 (IrTensor *, node->n_outputs + 1);
  Trial trial = { wide, node, inputs, bounds, 1 };

  if (inputs == NULL || node->n_outputs == 0 || node->outputs[0] == NULL)
    return;
  for (guint i = 0; i < node->n_inputs; i++)
    bounds[i] = node->inputs[i] != NULL ? ir_wide_bound (wide, node->inputs[i]) : NULL;
  for (guint k = 0; k < node->n_outputs; k++)
    {
      const IrTensor *exact = node->outputs[k] != NULL
                                  ? ir_wide_value (wide, node->outputs[k], NULL)
                                  : NULL;

      made[k] = is_wide (exact) ? zeros_like (exact) : NULL;
      if (k == 0 && exact != NULL)
        trial.flops = flops_of (node, inputs, exact);
    }
  if (!is_sum (node) || made[0] == NULL ||
      !bound_sum (&trial, ir_wide_value (wide, node->outputs[0], NULL), made[0]))
    bound_others (&trial, made);
  for (guint k = 0; k < node->n_outputs; k++)
    if (node->outputs[k] != NULL)
      g_hash_table_insert (wide->bounds, GUINT_TO_POINTER (node->outputs[k]->id), made[k]);
}

/* A constant that only this side has was rounded when it was made. */
static IrTensor *
bound_constant (IrWide *wide, const IrValue *value)
{
  const IrTensor *exact = ir_wide_value (wide, value, NULL);
  IrTensor *bound;

  if (wide->given == NULL || ir_value_constant (value) == NULL || !is_wide (exact) ||
      ir_model_live_value (wide->given, value->id) != NULL)
    return NULL;
  bound = zeros_like (exact);
  for (guint64 i = 0; bound != NULL && i < ir_tensor_n_elements (exact); i++)
    ((double *) ir_tensor_data_writable (
        bound))[i] = unit_roundoff (value) * fabs (((const double *) ir_tensor_data (exact))[i]) +
                     underflow (value);
  return bound;
}

/* (transfer none) (nullable): how far a run may be from ir_wide_value(), element by element, in
 * float64; %NULL: nothing is known to round */
const IrTensor *
ir_wide_bound (IrWide *wide, const IrValue *value)
{
  gpointer key = GUINT_TO_POINTER (value->id), found;

  if (g_hash_table_lookup_extended (wide->bounds, key, NULL, &found))
    return found;
  if (is_given (wide, value) || wide->depth >= MAX_DEPTH)
    g_hash_table_insert (wide->bounds, key, bound_constant (wide, value));
  else
    {
      wide->depth++;
      bound_node (wide, value->producer);
      wide->depth--;
    }
  return g_hash_table_lookup (wide->bounds, key);
}
