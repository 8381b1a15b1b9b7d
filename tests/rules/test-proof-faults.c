/* Mistakes of the size that a wrong rewrite makes are broken, whatever the sums of the cone: a
 * weight off by a thousandth, a bias, an epsilon, a term that is missing. And what only rounds is
 * not, even where every addition rounds the same way. */
#include "config.h"

#include "tests/rules/pass-test.h"

#include <math.h>
#include <string.h>

#define N_MISTAKES 240

/* K and M are numbers of channels, L that of terms: nine for each channel, as where K channels are
 * convolved. Upper-case names are constants. */
static const char *const texts[] = {
  "(float[2,%K%,6,5] x, float[%M%,%K%,3,3] W, float[%M%] B) => (float[2,%M%,4,3] y) "
  "{ y = Conv (x, W, B) }",
  "(float[2,%K%,6,5] x, float[%M%,%K%,3,3] W, float[%M%] B, float[2,%M%,4,3] z) => "
  "(float[2,%M%,4,3] y) { c = Conv (x, W, B)  s = Add (c, z)  y = Relu (s) }",
  "(float[4,%L%] x, float[%L%,%M%] W, float[%M%] B) => (float[4,%M%] y) { y = Gemm (x, W, B) }",
  "(float[4,%L%] x, float[%L%,%M%] W, float[%M%] B) => (float[4,%M%] y) "
  "{ m = MatMul (x, W)  a = Add (m, B)  y = Sigmoid (a) }",
  "(float[2,%K%,5,5] x, float[%K%] S, float[%K%] T, float[%K%] M, float[%K%] V) => "
  "(float[2,%K%,5,5] y) { y = BatchNormalization <epsilon = 0.00001> (x, S, T, M, V) }",
  "(float[3,%K%] x, float[%K%] S, float[%K%] B) => (float[3,%K%] y) "
  "{ y = LayerNormalization <epsilon = 0.00001> (x, S, B) }",
  "(float[3,%L%] x, float[%L%,%M%] W, float[%M%] B) => (float[3,%M%] y) "
  "{ r = Relu (x)  m = MatMul (r, W)  a = Add (B, m)  y = Softmax (a) }",
};

static IrModel *
random_model (GRand *rand)
{
  static const guint channels[] = { 3, 8, 32, 96, 256 };
  g_autoptr (GString) text = g_string_new (texts[g_rand_int_range (rand, 0, G_N_ELEMENTS (texts))]);
  guint n_channels = channels[g_rand_int_range (rand, 0, G_N_ELEMENTS (channels))];
  g_autofree char *k = g_strdup_printf ("%u", n_channels);
  g_autofree char *l = g_strdup_printf ("%u", 9 * n_channels);
  g_autofree char *m = g_strdup_printf ("%u", (guint) g_rand_int_range (rand, 2, 9));
  IrModel *model;

  g_string_replace (text, "%K%", k, 0);
  g_string_replace (text, "%L%", l, 0);
  g_string_replace (text, "%M%", m, 0);
  model = test_model (text->str);
  test_model_randomize (model, rand);
  return model;
}

/* -- mistakes -- */

/* Input @slot of @node becomes one with a mistake: all elements times 1.001, or @one of them moved
 * by a thousandth of the largest. */
static gboolean
spoil (IrEdit *edit, IrModel *model, IrNode *node, guint slot, gboolean one, GRand *rand)
{
  const IrValue *value = slot < node->n_inputs ? node->inputs[slot] : NULL;
  const IrTensor *tensor = value != NULL ? ir_value_constant (value) : NULL;
  guint64 n = tensor != NULL ? ir_tensor_n_elements (tensor) : 0, at;
  g_autoptr (IrTensor) spoiled = NULL;
  double largest = 0;
  float *data;

  if (n == 0)
    return FALSE;
  spoiled = ir_tensor_new_alloc (IR_DTYPE_FLOAT, ir_tensor_rank (tensor), ir_tensor_dims (tensor),
                                 NULL);
  data = ir_tensor_data_writable (spoiled);
  for (guint64 i = 0; i < n; i++)
    {
      data[i] = (float) (ir_tensor_get_double (tensor, i) * (one ? 1 : 1.001));
      largest = MAX (largest, fabs (data[i]));
    }
  at = (guint64) g_rand_int_range (rand, 0, (gint32) n);
  if (one)
    data[at] += (float) (largest * 0.1);
  ir_edit_set_input (edit, node, slot,
                     ir_edit_add_initializer (edit, model->main, "spoiled", spoiled));
  return TRUE;
}

static gboolean
is_missing (IrEdit *edit, IrModel *model, IrNode *node)
{
  if (ir_node_is (node, "Add"))
    {
      g_autoptr (IrTensor) zero = ir_tensor_new_scalar (IR_DTYPE_FLOAT, 0);
      guint slot = ir_value_constant (node->inputs[1]) != NULL ? 1 : 0;

      ir_edit_set_input (edit, node, slot,
                         ir_edit_add_initializer (edit, model->main, "zero", zero));
      return TRUE;
    }
  if (node->n_inputs != 3)
    return FALSE;
  ir_edit_set_n_inputs (edit, node, 2);
  return TRUE;
}

static gboolean
is_epsilon (IrEdit *edit, IrModel *model, IrNode *node)
{
  if (ir_node_attr (node, "epsilon") == NULL)
    return FALSE;
  ir_edit_set_attr (edit, node, ir_attr_float (model->context, "epsilon", 1e-3F));
  return TRUE;
}

/* FALSE: @node has nothing of the kind. */
static gboolean
make_mistake (IrEdit *edit, IrModel *model, IrNode *node, guint kind, GRand *rand)
{
  gboolean is_norm = ir_node_attr (node, "epsilon") != NULL;

  if (kind == 0)
    return spoil (edit, model, node, 1, FALSE, rand); /* all weights */
  if (kind == 1)                                      /* a bias, or a factor of a channel */
    return spoil (edit, model, node, node->n_inputs - 1, TRUE, rand) ||
           spoil (edit, model, node, 0, TRUE, rand);
  if (kind == 2)
    return is_epsilon (edit, model, node);
  return !is_norm && is_missing (edit, model, node);
}

static void
prove_step (IrModel *model, GRand *rand, const char *backend, IrProof *proof)
{
  g_autoptr (GHashTable) inputs = test_inputs (model, rand, FALSE);
  g_autoptr (GError) error = NULL;
  g_autoptr (IrProver) prover = ir_prover_new_with (model, inputs, ir_backend_find (backend),
                                                    &(IrProverOptions){ 1, { 0 } }, NULL, &error);

  g_assert_no_error (error);
  g_assert_true (ir_prover_prove_step (prover, 1, proof, &error));
  g_assert_no_error (error);
}

/* FALSE: nothing in this model can be wrong in this way. */
static gboolean
plant (GRand *rand, guint kind, IrProof *proof, char **where)
{
  g_autoptr (IrModel) model = random_model (rand);
  guint n, first;
  IrNode *const *order = ir_graph_order (model->main, &n);
  IrEdit *edit = ir_edit_new (model);
  gboolean made = FALSE;

  first = (guint) g_rand_int_range (rand, 0, (gint32) n);
  for (guint i = 0; i < n && !made; i++)
    {
      IrNode *node = order[(first + i) % n];

      ir_edit_begin_step (edit, "mistake", IR_CLASS_ROUNDING, node->id);
      made = make_mistake (edit, model, node, kind, rand);
      if (made)
        {
          ir_edit_end_step (edit);
          *where = g_strdup_printf ("mistake %u in %s", kind, node->op_type);
        }
      else
        ir_edit_abort_step (edit);
    }
  ir_edit_free (edit);
  if (made)
    prove_step (model, rand, g_rand_boolean (rand) ? "cpu" : "ref", proof);
  return made;
}

static void
test_mistakes (void)
{
  guint n_planted = 0;

  for (guint seed = 1; n_planted < N_MISTAKES; seed++)
    {
      g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
      g_autofree char *where = NULL;
      IrProof proof;

      /* A weight of what Relu made 0 changes no bit. */
      if (!plant (rand, seed % 4, &proof, &where) || proof.verdict == IR_VERDICT_EXACT)
        continue;
      n_planted++;
      g_test_message ("seed %u, %s: %s: max abs %g, bound %g", seed, where,
                      ir_verdict_name (proof.verdict), proof.max_abs, proof.bound);
      g_assert_cmpint (proof.verdict, ==, IR_VERDICT_BROKEN);
    }
}

/* -- one term of a sum -- */

#define N_TERM_TRIALS 12

/* What is done to one weight of a row of @terms: its smallest that is found for sure is one of the
 * mean size. */
typedef struct
{
  const char *name;
  guint terms;
  double factor; /* the weight becomes this much of itself */
} TermFault;

static const TermFault term_faults[] = {
  { "/proof-faults/a weight off by a thousandth among 9 terms is broken", 9, 1.001 },
  { "/proof-faults/a weight off by a thousandth among 64 terms is broken", 64, 1.001 },
  { "/proof-faults/a weight off by a hundredth among 576 terms is broken", 576, 1.01 },
  { "/proof-faults/a term that is missing among 576 is broken", 576, 0 },
  { "/proof-faults/a term that is missing among 13500 is broken", 13500, 0 },
};

/* The first weight of row 0 that is of the mean size of a normal distribution, and more. */
static guint
weight_to_spoil (const IrTensor *weights, const IrTensor *x, guint terms)
{
  for (guint i = 0; i < terms; i++)
    if (fabs (ir_tensor_get_double (weights, i)) >= 0.5 &&
        fabs (ir_tensor_get_double (x, i)) >= 0.5)
      return i;
  return 0;
}

static void
test_term (gconstpointer data)
{
  const TermFault *fault = data;
  g_autofree char *text = g_strdup_printf ("(float[1,%u,1,1] x, float[2,%u,1,1] W) => "
                                           "(float[1,2,1,1] y) { y = Conv (x, W) }",
                                           fault->terms, fault->terms);

  for (guint seed = 1; seed <= N_TERM_TRIALS; seed++)
    {
      g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
      g_autoptr (IrModel) model = test_model (text);
      g_autoptr (GHashTable) inputs = NULL;
      g_autoptr (IrTensor) spoiled = NULL;
      g_autoptr (IrProver) prover = NULL;
      g_autoptr (GError) error = NULL;
      const IrTensor *weights, *x;
      IrNode *node;
      IrEdit *edit;
      IrProof proof;
      float *to;

      test_model_randomize (model, rand);
      inputs = test_inputs (model, rand, FALSE);
      node = ir_graph_order (model->main, &(guint){ 0 })[0];
      weights = ir_value_constant (node->inputs[1]);
      x = g_hash_table_lookup (inputs, GUINT_TO_POINTER (node->inputs[0]->id));
      spoiled = ir_tensor_new_alloc (IR_DTYPE_FLOAT, 4, ir_tensor_dims (weights), NULL);
      to = ir_tensor_data_writable (spoiled);
      memcpy (to, ir_tensor_data (weights), 2 * fault->terms * sizeof *to);
      to[weight_to_spoil (weights, x, fault->terms)] *= (float) fault->factor;
      edit = ir_edit_new (model);
      ir_edit_begin_step (edit, "mistake", IR_CLASS_ROUNDING, node->id);
      ir_edit_set_input (edit, node, 1,
                         ir_edit_add_initializer (edit, model->main, "spoiled", spoiled));
      ir_edit_end_step (edit);
      ir_edit_free (edit);
      prover = ir_prover_new_with (model, inputs, ir_backend_find (seed % 2 == 0 ? "cpu" : "ref"),
                                   &(IrProverOptions){ 1, { 0 } }, NULL, &error);
      g_assert_no_error (error);
      g_assert_true (ir_prover_prove_step (prover, 1, &proof, &error));
      g_test_message ("seed %u: %s: max abs %g, bound %g", seed, ir_verdict_name (proof.verdict),
                      proof.max_abs, proof.bound);
      g_assert_cmpint (proof.verdict, ==, IR_VERDICT_BROKEN);
    }
}

/* -- what only rounds -- */

static void
fill (IrTensor *tensor, float value)
{
  float *data = ir_tensor_data_writable (tensor);

  for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
    data[i] = value;
}

/* W is 0.9, C is 1. */
static void
fill_constants (IrModel *model)
{
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);

  for (guint i = 1; i < model->values->len; i++)
    {
      IrValue *value = ir_model_live_value (model, i);
      IrTensor *old = value != NULL ? value->initializer : NULL;
      g_autoptr (IrTensor) fresh = NULL;

      if (old == NULL)
        continue;
      fresh = ir_tensor_new_alloc (IR_DTYPE_FLOAT, ir_tensor_rank (old), ir_tensor_dims (old),
                                   NULL);
      fill (fresh, value->name[0] == 'W' ? 0.9F : 1);
      ir_edit_set_initializer (edit, value, fresh);
    }
}

/* Equal small terms on a large bias: every addition rounds the same way, and the new side begins
 * with the bias where the old one ends with it. */
static void
test_one_way (void)
{
  static const guint terms[] = { 64, 1024, 4096, 16384 };

  for (guint i = 0; i < G_N_ELEMENTS (terms); i++)
    {
      g_autofree char *text = g_strdup_printf (
          "(float[1,%u,2,2] x, float[2,%u,1,1] W, float[2,1,1] C) => (float[1,2,2,2] y) "
          "{ c = Conv (x, W)  y = Add (c, C) }",
          terms[i], terms[i]);
      g_autoptr (IrModel) model = test_model (text);
      g_autoptr (GRand) rand = g_rand_new_with_seed (2);
      g_autoptr (IrPipeline) pipeline = ir_pipeline_load ("basic", NULL);
      IrPipelineOptions options = { .max_class = IR_CLASS_ROUNDING };
      const gint64 dims[] = { 1, terms[i], 2, 2 };
      g_autoptr (IrTensor) x = ir_tensor_new_alloc (IR_DTYPE_FLOAT, 4, dims, NULL);
      g_autoptr (GHashTable) inputs = g_hash_table_new (NULL, NULL);
      g_autoptr (GError) error = NULL;
      IrProofSummary summary;

      test_model_randomize (model, rand);
      fill (x, 1.1e-6F);
      fill_constants (model);
      g_hash_table_insert (inputs, GUINT_TO_POINTER (ir_graph_input (model->main, 0)->id), x);
      g_assert_true (ir_pipeline_run (model, pipeline, &options, NULL, NULL, &error));
      for (guint k = 0; k < 2; k++)
        {
          g_autoptr (IrProver)
              prover = ir_prover_new_with (model, inputs, ir_backend_find (k == 0 ? "cpu" : "ref"),
                                           &(IrProverOptions){ 1, { 0 } }, NULL, &error);

          g_assert_true (ir_prover_prove_all (prover, &summary, NULL, NULL, NULL, &error));
          g_test_message ("%u terms: max abs %g, bound %g: %s", terms[i],
                          ir_history_step (model, 1)->proof.max_abs,
                          ir_history_step (model, 1)->proof.bound,
                          ir_verdict_name (ir_history_step (model, 1)->proof.verdict));
          g_assert_cmpuint (summary.n[IR_VERDICT_BROKEN], ==, 0);
        }
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/proof-faults/mistakes are broken at any number of terms", test_mistakes);
  for (guint i = 0; i < G_N_ELEMENTS (term_faults); i++)
    g_test_add_data_func (term_faults[i].name, &term_faults[i], test_term);
  g_test_add_func ("/proof-faults/additions that round one way are rounding", test_one_way);
  return g_test_run ();
}
