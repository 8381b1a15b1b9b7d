/* Training: mutable parameters through every pass, what makes a network ready, losses, and optimizers
 * against loops that say the same in C. tests/oracle/train-torch.py has the whole against PyTorch. */
#include "config.h"

#include "core/grad/optimizer.h"
#include "core/ir/edit.h"
#include "passes/training/curves.h"
#include "tests/rules/pass-test.h"

#include <math.h>
#include <string.h>

#define HEAD "<ir_version: 8, opset_import: [\"\" : 18]> g "

/* Everything that passes like to fold, merge, prepack or reorder, by constants. */
#define TEMPTING                                                                                    \
  HEAD                                                                                              \
      "(float[2,3,4,4] x, float[2,8] v, float[4,3,3,3] W, float[4] B, float[4] Scale, "             \
      "float[4] Shift, float[4] Mean, float[4] Variance, float[1,4,1,1] Gamma, float[8,6] P, "      \
      "float[8,6] Q, float[6,6] R, float[6,6] S, float[6,6] T) => (float y, float z) "              \
      "<float[6] b1 = {0, 0, 0, 0, 0, 0}, float[6] b2 = {0, 0, 0, 0, 0, 0}> "                       \
      "{ c = Conv <pads = [1, 1, 1, 1]> (x, W, B)  n = BatchNormalization (c, Scale, Shift, Mean, " \
      "Variance)  m = Mul (n, Gamma)  r = Relu (m)  y = ReduceMean <keepdims = 0> (r) "             \
      "p = MatMul (v, P)  pb = Add (p, b1)  q = MatMul (v, Q)  qb = Add (q, b2)  s = Add (pb, qb) " \
      "rs = MatMul (R, S)  t = MatMul (s, rs)  tt = Transpose (T)  u = MatMul (t, tt) "             \
      "a = Add (u, u)  z = ReduceMean <keepdims = 0> (a) }"

static void
make_mutable (IrModel *model)
{
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);

  for (guint i = 1; i < model->values->len; i++)
    {
      IrValue *value = ir_model_live_value (model, i);
      if (value != NULL && value->initializer != NULL)
        ir_edit_set_flags (edit, value, value->flags | IR_VALUE_MUTABLE);
    }
}

/* Other contents for what is mutable, positive, as variances are. */
static void
give_others (IrModel *model, GRand *rand, GHashTable *inputs)
{
  for (guint i = 1; i < model->values->len; i++)
    {
      const IrValue *value = ir_model_live_value (model, i);
      if (value == NULL || !ir_value_is_mutable (value))
        continue;
      IrTensor *tensor = ir_tensor_new_alloc (IR_DTYPE_FLOAT, ir_tensor_rank (value->initializer),
                                              ir_tensor_dims (value->initializer), NULL);
      float *data = ir_tensor_data_writable (tensor);
      for (guint64 k = 0; k < ir_tensor_n_elements (tensor); k++)
        data[k] = (float) g_rand_double_range (rand, 0.5, 2);
      g_hash_table_insert (inputs, GUINT_TO_POINTER (value->id), tensor);
    }
}

/* A pass may refuse the model, but not touch what is mutable, nor rely on what it holds now. */
static void
try_pass (const IrPass *pass, IrModel *original, GHashTable *inputs, IrRun *before)
{
  g_autoptr (IrModel) model = ir_model_clone (original);
  g_autoptr (IrPipeline) pipeline = test_pipeline (pass);
  const IrPipelineOptions options = { .max_class = IR_CLASS_UNSAFE };
  g_autoptr (GError) error = NULL;

  if (!ir_pipeline_run (model, pipeline, &options, NULL, NULL, &error))
    return;
  for (guint i = 1; i < original->values->len; i++)
    {
      const IrValue *old = ir_model_live_value (original, i);
      const IrValue *value = ir_model_live_value (model, i);
      if (old == NULL || !ir_value_is_mutable (old))
        continue;
      g_test_message ("%s, %s", pass->name, old->name);
      g_assert_nonnull (value);
      g_assert_true (ir_value_is_mutable (value) && value->initializer == old->initializer);
    }
  g_autoptr (IrRun) after = test_run (model, inputs, "cpu");
  g_autofree char *difference = test_compare (original, before, model, after, 1e-4);
  g_test_message ("%s: %s", pass->name, difference != NULL ? difference : "equal");
  g_assert_null (difference);
}

static void
test_mutable (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);
  g_autoptr (IrModel) model = test_model (TEMPTING);
  guint n;
  const IrPass *const *passes = ir_passes (&n);

  test_model_randomize (model, rand);
  make_mutable (model);
  g_autoptr (GHashTable) inputs = test_inputs (model, rand, FALSE);
  give_others (model, rand, inputs);
  g_autoptr (IrRun) before = test_run (model, inputs, "cpu");
  g_autoptr (IrRun) reference = test_run (model, inputs, "ref");
  g_autofree char *difference = test_compare (model, before, model, reference, 1e-4);
  g_assert_null (difference);
  for (guint i = 0; i < n; i++)
    if (strcmp (passes[i]->name, "to-inference") != 0 &&
        strcmp (passes[i]->name, "to-training") != 0)
      try_pass (passes[i], model, inputs, before);
}

/* An initializer of the wrong shape is said, as for inputs. */
static void
test_mutable_wrong (void)
{
  g_autoptr (IrModel) model = test_model (
      HEAD "(float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Mul (x, w) }");
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);
  g_autoptr (GHashTable) inputs = test_inputs (model, rand, FALSE);
  const IrValue *w = ir_graph_find_value (model->main, "w");
  const gint64 three = 3;
  const float numbers[] = { 1, 2, 3 };
  g_autoptr (GError) error = NULL, constant = NULL;

  g_hash_table_insert (inputs, GUINT_TO_POINTER (w->id),
                       ir_tensor_new_copy (IR_DTYPE_FLOAT, 1, &three, numbers));
  g_assert_null (ir_model_run (model, inputs, NULL, NULL, &constant));
  g_assert_nonnull (strstr (constant->message, "w is not an input"));
  make_mutable (model);
  g_assert_null (ir_model_run (model, inputs, NULL, NULL, &error));
  g_assert_nonnull (strstr (error->message, "input w: found float[3], needed is float[2]"));
}

/* -- to training and back -- */

#define MERGED                                                                                       \
  HEAD                                                                                               \
      "(float[N,3] x) => (float[N,4] p) <float[3,4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3}, "      \
      "float[4] b = {0, 0, 0, 0}, float[4,4] v = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}, " \
      "float[4] s = {1, 2, 3, 4}, float half = {0.5}> { t = MatMul (x, w)  u = Add (t, b) "          \
      "r = Relu (u)  d = Dropout (r, half)  b2 = Identity (b)  s2 = Identity (s)  k = Mul (d, s) "   \
      "y = MatMul (k, v)  z = Add (y, b2)  e = Mul (z, s2)  p = Softmax <axis = -1> (e) }"

static IrModel *
run_passes (const char *text, const char *names, const char *const *settings, GError **error)
{
  g_autoptr (IrModel) model = test_model (text);
  g_auto (GStrv) list = g_strsplit (names, " ", -1);
  g_autoptr (IrPipeline) pipeline = ir_pipeline_new_from_names ((const char *const *) list, error);
  const IrPipelineOptions options = { .max_class = IR_CLASS_UNSAFE, .verify = TRUE };

  for (guint i = 0; settings != NULL && settings[i] != NULL; i++)
    g_assert_true (ir_pipeline_set (pipeline, settings[i], error));
  return ir_pipeline_run (model, pipeline, &options, NULL, NULL, error) ? g_steal_pointer (&model)
                                                                        : NULL;
}

static const char *
reason_of (const IrModel *model, const char *rule)
{
  for (guint i = 1; i <= ir_history_n_steps (model); i++)
    if (strcmp (ir_history_step (model, i)->rule, rule) == 0)
      return ir_history_step (model, i)->reason;
  return NULL;
}

static gboolean
is_mutable (const IrModel *model, const char *name)
{
  const IrValue *value = ir_graph_find_value (model->main, name);

  return value != NULL && ir_value_is_mutable (value);
}

static void
test_to_training (void)
{
  const char *const settings[] = { "to-training.loss=cross-entropy", "to-training.freeze=v,x*",
                                   NULL };
  const char *const right[] = { "to-training.loss=cross-entropy", "to-training.freeze=v", NULL };
  g_autoptr (GError) error = NULL;

  g_assert_null (run_passes (MERGED, "to-training", settings, &error));
  g_assert_nonnull (strstr (error->message, "no initializer is called \"x*\""));
  g_clear_error (&error);
  g_autoptr (IrModel) model = run_passes (MERGED, "to-training", right, &error);
  g_assert_no_error (error);
  /* zeros had been merged by their contents; s varies, so it was one before */
  g_assert_cmpstr (
      reason_of (model, "untie"), ==,
      "b2 had been merged with b, whose elements are the same; each is trained by itself");
  g_assert_true (is_mutable (model, "w") && is_mutable (model, "b") && is_mutable (model, "b2") &&
                 is_mutable (model, "s"));
  g_assert_false (is_mutable (model, "v") || is_mutable (model, "half"));
  g_assert_nonnull (ir_graph_find_value (model->main, "s2")->producer);
  g_assert_nonnull (reason_of (model, "softmax"));
  g_assert_nonnull (reason_of (model, "train-dropout"));
  g_assert_cmpuint (ir_graph_n_outputs (model->main), ==, 2);
  g_assert_cmpstr (ir_graph_output (model->main, 0)->name, ==, "loss");
  g_assert_cmpstr (ir_graph_output (model->main, 1)->name, ==, "accuracy");
  g_assert_cmpstr (ir_graph_output (model->main, 0)->producer->inputs[0]->name, ==, "e");
}

#define NORM                                                                                       \
  HEAD                                                                                             \
      "(float[4,2,3] x) => (float[4,2,3] y) <float[2] s = {1, 2}, float[2] b = {0, 1}, "           \
      "float[2] mean = {0, 0}, float[2] variance = {1, 1}> { y = BatchNormalization (x, s, b, mean, variance) }"

static void
test_round_trip (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GRand) rand = g_rand_new_with_seed (3);
  g_autoptr (IrModel) before = test_model (NORM);
  g_autoptr (IrModel) trains = run_passes (NORM, "to-training", NULL, &error);
  g_autoptr (IrModel) after = run_passes (NORM, "to-training to-inference", NULL, &error);

  g_assert_no_error (error);
  g_assert_cmpuint (ir_graph_n_outputs (trains->main), ==, 3);
  g_assert_cmpstr (ir_graph_output (trains->main, 1)->name, ==, "mean.new");
  g_assert_cmpuint (ir_graph_n_outputs (after->main), ==, 1);
  g_assert_nonnull (ir_value_constant (ir_graph_find_value (after->main, "s")));
  g_autoptr (GHashTable) inputs = test_inputs (before, rand, FALSE);
  g_autoptr (IrRun) run_before = test_run (before, inputs, "cpu");
  g_autoptr (IrRun) run_after = test_run (after, inputs, "cpu");
  g_autofree char *difference = test_compare (before, run_before, after, run_after, 0);
  g_assert_null (difference);
}

/* As torch.onnx writes it: statistics that nobody hears, and nodes that tell Dropout. */
#define EXPORTED                                                                                   \
  HEAD "(float[4,2,3] x) => (float[4,2,3] y) <float[2] s = {1, 2}, float[2] b = {0, 1}, "          \
       "float[2] mean = {0, 0}, float[2] variance = {1, 1}> { "                                    \
       "n, n1, n2 = BatchNormalization <training_mode: int = 1> (x, s, b, mean, variance) "        \
       "ratio = Constant <value = float {0.5}> () yes = Constant <value = bool {1}> () "           \
       "d = Dropout (n, ratio, yes) y = Dropout (d, ratio, yes) }"

static void
test_exported (void)
{
  const char *const mse[] = { "to-training.loss=mse", NULL };
  g_autoptr (GError) error = NULL;
  g_autoptr (IrModel) trains = run_passes (EXPORTED, "to-training", mse, &error);
  g_autoptr (IrModel) twice = run_passes (EXPORTED, "to-training to-training", NULL, &error);
  g_autoptr (IrModel) after = run_passes (EXPORTED, "to-training to-inference", NULL, &error);

  g_assert_no_error (error);
  g_assert_cmpuint (ir_graph_n_outputs (trains->main), ==, 3);
  g_assert_cmpstr (ir_graph_output (trains->main, 1)->name, ==, "mean.new");
  g_assert_cmpstr (ir_graph_output (trains->main, 2)->name, ==, "variance.new");
  g_assert_cmpuint (ir_graph_n_outputs (twice->main), ==, 3);
  g_autoptr (GPtrArray) nodes = ir_graph_nodes (after->main);
  g_assert_cmpuint (nodes->len, ==, 4); /* the constant that told both is gone */
  g_assert_cmpuint (ir_graph_n_outputs (after->main), ==, 1);
}

/* However many derivatives become outputs, the list of these is written once: it is linear so. */
static void
test_outputs_at_once (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrModel) model = run_passes (NORM, "gradient", NULL, &error);
  guint n_lists = 0;

  g_assert_no_error (error);
  g_assert_cmpuint (ir_graph_n_outputs (model->main), >, 2);
  const IrStep *last = ir_history_step (model, ir_history_n_steps (model));
  for (gsize i = 0; i < last->n_records; i++)
    n_lists += ir_history_record (model, last->first_record + i)->kind == IR_RECORD_GRAPH_OUTPUTS;
  g_assert_cmpuint (n_lists, ==, 1);
}

/* -- losses -- */

#define PAIR HEAD "(double[2] x) => (double[2] y) <double[2] w = {1, 1}> { y = Mul (x, w) }"

static double
loss_of (const char *loss, const double *x, const double *target)
{
  g_autofree char *setting = g_strdup_printf ("to-training.loss=%s", loss);
  const char *const settings[] = { setting, NULL };
  g_autoptr (GError) error = NULL;
  g_autoptr (IrModel) model = run_passes (PAIR, "to-training", settings, &error);
  g_autoptr (GHashTable)
      inputs = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);
  const gint64 two = 2;

  g_assert_no_error (error);
  g_hash_table_insert (inputs, GUINT_TO_POINTER (ir_graph_input (model->main, 0)->id),
                       ir_tensor_new_copy (IR_DTYPE_DOUBLE, 1, &two, x));
  g_hash_table_insert (inputs, GUINT_TO_POINTER (ir_graph_input (model->main, 1)->id),
                       ir_tensor_new_copy (IR_DTYPE_DOUBLE, 1, &two, target));
  g_autoptr (IrRun) run = test_run (model, inputs, "ref");
  return ir_tensor_get_double (ir_run_value (run, ir_graph_output (model->main, 0)->id), 0);
}

static void
test_losses (void)
{
  const double x[] = { 1, 2.5 }, target[] = { 0.5, 0 }, logits[] = { 800, -2 },
               answers[] = { 0, 1 };

  g_assert_cmpfloat_with_epsilon (loss_of ("mse", x, target), (0.25 + 6.25) / 2, 1e-12);
  g_assert_cmpfloat_with_epsilon (loss_of ("l1", x, target), (0.5 + 2.5) / 2, 1e-12);
  g_assert_cmpfloat_with_epsilon (loss_of ("huber", x, target), (0.125 + 2) / 2, 1e-12);
  /* -log (1 - sigmoid (800)) = 800: no exponential overflows */
  g_assert_cmpfloat_with_epsilon (loss_of ("bce", logits, answers), (800 + log1p (exp (2))) / 2,
                                  1e-9);
}

/* -- optimizers -- */

#define LINE    HEAD "(double[3] x) => (double[3] y) <double[3] w = {0.5, -1, 2}> { y = Mul (x, w) }"
#define N_STEPS 7
#define RATE    0.03

typedef struct
{
  const char *name;
  const char *settings[4];
  IrOptimizerKind kind;
  double momentum, decay, clip;
  gboolean nesterov;
} Method;

/* The same by a loop: mean of squares of w x - t, whose derivative is 2 (w x - t) x / 3. */
static void
loop (const Method *m, const double *x, const double *t, double *w)
{
  double v[3] = { 0 }, s[3] = { 0 };

  for (int step = 1; step <= N_STEPS; step++)
    {
      double g[3], norm = 0;
      for (int i = 0; i < 3; i++)
        {
          g[i] = 2 * (w[i] * x[i] - t[i]) * x[i] / 3;
          norm += g[i] * g[i];
        }
      double factor = m->clip > 0 ? MIN (1, m->clip / (sqrt (norm) + 1e-6)) : 1;
      for (int i = 0; i < 3; i++)
        {
          g[i] *= factor;
          if (m->kind == IR_OPTIMIZER_ADAMW)
            w[i] *= 1 - RATE * m->decay;
          else
            g[i] += m->decay * w[i];
          if (m->kind == IR_OPTIMIZER_SGD)
            {
              v[i] = m->momentum * v[i] + g[i];
              w[i] -= RATE * (m->nesterov ? g[i] + m->momentum * v[i] : v[i]);
            }
          else if (m->kind == IR_OPTIMIZER_ADAGRAD)
            {
              s[i] += g[i] * g[i];
              w[i] -= RATE * g[i] / (sqrt (s[i]) + 1e-10);
            }
          else
            {
              v[i] = 0.9 * v[i] + 0.1 * g[i];
              s[i] = 0.999 * s[i] + 0.001 * g[i] * g[i];
              w[i] -= RATE / (1 - pow (0.9, step)) * v[i] /
                      (sqrt (s[i] / (1 - pow (0.999, step))) + 1e-8);
            }
        }
    }
}

static void
run_step (IrModel *model, GHashTable *inputs)
{
  g_autoptr (IrRun) run = test_run (model, inputs, "ref");
  guint n;
  IrValue *const *values = ir_graph_values (model->main, &n);

  for (guint i = 0; i < n; i++)
    {
      g_autofree char *name = g_strconcat (values[i]->name, ".new", NULL);
      const IrValue *fresh = ir_graph_find_value (model->main, name);
      if (ir_value_is_mutable (values[i]) && fresh != NULL)
        g_hash_table_insert (inputs, GUINT_TO_POINTER (values[i]->id),
                             ir_tensor_ref (ir_run_value (run, fresh->id)));
    }
}

static void
try_method (const Method *method, double tolerance)
{
  const double x[] = { 1, 2, -0.5 }, t[] = { 2, 0.25, 1 };
  const char *settings[8] = { "to-training.loss=mse", "gradient.of=loss" };
  double w[] = { 0.5, -1, 2 };
  const gint64 three = 3;
  g_autoptr (GHashTable)
      inputs = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);
  g_autoptr (GError) error = NULL;

  memcpy (settings + 2, method->settings, sizeof method->settings);
  g_autoptr (IrModel) model = run_passes (LINE, "to-training gradient optimizer", settings, &error);
  g_assert_no_error (error);
  const IrValue *parameter = ir_graph_find_value (model->main, "w");
  g_hash_table_insert (inputs, GUINT_TO_POINTER (ir_graph_find_value (model->main, "x")->id),
                       ir_tensor_new_copy (IR_DTYPE_DOUBLE, 1, &three, x));
  g_hash_table_insert (inputs, GUINT_TO_POINTER (ir_graph_find_value (model->main, "target")->id),
                       ir_tensor_new_copy (IR_DTYPE_DOUBLE, 1, &three, t));
  g_hash_table_insert (inputs,
                       GUINT_TO_POINTER (ir_graph_find_value (model->main, IR_TRAINING_RATE)->id),
                       ir_tensor_new_scalar (IR_DTYPE_DOUBLE, RATE));
  for (int step = 0; step < N_STEPS; step++)
    run_step (model, inputs);
  loop (method, x, t, w);
  const IrTensor *trained = g_hash_table_lookup (inputs, GUINT_TO_POINTER (parameter->id));
  for (int i = 0; i < 3; i++)
    {
      g_test_message ("%s: %.17g, needed is %.17g", method->name, ir_tensor_get_double (trained, i),
                      w[i]);
      g_assert_cmpfloat_with_epsilon (ir_tensor_get_double (trained, i), w[i], tolerance);
    }
}

static const Method methods[] = {
  { "sgd", { "optimizer.algorithm=sgd" }, IR_OPTIMIZER_SGD, 0, 0, 0, FALSE },
  { "decay",
    { "optimizer.algorithm=sgd", "optimizer.weight-decay=0.1" },
    IR_OPTIMIZER_SGD,
    0,
    0.1,
    0,
    FALSE },
  { "momentum", { "optimizer.algorithm=momentum" }, IR_OPTIMIZER_SGD, 0.9, 0, 0, FALSE },
  { "nesterov",
    { "optimizer.algorithm=sgd", "optimizer.momentum=0.8", "optimizer.nesterov=yes" },
    IR_OPTIMIZER_SGD,
    0.8,
    0,
    0,
    TRUE },
  { "clip",
    { "optimizer.algorithm=sgd", "optimizer.clip=0.5" },
    IR_OPTIMIZER_SGD,
    0,
    0,
    0.5,
    FALSE },
  { "adam", { "optimizer.algorithm=adam" }, IR_OPTIMIZER_ADAM, 0, 0, 0, FALSE },
  { "adam-decay",
    { "optimizer.algorithm=adam", "optimizer.weight-decay=0.1" },
    IR_OPTIMIZER_ADAM,
    0,
    0.1,
    0,
    FALSE },
  { "adamw", { "optimizer.algorithm=adamw" }, IR_OPTIMIZER_ADAMW, 0, 0.01, 0, FALSE },
  { "adagrad", { "optimizer.algorithm=adagrad" }, IR_OPTIMIZER_ADAGRAD, 0, 0, 0, FALSE },
};

static void
test_optimizers (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (methods); i++)
    try_method (&methods[i], 1e-12);
}

/* The operators of ONNX's preview domain, whose attributes are of single precision. */
static void
test_preview (void)
{
  static const Method preview[] = {
    { "onnx momentum",
      { "optimizer.algorithm=momentum", "optimizer.form=onnx" },
      IR_OPTIMIZER_SGD,
      0.9,
      0,
      0,
      FALSE },
    { "onnx nesterov",
      { "optimizer.algorithm=nesterov", "optimizer.form=onnx" },
      IR_OPTIMIZER_SGD,
      0.9,
      0,
      0,
      TRUE },
    { "onnx adam",
      { "optimizer.algorithm=adam", "optimizer.form=onnx" },
      IR_OPTIMIZER_ADAM,
      0,
      0,
      0,
      FALSE },
    { "onnx adagrad",
      { "optimizer.algorithm=adagrad", "optimizer.form=onnx" },
      IR_OPTIMIZER_ADAGRAD,
      0,
      0,
      0,
      FALSE },
  };
  const char *const refused[] = { "to-training.loss=mse", "gradient.of=loss",
                                  "optimizer.algorithm=adamw", "optimizer.form=onnx", NULL };
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (preview); i++)
    try_method (&preview[i], 1e-5);
  g_assert_null (run_passes (LINE, "to-training gradient optimizer", refused, &error));
  g_assert_nonnull (strstr (error->message, "shrinks the new parameter"));
}

static void
test_refused (void)
{
  static const struct
  {
    const char *setting, *says;
  } rows[] = {
    { "optimizer.algorithm=lion", "it is one of sgd, momentum" },
    { "optimizer.momentum=1", "at least 0 and below 1" },
    { "optimizer.betas=0.9", "two numbers are needed" },
    { "optimizer.clip=x", "it needs a number" },
    { "to-training.loss=hinge", "is neither a loss" },
    { "to-training.loss=cross-entropy", "needs scores [N, C, ...]" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      const char *settings[] = { "to-training.loss=mse", "gradient.of=loss", rows[i].setting,
                                 NULL };
      g_autoptr (GError) error = NULL;
      g_assert_null (run_passes (LINE, "to-training gradient optimizer", settings, &error));
      g_test_message ("%s", error->message);
      g_assert_nonnull (strstr (error->message, rows[i].says));
    }
}

/* -- curves -- */

static double
wide_letters (const char *text, IrSceneTextStyle style, gpointer data)
{
  return 5.7 * (double) g_utf8_strlen (text, -1);
}

/* The legends of both curves are whole in each width that a window may give. */
static void
test_legends (void)
{
  g_autoptr (GArray) points = g_array_new (FALSE, FALSE, sizeof (IrTrainingPoint));
  const IrTrainingPoint point = { 1, 1,        0.0057812, 0.98765, 0.003,
                                  2, 0.026531, 0.99171,   12.345,  0.012345 };

  g_array_append_val (points, point);
  for (double width = 240; width < 1400; width += 20)
    {
      const IrChartOptions options = { .width = width, .measure = wide_letters };
      g_autoptr (IrScene) scene = ir_training_chart (points, &options);
      guint n, n_legends = 0;
      const IrSceneText *texts = ir_scene_texts (scene, &n);
      for (guint i = 0; i < n; i++)
        {
          n_legends += strstr (texts[i].text, "held out") != NULL;
          if (strstr (texts[i].text, "…") != NULL)
            g_error ("%g px: \"%s\" is cut", width, texts[i].text);
        }
      g_assert_cmpuint (n_legends, ==, 2);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/training/mutable", test_mutable);
  g_test_add_func ("/training/mutable-of-another-shape", test_mutable_wrong);
  g_test_add_func ("/training/to-training", test_to_training);
  g_test_add_func ("/training/round-trip", test_round_trip);
  g_test_add_func ("/training/exported", test_exported);
  g_test_add_func ("/training/outputs-at-once", test_outputs_at_once);
  g_test_add_func ("/training/losses", test_losses);
  g_test_add_func ("/training/optimizers", test_optimizers);
  g_test_add_func ("/training/preview-operators", test_preview);
  g_test_add_func ("/training/refused", test_refused);
  g_test_add_func ("/training/legends of curves are whole", test_legends);
  return g_test_run ();
}
