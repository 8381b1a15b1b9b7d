/* Random inputs that a model can run on. What an input may hold is read off its uses: an integer
 * that ends up as an index of Gather must lie within the table, a mask is 0 or 1, a size is
 * positive. The walk follows values through operators that only move or convert elements. */
#include "config.h"

#include "core/exec/lower/lower.h"
#include "core/exec/run/fill.h"
#include "core/exec/run/run.h"
#include "core/exec/run/sizes.h"
#include "core/exec/kernel/backend.h"
#include "core/op/infer.h"

#include <math.h>
#include <string.h>

#define SEQUENCE_ITEMS       3 /* of a sequence */
#define MAX_PICTURE_CHANNELS 4
/* Of the walk: masks pass through about ten nodes in exported transformers. */
#define MAX_DEPTH 32

/* What a use says about the elements of a value: the ROLES column of the op table, by input. */
typedef enum
{
  ROLE_NONE,
  ROLE_FOLLOW, /* the elements go on to output 0 */
  ROLE_INDEX,  /* an index along the node's attribute axis of input 0 */
  ROLE_LABEL,  /* an index along axis 1 of input 0 */
  ROLE_POINT,  /* indices along the leading axes of input 0 */
  ROLE_CLASS,  /* an index below the contents of input 1 */
  ROLE_MASK,   /* 0 or 1 */
  ROLE_FLIP,   /* a mask, if the other operand is constant ones */
  ROLE_SCALE,  /* a mask, if it was an integer before */
  ROLE_OFFSET, /* goes on to output 0, moved by the other operand */
  ROLE_SIZE,   /* a positive size or count */
  ROLE_ONE,    /* a size that must fit another one: 1 always does */
  ROLE_FIRST,  /* a position that every sequence with an item has: 0 */
  ROLE_POSITIVE,
  ROLE_TABLE /* and those behind it */
} Role;

#define ROLE_ROW_OF(i) (ROLE_TABLE + (i)) /* an index of a row of input @i */

#define MAX_SLOTS 8 /* with a role */

/* clang-format off */
static const struct
{
  IrOpId op;
  guint8 roles[MAX_SLOTS];
} rows[IR_N_OPS] = { { .op = IR_OP_NONE
#define IR_OP(ID, NAME, ...) }, [IR_OP_##ID] = { .op = IR_OP_##ID
#define ROLES(...) , .roles = { __VA_ARGS__ }
#include "core/op/ops.def"
} };
/* clang-format on */

/* The elements that a value may hold; an intersection over its uses. */
typedef struct
{
  gint64 low, high; /* inclusive; for integers */
  gboolean bounded; /* some use has set low and high */
  gboolean mask, positive;
} Range;

static void
narrow (Range *range, gint64 low, gint64 high)
{
  range->low = range->bounded ? MAX (range->low, low) : low;
  range->high = range->bounded ? MIN (range->high, high) : high;
  range->bounded = TRUE;
}

static Role
role_of (const IrNode *node, guint slot)
{
  if (node->op == NULL)
    return ROLE_NONE;
  if (node->op->in.max < 0) /* those that are variadic are all alike */
    slot = MIN (slot, 1);
  return slot < MAX_SLOTS ? rows[node->op->id].roles[slot] : ROLE_NONE;
}

/* A constant operand of one element, or of equal elements. */
static gboolean
constant_operand (const IrNode *node, guint slot, double *value)
{
  const IrValue *operand = ir_node_input (node, slot);
  const IrTensor *tensor = operand != NULL ? ir_value_constant (operand) : NULL;

  if (tensor == NULL || ir_tensor_data (tensor) == NULL || ir_tensor_n_elements (tensor) == 0)
    return FALSE;
  *value = ir_tensor_get_double (tensor, 0);
  guint64 n = MIN (ir_tensor_n_elements (tensor), 4096);
  for (guint64 i = 1; i < n; i++)
    if (ir_tensor_get_double (tensor, i) != *value)
      return FALSE;
  return TRUE;
}

/* Indices along @axis of the input @slot, or along any of its leading axes. */
static void
index_range (const IrNode *node, guint slot, gint64 axis, gboolean leading, Range *range)
{
  const IrValue *table = ir_node_input (node, slot);
  const IrType *type = table != NULL ? table->type : NULL;
  gint64 extent = G_MAXINT64;

  if (type == NULL || !ir_type_has_rank (type) || type->rank == 0)
    return;
  if (axis < 0)
    axis += type->rank;
  for (int i = 0; i < type->rank; i++)
    if ((leading || i == axis) && ir_dim_is_known (type->dims[i]))
      extent = MIN (extent, type->dims[i]);
  if (extent > 0 && extent < G_MAXINT64)
    narrow (range, 0, extent - 1);
}

typedef struct
{
  gboolean integer;  /* the input holds integers */
  GHashTable *known; /* IrValue -> Range: paths meet again, and their number doubles each time */
} Walk;

static void walk (Walk *w, const IrValue *value, guint depth, Range *range);

static const Range *
range_of (Walk *w, const IrValue *value, guint depth)
{
  Range *range = g_hash_table_lookup (w->known, value);

  if (range == NULL)
    {
      range = g_new0 (Range, 1);
      g_hash_table_insert (w->known, (gpointer) value, range);
      walk (w, value, depth, range);
    }
  return range;
}

static void
follow (Walk *w, const IrNode *node, guint depth, gint64 moved, Range *range)
{
  for (guint i = 0; i < node->n_outputs; i++)
    {
      if (node->outputs[i] == NULL)
        continue;
      const Range *after = range_of (w, node->outputs[i], depth + 1);
      if (after->bounded)
        narrow (range, after->low - moved, after->high - moved);
      range->mask = range->mask || after->mask;
      range->positive = range->positive || after->positive;
    }
}

static void
apply_use (Walk *w, const IrNode *node, guint slot, guint depth, Range *range)
{
  double other = 0;

  switch (role_of (node, slot))
    {
    case ROLE_NONE:
      break;
    case ROLE_FOLLOW:
      if (ir_op_is (node, IR_OP_CAST) && ir_node_attr_int (node, "to", 0) == IR_DTYPE_BOOL)
        range->mask = TRUE;
      follow (w, node, depth, 0, range);
      break;
    case ROLE_INDEX:
      index_range (node, 0, ir_node_attr_int (node, "axis", 0), FALSE, range);
      break;
    case ROLE_LABEL:
      index_range (node, 0, 1, FALSE, range);
      break;
    case ROLE_POINT:
      index_range (node, 0, 0, TRUE, range);
      break;
    case ROLE_CLASS:
      if (constant_operand (node, 1, &other) && other >= 1 && other < 1e15)
        narrow (range, 0, (gint64) other - 1);
      break;
    case ROLE_MASK:
      range->mask = TRUE;
      break;
    case ROLE_FLIP:
      range->mask = range->mask || (constant_operand (node, 0, &other) && other == 1);
      break;
    case ROLE_SCALE:
      /* A converted integer that scales something, and is not an index later on. */
      range->mask = range->mask ||
                    (w->integer && ir_value_dtype (node->inputs[slot]) != IR_DTYPE_INT64 &&
                     ir_value_dtype (node->inputs[slot]) != IR_DTYPE_INT32);
      break;
    case ROLE_OFFSET:
      if (!constant_operand (node, 1 - slot, &other) || fabs (other) > 1e15)
        other = 0;
      follow (w, node, depth, (gint64) other, range);
      break;
    case ROLE_SIZE:
      narrow (range, 1, 4);
      break;
    case ROLE_ONE:
      narrow (range, 1, 1);
      break;
    case ROLE_FIRST:
      narrow (range, 0, 0);
      break;
    case ROLE_POSITIVE:
      range->positive = TRUE;
      break;
    case ROLE_TABLE:
    default:
      index_range (node, role_of (node, slot) - ROLE_TABLE, 0, FALSE, range);
    }
}

static void
walk (Walk *w, const IrValue *value, guint depth, Range *range)
{
  if (depth > MAX_DEPTH)
    return;
  for (guint i = 0; i < value->n_uses; i++)
    {
      IrUse use = ir_value_use (value, i);
      if (use.node != NULL)
        apply_use (w, use.node, use.slot, depth, range);
    }
}

/* -- sizes -- */

/* Pictures as networks take them: few channels in front of two or three sizes. */
static gboolean
is_picture_axis (const IrType *type, guint axis)
{
  return type->rank >= 4 && axis >= 2 && ir_dim_is_known (type->dims[1]) && type->dims[1] >= 1 &&
         type->dims[1] <= MAX_PICTURE_CHANNELS;
}

static gint64
default_size (const IrType *type, const char *symbol, guint axis)
{
  static const char *const batches[] = { "batch", "batch_size", "N", "n", "bs", "B", "b" };
  static const char *const images[] = { "height", "width", "H", "W", "h", "w" };

  for (guint i = 0; symbol != NULL && i < G_N_ELEMENTS (batches); i++)
    if (strcmp (symbol, batches[i]) == 0)
      return 1;
  for (guint i = 0; symbol != NULL && i < G_N_ELEMENTS (images); i++)
    if (strcmp (symbol, images[i]) == 0)
      return IR_PICTURE_SIZE;
  if (is_picture_axis (type, axis))
    return IR_PICTURE_SIZE;
  if (symbol == NULL && axis == 0)
    return 1;
  return 8;
}

/* The tensor type in a sequence or optional; NULL if there is none. */
static const IrType *
tensor_part (const IrType *type)
{
  while (type != NULL && (type->kind == IR_TYPE_SEQUENCE || type->kind == IR_TYPE_OPTIONAL))
    type = type->element;
  return type != NULL && ir_type_is_tensor (type) ? type : NULL;
}

static char *
free_name (const IrValue *input, int axis)
{
  const IrDim dim = tensor_part (input->type)->dims[axis];

  if (ir_dim_is_symbolic (dim))
    return g_strdup (ir_dim_symbol_name (input->graph->model->context, dim));
  return dim == IR_DIM_UNKNOWN ? ir_infer_dim_name (input, (guint) axis) : NULL;
}

static void
free_dim_clear (gpointer data)
{
  g_free (((IrFreeDim *) data)->name);
  g_free (((IrFreeDim *) data)->why);
}

static GArray *
find_free_dims (const IrGraph *graph, GHashTable *bindings)
{
  GArray *dims = g_array_new (FALSE, FALSE, sizeof (IrFreeDim));
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);

  g_array_set_clear_func (dims, free_dim_clear);
  for (guint i = 0; i < ir_graph_n_inputs (graph); i++)
    {
      const IrValue *input = ir_graph_input (graph, i);
      const IrType *type = input != NULL && input->initializer == NULL ? tensor_part (input->type)
                                                                       : NULL;
      for (int axis = 0; type != NULL && ir_type_has_rank (type) && axis < type->rank; axis++)
        {
          g_autofree char *name = free_name (input, axis);
          const gint64 *given = name != NULL && bindings != NULL
                                    ? g_hash_table_lookup (bindings, name)
                                    : NULL;
          const char *symbol = ir_dim_is_symbolic (type->dims[axis]) ? name : NULL;
          IrFreeDim dim = { .input = input->id, .given = given != NULL };

          /* Not by the answer of g_hash_table_add(), which keeps the second of two equal keys. */
          if (name == NULL || g_hash_table_contains (seen, name))
            continue;
          g_hash_table_add (seen, name);
          dim.size = given != NULL ? *given : default_size (type, symbol, (guint) axis);
          dim.name = g_steal_pointer (&name);
          g_array_append_val (dims, dim);
        }
    }
  return dims;
}

/**
 * ir_free_dims:
 * @model: a model
 * @bindings: (nullable): name -> #gint64 *: sizes that are asked for
 *
 * A size that is not asked for is the one that nodes of the graph need: where they contradict each
 * other ir_size_conflicts() says so. Where no node needs one it is chosen by default.
 *
 * Returns: (transfer full) (element-type IrFreeDim): the dims of the inputs that have no size, in
 *   the order of the inputs; those of one symbol once
 */
GArray *
ir_free_dims (const IrModel *model, GHashTable *bindings)
{
  GArray *dims = find_free_dims (model->main, bindings);

  ir_sizes_solve ((IrModel *) model, dims, NULL);
  return dims;
}

static void
conflict_clear (gpointer data)
{
  g_free (((IrSizeConflict *) data)->text);
}

/**
 * ir_size_conflicts:
 * @model: a model
 * @bindings: (nullable): name -> #gint64 *: sizes that are asked for
 *
 * Returns: (transfer full) (element-type IrSizeConflict): what no sizes suit, or not those asked for
 */
GArray *
ir_size_conflicts (const IrModel *model, GHashTable *bindings)
{
  g_autoptr (GArray) dims = find_free_dims (model->main, bindings);
  GArray *conflicts = g_array_new (FALSE, FALSE, sizeof (IrSizeConflict));

  g_array_set_clear_func (conflicts, conflict_clear);
  ir_sizes_solve ((IrModel *) model, dims, conflicts);
  return conflicts;
}

/**
 * ir_bind_given:
 * @model: a model
 * @given: value id -> #IrTensor: contents of inputs
 * @bindings: name -> #gint64 *: is added to
 *
 * A symbol that contents fix has the same size in what is made for other inputs.
 */
void
ir_bind_given (const IrModel *model, GHashTable *given, GHashTable *bindings)
{
  GHashTableIter iter;
  gpointer id, tensor;

  g_hash_table_iter_init (&iter, given);
  while (g_hash_table_iter_next (&iter, &id, &tensor))
    {
      const IrValue *value = ir_model_live_value (model, GPOINTER_TO_UINT (id));
      const IrType *type = value != NULL ? value->type : NULL;

      if (type == NULL || !ir_type_is_tensor (type) || ir_tensor_is_container (tensor) ||
          !ir_type_has_rank (type) || (guint) type->rank != ir_tensor_rank (tensor))
        continue;
      for (int i = 0; i < type->rank; i++)
        {
          const char *symbol = ir_dim_is_symbolic (type->dims[i])
                                   ? ir_dim_symbol_name (model->context, type->dims[i])
                                   : NULL;

          if (symbol != NULL && !g_hash_table_contains (bindings, symbol))
            g_hash_table_insert (bindings, g_strdup (symbol),
                                 g_memdup2 (&ir_tensor_dims (tensor)[i], sizeof (gint64)));
        }
    }
}

/* Gives every free dim of the inputs a size: the caller's, else one that nodes need, else a default. */
static GHashTable *
choose_sizes (const IrGraph *graph, GHashTable *bindings)
{
  GHashTable *sizes = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  g_autoptr (GArray) dims = find_free_dims (graph, bindings);

  ir_sizes_solve (graph->model, dims, NULL);
  for (guint i = 0; i < dims->len; i++)
    {
      IrFreeDim *dim = &g_array_index (dims, IrFreeDim, i);

      g_hash_table_insert (sizes, g_strdup (dim->name), g_memdup2 (&dim->size, sizeof dim->size));
    }
  return sizes;
}

static gboolean
input_dims (const IrValue *input, GHashTable *sizes, gint64 *dims, GError **error)
{
  const IrType *type = tensor_part (input->type);
  guint64 n = 1;

  for (int axis = 0; axis < type->rank; axis++)
    {
      dims[axis] = type->dims[axis];
      if (ir_dim_is_symbolic (dims[axis]) &&
          !ir_dim_evaluate (input->graph->model->context, type->dims[axis], sizes, &dims[axis]))
        dims[axis] = default_size (type, NULL, (guint) axis);
      if (dims[axis] == IR_DIM_UNKNOWN)
        {
          g_autofree char *name = free_name (input, axis);
          const gint64 *size = g_hash_table_lookup (sizes, name);

          dims[axis] = size != NULL ? *size : default_size (type, NULL, (guint) axis);
        }
      if (dims[axis] < 0 || !g_uint64_checked_mul (&n, n, (guint64) dims[axis]) ||
          n > ir_exec_default_memory_limit ())
        {
          g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_INPUT,
                       "input %s: its size is negative or does not fit into memory; choose "
                       "smaller sizes for its symbols",
                       input->name);
          return FALSE;
        }
    }
  return TRUE;
}

/* -- numbers -- */

static IrTensor *
random_strings (guint rank, const gint64 *dims, guint64 n, guint64 *state)
{
  g_autofree GBytes **strings = g_new0 (GBytes *, n + 1);

  for (guint64 i = 0; i < n; i++)
    {
      char letter = (char) ('a' + ir_random_bits (state) % 26);
      strings[i] = g_bytes_new (&letter, 1);
    }
  IrTensor *tensor = ir_tensor_new_strings (rank, dims, strings);
  for (guint64 i = 0; i < n; i++)
    g_bytes_unref (strings[i]);
  return tensor;
}

static Range
input_range (const IrValue *input)
{
  IrDtype dtype = tensor_part (input->type)->dtype;
  IrDtypeKind kind = ir_dtype_kind (dtype);
  gboolean integer = kind == IR_DTYPE_KIND_SINT || kind == IR_DTYPE_KIND_UINT;
  g_autoptr (GHashTable) known = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  Walk w = { .integer = integer, .known = known };
  Range range = { 0 };

  walk (&w, input, 0, &range);
  range.mask = (range.mask && !range.bounded) || kind == IR_DTYPE_KIND_BOOL;
  if (range.mask)
    narrow (&range, 0, 1);
  /* Nothing is known: bytes are pixels, other integers small counts. */
  if (!range.bounded && dtype == IR_DTYPE_UINT8)
    narrow (&range, 0, 255);
  else if (!range.bounded)
    narrow (&range, 0, 9);
  range.high = MAX (range.high, range.low);
  return range;
}

static guint64
n_elements_of (const IrValue *input, const gint64 *dims)
{
  guint64 n = 1;

  for (int i = 0; i < tensor_part (input->type)->rank; i++)
    n *= (guint64) dims[i];
  return n;
}

static void
fill (IrDtype dtype, const Range *range, void *data, guint64 n, guint64 *state)
{
  for (guint64 i = 0; i < n; i++)
    if (ir_dtype_is_float (dtype))
      {
        double value = range->mask ? (double) ir_random_in_range (state, 0, 1)
                                   : ir_random_normal (state);
        ir_dtype_set_double (dtype, data, i, range->positive ? fabs (value) + 0.01 : value);
      }
    else
      ir_dtype_set_int64 (dtype, data, i, ir_random_in_range (state, range->low, range->high));
}

/* Complex numbers are filled as the two parts of each. */
static IrDtype
part_of (IrDtype dtype, guint64 *n)
{
  if (ir_dtype_kind (dtype) != IR_DTYPE_KIND_COMPLEX)
    return dtype;
  *n *= 2;
  return dtype == IR_DTYPE_COMPLEX64 ? IR_DTYPE_FLOAT : IR_DTYPE_DOUBLE;
}

/* As it was asked for. FALSE: a number does not fit the element type. */
static gboolean
fill_as_asked (const IrFill *asked, IrTensor *tensor, guint64 *state)
{
  guint64 n = ir_tensor_n_elements (tensor);
  const IrDtype dtype = part_of (ir_tensor_dtype (tensor), &n);
  void *data = ir_tensor_data_writable (tensor);

  for (guint64 i = 0; i < n; i++)
    {
      const double number = ir_fill_draw (asked, !ir_dtype_is_float (dtype), state);

      if (ir_dtype_is_float (dtype))
        ir_dtype_set_double (dtype, data, i, number);
      else if (fabs (number) > 9e18)
        return FALSE;
      else
        ir_dtype_set_int64 (dtype, data, i, (gint64) number);
      if (!ir_dtype_is_float (dtype) && ir_tensor_get_int64 (tensor, i) != (gint64) number)
        return FALSE;
    }
  return TRUE;
}

/* (transfer full) (nullable) */
static IrTensor *
asked_tensor (
    const IrValue *input, const IrFill *asked, IrTensor *tensor, guint64 *state, GError **error)
{
  if (tensor == NULL || fill_as_asked (asked, tensor, state))
    return tensor;
  g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_INPUT,
               "input %s: its elements are %s, which cannot hold all numbers that it is to be "
               "filled with",
               input->name, ir_dtype_name (ir_tensor_dtype (tensor)));
  ir_tensor_unref (tensor);
  return NULL;
}

static IrTensor *
random_tensor (
    const IrValue *input, const gint64 *dims, const IrFill *asked, guint64 state, GError **error)
{
  IrDtype dtype = tensor_part (input->type)->dtype;
  guint rank = (guint) MAX (tensor_part (input->type)->rank, 0);
  guint64 n = n_elements_of (input, dims);

  if (dtype == IR_DTYPE_STRING && asked == NULL)
    return random_strings (rank, dims, n, &state);
  if (dtype == IR_DTYPE_STRING)
    {
      g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_INPUT,
                   "input %s: its elements are strings, which numbers cannot fill", input->name);
      return NULL;
    }
  IrTensor *tensor = ir_tensor_new_alloc (dtype, rank, dims, error);
  if (tensor == NULL || asked != NULL)
    return asked_tensor (input, asked, tensor, &state, error);
  Range range = input_range (input);
  dtype = part_of (dtype, &n);
  fill (dtype, &range, ir_tensor_data_writable (tensor), n, &state);
  return tensor;
}

/* A tensor, a sequence of some, or an optional that holds one of these. (transfer full) */
static IrTensor *
random_value (const IrValue *input,
              const IrType *type,
              const gint64 *dims,
              const IrFill *asked,
              guint64 state,
              GError **error)
{
  g_autoptr (GPtrArray) items = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_tensor_unref);
  guint n_items = type->kind == IR_TYPE_SEQUENCE ? SEQUENCE_ITEMS : 1;

  if (ir_type_is_tensor (type))
    return random_tensor (input, dims, asked, state, error);
  for (guint i = 0; i < n_items; i++)
    {
      IrTensor *item = random_value (input, type->element, dims, asked, ir_random_bits (&state),
                                     error);
      if (item == NULL)
        return NULL;
      g_ptr_array_add (items, item);
    }
  return type->kind == IR_TYPE_SEQUENCE
             ? ir_tensor_new_sequence (NULL, (IrTensor *const *) items->pdata, n_items)
             : ir_tensor_new_optional (NULL, g_ptr_array_index (items, 0));
}

/* Types of items often leave the shape open: then they are scalars. */
static gboolean
check_kind (const IrValue *input, GError **error)
{
  const IrType *part = tensor_part (input->type);

  if (part != NULL && part->dtype != IR_DTYPE_UNDEFINED &&
      (ir_type_has_rank (part) || part != input->type))
    return TRUE;
  g_autofree char *type = input->type != NULL
                              ? ir_type_to_string (input->graph->model->context, input->type)
                              : g_strdup ("of no declared type");
  g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_INPUT,
               "input %s is %s; random contents need a tensor type with a known rank", input->name,
               type);
  return FALSE;
}

/**
 * ir_random_inputs:
 * @model: a model
 * @seed: same seed, same tensors
 * @bindings: (nullable): symbol name -> #gint64 *: sizes of symbolic dims
 * @error: return location for an error
 *
 * Makes contents for every input that has to be given. Floating-point inputs are standard normal
 * (positive where a logarithm or root takes them), integers lie in the range that their uses allow,
 * masks are 0 or 1. Symbols without a binding are what nodes need, else 1 for a batch, 64 for height
 * and width (by name, or behind at most four channels), else 8.
 *
 * Sequences have three items, and optionals hold one.
 *
 * Fails with %IR_EXEC_ERROR_INPUT for inputs that are not made of tensors of known rank or would
 * be too large.
 *
 * Returns: (transfer full) (nullable): value id -> #IrTensor
 */
GHashTable *
ir_random_inputs (IrModel *model, guint64 seed, GHashTable *bindings, GError **error)
{
  return ir_random_inputs_beside (model, seed, bindings, NULL, error);
}

/**
 * ir_random_inputs_beside:
 * @model: a model
 * @seed: same seed, same tensors
 * @bindings: (nullable): symbol name -> #gint64 *: sizes of symbolic dims
 * @given: (nullable): value id -> #IrTensor: inputs that need none
 * @error: return location for an error
 *
 * As ir_random_inputs(), for the inputs that are not in @given.
 *
 * Returns: (transfer full) (nullable): value id -> #IrTensor
 */
GHashTable *
ir_random_inputs_beside (
    IrModel *model, guint64 seed, GHashTable *bindings, GHashTable *given, GError **error)
{
  IrRandomOptions options = { .seed = seed, .bindings = bindings, .given = given };

  return ir_random_inputs_with (model, &options, error);
}

/* Whether contents have to be made for @input. */
static gboolean
needs_contents (const IrValue *input, const IrRandomOptions *options)
{
  return input != NULL &&
         (input->initializer == NULL ||
          (options->fills != NULL &&
           g_hash_table_contains (options->fills, GUINT_TO_POINTER (input->id)))) &&
         (options->given == NULL ||
          !g_hash_table_contains (options->given, GUINT_TO_POINTER (input->id)));
}

/* Sequences in each other hold as many items each. */
static gboolean
bytes_of (const IrValue *input, const gint64 *dims, guint64 *bytes)
{
  IrDtype dtype = tensor_part (input->type)->dtype;
  gsize storage = 0;

  if (dtype == IR_DTYPE_STRING)
    storage = n_elements_of (input, dims) * sizeof (GBytes *);
  else if (!ir_dtype_storage_bytes (dtype, n_elements_of (input, dims), &storage))
    return FALSE;
  *bytes = storage;
  for (const IrType *type = input->type; type->kind == IR_TYPE_SEQUENCE; type = type->element)
    if (!g_uint64_checked_mul (bytes, *bytes, SEQUENCE_ITEMS))
      return FALSE;
  return TRUE;
}

/* Before anything is filled: what takes long to make must not be refused afterwards. */
static gboolean
check_limit (const IrGraph *graph,
             const IrRandomOptions *options,
             GHashTable *sizes,
             GError **error)
{
  guint64 limit = options->limit != 0 ? options->limit : ir_exec_default_memory_limit ();
  guint64 all = 0;

  for (guint i = 0; i < ir_graph_n_inputs (graph); i++)
    {
      const IrValue *input = ir_graph_input (graph, i);
      gint64 dims[IR_MAX_RANK];
      guint64 bytes;
      if (!needs_contents (input, options))
        continue;
      if (!check_kind (input, error) || !input_dims (input, sizes, dims, error))
        return FALSE;
      if (bytes_of (input, dims, &bytes) && g_uint64_checked_add (&all, all, bytes) && all <= limit)
        continue;
      g_autofree char *needed = g_format_size (all), *most = g_format_size (limit);
      g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_LIMIT,
                   "input %s: random contents of the inputs would need %s or more, the limit is "
                   "%s; choose smaller sizes or raise the limit on memory",
                   input->name, needed, most);
      return FALSE;
    }
  return TRUE;
}

/**
 * ir_random_inputs_with:
 * @model: a model
 * @options: what to make
 * @error: return location for an error
 *
 * As ir_random_inputs(). Fails with %IR_EXEC_ERROR_LIMIT, before anything is made, where the limit
 * would not hold, and with %G_IO_ERROR_CANCELLED.
 *
 * Returns: (transfer full) (nullable): value id -> #IrTensor
 */
GHashTable *
ir_random_inputs_with (IrModel *model, const IrRandomOptions *options, GError **error)
{
  g_return_val_if_fail (model != NULL, NULL);
  g_autoptr (IrModel) flat = ir_exec_expand (model, error);

  if (flat == NULL)
    return NULL;
  g_autoptr (GHashTable) sizes = choose_sizes (flat->main, options->bindings);
  g_autoptr (GHashTable)
      inputs = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);
  if (!check_limit (flat->main, options, sizes, error))
    return NULL;
  for (guint i = 0; i < ir_graph_n_inputs (flat->main); i++)
    {
      const IrValue *input = ir_graph_input (flat->main, i);
      gint64 dims[IR_MAX_RANK];
      if (!needs_contents (input, options))
        continue;
      if (g_cancellable_set_error_if_cancelled (options->cancellable, error) ||
          !input_dims (input, sizes, dims, error))
        return NULL;
      const IrFill *fill = options->fills != NULL
                               ? g_hash_table_lookup (options->fills, GUINT_TO_POINTER (input->id))
                               : NULL;
      guint64 seed = fill != NULL && fill->has_seed ? fill->seed : options->seed;
      guint64 state = seed ^ (G_GUINT64_CONSTANT (0xd1b54a32d192ed03) * (i + 1));
      IrTensor *tensor = random_value (input, input->type, dims,
                                       fill != NULL && fill->kind != IR_FILL_SUITABLE ? fill : NULL,
                                       state, error);
      if (tensor == NULL)
        return NULL;
      g_hash_table_insert (inputs, GUINT_TO_POINTER (input->id), tensor);
    }
  return g_steal_pointer (&inputs);
}

/**
 * ir_random_bind_sizes:
 * @edit: an edit of a model without function calls that imports
 * @options: what ir_random_inputs_with() would be asked for; seed and limit do not matter
 * @error: return location for an error
 *
 * Gives the inputs the sizes that they would have in a run, without making contents: plans need no
 * more. Call ir_infer_model() then.
 *
 * Returns: %TRUE on success
 */
gboolean
ir_random_bind_sizes (IrEdit *edit, const IrRandomOptions *options, GError **error)
{
  const IrGraph *graph = ir_edit_model (edit)->main;
  g_autoptr (GHashTable) sizes = choose_sizes (graph, options->bindings);

  for (guint i = 0; i < ir_graph_n_inputs (graph); i++)
    {
      IrValue *input = ir_graph_input (graph, i);
      const IrTensor *given = options->given != NULL && input != NULL
                                  ? g_hash_table_lookup (options->given,
                                                         GUINT_TO_POINTER (input->id))
                                  : NULL;
      gint64 dims[IR_MAX_RANK];
      if (given != NULL)
        ir_infer_bind_input (edit, input, ir_tensor_rank (given), ir_tensor_dims (given));
      if (!needs_contents (input, options))
        continue;
      if (!check_kind (input, error) || !input_dims (input, sizes, dims, error))
        return FALSE;
      if (ir_type_is_tensor (input->type))
        ir_infer_bind_input (edit, input, (guint) input->type->rank, dims);
    }
  return TRUE;
}
