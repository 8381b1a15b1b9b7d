/* Function bodies of the standard as oracles: each row that has both a kernel and a body runs twice
 * on random inputs and attributes, once as it is and once with its body in its place, which must
 * agree within what rounding after each step of the body can make. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "core/exec/kernel/backend.h"
#include "core/op/infer.h"
#include "tests/exec/graphs.h"

#define N_CASES 24 /* per operator */

typedef struct
{
  const char *op;     /* NULL: any other */
  const char *inputs; /* types, separated by spaces; DIMS: one random shape for all, T: its type */
  const char *attrs;  /* NAME:LOW..HIGH, whole numbers unless one has a point */
} Recipe;

static const Recipe recipes[] = {
  { "PRelu", "T[DIMS] T[]", "" },
  { "GreaterOrEqual", "T[DIMS] T[DIMS]", "" },
  { "LessOrEqual", "T[DIMS] T[1]", "" },
  { "SwiGLU", "T[DIMS] T[DIMS]", "alpha:0.1..2.0" },
  { "Shrink", "T[DIMS]", "lambd:0.1..0.9 bias:-0.5..0.5" },
  { "HardSigmoid", "T[DIMS]", "alpha:0.1..0.9 beta:0.1..0.9" },
  { "Selu", "T[DIMS]", "alpha:0.5..2.0 gamma:0.5..2.0" },
  { "ReduceL1", "T[2,5,3] axes", "keepdims:0..1" },
  { "ReduceL2", "T[3,4,2] axes", "keepdims:0..1" },
  { "ReduceLogSum", "+T[2,5,3] axes", "keepdims:0..1" },
  { "ReduceLogSumExp", "T[4,1,3] axes", "keepdims:0..1" },
  { "ReduceSumSquare", "T[2,5,3] axes", "keepdims:0..1" },
  { "MeanVarianceNormalization", "T[3,2,4,5]", "" },
  { "Softmax", "T[3,5,2]", "axis:-3..2" },
  { "LogSoftmax", "T[3,5,2]", "axis:-3..2" },
  { "HannWindow", "size", "periodic:0..1" },
  { "HammingWindow", "size", "periodic:0..1" },
  { "BlackmanWindow", "size", "periodic:0..1" },
  { "DynamicQuantizeLinear", "float[4,7]", "" },
  { "LayerNormalization", "T[2,3,5] T[5] T[5]", "epsilon:0.01..0.1" },
  { "RMSNormalization", "T[2,3,5] T[5]", "axis:-2..2 epsilon:0.01..0.1" },
  { "Clip", "T[DIMS] T[] T[]", "" },
  { NULL, "T[DIMS]", "alpha:0.2..2.0" },
};

static const Recipe *
recipe_of (const IrOp *op)
{
  const Recipe *recipe = recipes;

  while (recipe->op != NULL && strcmp (recipe->op, op->name) != 0)
    recipe++;
  return recipe;
}

/* -- one random model -- */

typedef struct
{
  Builder b;
  GRand *rand;
  GHashTable *inputs;
  IrNode *node;
} Case;

static char *
random_dims (GRand *rand)
{
  GString *dims = g_string_new (NULL);
  gint rank = g_rand_int_range (rand, 0, 4);

  for (gint i = 0; i < rank; i++)
    g_string_append_printf (dims, "%s%d", i > 0 ? "," : "", g_rand_int_range (rand, 1, 6));
  return g_string_free (dims, FALSE);
}

/* In [-3, 3]; positive where the recipe says "+". */
static IrTensor *
random_reals (GRand *rand, const char *type, gboolean positive)
{
  IrTensor *tensor = tensor_of (type, "0");

  for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
    ir_dtype_set_double (ir_tensor_dtype (tensor), ir_tensor_data_writable (tensor), i,
                         g_rand_double_range (rand, positive ? 0.1 : -3, 3));
  return tensor;
}

static IrTensor *
random_axes (GRand *rand)
{
  static const char *const lists[] = { "0", "-1", "1", "0 2", "1 -1", "0 1 2" };
  const char *list = lists[g_rand_int_range (rand, 0, G_N_ELEMENTS (lists))];
  g_autofree char *type = g_strdup_printf ("int64[%d]", (int) (1 + strlen (list)) / 2);

  if (strchr (list, '-') != NULL)
    return tensor_of (strlen (list) == 2 ? "int64[1]" : "int64[2]", list);
  return tensor_of (type, list);
}

static IrTensor *
random_input (Case *c, const char *word, const char *dtype, const char *dims)
{
  g_autoptr (GString) type = g_string_new (word);

  if (strcmp (word, "axes") == 0)
    return random_axes (c->rand);
  if (strcmp (word, "size") == 0)
    {
      g_autofree char *size = g_strdup_printf ("%d", g_rand_int_range (c->rand, 2, 30));
      return tensor_of ("int64[]", size);
    }
  gboolean positive = word[0] == '+';
  if (positive)
    g_string_erase (type, 0, 1);
  g_string_replace (type, "DIMS", dims, 0);
  if (type->str[0] == 'T')
    {
      g_string_erase (type, 0, 1);
      g_string_prepend (type, dtype);
    }
  return random_reals (c->rand, type->str, positive);
}

/* Half of the attributes are left to their defaults. */
static void
random_attrs (Case *c, const IrOp *op, const char *attrs)
{
  g_auto (GStrv) words = g_strsplit (attrs, " ", -1);

  for (guint i = 0; words[i] != NULL && words[i][0] != '\0'; i++)
    {
      g_auto (GStrv) parts = g_strsplit (words[i], ":", 2);
      g_auto (GStrv) range = g_strsplit (parts[1], "..", 2);
      if (ir_op_attr (op, parts[0]) == NULL || g_rand_boolean (c->rand))
        continue;
      if (strchr (range[0], '.') != NULL)
        build_float (&c->b, c->node, parts[0],
                     (float) g_rand_double_range (c->rand, g_ascii_strtod (range[0], NULL),
                                                  g_ascii_strtod (range[1], NULL)));
      else
        build_int (&c->b, c->node, parts[0],
                   g_rand_int_range (c->rand, atoi (range[0]), atoi (range[1]) + 1));
    }
}

static void
case_init (Case *c, const IrOp *op, guint number)
{
  static const char *const dtypes[] = { "float", "double", "float", "float16" };
  const Recipe *recipe = recipe_of (op);
  g_auto (GStrv) words = g_strsplit (recipe->inputs, " ", -1);
  guint n = g_strv_length (words);
  IrValue *inputs[4] = { NULL };

  g_assert_cmpuint (n, <=, G_N_ELEMENTS (inputs));
  c->rand = g_rand_new_with_seed (number + g_str_hash (op->name));
  c->inputs = inputs_new ();
  builder_init (&c->b, 28);
  g_autofree char *dims = random_dims (c->rand);
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *name = g_strdup_printf ("x%u", i);
      IrTensor *tensor = random_input (c, words[i], dtypes[number % G_N_ELEMENTS (dtypes)], dims);
      g_autofree char *type = ir_type_to_string (c->b.model->context,
                                                 ir_tensor_type (tensor, c->b.model->context));
      inputs[i] = build_input (&c->b, name, type);
      inputs_add (c->inputs, inputs[i], tensor);
    }
  c->node = ir_edit_add_node (c->b.edit, c->b.model->main, op->name, op->domain, NULL, n, inputs,
                              (guint) op->out.min);
  g_assert_true (c->node->op == op);
  random_attrs (c, op, recipe->attrs);
  for (guint i = 0; i < c->node->n_outputs; i++)
    build_output (&c->b, c->node->outputs[i]);
  build_done (&c->b);
}

static void
case_clear (Case *c)
{
  g_rand_free (c->rand);
  g_hash_table_unref (c->inputs);
  builder_clear (&c->b);
}

/* -- both ways -- */

static IrModel *
with_body (IrModel *model, const IrOp *op)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  IrModel *copy = ir_model_clone (model);
  g_autoptr (IrEdit) edit = ir_edit_new_import (copy);

  ir_exec_expand_bodies (edit, op, problems, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < problems->len; i++)
    g_test_message ("%s", ((IrProblem *) g_ptr_array_index (problems, i))->message);
  g_assert_cmpuint (problems->len, ==, 0);
  ir_infer_model (edit, IR_INFER_DEFAULT, NULL);
  for (guint i = 1; i < copy->nodes->len; i++)
    {
      const IrNode *node = g_ptr_array_index (copy->nodes, i);
      g_assert_false (node->state == IR_STATE_LIVE && node->graph == copy->main && node->op == op);
    }
  return copy;
}

static IrRun *
run (IrModel *model, GHashTable *inputs)
{
  g_autoptr (GError) error = NULL;
  IrRunOptions options = { .backend = ir_backend_find ("ref"), .n_threads = 1 };
  IrRun *result = ir_model_run (model, inputs, &options, NULL, &error);

  g_assert_no_error (error);
  return result;
}

/* Each step of a body rounds: a few units in the last place of what it computes with. */
static double
tolerance (const IrOp *op, IrDtype dtype, double wanted)
{
  double unit = dtype == IR_DTYPE_FLOAT16 ? 0x1p-10 : 0x1p-23;

  if (!ir_dtype_is_float (dtype))
    return op->tol.atol;
  return (op->tol.rtol + 8 * unit) * fabs (wanted) + op->tol.atol + 24 * unit;
}

static void
test_op (gconstpointer data)
{
  const IrOp *op = data;

  for (guint number = 0; number < N_CASES; number++)
    {
      Case c;
      case_init (&c, op, number);
      g_autoptr (IrModel) expanded = with_body (c.b.model, op);
      g_autoptr (IrRun) kernel = run (c.b.model, c.inputs);
      g_autoptr (IrRun) body = run (expanded, c.inputs);
      for (guint k = 0; k < c.node->n_outputs; k++)
        {
          const IrTensor *found = ir_run_value (kernel, c.node->outputs[k]->id);
          const IrTensor *wanted = ir_run_value (body, c.node->outputs[k]->id);
          g_assert_true (ir_tensor_type (found, c.b.model->context) ==
                         ir_tensor_type (wanted, c.b.model->context));
          for (guint64 i = 0; i < ir_tensor_n_elements (found); i++)
            {
              double a = ir_tensor_get_double (found, i), b = ir_tensor_get_double (wanted, i);
              if (a == b || (isnan (a) && isnan (b)) ||
                  fabs (a - b) <= tolerance (op, ir_tensor_dtype (found), b))
                continue;
              g_test_message ("case %u: element %u of output %u is %.9g, by the body %.9g", number,
                              (guint) i, k, a, b);
              g_test_fail ();
            }
        }
      case_clear (&c);
    }
}

int
main (int argc, char **argv)
{
  guint n = 0;

  g_test_init (&argc, &argv, NULL);
  for (guint id = 1; id < ir_op_n (); id++)
    {
      const IrOp *op = ir_op_by_id ((IrOpId) id);
      if (op->body == NULL || ir_ref_kernel (op) == NULL || op->domain != NULL)
        continue;
      g_autofree char *path = g_strdup_printf ("/bodies/%s does what its function body says",
                                               op->name);
      g_test_add_data_func (path, op, test_op);
      n++;
    }
  g_assert_cmpuint (n, >, 0);
  return g_test_run ();
}
