#include "config.h"

#include "tests/fuzz/pass-trial.h"

#include "core/op/infer.h"
#include "tests/fuzz/idioms.h"
#include "tests/fuzz/gen.h"

#include <math.h>
#include <string.h>

#define MAX_DIM 4

/* -- chance -- */

/* -- contents -- */

/* The ends of the ranges of a type, and what arithmetic treats differently. */
static double
special_element (GRand *rand, IrDtype dtype)
{
  static const double single[] = { NAN,    INFINITY, -INFINITY, -0.0,    0.0, 1e-40,
                                   -1e-40, 3.4e38,   -3.4e38,   1.2e-38, 1,   -1 };
  static const double twice[] = { NAN,     INFINITY, -INFINITY, -0.0,     0.0, 4e-320,
                                  -4e-320, 1.7e308,  -1.7e308,  2.3e-308, 1,   -1 };
  static const double half[] = { NAN,   INFINITY, -INFINITY, -0.0,   0.0, 6e-8,
                                 -6e-7, 65504,    -65504,    6.2e-5, 1,   -1 };
  const double *list = dtype == IR_DTYPE_DOUBLE ? twice : dtype == IR_DTYPE_FLOAT16 ? half : single;

  return list[g_rand_int_range (rand, 0, G_N_ELEMENTS (single))];
}

static double
random_element (GRand *rand, IrDtype dtype, gboolean adversarial)
{
  gboolean extreme = adversarial && g_rand_int_range (rand, 0, 3) == 0;

  if (dtype == IR_DTYPE_BOOL)
    return g_rand_boolean (rand);
  if (ir_dtype_kind (dtype) == IR_DTYPE_KIND_UINT)
    return extreme ? 1e20 : g_rand_int_range (rand, 0, 7);
  if (ir_dtype_kind (dtype) == IR_DTYPE_KIND_SINT)
    return extreme ? (g_rand_boolean (rand) ? 1e20 : -1e20) : g_rand_int_range (rand, -6, 7);
  return extreme ? special_element (rand, dtype) : g_rand_double_range (rand, -2, 2);
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
random_strings (guint rank, const gint64 *dims, GRand *rand)
{
  static const char *const words[] = { "", "a", "ab", "\303\251", "a b" };
  g_autoptr (GPtrArray) strings = g_ptr_array_new_with_free_func ((GDestroyNotify) g_bytes_unref);
  gint64 n = 1;

  for (guint i = 0; i < rank; i++)
    n *= dims[i];
  for (gint64 i = 0; i < n; i++)
    {
      const char *word = words[g_rand_int_range (rand, 0, G_N_ELEMENTS (words))];
      g_ptr_array_add (strings, g_bytes_new_static (word, strlen (word)));
    }
  return ir_tensor_new_strings (rank, dims, (GBytes **) strings->pdata);
}

/* Symbols are n, or a letter with their number behind it. */
static gint64
size_of (const IrValue *value, guint axis, IrContext *context, gint64 n)
{
  IrDim dim = value->type->dims[axis];
  const char *name = dim < -1 ? ir_dim_symbol_name (context, dim) : NULL;

  if (dim >= 0)
    return dim;
  return name != NULL && name[0] == 'd' && g_ascii_isdigit (name[1]) ? name[1] - '0' : n;
}

IrTensor *
pass_trial_tensor (
    const IrValue *value, gint64 n, guint32 seed, gboolean adversarial, gboolean positive)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed ^ g_str_hash (value->name));
  IrDtype dtype = value->type->dtype;
  guint rank = (guint) value->type->rank;
  gint64 dims[IR_MAX_RANK];

  for (guint i = 0; i < rank; i++)
    dims[i] = size_of (value, i, value->graph->model->context, n);
  if (dtype == IR_DTYPE_STRING)
    return random_strings (rank, dims, rand);
  IrTensor *tensor = ir_tensor_new_alloc (dtype, rank, dims, NULL);
  /* One integer may be a number of iterations. */
  pass_trial_fill (tensor, rand, adversarial && (rank > 0 || ir_dtype_is_float (dtype)));
  for (guint64 i = 0; positive && i < ir_tensor_n_elements (tensor); i++)
    ir_dtype_set_double (dtype, ir_tensor_data_writable (tensor), i,
                         g_rand_double_range (rand, 0.5, 2));
  return tensor;
}

GHashTable *
pass_trial_inputs (IrModel *model, gint64 n, guint32 seed, gboolean adversarial)
{
  GHashTable *inputs = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);

  for (guint i = 0; i < ir_graph_n_inputs (model->main); i++)
    {
      const IrValue *value = ir_graph_input (model->main, i);
      if (value->initializer == NULL || seed % 2 == 0)
        g_hash_table_insert (inputs, GUINT_TO_POINTER (value->id),
                             pass_trial_tensor (value, n, seed, adversarial, FALSE));
    }
  return inputs;
}

/* -- values -- */

IrValue *
gen_input (Gen *gen, IrDtype dtype, guint rank, const gint64 *dims)
{
  static const char *const letters[] = { "x", "data", "in" };
  IrDim shape[IR_MAX_RANK];
  g_autoptr (GPtrArray) inputs = g_ptr_array_new ();

  for (guint i = 0; i < rank; i++)
    {
      char name[] = { 'd', (char) ('0' + dims[i] % 10), '\0' };
      shape[i] = dims[i] == gen->n && gen_one_in (gen, 2) ? ir_dim_symbol (gen->context, "n")
                 : dims[i] > 1 && dims[i] < 10 && gen_one_in (gen, 15)
                     ? ir_dim_symbol (gen->context, name)
                     : dims[i];
    }
  for (guint i = 0; i < ir_graph_n_inputs (gen->model->main); i++)
    g_ptr_array_add (inputs, ir_graph_input (gen->model->main, i));
  const char *name = ir_edit_unique_name (gen->edit, CHOOSE (gen, letters));
  IrValue *value = ir_edit_add_value (gen->edit, gen->model->main, name,
                                      ir_type_tensor (gen->context, dtype, (int) rank, shape));
  ir_edit_set_flags (gen->edit, value, IR_VALUE_NAMED_BY_USER | IR_VALUE_DECLARED);
  g_ptr_array_add (inputs, value);
  ir_edit_set_graph_inputs (gen->edit, gen->model->main, (IrValue *const *) inputs->pdata,
                            inputs->len);
  g_autoptr (IrTensor) tensor = pass_trial_tensor (value, gen->n, gen->seed, FALSE, FALSE);
  gen_offer (gen, value, tensor);
  return value;
}

static IrValue *
ints (Gen *gen, const gint64 *values, guint n)
{
  g_autoptr (IrTensor) tensor = ir_tensor_new_int64s (values, n);
  return gen_tensor (gen, tensor);
}

/* Constants that rules look for, and some that they do not; shared now and then. */
IrValue *
gen_constant (Gen *gen, IrDtype dtype, guint rank, const gint64 *dims)
{
  static const double numbers[] = { 0, 1, -0.0, 2, -1, 0.5, 3, 6 };
  g_autoptr (IrTensor) tensor = ir_tensor_new_alloc (dtype, rank, dims, NULL);
  double number = CHOOSE (gen, numbers);

  if (gen_one_in (gen, 5))
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
  if (dtype == IR_DTYPE_STRING)
    {
      g_autoptr (IrTensor) strings = random_strings (rank, dims, gen->rand);
      return gen_tensor (gen, strings);
    }
  pass_trial_fill (tensor, gen->rand, !gen->smooth && gen_one_in (gen, 8));
  for (guint64 i = 0; i < ir_tensor_n_elements (tensor) && gen_one_in (gen, 2) == 0; i++)
    {
      if (i == 0 && gen_one_in (gen, 3))
        break;
      ir_dtype_set_double (dtype, ir_tensor_data_writable (tensor), i,
                           dtype == IR_DTYPE_BOOL                                      ? number > 0
                           : number < 0 && ir_dtype_kind (dtype) == IR_DTYPE_KIND_UINT ? 1
                                                                                       : number);
    }
  return gen_tensor (gen, tensor);
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

  static const IrDtype rare[] = { IR_DTYPE_STRING,         IR_DTYPE_COMPLEX64,
                                  IR_DTYPE_COMPLEX128,     IR_DTYPE_FLOAT8E4M3FN,
                                  IR_DTYPE_FLOAT8E5M2,     IR_DTYPE_FLOAT8E4M3FNUZ,
                                  IR_DTYPE_FLOAT8E5M2FNUZ, IR_DTYPE_UINT4,
                                  IR_DTYPE_INT4,           IR_DTYPE_FLOAT4E2M1 };

  if (gen_one_in (gen, 15))
    return CHOOSE (gen, rare);
  return gen_one_in (gen, 3) ? CHOOSE (gen, all) : CHOOSE (gen, often);
}

static IrValue *
random_input (Gen *gen, IrDtype dtype, guint rank)
{
  gint64 dims[IR_MAX_RANK] = { 0 };

  for (guint i = 0; i < rank; i++)
    dims[i] = gen_one_in (gen, 3)    ? gen->n
              : gen_one_in (gen, 40) ? 0
                                     : 1 + gen_below (gen, MAX_DIM);
  return gen_input (gen, dtype, rank, dims);
}

/* A value with at least @min_rank dimensions, of @dtype if that is not UNDEFINED; the newest ones
 * most often, so that chains grow. */
IrValue *
gen_pick (Gen *gen, IrDtype dtype, guint min_rank)
{
  for (guint try = 0; try < 12 && gen->pool->len > 0; try++)
    {
      guint back = gen_one_in (gen, 2) ? 1 : MIN (gen->pool->len, 6);
      guint at = gen_one_in (gen, 4) ? gen_below (gen, gen->pool->len)
                                     : gen->pool->len - 1 - gen_below (gen, back);
      IrValue *value = gen->pool->pdata[at];
      const IrTensor *tensor = gen_held (gen, value);

      if (ir_tensor_rank (tensor) >= min_rank &&
          (dtype == IR_DTYPE_UNDEFINED || ir_tensor_dtype (tensor) == dtype))
        return value;
    }
  guint rank = gen_below (gen, 5);
  return random_input (gen, dtype != IR_DTYPE_UNDEFINED ? dtype : random_dtype (gen),
                       MAX (min_rank, rank));
}

static IrValue *
pick_float (Gen *gen, guint min_rank)
{
  IrValue *value = gen_pick (gen, IR_DTYPE_UNDEFINED, min_rank);

  return ir_dtype_is_float (ir_tensor_dtype (gen_held (gen, value)))
             ? value
             : gen_pick (gen, IR_DTYPE_FLOAT, min_rank);
}

/* Something that broadcasts with @value: a constant or another value. */
static IrValue *
partner (Gen *gen, IrValue *value)
{
  const IrTensor *tensor = gen_held (gen, value);
  guint rank = ir_tensor_rank (tensor), left = rank > 0 ? gen_below (gen, rank + 1) : 0;
  gint64 dims[IR_MAX_RANK];

  if (gen_one_in (gen, 4))
    for (guint try = 0; try < 8; try++)
      {
        IrValue *other = gen->pool->pdata[gen_below (gen, gen->pool->len)];
        if (ir_tensor_dtype (gen_held (gen, other)) == ir_tensor_dtype (tensor))
          return other;
      }
  if (gen_one_in (gen, 2))
    left = rank;
  for (guint i = left; i < rank; i++)
    dims[i - left] = gen_one_in (gen, 3) ? 1 : ir_tensor_dims (tensor)[i];
  rank -= left;
  if (rank + 1 < 5 && gen_one_in (gen, 10)) /* of a higher rank */
    {
      memmove (dims + 1, dims, rank * sizeof *dims);
      dims[0] = 1 + gen_below (gen, 2);
      rank++;
    }
  return gen_one_in (gen, 6) ? gen_input (gen, ir_tensor_dtype (tensor), rank, dims)
                             : gen_constant (gen, ir_tensor_dtype (tensor), rank, dims);
}

/* -- nodes -- */

/* -- blocks -- */

static IrValue *
unary (Gen *gen, IrValue *x)
{
  static const char *const smooth[] = { "Neg",     "Abs",       "Relu",       "Identity",
                                        "Tanh",    "Sigmoid",   "Softplus",   "Erf",
                                        "Exp",     "Sqrt",      "Reciprocal", "Softmax",
                                        "Dropout", "LeakyRelu", "HardSwish",  "HardSigmoid" };
  static const char *const jumping[] = { "Floor", "Ceil", "Round", "Sign", "Log", "Elu" };
  IrDtype dtype = ir_tensor_dtype (gen_held (gen, x));

  if (dtype == IR_DTYPE_BOOL)
    return gen_one (gen, gen_one_in (gen, 4) ? "Identity" : "Not", x, NULL, NULL);
  if (!gen->smooth && gen_one_in (gen, 4))
    return gen_one (gen, CHOOSE (gen, jumping), x, NULL, NULL);
  return gen_one (gen, CHOOSE (gen, smooth), x, NULL, NULL);
}

static void
block_unary (Gen *gen)
{
  IrValue *x = gen_pick (gen, IR_DTYPE_UNDEFINED, 0);

  x = unary (gen, x);
  if (gen_one_in (gen, 2))
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
  IrValue *x = gen_pick (gen, IR_DTYPE_UNDEFINED, 0), *y = partner (gen, x);
  IrDtype dtype = ir_tensor_dtype (gen_held (gen, x));
  const char *op = CHOOSE (gen, ops);

  if (dtype == IR_DTYPE_BOOL)
    op = CHOOSE (gen, logic);
  else if ((!gen->smooth || !ir_dtype_is_float (dtype)) && gen_one_in (gen, 6))
    op = CHOOSE (gen, compare);
  if (gen_one_in (gen, 2))
    x = gen_one (gen, op, x, y, NULL);
  else
    x = gen_one (gen, op, y, x, NULL);
  if (gen_one_in (gen, 3) && ir_tensor_dtype (gen_held (gen, x)) == dtype)
    gen_one (gen, op, x, partner (gen, x), NULL);
}

static IrValue *
transpose (Gen *gen, IrValue *x)
{
  gint64 perm[IR_MAX_RANK];
  guint rank = ir_tensor_rank (gen_held (gen, x));

  for (guint i = 0; i < rank; i++)
    perm[i] = i;
  if (!gen_one_in (gen, 6))
    gen_shuffle (gen, perm, rank);
  return gen_one (gen, "Transpose", x, NULL,
                  gen_one_in (gen, 8) ? NULL : ATTRS (INTS ("perm", perm, rank)));
}

static void
block_transpose (Gen *gen)
{
  IrValue *x = transpose (gen, gen_pick (gen, IR_DTYPE_UNDEFINED, 1));

  if (gen_one_in (gen, 3))
    x = unary (gen, x);
  if (gen_one_in (gen, 3))
    x = gen_one (gen, "Add", x, partner (gen, x), NULL);
  if (!gen_one_in (gen, 3))
    transpose (gen, x);
}

static IrValue *
reshape (Gen *gen, IrValue *x)
{
  const IrTensor *tensor = gen_held (gen, x);
  guint rank = ir_tensor_rank (tensor), n = 0;
  gint64 shape[IR_MAX_RANK], count = (gint64) ir_tensor_n_elements (tensor);
  gint64 axis = rank > 0 ? gen_below (gen, rank) : 0;

  switch (gen_below (gen, 6))
    {
    case 0:
      return gen_one (gen, "Flatten", x, NULL, ATTRS (INT ("axis", gen_below (gen, rank + 1))));
    case 1:
      return gen_one (gen, "Unsqueeze", x, ints (gen, (gint64[]){ gen_below (gen, rank + 1) }, 1),
                      NULL);
    case 2:
      return gen_one (gen, "Squeeze", x, gen_one_in (gen, 3) ? NULL : ints (gen, &axis, 1), NULL);
    default:
      break;
    }
  if (gen_one_in (gen, 4)) /* the same, some of it as 0 */
    for (; n < rank; n++)
      shape[n] = gen_one_in (gen, 2) ? 0 : ir_tensor_dims (tensor)[n];
  else
    for (gint64 left = count; n < 4; n++)
      {
        gint64 part = left > 0 && n < 3 ? 1 + gen_below (gen, 4) : left;
        part = left > 0 && part > 0 && left % part == 0 ? part : 1;
        shape[n] = left == 0 && n == 0 ? 0 : part;
        left = part > 0 ? left / part : 0;
        if (left <= 1 && gen_one_in (gen, 2))
          {
            n++;
            break;
          }
      }
  if (n > 0 && gen_one_in (gen, 3))
    shape[gen_below (gen, n)] = -1;
  return gen_one (gen, "Reshape", x, ints (gen, shape, n),
                  gen_one_in (gen, 10) ? ATTRS (INT ("allowzero", 1)) : NULL);
}

static void
block_reshape (Gen *gen)
{
  IrValue *x = reshape (gen, gen_pick (gen, IR_DTYPE_UNDEFINED, 0));

  if (gen_one_in (gen, 2))
    reshape (gen, x);
}

static IrValue *
slice (Gen *gen, IrValue *x)
{
  const IrTensor *tensor = gen_held (gen, x);
  guint rank = ir_tensor_rank (tensor), n = 1 + gen_below (gen, MIN (rank, 2));
  gint64 starts[2], ends[2], axes[IR_MAX_RANK], steps[2];

  for (guint i = 0; i < rank; i++)
    axes[i] = gen_one_in (gen, 3) ? (gint64) i - rank : i;
  gen_shuffle (gen, axes, rank);
  for (guint i = 0; i < n; i++)
    {
      steps[i] = gen_one_in (gen, 4) ? g_rand_int_range (gen->rand, -2, 3) : 1;
      steps[i] = steps[i] == 0 ? 1 : steps[i];
      starts[i] = gen_one_in (gen, 2) ? 0 : g_rand_int_range (gen->rand, -4, 4);
      ends[i] = gen_one_in (gen, 2) ? G_MAXINT64 : g_rand_int_range (gen->rand, -4, 5);
    }
  IrValue *in[] = { x, ints (gen, starts, n), ints (gen, ends, n), ints (gen, axes, n),
                    gen_one_in (gen, 2) ? ints (gen, steps, n) : NULL };
  IrNode *node = gen_emit (gen, "Slice", "", in[4] != NULL ? 5 : 4, in, 1, NULL);
  return node != NULL ? node->outputs[0] : x;
}

static void
block_slice (Gen *gen)
{
  IrValue *x = slice (gen, gen_pick (gen, IR_DTYPE_UNDEFINED, 1));

  if (!gen_one_in (gen, 3))
    slice (gen, x);
}

static void
block_concat (Gen *gen)
{
  IrValue *x = gen_pick (gen, IR_DTYPE_UNDEFINED, 1), *in[4] = { x, x, x, x };
  guint rank = ir_tensor_rank (gen_held (gen, x)), n = 1 + gen_below (gen, 3);
  gint64 axis = gen_below (gen, rank);

  for (guint i = 0; i < n; i++)
    {
      IrValue *other = gen_pick (gen, ir_tensor_dtype (gen_held (gen, x)), rank);
      in[i] = gen_one_in (gen, 2) ? gen_constant (gen, ir_tensor_dtype (gen_held (gen, x)), rank,
                                                  ir_tensor_dims (gen_held (gen, x)))
              : ir_tensor_rank (gen_held (gen, other)) == rank ? other
                                                               : x;
    }
  in[gen_below (gen, n)] = x;
  for (guint more = 0; more < 2; more++)
    {
      gint64 spelled = gen_one_in (gen, 3) ? axis - rank : axis;
      IrNode *node = gen_emit (gen, "Concat", "", n, in, 1, ATTRS (INT ("axis", spelled)));
      if (node == NULL || gen_one_in (gen, 2))
        return;
      in[gen_below (gen, n)] = node->outputs[0];
      axis = gen_one_in (gen, 4) ? gen_below (gen, rank) : axis;
    }
}

static void
block_split (Gen *gen)
{
  IrValue *x = gen_pick (gen, IR_DTYPE_UNDEFINED, 1);
  const IrTensor *tensor = gen_held (gen, x);
  gint64 axis = gen_below (gen, ir_tensor_rank (tensor)), size = ir_tensor_dims (tensor)[axis];
  gint64 first = size > 0 ? gen_below (gen, (guint) size + 1) : 0;
  gint64 parts[2] = { first, size - first };
  guint n = gen_one_in (gen, 3) ? 1 : 2;

  if (n == 1)
    parts[0] = size;
  IrNode *node = gen_emit (gen, "Split", "", 2, (IrValue *const[]){ x, ints (gen, parts, n) }, n,
                           ATTRS (INT ("axis", axis)));
  if (node != NULL && n == 2 && gen_one_in (gen, 2))
    gen_emit (gen, "Concat", "", 2, node->outputs, 1, ATTRS (INT ("axis", axis)));
}

static void
block_expand (Gen *gen)
{
  IrValue *x = gen_pick (gen, IR_DTYPE_UNDEFINED, 0);
  const IrTensor *tensor = gen_held (gen, x);
  guint rank = ir_tensor_rank (tensor), more = gen_one_in (gen, 3), kind = gen_below (gen, 3);
  gint64 shape[IR_MAX_RANK] = { 1 + gen_below (gen, 2) };

  for (guint i = 0; i < rank; i++)
    shape[more + i] = kind == 1             ? 1 + gen_one_in (gen, 5)
                      : gen_one_in (gen, 2) ? 1
                                            : ir_tensor_dims (tensor)[i];
  if (kind == 1)
    gen_one (gen, "Tile", x, ints (gen, shape + more, rank), NULL);
  else if (kind == 2)
    gen_one (gen, "Expand", x,
             gen_one (gen, "Shape", gen_pick (gen, IR_DTYPE_UNDEFINED, 0), NULL, NULL), NULL);
  else
    gen_one (gen, "Expand", x, ints (gen, shape, rank + more), NULL);
}

static IrValue *
pad (Gen *gen, IrValue *x)
{
  static const char *const modes[] = { "constant", "constant", "reflect", "edge" };
  guint rank = ir_tensor_rank (gen_held (gen, x));
  gint64 pads[2 * IR_MAX_RANK];
  const char *mode = CHOOSE (gen, modes);

  for (guint i = 0; i < 2 * rank; i++)
    pads[i] = i % rank < 2 && rank > 2 && !gen_one_in (gen, 6) ? 0 : gen_below (gen, 3);
  IrValue *in[] = { x, ints (gen, pads, 2 * rank),
                    gen_one_in (gen, 2)
                        ? gen_constant (gen, ir_tensor_dtype (gen_held (gen, x)), 0, NULL)
                        : NULL };
  IrNode *node = gen_emit (gen, "Pad", "", in[2] != NULL ? 3 : 2, in, 1,
                           ATTRS (ir_attr_string (gen->context, "mode", mode, -1)));
  return node != NULL ? node->outputs[0] : x;
}

static void
block_gather (Gen *gen)
{
  IrValue *x = gen_pick (gen, IR_DTYPE_UNDEFINED, 1);
  guint axis = gen_below (gen, ir_tensor_rank (gen_held (gen, x)));
  gint64 size = ir_tensor_dims (gen_held (gen, x))[axis];
  gint64 at = size > 0 ? (gint64) gen_below (gen, (guint) size) - (gen_one_in (gen, 3) ? size : 0)
                       : 0;
  g_autoptr (IrTensor) tensor = ir_tensor_new_int64s (&at, gen_one_in (gen, 2) ? -1 : 1);

  gen_one (gen, "Gather", x, gen_tensor (gen, tensor), ATTRS (INT ("axis", axis)));
}

static void
block_cast (Gen *gen)
{
  IrValue *x = gen_pick (gen, IR_DTYPE_UNDEFINED, 0);
  IrDtype from = ir_tensor_dtype (gen_held (gen, x));

  for (guint i = 0; i < 2; i++)
    {
      IrDtype to = i == 1 && gen_one_in (gen, 3) ? from : random_dtype (gen);
      if (gen->smooth && !ir_dtype_is_float (to) &&
          ir_dtype_is_float (ir_tensor_dtype (gen_held (gen, x))))
        to = IR_DTYPE_DOUBLE;
      x = gen_one (gen, "Cast", x, NULL, ATTRS (INT ("to", to)));
      if (gen_one_in (gen, 3))
        return;
    }
}

static void
block_clip (Gen *gen)
{
  IrValue *x = gen_pick (gen, IR_DTYPE_UNDEFINED, 0);

  for (guint i = 0; i < 2; i++)
    {
      IrDtype dtype = ir_tensor_dtype (gen_held (gen, x));
      IrValue *in[] = { x, gen_one_in (gen, 4) ? NULL : gen_constant (gen, dtype, 0, NULL),
                        gen_one_in (gen, 4) ? NULL : gen_constant (gen, dtype, 0, NULL) };
      IrNode *node = gen_emit (gen, "Clip", "", 3, in, 1, NULL);
      x = node != NULL ? node->outputs[0] : x;
      if (gen_one_in (gen, 3))
        x = gen_one (gen, gen_one_in (gen, 2) ? "Relu" : "Max", x, NULL, NULL);
    }
}

static void
block_where (Gen *gen)
{
  IrValue *c = gen_pick (gen, IR_DTYPE_BOOL, 0), *x = gen_pick (gen, IR_DTYPE_UNDEFINED, 0);
  IrValue *y = gen_one_in (gen, 3) ? x : partner (gen, x);

  if (gen_one_in (gen, 3))
    c = gen_constant (gen, IR_DTYPE_BOOL, 0, NULL);
  if (gen_one_in (gen, 2))
    c = gen_one (gen, "Not", c, NULL, NULL);
  gen_emit (gen, "Where", "", 3, (IrValue *const[]){ c, x, y }, 1, NULL);
}

static IrValue *
per_channel (Gen *gen, IrDtype dtype, gint64 n, gboolean positive)
{
  IrValue *value = gen_constant (gen, dtype, 1, &n);

  if (!positive)
    return value;
  g_autoptr (IrTensor) tensor = ir_tensor_new_alloc (dtype, 1, &n, NULL);
  for (gint64 i = 0; i < n; i++)
    ir_dtype_set_double (dtype, ir_tensor_data_writable (tensor), (gsize) i,
                         g_rand_double_range (gen->rand, 0.5, 2));
  return gen_tensor (gen, tensor);
}

static IrValue *
affine (Gen *gen, IrValue *x)
{
  IrDtype dtype = ir_tensor_dtype (gen_held (gen, x));
  guint rank = ir_tensor_rank (gen_held (gen, x));
  gint64 c = rank > 1 ? ir_tensor_dims (gen_held (gen, x))[1] : 1,
         dims[] = { gen_one_in (gen, 4) ? 1 : c, 1, 1 };

  if (gen_one_in (gen, 2))
    return gen_one (gen, gen_one_in (gen, 2) ? "Mul" : "Add", x,
                    gen_constant (gen, dtype, MIN (rank > 0 ? rank - 1 : 0, 3), dims), NULL);
  IrValue *in[] = { x, per_channel (gen, dtype, c, FALSE), per_channel (gen, dtype, c, FALSE),
                    per_channel (gen, dtype, c, FALSE), per_channel (gen, dtype, c, TRUE) };
  IrNode *node = gen_emit (gen, "BatchNormalization", "", 5, in, 1,
                           gen_one_in (gen, 2) ? NULL : ATTRS (FLOAT ("epsilon", 0.25)));
  return node != NULL ? node->outputs[0] : x;
}

static void
block_conv (Gen *gen)
{
  IrValue *x = pick_float (gen, 3);
  gboolean back = gen_one_in (gen, 4);
  guint rank = ir_tensor_rank (gen_held (gen, x));

  if (rank > 4)
    return;
  if (gen_one_in (gen, 3))
    x = pad (gen, x);
  if (gen_one_in (gen, 4))
    x = affine (gen, x);
  IrDtype dtype = ir_tensor_dtype (gen_held (gen, x));
  gint64 c = ir_tensor_dims (gen_held (gen, x))[1], m = 1 + gen_below (gen, 3);
  gint64 group = c > 0 && gen_one_in (gen, 3) ? c : 1, pads[4] = { 0 };
  gint64 dims[4] = { m * group, group > 0 ? c / group : c, 1 + gen_below (gen, 3),
                     1 + gen_below (gen, 2) };
  gint64 back_dims[4] = { c, m, dims[2], dims[3] };

  for (guint i = 0; i < 2 * (rank - 2); i++)
    pads[i] = gen_below (gen, 2);
  IrValue *in[] = { x, gen_constant (gen, dtype, rank, back ? back_dims : dims),
                    gen_one_in (gen, 2) ? per_channel (gen, dtype, m * group, FALSE) : NULL };
  IrNode *node = gen_emit (gen, back ? "ConvTranspose" : "Conv", "", in[2] != NULL ? 3 : 2, in, 1,
                           ATTRS (INT ("group", group), INTS ("pads", pads, 2 * (rank - 2))));
  if (node == NULL)
    return;
  IrValue *y = node->outputs[0];
  for (guint i = gen_below (gen, 3); i > 0; i--)
    y = affine (gen, y);
  if (gen_one_in (gen, 3) && ir_value_rank (y) == ir_value_rank (x))
    y = gen_one (gen, "Add", y, x, NULL);
  if (gen_one_in (gen, 2))
    unary (gen, y);
}

static void
block_matmul (Gen *gen)
{
  IrValue *x = pick_float (gen, 2), *y = NULL;

  if (gen_one_in (gen, 3))
    x = transpose (gen, x);
  const IrTensor *tensor = gen_held (gen, x);
  guint rank = ir_tensor_rank (tensor), shared = gen_one_in (gen, 3) ? 2 + gen_one_in (gen, 3) : 1;
  gint64 k = ir_tensor_dims (tensor)[rank - 1], m = 1 + gen_below (gen, 4), dims[] = { k, m, 1 };

  for (guint i = 0; i < shared; i++)
    {
      gboolean flip = gen_one_in (gen, 3) && rank == 2;
      dims[0] = flip ? m : k;
      dims[1] = flip ? k : m;
      IrValue *w = gen_constant (gen, ir_tensor_dtype (tensor), 2, dims);
      if (rank == 2 && (flip || gen_one_in (gen, 3)))
        {
          IrValue *bias = gen_constant (gen, ir_tensor_dtype (tensor), gen_one_in (gen, 2), &m);
          IrNode *node = gen_emit (gen, "Gemm", "", 3, (IrValue *const[]){ x, w, bias }, 1,
                                   ATTRS (INT ("transB", flip),
                                          FLOAT ("alpha", gen_one_in (gen, 2) ? 1 : 0.5),
                                          FLOAT ("beta", gen_one_in (gen, 2) ? 1 : 2)));
          y = node != NULL ? node->outputs[0] : x;
        }
      else
        y = gen_one (gen, "MatMul", x, w, NULL);
      if (gen_one_in (gen, 2))
        y = gen_one (gen, "Add", y,
                     gen_one_in (gen, 4) ? partner (gen, y)
                                         : gen_constant (gen, ir_tensor_dtype (tensor), 1, &m),
                     NULL);
      if (gen_one_in (gen, 3))
        y = gen_one (gen, "Mul", y,
                     gen_constant (gen, ir_tensor_dtype (tensor), gen_one_in (gen, 2), &m), NULL);
      if (gen_one_in (gen, 3))
        y = unary (gen, y);
    }
}

static void
block_norm (Gen *gen)
{
  IrValue *x = pick_float (gen, 1);
  IrDtype dtype = ir_tensor_dtype (gen_held (gen, x));
  guint rank = ir_tensor_rank (gen_held (gen, x));
  gint64 last = ir_tensor_dims (gen_held (gen, x))[rank - 1], axis = gen_one_in (gen, 8) ? 0 : -1;
  g_autoptr (IrTensor) two = ir_tensor_new_scalar (dtype, gen_one_in (gen, 8) ? 3 : 2);
  g_autoptr (IrTensor) epsilon = ir_tensor_new_scalar (dtype, 0.01);
  const IrAttr *const *axes = ATTRS (INTS ("axes", &axis, 1));

  if (ir_graph_opset (gen->graph, "") >= 18)
    axes = NULL;
  IrValue *mean = axes != NULL ? gen_one (gen, "ReduceMean", x, NULL, axes)
                               : gen_one (gen, "ReduceMean", x, ints (gen, &axis, 1), NULL);
  IrValue *d = gen_one (gen, "Sub", x, mean, NULL);
  IrValue *square = gen_one_in (gen, 3) ? gen_one (gen, "Mul", d, d, NULL)
                                        : gen_one (gen, "Pow", d, gen_tensor (gen, two), NULL);
  IrValue *variance = axes != NULL
                          ? gen_one (gen, "ReduceMean", square, NULL, axes)
                          : gen_one (gen, "ReduceMean", square, ints (gen, &axis, 1), NULL);
  IrValue *root = gen_one (
      gen, "Sqrt", gen_one (gen, "Add", variance, gen_tensor (gen, epsilon), NULL), NULL, NULL);
  IrValue *y = gen_one (gen, "Div", d, root, NULL);

  y = gen_one (gen, "Mul", y, gen_constant (gen, dtype, gen_one_in (gen, 8) ? 0 : 1, &last), NULL);
  if (!gen_one_in (gen, 4))
    gen_one (gen, "Add", y, gen_constant (gen, dtype, 1, &last), NULL);
}

static void
block_reduce (Gen *gen)
{
  static const char *const ops[] = { "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd",
                                     "ReduceL2" };
  IrValue *x = gen_pick (gen, IR_DTYPE_UNDEFINED, 1);
  guint rank = ir_tensor_rank (gen_held (gen, x));
  gint64 axis = gen_below (gen, rank), keep = gen_one_in (gen, 2), all[] = { 2, 3 };
  IrValue *axes = rank == 4 && gen_one_in (gen, 2) ? ints (gen, all, 2) : ints (gen, &axis, 1);
  IrValue *y = gen_one_in (gen, 3)
                   ? gen_one (gen, "ReduceSum", x, axes, ATTRS (INT ("keepdims", keep)))
               : ir_graph_opset (gen->graph, "") >= 18
                   ? gen_one (gen, CHOOSE (gen, ops), x, axes, ATTRS (INT ("keepdims", keep)))
                   : gen_one (gen, CHOOSE (gen, ops), x, NULL,
                              ATTRS (INT ("keepdims", keep),
                                     INTS ("axes", rank == 4 ? all : &axis, rank == 4 ? 2 : 1)));

  if (!keep && gen_one_in (gen, 2))
    gen_one (gen, "Unsqueeze", y, ints (gen, &axis, 1), NULL);
}

/* What exporters write for a view: a shape computed from a shape. */
static void
block_shapes (Gen *gen)
{
  IrValue *x = gen_pick (gen, IR_DTYPE_UNDEFINED, 1),
          *from = gen_one_in (gen, 4) ? gen_pick (gen, IR_DTYPE_UNDEFINED, 1) : x;
  guint rank = ir_tensor_rank (gen_held (gen, from)), n = 1 + gen_below (gen, 3);
  IrValue *in[4] = { NULL }, *shape;
  gint64 zero = 0;

  for (guint i = 0; i < n; i++)
    {
      gint64 at = (gint64) gen_below (gen, rank) - (gen_one_in (gen, 3) ? rank : 0);
      g_autoptr (IrTensor) index = ir_tensor_new_int64s (&at, -1);
      shape = gen_one (gen, "Shape", from, NULL,
                       gen_one_in (gen, 6) ? ATTRS (INT ("start", gen_one_in (gen, 2))) : NULL);
      if (gen_one_in (gen, 4))
        shape = slice (gen, shape);
      in[i] = gen_one (gen, "Gather", shape, gen_tensor (gen, index), NULL);
      if (gen_one_in (gen, 4))
        in[i] = gen_one (gen, gen_one_in (gen, 2) ? "Mul" : "Add", in[i], partner (gen, in[i]),
                         NULL);
      in[i] = gen_one (gen, "Unsqueeze", in[i], ints (gen, &zero, 1), NULL);
    }
  if (n < 3)
    in[n++] = ints (gen, (gint64[]){ gen_one_in (gen, 2) ? -1 : 1 }, 1);
  IrNode *node = gen_emit (gen, "Concat", "", n, in, 1, ATTRS (INT ("axis", 0)));
  shape = node != NULL ? node->outputs[0] : gen_one (gen, "Shape", x, NULL, NULL);
  x = gen_one (gen, gen_one_in (gen, 6) ? "Expand" : "Reshape", x, shape, NULL);
  if (gen_one_in (gen, 3))
    gen_one (gen, "Reshape", x, gen_one (gen, "Shape", from, NULL, NULL), NULL);
}

static void
block_twice (Gen *gen)
{
  IrValue *value = gen_pick (gen, IR_DTYPE_UNDEFINED, 0);
  const IrNode *node = value->producer;

  if (node != NULL && node->graph == gen->graph && node->n_outputs <= 2 &&
      node->n_inputs < GEN_MAX_IN && !ir_node_is (node, "If") && !ir_node_is (node, "Loop") &&
      !ir_node_is (node, "Constant"))
    {
      g_autofree const IrAttr **attrs = g_new0 (const IrAttr *, node->n_attrs + 1);
      for (guint i = 0; i < node->n_attrs; i++)
        attrs[i] = node->attrs[i];
      gen_emit (gen, node->op_type, node->domain, node->n_inputs, node->inputs, node->n_outputs,
                attrs);
    }
}

/* -- subgraphs -- */

static void random_block (Gen *gen);

/* Both branches compute something from values around them and end in the type of @like. */
static IrGraph *
branch (Gen *gen, const char *name, IrValue *like)
{
  IrGraph *outer = gen->graph, *graph = gen_enter (gen, name);
  IrValue *y = like;

  for (guint i = gen_below (gen, 3); i > 0; i--)
    random_block (gen);
  y = gen_one (gen, "Identity", y, NULL, NULL);
  for (guint i = gen_below (gen, 3); i > 0; i--)
    {
      IrValue *z = unary (gen, y);
      if (z->graph == graph &&
          ir_tensor_dtype (gen_held (gen, z)) == ir_tensor_dtype (gen_held (gen, y)))
        y = z;
    }
  ir_edit_set_graph_outputs (gen->edit, graph, &y, 1);
  gen_leave (gen, outer);
  return graph;
}

static void
block_if (Gen *gen)
{
  IrValue *like = gen_pick (gen, IR_DTYPE_UNDEFINED, 0);
  IrValue *condition = gen_one_in (gen, 3) ? gen_constant (gen, IR_DTYPE_BOOL, 0, NULL)
                                           : gen_input (gen, IR_DTYPE_BOOL, 0, NULL);

  if (gen->depth > 1)
    return;
  IrGraph *then_graph = branch (gen, "yes", like), *else_graph = branch (gen, "no", like);
  IrNode *node = gen_add_owner (
      gen, "If", 1, &condition, 1,
      ATTRS (ir_attr_graph (gen->context, "then_branch", then_graph->id),
             ir_attr_graph (gen->context, "else_branch", else_graph->id)));
  g_autoptr (IrTensor) tensor = ir_tensor_ref (gen_held (gen, ir_graph_output (then_graph, 0)));
  gen_offer (gen, node->outputs[0], tensor);
}

/* Its type is declared for the sizes of this trial, which may be less than what holds for all. */
static IrValue *
body_input (Gen *gen, IrGraph *body, const char *name, IrTensor *tensor)
{
  IrValue *value = ir_edit_add_value (gen->edit, body, ir_edit_unique_name (gen->edit, name), NULL);

  ir_edit_set_claim (gen->edit, value, ir_tensor_type (tensor, gen->context));
  ir_edit_set_flags (gen->edit, value, value->flags | IR_VALUE_DECLARED);
  gen_offer (gen, value, tensor);
  return value;
}

static void
block_loop (Gen *gen)
{
  IrValue *start = gen_pick (gen, IR_DTYPE_UNDEFINED, 0);
  gint64 trips = gen_below (gen, 3), zero = 0;
  g_autoptr (IrTensor) trip = ir_tensor_new_int64s (&zero, -1);
  g_autoptr (IrTensor) yes = ir_tensor_new_scalar (IR_DTYPE_BOOL, 1);
  g_autoptr (IrTensor) count = ir_tensor_new_int64s (&trips, -1);

  if (gen->depth > 0)
    return;
  IrTensor *tensor = gen_held (gen, start);
  IrGraph *outer = gen->graph, *body = gen_enter (gen, "body");
  IrValue *ins[] = { body_input (gen, body, "i", trip), body_input (gen, body, "go", yes),
                     body_input (gen, body, "carried", tensor) };

  ir_edit_set_graph_inputs (gen->edit, body, ins, 3);
  IrValue *go = gen_one (gen, "Identity", ins[1], NULL, NULL),
          *y = gen_one (gen, "Identity", ins[2], NULL, NULL);
  random_block (gen);
  for (guint i = gen_below (gen, 3); i > 0; i--)
    y = unary (gen, y);
  if (y->graph != body || ir_tensor_dtype (gen_held (gen, y)) != ir_tensor_dtype (tensor))
    y = gen_one (gen, "Identity", ins[2], NULL, NULL);
  ir_edit_set_graph_outputs (gen->edit, body, (IrValue *const[]){ go, y }, 2);
  gen_leave (gen, outer);
  IrNode *node = gen_add_owner (gen, "Loop", 3,
                                (IrValue *const[]){ gen_tensor (gen, count), NULL, start }, 1,
                                ATTRS (ir_attr_graph (gen->context, "body", body->id)));
  g_autoptr (IrTensor) result = ir_tensor_ref (tensor);
  gen_offer (gen, node->outputs[0], result);
}

/* -- idioms -- */

static void
block_plant (Gen *gen)
{
  g_autoptr (GPtrArray) idioms = idioms_new ();
  const Idiom *idiom = idioms->pdata[gen_below (gen, idioms->len)];
  g_autoptr (IrModel) model = idiom_read (idiom->text, NULL);

  if (model != NULL)
    gen_plant (gen, model);
}

/* -- the model -- */

static void
block_pad (Gen *gen)
{
  IrValue *x = pad (gen, gen_pick (gen, IR_DTYPE_UNDEFINED, 1));

  if (gen_one_in (gen, 3))
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
  gboolean inner = gen_one_in (gen, 2); /* what is read is an output as well, now and then */
  g_autoptr (GPtrArray) outputs = g_ptr_array_new ();

  for (guint i = 0; i < gen->pool->len; i++)
    {
      IrValue *value = gen->pool->pdata[i];
      if (value->producer != NULL &&
          (g_ptr_array_find (gen->seen, value, NULL) ? TRUE
           : value->n_uses == (ir_value_is_graph_output (value) ? 1U : 0U)
               ? !gen_one_in (gen, 6)
               : inner && gen_one_in (gen, 8)))
        g_ptr_array_add (outputs, value);
    }
  if (outputs->len == 0)
    g_ptr_array_add (outputs,
                     gen_one (gen, "Identity", gen_pick (gen, IR_DTYPE_UNDEFINED, 0), NULL, NULL));
  ir_edit_set_graph_outputs (gen->edit, gen->model->main, (IrValue *const *) outputs->pdata,
                             outputs->len);
  for (guint i = 0; i < outputs->len; i++)
    ir_edit_set_flags (gen->edit, outputs->pdata[i], IR_VALUE_NAMED_BY_USER | IR_VALUE_DECLARED);
}

/* What the model begins as: nothing, or an idiom with all that belongs to it. */
static IrModel *
begin (GRand *rand, const char *text, gint64 n, guint32 seed)
{
  IrModel *model = text == NULL || g_rand_int_range (rand, 0, 3) > 0
                       ? NULL
                       : gen_start (text, rand, n, seed, g_rand_boolean (rand));

  return model != NULL ? model : ir_model_new ();
}

/* Where an idiom says no versions, those of the most common ones. */
static gint64
choose_opset (Gen *gen, const char *idiom)
{
  static const gint64 opsets[] = { 17, 17, 17, 13, 18, 20, 21, 23 };
  g_autoptr (IrModel) model = idiom != NULL ? idiom_read (idiom, NULL) : NULL;

  return model != NULL && (idiom[0] == '<' || gen_one_in (gen, 2)) ? ir_model_opset (model, "")
                                                                   : CHOOSE (gen, opsets);
}

static void
fill_model (Gen *gen, guint size, const char *idiom)
{
  gboolean started = ir_graph_n_outputs (gen->model->main) > 0;

  if (started)
    gen_offer_all (gen);
  else
    {
      ir_edit_set_opset (gen->edit, "", choose_opset (gen, idiom));
      ir_edit_set_opset (gen->edit, "irscope", 1);
      ir_edit_rename_graph (gen->edit, gen->model->main, "g");
    }
  if (gen->pool->len == 0)
    random_input (gen, IR_DTYPE_FLOAT, 2 + gen_below (gen, 3));
  g_autoptr (IrModel) model = idiom != NULL && !started ? idiom_read (idiom, NULL) : NULL;
  if (model != NULL)
    gen_plant (gen, model);
  for (guint i = 0; i < size; i++)
    random_block (gen);
  choose_outputs (gen);
  ir_infer_model (gen->edit, IR_INFER_DEFAULT, NULL);
}

IrModel *
pass_trial_model (guint32 seed, guint size, gboolean smooth, const char *idiom, gint64 *n)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  gint64 size_n = g_rand_int_range (rand, 0, 25) == 0 ? 0 : g_rand_int_range (rand, 1, 4);
  IrModel *model = begin (rand, idiom, size_n, seed);
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);
  g_autoptr (GPtrArray) pool = g_ptr_array_new (), seen = g_ptr_array_new ();
  g_autoptr (GHashTable)
      tensors = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);
  Gen gen = { .model = model,
              .edit = edit,
              .context = model->context,
              .graph = model->main,
              .rand = rand,
              .pool = pool,
              .seen = seen,
              .tensors = tensors,
              .n = size_n,
              .seed = seed,
              .output_limit = GEN_OUTPUT_LIMIT,
              .smooth = smooth };

  fill_model (&gen, size, idiom);
  *n = gen.n;
  return model;
}

gboolean
pass_trial_has_infinity (const IrModel *model)
{
  for (guint i = 1; i < model->values->len; i++)
    {
      const IrValue *value = ir_model_live_value (model, i);
      const IrTensor *tensor = value != NULL ? ir_value_constant (value) : NULL;
      if (tensor != NULL && ir_dtype_is_float (ir_tensor_dtype (tensor)) &&
          ir_tensor_n_elements (tensor) == 1 && isinf (ir_tensor_get_double (tensor, 0)))
        return TRUE;
    }
  return FALSE;
}
