/* Every rule of every pass is a property test: its example is given random shapes and contents, the
 * rule alone is applied, and both sides must agree: bit for bit if the rule is exact, on NaN,
 * infinities, -0 and denormals too. */
#include "config.h"

#include "tests/rules/pass-test.h"

#include <string.h>

#define N_SEEDS 6

typedef struct
{
  const IrPass *pass;
  const IrRule *rule;
} Case;

static GStrv
other_rules (const Case *c)
{
  g_autoptr (GStrvBuilder) names = g_strv_builder_new ();

  for (const IrRule *rule = c->pass->rules; rule->name != NULL; rule++)
    if (rule != c->rule)
      g_strv_builder_add (names, rule->name);
  return g_strv_builder_end (names);
}

/* One operator for several does what these did, and is not said to do more. */
static const char *const same_work[] = { "fuse-activation", "fuse-bias", "fuse-residual", NULL };

static void
check_seed (const Case *c, guint seed)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  g_autoptr (IrModel) model = test_model (c->rule->example);
  g_autoptr (IrPipeline) pipeline = test_pipeline (c->pass);
  g_auto (GStrv) others = other_rules (c);
  gboolean exact = c->rule->step_class == IR_CLASS_EXACT;
  IrPipelineOptions options = { .max_class = IR_CLASS_UNSAFE,
                                .disabled_rules = (const char *const *) others,
                                .record_refusals = TRUE,
                                .verify = TRUE };
  g_autoptr (GError) error = NULL;
  IrPipelineResult result;
  gboolean partial;

  test_model_randomize (model, rand);
  g_autoptr (IrModel) original = ir_model_clone (model);
  const IrCost cost = ir_cost_model (original, &partial);

  g_assert_true (ir_pipeline_run (model, pipeline, &options, &result, NULL, &error));
  g_assert_no_error (error);
  for (guint i = 0; i < ir_history_n_refusals (model); i++)
    g_test_message ("refused: %s", ir_history_refusal (model, i)->reason);
  g_assert_cmpuint (result.n_steps, >=, 1);
  g_assert_false (result.reached_limit);
  for (guint i = 1; i <= ir_history_n_steps (model); i++)
    g_assert_cmpstr (ir_history_step (model, i)->rule, ==, c->rule->name);
  if (g_strv_contains (same_work, c->pass->name))
    g_assert_cmpuint (ir_cost_model (model, &partial).flops, <=, cost.flops);

  g_autoptr (GHashTable) inputs = test_inputs (original, rand, exact);
  g_autoptr (IrRun) before = test_run (original, inputs, "ref");
  g_autoptr (IrRun) after = test_run (model, inputs, "ref");
  g_autofree char *difference = test_compare (original, before, model, after, exact ? 0 : 2e-5);
  if (difference != NULL)
    g_test_message ("%s: seed %u: %s", c->rule->name, seed, difference);
  g_assert_null (difference);
}

static void
test_rule (gconstpointer data)
{
  const Case *c = data;

  for (guint seed = 1; seed <= N_SEEDS; seed++)
    check_seed (c, seed);
}

static void
test_rows_are_complete (void)
{
  g_autoptr (GHashTable) names = g_hash_table_new (g_str_hash, g_str_equal);
  const IrPass *const *passes;
  guint n;

  passes = ir_passes (&n);
  for (guint i = 0; i < n; i++)
    {
      const IrPass *pass = passes[i];
      const IrRule *rules = pass->rules != NULL ? pass->rules : pass->documented_rules;
      IrClass worst = IR_CLASS_EXACT;

      g_test_message ("%s", pass->name);
      g_assert_true (pass->title != NULL && pass->source != NULL && pass->before_after != NULL);
      g_assert_true (pass->doc != NULL && g_str_has_suffix (pass->doc, "."));
      g_assert_true ((pass->rules != NULL) != (pass->run != NULL));
      g_assert_nonnull (rules);
      g_assert_true (ir_pass_find (pass->name) == pass);
      for (const IrRule *rule = rules; rule->name != NULL; rule++)
        {
          g_assert_true (g_hash_table_add (names, (gpointer) rule->name));
          g_assert_true (rule->doc != NULL && g_str_has_suffix (rule->doc, "."));
          g_assert_true (rule->pattern != NULL && rule->replacement != NULL);
          g_assert_true (pass->run != NULL || rule->example != NULL);
          worst = MAX (worst, rule->step_class);
        }
      g_assert_cmpint (pass->step_class, ==, worst);
    }
}

static void
test_patterns_compile (void)
{
  const IrPass *const *passes;
  guint n;

  passes = ir_passes (&n);
  for (guint i = 0; i < n; i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (IrRuleTable)
          table = passes[i]->rules != NULL ? ir_rule_table_new (passes[i]->rules, &error) : NULL;

      g_assert_no_error (error);
      g_assert_true (passes[i]->rules == NULL || table != NULL);
    }
}

/* Mistakes in a pattern are errors that name the rule, never a crash. */
static void
test_bad_patterns (void)
{
  static const char *const bad[] = { "",
                                     "?x",
                                     "(Mul ?x",
                                     "(Mul ?x:nonsense 1)",
                                     "(?x)",
                                     "(Mul {a} 1)",
                                     "(Mul{a} ?x)",
                                     "(Mul @nobody 1)",
                                     "(Mul (Add ?x",
                                     "(Mul ?x $)" };

  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      const IrRule rules[] = { { "bad", bad[i], "?x", IR_CLASS_EXACT, "Bad." }, { NULL } };
      g_autoptr (GError) error = NULL;
      g_autoptr (IrRuleTable) table = ir_rule_table_new (rules, &error);

      g_assert_null (table);
      g_assert_nonnull (error);
      g_assert_nonnull (strstr (error->message, "bad"));
    }
}

static void
test_markdown (void)
{
  g_autofree char *passes = ir_passes_markdown ();
  g_autofree char *rules = ir_rules_markdown ();

  g_assert_nonnull (strstr (passes, "## fold-conv-bn"));
  g_assert_nonnull (strstr (passes, "| `default` |"));
  g_assert_nonnull (strstr (rules, "| `mul-one` | `(Mul ?x 1)` | `?x` | exact |"));
}

static gboolean bless;

static void
check_document (const char *name, const char *text)
{
  g_autofree char *path = g_test_build_filename (G_TEST_DIST, "..", "..", "docs", name, NULL);
  g_autofree char *found = NULL;
  g_autoptr (GError) error = NULL;

  if (bless)
    g_file_set_contents (path, text, -1, &error);
  g_assert_no_error (error);
  g_file_get_contents (path, &found, NULL, &error);
  g_assert_no_error (error);
  if (strcmp (found, text) != 0)
    g_test_message ("docs/%s is not current: run test-rules --bless", name);
  g_assert_true (strcmp (found, text) == 0);
}

static void
test_documents (void)
{
  g_autofree char *passes = ir_passes_markdown ();
  g_autofree char *rules = ir_rules_markdown ();

  check_document ("PASSES.md", passes);
  check_document ("RULES.md", rules);
}

int
main (int argc, char **argv)
{
  const IrPass *const *passes;
  guint n;

  bless = argc > 1 && strcmp (argv[argc - 1], "--bless") == 0;
  argc -= bless;
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/rules/rows of passes and rules are complete", test_rows_are_complete);
  g_test_add_func ("/rules/patterns compile", test_patterns_compile);
  g_test_add_func ("/rules/a bad pattern is an error that names its rule", test_bad_patterns);
  g_test_add_func ("/rules/the tables are written as markdown", test_markdown);
  g_test_add_func ("/rules/the documents of passes and rules are current", test_documents);
  passes = ir_passes (&n);
  for (guint i = 0; i < n; i++)
    for (const IrRule *rule = passes[i]->rules; rule != NULL && rule->name != NULL; rule++)
      {
        g_autofree char *path = g_strdup_printf ("/rules/%s/%s keeps its results", passes[i]->name,
                                                 rule->name);
        Case *c = g_new (Case, 1);

        *c = (Case){ passes[i], rule };
        g_test_add_data_func_full (path, c, test_rule, g_free);
      }
  return g_test_run ();
}
