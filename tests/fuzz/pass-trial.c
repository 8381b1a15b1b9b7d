#include "config.h"

#include "tests/fuzz/pass-trial.h"

#include "core/io/io.h"
#include "core/op/infer.h"
#include "passes/rule.h"

#include <math.h>
#include <string.h>

#define MAX_DIM      4
#define OUTPUT_LIMIT (1 << 14) /* bytes of one value */
#define MAX_IN       8

typedef struct
{
  IrModel *model;
  IrEdit *edit;
  IrContext *context;
  IrGraph *graph; /* where nodes go: the main one, or a branch */
  GRand *rand;
  GPtrArray *pool;     /* of IrValue, those that may be read */
  GHashTable *tensors; /* IrValue -> IrTensor: what it holds for the inputs of this trial */
  gint64 n;            /* the size called "n" */
  guint32 seed;
  gboolean smooth;
  gboolean wild; /* an example is changed while it is planted */
  guint depth, n_inputs, n_names;
} Gen;

/* -- chance -- */

static guint
below (Gen *gen, guint n)
{
  return (guint) g_rand_int_range (gen->rand, 0, (gint) n);
}

static gboolean
one_in (Gen *gen, guint n)
{
  return below (gen, n) == 0;
}

#define CHOOSE(GEN, LIST) ((LIST)[below (GEN, G_N_ELEMENTS (LIST))])

/* -- contents -- */

static double
random_element (GRand *rand, IrDtype dtype, gboolean adversarial)
{
  static const double special[] = {
    NAN, INFINITY, -INFINITY, -0.0, 0.0, 1e-40, -1e-40, 3e38, 1, -1
  };

  if (dtype == IR_DTYPE_BOOL)
    return g_rand_boolean (rand);
  if (ir_dtype_kind (dtype) == IR_DTYPE_KIND_UINT)
    return g_rand_int_range (rand, 0, 7);
  if (!ir_dtype_is_float (dtype))
    return g_rand_int_range (rand, -6, 7);
  if (adversarial && g_rand_int_range (rand, 0, 3) == 0)
    return special[g_rand_int_range (rand, 0, G_N_ELEMENTS (special))];
  return g_rand_double_range (rand, -2, 2);
}

void
pass_trial_fill (IrTensor *tensor, GRand *rand, gboolean adversarial)
{
  IrDtype dtype = ir_tensor_dtype (tensor);

  for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
    ir_dtype_set_double (dtype, ir_tensor_data_writable (tensor), i,
                         random_element (rand, dtype, adversarial));
}

static IrTensor *
input_tensor (const IrValue *value, gint64 n, guint32 seed, gboolean adversarial)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed ^ g_str_hash (value->name));
  gint64 dims[IR_MAX_RANK];

  for (int i = 0; i < value->type->rank; i++)
    dims[i] = value->type->dims[i] >= 0 ? value->type->dims[i] : n;
  IrTensor *tensor = ir_tensor_new_alloc (value->type->dtype, (guint) value->type->rank, dims,
                                          NULL);
  pass_trial_fill (tensor, rand, adversarial);
  return tensor;
}

GHashTable *
pass_trial_inputs (IrModel *model, gint64 n, guint32 seed, gboolean adversarial)
{
  GHashTable *inputs = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);

  for (guint i = 0; i < ir_graph_n_inputs (model->main); i++)
    {
      const IrValue *value = ir_graph_input (model->main, i);
      if (value->initializer == NULL)
        g_hash_table_insert (inputs, GUINT_TO_POINTER (value->id),
                             input_tensor (value, n, seed, adversarial));
    }
  return inputs;
}

/* -- values -- */

static IrTensor *
held (Gen *gen, const IrValue *value)
{
  return g_hash_table_lookup (gen->tensors, value);
}

static void
offer (Gen *gen, IrValue *value, IrTensor *tensor)
{
  g_hash_table_insert (gen->tensors, value, ir_tensor_ref (tensor));
  g_ptr_array_add (gen->pool, value);
}

static IrValue *
new_input (Gen *gen, IrDtype dtype, guint rank, const gint64 *dims)
{
  static const char *const letters[] = { "x", "data", "in" };
  IrDim shape[IR_MAX_RANK];
  g_autoptr (GPtrArray) inputs = g_ptr_array_new ();

  for (guint i = 0; i < rank; i++)
    shape[i] = dims[i] == gen->n && one_in (gen, 2) ? ir_dim_symbol (gen->context, "n") : dims[i];
  for (guint i = 0; i < ir_graph_n_inputs (gen->model->main); i++)
    g_ptr_array_add (inputs, ir_graph_input (gen->model->main, i));
  const char *name = ir_edit_unique_name (gen->edit, CHOOSE (gen, letters));
  IrValue *value = ir_edit_add_value (gen->edit, gen->model->main, name,
                                      ir_type_tensor (gen->context, dtype, (int) rank, shape));
  ir_edit_set_flags (gen->edit, value, IR_VALUE_NAMED_BY_USER | IR_VALUE_DECLARED);
  g_ptr_array_add (inputs, value);
  ir_edit_set_graph_inputs (gen->edit, gen->model->main, (IrValue *const *) inputs->pdata,
                            inputs->len);
  g_autoptr (IrTensor) tensor = input_tensor (value, gen->n, gen->seed, FALSE);
  offer (gen, value, tensor);
  return value;
}

static IrValue *
add_constant (Gen *gen, IrTensor *tensor)
{
  IrValue *value;

  if (one_in (gen, 4))
    {
      IrNode *node = ir_edit_add_node (gen->edit, gen->graph, "Constant", "", "", 0, NULL, 1);
      ir_edit_set_attr (gen->edit, node, ir_attr_tensor (gen->context, "value", tensor));
      ir_infer_node (gen->edit, node, NULL);
      value = node->outputs[0];
    }
  else
    value = ir_edit_add_initializer (gen->edit, one_in (gen, 4) ? gen->graph : gen->model->main,
                                     ir_edit_unique_name (gen->edit, "c"), tensor);
  g_hash_table_insert (gen->tensors, value, ir_tensor_ref (tensor));
  return value;
}

static IrValue *
ints (Gen *gen, const gint64 *values, guint n)
{
  g_autoptr (IrTensor) tensor = ir_tensor_new_int64s (values, n);
  return add_constant (gen, tensor);
}

/* Constants that rules look for, and some that they do not; shared now and then. */
static IrValue *
constant (Gen *gen, IrDtype dtype, guint rank, const gint64 *dims)
{
  static const double numbers[] = { 0, 1, -0.0, 2, -1, 0.5, 3, 6 };
  g_autoptr (IrTensor) tensor = ir_tensor_new_alloc (dtype, rank, dims, NULL);
  double number = CHOOSE (gen, numbers);

  if (one_in (gen, 5))
    for (guint i = 0; i < gen->model->values->len; i++)
      {
        IrValue *old = gen->model->values->pdata[i];
        if (old != NULL && old->initializer != NULL && old->graph == gen->model->main &&
            ir_tensor_dtype (old->initializer) == dtype &&
            ir_tensor_rank (old->initializer) == rank &&
            (rank == 0 ||
             memcmp (ir_tensor_dims (old->initializer), dims, rank * sizeof *dims) == 0))
          return old;
      }
  pass_trial_fill (tensor, gen->rand, !gen->smooth && one_in (gen, 8));
  for (guint64 i = 0; i < ir_tensor_n_elements (tensor) && one_in (gen, 2) == 0; i++)
    {
      if (i == 0 && one_in (gen, 3))
        break;
      ir_dtype_set_double (dtype, ir_tensor_data_writable (tensor), i,
                           dtype == IR_DTYPE_BOOL                                      ? number > 0
                           : number < 0 && ir_dtype_kind (dtype) == IR_DTYPE_KIND_UINT ? 1
                                                                                       : number);
    }
  return add_constant (gen, tensor);
}

static IrDtype
random_dtype (Gen *gen)
{
  static const IrDtype often[] = { IR_DTYPE_FLOAT, IR_DTYPE_FLOAT, IR_DTYPE_FLOAT, IR_DTYPE_INT64,
                                   IR_DTYPE_BOOL };
  static const IrDtype all[] = { IR_DTYPE_FLOAT,   IR_DTYPE_DOUBLE, IR_DTYPE_FLOAT16,
                                 IR_DTYPE_INT64,   IR_DTYPE_INT32,  IR_DTYPE_INT16,
                                 IR_DTYPE_INT8,    IR_DTYPE_UINT8,  IR_DTYPE_UINT16,
                                 IR_DTYPE_UINT32,  IR_DTYPE_UINT64, IR_DTYPE_BOOL,
                                 IR_DTYPE_BFLOAT16 };

  return one_in (gen, 3) ? CHOOSE (gen, all) : CHOOSE (gen, often);
}

static IrValue *
random_input (Gen *gen, IrDtype dtype, guint rank)
{
  gint64 dims[IR_MAX_RANK];

  for (guint i = 0; i < rank; i++)
    dims[i] = one_in (gen, 3) ? gen->n : one_in (gen, 40) ? 0 : 1 + below (gen, MAX_DIM);
  return new_input (gen, dtype, rank, dims);
}

/* A value with at least @min_rank dimensions, of @dtype if that is not UNDEFINED; the newest ones
 * most often, so that chains grow. */
static IrValue *
pick (Gen *gen, IrDtype dtype, guint min_rank)
{
  for (guint try = 0; try < 12 && gen->pool->len > 0; try++)
    {
      guint back = one_in (gen, 2) ? 1 : MIN (gen->pool->len, 6);
      guint at = one_in (gen, 4) ? below (gen, gen->pool->len)
                                 : gen->pool->len - 1 - below (gen, back);
      IrValue *value = gen->pool->pdata[at];
      const IrTensor *tensor = held (gen, value);

      if (ir_tensor_rank (tensor) >= min_rank &&
          (dtype == IR_DTYPE_UNDEFINED || ir_tensor_dtype (tensor) == dtype))
        return value;
    }
  guint rank = below (gen, 5);
  return random_input (gen, dtype != IR_DTYPE_UNDEFINED ? dtype : random_dtype (gen),
                       MAX (min_rank, rank));
}

static IrValue *
pick_float (Gen *gen, guint min_rank)
{
  IrValue *value = pick (gen, IR_DTYPE_UNDEFINED, min_rank);

  return ir_dtype_is_float (ir_tensor_dtype (held (gen, value)))
             ? value
             : pick (gen, IR_DTYPE_FLOAT, min_rank);
}

/* Something that broadcasts with @value: a constant or another value. */
static IrValue *
partner (Gen *gen, IrValue *value)
{
  const IrTensor *tensor = held (gen, value);
  guint rank = ir_tensor_rank (tensor), left = rank > 0 ? below (gen, rank + 1) : 0;
  gint64 dims[IR_MAX_RANK];

  if (one_in (gen, 4))
    for (guint try = 0; try < 8; try++)
      {
        IrValue *other = gen->pool->pdata[below (gen, gen->pool->len)];
        if (ir_tensor_dtype (held (gen, other)) == ir_tensor_dtype (tensor))
          return other;
      }
  if (one_in (gen, 2))
    left = rank;
  for (guint i = left; i < rank; i++)
    dims[i - left] = one_in (gen, 3) ? 1 : ir_tensor_dims (tensor)[i];
  rank -= left;
  if (rank + 1 < 5 && one_in (gen, 10)) /* of a higher rank */
    {
      memmove (dims + 1, dims, rank * sizeof *dims);
      dims[0] = 1 + below (gen, 2);
      rank++;
    }
  return one_in (gen, 6) ? new_input (gen, ir_tensor_dtype (tensor), rank, dims)
                         : constant (gen, ir_tensor_dtype (tensor), rank, dims);
}

/* -- nodes -- */

#define ATTRS(...)         ((const IrAttr *const[]){ __VA_ARGS__, NULL })
#define INT(NAME, VALUE)   ir_attr_int (gen->context, NAME, VALUE)
#define INTS(NAME, V, N)   ir_attr_ints (gen->context, NAME, V, N)
#define FLOAT(NAME, VALUE) ir_attr_float (gen->context, NAME, (float) (VALUE))

static char *
random_name (Gen *gen)
{
  return one_in (gen, 3) ? g_strdup ("")
                         : g_strdup_printf ("node%u", one_in (gen, 4) ? 1 : ++gen->n_names);
}

static gboolean
infer (Gen *gen, IrNode *node)
{
  g_autoptr (GPtrArray) problems = ir_problems_new ();

  ir_infer_node (gen->edit, node, problems);
  return ir_problems_count (problems, IR_SEVERITY_ERROR) == 0;
}

/* Adds a node and what it computes; NULL if it cannot be computed. */
static IrNode *
emit (Gen *gen,
      const char *op,
      const char *domain,
      guint n_in,
      IrValue *const *in,
      guint n_out,
      const IrAttr *const *attrs)
{
  const IrTensor *inputs[MAX_IN] = { NULL };
  IrTensor *outputs[MAX_IN] = { NULL };
  g_autofree char *name = random_name (gen);
  gboolean fits = TRUE;

  for (guint i = 0; i < n_in; i++)
    if (in[i] != NULL && (inputs[i] = held (gen, in[i])) == NULL)
      return NULL;
  IrNode *node = ir_edit_add_node (gen->edit, gen->graph, op, domain, name, n_in, in, n_out);
  for (; attrs != NULL && *attrs != NULL; attrs++)
    ir_edit_set_attr (gen->edit, node, *attrs);
  fits = node->op != NULL &&
         ir_eval_node (node, inputs, outputs, ir_backend_find ("ref"), OUTPUT_LIMIT, NULL) &&
         infer (gen, node);
  for (guint i = 0; i < n_out; i++)
    if (outputs[i] == NULL || ir_tensor_is_container (outputs[i]) ||
        ir_tensor_rank (outputs[i]) > 6)
      fits = FALSE;
  for (guint i = 0; i < n_out && fits; i++)
    offer (gen, node->outputs[i], outputs[i]);
  for (guint i = 0; i < MAX_IN; i++)
    g_clear_pointer (&outputs[i], ir_tensor_unref);
  if (!fits)
    ir_edit_remove_node (gen->edit, node);
  return fits ? node : NULL;
}

/* One output; where it cannot be, the first input, so that chains go on. */
static IrValue *
one (Gen *gen, const char *op, IrValue *a, IrValue *b, const IrAttr *const *attrs)
{
  IrNode *node = emit (gen, op, "", b != NULL ? 2 : 1, (IrValue *const[]){ a, b }, 1, attrs);
  return node != NULL ? node->outputs[0] : a;
}

/* -- blocks -- */

static IrValue *
unary (Gen *gen, IrValue *x)
{
  static const char *const smooth[] = { "Neg",     "Abs",       "Relu",       "Identity",
                                        "Tanh",    "Sigmoid",   "Softplus",   "Erf",
                                        "Exp",     "Sqrt",      "Reciprocal", "Softmax",
                                        "Dropout", "LeakyRelu", "HardSwish",  "HardSigmoid" };
  static const char *const jumping[] = { "Floor", "Ceil", "Round", "Sign", "Log", "Elu" };
  IrDtype dtype = ir_tensor_dtype (held (gen, x));

  if (dtype == IR_DTYPE_BOOL)
    return one (gen, one_in (gen, 4) ? "Identity" : "Not", x, NULL, NULL);
  if (!gen->smooth && one_in (gen, 4))
    return one (gen, CHOOSE (gen, jumping), x, NULL, NULL);
  return one (gen, CHOOSE (gen, smooth), x, NULL, NULL);
}

static void
block_unary (Gen *gen)
{
  IrValue *x = pick (gen, IR_DTYPE_UNDEFINED, 0);

  x = unary (gen, x);
  if (one_in (gen, 2))
    unary (gen, x);
}

static void
block_binary (Gen *gen)
{
  static const char *const ops[] = {
    "Add", "Sub", "Mul", "Div", "Add", "Mul", "Min", "Max", "Pow"
  };
  static const char *const compare[] = { "Less", "Greater", "Equal", "LessOrEqual" };
  static const char *const logic[] = { "And", "Or", "Xor" };
  IrValue *x = pick (gen, IR_DTYPE_UNDEFINED, 0), *y = partner (gen, x);
  IrDtype dtype = ir_tensor_dtype (held (gen, x));
  const char *op = CHOOSE (gen, ops);

  if (dtype == IR_DTYPE_BOOL)
    op = CHOOSE (gen, logic);
  else if ((!gen->smooth || !ir_dtype_is_float (dtype)) && one_in (gen, 6))
    op = CHOOSE (gen, compare);
  if (one_in (gen, 2))
    x = one (gen, op, x, y, NULL);
  else
    x = one (gen, op, y, x, NULL);
  if (one_in (gen, 3) && ir_tensor_dtype (held (gen, x)) == dtype)
    one (gen, op, x, partner (gen, x), NULL);
}

static void
shuffle (Gen *gen, gint64 *list, guint n)
{
  for (guint i = n; i > 1; i--)
    {
      guint k = below (gen, i);
      gint64 swap = list[i - 1];
      list[i - 1] = list[k];
      list[k] = swap;
    }
}

static IrValue *
transpose (Gen *gen, IrValue *x)
{
  gint64 perm[IR_MAX_RANK];
  guint rank = ir_tensor_rank (held (gen, x));

  for (guint i = 0; i < rank; i++)
    perm[i] = i;
  if (!one_in (gen, 6))
    shuffle (gen, perm, rank);
  return one (gen, "Transpose", x, NULL,
              one_in (gen, 8) ? NULL : ATTRS (INTS ("perm", perm, rank)));
}

static void
block_transpose (Gen *gen)
{
  IrValue *x = transpose (gen, pick (gen, IR_DTYPE_UNDEFINED, 1));

  if (one_in (gen, 3))
    x = unary (gen, x);
  if (one_in (gen, 3))
    x = one (gen, "Add", x, partner (gen, x), NULL);
  if (!one_in (gen, 3))
    transpose (gen, x);
}

static IrValue *
reshape (Gen *gen, IrValue *x)
{
  const IrTensor *tensor = held (gen, x);
  guint rank = ir_tensor_rank (tensor), n = 0;
  gint64 shape[IR_MAX_RANK], count = (gint64) ir_tensor_n_elements (tensor);
  gint64 axis = rank > 0 ? below (gen, rank) : 0;

  switch (below (gen, 6))
    {
    case 0:
      return one (gen, "Flatten", x, NULL, ATTRS (INT ("axis", below (gen, rank + 1))));
    case 1:
      return one (gen, "Unsqueeze", x, ints (gen, (gint64[]){ below (gen, rank + 1) }, 1), NULL);
    case 2:
      return one (gen, "Squeeze", x, one_in (gen, 3) ? NULL : ints (gen, &axis, 1), NULL);
    default:
      break;
    }
  if (one_in (gen, 4)) /* the same, some of it as 0 */
    for (; n < rank; n++)
      shape[n] = one_in (gen, 2) ? 0 : ir_tensor_dims (tensor)[n];
  else
    for (gint64 left = count; n < 4; n++)
      {
        gint64 part = left > 0 && n < 3 ? 1 + below (gen, 4) : left;
        part = left > 0 && part > 0 && left % part == 0 ? part : 1;
        shape[n] = left == 0 && n == 0 ? 0 : part;
        left = part > 0 ? left / part : 0;
        if (left <= 1 && one_in (gen, 2))
          {
            n++;
            break;
          }
      }
  if (n > 0 && one_in (gen, 3))
    shape[below (gen, n)] = -1;
  return one (gen, "Reshape", x, ints (gen, shape, n),
              one_in (gen, 10) ? ATTRS (INT ("allowzero", 1)) : NULL);
}

static void
block_reshape (Gen *gen)
{
  IrValue *x = reshape (gen, pick (gen, IR_DTYPE_UNDEFINED, 0));

  if (one_in (gen, 2))
    reshape (gen, x);
}

static IrValue *
slice (Gen *gen, IrValue *x)
{
  const IrTensor *tensor = held (gen, x);
  guint rank = ir_tensor_rank (tensor), n = 1 + below (gen, MIN (rank, 2));
  gint64 starts[2], ends[2], axes[IR_MAX_RANK], steps[2];

  for (guint i = 0; i < rank; i++)
    axes[i] = one_in (gen, 3) ? (gint64) i - rank : i;
  shuffle (gen, axes, rank);
  for (guint i = 0; i < n; i++)
    {
      steps[i] = one_in (gen, 4) ? g_rand_int_range (gen->rand, -2, 3) : 1;
      steps[i] = steps[i] == 0 ? 1 : steps[i];
      starts[i] = one_in (gen, 2) ? 0 : g_rand_int_range (gen->rand, -4, 4);
      ends[i] = one_in (gen, 2) ? G_MAXINT64 : g_rand_int_range (gen->rand, -4, 5);
    }
  IrValue *in[] = { x, ints (gen, starts, n), ints (gen, ends, n), ints (gen, axes, n),
                    one_in (gen, 2) ? ints (gen, steps, n) : NULL };
  IrNode *node = emit (gen, "Slice", "", in[4] != NULL ? 5 : 4, in, 1, NULL);
  return node != NULL ? node->outputs[0] : x;
}

static void
block_slice (Gen *gen)
{
  IrValue *x = slice (gen, pick (gen, IR_DTYPE_UNDEFINED, 1));

  if (!one_in (gen, 3))
    slice (gen, x);
}

static void
block_concat (Gen *gen)
{
  IrValue *x = pick (gen, IR_DTYPE_UNDEFINED, 1), *in[4] = { x, x, x, x };
  guint rank = ir_tensor_rank (held (gen, x)), n = 1 + below (gen, 3);
  gint64 axis = below (gen, rank);

  for (guint i = 0; i < n; i++)
    {
      IrValue *other = pick (gen, ir_tensor_dtype (held (gen, x)), rank);
      in[i] = one_in (gen, 2) ? constant (gen, ir_tensor_dtype (held (gen, x)), rank,
                                          ir_tensor_dims (held (gen, x)))
              : ir_tensor_rank (held (gen, other)) == rank ? other
                                                           : x;
    }
  in[below (gen, n)] = x;
  for (guint more = 0; more < 2; more++)
    {
      gint64 spelled = one_in (gen, 3) ? axis - rank : axis;
      IrNode *node = emit (gen, "Concat", "", n, in, 1, ATTRS (INT ("axis", spelled)));
      if (node == NULL || one_in (gen, 2))
        return;
      in[below (gen, n)] = node->outputs[0];
      axis = one_in (gen, 4) ? below (gen, rank) : axis;
    }
}

static void
block_split (Gen *gen)
{
  IrValue *x = pick (gen, IR_DTYPE_UNDEFINED, 1);
  const IrTensor *tensor = held (gen, x);
  gint64 axis = below (gen, ir_tensor_rank (tensor)), size = ir_tensor_dims (tensor)[axis];
  gint64 first = size > 0 ? below (gen, (guint) size + 1) : 0;
  gint64 parts[2] = { first, size - first };
  guint n = one_in (gen, 3) ? 1 : 2;

  if (n == 1)
    parts[0] = size;
  IrNode *node = emit (gen, "Split", "", 2, (IrValue *const[]){ x, ints (gen, parts, n) }, n,
                       ATTRS (INT ("axis", axis)));
  if (node != NULL && n == 2 && one_in (gen, 2))
    emit (gen, "Concat", "", 2, node->outputs, 1, ATTRS (INT ("axis", axis)));
}

static void
block_expand (Gen *gen)
{
  IrValue *x = pick (gen, IR_DTYPE_UNDEFINED, 0);
  const IrTensor *tensor = held (gen, x);
  guint rank = ir_tensor_rank (tensor), more = one_in (gen, 3), kind = below (gen, 3);
  gint64 shape[IR_MAX_RANK] = { 1 + below (gen, 2) };

  for (guint i = 0; i < rank; i++)
    shape[more + i] = kind == 1         ? 1 + one_in (gen, 5)
                      : one_in (gen, 2) ? 1
                                        : ir_tensor_dims (tensor)[i];
  if (kind == 1)
    one (gen, "Tile", x, ints (gen, shape + more, rank), NULL);
  else if (kind == 2)
    one (gen, "Expand", x, one (gen, "Shape", pick (gen, IR_DTYPE_UNDEFINED, 0), NULL, NULL), NULL);
  else
    one (gen, "Expand", x, ints (gen, shape, rank + more), NULL);
}

static IrValue *
pad (Gen *gen, IrValue *x)
{
  static const char *const modes[] = { "constant", "constant", "reflect", "edge" };
  guint rank = ir_tensor_rank (held (gen, x));
  gint64 pads[2 * IR_MAX_RANK];
  const char *mode = CHOOSE (gen, modes);

  for (guint i = 0; i < 2 * rank; i++)
    pads[i] = i % rank < 2 && rank > 2 && !one_in (gen, 6) ? 0 : below (gen, 3);
  IrValue *in[] = { x, ints (gen, pads, 2 * rank),
                    one_in (gen, 2) ? constant (gen, ir_tensor_dtype (held (gen, x)), 0, NULL)
                                    : NULL };
  IrNode *node = emit (gen, "Pad", "", in[2] != NULL ? 3 : 2, in, 1,
                       ATTRS (ir_attr_string (gen->context, "mode", mode, -1)));
  return node != NULL ? node->outputs[0] : x;
}

static void
block_gather (Gen *gen)
{
  IrValue *x = pick (gen, IR_DTYPE_UNDEFINED, 1);
  guint axis = below (gen, ir_tensor_rank (held (gen, x)));
  gint64 size = ir_tensor_dims (held (gen, x))[axis];
  gint64 at = size > 0 ? (gint64) below (gen, (guint) size) - (one_in (gen, 3) ? size : 0) : 0;
  g_autoptr (IrTensor) tensor = ir_tensor_new_int64s (&at, one_in (gen, 2) ? -1 : 1);

  one (gen, "Gather", x, add_constant (gen, tensor), ATTRS (INT ("axis", axis)));
}

static void
block_cast (Gen *gen)
{
  IrValue *x = pick (gen, IR_DTYPE_UNDEFINED, 0);
  IrDtype from = ir_tensor_dtype (held (gen, x));

  for (guint i = 0; i < 2; i++)
    {
      IrDtype to = i == 1 && one_in (gen, 3) ? from : random_dtype (gen);
      if (gen->smooth && !ir_dtype_is_float (to) &&
          ir_dtype_is_float (ir_tensor_dtype (held (gen, x))))
        to = IR_DTYPE_DOUBLE;
      x = one (gen, "Cast", x, NULL, ATTRS (INT ("to", to)));
      if (one_in (gen, 3))
        return;
    }
}

static void
block_clip (Gen *gen)
{
  IrValue *x = pick (gen, IR_DTYPE_UNDEFINED, 0);

  for (guint i = 0; i < 2; i++)
    {
      IrDtype dtype = ir_tensor_dtype (held (gen, x));
      IrValue *in[] = { x, one_in (gen, 4) ? NULL : constant (gen, dtype, 0, NULL),
                        one_in (gen, 4) ? NULL : constant (gen, dtype, 0, NULL) };
      IrNode *node = emit (gen, "Clip", "", 3, in, 1, NULL);
      x = node != NULL ? node->outputs[0] : x;
      if (one_in (gen, 3))
        x = one (gen, one_in (gen, 2) ? "Relu" : "Max", x, NULL, NULL);
    }
}

static void
block_where (Gen *gen)
{
  IrValue *c = pick (gen, IR_DTYPE_BOOL, 0), *x = pick (gen, IR_DTYPE_UNDEFINED, 0);
  IrValue *y = one_in (gen, 3) ? x : partner (gen, x);

  if (one_in (gen, 3))
    c = constant (gen, IR_DTYPE_BOOL, 0, NULL);
  if (one_in (gen, 2))
    c = one (gen, "Not", c, NULL, NULL);
  emit (gen, "Where", "", 3, (IrValue *const[]){ c, x, y }, 1, NULL);
}

static IrValue *
per_channel (Gen *gen, IrDtype dtype, gint64 n, gboolean positive)
{
  IrValue *value = constant (gen, dtype, 1, &n);

  if (!positive)
    return value;
  g_autoptr (IrTensor) tensor = ir_tensor_new_alloc (dtype, 1, &n, NULL);
  for (gint64 i = 0; i < n; i++)
    ir_dtype_set_double (dtype, ir_tensor_data_writable (tensor), (gsize) i,
                         g_rand_double_range (gen->rand, 0.5, 2));
  return add_constant (gen, tensor);
}

static IrValue *
affine (Gen *gen, IrValue *x)
{
  IrDtype dtype = ir_tensor_dtype (held (gen, x));
  guint rank = ir_tensor_rank (held (gen, x));
  gint64 c = rank > 1 ? ir_tensor_dims (held (gen, x))[1] : 1,
         dims[] = { one_in (gen, 4) ? 1 : c, 1, 1 };

  if (one_in (gen, 2))
    return one (gen, one_in (gen, 2) ? "Mul" : "Add", x,
                constant (gen, dtype, MIN (rank > 0 ? rank - 1 : 0, 3), dims), NULL);
  IrValue *in[] = { x, per_channel (gen, dtype, c, FALSE), per_channel (gen, dtype, c, FALSE),
                    per_channel (gen, dtype, c, FALSE), per_channel (gen, dtype, c, TRUE) };
  IrNode *node = emit (gen, "BatchNormalization", "", 5, in, 1,
                       one_in (gen, 2) ? NULL : ATTRS (FLOAT ("epsilon", 0.25)));
  return node != NULL ? node->outputs[0] : x;
}

static void
block_conv (Gen *gen)
{
  IrValue *x = pick_float (gen, 3);
  gboolean back = one_in (gen, 4);
  guint rank = ir_tensor_rank (held (gen, x));

  if (rank > 4)
    return;
  if (one_in (gen, 3))
    x = pad (gen, x);
  if (one_in (gen, 4))
    x = affine (gen, x);
  IrDtype dtype = ir_tensor_dtype (held (gen, x));
  gint64 c = ir_tensor_dims (held (gen, x))[1], m = 1 + below (gen, 3);
  gint64 group = c > 0 && one_in (gen, 3) ? c : 1, pads[4] = { 0 };
  gint64 dims[4] = { m * group, group > 0 ? c / group : c, 1 + below (gen, 3), 1 + below (gen, 2) };
  gint64 back_dims[4] = { c, m, dims[2], dims[3] };

  for (guint i = 0; i < 2 * (rank - 2); i++)
    pads[i] = below (gen, 2);
  IrValue *in[] = { x, constant (gen, dtype, rank, back ? back_dims : dims),
                    one_in (gen, 2) ? per_channel (gen, dtype, m * group, FALSE) : NULL };
  IrNode *node = emit (gen, back ? "ConvTranspose" : "Conv", "", in[2] != NULL ? 3 : 2, in, 1,
                       ATTRS (INT ("group", group), INTS ("pads", pads, 2 * (rank - 2))));
  if (node == NULL)
    return;
  IrValue *y = node->outputs[0];
  for (guint i = below (gen, 3); i > 0; i--)
    y = affine (gen, y);
  if (one_in (gen, 3) && ir_value_rank (y) == ir_value_rank (x))
    y = one (gen, "Add", y, x, NULL);
  if (one_in (gen, 2))
    unary (gen, y);
}

static void
block_matmul (Gen *gen)
{
  IrValue *x = pick_float (gen, 2), *y = NULL;

  if (one_in (gen, 3))
    x = transpose (gen, x);
  const IrTensor *tensor = held (gen, x);
  guint rank = ir_tensor_rank (tensor), shared = one_in (gen, 3) ? 2 + one_in (gen, 3) : 1;
  gint64 k = ir_tensor_dims (tensor)[rank - 1], m = 1 + below (gen, 4), dims[] = { k, m, 1 };

  for (guint i = 0; i < shared; i++)
    {
      gboolean flip = one_in (gen, 3) && rank == 2;
      dims[0] = flip ? m : k;
      dims[1] = flip ? k : m;
      IrValue *w = constant (gen, ir_tensor_dtype (tensor), 2, dims);
      if (rank == 2 && (flip || one_in (gen, 3)))
        {
          IrValue *bias = constant (gen, ir_tensor_dtype (tensor), one_in (gen, 2), &m);
          IrNode *node = emit (gen, "Gemm", "", 3, (IrValue *const[]){ x, w, bias }, 1,
                               ATTRS (INT ("transB", flip),
                                      FLOAT ("alpha", one_in (gen, 2) ? 1 : 0.5),
                                      FLOAT ("beta", one_in (gen, 2) ? 1 : 2)));
          y = node != NULL ? node->outputs[0] : x;
        }
      else
        y = one (gen, "MatMul", x, w, NULL);
      if (one_in (gen, 2))
        y = one (gen, "Add", y,
                 one_in (gen, 4) ? partner (gen, y)
                                 : constant (gen, ir_tensor_dtype (tensor), 1, &m),
                 NULL);
      if (one_in (gen, 3))
        y = one (gen, "Mul", y, constant (gen, ir_tensor_dtype (tensor), one_in (gen, 2), &m),
                 NULL);
      if (one_in (gen, 3))
        y = unary (gen, y);
    }
}

static void
block_norm (Gen *gen)
{
  IrValue *x = pick_float (gen, 1);
  IrDtype dtype = ir_tensor_dtype (held (gen, x));
  guint rank = ir_tensor_rank (held (gen, x));
  gint64 last = ir_tensor_dims (held (gen, x))[rank - 1], axis = one_in (gen, 8) ? 0 : -1;
  g_autoptr (IrTensor) two = ir_tensor_new_scalar (dtype, one_in (gen, 8) ? 3 : 2);
  g_autoptr (IrTensor) epsilon = ir_tensor_new_scalar (dtype, 0.01);
  const IrAttr *const *axes = ATTRS (INTS ("axes", &axis, 1));

  if (ir_node_opset (emit (gen, "Identity", "", 1, &x, 1, NULL)) >= 18)
    axes = NULL;
  IrValue *mean = axes != NULL ? one (gen, "ReduceMean", x, NULL, axes)
                               : one (gen, "ReduceMean", x, ints (gen, &axis, 1), NULL);
  IrValue *d = one (gen, "Sub", x, mean, NULL);
  IrValue *square = one_in (gen, 3) ? one (gen, "Mul", d, d, NULL)
                                    : one (gen, "Pow", d, add_constant (gen, two), NULL);
  IrValue *variance = axes != NULL ? one (gen, "ReduceMean", square, NULL, axes)
                                   : one (gen, "ReduceMean", square, ints (gen, &axis, 1), NULL);
  IrValue *root = one (gen, "Sqrt", one (gen, "Add", variance, add_constant (gen, epsilon), NULL),
                       NULL, NULL);
  IrValue *y = one (gen, "Div", d, root, NULL);

  y = one (gen, "Mul", y, constant (gen, dtype, one_in (gen, 8) ? 0 : 1, &last), NULL);
  if (!one_in (gen, 4))
    one (gen, "Add", y, constant (gen, dtype, 1, &last), NULL);
}

static void
block_reduce (Gen *gen)
{
  static const char *const ops[] = { "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd",
                                     "ReduceL2" };
  IrValue *x = pick (gen, IR_DTYPE_UNDEFINED, 1);
  guint rank = ir_tensor_rank (held (gen, x));
  gint64 axis = below (gen, rank), keep = one_in (gen, 2), all[] = { 2, 3 };
  IrValue *axes = rank == 4 && one_in (gen, 2) ? ints (gen, all, 2) : ints (gen, &axis, 1);
  IrValue *y = one_in (gen, 3) ? one (gen, "ReduceSum", x, axes, ATTRS (INT ("keepdims", keep)))
               : ir_graph_opset (gen->graph, "") >= 18
                   ? one (gen, CHOOSE (gen, ops), x, axes, ATTRS (INT ("keepdims", keep)))
                   : one (gen, CHOOSE (gen, ops), x, NULL,
                          ATTRS (INT ("keepdims", keep),
                                 INTS ("axes", rank == 4 ? all : &axis, rank == 4 ? 2 : 1)));

  if (!keep && one_in (gen, 2))
    one (gen, "Unsqueeze", y, ints (gen, &axis, 1), NULL);
}

/* What exporters write for a view: a shape computed from a shape. */
static void
block_shapes (Gen *gen)
{
  IrValue *x = pick (gen, IR_DTYPE_UNDEFINED, 1),
          *from = one_in (gen, 4) ? pick (gen, IR_DTYPE_UNDEFINED, 1) : x;
  guint rank = ir_tensor_rank (held (gen, from)), n = 1 + below (gen, 3);
  IrValue *in[4] = { NULL }, *shape;
  gint64 zero = 0;

  for (guint i = 0; i < n; i++)
    {
      gint64 at = (gint64) below (gen, rank) - (one_in (gen, 3) ? rank : 0);
      g_autoptr (IrTensor) index = ir_tensor_new_int64s (&at, -1);
      shape = one (gen, "Shape", from, NULL,
                   one_in (gen, 6) ? ATTRS (INT ("start", one_in (gen, 2))) : NULL);
      if (one_in (gen, 4))
        shape = slice (gen, shape);
      in[i] = one (gen, "Gather", shape, add_constant (gen, index), NULL);
      if (one_in (gen, 4))
        in[i] = one (gen, one_in (gen, 2) ? "Mul" : "Add", in[i], partner (gen, in[i]), NULL);
      in[i] = one (gen, "Unsqueeze", in[i], ints (gen, &zero, 1), NULL);
    }
  if (n < 3)
    in[n++] = ints (gen, (gint64[]){ one_in (gen, 2) ? -1 : 1 }, 1);
  IrNode *node = emit (gen, "Concat", "", n, in, 1, ATTRS (INT ("axis", 0)));
  shape = node != NULL ? node->outputs[0] : one (gen, "Shape", x, NULL, NULL);
  x = one (gen, one_in (gen, 6) ? "Expand" : "Reshape", x, shape, NULL);
  if (one_in (gen, 3))
    one (gen, "Reshape", x, one (gen, "Shape", from, NULL, NULL), NULL);
}

static void
block_twice (Gen *gen)
{
  IrValue *value = pick (gen, IR_DTYPE_UNDEFINED, 0);
  const IrNode *node = value->producer;

  if (node != NULL && node->graph == gen->graph && node->n_outputs <= 2 &&
      node->n_inputs < MAX_IN && !ir_node_is (node, "If") && !ir_node_is (node, "Loop") &&
      !ir_node_is (node, "Constant"))
    {
      g_autofree const IrAttr **attrs = g_new0 (const IrAttr *, node->n_attrs + 1);
      for (guint i = 0; i < node->n_attrs; i++)
        attrs[i] = node->attrs[i];
      emit (gen, node->op_type, node->domain, node->n_inputs, node->inputs, node->n_outputs, attrs);
    }
}

/* -- subgraphs -- */

static void random_block (Gen *gen);

static IrGraph *
enter (Gen *gen, const char *name)
{
  gen->graph = ir_edit_add_graph (gen->edit, IR_GRAPH_SUBGRAPH, name);
  gen->depth++;
  return gen->graph;
}

static void
leave (Gen *gen, IrGraph *outer)
{
  const IrGraph *left = gen->graph;

  gen->graph = outer;
  gen->depth--;
  for (guint i = gen->pool->len; i > 0; i--)
    if (((IrValue *) gen->pool->pdata[i - 1])->graph == left)
      g_ptr_array_remove_index (gen->pool, i - 1);
}

static IrNode *
add_owner (Gen *gen,
           const char *op,
           guint n_in,
           IrValue *const *in,
           guint n_out,
           const IrAttr *const *attrs)
{
  IrNode *node = ir_edit_add_node (gen->edit, gen->graph, op, "", "", n_in, in, n_out);

  for (; *attrs != NULL; attrs++)
    ir_edit_set_attr (gen->edit, node, *attrs);
  infer (gen, node);
  return node;
}

/* Both branches compute something from values around them and end in the type of @like. */
static IrGraph *
branch (Gen *gen, const char *name, IrValue *like)
{
  IrGraph *outer = gen->graph, *graph = enter (gen, name);
  IrValue *y = like;

  for (guint i = below (gen, 3); i > 0; i--)
    random_block (gen);
  y = one (gen, "Identity", y, NULL, NULL);
  for (guint i = below (gen, 3); i > 0; i--)
    {
      IrValue *z = unary (gen, y);
      if (z->graph == graph && ir_tensor_dtype (held (gen, z)) == ir_tensor_dtype (held (gen, y)))
        y = z;
    }
  ir_edit_set_graph_outputs (gen->edit, graph, &y, 1);
  leave (gen, outer);
  return graph;
}

static void
block_if (Gen *gen)
{
  IrValue *like = pick (gen, IR_DTYPE_UNDEFINED, 0);
  IrValue *condition = one_in (gen, 3) ? constant (gen, IR_DTYPE_BOOL, 0, NULL)
                                       : new_input (gen, IR_DTYPE_BOOL, 0, NULL);

  if (gen->depth > 1)
    return;
  IrGraph *then_graph = branch (gen, "yes", like), *else_graph = branch (gen, "no", like);
  IrNode *node = add_owner (gen, "If", 1, &condition, 1,
                            ATTRS (ir_attr_graph (gen->context, "then_branch", then_graph->id),
                                   ir_attr_graph (gen->context, "else_branch", else_graph->id)));
  g_autoptr (IrTensor) tensor = ir_tensor_ref (held (gen, ir_graph_output (then_graph, 0)));
  offer (gen, node->outputs[0], tensor);
}

static IrValue *
body_input (Gen *gen, IrGraph *body, const char *name, IrTensor *tensor)
{
  IrValue *value = ir_edit_add_value (gen->edit, body, ir_edit_unique_name (gen->edit, name),
                                      ir_tensor_type (tensor, gen->context));

  offer (gen, value, tensor);
  return value;
}

static void
block_loop (Gen *gen)
{
  IrValue *start = pick (gen, IR_DTYPE_UNDEFINED, 0);
  gint64 trips = below (gen, 3), zero = 0;
  g_autoptr (IrTensor) trip = ir_tensor_new_int64s (&zero, -1);
  g_autoptr (IrTensor) yes = ir_tensor_new_scalar (IR_DTYPE_BOOL, 1);
  g_autoptr (IrTensor) count = ir_tensor_new_int64s (&trips, -1);

  if (gen->depth > 0)
    return;
  IrTensor *tensor = held (gen, start);
  IrGraph *outer = gen->graph, *body = enter (gen, "body");
  IrValue *ins[] = { body_input (gen, body, "i", trip), body_input (gen, body, "go", yes),
                     body_input (gen, body, "carried", tensor) };

  ir_edit_set_graph_inputs (gen->edit, body, ins, 3);
  IrValue *go = one (gen, "Identity", ins[1], NULL, NULL),
          *y = one (gen, "Identity", ins[2], NULL, NULL);
  random_block (gen);
  for (guint i = below (gen, 3); i > 0; i--)
    y = unary (gen, y);
  if (y->graph != body || ir_tensor_dtype (held (gen, y)) != ir_tensor_dtype (tensor))
    y = one (gen, "Identity", ins[2], NULL, NULL);
  ir_edit_set_graph_outputs (gen->edit, body, (IrValue *const[]){ go, y }, 2);
  leave (gen, outer);
  IrNode *node = add_owner (gen, "Loop", 3,
                            (IrValue *const[]){ add_constant (gen, count), NULL, start }, 1,
                            ATTRS (ir_attr_graph (gen->context, "body", body->id)));
  g_autoptr (IrTensor) result = ir_tensor_ref (tensor);
  offer (gen, node->outputs[0], result);
}

/* -- examples of rules -- */

static gboolean
strays (Gen *gen, guint n)
{
  return gen->wild && one_in (gen, n);
}

static const IrAttr *
copy_attr (Gen *gen, const IrAttr *attr)
{
  if (attr->kind == IR_ATTR_INT)
    return INT (attr->name, strays (gen, 25) ? attr->ints[0] ^ 1 : attr->ints[0]);
  if (attr->kind == IR_ATTR_INTS)
    {
      g_autofree gint64 *copy = g_memdup2 (attr->ints, attr->n * sizeof (gint64));
      if (strays (gen, 12))
        shuffle (gen, copy, attr->n);
      return INTS (attr->name, copy, attr->n);
    }
  if (attr->kind == IR_ATTR_FLOAT)
    return FLOAT (attr->name, strays (gen, 25) ? attr->floats[0] * 1.5F : attr->floats[0]);
  if (attr->kind == IR_ATTR_STRING)
    return ir_attr_string (gen->context, attr->name, attr->strings[0].data,
                           (gssize) attr->strings[0].length);
  if (attr->kind == IR_ATTR_FLOATS)
    return ir_attr_floats (gen->context, attr->name, attr->floats, attr->n);
  return NULL;
}

static IrTensor *
converted (const IrTensor *tensor, IrDtype to)
{
  if (ir_tensor_dtype (tensor) != IR_DTYPE_FLOAT || to == IR_DTYPE_FLOAT)
    return ir_tensor_ref ((IrTensor *) tensor);
  IrTensor *copy = ir_tensor_new_alloc (to, ir_tensor_rank (tensor), ir_tensor_dims (tensor), NULL);
  for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
    ir_dtype_set_double (to, ir_tensor_data_writable (copy), i, ir_tensor_get_double (tensor, i));
  return copy;
}

static gboolean
same_shape (const IrTensor *a, IrDtype dtype, guint rank, const gint64 *dims)
{
  return ir_tensor_dtype (a) == dtype && ir_tensor_rank (a) == rank &&
         (rank == 0 || memcmp (ir_tensor_dims (a), dims, rank * sizeof *dims) == 0);
}

/* What stands for an input of an example. */
static IrValue *
planted_input (Gen *gen, const IrValue *input, IrDtype floats)
{
  gint64 dims[IR_MAX_RANK];
  IrDtype dtype = input->type->dtype == IR_DTYPE_FLOAT ? floats : input->type->dtype;
  guint rank = (guint) MAX (input->type->rank, 0);

  for (guint i = 0; i < rank; i++)
    dims[i] = input->type->dims[i] >= 0 ? input->type->dims[i] : gen->n;
  if (g_ascii_isupper (input->name[0]) && !strays (gen, 12))
    {
      if (input->name[0] != 'V')
        return constant (gen, dtype, rank, dims);
      g_autoptr (IrTensor) tensor = ir_tensor_new_alloc (dtype, rank, dims, NULL);
      for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
        ir_dtype_set_double (dtype, ir_tensor_data_writable (tensor), i,
                             g_rand_double_range (gen->rand, 0.5, 2));
      return add_constant (gen, tensor);
    }
  for (guint i = gen->pool->len; i > 0 && !one_in (gen, 3); i--)
    if (same_shape (held (gen, gen->pool->pdata[i - 1]), dtype, rank, dims))
      return gen->pool->pdata[i - 1];
  return new_input (gen, dtype, rank, dims);
}

static IrNode *
plant_node (Gen *gen, const IrNode *node, GHashTable *map, IrDtype floats)
{
  IrValue *in[MAX_IN] = { NULL };
  g_autofree const IrAttr **attrs = g_new0 (const IrAttr *, node->n_attrs + 1);
  guint n_attrs = 0;

  if (node->n_inputs > MAX_IN || node->n_outputs > MAX_IN)
    return NULL;
  for (guint i = 0; i < node->n_inputs; i++)
    if (node->inputs[i] != NULL && (in[i] = g_hash_table_lookup (map, node->inputs[i])) == NULL)
      return NULL;
  if (node->n_inputs == 2 && strays (gen, 10)) /* the other way round */
    {
      IrValue *swap = in[0];
      in[0] = in[1];
      in[1] = swap;
    }
  if (node->n_inputs > 0 && strays (gen, 25))
    in[below (gen, node->n_inputs)] = pick (gen, floats, 0);
  for (guint i = 0; i < node->n_attrs; i++)
    if ((attrs[n_attrs] = copy_attr (gen, node->attrs[i])) != NULL)
      n_attrs++;
  return emit (gen, node->op_type, node->domain, node->n_inputs, in, node->n_outputs, attrs);
}

static IrValue *
planted_constant (Gen *gen, const IrTensor *tensor, IrDtype floats)
{
  g_autoptr (IrTensor) copy = converted (tensor, floats);

  if (strays (gen, 12) && ir_dtype_is_float (ir_tensor_dtype (copy)))
    return constant (gen, ir_tensor_dtype (copy), ir_tensor_rank (copy), ir_tensor_dims (copy));
  return add_constant (gen, copy);
}

static void
plant (Gen *gen, IrModel *example, IrDtype floats)
{
  g_autoptr (GHashTable) map = g_hash_table_new (NULL, NULL);
  IrNode *const *nodes;
  guint n;

  for (guint i = 0; i < ir_graph_n_inputs (example->main); i++)
    {
      IrValue *input = ir_graph_input (example->main, i);
      if (!ir_type_has_rank (input->type))
        return;
      g_hash_table_insert (map, input, planted_input (gen, input, floats));
    }
  for (guint i = 0; i < example->values->len; i++)
    {
      IrValue *value = example->values->pdata[i];
      if (value != NULL && value->initializer != NULL)
        g_hash_table_insert (map, value, planted_constant (gen, value->initializer, floats));
    }
  nodes = ir_graph_order (example->main, &n);
  for (guint i = 0; i < n; i++)
    {
      const IrTensor *tensor = ir_node_is (nodes[i], "Constant")
                                   ? ir_value_constant (nodes[i]->outputs[0])
                                   : NULL;
      if (tensor != NULL)
        {
          g_hash_table_insert (map, nodes[i]->outputs[0], planted_constant (gen, tensor, floats));
          continue;
        }
      IrNode *node = plant_node (gen, nodes[i], map, floats);
      if (node == NULL)
        return;
      for (guint k = 0; k < node->n_outputs; k++)
        g_hash_table_insert (map, nodes[i]->outputs[k], node->outputs[k]);
    }
}

/* Of a pass by chance, or of all rules: then passes with many rules come first. */
static const char *
random_example (Gen *gen)
{
  g_autoptr (GPtrArray) examples = g_ptr_array_new ();
  guint n, only;
  const IrPass *const *passes = ir_passes (&n);

  only = one_in (gen, 2) ? below (gen, n) : n;
  for (guint i = 0; i < n; i++)
    for (const IrRule *rule = passes[i]->rules; rule != NULL && rule->name != NULL; rule++)
      if (rule->example != NULL && (only == n || only == i))
        g_ptr_array_add (examples, (gpointer) rule->example);
  return examples->len > 0 ? examples->pdata[below (gen, examples->len)] : NULL;
}

static IrModel *
read_example (const char *text)
{
  g_autofree char *whole = g_strconcat (
      text[0] == '<' ? "" : "<ir_version: 8, opset_import: [\"\" : 17, \"irscope\" : 1]>\ng ", text,
      NULL);
  return ir_text_read (whole, -1, NULL, NULL);
}

static void
plant_text (Gen *gen, const char *text)
{
  static const IrDtype others[] = { IR_DTYPE_FLOAT16, IR_DTYPE_DOUBLE, IR_DTYPE_BFLOAT16,
                                    IR_DTYPE_INT32 };
  g_autoptr (IrModel) example = read_example (text);

  gen->wild = one_in (gen, 2);
  if (example != NULL)
    plant (gen, example, strays (gen, 3) ? CHOOSE (gen, others) : IR_DTYPE_FLOAT);
}

static void
block_plant (Gen *gen)
{
  const char *text = random_example (gen);

  if (text != NULL)
    plant_text (gen, text);
}

/* -- the model -- */

static void
block_pad (Gen *gen)
{
  IrValue *x = pad (gen, pick (gen, IR_DTYPE_UNDEFINED, 1));

  if (one_in (gen, 3))
    pad (gen, x);
}

static void
random_block (Gen *gen)
{
  static void (*const blocks[]) (Gen *) = {
    block_plant,   block_plant,  block_plant,  block_plant,  block_plant,  block_plant,
    block_plant,   block_plant,  block_unary,  block_binary, block_binary, block_transpose,
    block_reshape, block_slice,  block_concat, block_split,  block_expand, block_pad,
    block_gather,  block_cast,   block_clip,   block_where,  block_conv,   block_conv,
    block_matmul,  block_matmul, block_norm,   block_reduce, block_shapes, block_shapes,
    block_twice,   block_twice,  block_if,     block_loop
  };

  CHOOSE (gen, blocks) (gen);
}

static void
choose_outputs (Gen *gen)
{
  gboolean inner = one_in (gen, 2); /* what is read is an output as well, now and then */
  g_autoptr (GPtrArray) outputs = g_ptr_array_new ();

  for (guint i = 0; i < gen->pool->len; i++)
    {
      IrValue *value = gen->pool->pdata[i];
      if (value->producer != NULL &&
          (value->n_uses == 0 ? !one_in (gen, 6) : inner && one_in (gen, 8)))
        g_ptr_array_add (outputs, value);
    }
  if (outputs->len == 0)
    g_ptr_array_add (outputs, one (gen, "Identity", pick (gen, IR_DTYPE_UNDEFINED, 0), NULL, NULL));
  ir_edit_set_graph_outputs (gen->edit, gen->model->main, (IrValue *const *) outputs->pdata,
                             outputs->len);
  for (guint i = 0; i < outputs->len; i++)
    ir_edit_set_flags (gen->edit, outputs->pdata[i], IR_VALUE_NAMED_BY_USER | IR_VALUE_DECLARED);
}

IrModel *
pass_trial_model (guint32 seed, guint size, gboolean smooth, gint64 *n)
{
  static const gint64 opsets[] = { 17, 17, 17, 13, 18, 20, 23 };
  IrModel *model = ir_model_new ();
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  g_autoptr (GPtrArray) pool = g_ptr_array_new ();
  g_autoptr (GHashTable)
      tensors = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);
  Gen gen = { model, edit, model->context, model->main, rand, pool, tensors,
              0,     seed, smooth,         FALSE,       0,    0,    0 };

  gen.n = one_in (&gen, 25) ? 0 : 1 + below (&gen, 3);
  const char *first = random_example (&gen);
  g_autoptr (IrModel) example = first != NULL && one_in (&gen, 2) ? read_example (first) : NULL;
  ir_edit_set_opset (edit, "",
                     example != NULL ? ir_model_opset (example, "") : CHOOSE (&gen, opsets));
  ir_edit_set_opset (edit, "irscope", 1);
  ir_edit_rename_graph (edit, model->main, "g");
  random_input (&gen, IR_DTYPE_FLOAT, 2 + below (&gen, 3));
  if (example != NULL)
    plant_text (&gen, first);
  for (guint i = 0; i < size; i++)
    random_block (&gen);
  choose_outputs (&gen);
  ir_infer_model (edit, IR_INFER_DEFAULT, NULL);
  *n = gen.n;
  return model;
}
