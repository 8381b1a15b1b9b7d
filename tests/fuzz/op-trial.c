/* Random applications of operators, driven by their rows: arity, names of the inputs, attributes
 * with their kinds, defaults and documentation, and the recipes of tests/table. Most should fit, so
 * that kernels run; some should not, so that errors are seen. */
#include "config.h"

#include "tests/fuzz/op-trial.h"

#include "core/io/io.h"
#include "tests/table/recipes.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define FAR 1000 /* from all that a small trial has places for */

typedef struct
{
  GRand *rand;
  const IrOp *op;
  guint size;
  IrDtype dtype;    /* of most inputs */
  guint rank;       /* of most inputs */
  gint64 dims[6];   /* of most inputs */
  guint special;    /* one number in so many is odd; 0: none */
  gboolean extreme; /* odd numbers may be as large as the type allows */
  guint slot;       /* of the input that is made */
} Draw;

static gint
pick (Draw *d, gint low, gint high) /* both inclusive */
{
  return g_rand_int_range (d->rand, low, high + 1);
}

static gboolean
one_in (Draw *d, gint n)
{
  return g_rand_int_range (d->rand, 0, n) == 0;
}

/* -- contents -- */

static double
odd_number (Draw *d)
{
  static const double odd[] = { NAN,  INFINITY, -INFINITY, -0.0, 1e-40, -1e-40,
                                1e10, -1e10,    5e-324,    88.8, -104,  0.49999997 };
  static const double extremes[] = {
    FLT_MAX,
    -FLT_MAX,
    DBL_MAX,
    -DBL_MAX,
    0x1p63,
    -0x1p63,
    0x1p64,
    1e30,
    (double) G_MAXINT32,
    (double) G_MININT32,
    (double) G_MININT64,
    65504,
  };
  if (d->extreme && one_in (d, 2))
    return extremes[pick (d, 0, G_N_ELEMENTS (extremes) - 1)];
  return odd[pick (d, 0, G_N_ELEMENTS (odd) - 1)];
}

/* Many small whole numbers, so that axes, sizes and indices are often right and results exact. */
static double
number (Draw *d)
{
  /* In products with weights only the first input is odd: whether padding times an infinite weight
   * is nothing or NaN is a matter of how the sum is written. */
  gboolean plain = d->slot > 0 && d->op->tol.atol > 0 && d->op->tol.rtol > 5e-6;
  if (!plain && d->special > 0 && one_in (d, (gint) d->special))
    return odd_number (d);
  return one_in (d, 2) ? pick (d, -2, 4) : g_rand_double_range (d->rand, -3, 3);
}

static IrTensor *
strings (Draw *d, guint rank, const gint64 *dims, guint64 n)
{
  static const char *const words[] = { "12.5", "",      "a",        "NaN",  "-inf",
                                       "7",    "a b,c", "\xc3\xa9", "\xff", "1e999" };
  g_autoptr (GPtrArray) list = g_ptr_array_new_with_free_func ((GDestroyNotify) g_bytes_unref);
  for (guint64 i = 0; i < n; i++)
    {
      const char *word = words[pick (d, 0, one_in (d, 2) ? G_N_ELEMENTS (words) - 1 : 2)];
      g_ptr_array_add (list, g_bytes_new (word, strlen (word)));
    }
  return ir_tensor_new_strings (rank, dims, (GBytes **) (gpointer) list->pdata);
}

/* Whole numbers in [0, end) if @end is positive. */
static IrTensor *
tensor_new (Draw *d, IrDtype dtype, guint rank, const gint64 *dims, gint end)
{
  guint64 n = 1;
  for (guint i = 0; i < rank; i++)
    n *= (guint64) dims[i];
  if (dtype == IR_DTYPE_STRING)
    return strings (d, rank, dims, n);
  IrTensor *tensor = ir_tensor_new_alloc (dtype, rank, dims, NULL);
  void *data = ir_tensor_data_writable (tensor);
  for (guint64 i = 0; i < n; i++)
    {
      double value = end > 0 && !one_in (d, 60) ? pick (d, 0, end - 1) : number (d);
      if (ir_dtype_is_integer (dtype) && value == floor (value) && fabs (value) < 0x1p62)
        ir_dtype_set_int64 (dtype, data, i, (gint64) value);
      else
        ir_dtype_set_double (dtype, data, i, value);
    }
  return tensor;
}

/* -- types and shapes -- */

static IrDtype
random_dtype (Draw *d)
{
  static const IrDtype common[] = { IR_DTYPE_FLOAT, IR_DTYPE_FLOAT, IR_DTYPE_FLOAT,
                                    IR_DTYPE_FLOAT, IR_DTYPE_INT64, IR_DTYPE_INT32,
                                    IR_DTYPE_BOOL,  IR_DTYPE_UINT8, IR_DTYPE_FLOAT16 };
  if (one_in (d, 2))
    return common[pick (d, 0, G_N_ELEMENTS (common) - 1)];
  return (IrDtype) pick (d, 1, IR_N_DTYPES - 1);
}

static gint64
random_dim (Draw *d)
{
  gint64 dim = one_in (d, 24) ? 0 : one_in (d, 12) ? pick (d, 8, 40) : pick (d, 1, 5);
  return d->size > 0 ? MIN (dim, (gint64) d->size) : dim;
}

/* Inputs that are lists of sizes, axes, places or numbers, by their usual names. */
static gboolean
is_list_name (const char *name)
{
  static const char *const names[] = {
    "shape",      "axes",       "axis",         "starts",      "ends",
    "steps",      "split",      "pads",         "repeats",     "k",
    "sizes",      "depth",      "indices",      "start",       "limit",
    "delta",      "size",       "output_shape", "image_shape", "block_shape",
    "dft_length", "frame_step", "frame_length", "position",    "K"
  };
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    if (g_str_equal (names[i], name))
      return TRUE;
  return FALSE;
}

static IrTensor *
list_input (Draw *d)
{
  gint64 n = one_in (d, 3) ? (gint64) d->rank : pick (d, 1, 3);
  gint64 dims[2] = { n, pick (d, 1, 2) };
  guint rank = one_in (d, 4) ? 0 : one_in (d, 8) ? 2 : 1;
  IrDtype dtype = one_in (d, 4) ? IR_DTYPE_INT32 : one_in (d, 30) ? d->dtype : IR_DTYPE_INT64;
  return tensor_new (d, dtype, rank, dims, one_in (d, 2) ? pick (d, 1, 6) : 0);
}

/* The shape of the first input, or one that broadcasts to it, or something else. */
static IrTensor *
other_input (Draw *d)
{
  gint64 dims[6];
  guint rank = d->rank, first = 0;
  IrDtype dtype = one_in (d, 8) ? random_dtype (d) : d->dtype;
  memcpy (dims, d->dims, sizeof dims);
  if (one_in (d, 3))
    {
      first = rank > 0 ? (guint) pick (d, 0, (gint) rank) : 0;
      for (guint i = first; i < rank; i++)
        if (one_in (d, 3))
          dims[i] = 1;
    }
  else if (one_in (d, 6))
    {
      rank = (guint) pick (d, 0, 5);
      for (guint i = 0; i < rank; i++)
        dims[i] = random_dim (d);
    }
  else if (one_in (d, 3) && rank > 1) /* one per channel, or per place of the last axis */
    {
      dims[0] = d->dims[one_in (d, 2) ? 1 : rank - 1];
      rank = 1;
    }
  return tensor_new (d, dtype, rank - first, dims + first, one_in (d, 8) ? pick (d, 1, 5) : 0);
}

static IrTensor *
generic_input (Draw *d, guint slot)
{
  g_autofree char *name = ir_op_input_name (d->op, slot);
  if (slot > 0 && is_list_name (name) && !one_in (d, 10))
    return list_input (d);
  if (slot > 0)
    return other_input (d);
  return tensor_new (d, d->dtype, d->rank, d->dims, one_in (d, 8) ? pick (d, 1, 5) : 0);
}

/* -- recipes -- */

/* What a letter or a number of a recipe becomes, the same for all of its inputs. */
typedef struct
{
  gint64 from, to;      /* dim; @from 0: none is changed */
  IrDtype reals, whole; /* for f and for u */
} Change;

static IrDtype
recipe_dtype (char letter, const Change *change)
{
  switch (letter)
    {
    case 'f':
      return change->reals;
    case 'd':
      return IR_DTYPE_DOUBLE;
    case 'h':
      return IR_DTYPE_FLOAT16;
    case 'g':
      return IR_DTYPE_BFLOAT16;
    case 'i':
      return IR_DTYPE_INT64;
    case 'j':
      return IR_DTYPE_INT32;
    case 'u':
      return change->whole;
    case 'b':
      return IR_DTYPE_BOOL;
    default:
      return IR_DTYPE_STRING;
    }
}

/* A map from 0, 1, ... to random numbers. */
static IrTensor *
recipe_map (Draw *d, gint64 n)
{
  g_autoptr (IrTensor) keys = ir_tensor_new_alloc (IR_DTYPE_INT64, 1, &n, NULL);
  g_autoptr (IrTensor) values = tensor_new (d, IR_DTYPE_FLOAT, 1, &n, 0);
  for (gint64 i = 0; i < n; i++)
    ((gint64 *) ir_tensor_data_writable (keys))[i] = i;
  return ir_tensor_new_map (keys, values);
}

static IrTensor *recipe_input (Draw *d, const char *text, const Change *change);

/* A sequence or an optional of tensors such as @text says. */
static IrTensor *
recipe_container (Draw *d, const char *text, const Change *change)
{
  IrTensor *items[3];
  guint n = (guint) pick (d, 1, 3);
  for (guint i = 0; i < n; i++)
    items[i] = recipe_input (d, text + 1, change);
  IrTensor *result = text[0] == 'q' ? ir_tensor_new_sequence (NULL, items, n)
                                    : ir_tensor_new_optional (NULL, items[0]);
  for (guint i = 0; i < n; i++)
    ir_tensor_unref (items[i]);
  return result;
}

static IrTensor *
recipe_input (Draw *d, const char *text, const Change *change)
{
  if (text[0] == 'm')
    return recipe_map (d, g_ascii_strtoll (text + 1, NULL, 10));
  if (text[0] == 'q' || text[0] == 'o')
    return recipe_container (d, text, change);
  IrDtype dtype = recipe_dtype (text[0], change);
  gint64 dims[IR_MAX_RANK];
  guint rank = 0;
  char *rest = (char *) text + 1;
  while (g_ascii_isdigit (*rest))
    {
      gint64 dim = g_ascii_strtoll (rest, &rest, 10);
      dims[rank++] = dim == change->from ? change->to : dim;
      rest += *rest == 'x';
    }
  gint64 end = *rest == '<' ? g_ascii_strtoll (rest + 1, NULL, 10) : 0;
  return tensor_new (d, dtype, rank, dims, (gint) (end == change->from ? change->to : end));
}

gboolean
trial_break_input (Trial *trial, guint slot, gboolean last)
{
  IrTensor *tensor = trial->tensors[slot];
  IrValue *value = ir_node_input (trial->node, slot);

  if (tensor == NULL || value == NULL || ir_tensor_is_container (tensor) ||
      ir_tensor_n_elements (tensor) == 0 ||
      (ir_tensor_dtype (tensor) != IR_DTYPE_INT64 && ir_tensor_dtype (tensor) != IR_DTYPE_INT32))
    return FALSE;
  IrTensor *other = ir_tensor_new_alloc (ir_tensor_dtype (tensor), ir_tensor_rank (tensor),
                                         ir_tensor_dims (tensor), NULL);
  memcpy (ir_tensor_data_writable (other), ir_tensor_data (tensor), ir_tensor_n_bytes (tensor));
  ir_dtype_set_int64 (ir_tensor_dtype (tensor), ir_tensor_data_writable (other),
                      last ? ir_tensor_n_elements (tensor) - 1 : 0, last ? FAR : -FAR);
  if (value->initializer != NULL)
    ir_edit_set_initializer (trial->edit, value, other);
  ir_tensor_unref (tensor);
  trial->tensors[slot] = other;
  return TRUE;
}

gboolean
trial_attrs_exist (const IrOp *op, const char *attrs)
{
  g_auto (GStrv) list = g_strsplit (attrs, " ", -1);
  for (guint i = 0; list[i] != NULL && *list[i] != '\0'; i++)
    {
      *strchr (list[i], '=') = '\0';
      if (ir_op_attr (op, list[i]) == NULL)
        return FALSE;
    }
  return TRUE;
}

static const Recipe *
choose_recipe (Draw *d)
{
  const Recipe *found[G_N_ELEMENTS (recipes)];
  gint n = 0;
  for (guint i = 0; i < G_N_ELEMENTS (recipes); i++)
    if (g_str_equal (recipes[i].op, d->op->name) && trial_attrs_exist (d->op, recipes[i].attrs))
      found[n++] = &recipes[i];
  return n == 0 || one_in (d, 5) ? NULL : found[pick (d, 0, n - 1)];
}

static void
apply_recipe (Trial *trial, Draw *d, const Recipe *recipe, gboolean as_it_is)
{
  static const IrDtype reals[] = { IR_DTYPE_DOUBLE, IR_DTYPE_FLOAT16, IR_DTYPE_BFLOAT16,
                                   IR_DTYPE_INT32, IR_DTYPE_INT64 };
  static const IrDtype whole[] = { IR_DTYPE_INT8, IR_DTYPE_INT4, IR_DTYPE_UINT16,
                                   IR_DTYPE_FLOAT8E4M3FN };
  g_auto (GStrv) inputs = g_strsplit (recipe->inputs, " ", -1);
  Change change = { 0, 0, IR_DTYPE_FLOAT, IR_DTYPE_UINT8 };
  if (!as_it_is && one_in (d, 3))
    change = (Change){ pick (d, 1, 6), random_dim (d), IR_DTYPE_FLOAT, IR_DTYPE_UINT8 };
  if (!as_it_is && one_in (d, 4))
    {
      change.reals = reals[pick (d, 0, G_N_ELEMENTS (reals) - 1)];
      change.whole = whole[pick (d, 0, G_N_ELEMENTS (whole) - 1)];
    }
  trial->n = MIN (g_strv_length (inputs), TRIAL_MAX_INPUTS);
  for (d->slot = 0; d->slot < trial->n; d->slot++)
    if (inputs[d->slot][0] != '-' && inputs[d->slot][0] != '\0')
      trial->tensors[d->slot] = recipe_input (d, inputs[d->slot], &change);
}

static void
apply_recipe_attrs (Trial *trial, const IrOp *op, const Recipe *recipe)
{
  g_auto (GStrv) attrs = g_strsplit (recipe->attrs, " ", -1);
  for (guint i = 0; attrs[i] != NULL && *attrs[i] != '\0'; i++)
    {
      g_auto (GStrv) pair = g_strsplit (attrs[i], "=", 2);
      const IrAttrSpec *spec = ir_op_attr (op, pair[0]);
      ir_edit_set_attr (trial->edit, trial->node,
                        recipe_attr (trial->model->context, spec, pair[1]));
    }
}

/* -- attributes -- */

/* A word of the attribute's own documentation, which names what it may be. */
static char *
random_word (Draw *d, const IrAttrSpec *spec)
{
  g_autoptr (GPtrArray) words = g_ptr_array_new ();
  g_auto (GStrv) parts = g_strsplit_set (spec->doc, " ,.;:()\"", -1);
  for (guint i = 0; parts[i] != NULL; i++)
    if (*parts[i] != '\0')
      g_ptr_array_add (words, parts[i]);
  if (spec->fallback != NULL && (words->len == 0 || one_in (d, 3)))
    return g_strdup (spec->fallback);
  return g_strdup (words->len > 0 ? words->pdata[pick (d, 0, (gint) words->len - 1)] : "");
}

static gint64
random_int (Draw *d)
{
  static const gint64 odd[] = {
    G_MAXINT64, G_MININT64, G_MAXINT32, G_MININT32, 1 << 20, -1, 0, 64
  };
  if (d->size != 1 && one_in (d, 60))
    return odd[pick (d, 0, G_N_ELEMENTS (odd) - 1)];
  return one_in (d, 3) ? pick (d, -2, 4) : pick (d, 0, 2);
}

static const IrAttr *
random_attr (Draw *d, IrContext *context, const IrAttrSpec *spec)
{
  gint64 ints[8];
  float floats[8];
  guint n = (guint) (one_in (d, 3) ? pick (d, 0, 8) : (gint) d->rank - (one_in (d, 2) ? 2 : 0));
  IrAttrKind kind = one_in (d, 50) ? (IrAttrKind) pick (d, 1, IR_N_ATTR_KINDS - 1) : spec->kind;
  gint64 one = 1;
  n = MIN (n, 8);
  for (guint i = 0; i < 8; i++)
    {
      ints[i] = random_int (d);
      floats[i] = (float) number (d);
    }
  g_autofree char *word = random_word (d, spec);
  IrString string = { .data = word, .length = strlen (word) };
  g_autoptr (IrTensor) tensor = NULL;
  switch (kind)
    {
    case IR_ATTR_INT:
      return ir_attr_int (context, spec->name, ints[0]);
    case IR_ATTR_INTS:
      return ir_attr_ints (context, spec->name, ints, n);
    case IR_ATTR_FLOAT:
      return ir_attr_float (context, spec->name, floats[0]);
    case IR_ATTR_FLOATS:
      return ir_attr_floats (context, spec->name, floats, n);
    case IR_ATTR_STRING:
      return ir_attr_string (context, spec->name, word, -1);
    case IR_ATTR_STRINGS:
      return ir_attr_strings (context, spec->name, &string, 1);
    case IR_ATTR_TENSOR:
      tensor = tensor_new (d, random_dtype (d), 1, &one, 0);
      return ir_attr_tensor (context, spec->name, tensor);
    case IR_ATTR_UNDEFINED:
    case IR_ATTR_GRAPH:
    case IR_ATTR_GRAPHS:
    case IR_ATTR_TENSORS:
    case IR_ATTR_SPARSE_TENSOR:
    case IR_ATTR_SPARSE_TENSORS:
    case IR_ATTR_TYPE:
    case IR_ATTR_TYPES:
    case IR_N_ATTR_KINDS:
    default:
      return NULL;
    }
}

/* -- the whole -- */

/* A type that says less than @type. */
static const IrType *
blurred (Draw *d, IrContext *context, const IrType *type)
{
  IrDim dims[IR_MAX_RANK];
  if (!ir_type_is_tensor (type))
    return type;
  if (one_in (d, 6))
    return ir_type_tensor (context, type->dtype, IR_RANK_UNKNOWN, NULL);
  for (int i = 0; i < type->rank; i++)
    dims[i] = one_in (d, 2) ? IR_DIM_UNKNOWN : type->dims[i];
  return ir_type_tensor (context, type->dtype, type->rank, dims);
}

static void
draw_inputs (Trial *trial, Draw *d)
{
  int most = d->op->in.max < 0 ? d->op->in.min + 2 : d->op->in.max;
  trial->n = (guint) pick (d, d->op->in.min, MAX (MIN (most, TRIAL_MAX_INPUTS), d->op->in.min));
  if (one_in (d, 60))
    trial->n = (guint) pick (d, 0, TRIAL_MAX_INPUTS);
  for (d->slot = 0; d->slot < trial->n; d->slot++)
    if (d->slot < (guint) d->op->in.min ? !one_in (d, 60) : !one_in (d, 4))
      trial->tensors[d->slot] = generic_input (d, d->slot);
}

static void
init (Trial *trial, const IrOp *op, guint32 seed, guint size, const Recipe *as)
{
  g_autoptr (GRand)
      rand = g_rand_new_with_seed_array ((guint32[]){ seed, g_str_hash (op->name) }, 2);
  Draw d = { .rand = rand, .op = op, .size = size };
  IrValue *values[TRIAL_MAX_INPUTS] = { NULL }, *given[TRIAL_MAX_INPUTS];
  guint n_given = 0;

  d.dtype = random_dtype (&d);
  d.rank = (guint) pick (&d, 0, 5);
  for (guint i = 0; i < 6; i++)
    d.dims[i] = random_dim (&d);
  d.special = (guint[]){ 0, 0, 4, 12 }[pick (&d, 0, 3)];
  d.extreme = one_in (&d, 3);
  if (size == 1)
    d.special = 0;
  memset (trial, 0, sizeof *trial);
  if (as != NULL)
    d.special = 0;
  trial->extreme = d.extreme && d.special > 0;
  trial->model = ir_model_new ();
  trial->edit = ir_edit_new_import (trial->model);
  IrContext *context = trial->model->context;
  ir_edit_set_opset (trial->edit, "", one_in (&d, 4) && as == NULL ? pick (&d, 1, 28) : 28);
  if (op->domain != NULL)
    ir_edit_set_opset (trial->edit, op->domain, pick (&d, 1, 5));
  const Recipe *recipe = as != NULL ? as : choose_recipe (&d);
  if (recipe != NULL)
    apply_recipe (trial, &d, recipe, as != NULL);
  else
    draw_inputs (trial, &d);
  gboolean exact = !one_in (&d, 4);
  for (guint i = 0; i < trial->n; i++)
    {
      g_autofree char *name = g_strdup_printf ("x%u", i);
      if (trial->tensors[i] == NULL)
        continue;
      const IrType *type = ir_tensor_type (trial->tensors[i], context);
      values[i] = ir_edit_add_value (trial->edit, trial->model->main, name,
                                     exact ? type : blurred (&d, context, type));
      if (one_in (&d, 3) && !ir_tensor_is_container (trial->tensors[i]))
        ir_edit_set_initializer (trial->edit, values[i], trial->tensors[i]);
      else
        given[n_given++] = values[i];
    }
  ir_edit_set_graph_inputs (trial->edit, trial->model->main, given, n_given);
  guint n_outputs = op->out.max < 0 ? (guint) pick (&d, 1, 3)
                                    : (guint) pick (&d, MAX (op->out.min, 1), op->out.max);
  trial->node = ir_edit_add_node (trial->edit, trial->model->main, op->name, op->domain, "node",
                                  trial->n, values, n_outputs);
  if (recipe != NULL)
    apply_recipe_attrs (trial, op, recipe);
  for (const IrAttrSpec *spec = op->attrs; as == NULL && spec != NULL && spec->name != NULL; spec++)
    if (recipe != NULL ? ir_node_attr (trial->node, spec->name) == NULL && one_in (&d, 10)
                       : (spec->required ? !one_in (&d, 30) : one_in (&d, 3)))
      {
        const IrAttr *attr = random_attr (&d, context, spec);
        if (attr != NULL)
          ir_edit_set_attr (trial->edit, trial->node, attr);
      }
}

/**
 * trial_init:
 * @trial: (out caller-allocates): the trial
 * @op: what to apply
 * @seed: of all choices
 * @size: most places along an axis; 1: and no odd numbers; 0: as drawn
 *
 * One node of @op on random inputs with random attributes.
 */
void
trial_init (Trial *trial, const IrOp *op, guint32 seed, guint size)
{
  init (trial, op, seed, size, NULL);
}

/**
 * trial_init_as:
 * @trial: (out caller-allocates): the trial
 * @op: what to apply
 * @seed: of the contents
 * @inputs: types of the inputs, as tests/table/recipes.h writes them
 * @attrs: attributes, likewise
 *
 * One node of @op on ordinary numbers.
 */
void
trial_init_as (Trial *trial, const IrOp *op, guint32 seed, const char *inputs, const char *attrs)
{
  const Recipe recipe = { op->name, inputs, attrs };

  init (trial, op, seed, 0, &recipe);
}

/**
 * trial_clear:
 * @trial: a trial
 */
void
trial_clear (Trial *trial)
{
  for (guint i = 0; i < trial->n; i++)
    g_clear_pointer (&trial->tensors[i], ir_tensor_unref);
  g_clear_pointer (&trial->edit, ir_edit_free);
  g_clear_pointer (&trial->model, ir_model_unref);
}

/**
 * trial_to_string:
 * @trial: a trial
 *
 * Returns: (transfer full): the node as text, and its inputs
 */
char *
trial_to_string (const Trial *trial)
{
  GString *out = g_string_new (NULL);
  g_autofree char *text = ir_text_write (trial->model);
  g_string_append (out, text);
  for (guint i = 0; i < trial->n; i++)
    if (trial->tensors[i] != NULL)
      {
        g_autofree char *contents = ir_tensor_to_string (trial->tensors[i], 64);
        g_string_append_printf (out, "x%u = %s\n", i, contents);
      }
  return g_string_free (out, FALSE);
}

/* -- comparison -- */

static double
largest (const IrTensor *tensor)
{
  double most = 1;
  for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
    {
      double value = fabs (ir_tensor_get_double (tensor, i));
      if (isfinite (value) && value > most)
        most = value;
    }
  return most;
}

/* What rounding errors are measured by: sums may cancel, products of inputs do not. */
static double
scale_of (const Trial *trial, const IrTensor *wanted)
{
  double product = 1;
  for (guint i = 0; i < trial->n; i++)
    if (trial->tensors[i] != NULL && !ir_tensor_is_container (trial->tensors[i]) &&
        ir_dtype_is_float (ir_tensor_dtype (trial->tensors[i])))
      product *= largest (trial->tensors[i]);
  /* Queries, keys and values of one input are multiplied with each other. */
  if (g_str_has_suffix (trial->node->op_type, "PackedAttention"))
    product *= product * product;
  return MAX (product, largest (wanted));
}

/* Scores as large as these round by more than what softmax tells apart: a weight may be 0 by one
 * order of sums and a half by another, and times infinity that is NaN or infinite. */
static gboolean
weights_may_vanish (const Trial *trial, IrDtype dtype, double scale)
{
  gboolean half = dtype == IR_DTYPE_FLOAT16 || dtype == IR_DTYPE_BFLOAT16;

  return g_str_has_suffix (trial->node->op_type, "Attention") && scale > (half ? 1e3 : 1e6);
}

static IrTolerance
tolerance_of (const IrOp *op, IrDtype dtype)
{
  IrTolerance tol = op->tol;
  double epsilon = dtype == IR_DTYPE_FLOAT16 ? 0x1p-10 : dtype == IR_DTYPE_BFLOAT16 ? 0x1p-7 : 0;

  /* The reference rounds between the operators of a body, kernels in float32 do not. */
  if (tol.rtol > 0)
    tol.rtol = MAX (tol.rtol, 4 * epsilon);
  if (tol.atol > 0)
    tol.atol = MAX (tol.atol, 2 * epsilon);
  return tol;
}

char *
trial_difference (const Trial *trial, guint slot, const IrTensor *found, const IrTensor *wanted)
{
  IrContext *context = trial->model->context;
  const IrType *found_type = ir_tensor_type (found, context);
  const IrType *wanted_type = ir_tensor_type (wanted, context);
  IrTolerance tol = tolerance_of (trial->node->op, ir_tensor_dtype (wanted));

  if (found_type != wanted_type)
    {
      g_autofree char *is = ir_type_to_string (context, found_type);
      g_autofree char *should = ir_type_to_string (context, wanted_type);
      return g_strdup_printf ("output %u is %s, and %s by the reference", slot, is, should);
    }
  if (ir_tensor_is_container (wanted) || (trial->extreme && tol.rtol > 0))
    return NULL;
  if (ir_dtype_kind (ir_tensor_dtype (wanted)) == IR_DTYPE_KIND_STRING ||
      ir_dtype_kind (ir_tensor_dtype (wanted)) == IR_DTYPE_KIND_COMPLEX)
    return ir_tensor_equal (found, wanted) ? NULL : g_strdup ("the outputs differ");
  double scale = tol.atol > 0 ? scale_of (trial, wanted) : 1;
  for (guint64 i = 0; i < ir_tensor_n_elements (wanted); i++)
    {
      double a = ir_tensor_get_double (found, i), b = ir_tensor_get_double (wanted, i);
      if (isnan (b) ? isnan (a) : a == b || fabs (a - b) <= tol.atol * scale + tol.rtol * fabs (b))
        continue;
      if ((!isfinite (a) || !isfinite (b)) &&
          weights_may_vanish (trial, ir_tensor_dtype (wanted), scale))
        continue;
      return g_strdup_printf ("output %u: element %" G_GUINT64_FORMAT
                              " is %.9g, and %.9g by the reference",
                              slot, i, a, b);
    }
  return NULL;
}
