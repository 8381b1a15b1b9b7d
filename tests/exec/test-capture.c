/* What runs capture: every policy, the budget and the file behind it, and any value afterwards with
 * the bits that a run has given it which kept all of them. */
#include "config.h"

#include "core/act/act.h"
#include "core/exec/plan/plan.h"
#include "core/exec/run/capture.h"
#include "core/exec/kernel/backend.h"
#include "core/exec/run/spill.h"
#include "core/io/io.h"
#include "tests/exec/graphs.h"
#include "tests/support/locks.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/resource.h>

/* -- graphs -- */

static IrModel *
read_text (const char *text)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  IrModel *model = ir_text_read (text, -1, problems, &error);

  g_assert_no_error (error);
  g_assert_cmpuint (ir_problems_count (problems, IR_SEVERITY_ERROR), ==, 0);
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);
  ir_infer_model (edit, IR_INFER_DEFAULT, problems);
  return model;
}

#define HEAD                                                                                       \
  "<ir_version: 10, opset_import: [\"\" : 21, \"com.microsoft\" : 1, \"irscope\" : 1, \"f\" : 1]>\n"

static const struct
{
  const char *title, *text;
} texts[] = {
  { "a chain with views",
    HEAD "g (float[4,6] x) => (float[24] y) {\n"
         "a = Exp (x) b = Relu (a) s = Constant <value = int64[1] {-1}> () c = Reshape (b, s)\n"
         "d = Neg (c) e = Softmax (d) y = Add (e, c) }" },
  { "a network of residual blocks of attention",
    HEAD "g (float[2,8,16] x, float[16,48] w, float[16,16] v) => (float[2,8,16] y) {\n"
         "p = MatMul (x, w) q, k, t = Split <axis = -1, num_outputs = 3> (p)\n"
         "kt = Transpose <perm = [0, 2, 1]> (k) s = MatMul (q, kt) r = Softmax <axis = -1> (s)\n"
         "o = MatMul (r, t) z = MatMul (o, v) n = Add (x, z) h = Gelu (n) y = Mul (h, n) }" },
  { "loops, branches and values from outside", HEAD
    "g (float[3] x) => (float[3] y, float[k, 3] all) {\n"
    "n = Constant <value = int64 {4}> () t = Constant <value = bool {1}> () twice = Add (x, x)\n"
    "last, all = Loop (n, t, x) <body = b (int64 i, bool c, float[3] v)\n"
    "  => (bool c2, float[3] w, float[3] scan) { c2 = Identity (c) f = Cast <to = 1> (i)\n"
    "  u = Mul (twice, f) w = Add (u, v) scan = Neg (w) }>\n"
    "m = ReduceMax <keepdims = 0> (last) zero = Constant <value = float {0}> ()\n"
    "is = Greater (m, zero)\n"
    "y = If (is) <then_branch = p () => (float[3] r) { h = Exp (last) r = Sub (h, twice) },\n"
    "  else_branch = o () => (float[3] s) { l = Abs (last) s = Sqrt (l) }> }" },
  { "sequences, strings and shapes that only a run knows",
    HEAD "g (float[5] x) => (float[k] y) {\n"
         "zero = Constant <value = float {0}> () m = Greater (x, zero) p = Compress (x, m)\n"
         "q = Exp (p) s = SequenceConstruct (p, q) i = Constant <value = int64 {1}> ()\n"
         "r = SequenceAt (s, i) y = Add (r, p) }" },
  { "calls of functions, and operators that run as their body",
    HEAD "g (float[4,4] x) => (float[4,4] y) {\n"
         "a = f.twice (x) b = Celu <alpha = 2.0> (a) c = f.twice (b) d = Shrink (c)\n"
         "y = LayerNormalization <axis = 0> (d, b) }\n"
         "<domain: \"f\", opset_import: [\"\" : 21]>\n"
         "twice (v) => (w) { u = Add (v, v) w = Tanh (u) }" },
  { "parts that lie in wholes",
    HEAD "g (float[4,6] x, float[4,6] z) => (float[8,6] y, float[2,6] last) {\n"
         "a = Exp (x) b = Neg (z) c = Concat <axis = 0> (a, b) d = Relu (c)\n"
         "p, q = Split <axis = 0, num_outputs = 2> (d) r = Add (p, q) s = Tanh (q)\n"
         "e = Concat <axis = 0> (r, s) y = Mul (e, c)\n"
         "i, j, k, l = Split <axis = 0, num_outputs = 4> (y) last = Sub (k, i) }" },
  { "random numbers",
    HEAD "g (float[4,4] x) => (float[4,4] y) {\n"
         "a = RandomNormalLike (x) b = Add (a, x) c = RandomUniformLike (b) y = Mul (b, c) }" },
};

/* Convolutions that are kept in blocks of channels. */
static IrModel *
build_convolutions (void)
{
  g_auto (Builder) b = { 0 };
  builder_init (&b, 17);
  IrValue *at = build_input (&b, "x", "float[1,3,20,20]"), *skip = NULL;
  for (guint i = 0; i < 6; i++)
    {
      g_autofree char *name = g_strdup_printf ("w%u", i);
      IrValue *w = build_constant (
          &b, name, tensor_random (i == 0 ? "float[24,3,3,3]" : "float[24,24,3,3]", i));
      IrNode *conv = build_node (&b, NULL, "Conv", 1, at, w, END);
      build_ints (&b, conv, "pads", 4, 1, 1, 1, 1);
      at = build_node (&b, NULL, "Relu", 1, conv->outputs[0], END)->outputs[0];
      if (i % 2 == 1)
        at = build_node (&b, NULL, "Add", 1, at, skip, END)->outputs[0];
      skip = at;
    }
  at = build_node (&b, NULL, "GlobalAveragePool", 1, at, END)->outputs[0];
  at = build_node (&b, NULL, "Flatten", 1, at, END)->outputs[0];
  build_output (&b, at);
  build_done (&b);
  return ir_model_ref (b.model);
}

#define N_MODELS (G_N_ELEMENTS (texts) + 1)

static IrModel *
model_of (guint index)
{
  return index < G_N_ELEMENTS (texts) ? read_text (texts[index].text) : build_convolutions ();
}

static IrRun *
run_with (IrModel *model, GHashTable *inputs, const IrRunOptions *options)
{
  g_autoptr (GError) error = NULL;
  IrRun *run = ir_model_run (model, inputs, options, NULL, &error);

  g_assert_no_error (error);
  return run;
}

static GHashTable *
random_inputs (IrModel *model)
{
  g_autoptr (GError) error = NULL;
  GHashTable *inputs = ir_random_inputs (model, 7, NULL, &error);

  g_assert_no_error (error);
  return inputs;
}

typedef struct
{
  IrModel *model;
  GHashTable *inputs;
} Subject;

static Subject
subject_of (IrModel *model) /* (transfer full) */
{
  return (Subject){ model, random_inputs (model) };
}

static void
subject_clear (Subject *subject)
{
  g_clear_pointer (&subject->inputs, g_hash_table_unref);
  g_clear_pointer (&subject->model, ir_model_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Subject, subject_clear)

/* -- the same bits -- */

typedef struct
{
  guint n[IR_N_FOUNDS], n_nodes;
} Tally;

/* Every value of @run, from the last to the first, so that nothing is there from before. */
static Tally
assert_same_bits (IrRun *run, IrRun *all)
{
  Tally tally = { 0 };

  for (IrValueId id = run->n_values - 1; id > 0; id--)
    {
      g_autoptr (GError) error = NULL, wanted_error = NULL;
      g_auto (IrFound) found = { 0 }, wanted_found = { 0 };
      const IrValue *value = ir_model_live_value (run->model, id);
      if (value == NULL)
        continue;
      g_autoptr (IrTensor) wanted = ir_run_find (all, id, NULL, &wanted_found, &wanted_error);
      g_autoptr (IrTensor) tensor = ir_run_find (run, id, NULL, &found, &error);
      if (wanted == NULL) /* a branch that was not taken */
        {
          g_assert_null (tensor);
          g_assert_error (error, wanted_error->domain, wanted_error->code);
          continue;
        }
      g_assert_no_error (error);
      if (!ir_tensor_equal (tensor, wanted))
        g_error ("%s differs, %s", value->name, ir_found_name (found.how));
      g_autofree char *text = ir_found_text (&found, run->model);
      g_assert_cmpint ((int) strlen (text), >, 0);
      tally.n[found.how]++;
      tally.n_nodes += found.n_nodes;
    }
  return tally;
}

static IrRunOptions
options_for (guint round)
{
  static const char *const backends[] = { "cpu", "ref" };

  return (IrRunOptions){ .backend = ir_backend_find (backends[round % 2]),
                         .n_threads = 1 + round / 2 % 2,
                         .parallel = round < 2 ? IR_PARALLEL_OFF : IR_PARALLEL_ON,
                         .seed = 3 };
}

static void
test_policy (gconstpointer data)
{
  guint index = GPOINTER_TO_UINT (data);
  g_auto (Subject) subject = subject_of (model_of (index));

  for (guint round = 0; round < 4; round++)
    {
      IrRunOptions options = options_for (round);
      options.capture = IR_CAPTURE_ALL;
      g_autoptr (IrRun) all = run_with (subject.model, subject.inputs, &options);
      g_assert_cmpuint (ir_run_n_spilled (all), ==, 0);
      g_assert_null (ir_run_capture_note (all));

      options.capture = IR_CAPTURE_NONE;
      g_autoptr (IrRun) none = run_with (subject.model, subject.inputs, &options);
      Tally tally = assert_same_bits (none, all);
      g_assert_cmpuint (tally.n[IR_FOUND_COMPUTED], >, 0);
      g_assert_cmpuint (tally.n_nodes, >, 0);
      g_assert_cmpuint (tally.n[IR_FOUND_SPILLED], ==, 0);

      options.capture = IR_CAPTURE_CHECKPOINTS;
      g_autoptr (IrRun) some = run_with (subject.model, subject.inputs, &options);
      g_assert_cmpuint (assert_same_bits (some, all).n_nodes, <=, tally.n_nodes);

      options.capture = IR_CAPTURE_STATS;
      g_autoptr (IrRun) stats = run_with (subject.model, subject.inputs, &options);
      g_assert_cmpuint (g_hash_table_size (stats->stats), >, 0);
      assert_same_bits (stats, all);
    }
}

/* -- what is not affected by a change is not run -- */

/* (transfer full) (nullable): @model with another node behind @value; NULL: the act does not fit it */
static IrModel *
change_behind (const IrModel *model, const IrValue *value)
{
  IrModel *changed = ir_model_clone ((IrModel *) model);
  g_autoptr (IrEdit) edit = ir_edit_new (changed);
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  const gboolean is_float = value->type != NULL && value->type->kind == IR_TYPE_TENSOR &&
                            value->type->dtype == IR_DTYPE_FLOAT;
  const char *const words[] = { "insert", is_float ? "Neg" : "Identity", value->name, NULL };
  g_auto (IrActDone) done = { 0 };

  if (ir_act_do (edit, words, &done, problems, NULL))
    return changed;
  ir_model_unref (changed);
  return NULL;
}

static gboolean
is_equal (const IrTensor *a, const IrTensor *b)
{
  return a == b || (a != NULL && b != NULL && ir_tensor_equal (a, b));
}

/* Whatever is changed: all values have the bits of a run of everything. */
static guint
assert_reused (IrRun *before, IrModel *changed, GHashTable *inputs, IrRunOptions options)
{
  g_autoptr (GError) error = NULL, again_error = NULL;
  g_autoptr (IrExecutable) plain = ir_executable_new (changed, &options, &error);
  g_autoptr (IrExecutable) after = NULL;
  g_autoptr (IrRun) all = NULL, run = NULL;

  g_assert_no_error (error);
  all = ir_executable_run (plain, inputs, NULL, NULL, &error);
  options.before = before;
  after = ir_executable_new (changed, &options, &again_error);
  g_assert_no_error (again_error);
  run = ir_executable_run (after, inputs, NULL, NULL, &again_error);
  g_assert_cmpstr (error != NULL ? error->message : "", ==,
                   again_error != NULL ? again_error->message : "");
  if (all == NULL)
    return 0;
  g_assert_cmpuint (all->n_reused, ==, 0);
  g_assert_cmpuint (run->n_reused, <, run->trace->items->len);
  g_assert_cmpuint (run->n_own + run->n_fallback + run->n_control, <=,
                    all->n_own + all->n_fallback + all->n_control);
  for (IrValueId id = 1; id < all->n_values; id++)
    if (!is_equal (ir_run_value (run, id), ir_run_value (all, id)))
      g_error ("%s differs, with %u of %u nodes reused", ir_model_value (all->model, id)->name,
               run->n_reused, run->trace->items->len);
  return run->n_reused;
}

static void
test_reuse (gconstpointer data)
{
  const guint index = GPOINTER_TO_UINT (data);
  g_auto (Subject) subject = subject_of (model_of (index));
  guint n_reused = 0, n_changed = 0;

  for (guint round = 0; round < 3; round++)
    {
      IrRunOptions options = options_for (round);
      options.capture = IR_CAPTURE_ALL;
      options.capture_budget = round == 1 ? 300 : 0; /* some come from the file */
      g_autoptr (IrRun) before = run_with (subject.model, subject.inputs, &options);
      /* Looked at, and so in the layout of the graph. */
      for (IrValueId id = 1; id < before->n_values; id += 2)
        ir_run_value (before, id);
      g_assert_cmpuint (assert_reused (before, subject.model, subject.inputs, options), ==, 0);
      for (IrValueId id = 1 + round; id < subject.model->values->len; id += 1 + round)
        {
          const IrValue *value = ir_model_live_value (subject.model, id);
          g_autoptr (IrModel) changed = value != NULL && value->graph == subject.model->main
                                            ? change_behind (subject.model, value)
                                            : NULL;
          guint n = changed != NULL ? assert_reused (before, changed, subject.inputs, options) : 0;
          if (options.parallel != IR_PARALLEL_OFF)
            g_assert_cmpuint (n, ==, 0);
          n_reused += n;
          n_changed += changed != NULL;
        }
    }
  g_assert_cmpuint (n_changed, >, 0);
  g_assert_cmpuint (n_reused, >, 0);
}

typedef struct
{
  guint n, last;
  IrRun *latest;
} Shown;

static void
on_shown (IrRun *so_far, gpointer data)
{
  Shown *shown = data;

  g_assert_cmpuint (so_far->trace->items->len, >, shown->last);
  shown->last = so_far->trace->items->len;
  shown->n++;
  g_clear_pointer (&shown->latest, ir_run_unref);
  shown->latest = so_far;
}

/* What a run shows on its way is what it has at its end. */
static void
test_shown (gconstpointer data)
{
  g_auto (Subject) subject = subject_of (model_of (GPOINTER_TO_UINT (data)));
  Shown shown = { 0 };
  IrRunOptions options = { .capture = IR_CAPTURE_ALL, .show = on_shown, .progress_data = &shown };
  g_autoptr (IrRun) run = run_with (subject.model, subject.inputs, &options);
  guint n_values = 0;

  g_assert_cmpuint (shown.n, ==, run->trace->items->len - 1);
  for (IrValueId id = 1; id < run->n_values; id++)
    if (shown.latest->values[id] != NULL)
      {
        g_assert_true (ir_tensor_equal (ir_run_value (shown.latest, id), ir_run_value (run, id)));
        n_values++;
      }
  g_assert_cmpuint (n_values, >, 0);
  ir_run_unref (shown.latest);
}

/* Other contents of an input, another seed: what they lead to runs again, and nothing else. */
static void
test_reuse_inputs (void)
{
  g_auto (Subject) subject = subject_of (
      read_text (HEAD "g (float[4] x, float[4] z) => (float[4] y, float[4] w) {\n"
                      "a = Exp (x) b = Neg (z) y = RandomUniformLike (a) w = Add (a, b) }"));
  IrRunOptions options = { .capture = IR_CAPTURE_ALL, .seed = 3 };
  g_autoptr (IrRun) before = run_with (subject.model, subject.inputs, &options);
  const IrValue *z = ir_graph_find_value (subject.model->main, "z");

  options.seed = 4;
  g_assert_cmpuint (assert_reused (before, subject.model, subject.inputs, options), ==, 3);
  options.seed = 3;
  inputs_add (subject.inputs, z, tensor_random ("float[4]", 5));
  g_assert_cmpuint (assert_reused (before, subject.model, subject.inputs, options), ==, 2);
  options.without = IR_DECISION_BLOCKS; /* then bits may differ */
  g_assert_cmpuint (assert_reused (before, subject.model, subject.inputs, options), ==, 0);
}

/* A budget of one byte sends every value but the outputs to the file; larger ones only some. */
static void
test_spill (gconstpointer data)
{
  guint index = GPOINTER_TO_UINT (data);
  g_auto (Subject) subject = subject_of (model_of (index));

  for (guint round = 0; round < 4; round++)
    {
      IrRunOptions options = options_for (round);
      options.capture = IR_CAPTURE_ALL;
      g_autoptr (IrRun) all = run_with (subject.model, subject.inputs, &options);
      options.capture_budget = round == 0 ? 1 : round * 250;
      g_autoptr (GError) error = NULL;
      g_autoptr (IrExecutable) executable = ir_executable_new (subject.model, &options, &error);
      g_assert_no_error (error);
      for (guint i = 0; i < 2; i++)
        {
          g_autoptr (IrRun)
              run = ir_executable_run (executable, subject.inputs, NULL, NULL, &error);
          g_assert_no_error (error);
          Tally tally = assert_same_bits (run, all);
          if (round == 0)
            g_assert_cmpuint (tally.n[IR_FOUND_SPILLED], >, 0);
          if (ir_run_n_lost (run) == 0)
            g_assert_cmpuint (tally.n[IR_FOUND_COMPUTED], ==, 0);
        }
    }
}

/* A file that takes a few values only, or none: the run is as good, and the note says why. */
static void
test_full_disk (gconstpointer data)
{
  guint index = GPOINTER_TO_UINT (data);
  g_auto (Subject) subject = subject_of (model_of (index));

  for (guint round = 0; round < 4; round++)
    {
      IrRunOptions options = options_for (round);
      options.capture = IR_CAPTURE_ALL;
      g_autoptr (IrRun) all = run_with (subject.model, subject.inputs, &options);
      options.capture_budget = 1;
      options.spill_limit = round < 2 ? 1 : 100;
      g_autoptr (IrRun) run = run_with (subject.model, subject.inputs, &options);
      g_autofree char *note = ir_run_capture_note (run);
      g_assert_cmpuint (ir_run_n_lost (run), >, 0);
      g_assert_nonnull (strstr (note, "computed again"));
      g_assert_cmpuint (assert_same_bits (run, all).n[IR_FOUND_COMPUTED], >, 0);
    }
}

/* The limit that the process has on sizes of files, which a write beyond would die of. */
static void
test_file_limit (void)
{
  g_auto (Subject) subject = subject_of (build_convolutions ());
  IrRunOptions options = options_for (0);
  struct rlimit old, small = { 100000, 100000 };

  options.capture = IR_CAPTURE_ALL;
  g_autoptr (IrRun) all = run_with (subject.model, subject.inputs, &options);
  options.capture_budget = 1;
  g_assert_cmpint (getrlimit (RLIMIT_FSIZE, &old), ==, 0);
  small.rlim_max = old.rlim_max;
  g_assert_cmpint (setrlimit (RLIMIT_FSIZE, &small), ==, 0);
  g_autoptr (IrRun) run = run_with (subject.model, subject.inputs, &options);
  g_assert_cmpint (setrlimit (RLIMIT_FSIZE, &old), ==, 0);
  g_autofree char *note = ir_run_capture_note (run);
  g_assert_cmpuint (ir_run_n_spilled (run), >, 0);
  g_assert_nonnull (strstr (note, g_strerror (EFBIG)));
  assert_same_bits (run, all);
}

/* -- budgets -- */

#define N_STEPS    64
#define STEP_BYTES (64 * 64 * 4)

static IrModel *
build_chain (void)
{
  g_auto (Builder) b = { 0 };
  builder_init (&b, 17);
  IrValue *at = build_input (&b, "x", "float[64,64]");
  for (guint i = 0; i < N_STEPS; i++)
    at = build_node (&b, NULL,
                     i % 3 == 0   ? "Sin"
                     : i % 3 == 1 ? "Neg"
                                  : "Exp",
                     1, at, END)
             ->outputs[0];
  build_output (&b, at);
  build_done (&b);
  return ir_model_ref (b.model);
}

/* Values of sixteen times the budget, without a file: inspected at every node. */
static void
test_exceeds_budget (void)
{
  g_auto (Subject) subject = subject_of (build_chain ());
  IrRunOptions options = options_for (0);

  options.capture = IR_CAPTURE_ALL;
  g_autoptr (IrRun) all = run_with (subject.model, subject.inputs, &options);
  options.capture_budget = 4 * STEP_BYTES;
  options.spill_limit = 1;
  g_autoptr (IrRun) run = run_with (subject.model, subject.inputs, &options);
  guint64 kept = 0;
  for (guint id = 0; id < run->n_values; id++)
    {
      const IrValue *value = ir_model_live_value (run->model, id);
      if (run->values[id] != NULL && value->producer != NULL)
        kept += ir_tensor_n_bytes (run->values[id]);
    }
  g_assert_cmpuint (kept, >, 0);
  g_assert_cmpuint (kept, <=, 4 * STEP_BYTES);
  g_assert_cmpuint (run->trace->peak_bytes, <=, 8 * STEP_BYTES);
  assert_same_bits (run, all);
}

/* Only what was chosen is kept; the budget holds for that too. */
static void
test_chosen (void)
{
  g_auto (Subject) subject = subject_of (build_chain ());
  g_autoptr (GArray) chosen = g_array_new (FALSE, FALSE, sizeof (IrValueId));
  IrRunOptions options = options_for (0);
  guint n;
  IrNode *const *nodes = ir_graph_order (subject.model->main, &n);

  for (guint i = 10; i < 20; i++)
    g_array_append_val (chosen, nodes[i]->outputs[0]->id);
  options.capture = IR_CAPTURE_ALL;
  g_autoptr (IrRun) all = run_with (subject.model, subject.inputs, &options);
  options.capture = IR_CAPTURE_CHOSEN;
  options.chosen = chosen;
  options.capture_budget = 5 * STEP_BYTES;
  g_autoptr (IrRun) run = run_with (subject.model, subject.inputs, &options);
  g_assert_cmpuint (ir_run_n_spilled (run), ==, 6); /* the output takes one place */
  g_assert_cmpuint (ir_run_n_kept (run), ==, 11);
  g_auto (IrFound) found = { 0 };
  g_autoptr (IrTensor) near = ir_run_find (run, nodes[21]->outputs[0]->id, NULL, &found, NULL);
  g_assert_nonnull (near);
  g_assert_cmpuint (found.n_nodes, ==, 2); /* from the last one that was chosen */
  g_assert_cmpstr (g_ptr_array_index (found.from, 0), ==, nodes[19]->outputs[0]->name);
  assert_same_bits (run, all);
}

/* With checkpoints no value is far from a kept one, and few are kept. */
static void
test_checkpoints (void)
{
  g_auto (Subject) subject = subject_of (build_chain ());
  IrRunOptions options = options_for (0);

  options.capture = IR_CAPTURE_CHECKPOINTS;
  g_autoptr (IrRun) run = run_with (subject.model, subject.inputs, &options);
  g_assert_cmpuint (ir_run_n_kept (run), <, N_STEPS * 3 / 4);
  guint n;
  IrNode *const *nodes = ir_graph_order (subject.model->main, &n);
  for (guint i = n; i-- > 0;) /* the last first: what was computed on the way stays there */
    {
      g_auto (IrFound) found = { 0 };
      g_autoptr (IrTensor) tensor = ir_run_find (run, nodes[i]->outputs[0]->id, NULL, &found, NULL);
      g_assert_nonnull (tensor);
      g_assert_cmpuint (found.n_nodes, <=, N_STEPS / 8);
    }
}

/* A run that fails in the middle has what came before, also on demand. */
static void
test_failed (void)
{
  g_autoptr (IrModel) model = read_text (
      HEAD "g (float[4] x, int64[1] s) => (y) { a = Exp (x) b = Neg (a) c = Reshape (b, s)\n"
           "y = Relu (c) }");
  g_autoptr (GHashTable) inputs = inputs_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (IrRun) partial = NULL;
  IrRunOptions options = options_for (0);

  inputs_add (inputs, ir_graph_input (model->main, 0), tensor_of ("float[4]", "1 2 3 4"));
  inputs_add (inputs, ir_graph_input (model->main, 1), tensor_of ("int64[1]", "3"));
  g_autoptr (IrExecutable) executable = ir_executable_new (model, &options, &error);
  g_assert_no_error (error);
  g_assert_null (ir_executable_run (executable, inputs, NULL, &partial, &error));
  g_assert_nonnull (error);
  g_clear_error (&error);
  const IrValue *b = ir_graph_find_value (model->main, "b"),
                *y = ir_graph_find_value (model->main, "y");
  g_autoptr (IrTensor) tensor = ir_run_find (partial, b->id, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_nonnull (tensor);
  g_assert_null (ir_run_find (partial, y->id, NULL, NULL, &error));
  g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_KERNEL);
}

static void
test_cancelled (void)
{
  g_auto (Subject) subject = subject_of (build_chain ());
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) error = NULL;
  IrRunOptions options = options_for (0);
  g_autoptr (IrRun) run = run_with (subject.model, subject.inputs, &options);
  guint n;
  IrNode *const *nodes = ir_graph_order (subject.model->main, &n);

  g_cancellable_cancel (cancellable);
  g_assert_null (ir_run_find (run, nodes[n / 2]->outputs[0]->id, cancellable, NULL, &error));
  g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_CANCELLED);
  g_clear_error (&error);
  g_autoptr (IrTensor) tensor = ir_run_find (run, nodes[n / 2]->outputs[0]->id, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_nonnull (tensor);
}

/* -- tensors that are lent -- */

static GHashTable *
copies_of (IrRun *run)
{
  GHashTable *copies = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);

  for (guint id = 1; id < run->n_values; id++)
    {
      const IrTensor *tensor = ir_run_value (run, id);
      if (tensor != NULL)
        g_hash_table_insert (copies, GUINT_TO_POINTER (id),
                             ir_tensor_new_copy (ir_tensor_dtype (tensor), ir_tensor_rank (tensor),
                                                 ir_tensor_dims (tensor), ir_tensor_data (tensor)));
    }
  return copies;
}

static void
assert_unchanged (IrRun *run, GHashTable *copies)
{
  GHashTableIter iter;
  gpointer id, copy;

  g_hash_table_iter_init (&iter, copies);
  while (g_hash_table_iter_next (&iter, &id, &copy))
    g_assert_true (ir_tensor_equal (ir_run_value (run, GPOINTER_TO_UINT (id)), copy));
}

/* Runs that somebody still has stay what they are while the plan runs again, and after it is gone;
 * so does one tensor of a run that is gone. */
static void
test_lent (void)
{
  g_autoptr (IrModel) model = build_chain ();
  g_autoptr (GHashTable) inputs = random_inputs (model), others = inputs_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (IrTensor) alone = NULL, copy = NULL;
  IrRunOptions options = options_for (0);
  guint n;
  IrNode *const *nodes = ir_graph_order (model->main, &n);
  IrValueId early = nodes[0]->outputs[0]->id;

  inputs_add (others, ir_graph_input (model->main, 0), tensor_random ("float[64,64]", 99));
  options.capture = IR_CAPTURE_ALL;
  g_autoptr (IrExecutable) executable = ir_executable_new (model, &options, &error);
  g_assert_no_error (error);
  g_autoptr (IrRun) first = ir_executable_run (executable, inputs, NULL, NULL, &error);
  g_autoptr (GHashTable) copies = copies_of (first);
  g_assert_cmpuint (g_hash_table_size (copies), >=, N_STEPS);
  for (guint i = 0; i < 3; i++)
    {
      g_autoptr (IrRun) run = ir_executable_run (executable, others, NULL, NULL, &error);
      g_assert_no_error (error);
      g_assert_false (ir_tensor_equal (ir_run_value (run, early), ir_run_value (first, early)));
      assert_unchanged (first, copies);
      if (i > 0)
        continue;
      alone = ir_tensor_ref (ir_run_value (run, early));
      copy = ir_tensor_new_copy (IR_DTYPE_FLOAT, 2, ir_tensor_dims (alone), ir_tensor_data (alone));
    }
  g_autoptr (IrRun) last = ir_executable_run (executable, inputs, NULL, NULL, &error);
  g_autoptr (IrRun) shared = ir_run_ref (last);
  assert_unchanged (last, copies);
  g_assert_true (ir_tensor_equal (alone, copy));
  g_clear_pointer (&executable, ir_executable_free);
  assert_unchanged (first, copies);
  g_clear_pointer (&last, ir_run_unref);
  assert_unchanged (shared, copies);
}

/* -- statistics -- */

/* Element by element, against what runs over vectors, at sizes around those of vectors and blocks.
 */
static void
test_stats (void)
{
  static const char *const types[] = { "float", "double",  "int64", "int32",
                                       "uint8", "float16", "bool" };
  static const guint sizes[] = { 1, 3, 4, 5, 1023, 1024, 1025, 5000 };

  for (guint i = 0; i < G_N_ELEMENTS (types) * G_N_ELEMENTS (sizes); i++)
    {
      guint n = sizes[i % G_N_ELEMENTS (sizes)];
      const char *name = types[i / G_N_ELEMENTS (sizes)];
      g_autofree char *type = g_strdup_printf ("%s[%u]", name, n);
      gboolean is_float = strcmp (name, "float") == 0 || strcmp (name, "double") == 0;
      g_autoptr (IrTensor) tensor = tensor_of (
          type, is_float ? "1000.5 -3 0 nan 7 inf 2.25 -inf 0 1e3 -1e-3" : "1 0 1 1 0");
      IrTensorStats stats;
      guint64 n_finite = 0, n_zero = 0, n_nan = 0, n_inf = 0, in_bins = 0;
      double sum = 0, squares = 0, low = INFINITY, high = -INFINITY;
      for (guint k = 0; k < n; k++)
        {
          double x = ir_tensor_get_double (tensor, k);
          n_nan += isnan (x) != 0;
          n_inf += isinf (x) != 0;
          if (!isfinite (x))
            continue;
          n_finite++;
          n_zero += x == 0;
          sum += x;
          squares += x * x;
          low = MIN (low, x);
          high = MAX (high, x);
        }
      ir_tensor_stats (tensor, 16, &stats);
      double mean = sum / (double) n_finite;
      g_assert_cmpuint (stats.n, ==, n);
      g_assert_cmpuint (stats.n_zero, ==, n_zero);
      g_assert_cmpuint (stats.n_nan, ==, n_nan);
      g_assert_cmpuint (stats.n_pos_inf + stats.n_neg_inf, ==, n_inf);
      g_assert_cmpfloat (stats.min, ==, low);
      g_assert_cmpfloat (stats.max, ==, high);
      g_assert_cmpfloat_with_epsilon (stats.mean, mean, 1e-9 * (1 + fabs (mean)));
      g_assert_cmpfloat_with_epsilon (
          stats.std, sqrt (MAX (squares / (double) n_finite - mean * mean, 0)), 1e-4);
      for (guint k = 0; k < stats.n_bins; k++)
        in_bins += stats.bins[k];
      g_assert_cmpuint (in_bins, ==, n_finite);
    }
}

/* A large mean does not cancel, large numbers do not overflow, and one bit changes the checksum. */
static void
test_stats_extremes (void)
{
  g_autoptr (IrTensor) shifted = tensor_of ("double[4000]", "1000000001 1000000003"),
                       huge = tensor_of ("double[2000]", "1e308"),
                       same = tensor_of ("double[4000]", "1000000001 1000000003");
  IrTensorStats stats, other;

  ir_tensor_stats (shifted, 8, &stats);
  g_assert_cmpfloat_with_epsilon (stats.std, 1, 1e-9);
  g_assert_cmpfloat_with_epsilon (stats.mean, 1000000002, 1e-6);
  ir_tensor_stats (same, 0, &other);
  g_assert_cmpuint (stats.checksum, ==, other.checksum);
  for (guint i = 0; i < 64; i++)
    {
      guint64 *words = ir_tensor_data_writable (same);
      words[i * 37] ^= G_GUINT64_CONSTANT (1) << i;
      ir_tensor_stats (same, 0, &other);
      g_assert_cmpuint (stats.checksum, !=, other.checksum);
      words[i * 37] ^= G_GUINT64_CONSTANT (1) << i;
    }
  ir_tensor_stats (huge, 4, &stats);
  g_assert_cmpfloat_with_epsilon (stats.mean / 1e308, 1, 1e-9);
}

/* -- the file by itself -- */

static void
test_spill_file (void)
{
  g_autoptr (IrSpill) spill = ir_spill_new (0);
  g_autoptr (IrTensor)
      first = tensor_random ("float[7,3]", 1),
      second = tensor_random ("float[5]", 2), large = tensor_random ("float[1000]", 3),
      strings = ir_tensor_new_strings (0, NULL, (GBytes *[]){ g_bytes_new ("a", 1) });

  g_assert_true (ir_spill_write (spill, 1, first));
  g_autoptr (IrTensor) early = ir_spill_read (spill, 1, NULL);
  g_assert_true (ir_tensor_equal (early, first));
  guint64 bytes = ir_spill_bytes (spill);
  g_assert_true (ir_spill_write (spill, 1, second)); /* in the same place */
  g_assert_cmpuint (ir_spill_bytes (spill), ==, bytes);
  g_assert_true (ir_spill_write (spill, 2, large));
  g_assert_true (ir_spill_write (spill, 1, large)); /* behind */
  g_autoptr (IrTensor) again = ir_spill_read (spill, 1, NULL),
                       other = ir_spill_read (spill, 2, NULL);
  g_assert_true (ir_tensor_equal (again, large));
  g_assert_true (ir_tensor_equal (other, large));
  g_assert_false (ir_spill_write (spill, 3, strings));
  g_assert_false (ir_spill_has (spill, 3));
  g_assert_null (ir_spill_read (spill, 3, NULL));
  g_assert_cmpuint (ir_spill_n_lost (spill), ==, 1);
  g_assert_cmpuint ((guintptr) ir_tensor_data (other) % 64, ==, 0);
}

/* A disk with room for so many bytes, which takes a few at a time and is interrupted; below 0: as it is. */
static gint64 disk_room = -1;
static gboolean interrupted;

gssize __real_pwrite64 (int fd, const void *data, gsize size, goffset offset);
gssize __wrap_pwrite64 (int fd, const void *data, gsize size, goffset offset);

gssize
__wrap_pwrite64 (int fd, const void *data, gsize size, goffset offset)
{
  if (disk_room < 0)
    return __real_pwrite64 (fd, data, size, offset);
  interrupted = !interrupted;
  if (interrupted)
    {
      errno = EINTR;
      return -1;
    }
  if (disk_room == 0)
    return 0;
  gssize written = __real_pwrite64 (fd, data, MIN (size, MIN (7, (gsize) disk_room)), offset);
  disk_room -= written;
  return written;
}

/* What is written in pieces is whole; what does not fit is lost, and the reason is kept. */
static void
test_slow_disk (void)
{
  static const gint64 rooms[] = { 1 << 20, 84, 83, 20, 0 };

  for (guint i = 0; i < G_N_ELEMENTS (rooms); i++)
    {
      g_autoptr (IrSpill) spill = ir_spill_new (0);
      g_autoptr (IrTensor) tensor = tensor_random ("float[7,3]", 1);
      disk_room = rooms[i];
      gboolean fits = disk_room >= 84, written = ir_spill_write (spill, 1, tensor);
      disk_room = -1;
      g_autoptr (IrTensor) read = ir_spill_read (spill, 1, NULL);
      g_assert_cmpint (written, ==, fits);
      g_assert_cmpuint (ir_spill_n_lost (spill), ==, !fits);
      g_assert_true (fits ? read != NULL && ir_tensor_equal (read, tensor) : read == NULL);
      if (!fits)
        g_assert_nonnull (strstr (ir_spill_problem (spill), g_strerror (ENOSPC)));
      /* Nothing more is written. */
      g_assert_cmpint (ir_spill_write (spill, 2, tensor), ==, fits);
    }
}

/* What other threads ask for while a run goes on, or another thread shows it, is read under a lock. */
static void
test_locks (void)
{
  g_auto (Subject) subject = subject_of (build_chain ());
  g_autoptr (IrSpill) spill = ir_spill_new (0);
  g_autoptr (IrTensor) tensor = tensor_random ("float[5]", 2);
  IrRunOptions options = options_for (0);
  guint n;
  IrNode *const *nodes = ir_graph_order (subject.model->main, &n);
  const IrValueId kept = nodes[n - 1]->outputs[0]->id, left = nodes[10]->outputs[0]->id;

  ASSERT_LOCKS (1, ir_spill_write (spill, 1, tensor));
  ASSERT_LOCKS (1, g_assert_true (ir_spill_alias (spill, 2, 1, tensor)));
  ASSERT_LOCKS (1, g_assert_true (ir_spill_has (spill, 2)));
  ASSERT_LOCKS (1, ir_tensor_unref (ir_spill_read (spill, 2, NULL)));
  ASSERT_LOCKS (1, ir_spill_remove (spill, 2));
  g_assert_false (ir_spill_has (spill, 2));
  options.capture = IR_CAPTURE_NONE;
  g_autoptr (IrRun) run = run_with (subject.model, subject.inputs, &options);
  ASSERT_LOCKS (1, ir_tensor_unref (ir_capture_peek (run, kept)));
  ASSERT_LOCKS (1, g_assert_null (ir_capture_present (run, left, NULL, NULL)));
  g_autoptr (IrTensor) first = NULL;
  ASSERT_LOCKS (12, first = ir_run_find (run, left, NULL, NULL, NULL));
  g_assert_nonnull (first);
}

/* Half of the run's memory at most, or what was asked for if that is less. */
static void
test_budget (void)
{
  static const struct
  {
    guint64 asked, limit, wanted;
  } rows[] = { { 30, 0, 30 }, { 30, 100, 30 }, { 80, 100, 50 }, { 0, 100, 50 }, { 50, 101, 50 } };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      IrRunOptions options = { .capture_budget = rows[i].asked, .memory_limit = rows[i].limit };
      g_assert_cmpuint (ir_capture_budget (&options), ==, rows[i].wanted);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/capture/the budget is a part of the limit", test_budget);
  for (guint i = 0; i < N_MODELS; i++)
    {
      const char *title = i < G_N_ELEMENTS (texts) ? texts[i].title : "convolutions in blocks";
      g_autofree char *policy = g_strdup_printf (
          "/capture/policies/%s: every value has the bits of a run that kept all", title);
      g_autofree char *spill = g_strdup_printf (
          "/capture/spill/%s: values beyond the budget come back from a file", title);
      g_autofree char *reuse = g_strdup_printf (
          "/capture/reuse/%s: after a change the bits are those of a run of everything", title);
      g_autofree char *full = g_strdup_printf (
          "/capture/full-disk/%s: what does not fit is computed again", title);
      g_test_add_data_func (policy, GUINT_TO_POINTER (i), test_policy);
      g_test_add_data_func (spill, GUINT_TO_POINTER (i), test_spill);
      g_autofree char *show = g_strdup_printf ("/capture/show/%s: a run shows what it has by now",
                                               title);
      g_test_add_data_func (reuse, GUINT_TO_POINTER (i), test_reuse);
      g_test_add_data_func (show, GUINT_TO_POINTER (i), test_shown);
      g_test_add_data_func (full, GUINT_TO_POINTER (i), test_full_disk);
    }
  g_test_add_func ("/capture/reuse/of other inputs and seeds what they lead to runs again",
                   test_reuse_inputs);
  g_test_add_func ("/capture/full-disk/a limit on sizes of files does not end the program",
                   test_file_limit);
  g_test_add_func ("/capture/budget/values of many times the budget are there at every node",
                   test_exceeds_budget);
  g_test_add_func ("/capture/budget/chosen values alone are kept, and others are near",
                   test_chosen);
  g_test_add_func ("/capture/budget/checkpoints are few, and nothing is far from one",
                   test_checkpoints);
  g_test_add_func ("/capture/a run that failed gives what came before, computed if need be",
                   test_failed);
  g_test_add_func ("/capture/computing again can be cancelled and asked for again", test_cancelled);
  g_test_add_func ("/capture/tensors that are lent stay what they are while somebody has them",
                   test_lent);
  g_test_add_func ("/capture/statistics/over vectors are those element by element", test_stats);
  g_test_add_func ("/capture/statistics/neither cancel nor overflow, and see every bit",
                   test_stats_extremes);
  g_test_add_func ("/capture/the file replaces contents and refuses what has no bytes",
                   test_spill_file);
  g_test_add_func ("/capture/locks/what threads share is read under them", test_locks);
  g_test_add_func ("/capture/full-disk/what is written in pieces is whole, or counted as lost",
                   test_slow_disk);
  return g_test_run ();
}
