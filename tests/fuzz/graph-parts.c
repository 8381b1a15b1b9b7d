#include "config.h"

#include "tests/fuzz/graph-gen.h"
#include "tests/fuzz/graph-parts.h"

#include <math.h>

/* -- values -- */

gint64
part_size (Gen *gen, guint most)
{
  if (gen->edge && gen_one_in (gen, 2))
    return gen_one_in (gen, 6) ? 0 : 1;
  return 1 + gen_below (gen, gen_one_in (gen, 2) ? most : MIN (most, 4));
}

guint
part_rank (Gen *gen, const IrValue *value)
{
  return ir_tensor_rank (gen_held (gen, value));
}

gint64
part_dim (Gen *gen, const IrValue *value, int axis)
{
  const IrTensor *tensor = gen_held (gen, value);
  return ir_tensor_dims (tensor)[axis < 0 ? axis + (int) ir_tensor_rank (tensor) : axis];
}

IrDtype
part_dtype (Gen *gen, const IrValue *value)
{
  return ir_tensor_dtype (gen_held (gen, value));
}

/* A symbol says its size: the second shape of a plan is one more of each. */
static IrDim
input_dim (Gen *gen, guint axis, gint64 size)
{
  g_autofree char *name = g_strdup_printf ("%c%" G_GINT64_FORMAT, "nctuvwyz"[axis], size);
  gboolean symbol = axis == 0 ? gen->free > 0 : gen->free > 1 && gen_one_in (gen, 2);

  return symbol ? ir_dim_symbol (gen->context, name) : size;
}

IrValue *
part_input (Gen *gen, const char *name, IrDtype dtype, guint rank, const gint64 *dims)
{
  IrDim shape[IR_MAX_RANK];
  g_autoptr (GPtrArray) inputs = g_ptr_array_new ();

  for (guint i = 0; i < rank; i++)
    shape[i] = input_dim (gen, i, dims[i]);
  for (guint i = 0; i < ir_graph_n_inputs (gen->model->main); i++)
    g_ptr_array_add (inputs, ir_graph_input (gen->model->main, i));
  IrValue *value = ir_edit_add_value (gen->edit, gen->model->main,
                                      ir_edit_unique_name (gen->edit, name),
                                      ir_type_tensor (gen->context, dtype, (int) rank, shape));
  ir_edit_set_flags (gen->edit, value, IR_VALUE_NAMED_BY_USER | IR_VALUE_DECLARED);
  g_ptr_array_add (inputs, value);
  ir_edit_set_graph_inputs (gen->edit, gen->model->main, (IrValue *const *) inputs->pdata,
                            inputs->len);
  g_autoptr (IrTensor) tensor = graph_input_contents (value, gen->seed, 0);
  gen_offer (gen, value, tensor);
  return value;
}

static gboolean
has_dims (const IrTensor *tensor, guint rank, const gint64 *dims)
{
  return ir_tensor_rank (tensor) == rank &&
         (rank == 0 || memcmp (ir_tensor_dims (tensor), dims, rank * sizeof *dims) == 0);
}

static IrValue *
old_weight (Gen *gen, IrDtype dtype, guint rank, const gint64 *dims)
{
  for (guint i = 1; i < gen->model->values->len; i++)
    {
      IrValue *old = ir_model_live_value (gen->model, i);
      if (old != NULL && old->initializer != NULL && old->graph == gen->model->main &&
          gen_held (gen, old) != NULL && ir_tensor_dtype (old->initializer) == dtype &&
          has_dims (old->initializer, rank, dims))
        return old;
    }
  return NULL;
}

static IrValue *
weight_between (Gen *gen, IrDtype dtype, guint rank, const gint64 *dims, double low, double high)
{
  g_autoptr (IrTensor) tensor = ir_tensor_new_alloc (dtype, rank, dims, NULL);
  gboolean whole = !ir_dtype_is_float (dtype);

  for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
    {
      double x = g_rand_double_range (gen->rand, low, high);
      ir_dtype_set_double (dtype, ir_tensor_data_writable (tensor), i, whole ? rint (x) : x);
    }
  return gen_tensor (gen, tensor);
}

IrValue *
part_weight (Gen *gen, IrDtype dtype, guint rank, const gint64 *dims, double scale)
{
  IrValue *old = rank > 1 && gen_one_in (gen, 12) ? old_weight (gen, dtype, rank, dims) : NULL;

  return old != NULL ? old : weight_between (gen, dtype, rank, dims, -scale, scale);
}

IrValue *
part_positive (Gen *gen, IrDtype dtype, guint rank, const gint64 *dims)
{
  return weight_between (gen, dtype, rank, dims, 0.5, 1.5);
}

IrValue *
part_number (Gen *gen, IrDtype dtype, double number)
{
  g_autoptr (IrTensor) tensor = ir_tensor_new_scalar (dtype, number);
  return gen_tensor (gen, tensor);
}

IrValue *
part_words (Gen *gen, guint rank, const gint64 *dims)
{
  g_autoptr (IrTensor) tensor = graph_words (gen->rand, rank, dims);
  return gen_tensor (gen, tensor);
}

IrValue *
part_ints (Gen *gen, const gint64 *values, gint n)
{
  g_autoptr (IrTensor) tensor = ir_tensor_new_int64s (values, n);
  return gen_tensor (gen, tensor);
}

IrValue *
part_pick (Gen *gen, IrDtype dtype, int rank)
{
  for (guint try = 0; try < 12 && gen->pool->len > 0; try++)
    {
      guint back = gen_one_in (gen, 2) ? 1 : MIN (gen->pool->len, 6);
      guint at = gen_one_in (gen, 4) ? gen_below (gen, gen->pool->len)
                                     : gen->pool->len - 1 - gen_below (gen, back);
      IrValue *value = gen->pool->pdata[at];
      if (part_dtype (gen, value) == dtype && (rank < 0 || part_rank (gen, value) == (guint) rank))
        return value;
    }
  for (guint i = gen->pool->len; i > 0; i--)
    {
      IrValue *value = gen->pool->pdata[i - 1];
      if (part_dtype (gen, value) == dtype && (rank < 0 || part_rank (gen, value) == (guint) rank))
        return value;
    }
  return NULL;
}

IrValue *
part_beside (Gen *gen, const IrValue *like, int axis)
{
  const IrTensor *tensor = gen_held (gen, like);

  for (guint try = 0; try < 10; try++)
    {
      IrValue *value = gen->pool->pdata[gen_below (gen, gen->pool->len)];
      const IrTensor *other = gen_held (gen, value);
      gboolean fits = value != like && ir_tensor_dtype (other) == ir_tensor_dtype (tensor) &&
                      ir_tensor_rank (other) == ir_tensor_rank (tensor);
      for (guint i = 0; fits && i < ir_tensor_rank (tensor); i++)
        fits = (int) i == axis || ir_tensor_dims (other)[i] == ir_tensor_dims (tensor)[i];
      if (fits)
        return value;
    }
  return NULL;
}

/* -- nodes -- */

IrValue *
part_try (Gen *gen, const char *op, guint n_in, IrValue *const *in, const IrAttr *const *attrs)
{
  IrNode *node = gen_emit (gen, op, "", n_in, in, 1, attrs);
  return node != NULL ? node->outputs[0] : NULL;
}

IrValue *
part_activation (Gen *gen, IrValue *x)
{
  static const char *const plain[] = {
    "Relu",      "Relu",        "Relu",     "LeakyRelu",      "Sigmoid",  "Tanh",
    "HardSwish", "HardSigmoid", "Elu",      "Softplus",       "Softsign", "Mish",
    "Gelu",      "Swish",       "Selu",     "Celu",           "Abs",      "Neg",
    "Erf",       "Exp",         "Identity", "ThresholdedRelu"
  };
  IrDtype dtype = part_dtype (gen, x);
  guint way = gen_below (gen, 8);

  if (way == 0) /* SiLU, as most exporters write it */
    return PART_OR (PART (gen, "Mul", NULL, x, gen_one (gen, "Sigmoid", x, NULL, NULL)), x);
  if (way == 1)
    return PART_OR (PART (gen, "Clip", NULL, x,
                          part_number (gen, dtype, gen_one_in (gen, 2) ? 0 : -1),
                          part_number (gen, dtype, gen_one_in (gen, 2) ? 6 : 1)),
                    x);
  if (way == 2) /* Gelu */
    {
      IrValue *y = gen_one (gen, "Div", x, part_number (gen, dtype, 1.4142135), NULL);
      y = gen_one (gen, "Add", gen_one (gen, "Erf", y, NULL, NULL), part_number (gen, dtype, 1),
                   NULL);
      y = gen_one (gen, "Mul", x, y, NULL);
      return gen_one (gen, "Mul", y, part_number (gen, dtype, 0.5), NULL);
    }
  if (way == 3 && part_rank (gen, x) > 1)
    {
      gint64 dims[] = { part_dim (gen, x, 1), 1, 1, 1, 1, 1 };
      return gen_one (gen, "PRelu", x,
                      part_weight (gen, dtype, MIN (part_rank (gen, x) - 1, 5), dims, 0.5), NULL);
    }
  return gen_one (gen, CHOOSE (gen, plain), x, NULL, NULL);
}

/* With something of its shape, of its channels, of its last axis, or one number. */
IrValue *
part_binary (Gen *gen, IrValue *x)
{
  static const char *const ops[] = { "Add", "Add", "Mul", "Sub", "Max", "Min", "Div" };
  IrDtype dtype = part_dtype (gen, x);
  guint rank = part_rank (gen, x);
  const char *op = CHOOSE (gen, ops);
  IrValue *with = gen_one_in (gen, 2) ? part_beside (gen, x, -1) : NULL;
  gint64 dims[IR_MAX_RANK];

  for (guint i = 0; i < rank; i++)
    dims[i] = gen_one_in (gen, 3) ? 1 : part_dim (gen, x, (int) i);
  if (strcmp (op, "Div") == 0 || with == NULL)
    {
      guint skip = rank > 0 ? gen_below (gen, rank + 1) : 0;
      with = part_positive (gen, dtype, rank - skip, dims + skip);
    }
  return gen_one_in (gen, 4) && strcmp (op, "Div") != 0 ? gen_one (gen, op, with, x, NULL)
                                                        : gen_one (gen, op, x, with, NULL);
}

IrValue *
part_reduce (Gen *gen, const char *op, IrValue *x, gint64 axis, gboolean keep)
{
  gboolean input = strcmp (op, "ReduceSum") == 0 || ir_graph_opset (gen->graph, "") >= 18;

  return input
             ? PART_OR (
                   PART (gen, op, ATTRS (INT ("keepdims", keep)), x, part_ints (gen, &axis, 1)), x)
             : PART_OR (PART (gen, op, ATTRS (INT ("keepdims", keep), INTS ("axes", &axis, 1)), x),
                        x);
}

IrValue *
part_reshape (Gen *gen, IrValue *x, guint n, const gint64 *dims)
{
  return gen_one (gen, "Reshape", x, part_ints (gen, dims, (gint) n), NULL);
}

IrValue *
part_transpose (Gen *gen, IrValue *x, const gint64 *order)
{
  return PART_OR (PART (gen, "Transpose", ATTRS (INTS ("perm", order, part_rank (gen, x))), x), x);
}

IrValue *
part_slice (Gen *gen, IrValue *x, gint64 axis, gint64 from, gint64 to)
{
  return PART_OR (PART (gen, "Slice", NULL, x, part_ints (gen, &from, 1), part_ints (gen, &to, 1),
                        part_ints (gen, &axis, 1)),
                  x);
}

IrValue *
part_linear (Gen *gen, IrValue *x, gint64 m)
{
  IrDtype dtype = part_dtype (gen, x);
  guint rank = part_rank (gen, x);
  gint64 k = rank > 0 ? part_dim (gen, x, -1) : 1;
  double scale = sqrt (3.0 / (double) MAX (k, 1));

  if (rank == 2 && gen_one_in (gen, 2))
    {
      gboolean flip = gen_one_in (gen, 2);
      gint64 dims[] = { flip ? m : k, flip ? k : m };
      return PART_OR (
          PART (gen, "Gemm",
                ATTRS (INT ("transB", flip), FLOAT ("alpha", gen_one_in (gen, 4) ? 0.5 : 1),
                       FLOAT ("beta", gen_one_in (gen, 4) ? 0.5 : 1)),
                x, part_weight (gen, dtype, 2, dims, scale), part_weight (gen, dtype, 1, &m, 0.5)),
          x);
    }
  IrValue *y = PART (gen, "MatMul", NULL, x,
                     part_weight (gen, dtype, 2, (gint64[]){ k, m }, scale));
  if (y == NULL || gen_one_in (gen, 3))
    return PART_OR (y, x);
  IrValue *b = part_weight (gen, dtype, 1, &m, 0.5);
  return gen_one_in (gen, 2) ? gen_one (gen, "Add", y, b, NULL) : gen_one (gen, "Add", b, y, NULL);
}

static IrValue *
spelled_normalization (Gen *gen, IrValue *x)
{
  IrDtype dtype = part_dtype (gen, x);
  gint64 last = part_dim (gen, x, -1);
  IrValue *mean = part_reduce (gen, "ReduceMean", x, -1, TRUE);
  IrValue *d = gen_one (gen, "Sub", x, mean, NULL);
  IrValue *square = gen_one_in (gen, 2)
                        ? gen_one (gen, "Mul", d, d, NULL)
                        : gen_one (gen, "Pow", d, part_number (gen, dtype, 2), NULL);
  IrValue *variance = part_reduce (gen, "ReduceMean", square, -1, TRUE);
  IrValue *root = gen_one (gen, "Sqrt",
                           gen_one (gen, "Add", variance, part_number (gen, dtype, 0.01), NULL),
                           NULL, NULL);
  IrValue *y = gen_one (gen, "Div", d, root, NULL);

  y = gen_one (gen, "Mul", y, part_positive (gen, dtype, 1, &last), NULL);
  return gen_one_in (gen, 4)
             ? y
             : gen_one (gen, "Add", y, part_weight (gen, dtype, 1, &last, 0.5), NULL);
}

IrValue *
part_normalization (Gen *gen, IrValue *x)
{
  IrDtype dtype = part_dtype (gen, x);
  guint rank = part_rank (gen, x);
  gint64 axis = -1 - (rank > 1 && gen_one_in (gen, 4)), dims[IR_MAX_RANK];
  const IrAttr *epsilon = FLOAT ("epsilon", 0.01);

  if (rank == 0)
    return x;
  if (gen_one_in (gen, 3))
    return spelled_normalization (gen, x);
  for (int i = 0; i < -axis; i++)
    dims[i] = part_dim (gen, x, (int) axis + i);
  IrValue *scale = part_positive (gen, dtype, (guint) -axis, dims);
  if (gen_one_in (gen, 3))
    return PART_OR (PART (gen, "RMSNormalization", ATTRS (INT ("axis", axis), epsilon), x, scale),
                    x);
  return PART_OR (
      PART (gen, "LayerNormalization", ATTRS (INT ("axis", axis), epsilon), x, scale,
            gen_one_in (gen, 3) ? NULL : part_weight (gen, dtype, (guint) -axis, dims, 0.5)),
      x);
}

IrValue *
part_again (Gen *gen, IrValue *x)
{
  const IrNode *node = x->producer;
  gboolean fits = node != NULL && node->graph == gen->graph && node->n_inputs <= GEN_MAX_IN &&
                  node->n_outputs <= 3 &&
                  (node->op == NULL || !(node->op->flags & IR_OP_SUBGRAPHS)) &&
                  !ir_node_is (node, "Constant");

  if (!fits)
    return x;
  g_autofree const IrAttr **attrs = g_new0 (const IrAttr *, node->n_attrs + 1);
  for (guint i = 0; i < node->n_attrs; i++)
    attrs[i] = node->attrs[i];
  IrNode *again = gen_emit (gen, node->op_type, node->domain, node->n_inputs, node->inputs,
                            node->n_outputs, attrs);
  return again != NULL && again->outputs[0] != NULL ? again->outputs[0] : x;
}

IrValue *
part_keeping (Gen *gen, IrValue *x)
{
  guint way = gen_below (gen, 6);

  return way < 3    ? part_activation (gen, x)
         : way == 3 ? part_binary (gen, x)
         : way == 4 ? part_normalization (gen, x)
                    : gen_one (gen, "Add", x, part_again (gen, x), NULL);
}
