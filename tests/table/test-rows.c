/* Tests made from the rows of the op table: every row is complete, and inference agrees with what
 * the reference kernel does on random inputs, good and bad. Nothing may crash: run it under the
 * sanitizers, too. */
#include "config.h"

#include "core/exec/exec.h"
#include "core/ir/edit.h"
#include "core/op/infer.h"
#include "core/op/op.h"
#include "tests/table/recipes.h"
#include <string.h>

/* -- rows are complete -- */

static guint
count_words (const char *names)
{
  g_auto (GStrv) words = g_strsplit (names, " ", -1);
  guint n = 0;
  for (guint i = 0; words[i] != NULL; i++)
    n += words[i][0] != '\0';
  return n;
}

static void
check_sentence (const IrOp *op, const char *doc)
{
  if (doc == NULL || strlen (doc) < 4 || !g_str_has_suffix (doc, "."))
    g_error ("%s: \"%s\" is not a sentence with a period", op->name, doc);
}

static void
check_names (const IrOp *op, const char *names, IrArity arity)
{
  g_assert_nonnull (names);
  guint n = count_words (names);
  gboolean variadic = g_str_has_suffix (names, "*");
  if (variadic != (arity.max < 0) || (!variadic && n != (guint) arity.max) || arity.min < 0 ||
      (arity.max >= 0 && arity.min > arity.max))
    g_error ("%s: \"%s\" does not fit {%d, %d}", op->name, names, arity.min, arity.max);
}

static void
check_row (const IrOp *op)
{
  check_sentence (op, op->doc);
  check_names (op, op->in_names, op->in);
  check_names (op, op->out_names, op->out);
  g_assert_cmpint (op->since, >=, 1);
  g_assert_cmpint (op->family, <, IR_N_FAMILIES);
  if (op->infer == NULL || op->cost == NULL)
    g_error ("%s: no inference or no cost", op->name);
  if (ir_ref_kernel (op) == NULL && op->family != IR_FAMILY_CONTROL &&
      (op->flags & (IR_OP_RANDOM | IR_OP_SUBGRAPHS)) == 0)
    g_error ("%s: no reference kernel", op->name);
  g_assert_cmpfloat (op->tol.rtol, >=, 0);
  for (const IrAttrSpec *spec = op->attrs; spec != NULL && spec->name != NULL; spec++)
    {
      check_sentence (op, spec->doc);
      g_assert_cmpint (spec->kind, >, IR_ATTR_UNDEFINED);
      g_assert_cmpint (spec->kind, <, IR_N_ATTR_KINDS);
      if (spec->required && spec->fallback != NULL)
        g_error ("%s: %s is required and has a default", op->name, spec->name);
      g_assert_true (ir_op_attr (op, spec->name) == spec);
    }
  gint64 until = 0;
  for (const IrAdapt *adapt = op->adapt; adapt->below != 0; adapt++)
    {
      g_assert_cmpint (adapt->below, >, until);
      g_assert_true (adapt->adapt != NULL);
      until = adapt->below;
    }
}

static void
test_rows_complete (void)
{
  for (guint id = 1; id < ir_op_n (); id++)
    {
      const IrOp *op = ir_op_by_id ((IrOpId) id);
      g_assert_cmpuint (op->id, ==, id);
      g_assert_nonnull (op->name);
      check_row (op);
    }
  g_assert_null (ir_op_by_id (IR_OP_NONE));
  g_assert_null (ir_op_by_id (IR_N_OPS));
}

static void
test_rows_found (void)
{
  for (guint id = 1; id < ir_op_n (); id++)
    {
      const IrOp *op = ir_op_by_id ((IrOpId) id);
      g_assert_true (ir_op_find (op->domain, op->name) == op);
      g_assert_null (ir_op_find ("no.such.domain", op->name));
    }
  g_assert_true (ir_op_find ("ai.onnx", "Add") == ir_op_by_id (IR_OP_ADD));
  g_assert_true (ir_op_find (NULL, "Xor") == ir_op_by_id (IR_OP_XOR));
  g_assert_null (ir_op_find ("", "add"));
  g_assert_null (ir_op_find ("", ""));
  g_assert_null (ir_op_find ("", "ZZZ"));
}

static void
test_names_of_slots (void)
{
  const IrOp *clip = ir_op_by_id (IR_OP_CLIP), *concat = ir_op_by_id (IR_OP_CONCAT),
             *loop = ir_op_by_id (IR_OP_LOOP);
  g_autofree char *carried = ir_op_input_name (loop, 2);
  g_autofree char *second = ir_op_input_name (loop, 3);
  g_autofree char *min = ir_op_input_name (clip, 1);
  g_autofree char *beyond = ir_op_input_name (clip, 3);
  g_autofree char *third = ir_op_input_name (concat, 2);
  g_assert_cmpstr (min, ==, "min");
  g_assert_cmpstr (beyond, ==, "input 3");
  g_assert_cmpstr (third, ==, "inputs 2");
  g_assert_cmpstr (carried, ==, "v_initial 0");
  g_assert_cmpstr (second, ==, "v_initial 1");
}

static void
test_markdown (void)
{
  g_autofree char *text = ir_ops_markdown ();
  g_autofree char *again = ir_ops_markdown ();
  g_assert_cmpstr (text, ==, again);
  for (guint id = 1; id < ir_op_n (); id++)
    {
      const IrOp *op = ir_op_by_id ((IrOpId) id);
      g_autofree char *title = g_strdup_printf ("### %s%s%s\n",
                                                op->domain != NULL ? op->domain : "",
                                                op->domain != NULL ? "." : "", op->name);
      g_assert_nonnull (strstr (text, title));
    }
}

static void
test_docs_current (void)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *path = g_test_build_filename (G_TEST_DIST, "..", "..", "docs", "OPS.md", NULL);
  g_autofree char *text = ir_ops_markdown ();
  g_autofree char *file = NULL;
  g_file_get_contents (path, &file, NULL, &error);
  g_assert_no_error (error);
  if (g_strcmp0 (text, file) != 0)
    g_error ("docs/OPS.md is not current: run build/irscope ops --markdown > docs/OPS.md");
}

/* -- random applications -- */

static const IrDtype dtypes[] = { IR_DTYPE_FLOAT,    IR_DTYPE_FLOAT,    IR_DTYPE_FLOAT,
                                  IR_DTYPE_INT64,    IR_DTYPE_INT64,    IR_DTYPE_INT32,
                                  IR_DTYPE_DOUBLE,   IR_DTYPE_FLOAT16,  IR_DTYPE_UINT8,
                                  IR_DTYPE_BOOL,     IR_DTYPE_UINT64,   IR_DTYPE_INT8,
                                  IR_DTYPE_BFLOAT16, IR_DTYPE_INT4,     IR_DTYPE_STRING,
                                  IR_DTYPE_UINT32,   IR_DTYPE_COMPLEX64 };

static IrTensor *
random_strings (guint rank, const gint64 *dims, guint64 n)
{
  g_autoptr (GPtrArray) strings = g_ptr_array_new_with_free_func ((GDestroyNotify) g_bytes_unref);
  for (guint64 i = 0; i < n; i++)
    g_ptr_array_add (strings, g_bytes_new ("12.5", 4));
  return ir_tensor_new_strings (rank, dims, (GBytes **) (gpointer) strings->pdata);
}

/* Mostly small numbers, so that shapes, axes and indices are often right. */
static double
random_number (GRand *rand)
{
  static const double odd[] = { (double) G_MAXINT64, (double) G_MININT64, 1e30, -1e30,
                                G_MAXINT32,          G_MININT32 };
  int what = g_rand_int_range (rand, 0, 40);
  if (what == 0)
    return odd[g_rand_int_range (rand, 0, G_N_ELEMENTS (odd))];
  return what < 30 ? g_rand_int_range (rand, -2, 5) : g_rand_double_range (rand, -3, 3);
}

static IrTensor *
random_tensor (GRand *rand, IrDtype dtype, guint rank, const gint64 *dims)
{
  guint64 n = 1;
  for (guint i = 0; i < rank; i++)
    n *= (guint64) dims[i];
  if (dtype == IR_DTYPE_STRING)
    return random_strings (rank, dims, n);
  IrTensor *tensor = ir_tensor_new_alloc (dtype, rank, dims, NULL);
  for (guint64 i = 0; i < n; i++)
    ir_dtype_set_double (dtype, ir_tensor_data_writable (tensor), i, random_number (rand));
  return tensor;
}

static IrTensor *
random_input (GRand *rand, const IrTensor *model)
{
  gint64 dims[5];
  IrDtype dtype = dtypes[g_rand_int_range (rand, 0, G_N_ELEMENTS (dtypes))];
  guint rank = (guint) g_rand_int_range (rand, 0, 5);
  for (guint i = 0; i < G_N_ELEMENTS (dims); i++)
    dims[i] = g_rand_int_range (rand, 0, 16) == 0 ? 0 : g_rand_int_range (rand, 1, 4);
  /* Operators with several inputs mostly need the same type, and shapes that have to do with each
   * other. */
  if (model != NULL && g_rand_int_range (rand, 0, 3) != 0)
    dtype = ir_tensor_dtype (model);
  if (model != NULL && g_rand_int_range (rand, 0, 3) == 0)
    {
      rank = ir_tensor_rank (model);
      memcpy (dims, ir_tensor_dims (model), rank * sizeof *dims);
    }
  else if (model != NULL && g_rand_int_range (rand, 0, 2) == 0)
    {
      dtype = IR_DTYPE_INT64;
      rank = (guint) g_rand_int_range (rand, 0, 2);
    }
  return random_tensor (rand, dtype, rank, dims);
}

/* Channels of shaped trials: inputs and filters have as many, so that operators fit together. */
#define CHANNELS 3

static gboolean
wants_images (const IrOp *op)
{
  return op->family == IR_FAMILY_LINEAR || op->family == IR_FAMILY_POOL ||
         op->family == IR_FAMILY_NORM || op->family == IR_FAMILY_FUSED;
}

/* An input that convolutions, pooling and normalization can use: an image, a filter, a vector. */
static IrTensor *
shaped_input (GRand *rand, const IrOp *op, guint slot, const IrTensor *image)
{
  gint64 side = g_rand_int_range (rand, 1, 4);
  gint64 vector[1] = { CHANNELS }, filter[4] = { CHANNELS, CHANNELS, side, side };
  gint64 dims[4] = { g_rand_int_range (rand, 1, 3), CHANNELS, g_rand_int_range (rand, 3, 6), 4 };
  gint64 matrix[2] = { CHANNELS, CHANNELS };
  g_autofree char *name = ir_op_input_name (op, slot);
  gboolean flat = strstr (op->name, "Gemm") != NULL || strstr (op->name, "MatMul") != NULL;
  if (slot == 0)
    return random_tensor (rand, IR_DTYPE_FLOAT, flat ? 2 : 4, flat ? matrix : dims);
  if (flat && slot == 1)
    return random_tensor (rand, IR_DTYPE_FLOAT, 2, matrix);
  if (g_str_equal (name, "min") || g_str_equal (name, "max"))
    return random_tensor (rand, IR_DTYPE_FLOAT, 0, NULL);
  if (g_str_equal (name, "W"))
    return random_tensor (rand, IR_DTYPE_FLOAT, 4, filter);
  if (g_rand_int_range (rand, 0, 3) == 0)
    return random_tensor (rand, IR_DTYPE_FLOAT, ir_tensor_rank (image), ir_tensor_dims (image));
  return random_tensor (rand, IR_DTYPE_FLOAT, 1, vector);
}

static const IrAttr *
random_attr (GRand *rand, IrContext *context, const IrAttrSpec *spec, gboolean shaped)
{
  static const char *const words[] = { "constant", "edge",    "reflect",    "wrap",       "CRD",
                                       "DCR",      "LEFT",    "RIGHT",      "tanh",       "none",
                                       "add",      "max",     "SAME_UPPER", "SAME_LOWER", "VALID",
                                       "NOTSET",   "nonsense" };
  gint64 ints[6];
  float floats[3] = { 0.5f, -1, 2 };
  guint n = (guint) g_rand_int_range (rand, 0, 5);
  for (guint i = 0; i < G_N_ELEMENTS (ints); i++)
    ints[i] = g_rand_int_range (rand, 0, 60) == 0 ? (gint64) random_number (rand)
                                                  : g_rand_int_range (rand, -2, 4);
  if (shaped && g_rand_int_range (rand, 0, 4) != 0)
    {
      n = g_str_equal (spec->name, "pads") ? 4 : 2; /* two axes of space */
      for (guint i = 0; i < G_N_ELEMENTS (ints); i++)
        ints[i] = g_rand_int_range (rand, 1, 3);
    }
  const char *word = words[g_rand_int_range (rand, 0, G_N_ELEMENTS (words))];
  g_autoptr (IrTensor) tensor = NULL;
  if (spec->kind == IR_ATTR_INT)
    return ir_attr_int (context, spec->name, ints[0]);
  if (spec->kind == IR_ATTR_INTS)
    return ir_attr_ints (context, spec->name, ints, n);
  if (spec->kind == IR_ATTR_FLOAT)
    return ir_attr_float (context, spec->name, (float) random_number (rand));
  if (spec->kind == IR_ATTR_FLOATS)
    return ir_attr_floats (context, spec->name, floats, MIN (n, 3));
  if (spec->kind == IR_ATTR_STRING)
    return ir_attr_string (context, spec->name, word, -1);
  if (spec->kind == IR_ATTR_TENSOR)
    {
      gint64 one = 1;
      tensor = random_tensor (rand, dtypes[g_rand_int_range (rand, 0, G_N_ELEMENTS (dtypes))], 1,
                              &one);
      return ir_attr_tensor (context, spec->name, tensor);
    }
  return NULL;
}

/* -- recipes: inputs that fit, for operators that random ones hardly ever suit -- */

/* A map from 0, 1, ... to random numbers. */
static IrTensor *
recipe_map (GRand *rand, gint64 n)
{
  g_autoptr (IrTensor) keys = ir_tensor_new_alloc (IR_DTYPE_INT64, 1, &n, NULL);
  g_autoptr (IrTensor) values = random_tensor (rand, IR_DTYPE_FLOAT, 1, &n);
  for (gint64 i = 0; i < n; i++)
    ((gint64 *) ir_tensor_data_writable (keys))[i] = i;
  return ir_tensor_new_map (keys, values);
}

static IrTensor *
recipe_input (GRand *rand, const char *text)
{
  if (text[0] == 'm')
    return recipe_map (rand, g_ascii_strtoll (text + 1, NULL, 10));
  if (text[0] == 'q' || text[0] == 'o')
    {
      g_autoptr (IrTensor) item = recipe_input (rand, text + 1);
      return text[0] == 'q' ? ir_tensor_new_sequence (NULL, (IrTensor *[]){ item, item }, 2)
                            : ir_tensor_new_optional (NULL, item);
    }
  static const char letters[] = "fdijubs";
  static const IrDtype types[] = { IR_DTYPE_FLOAT, IR_DTYPE_DOUBLE, IR_DTYPE_INT64, IR_DTYPE_INT32,
                                   IR_DTYPE_UINT8, IR_DTYPE_BOOL,   IR_DTYPE_STRING };
  const char *letter = strchr (letters, text[0]);
  gint64 dims[IR_MAX_RANK];
  guint rank = 0;
  g_assert_nonnull (letter);
  char *rest = (char *) text + 1;
  while (g_ascii_isdigit (*rest))
    {
      dims[rank++] = g_ascii_strtoll (rest, &rest, 10);
      rest += *rest == 'x';
    }
  IrDtype dtype = types[letter - letters];
  if (*rest != '<')
    return random_tensor (rand, dtype, rank, dims);
  gint32 end = (gint32) g_ascii_strtoll (rest + 1, NULL, 10);
  IrTensor *tensor = ir_tensor_new_alloc (dtype, rank, dims, NULL);
  for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
    ir_dtype_set_double (dtype, ir_tensor_data_writable (tensor), i,
                         g_rand_int_range (rand, 0, end));
  return tensor;
}

/* A recipe for the operator, or -1; mostly, where there is one. */
static int
choose_recipe (GRand *rand, const IrOp *op)
{
  int found[G_N_ELEMENTS (recipes)];
  guint n = 0;
  for (guint i = 0; i < G_N_ELEMENTS (recipes); i++)
    if (g_str_equal (recipes[i].op, op->name))
      found[n++] = (int) i;
  if (n == 0 || g_rand_int_range (rand, 0, 3) == 0)
    return -1;
  return found[g_rand_int_range (rand, 0, (int) n)];
}

#define MAX_INPUTS 24

typedef struct
{
  IrModel *model;
  IrEdit *edit;
  IrNode *node;
  guint n;
  IrTensor *tensors[MAX_INPUTS]; /* entries nullable */
} Trial;

static void
trial_clear (Trial *trial)
{
  for (guint i = 0; i < trial->n; i++)
    g_clear_pointer (&trial->tensors[i], ir_tensor_unref);
  g_clear_pointer (&trial->edit, ir_edit_free);
  g_clear_pointer (&trial->model, ir_model_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Trial, trial_clear)

/* A type that says less than @type. */
static const IrType *
blurred (GRand *rand, IrContext *context, const IrType *type)
{
  IrDim dims[IR_MAX_RANK];
  if (!ir_type_is_tensor (type))
    return type;
  if (g_rand_int_range (rand, 0, 6) == 0)
    return ir_type_tensor (context, type->dtype, IR_RANK_UNKNOWN, NULL);
  for (int i = 0; i < type->rank; i++)
    switch (g_rand_int_range (rand, 0, 4))
      {
      case 0:
        dims[i] = IR_DIM_UNKNOWN;
        break;
      case 1: /* one symbol per size, so that it holds */
        {
          g_autofree char *name = g_strdup_printf ("n%d", (int) type->dims[i]);
          dims[i] = ir_dim_symbol (context, name);
        }
        break;
      default:
        dims[i] = type->dims[i];
      }
  return ir_type_tensor (context, type->dtype, type->rank, dims);
}

static void
set_recipe_attrs (Trial *trial, const IrOp *op, const char *text)
{
  g_auto (GStrv) attrs = g_strsplit (text, " ", -1);
  for (guint i = 0; attrs[i] != NULL && *attrs[i] != '\0'; i++)
    {
      g_auto (GStrv) pair = g_strsplit (attrs[i], "=", 2);
      const IrAttrSpec *spec = ir_op_attr (op, pair[0]);
      if (spec == NULL) /* an operator of the same name in another domain */
        continue;
      ir_edit_set_attr (trial->edit, trial->node,
                        recipe_attr (trial->model->context, spec, pair[1]));
    }
}

/* One node of @op with random attributes on random inputs. Types are exact or say less; contents
 * are constants for some of the inputs. */
static void
trial_init (Trial *trial, GRand *rand, const IrOp *op)
{
  IrValue *values[MAX_INPUTS] = { NULL }, *given[MAX_INPUTS];
  guint n_given = 0;

  memset (trial, 0, sizeof *trial);
  trial->model = ir_model_new ();
  trial->edit = ir_edit_new_import (trial->model);
  IrContext *context = trial->model->context;
  gint64 opset = g_rand_int_range (rand, 0, 4) == 0 ? g_rand_int_range (rand, 1, 21) : 21;
  ir_edit_set_opset (trial->edit, "", opset);
  if (op->domain != NULL)
    ir_edit_set_opset (trial->edit, op->domain, 1);
  int most = op->in.max < 0 ? op->in.min + 2 : op->in.max;
  trial->n = (guint) g_rand_int_range (rand, op->in.min, MIN (most, MAX_INPUTS - 1) + 1);
  if (g_rand_int_range (rand, 0, 30) == 0)
    trial->n = (guint) g_rand_int_range (rand, 0, MAX_INPUTS);
  int recipe = choose_recipe (rand, op);
  g_auto (GStrv) inputs = recipe >= 0 ? g_strsplit (recipes[recipe].inputs, " ", -1) : NULL;
  if (recipe >= 0)
    trial->n = g_strv_length (inputs);
  gboolean exact = g_rand_boolean (rand);
  gboolean shaped = wants_images (op) && g_rand_boolean (rand);
  for (guint i = 0; i < trial->n; i++)
    {
      g_autofree char *name = g_strdup_printf ("x%u", i);
      if (recipe >= 0 ? inputs[i][0] == '-' : i > 0 && g_rand_int_range (rand, 0, 12) == 0)
        continue;
      const IrTensor *before = i > 0 ? trial->tensors[0] : NULL;
      trial->tensors[i] = recipe >= 0 ? recipe_input (rand, inputs[i])
                          : shaped    ? shaped_input (rand, op, i, before)
                                      : random_input (rand, before);
      const IrType *type = ir_tensor_type (trial->tensors[i], context);
      values[i] = ir_edit_add_value (trial->edit, trial->model->main, name,
                                     exact ? type : blurred (rand, context, type));
      if (i > 0 && g_rand_int_range (rand, 0, 3) != 0)
        ir_edit_set_initializer (trial->edit, values[i], trial->tensors[i]);
      else
        given[n_given++] = values[i];
    }
  ir_edit_set_graph_inputs (trial->edit, trial->model->main, given, n_given);
  guint n_outputs = op->out.max < 0 ? (guint) g_rand_int_range (rand, 1, 4) : (guint) op->out.max;
  trial->node = ir_edit_add_node (trial->edit, trial->model->main, op->name, op->domain, "node",
                                  trial->n, values, n_outputs);
  if (recipe >= 0)
    set_recipe_attrs (trial, op, recipes[recipe].attrs);
  for (const IrAttrSpec *spec = op->attrs; spec != NULL && spec->name != NULL; spec++)
    if (recipe >= 0
            ? ir_node_attr (trial->node, spec->name) == NULL && g_rand_int_range (rand, 0, 12) == 0
        : spec->required ? g_rand_int_range (rand, 0, 20) != 0
                         : g_rand_int_range (rand, 0, 12) < (shaped ? 2 : 6))
      {
        const IrAttr *attr = random_attr (rand, context, spec, shaped);
        if (attr != NULL)
          ir_edit_set_attr (trial->edit, trial->node, attr);
      }
}

/* Whether the kernel ran; what inference said must hold for what came out. */
static gboolean
trial_run (Trial *trial, guint seed)
{
  const IrTensor *inputs[MAX_INPUTS] = { NULL };
  IrTensor *outputs[8] = { NULL };
  g_autoptr (GError) error = NULL;
  IrContext *context = trial->model->context;
  const IrNode *node = trial->node;
  for (guint i = 0; i < trial->n; i++)
    inputs[i] = trial->tensors[i];
  ir_infer_model (trial->edit, IR_INFER_DEFAULT, NULL);
  ir_cost_node_flops (node, NULL);
  ir_cost_node_bytes (node, NULL);
  if (!ir_eval_node (node, inputs, outputs, ir_backend_find ("ref"), 1 << 20, &error))
    {
      g_assert_nonnull (error);
      if (g_test_verbose ())
        g_test_message ("%s", error->message);
      return FALSE;
    }
  for (guint i = 0; i < node->n_outputs; i++)
    {
      g_autoptr (IrTensor) tensor = outputs[i];
      if (tensor == NULL)
        continue; /* an optional output that the kernel does not compute */
      const IrType *inferred = node->outputs[i]->type;
      const IrType *actual = ir_tensor_type (tensor, context);
      if (inferred == NULL || ir_type_merge (context, inferred, actual) != NULL)
        continue;
      g_autofree char *said = ir_type_to_string (context, inferred);
      g_autofree char *is = ir_type_to_string (context, actual);
      g_error ("%s (trial %u): output %u was inferred as %s and is %s", node->op_type, seed, i,
               said, is);
    }
  return TRUE;
}

static void
test_random_calls (gconstpointer data)
{
  const IrOp *op = data;
  guint n_ran = 0;
  for (guint seed = 0; seed < 600; seed++)
    {
      g_autoptr (GRand) rand = g_rand_new_with_seed (seed * 1000 + op->id);
      g_auto (Trial) trial = { 0 };
      trial_init (&trial, rand, op);
      n_ran += trial_run (&trial, seed);
    }
  g_test_message ("%u of 600 ran", n_ran);
  g_assert_cmpuint (n_ran, >, 0); /* else the trials say nothing about the kernel */
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/table/every row is complete", test_rows_complete);
  g_test_add_func ("/table/every row is found by its name and domain", test_rows_found);
  g_test_add_func ("/table/slots have names", test_names_of_slots);
  g_test_add_func ("/table/the documentation holds every row", test_markdown);
  g_test_add_func ("/table/docs OPS.md is current", test_docs_current);
  for (guint id = 1; id < ir_op_n (); id++)
    {
      const IrOp *op = ir_op_by_id ((IrOpId) id);
      g_autofree char *path = g_strdup_printf ("/table/random calls/%s%s%s",
                                               op->domain != NULL ? op->domain : "",
                                               op->domain != NULL ? "." : "", op->name);
      /* A Gradient is replaced together with its graph and does not run by itself; closures need functions of
       * the model: tests/flow/test-closures.c. */
      if (ir_ref_kernel (op) != NULL && op->id != IR_OP_GRADIENT &&
          g_strcmp0 (op->domain, "irscope.closure") != 0)
        g_test_add_data_func (path, op, test_random_calls);
    }
  return g_test_run ();
}
