/* Kept values that lie within others: which ones do, that their bytes are there and counted once,
 * and that they are what running their nodes again gives, run after run, whoever still has them. */
#include "config.h"

#include "core/exec/run/capture.h"
#include "core/exec/kernel/backend.h"
#include "core/io/io.h"
#include "tests/exec/graphs.h"

#include <stdlib.h>
#include <string.h>

#define HEAD "<ir_version: 10, opset_import: [\"\" : 21]>\n"

/* @inside: "part whole bytes" triples, the part that many bytes into the whole; with - instead of
 * bytes: the two have no byte in common. */
static const struct
{
  const char *title, *text, *inside;
} cases[] = {
  { "what Concat joins",
    HEAD "g (float[4,16] x) => (float[8,16] y) {\n"
         "a = Exp (x) b = Neg (a) c = Concat <axis = 0> (a, b) y = Relu (c) }",
    "a c 0;b c 256;c y -" },
  { "dense blocks, all of them in the last",
    HEAD "g (float[1,4,16] x) => (float[1,16,16] y) {\n"
         "a = Exp (x) b = Neg (a) c = Concat <axis = 1> (a, b) d = Sin (b)\n"
         "e = Concat <axis = 1> (c, d) f = Cos (d) g = Concat <axis = 1> (e, f)\n"
         "y = Tanh (g) }",
    "a g 0;b g 256;c g 0;d g 512;e g 0;f g 768" },
  { "longer and longer lists of the same values",
    HEAD "g (float[4,16] x) => (float[16,16] y) {\n"
         "a = Exp (x) b = Neg (a) c = Concat <axis = 0> (a, b) d = ReduceMax <keepdims = 1> (c)\n"
         "e = Add (a, d) f = Concat <axis = 0> (a, b, e) h = ReduceMax <keepdims = 1> (f)\n"
         "i = Sub (b, h) j = Concat <axis = 0> (a, b, e, i) y = Tanh (j) }",
    "a j 0;b j 256;c j 0;e j 512;f j 0;i j 768" },
  { "a list within a list, not at its beginning",
    HEAD "g (float[4,16] x) => (float[12,16] y) {\n"
         "a = Exp (x) b = Neg (a) c = Concat <axis = 0> (b, a) d = ReduceMax <keepdims = 1> (c)\n"
         "e = Add (a, d) f = Concat <axis = 0> (e, b, a) y = Tanh (f) }",
    "e f 0;b f 256;a f 512;c f 256" },
  { "one value joined twice, and by two",
    HEAD "g (float[4,16] x) => (float[8,16] y, float[8,16] z) {\n"
         "a = Exp (x) b = Neg (x) c = Concat <axis = 0> (a, a) d = Concat <axis = 0> (b, a)\n"
         "y = Tanh (c) z = Tanh (d) }",
    "b d 0;a d 256;a c -" },
  { "the very same Concat again",
    HEAD "g (float[4,16] x) => (float[8,16] y) {\n"
         "a = Exp (x) b = Neg (x) c = Concat <axis = 0> (a, b) d = Concat <axis = 0> (a, b)\n"
         "y = Add (c, d) }",
    "a d 0;b d 256;c d 0" },
  { "views, and views of views",
    HEAD "g (float[4,16] x) => (float[64] y) {\n"
         "a = Exp (x) s = Constant <value = int64[1] {-1}> () b = Reshape (a, s)\n"
         "t = Constant <value = int64[2] {8, 8}> () c = Reshape (b, t) d = Flatten <axis = 0> (c)\n"
         "y = Neg (b) }",
    "b a 0;c a 0;d a 0;y a -" },
  { "views of what the run is given",
    HEAD "g (float[4,16] x) => (float[128] y) {\n"
         "s = Constant <value = int64[1] {-1}> () b = Reshape (x, s) c = Reshape (b, s)\n"
         "d = Neg (c) y = Concat <axis = 0> (c, d) }",
    "d y 256;b y -;c y -" },
  { "the source of a view that is joined",
    HEAD "g (float[4,16] x) => (float[128] z) {\n"
         "a = Exp (x) s = Constant <value = int64[1] {-1}> () b = Reshape (a, s) c = Neg (b)\n"
         "y = Concat <axis = 0> (c, b) z = Tanh (y) }",
    "c y 0;b y 256;a y 256" },
  { "what Split and Slice cut out",
    HEAD "g (float[8,16] x) => (float[4,16] y) {\n"
         "a = Exp (x) p, q = Split <axis = 0, num_outputs = 2> (a)\n"
         "i = Constant <value = int64[1] {2}> () j = Constant <value = int64[1] {6}> ()\n"
         "k = Constant <value = int64[1] {0}> () r = Slice (a, i, j, k) u = Add (p, q)\n"
         "y = Mul (u, r) }",
    "p a 0;q a 256;r a 128" },
  { "what is cut out and joined again, the other way round",
    HEAD "g (float[8,16] x) => (float[8,16] y) {\n"
         "a = Exp (x) p, q = Split <axis = 0, num_outputs = 2> (a) c = Concat <axis = 0> (q, p)\n"
         "y = Neg (c) }",
    "q c 0;p c 256;a c -" },
  { "what is cut out and joined as it was",
    HEAD "g (float[8,16] x) => (float[8,16] y) {\n"
         "a = Exp (x) p, q = Split <axis = 0, num_outputs = 2> (a) c = Concat <axis = 0> (p, q)\n"
         "y = Neg (c) }",
    "p c 0;q c 256" },
  { "no range of bytes, and none that begins at a line",
    HEAD "g (float[4,16] x, float[3] z) => (float[4,32] y, float[6] w) {\n"
         "a = Exp (x) b = Neg (x) c = Concat <axis = 1> (a, b) y = Tanh (c)\n"
         "d = Exp (z) e = Neg (z) f = Concat <axis = 0> (d, e) w = Tanh (f) }",
    "a c -;b c -;d f 0;e f -" },
  { "outputs of the graph",
    HEAD "g (float[4,16] x) => (float[4,16] a, float[8,16] c, float[128] y) {\n"
         "a = Exp (x) b = Neg (a) c = Concat <axis = 0> (a, b)\n"
         "s = Constant <value = int64[1] {-1}> () y = Reshape (c, s) }",
    "a c 0;b c 256;y c 0" },
  { "what only constants lead to, and views of it",
    HEAD "g (float[2,3] x) => (float[2,9] y) {\n"
         "w = Constant <value = float[3,2] {1, 2, 3, 4, 5, 6}> () t = Transpose (w) a = Exp (x)\n"
         "s = Constant <value = int64[1] {-1}> () u = Reshape (t, s) v = Neg (u)\n"
         "r = Constant <value = int64[2] {2, 3}> () z = Reshape (v, r)\n"
         "y = Concat <axis = 1> (t, z, a) }",
    "u t 0;z v 0;t y -;z y -" },
  { "parts that only a run gives a shape",
    HEAD "g (float[8] x) => (float[n] y) {\n"
         "zero = Constant <value = float {0}> () m = Greater (x, zero) p = Compress (x, m)\n"
         "q = Exp (p) y = Concat <axis = 0> (p, q) }",
    "" },
};

static IrModel *
read_text (const char *text)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  IrModel *model = ir_text_read (text, -1, problems, &error);

  g_assert_no_error (error);
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);
  ir_infer_model (edit, IR_INFER_DEFAULT, problems);
  return model;
}

static IrRun *
run_again (IrExecutable *executable, GHashTable *inputs)
{
  g_autoptr (GError) error = NULL;
  IrRun *run = ir_executable_run (executable, inputs, NULL, NULL, &error);

  g_assert_no_error (error);
  return run;
}

static IrExecutable *
executable_for (IrModel *model, const char *backend, IrCaptureKind capture, guint64 budget)
{
  g_autoptr (GError) error = NULL;
  IrRunOptions options = { .backend = ir_backend_find (backend),
                           .n_threads = 1,
                           .capture = capture,
                           .capture_budget = budget };
  IrExecutable *executable = ir_executable_new (model, &options, &error);

  g_assert_no_error (error);
  return executable;
}

static GHashTable *
random_inputs (IrModel *model, guint seed)
{
  g_autoptr (GError) error = NULL;
  GHashTable *inputs = ir_random_inputs (model, seed, NULL, &error);

  g_assert_no_error (error);
  return inputs;
}

/* -- bytes -- */

typedef struct
{
  guintptr first, end;
} Range;

static int
compare_ranges (gconstpointer a, gconstpointer b)
{
  const Range *left = a, *right = b;

  return left->first < right->first ? -1 : left->first > right->first;
}

/* Bytes of what @run has kept and made itself; those that several values share once. */
static guint64
distinct_bytes (const IrRun *run, GHashTable *inputs)
{
  g_autoptr (GArray) ranges = g_array_new (FALSE, FALSE, sizeof (Range));
  guint64 bytes = 0;
  guintptr end = 0;

  for (IrValueId id = 1; id < run->n_values; id++)
    {
      const IrValue *value = ir_model_live_value (run->model, id);
      gboolean given = FALSE;
      GHashTableIter iter;
      gpointer tensor;
      if (run->values[id] == NULL || value->producer == NULL || ir_value_constant (value) != NULL)
        continue;
      Range range = { (guintptr) ir_tensor_data (run->values[id]), 0 };
      range.end = range.first + ir_tensor_n_bytes (run->values[id]);
      g_hash_table_iter_init (&iter, inputs);
      while (g_hash_table_iter_next (&iter, NULL, &tensor))
        given = given || (guintptr) ir_tensor_data (tensor) == range.first;
      if (!given)
        g_array_append_val (ranges, range);
    }
  g_array_sort (ranges, compare_ranges);
  for (guint i = 0; i < ranges->len; i++)
    {
      const Range *range = &g_array_index (ranges, Range, i);
      bytes += range->end > end ? range->end - MAX (range->first, end) : 0;
      end = MAX (end, range->end);
    }
  return bytes;
}

static const IrTensor *
kept (const IrRun *run, const char *name)
{
  const IrValue *value = ir_graph_find_value (run->model->main, name);

  g_assert_nonnull (value);
  g_assert_nonnull (run->values[value->id]);
  return run->values[value->id];
}

static void
assert_inside (const IrRun *run, const char *triple)
{
  g_auto (GStrv) words = g_strsplit (triple, " ", 3);
  const IrTensor *part = kept (run, words[0]), *whole = kept (run, words[1]);
  const guint8 *from = ir_tensor_data (whole), *data = ir_tensor_data (part);

  if (strcmp (words[2], "-") == 0)
    g_assert_true (data + ir_tensor_n_bytes (part) <= from ||
                   from + ir_tensor_n_bytes (whole) <= data);
  else if (data != from + atoi (words[2]))
    g_error ("%s does not lie %s bytes into %s", words[0], words[2], words[1]);
}

/* Against nodes that run one by one, each value with memory of its own. */
static void
assert_right (IrModel *model, GHashTable *inputs, const char *backend, IrRun *run)
{
  g_autoptr (IrExecutable) plain = executable_for (model, backend, IR_CAPTURE_NONE, 0);
  g_autoptr (IrRun) none = run_again (plain, inputs);

  for (IrValueId id = 1; id < run->n_values; id++)
    {
      const IrValue *value = ir_model_live_value (run->model, id);
      g_autoptr (GError) error = NULL;
      if (value == NULL)
        continue;
      g_autoptr (IrTensor) wanted = ir_run_find (none, id, NULL, NULL, &error);
      g_assert_no_error (error);
      g_autoptr (IrTensor) found = ir_run_find (run, id, NULL, NULL, &error);
      g_assert_no_error (error);
      if (!ir_tensor_equal (found, wanted))
        g_error ("%s differs", value->name);
    }
}

static const char *const backends[] = { "cpu", "ref" };

static void
test_case (gconstpointer data)
{
  guint index = GPOINTER_TO_UINT (data);
  g_autoptr (IrModel) model = read_text (cases[index].text);
  g_auto (GStrv) inside = g_strsplit (cases[index].inside, ";", -1);

  for (guint i = 0; i < G_N_ELEMENTS (backends); i++)
    {
      g_autoptr (IrExecutable) executable = executable_for (model, backends[i], IR_CAPTURE_ALL, 0);
      for (guint round = 0; round < 3; round++)
        {
          g_autoptr (GHashTable) inputs = random_inputs (model, round);
          g_autoptr (IrRun) run = run_again (executable, inputs);
          for (guint k = 0; inside[k] != NULL; k++)
            assert_inside (run, inside[k]);
          if (inside[0] != NULL) /* all shapes are known */
            g_assert_cmpuint (run->trace->peak_bytes, ==, distinct_bytes (run, inputs));
          assert_right (model, inputs, backends[i], run);
        }
    }
}

/* What does not fit into a budget goes to the file or has memory of its own; what shares bytes
 * takes them once. */
static void
test_budget (gconstpointer data)
{
  guint index = GPOINTER_TO_UINT (data);
  g_autoptr (IrModel) model = read_text (cases[index].text);
  g_autoptr (GHashTable) inputs = random_inputs (model, 1);
  g_autoptr (IrExecutable) free = executable_for (model, "cpu", IR_CAPTURE_ALL, 0),
                           none = executable_for (model, "cpu", IR_CAPTURE_NONE, 0);
  g_autoptr (IrRun) all = run_again (free, inputs);
  g_autoptr (IrRun) least = run_again (none, inputs);
  guint64 bytes = distinct_bytes (all, inputs), outputs = distinct_bytes (least, inputs);

  g_assert_cmpuint (ir_run_n_spilled (all), ==, 0);
  for (guint64 budget = 64; budget < bytes + 64; budget += 192)
    {
      g_autoptr (IrExecutable) executable = executable_for (model, "cpu", IR_CAPTURE_ALL, budget);
      for (guint round = 0; round < 2; round++)
        {
          g_autoptr (IrRun) run = run_again (executable, inputs);
          /* Outputs are kept in any case; how large they are may turn out too late. */
          g_assert_cmpuint (distinct_bytes (run, inputs), <=,
                            cases[index].inside[0] != '\0' ? MAX (budget, outputs)
                                                           : budget + outputs);
          assert_right (model, inputs, "cpu", run);
        }
    }
}

/* Each value alone is chosen, then each but one. */
static void
test_chosen (gconstpointer data)
{
  guint index = GPOINTER_TO_UINT (data);
  g_autoptr (IrModel) model = read_text (cases[index].text);
  g_autoptr (GHashTable) inputs = random_inputs (model, 1);
  guint n;
  IrValue *const *values = ir_graph_values (model->main, &n);

  for (guint i = 0; i < 2 * n; i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (GArray) chosen = g_array_new (FALSE, FALSE, sizeof (IrValueId));
      for (guint k = 0; k < n; k++)
        if ((i / 2 == k) == (i % 2 == 0))
          g_array_append_val (chosen, values[k]->id);
      IrRunOptions options = { .n_threads = 1, .capture = IR_CAPTURE_CHOSEN, .chosen = chosen };
      g_autoptr (IrRun) run = ir_model_run (model, inputs, &options, NULL, &error);
      g_assert_no_error (error);
      for (guint k = 0; k < chosen->len; k++)
        g_assert_nonnull (ir_run_value (run, g_array_index (chosen, IrValueId, k)));
      assert_right (model, inputs, "cpu", run);
    }
}

/* -- who still has them -- */

/* Runs, and parts of wholes by themselves, stay what they are; what nobody has is written again. */
static void
test_lent (void)
{
  g_autoptr (IrModel) model = read_text (cases[1].text);
  g_autoptr (GHashTable) inputs = random_inputs (model, 1), others = random_inputs (model, 2);
  g_autoptr (IrExecutable) executable = executable_for (model, "cpu", IR_CAPTURE_ALL, 0);
  g_autoptr (IrRun) first = run_again (executable, inputs);
  IrRun *second = run_again (executable, others);
  g_autoptr (IrTensor) part = ir_tensor_ref ((IrTensor *) kept (second, "d")),
                       copy = ir_tensor_new_copy (ir_tensor_dtype (part), ir_tensor_rank (part),
                                                  ir_tensor_dims (part), ir_tensor_data (part));

  g_assert_true (ir_tensor_data (kept (first, "g")) != ir_tensor_data (kept (second, "g")));
  assert_right (model, inputs, "cpu", first);
  ir_run_unref (second);
  g_autoptr (IrRun) third = run_again (executable, inputs);
  g_assert_true (ir_tensor_equal (part, copy));
  assert_inside (third, "d g 512");
  assert_right (model, inputs, "cpu", third);
  gconstpointer data = ir_tensor_data (kept (third, "g"));
  g_clear_pointer (&third, ir_run_unref);
  g_autoptr (IrRun) fourth = run_again (executable, others);
  g_assert_true (ir_tensor_data (kept (fourth, "g")) == data);
  g_clear_pointer (&executable, ir_executable_free);
  assert_right (model, inputs, "cpu", first);
  assert_right (model, others, "cpu", fourth);
  g_assert_true (ir_tensor_equal (part, copy));
}

/* What is known of contents is forgotten with them, also where nobody took a reference. */
static void
test_hashes (void)
{
  g_autoptr (IrModel) model = read_text (cases[1].text);
  g_autoptr (GHashTable) inputs = random_inputs (model, 1), others = random_inputs (model, 2);
  g_autoptr (IrExecutable) executable = executable_for (model, "cpu", IR_CAPTURE_ALL, 0);
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);

  for (guint round = 0; round < 6; round++)
    {
      g_autoptr (IrRun) run = run_again (executable, round % 2 == 0 ? inputs : others);
      const IrTensor *tensor = kept (run, "g");
      g_autoptr (IrTensor)
          copy = ir_tensor_new_copy (ir_tensor_dtype (tensor), ir_tensor_rank (tensor),
                                     ir_tensor_dims (tensor), ir_tensor_data (tensor));
      g_hash_table_add (seen, (gpointer) ir_tensor_data (tensor));
      if (round < 2 || round == 4) /* not in every run */
        g_assert_cmpuint (ir_tensor_hash (tensor), ==, ir_tensor_hash (copy));
    }
  g_assert_cmpuint (g_hash_table_size (seen), ==, 1);
}

/* -- the same in every run -- */

static const char *
kernel_of (const IrRun *run, const char *output)
{
  for (guint i = 0; i < run->trace->items->len; i++)
    {
      const IrTraceItem *item = &g_array_index (run->trace->items, IrTraceItem, i);
      const IrNode *node = ir_model_node (run->model, item->node);
      if (strcmp (node->outputs[0]->name, output) == 0)
        return item->kernel;
    }
  g_assert_not_reached ();
}

static gboolean
is_from_before (const IrRun *run, const char *output)
{
  return strstr (kernel_of (run, output), "kept from the first run") != NULL;
}

static const char fixed_text[] = HEAD
    "g (float[2,3] x) => (float[2,3] y, float[2,3] v) {\n"
    "w = Constant <value = float[3,2] {1, 2, 3, 4, 5, 6}> () t = Transpose (w) u = Exp (t)\n"
    "r = RandomUniformLike (u) a = Exp (x) b = Add (a, u) y = Mul (b, r) v = Neg (t) }";

/* Nodes that only constants lead to run once, unless they draw at random, are views or give an
 * output of the graph; all runs have the same tensor. */
static void
test_fixed (void)
{
  g_autoptr (IrModel) model = read_text (fixed_text);
  g_autoptr (GHashTable) inputs = random_inputs (model, 1), others = random_inputs (model, 2);
  g_autoptr (IrExecutable) executable = executable_for (model, "cpu", IR_CAPTURE_ALL, 0);
  g_autoptr (IrRun) first = run_again (executable, inputs);
  g_autoptr (IrRun) second = run_again (executable, others);

  assert_right (model, inputs, "cpu", first);
  assert_right (model, others, "cpu", second);
  for (const char *name = "tuayvrb"; *name != 0; name++)
    {
      const char text[] = { *name, 0 };
      gboolean fixed = *name == 't' || *name == 'u';
      g_assert_false (is_from_before (first, text));
      g_assert_cmpint (is_from_before (second, text), ==, fixed);
      g_assert_cmpint (ir_tensor_data (kept (first, text)) == ir_tensor_data (kept (second, text)),
                       ==, fixed);
    }
  g_clear_pointer (&executable, ir_executable_free);
  g_clear_pointer (&first, ir_run_unref);
  assert_right (model, others, "cpu", second);
}

static void
test_fixed_alone (void)
{
  g_autoptr (IrModel) model = read_text (fixed_text);
  g_autoptr (GHashTable) inputs = random_inputs (model, 1);
  const struct
  {
    IrCaptureKind capture;
    guint64 budget;
  } kinds[] = { { IR_CAPTURE_NONE, 0 }, { IR_CAPTURE_STATS, 0 }, { IR_CAPTURE_ALL, 1 } };

  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    {
      g_autoptr (IrExecutable)
          executable = executable_for (model, "cpu", kinds[i].capture, kinds[i].budget);
      g_autoptr (IrRun) first = run_again (executable, inputs);
      g_autoptr (IrRun) second = run_again (executable, inputs);
      g_assert_false (is_from_before (second, "t"));
      assert_right (model, inputs, "cpu", second);
    }
}

static void
cancel_at (guint done, guint total, const IrNode *node, gpointer cancellable)
{
  if (strcmp (node->outputs[0]->name, "w") == 0)
    g_cancellable_cancel (cancellable);
}

/* What a run that was cancelled did not come to is not there in the next one. */
static void
test_fixed_after_cancelling (void)
{
  g_autoptr (IrModel) model = read_text (fixed_text);
  g_autoptr (GHashTable) inputs = random_inputs (model, 1);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) error = NULL;
  IrRunOptions options = {
    .n_threads = 1, .capture = IR_CAPTURE_ALL, .progress = cancel_at, .progress_data = cancellable
  };
  g_autoptr (IrExecutable) executable = ir_executable_new (model, &options, &error);
  g_assert_no_error (error);

  g_assert_null (ir_executable_run (executable, inputs, cancellable, NULL, &error));
  g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_CANCELLED);
  g_autoptr (IrRun) second = run_again (executable, inputs);
  g_assert_false (is_from_before (second, "t"));
  assert_right (model, inputs, "cpu", second);
  g_autoptr (IrRun) third = run_again (executable, inputs);
  g_assert_true (is_from_before (third, "t"));
  assert_right (model, inputs, "cpu", third);
}

/* -- blocks of channels -- */

/* A dense block of convolutions, in blocks of channels where the machine has vectors. */
static IrModel *
build_dense (void)
{
  g_auto (Builder) b = { 0 };
  builder_init (&b, 17);
  IrValue *at = build_input (&b, "x", "float[1,32,12,12]");
  for (guint i = 0; i < 3; i++)
    {
      g_autofree char *name = g_strdup_printf ("w%u", i),
                      *type = g_strdup_printf ("float[32,%u,3,3]", 32 * (i + 1));
      IrValue *w = build_constant (&b, name, tensor_random (type, i));
      IrNode *conv = build_node (&b, NULL, "Conv", 1, at, w, END);
      build_ints (&b, conv, "pads", 4, 1, 1, 1, 1);
      if (i == 0)
        at = build_node (&b, NULL, "Relu", 1, at, END)->outputs[0];
      IrNode *join = build_node (&b, NULL, "Concat", 1, at, conv->outputs[0], END);
      build_int (&b, join, "axis", 1);
      at = join->outputs[0];
    }
  build_output (&b, build_node (&b, NULL, "GlobalAveragePool", 1, at, END)->outputs[0]);
  build_done (&b);
  return ir_model_ref (b.model);
}

static void
test_blocks (void)
{
  g_autoptr (IrModel) model = build_dense ();
  g_autoptr (GHashTable) inputs = random_inputs (model, 1);
  g_autoptr (IrExecutable) executable = executable_for (model, "cpu", IR_CAPTURE_ALL, 0);
  const guint64 part = 32 * 12 * 12 * 4; /* of the first, the order changes */

  for (guint round = 0; round < 2; round++)
    {
      g_autoptr (IrRun) run = run_again (executable, inputs);
      guint64 bytes = distinct_bytes (run, inputs);
      guint n_joins = 0, n_nodes;
      IrNode *const *nodes = ir_graph_order (run->model->main, &n_nodes);
      const guint8 *end = NULL;
      for (guint i = 0; i < n_nodes; i++)
        {
          if (!ir_op_is (nodes[i], IR_OP_CONCAT))
            continue;
          const guint8 *data = ir_tensor_data (run->values[nodes[i]->outputs[0]->id]);
          g_assert_true (end == NULL || data == end);
          end = data;
          n_joins++;
        }
      g_assert_cmpuint (n_joins, ==, 3);
      g_assert_cmpuint (bytes, >=, 4 * part);
      g_assert_cmpuint (bytes, <, 6 * part);
      g_assert_cmpuint (run->trace->peak_bytes, ==, bytes);
      assert_right (model, inputs, "cpu", run);
    }
}

/* The plan of so many nodes is given back by another thread, beside the model and the run. */
static void
test_vast (void)
{
  g_auto (Builder) b = { 0 };
  g_autoptr (GHashTable) inputs = inputs_new ();
  g_autoptr (GError) error = NULL;
  IrRunOptions options = { .n_threads = 1 };

  builder_init (&b, 21);
  IrValue *x = build_input (&b, "x", "float[2]"), *y = x;
  for (guint i = 0; i < 70001; i++)
    y = build_node (&b, NULL, "Neg", 1, y, END)->outputs[0];
  build_output (&b, y);
  build_done (&b);
  IrValueId id = y->id;
  inputs_add (inputs, x, tensor_of ("float[2]", "1 -2"));
  g_autoptr (IrExecutable) executable = ir_executable_new (b.model, &options, &error);
  g_assert_no_error (error);
  g_autoptr (IrRun) run = ir_executable_run (executable, inputs, NULL, NULL, &error);
  g_assert_no_error (error);
  g_clear_pointer (&executable, ir_executable_free);
  builder_clear (&b);
  b = (Builder){ 0 };
  assert_tensor (ir_run_value (run, id), "float[2]", "-1 2", 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *all = g_strdup_printf (
          "/lasting/all/%s: shares bytes, which are counted once", cases[i].title);
      g_autofree char *budget = g_strdup_printf (
          "/lasting/budget/%s: no more memory than the budget", cases[i].title);
      g_autofree char *chosen = g_strdup_printf (
          "/lasting/chosen/%s: any of the values alone, and without one", cases[i].title);
      g_test_add_data_func (all, GUINT_TO_POINTER (i), test_case);
      g_test_add_data_func (budget, GUINT_TO_POINTER (i), test_budget);
      g_test_add_data_func (chosen, GUINT_TO_POINTER (i), test_chosen);
    }
  g_test_add_func ("/lasting/parts and wholes stay what they are while somebody has them",
                   test_lent);
  g_test_add_func ("/lasting/hashes are forgotten with what they are of", test_hashes);
  g_test_add_func ("/lasting/what only constants lead to is computed once", test_fixed);
  g_test_add_func ("/lasting/nodes run every time where their values are not kept",
                   test_fixed_alone);
  g_test_add_func ("/lasting/what a cancelled run did not come to is computed by the next",
                   test_fixed_after_cancelling);
  g_test_add_func ("/lasting/a dense block in blocks of channels is kept once", test_blocks);
  g_test_add_func ("/lasting/a run outlives the plan of very many nodes", test_vast);
  return g_test_run ();
}
