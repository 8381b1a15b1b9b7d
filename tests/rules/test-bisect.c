/* Bisection finds wrong rules that were planted among right ones, in few enough checks, and says
 * which tensor diverges first; predicates say where their text is wrong. */
#include "config.h"

#include "tests/rules/pass-test.h"

#include "core/exec/schedule/kernel-choice.h"
#include "passes/debug/reproduce.h"

#include <math.h>
#include <string.h>

/* -- predicates -- */

static const struct
{
  const char *text;
  guint column; /* 0: it can be read */
} texts[] = {
  { "max_abs(y) > 1e-3", 0 },
  { "max_abs('a (b) c')>=0", 0 },
  { " not has_nan( y ) and (rel(y) < .5 || nodes(Conv) != 3)", 0 },
  { "peak_memory > 1.5MiB or flops > 2e9 or nodes <= 7", 0 },
  { "cmd: ./check.sh {} --fast", 0 },
  { "cmd: 'grep -q Relu' or !has_nan(*)", 0 },
  { "", 1 },
  { "max_abs", 8 },
  { "max_abs(y", 8 },
  { "max_abs() > 1", 8 },
  { "max_abs(y)", 11 },
  { "max_abs(y) >", 13 },
  { "max_abs(y) > much", 14 },
  { "max_abs(y) > 1 2", 16 },
  { "has_nan(y) > 1", 12 },
  { "(nodes > 1", 1 },
  { "nodes > 1)", 10 },
  { "nodes > 1 and", 14 },
  { "rel(\"y) > 1", 5 },
  { "größe > 1", 1 },
  { "nodes > 1 ü", 11 },
  { "cmd", 4 },
  { "cmd: ", 6 },
  { "cmd: 'a \"b'", 6 },
};

static void
test_texts (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (IrPredicate) predicate = ir_predicate_parse (texts[i].text, &error);
      g_autofree char *begin = g_strdup_printf ("column %u: ", texts[i].column);

      g_test_message ("%s: %s", texts[i].text, error != NULL ? error->message : "is read");
      if (texts[i].column == 0)
        {
          g_assert_no_error (error);
          continue;
        }
      g_assert_error (error, IR_PREDICATE_ERROR, IR_PREDICATE_ERROR_SYNTAX);
      g_assert_true (g_str_has_prefix (error->message, begin));
    }
}

static void
test_depth (void)
{
  g_autofree char *deep = g_strnfill (100000, '('), *nots = g_strnfill (100000, '!');
  g_autoptr (IrPredicate) predicate = ir_predicate_parse (deep, NULL);

  g_assert_null (predicate);
  predicate = ir_predicate_parse (nots, NULL);
  g_assert_null (predicate);
}

/* -- trials -- */

typedef struct
{
  IrModel *model;
  IrTrial *trial;
} Case;

static void
case_clear (Case *c)
{
  g_clear_pointer (&c->trial, ir_trial_free);
  g_clear_pointer (&c->model, ir_model_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Case, case_clear)

static void
run_passes (IrModel *model, const IrPass *const *passes, guint n, guint max_iterations)
{
  g_autoptr (IrPipeline) pipeline = test_pipeline (passes[0]);
  IrPipelineOptions options = { .max_class = IR_CLASS_ROUNDING, .verify = TRUE };
  g_autoptr (GError) error = NULL;

  for (guint i = 1; i < n; i++)
    g_ptr_array_add (pipeline->passes, (gpointer) passes[i]);
  pipeline->max_iterations = max_iterations;
  g_assert_true (ir_pipeline_run (model, pipeline, &options, NULL, NULL, &error));
  g_assert_no_error (error);
}

static void
bisect (const Case *c, const char *text, IrBisection *result)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrPredicate) predicate = ir_predicate_parse (text, &error);

  g_assert_no_error (error);
  g_assert_true (ir_bisect (c->trial, predicate, NULL, NULL, result, &error));
  g_assert_no_error (error);
}

static guint
checks_allowed (guint n_steps)
{
  guint n = 2;

  while (1u << (n - 2) < n_steps)
    n++;
  return n;
}

/* -- wrong rules -- */

static gboolean
prepare_reshuffled (IrMatch *match)
{
  double c = ir_tensor_get_double (ir_match_constant (match, "c"), 0);

  ir_match_bind_tensor (match, "d", "d", ir_tensor_new_scalar (IR_DTYPE_FLOAT, c * 1.01));
  return TRUE;
}

/* Each meets one operator that the generated graphs have in one place only; none of the right rules
 * touches it. */
static const IrRule swaps[] = {
  { "wrong-order", "(Sub ?x ?y)", "(Add ?x ?y)", IR_CLASS_EXACT, "Wrong on purpose." },
  { NULL },
};
static const IrRule forgets[] = {
  { "wrong-sine", "(Sin ?x)", "?x", IR_CLASS_EXACT, "Wrong on purpose: forgets the sine." },
  { NULL },
};
static const IrRule makes_nan[] = {
  { "wrong-root", "(Softsign ?x)", "(Sqrt (Neg (Exp ?x)))", IR_CLASS_EXACT,
    "Wrong on purpose: NaN." },
  { NULL },
};
static const IrRule scales[] = {
  { "wrong-scale", "(Mul ?x ?c:scalar)", "(Div ?x (Reciprocal ?d))", IR_CLASS_ROUNDING,
    "Wrong on purpose: one in a hundred.", NULL, NULL, prepare_reshuffled },
  { NULL },
};
static const IrRule squares[] = {
  { "wrong-function", "(Atan ?x)", "(Tanh ?x)", IR_CLASS_EXACT, "Wrong on purpose." },
  { NULL },
};

static const IrPass wrong[] = {
  { .name = "wrong-swaps", .title = "Wrong", .rules = swaps },
  { .name = "wrong-forgets", .title = "Wrong", .rules = forgets },
  { .name = "wrong-makes-nan", .title = "Wrong", .rules = makes_nan },
  { .name = "wrong-scales", .title = "Wrong", .rules = scales },
  { .name = "wrong-function", .title = "Wrong", .rules = squares },
};

/* Right rules, of the kind of which a pipeline has many applications. */
static const IrRule right_identity[] = {
  { "right-identity", "(Identity ?x)", "?x", IR_CLASS_EXACT, "Right." },
  { NULL },
};
static const IrRule right_abs[] = {
  { "right-abs", "(Abs (Abs ?x))", "(Abs ?x)", IR_CLASS_EXACT, "Right." },
  { NULL },
};
static const IrRule right_neg[] = {
  { "right-neg", "(Neg (Neg ?x))", "?x", IR_CLASS_EXACT, "Right." },
  { NULL },
};

static const IrPass right[] = {
  { .name = "right-identity", .title = "Right", .rules = right_identity },
  { .name = "right-abs", .title = "Right", .rules = right_abs },
  { .name = "right-neg", .title = "Right", .rules = right_neg },
};

/* A chain of pieces that right rules shorten, with the operators that wrong rules meet strewn in.
 * The values stay between 0.05 and 3 in magnitude or so, and every operator is injective there. */
static char *
generate (GRand *rand, guint n_pieces)
{
  static const char *const pieces[] = { "Identity", "Abs Abs", "Neg Neg", "Identity Identity" };
  static const char *const targets[] = { "Sub", "Sin", "Softsign", "Mul", "Atan" };
  GString *text = g_string_new ("(float[n,4] x) => (float[n,4] y) { c = Constant <value = float "
                                "{1.5}> ()  v0 = Sigmoid (x)");
  guint place[G_N_ELEMENTS (targets)], n = 0;

  for (guint i = 0; i < G_N_ELEMENTS (targets); i++)
    place[i] = g_rand_int_range (rand, 0, n_pieces);
  for (guint i = 0; i < n_pieces; i++)
    {
      g_auto (GStrv) ops = g_strsplit (pieces[g_rand_int_range (rand, 0, 4)], " ", -1);

      for (guint k = 0; ops[k] != NULL; k++, n++)
        g_string_append_printf (text, "  v%u = %s (v%u)", n + 1, ops[k], n);
      for (guint k = 0; k < G_N_ELEMENTS (targets); k++)
        if (place[k] == i)
          {
            gboolean two = strcmp (targets[k], "Sub") == 0 || strcmp (targets[k], "Mul") == 0;
            g_string_append_printf (text, "  v%u = %s (v%u%s)", n + 1, targets[k], n,
                                    two ? ", c" : "");
            n++;
          }
    }
  g_string_append_printf (text, "  y = Exp (v%u) }", n);
  return g_string_free (text, FALSE);
}

static void
case_init (Case *c, GRand *rand, const IrPass *planted)
{
  g_autofree char *text = generate (rand, g_rand_int_range (rand, 5, 60));
  const IrPass *passes[G_N_ELEMENTS (right) + 1];
  guint n = 0, place = g_rand_int_range (rand, 0, G_N_ELEMENTS (right) + 1);

  for (guint i = 0; i <= G_N_ELEMENTS (right); i++)
    {
      if (i == place && planted != NULL)
        passes[n++] = planted;
      if (i < G_N_ELEMENTS (right))
        passes[n++] = &right[i];
    }
  c->model = test_model (text);
  test_model_randomize (c->model, rand);
  g_autoptr (GHashTable) inputs = test_inputs (c->model, rand, FALSE);
  run_passes (c->model, passes, n, 2);
  c->trial = ir_trial_new (c->model, inputs, NULL, 1, NULL);
}

static guint
planted_step (IrModel *model, const IrPass *planted)
{
  for (guint i = 1; i <= ir_history_n_steps (model); i++)
    if (strcmp (ir_history_step (model, i)->rule, planted->rules[0].name) == 0)
      return i;
  return 0;
}

/* The part of the graph is read back from its ONNX; the pass fails on it, and a right one does not.
 */
static void
assert_reproduced (const Case *c, const IrPass *planted, const char *predicate, IrBisection *found)
{
  const IrReproduceOptions how = { .pass = planted,
                                   .max_class = IR_CLASS_ROUNDING,
                                   .n_threads = 1 };
  const IrReproduceOptions innocent = { .pass = &right[0], .max_class = IR_CLASS_ROUNDING };
  g_auto (IrReproducer) part = { 0 };
  g_auto (IrBisection) again = { 0 }, nothing = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (GHashTable) inputs = g_hash_table_new (NULL, NULL);

  g_assert_true (ir_reproduce (c->trial, found, predicate, &how, &part, &error));
  g_assert_no_error (error);
  g_test_message ("%u of %u nodes, %s", part.n_part, part.n_whole, part.predicate);
  g_assert_false (part.is_whole);
  /* A rule that leaves nothing may need a node before it, as inputs cannot be outputs. */
  g_assert_cmpuint (part.n_part, <=, 2);
  g_assert_cmpuint (part.step, ==, 1);
  g_autoptr (IrModel) first = ir_history_snapshot (part.model, 0);
  g_autoptr (GBytes) bytes = ir_onnx_write_bytes (first, &error);
  g_assert_no_error (error);
  for (guint round = 0; round < 2; round++)
    {
      g_autoptr (IrModel) model = ir_onnx_read_bytes (bytes, NULL, NULL, &error);

      g_assert_no_error (error);
      g_hash_table_remove_all (inputs);
      for (guint i = 0; i < ir_graph_n_inputs (first->main); i++)
        g_hash_table_insert (
            inputs, GUINT_TO_POINTER (ir_graph_input (model->main, i)->id),
            g_hash_table_lookup (part.inputs,
                                 GUINT_TO_POINTER (ir_graph_input (first->main, i)->id)));
      g_assert_true (ir_reproduce_check (model, inputs, part.predicate,
                                         round == 0 ? &how : &innocent,
                                         round == 0 ? &again : &nothing, &error));
      g_assert_no_error (error);
    }
  g_assert_cmpint (again.answer, ==, IR_BISECT_FOUND);
  g_assert_cmpint (nothing.answer, ==, IR_BISECT_NOTHING_FAILS);
}

static void
test_planted (gconstpointer data)
{
  const IrPass *planted = data;
  g_autoptr (GRand) rand = g_rand_new_with_seed (planted - wrong + 40);

  for (guint i = 0; i < 12; i++)
    {
      g_auto (Case) c = { 0 };
      g_auto (IrBisection) found = { 0 };
      g_autoptr (GError) error = NULL;
      guint expected, n;

      case_init (&c, rand, planted);
      expected = planted_step (c.model, planted);
      n = ir_history_n_steps (c.model);
      g_assert_cmpuint (expected, >, 0);
      bisect (&c, planted == &wrong[2] ? "has_nan(y)" : "max_abs(y) > 1e-4 or has_nan(*)", &found);
      g_test_message ("%u steps, planted at %u, %u checks, value %g", n, expected, found.checks,
                      found.value);
      g_assert_cmpint (found.answer, ==, IR_BISECT_FOUND);
      g_assert_cmpuint (found.step, ==, expected);
      g_assert_cmpuint (found.checks, <=, checks_allowed (n));
      g_assert_cmpfloat (found.value, >, 1e-4);
      g_assert_true (ir_bisect_find_divergence (c.trial, &found, &error));
      g_assert_no_error (error);
      g_assert_cmpuint (found.diverges, !=, 0);
      g_assert_cmpuint (found.original, !=, 0);
      g_assert_cmpfloat (found.change.max_abs, >, 0);
      /* What diverges first is the output of the node that the wrong rule met. */
      const IrStep *step = ir_history_step (c.model, found.step);
      const IrNode *anchor = ir_model_node (c.model, step->anchor);
      g_assert_cmpuint (found.stood, ==, anchor->outputs[0]->id);
      assert_reproduced (&c, planted, "max_abs(y) > 1e-4", &found);
    }
}

static void
test_nothing (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (5);
  g_auto (Case) c = { 0 };
  g_auto (IrBisection) found = { 0 };

  case_init (&c, rand, NULL);
  bisect (&c, "max_abs(y) > 0", &found);
  g_assert_cmpint (found.answer, ==, IR_BISECT_NOTHING_FAILS);
  g_assert_cmpuint (found.checks, ==, 2);
  g_assert_cmpuint (found.step, ==, 0);
}

/* A probe gives what a whole run gives, and runs nothing that a run before it has. */
static void
test_probes (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (11);
  g_auto (Case) c = { 0 };
  g_autoptr (GError) error = NULL;
  guint n_steps, n_nodes;

  case_init (&c, rand, &wrong[0]);
  n_steps = ir_history_n_steps (c.model);
  n_nodes = ir_history_step (c.model, 1)->cost_before.n_nodes;
  for (guint step = 0; step <= n_steps; step++)
    {
      g_autoptr (IrModel) now = ir_history_snapshot (c.model, step);
      g_autoptr (GArray) chosen = g_array_new (FALSE, FALSE, sizeof (IrValueId));
      guint before = ir_trial_n_nodes_run (c.trial);
      IrValueId id = ir_graph_output (now->main, 0)->id;

      g_array_append_val (chosen, id);
      g_autoptr (GHashTable) probed = ir_trial_probe (c.trial, step, chosen, &error);
      g_assert_no_error (error);
      g_autoptr (IrRun) whole = ir_trial_run (c.trial, step, chosen, &error);
      g_assert_no_error (error);
      g_assert_true (ir_tensor_equal (g_hash_table_lookup (probed, GUINT_TO_POINTER (id)),
                                      ir_run_value (whole, id)));
      if (step == 0)
        g_assert_cmpuint (ir_trial_n_nodes_run (c.trial), ==, 0);
      g_assert_cmpuint (ir_trial_n_nodes_run (c.trial) - before, <=, n_nodes);
    }
  g_test_message ("%u nodes run in %u probes of %u nodes", ir_trial_n_nodes_run (c.trial),
                  n_steps + 1, n_nodes);
  g_assert_cmpuint (ir_trial_n_nodes_run (c.trial), <, n_steps * n_nodes / 2);
}

static void
test_original (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (5);
  g_auto (Case) c = { 0 };
  g_auto (IrBisection) found = { 0 };

  case_init (&c, rand, &wrong[0]);
  bisect (&c, "nodes >= 1", &found);
  g_assert_cmpint (found.answer, ==, IR_BISECT_ORIGINAL_FAILS);
  g_assert_cmpuint (found.checks, ==, 1);
  g_assert_cmpfloat (found.value, ==, ir_history_step (c.model, 1)->cost_before.n_nodes);
}

/* A condition on the whole graph needs the whole graph. */
static void
test_whole (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (5);
  g_auto (Case) c = { 0 };
  g_auto (IrBisection) found = { 0 };
  g_auto (IrReproducer) part = { 0 };
  g_autoptr (GError) error = NULL;

  case_init (&c, rand, NULL);
  g_autofree char *text = g_strdup_printf ("nodes < %u",
                                           ir_history_step (c.model, 1)->cost_before.n_nodes - 1);
  bisect (&c, text, &found);
  g_assert_cmpint (found.answer, ==, IR_BISECT_FOUND);
  const char *name = ir_history_pass_of (c.model, found.step);
  IrReproduceOptions how = { .max_class = IR_CLASS_ROUNDING, .n_threads = 1 };
  for (guint i = 0; i < G_N_ELEMENTS (right); i++)
    if (strcmp (right[i].name, name) == 0)
      how.pass = &right[i];
  g_assert_true (ir_reproduce (c.trial, &found, text, &how, &part, &error));
  g_assert_no_error (error);
  g_assert_true (part.is_whole);
  g_assert_cmpuint (part.n_part, ==, part.n_whole);
  g_assert_cmpstr (part.predicate, ==, text);
  g_assert_cmpuint (part.step, >, 0);
}

static void
test_structure (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (6);
  g_auto (Case) c = { 0 };
  guint half, step;

  case_init (&c, rand, NULL);
  half = ir_history_step (c.model, 1)->cost_before.n_nodes * 3 / 4;
  for (step = 1; ir_history_step (c.model, step)->cost_after.n_nodes > half; step++)
    ;
  g_autofree char *nodes = g_strdup_printf ("nodes <= %u", half);
  g_autofree char *command = g_strdup ("cmd: grep -q Atan");
  const char *const predicates[] = { nodes, "nodes(Identity) == 0", "flops < 1",
                                     "peak_memory > 1GiB", command };
  const IrBisectAnswer answers[] = { IR_BISECT_FOUND, IR_BISECT_FOUND, IR_BISECT_NOTHING_FAILS,
                                     IR_BISECT_NOTHING_FAILS, IR_BISECT_NOTHING_FAILS };
  for (guint i = 0; i < G_N_ELEMENTS (predicates); i++)
    {
      g_auto (IrBisection) found = { 0 };
      bisect (&c, predicates[i], &found);
      g_test_message ("%s: %s", predicates[i], ir_bisect_answer_name (found.answer));
      g_assert_cmpint (found.answer, ==, answers[i]);
      if (i == 0)
        g_assert_cmpuint (found.step, ==, step);
    }
}

/* One in a hundred: an absolute bound would have to know how large the output is. */
static void
test_relative (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (12);

  for (guint i = 0; i < 6; i++)
    {
      g_auto (Case) c = { 0 };
      g_auto (IrBisection) found = { 0 }, large = { 0 };

      case_init (&c, rand, &wrong[3]);
      bisect (&c, "rel(y) > 1e-4", &found);
      g_assert_cmpint (found.answer, ==, IR_BISECT_FOUND);
      g_assert_cmpuint (found.step, ==, planted_step (c.model, &wrong[3]));
      g_assert_cmpuint (found.checks, <=, checks_allowed (ir_history_n_steps (c.model)));
      g_assert_cmpfloat (found.value, >, 1e-4);
      bisect (&c, "rel(y) > 0.9", &large);
      g_assert_cmpint (large.answer, ==, IR_BISECT_NOTHING_FAILS);
    }
}

/* What an elementwise node needs is what it reads and what it writes; the four values that are
 * joined here live at once. */
static const IrRule wasteful_rules[] = {
  { "wasteful", "(Atan ?x)", "(Sum (Sin ?x) (Cos ?x) (Exp ?x) (Tanh ?x))", IR_CLASS_EXACT,
    "Wrong on purpose: takes memory." },
  { NULL },
};
static const IrPass wasteful = { .name = "wasteful", .title = "Wrong", .rules = wasteful_rules };

static void
test_memory (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (13);

  for (guint i = 0; i < 6; i++)
    {
      g_auto (Case) c = { 0 };
      g_auto (IrBisection) original = { 0 }, found = { 0 };
      g_autofree char *text = NULL;

      case_init (&c, rand, &wasteful);
      bisect (&c, "peak_memory >= 0", &original);
      g_assert_cmpint (original.answer, ==, IR_BISECT_ORIGINAL_FAILS);
      g_assert_cmpfloat (original.value, >, 0);
      text = g_strdup_printf ("peak_memory > %g", original.value);
      bisect (&c, text, &found);
      g_assert_cmpint (found.answer, ==, IR_BISECT_FOUND);
      g_assert_cmpuint (found.step, ==, planted_step (c.model, &wasteful));
      g_assert_cmpuint (found.checks, <=, checks_allowed (ir_history_n_steps (c.model)));
      g_assert_cmpfloat (found.value, >, original.value);
    }
}

static void
test_command (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (8);
  g_auto (Case) c = { 0 };
  g_auto (IrBisection) found = { 0 };

  case_init (&c, rand, &wrong[4]);
  bisect (&c, "cmd: grep -q Atan {}", &found);
  g_assert_cmpint (found.answer, ==, IR_BISECT_FOUND);
  g_assert_cmpuint (found.step, ==, planted_step (c.model, &wrong[4]));
  g_assert_cmpfloat (found.value, ==, 1);
}

static void
test_names (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (8);
  g_auto (Case) c = { 0 };
  g_auto (IrBisection) found = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (IrPredicate) predicate = ir_predicate_parse ("nodes > 1 or rel(nobody) > 1", &error);

  case_init (&c, rand, NULL);
  g_assert_false (ir_bisect (c.trial, predicate, NULL, NULL, &found, &error));
  g_assert_error (error, IR_PREDICATE_ERROR, IR_PREDICATE_ERROR_VALUE);
  g_assert_true (g_str_has_prefix (error->message, "column 18: "));
}

static void
test_iterations (void)
{
  static const char *const found_by[] = { "max_abs(y@2/t) > 0", "max_abs(y/t) > 0",
                                          "rel(y@0/d) > 0" };
  const IrPass *pass = ir_pass_find ("reduce-strength");
  g_autoptr (GRand) rand = g_rand_new_with_seed (8);
  g_auto (Case) c = { 0 };
  g_autoptr (GError) error = NULL;

  c.model = test_model (
      "(float[64] x) => (float[64] y) { m = Constant <value = int64 {5}> ()  y = Loop (m, , x) <body "
      "= b (int64 i, bool go, float[64] s) => (bool more, float[64] t) { more = Identity (go)  "
      "k = Constant <value = float {3.0}> ()  d = Div (s, k)  h = Add (d, x)  t = Tanh (h) }> }");
  g_autoptr (GHashTable) inputs = test_inputs (c.model, rand, FALSE);
  run_passes (c.model, &pass, 1, 1);
  c.trial = ir_trial_new (c.model, inputs, ir_backend_find ("ref"), 1, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (found_by); i++)
    {
      g_auto (IrBisection) found = { 0 };
      bisect (&c, found_by[i], &found);
      g_assert_cmpint (found.answer, ==, IR_BISECT_FOUND);
      g_assert_cmpstr (ir_history_step (c.model, found.step)->rule, ==, "divide-by-constant");
      g_assert_cmpfloat (found.value, >, 0);
    }
  g_auto (IrBisection) none = { 0 };
  bisect (&c, "has_nan(y@4/t)", &none);
  g_assert_cmpint (none.answer, !=, IR_BISECT_FOUND);

  g_auto (IrBisection) failed = { 0 };
  g_autoptr (IrPredicate) late = ir_predicate_parse ("max_abs(y@5/t) > 0", NULL);
  g_assert_false (ir_bisect (c.trial, late, NULL, NULL, &failed, &error));
  g_assert_nonnull (strstr (error->message, "no loop there has that iteration"));
}

/* The two Negs go at the second step, and what lies between them has nothing to stand for it. */
static void
test_gone (void)
{
  g_autoptr (IrModel) model = test_model (
      "(float[n,4] x) => (float[n,4] y) { a = Identity (x)  b = Neg (a)  c = Neg (b)  d = Atan (c) "
      "y = Exp (d) }");
  g_autoptr (GRand) rand = g_rand_new_with_seed (2);
  const IrPass *const passes[] = { &right[0], &right[2], &wrong[4] };
  g_auto (IrBisection) found = { 0 }, other = { 0 };
  Case c = { .model = model };

  test_model_randomize (model, rand);
  g_autoptr (GHashTable) inputs = test_inputs (model, rand, FALSE);
  run_passes (model, passes, G_N_ELEMENTS (passes), 1);
  g_assert_cmpuint (ir_history_n_steps (model), ==, 3);
  g_autoptr (IrTrial) trial = ir_trial_new (model, inputs, NULL, 1, NULL);
  c.trial = trial;
  bisect (&c, "max_abs(b) > 0 or max_abs(y) > 0", &found);
  g_assert_cmpint (found.answer, ==, IR_BISECT_NOTHING_FAILS);
  g_assert_cmpuint (found.last, ==, 1);
  bisect (&c, "max_abs(y) > 0", &other);
  g_assert_cmpuint (other.last, ==, 3);
  g_assert_cmpuint (other.step, ==, 3);
}

static void
test_broken_are_listed (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (9);
  g_autofree char *text = generate (rand, 20);
  g_autoptr (IrModel) model = test_model (text);
  const IrPass *const passes[] = { &right[0], &wrong[0], &right[1], &wrong[4] };
  g_auto (IrBisection) found = { 0 };
  g_autoptr (GError) error = NULL;
  Case c = { .model = model };

  test_model_randomize (model, rand);
  g_autoptr (GHashTable) inputs = test_inputs (model, rand, FALSE);
  run_passes (model, passes, G_N_ELEMENTS (passes), 1);
  g_autoptr (IrProver) prover = ir_prover_new (model, inputs, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (ir_prover_prove_all (prover, NULL, NULL, NULL, NULL, &error));
  g_autoptr (IrTrial) trial = ir_trial_new (model, inputs, NULL, 1, NULL);
  c.trial = trial;
  bisect (&c, "max_abs(y) > 1e-4", &found);
  g_assert_cmpuint (found.broken->len, ==, 2);
  g_assert_cmpuint (g_array_index (found.broken, guint, 0), ==, planted_step (model, &wrong[0]));
  g_assert_cmpuint (g_array_index (found.broken, guint, 1), ==, planted_step (model, &wrong[4]));
  g_assert_cmpuint (found.step, ==, planted_step (model, &wrong[0]));
}

/* -- kernels -- */

static IrKernelFunc good_kernel;

static gboolean
spoil (IrCall *call, GError **error)
{
  if (!good_kernel (call, error))
    return FALSE;
  float *data = ir_tensor_data_writable (call->outputs[0].tensor);
  data[0] += 0.5f;
  return TRUE;
}

static IrKernelFunc
spoiling_kernel (const IrNode *node)
{
  IrKernelFunc kernel = ir_backend_find ("cpu")->kernel (node);

  if (strcmp (node->op_type, "MatMul") != 0)
    return kernel;
  good_kernel = kernel;
  return spoil;
}

/* Where every node has the reference kernel nothing fails; it does as soon as one has its own. */
static void
test_kernels (void)
{
  IrBackend spoiling = *ir_backend_find ("cpu");
  g_autoptr (GRand) rand = g_rand_new_with_seed (8);
  g_autoptr (IrModel)
      model = test_model ("(float[4,4] x, float[4,4] W, float[4,4] V) => (float[4,4] y)\n"
                          "{ a = Tanh (x)  b = Add (a, W)  c = MatMul (b, V)\n"
                          "  d = Relu (c)  y = Sub (d, x) }");
  g_auto (IrBisection) found = { 0 };
  Case c = { 0 };

  spoiling.kernel = spoiling_kernel;
  test_model_randomize (model, rand);
  g_autoptr (GHashTable) inputs = test_inputs (model, rand, FALSE);
  g_autoptr (IrModel) history = ir_kernel_history (model, &spoiling);
  g_assert_cmpuint (ir_history_n_steps (history), ==, 5);
  g_autoptr (IrTrial) trial = ir_trial_new (history, inputs, &spoiling, 1, NULL);
  c.model = history;
  c.trial = trial;
  bisect (&c, "max_abs(y) > 0.01 or max_abs(c) > 0.01", &found);
  g_assert_cmpint (found.answer, ==, IR_BISECT_FOUND);
  g_assert_cmpstr (ir_model_node (history, ir_history_step (history, found.step)->anchor)->op_type,
                   ==, "MatMul");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/predicate/a text is read or refused at the right column", test_texts);
  g_test_add_func ("/predicate/nesting without end is refused", test_depth);
  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      g_autofree char *path = g_strdup_printf (
          "/bisect/a planted %s is found in few checks and reproduced in a node or two",
          wrong[i].rules[0].name);
      g_test_add_data_func (path, &wrong[i], test_planted);
    }
  g_test_add_func ("/bisect/a probe gives what a run gives, computing only what is new",
                   test_probes);
  g_test_add_func ("/bisect/right rules alone fail nothing", test_nothing);
  g_test_add_func ("/bisect/an original that fails is said to", test_original);
  g_test_add_func ("/reproduce/a condition on the whole graph keeps it whole", test_whole);
  g_test_add_func ("/bisect/counts, costs and memory are measured", test_structure);
  g_test_add_func ("/bisect/a relative difference leads to the rule that scales", test_relative);
  g_test_add_func ("/bisect/planned memory leads to the rule that takes more", test_memory);
  g_test_add_func ("/bisect/a command's exit status decides", test_command);
  g_test_add_func ("/bisect/a value that is not there is named with its column", test_names);
  g_test_add_func ("/bisect/a value in an iteration is compared with itself there",
                   test_iterations);
  g_test_add_func ("/bisect/steps without a value that is named are left out", test_gone);
  g_test_add_func ("/bisect/all steps that a proof found broken are listed",
                   test_broken_are_listed);
  g_test_add_func ("/bisect/the node whose kernel is wrong is found", test_kernels);
  return g_test_run ();
}
