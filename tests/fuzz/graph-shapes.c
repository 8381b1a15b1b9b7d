/* Shape arithmetic with free dimensions, integers, and what moves elements by indices. */
#include "config.h"

#include "tests/fuzz/graph-parts.h"

/* -- shapes -- */

/* One number out of a shape, as a list of one. */
static IrValue *
size_of_axis (Gen *gen, IrValue *x)
{
  gint64 at = gen_below (gen, MAX (part_rank (gen, x), 1)), zero = 0;
  IrValue *shape = PART (gen, "Shape", NULL, x), *y;

  if (gen_one_in (gen, 3))
    return part_slice (gen, shape, 0, at, at + 1);
  y = PART (gen, "Gather", NULL, shape, part_ints (gen, &at, gen_one_in (gen, 2) ? 1 : -1));
  if (y == NULL || part_rank (gen, y) == 1)
    return y;
  return PART_OR (PART (gen, "Unsqueeze", NULL, y, part_ints (gen, &zero, 1)), y);
}

static IrValue *
computed_size (Gen *gen, IrValue *x)
{
  static const char *const ops[] = { "Mul", "Add", "Div", "Sub" };
  IrValue *size = size_of_axis (gen, x);
  gint64 two = 1 + gen_below (gen, 2);

  if (size != NULL && gen_one_in (gen, 3))
    size = gen_one (gen, CHOOSE (gen, ops), size, part_ints (gen, &two, 1), NULL);
  return size;
}

static void
view_by_shape (Gen *gen, IrValue *x)
{
  gint64 minus = -1;
  IrValue *in[4] = { NULL };
  guint n = 0, rank = part_rank (gen, x);

  for (; n < rank && n < 3; n++)
    {
      gint64 at = n;
      IrValue *shape = PART (gen, "Shape", NULL, x);
      in[n] = gen_one_in (gen, 3) ? computed_size (gen, x) : part_slice (gen, shape, 0, at, at + 1);
      if (in[n] == NULL)
        return;
    }
  in[gen_below (gen, n + 1)] = part_ints (gen, &minus, 1);
  n += in[n] != NULL;
  IrValue *shape = part_try (gen, "Concat", n, in, ATTRS (INT ("axis", 0)));
  if (shape != NULL)
    PART (gen, "Reshape", NULL, x, shape);
}

static void
fill_by_shape (Gen *gen, IrValue *x)
{
  g_autoptr (IrTensor) number = ir_tensor_new_alloc (IR_DTYPE_FLOAT, 1, (gint64[]){ 1 }, NULL);
  IrValue *shape = PART (gen, "Shape", NULL, x), *y;

  ir_dtype_set_double (IR_DTYPE_FLOAT, ir_tensor_data_writable (number), 0, 0.25);
  y = PART (gen, "ConstantOfShape", ATTRS (ir_attr_tensor (gen->context, "value", number)), shape);
  if (y != NULL)
    gen_one (gen, gen_one_in (gen, 2) ? "Add" : "Mul", x, y, NULL);
}

static void
expand_by_shape (Gen *gen, IrValue *x)
{
  guint rank = part_rank (gen, x);
  gint64 ones[IR_MAX_RANK] = { 1, 1, 1, 1, 1, 1 }, last = rank > 0 ? part_dim (gen, x, -1) : 1;

  if (rank == 0)
    return;
  ones[rank - 1] = last;
  IrValue *row = part_weight (gen, IR_DTYPE_FLOAT, rank, ones, 1);
  IrValue *y = PART (gen, "Expand", NULL, row, PART (gen, "Shape", NULL, x));
  if (y != NULL)
    gen_one (gen, "Add", x, y, NULL);
}

/* Positions as long as an axis is, as embeddings want them. */
static void
range_by_shape (Gen *gen, IrValue *x)
{
  gint64 zero = 0, one = 1, at = 0;
  IrValue *shape = PART (gen, "Shape", NULL, x);

  if (part_rank (gen, x) == 0)
    return;
  at = gen_below (gen, part_rank (gen, x));
  IrValue *size = PART (gen, "Gather", NULL, shape, part_ints (gen, &at, -1));
  IrValue *y = PART (gen, "Range", NULL, part_ints (gen, &zero, -1), size,
                     part_ints (gen, &one, -1));
  if (y == NULL)
    return;
  if (gen_one_in (gen, 2))
    {
      gint64 dims[] = { 40, 1 + gen_below (gen, 6) };
      PART (gen, "Gather", NULL, part_weight (gen, IR_DTYPE_FLOAT, 2, dims, 1), y);
    }
  else
    y = PART_OR (PART (gen, "Cast", ATTRS (INT ("to", IR_DTYPE_FLOAT)), y), y);
}

static void
slice_by_shape (Gen *gen, IrValue *x)
{
  gint64 zero = 0, two = 2, axis = gen_below (gen, MAX (part_rank (gen, x), 1));
  IrValue *size = PART (gen, "Shape", NULL, x), *half;

  if (part_rank (gen, x) == 0)
    return;
  size = part_slice (gen, size, 0, axis, axis + 1);
  half = gen_one (gen, "Div", size, part_ints (gen, &two, 1), NULL);
  IrValue *a = PART (gen, "Slice", NULL, x, part_ints (gen, &zero, 1), half,
                     part_ints (gen, &axis, 1));
  IrValue *b = PART (gen, "Slice", NULL, x, half, size, part_ints (gen, &axis, 1));
  if (a != NULL && b != NULL && gen_one_in (gen, 2))
    PART (gen, "Concat", ATTRS (INT ("axis", axis)), gen_one (gen, "Neg", b, NULL, NULL), a);
}

static void
tile_by_shape (Gen *gen, IrValue *x)
{
  gint64 repeats[IR_MAX_RANK];

  for (guint i = 0; i < part_rank (gen, x); i++)
    repeats[i] = 1 + gen_one_in (gen, 3);
  PART (gen, "Tile", NULL, x, part_ints (gen, repeats, (gint) part_rank (gen, x)));
}

void
graph_shapes (Gen *gen)
{
  static void (*const ways[]) (
      Gen *, IrValue *) = { view_by_shape,  view_by_shape,  fill_by_shape, expand_by_shape,
                            range_by_shape, slice_by_shape, tile_by_shape };
  guint rank = 1 + gen_below (gen, 4);
  gint64 dims[4];

  gen->free = gen_below (gen, 4) > 0 ? 2 : gen->free;
  for (guint i = 0; i < rank; i++)
    dims[i] = part_size (gen, 7);
  part_input (gen, "x", IR_DTYPE_FLOAT, rank, dims);
  for (guint i = 1 + gen_below (gen, 5); i > 0; i--)
    {
      IrValue *x = part_pick (gen, IR_DTYPE_FLOAT, -1);
      CHOOSE (gen, ways) (gen, x);
      if (gen_one_in (gen, 3))
        part_keeping (gen, part_pick (gen, IR_DTYPE_FLOAT, -1));
    }
}

/* -- integers -- */

static void
compare_and_choose (Gen *gen, IrValue *x, IrValue *y)
{
  static const char *const compares[] = { "Equal", "Greater", "Less", "GreaterOrEqual",
                                          "LessOrEqual" };
  static const char *const joins[] = { "And", "Or", "Xor" };
  IrValue *c = PART (gen, CHOOSE (gen, compares), NULL, x, y);

  if (c == NULL)
    return;
  if (gen_one_in (gen, 2))
    {
      IrValue *d = PART (gen, CHOOSE (gen, compares), NULL, y, x);
      c = d != NULL
              ? gen_one (gen, CHOOSE (gen, joins), c, gen_one (gen, "Not", d, NULL, NULL), NULL)
              : c;
    }
  PART (gen, "Where", NULL, c, x, y);
}

static IrValue *
integer_node (Gen *gen, IrValue *x, IrDtype dtype)
{
  static const char *const ops[] = { "Add",        "Sub",        "Mul",       "Max", "Min",
                                     "BitwiseAnd", "BitwiseXor", "BitwiseOr", "Mod", "Div" };
  static const char *const reductions[] = { "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd" };
  static const IrDtype types[] = { IR_DTYPE_INT64,  IR_DTYPE_INT32, IR_DTYPE_FLOAT,
                                   IR_DTYPE_UINT8,  IR_DTYPE_INT8,  IR_DTYPE_BOOL,
                                   IR_DTYPE_DOUBLE, IR_DTYPE_INT16, IR_DTYPE_UINT32,
                                   IR_DTYPE_UINT64, IR_DTYPE_UINT16 };
  guint rank = part_rank (gen, x), way = gen_below (gen, 6);
  gint64 axis = rank > 0 ? gen_below (gen, rank) : 0, dims[IR_MAX_RANK];
  IrValue *with = gen_one_in (gen, 2) ? part_beside (gen, x, -1) : NULL;

  for (guint i = 0; i < rank; i++)
    dims[i] = gen_one_in (gen, 4) ? 1 : part_dim (gen, x, (int) i);
  if (way < 2 || rank == 0)
    {
      const char *op = CHOOSE (gen, ops);
      if (with == NULL || op[0] == 'D' || op[1] == 'o')
        {
          g_autoptr (IrTensor) tensor = ir_tensor_new_alloc (dtype, rank, dims, NULL);
          for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
            ir_dtype_set_double (dtype, ir_tensor_data_writable (tensor), i,
                                 1 + gen_below (gen, 5));
          with = gen_tensor (gen, tensor);
        }
      return gen_one (gen, op, x, with, NULL);
    }
  if (way == 2)
    return part_reduce (gen, CHOOSE (gen, reductions), x, axis, gen_one_in (gen, 2));
  if (way == 3)
    return PART_OR (PART (gen, "Cast", ATTRS (INT ("to", CHOOSE (gen, types))), x), x);
  if (way == 4)
    compare_and_choose (gen, x, with != NULL ? with : x);
  if (way == 5 && gen_one_in (gen, 2))
    return PART_OR (PART (gen, "CumSum", ATTRS (INT ("exclusive", gen_one_in (gen, 2))), x,
                          part_ints (gen, &axis, -1)),
                    x);
  return x;
}

void
graph_integers (Gen *gen)
{
  static const IrDtype types[] = { IR_DTYPE_INT64,  IR_DTYPE_INT64,  IR_DTYPE_INT32,
                                   IR_DTYPE_UINT8,  IR_DTYPE_INT8,   IR_DTYPE_INT16,
                                   IR_DTYPE_UINT16, IR_DTYPE_UINT32, IR_DTYPE_UINT64,
                                   IR_DTYPE_BOOL };
  guint rank = 1 + gen_below (gen, 4);
  gint64 dims[4];
  IrDtype dtype = CHOOSE (gen, types);

  for (guint i = 0; i < rank; i++)
    dims[i] = part_size (gen, 8);
  IrValue *x = part_input (gen, gen_one_in (gen, 3) ? "q" : "x", dtype, rank, dims);
  if (gen_one_in (gen, 2))
    part_input (gen, "x", dtype, rank, dims);
  if (dtype == IR_DTYPE_BOOL)
    x = PART_OR (PART (gen, "Cast", ATTRS (INT ("to", IR_DTYPE_INT32)), x), x);
  for (guint i = 2 + gen_below (gen, 6); i > 0; i--)
    {
      IrValue *y = part_pick (gen, part_dtype (gen, x), -1);
      x = integer_node (gen, y != NULL ? y : x, part_dtype (gen, y != NULL ? y : x));
      if (ir_dtype_is_float (part_dtype (gen, x)) && gen_one_in (gen, 2))
        x = part_keeping (gen, x);
    }
}

/* -- indices -- */

static IrValue *
random_indices (Gen *gen, gint64 below, guint rank, const gint64 *dims)
{
  g_autofree char *name = g_strdup_printf ("k%" G_GINT64_FORMAT "_", MAX (below, 1));

  if (gen_one_in (gen, 2) && below > 0)
    return part_input (gen, name, gen_one_in (gen, 3) ? IR_DTYPE_INT32 : IR_DTYPE_INT64, rank,
                       dims);
  g_autoptr (IrTensor) tensor = ir_tensor_new_alloc (IR_DTYPE_INT64, rank, dims, NULL);
  for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
    ir_dtype_set_double (IR_DTYPE_INT64, ir_tensor_data_writable (tensor), i,
                         (double) gen_below (gen, (guint) MAX (below, 1)) -
                             (gen_one_in (gen, 4) ? (double) below : 0));
  return gen_tensor (gen, tensor);
}

static void
index_gather (Gen *gen, IrValue *x, gint64 axis)
{
  gint64 dims[] = { part_size (gen, 3), part_size (gen, 5) };

  PART (gen, "Gather", ATTRS (INT ("axis", axis)), x,
        random_indices (gen, part_dim (gen, x, (int) axis), gen_below (gen, 3), dims));
}

static void
index_elements (Gen *gen, IrValue *x, gint64 axis)
{
  gint64 dims[IR_MAX_RANK];

  for (guint i = 0; i < part_rank (gen, x); i++)
    dims[i] = MAX (1, part_dim (gen, x, (int) i) - gen_one_in (gen, 3));
  IrValue *at = random_indices (gen, part_dim (gen, x, (int) axis), part_rank (gen, x), dims);
  PART (gen, "GatherElements", ATTRS (INT ("axis", axis)), x, at);
  if (gen_one_in (gen, 2))
    PART (gen, "ScatterElements", ATTRS (INT ("axis", axis), STRING ("reduction", "add")), x, at,
          part_weight (gen, part_dtype (gen, x), part_rank (gen, x), dims, 1));
}

static void
index_top (Gen *gen, IrValue *x, gint64 axis)
{
  gint64 k = 1 + gen_below (gen, (guint) MAX (part_dim (gen, x, (int) axis), 1));

  if (gen_one_in (gen, 2))
    gen_emit (gen, "TopK", "", 2, (IrValue *const[]){ x, part_ints (gen, &k, 1) }, 2,
              ATTRS (INT ("axis", axis), INT ("largest", gen_one_in (gen, 2))));
  else
    PART (gen, gen_one_in (gen, 2) ? "ArgMax" : "ArgMin",
          ATTRS (INT ("axis", axis), INT ("keepdims", gen_one_in (gen, 2))), x);
}

static void
index_nd (Gen *gen, IrValue *x, gint64 axis)
{
  gint64 n = part_size (gen, 4), least = G_MAXINT64, r = 1 + gen_below (gen, part_rank (gen, x));
  gint64 dims[] = { n, r };

  for (gint64 i = 0; i < r; i++)
    least = MIN (least, part_dim (gen, x, (int) i));
  PART (gen, "GatherND", NULL, x, random_indices (gen, least, 2, dims));
}

static void
index_others (Gen *gen, IrValue *x, gint64 axis)
{
  guint way = gen_below (gen, 4);
  gint64 five = 5, two[] = { 2 };
  g_autoptr (IrTensor) ends = ir_tensor_new_int64s ((gint64[]){ 0, 1 }, 2);

  if (way == 0 && part_rank (gen, x) > 1)
    PART (gen, "Trilu", ATTRS (INT ("upper", gen_one_in (gen, 2))), x);
  else if (way == 1)
    PART (gen, "OneHot", NULL, random_indices (gen, 5, 1, two), part_ints (gen, &five, -1),
          gen_tensor (gen, ends));
  else if (way == 2)
    {
      gint64 step = -1, from = -1, to = G_MININT64 + 1;
      PART (gen, "Slice", NULL, x, part_ints (gen, &from, 1), part_ints (gen, &to, 1),
            part_ints (gen, &axis, 1), part_ints (gen, &step, 1));
    }
  else
    gen_emit (gen, "Split", "", 1, &x, 2,
              ir_graph_opset (gen->graph, "") >= 18
                  ? ATTRS (INT ("axis", axis), INT ("num_outputs", 2))
                  : ATTRS (INT ("axis", axis)));
}

void
graph_indices (Gen *gen)
{
  static void (*const ways[]) (Gen *, IrValue *, gint64) = { index_gather, index_elements,
                                                             index_top, index_nd, index_others };
  guint rank = 1 + gen_below (gen, 4);
  gint64 dims[4];

  for (guint i = 0; i < rank; i++)
    dims[i] = part_size (gen, 8);
  part_input (gen, "x", IR_DTYPE_FLOAT, rank, dims);
  for (guint i = 1 + gen_below (gen, 5); i > 0; i--)
    {
      IrValue *x = part_pick (gen, IR_DTYPE_FLOAT, -1);
      if (part_rank (gen, x) > 0)
        CHOOSE (gen, ways) (gen, x, gen_below (gen, part_rank (gen, x)));
      if (gen_one_in (gen, 3))
        part_keeping (gen, part_pick (gen, IR_DTYPE_FLOAT, -1));
    }
}
