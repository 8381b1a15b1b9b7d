/* Every rule is a property: left and right of its rewrite say the same. Its idioms (tests/fuzz) are
 * given random sizes, broadcasts and contents in every type that they can be spelled in, as they
 * stand and a little changed; the rule alone is applied, and both sides run.
 *
 * Exact rules must agree bit for bit, on NaN, infinities, -0, denormals and the ends of ranges too.
 * Rounding rules must agree wherever all values, evaluated in double, stay in the normal range of
 * the type: the right side is no further from double than a few times the left one, or than
 * rounding explains. The cases beyond that are counted and said. Unsafe rules are only run.
 *
 * Operands of a rule may also be one value, or one what another node of the match makes: each
 * operand of each node is made each other value in turn. Then nothing may be computed twice, too.
 */
#include "config.h"

#include "core/op/verify.h"
#include "core/op/infer.h"
#include "passes/debug/loops.h"
#include "tests/fuzz/gen.h"
#include "tests/fuzz/idioms.h"
#include "tests/fuzz/pass-trial.h"
#include "tests/rules/pass-test.h"

#include <math.h>
#include <string.h>

#define N_PLAIN       4 /* seeds of an idiom as it stands */
#define N_WILD        8
#define N_OTHER_PLAIN 1 /* the same in other types than float */
#define N_OTHER_WILD  3

static const struct
{
  const char *name;
  IrDtype dtype;
  double epsilon, least, most;
} types[] = {
  { "float", IR_DTYPE_FLOAT, 0x1p-23, 0x1p-126, 0x1.fffffep127 },
  { "double", IR_DTYPE_DOUBLE, 0x1p-52, 0x1p-1022, 0x1.fffffffffffffp1023 },
  { "float16", IR_DTYPE_FLOAT16, 0x1p-10, 0x1p-14, 65504 },
  { "bfloat16", IR_DTYPE_BFLOAT16, 0x1p-7, 0x1p-126, 0x1.fep127 },
  { "int32", IR_DTYPE_INT32, 0, 0, 0 },
  { "int64", IR_DTYPE_INT64, 0, 0, 0 },
  { "uint8", IR_DTYPE_UINT8, 0, 0, 0 },
};

typedef struct
{
  guint n_ran, n_applied, n_compared, n_outside;
} Counts;

typedef struct
{
  const Idiom *idiom;
  guint type;
  guint32 seed;
  gboolean wild;
  gint64 n;
  guint one; /* which operand is which other value; 0: none */
} Variant;

/* -- one variant -- */

/* "float" as the type of a value becomes @type; that of an attribute stays. */
static char *
retyped (const char *text, const char *type)
{
  GString *out = g_string_new (NULL);
  const char *at = text, *found;

  for (; (found = strstr (at, "float")) != NULL; at = found + strlen ("float"))
    {
      char before = found > text ? found[-1] : ' ', after = found[strlen ("float")];
      gboolean is_attr = found >= text + 2 && strncmp (found - 2, ": ", 2) == 0;

      g_string_append_len (out, at, found - at);
      g_string_append (out, g_ascii_isalnum (before) || before == '_' || is_attr ||
                                    (after != '[' && after != ' ')
                                ? "float"
                                : type);
    }
  g_string_append (out, at);
  return g_string_free (out, FALSE);
}

/* -- operands that are one value -- */

/* Whether @value may be made an operand of @node: it is there before, and of the same type. */
static gboolean
may_be_operand (const IrModel *model, const IrNode *node, guint slot, const IrValue *value)
{
  guint n;
  IrNode *const *order = ir_graph_order (model->main, &n);

  if (value == NULL || value->graph != node->graph || node->graph != model->main ||
      value == node->inputs[slot] || ir_value_constant (value) != NULL ||
      ir_value_dtype (value) != ir_value_dtype (node->inputs[slot]))
    return FALSE;
  for (guint i = 0; i < n && order[i] != node; i++)
    if (order[i] == value->producer)
      return TRUE;
  return value->producer == NULL;
}

/* Makes the @which-th operand that may be another value that value. FALSE: there are not so many.
 */
static gboolean
make_one (IrModel *model, guint which)
{
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);
  g_autoptr (GPtrArray) nodes = ir_graph_nodes (model->main);

  for (guint i = 0; i < nodes->len; i++)
    {
      g_autofree char *name = g_strdup_printf ("node%u", i);
      ir_edit_rename_node (edit, nodes->pdata[i], name);
    }
  for (guint i = 0; i < nodes->len; i++)
    for (guint slot = 0; slot < ((IrNode *) nodes->pdata[i])->n_inputs; slot++)
      for (guint id = 1;
           ((IrNode *) nodes->pdata[i])->inputs[slot] != NULL && id < model->values->len; id++)
        if (may_be_operand (model, nodes->pdata[i], slot, ir_model_live_value (model, id)) &&
            --which == 0)
          {
            ir_edit_set_input (edit, nodes->pdata[i], slot, ir_model_live_value (model, id));
            ir_infer_model (edit, IR_INFER_DEFAULT, NULL);
            return TRUE;
          }
  return FALSE;
}

static gboolean
names_are_unique (const IrModel *model)
{
  g_autoptr (GHashTable) names = g_hash_table_new (g_str_hash, g_str_equal);
  guint n;
  IrNode *const *order = ir_graph_order (model->main, &n);

  for (guint i = 0; i < n; i++)
    if (order[i]->name[0] != '\0' && !g_hash_table_add (names, (gpointer) order[i]->name))
      return FALSE;
  return TRUE;
}

static IrModel *
model_of (const Variant *variant, const char *type)
{
  g_autofree char *text = retyped (variant->idiom->text, type);
  g_autoptr (GRand) rand = g_rand_new_with_seed (variant->seed);
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (IrModel) model = gen_start (text, rand, variant->n, variant->seed, variant->wild);

  if (model == NULL || (variant->one > 0 && !make_one (model, variant->one)))
    return NULL;
  ir_verify_structure (model, problems);
  ir_verify_nodes (model, problems);
  return ir_problems_count (problems, IR_SEVERITY_ERROR) == 0 ? g_steal_pointer (&model) : NULL;
}

static IrRun *
run (IrModel *model, GHashTable *inputs, GError **error)
{
  IrRunOptions options = { .backend = ir_backend_find ("ref"),
                           .n_threads = 1,
                           .capture = IR_CAPTURE_ALL,
                           .memory_limit = 64 << 20,
                           .output_limit = 8 << 20 };

  return ir_model_run (model, inputs, &options, NULL, error);
}

static guint
apply (const Variant *variant, IrModel *model)
{
  g_autoptr (IrPipeline) pipeline = test_pipeline (variant->idiom->pass);
  g_autoptr (GPtrArray) others = g_ptr_array_new ();
  const IrPass *pass = variant->idiom->pass;
  const IrRule *rule = pass->rules != NULL ? pass->rules : pass->documented_rules;
  g_autoptr (GError) error = NULL;
  IrPipelineResult result;

  for (; pass->rules != NULL && rule->name != NULL; rule++)
    if (rule != variant->idiom->rule)
      g_ptr_array_add (others, (gpointer) rule->name);
  g_ptr_array_add (others, NULL);
  IrPipelineOptions options = { .max_class = IR_CLASS_UNSAFE,
                                .disabled_rules = (const char *const *) others->pdata,
                                .verify = TRUE };
  if (!ir_pipeline_run (model, pipeline, &options, &result, NULL, &error))
    {
      /* A changed node that no newer form fits is refused by name. */
      g_assert_true (variant->wild || variant->one > 0);
      g_assert_nonnull (strstr (error->message, "cannot be upgraded"));
      return 0;
    }
  g_assert_false (result.reached_limit);
  test_verify (model);
  return result.n_steps;
}

static gboolean
took_step (IrModel *model, const IrRule *rule)
{
  for (guint i = 1; i <= ir_history_n_steps (model); i++)
    if (strcmp (ir_history_step (model, i)->rule, rule->name) == 0)
      return TRUE;
  return FALSE;
}

/* -- comparing -- */

static char *
compare_exactly (const char *name, const IrTensor *a, const IrTensor *b)
{
  if (!ir_dtype_is_float (ir_tensor_dtype (a)))
    return ir_tensor_equal (a, b) ? NULL : g_strdup_printf ("%s differs", name);
  for (guint64 i = 0; i < ir_tensor_n_elements (a); i++)
    {
      double x = ir_tensor_get_double (a, i), y = ir_tensor_get_double (b, i);
      if (isnan (x) ? !isnan (y) : x != y || signbit (x) != signbit (y))
        return g_strdup_printf ("%s[%u] is %.9g, was %.9g", name, (guint) i, y, x);
    }
  return NULL;
}

/* @wide: (nullable): what it would be in double */
static char *
compare_roughly (
    const char *name, const IrTensor *a, const IrTensor *b, const IrTensor *wide, double epsilon)
{
  double scale = 0, error = 0;

  if (!ir_dtype_is_float (ir_tensor_dtype (a)))
    return compare_exactly (name, a, b);
  for (guint64 i = 0; i < ir_tensor_n_elements (a); i++)
    {
      double x = ir_tensor_get_double (a, i);
      scale = fmax (scale, fabs (x));
      if (wide != NULL)
        error = fmax (error, fabs (x - ir_tensor_get_double (wide, i)));
    }
  for (guint64 i = 0; i < ir_tensor_n_elements (a); i++)
    {
      double x = ir_tensor_get_double (a, i), y = ir_tensor_get_double (b, i);
      double truth = wide != NULL ? ir_tensor_get_double (wide, i) : x;
      if (!(fabs (y - truth) <= 4 * error + 16 * epsilon * (fabs (x) + scale)))
        return g_strdup_printf ("%s[%u] is %.9g, was %.9g, in double %.9g", name, (guint) i, y, x,
                                truth);
    }
  return NULL;
}

static gboolean
same_form (const IrTensor *a, const IrTensor *b)
{
  return ir_tensor_dtype (a) == ir_tensor_dtype (b) && ir_tensor_rank (a) == ir_tensor_rank (b) &&
         (ir_tensor_rank (a) == 0 || memcmp (ir_tensor_dims (a), ir_tensor_dims (b),
                                             ir_tensor_rank (a) * sizeof (gint64)) == 0);
}

static IrTensor *
output_of (IrRun *results, IrModel *model, guint i)
{
  return results != NULL ? ir_run_value (results, ir_graph_output (model->main, i)->id) : NULL;
}

static char *
compare (const Variant *variant,
         IrModel *left,
         IrRun *before,
         IrModel *right,
         IrRun *after,
         IrModel *wide,
         IrRun *truth)
{
  gboolean exact = variant->idiom->rule->step_class == IR_CLASS_EXACT;

  for (guint i = 0; i < ir_graph_n_outputs (left->main); i++)
    {
      const char *name = ir_graph_output (left->main, i)->name;
      const IrTensor *a = output_of (before, left, i), *b = output_of (after, right, i);
      char *found;

      if (strcmp (name, ir_graph_output (right->main, i)->name) != 0)
        return g_strdup_printf ("%s is called another name", name);
      if (a == NULL || b == NULL || !same_form (a, b))
        return g_strdup_printf ("the type of %s differs", name);
      found = exact ? compare_exactly (name, a, b)
                    : compare_roughly (name, a, b, output_of (truth, wide, i),
                                       types[variant->type].epsilon);
      if (found != NULL)
        return found;
    }
  return NULL;
}

/* -- double -- */

static IrTensor *
widened (const IrTensor *tensor)
{
  IrTensor *copy = ir_tensor_new_alloc (IR_DTYPE_DOUBLE, ir_tensor_rank (tensor),
                                        ir_tensor_dims (tensor), NULL);

  for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
    ((double *) ir_tensor_data_writable (copy))[i] = ir_tensor_get_double (tensor, i);
  return copy;
}

/* The left side in double on the very same numbers, by names; NULL if it cannot be spelled so. */
static IrModel *
wide_model (const Variant *variant, IrModel *left)
{
  g_autoptr (IrModel) wide = model_of (variant, "double");

  if (wide == NULL || wide->values->len != left->values->len)
    return NULL;
  g_autoptr (IrEdit) edit = ir_edit_new_import (wide);
  for (guint i = 1; i < wide->values->len; i++)
    {
      const IrValue *from = ir_model_live_value (left, i);
      IrValue *to = ir_model_live_value (wide, i);

      if (from == NULL || to == NULL || from->initializer == NULL || to->initializer == NULL ||
          ir_tensor_dtype (to->initializer) != IR_DTYPE_DOUBLE)
        continue;
      g_autoptr (IrTensor) tensor = widened (from->initializer);
      ir_edit_set_initializer (edit, to, tensor);
    }
  return g_steal_pointer (&wide);
}

static IrRun *
wide_run (IrModel *wide, GHashTable *inputs)
{
  g_autoptr (GHashTable)
      widened_inputs = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);
  GHashTableIter iter;
  gpointer id, tensor;

  g_hash_table_iter_init (&iter, inputs);
  while (g_hash_table_iter_next (&iter, &id, &tensor))
    g_hash_table_insert (widened_inputs, id,
                         ir_dtype_is_float (ir_tensor_dtype (tensor)) ? widened (tensor)
                                                                      : ir_tensor_ref (tensor));
  return run (wide, widened_inputs, NULL);
}

static gboolean
in_normal_range (const IrModel *left, IrRun *captured, guint type)
{
  gboolean may_be_infinite = pass_trial_has_infinity (left);

  for (guint i = 1; i < captured->model->values->len; i++)
    {
      const IrTensor *tensor = ir_run_value (captured, i);
      if (tensor == NULL || ir_tensor_is_container (tensor) ||
          !ir_dtype_is_float (ir_tensor_dtype (tensor)))
        continue;
      for (guint64 k = 0; k < ir_tensor_n_elements (tensor); k++)
        {
          double x = fabs (ir_tensor_get_double (tensor, k));
          if (isinf (x) && may_be_infinite)
            continue;
          if (!(x <= types[type].most) || (x != 0 && x < types[type].least))
            return FALSE;
        }
    }
  return TRUE;
}

/* -- a rule -- */

/* Whether the truth is known and no value leaves the range in which rounding is relative. */
static gboolean
rounding_is_bounded (const Variant *variant,
                     IrModel *left,
                     GHashTable *inputs,
                     IrRun *before,
                     IrModel **wide,
                     IrRun **truth)
{
  *wide = variant->type == 1 ? NULL : wide_model (variant, left);
  *truth = *wide != NULL ? wide_run (*wide, inputs) : NULL;
  return in_normal_range (left, *truth != NULL ? *truth : before, variant->type);
}

static char *
check_results (const Variant *variant,
               IrModel *left,
               GHashTable *inputs,
               IrRun *before,
               IrModel *right,
               Counts *counts)
{
  g_autoptr (IrModel) wide = NULL;
  g_autoptr (IrRun) truth = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (GHashTable) right_inputs = pass_trial_inputs (
      right, variant->n, variant->seed, variant->idiom->rule->step_class == IR_CLASS_EXACT);
  g_autoptr (IrRun) after = run (right, right_inputs, &error);

  if (after == NULL)
    return g_strdup_printf ("does not run: %s", error->message);
  if (variant->idiom->rule->step_class == IR_CLASS_UNSAFE)
    return NULL;
  if (variant->idiom->rule->step_class == IR_CLASS_ROUNDING &&
      !rounding_is_bounded (variant, left, inputs, before, &wide, &truth))
    {
      counts->n_outside++;
      return NULL;
    }
  counts->n_compared++;
  return compare (variant, left, before, right, after, wide, truth);
}

static void
check_variant (const Variant *variant, Counts *counts)
{
  gboolean exact = variant->idiom->rule->step_class == IR_CLASS_EXACT;
  g_autoptr (IrModel) left = model_of (variant, types[variant->type].name);

  if (left == NULL)
    return;
  g_autoptr (GHashTable) inputs = pass_trial_inputs (left, variant->n, variant->seed, exact);
  g_autoptr (IrRun) before = run (left, inputs, NULL);
  g_autoptr (IrModel) right = ir_model_clone (left);
  apply (variant, right);
  counts->n_applied += took_step (right, variant->idiom->rule);
  counts->n_ran += before != NULL;
  if (before == NULL || ir_history_n_steps (right) == 0)
    return;
  g_autofree char *found = check_results (variant, left, inputs, before, right, counts);
  if (found != NULL)
    {
      g_autofree char *from = ir_text_write (left), *to = ir_text_write (right);
      g_test_message ("%s in %s, seed %u%s: %s\n%s%s", variant->idiom->rule->name,
                      types[variant->type].name, variant->seed, variant->wild ? ", wild" : "",
                      found, from, to);
    }
  g_assert_null (found);
}

static guint
n_others (const Idiom *idiom)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);
  g_autoptr (IrModel) model = gen_start (idiom->text, rand, 2, 1, FALSE);
  guint n = 0;

  while (model != NULL && make_one (model, n + 1))
    {
      g_autoptr (GRand) again = g_rand_new_with_seed (1);
      g_clear_pointer (&model, ir_model_unref);
      model = gen_start (idiom->text, again, 2, 1, FALSE);
      n++;
    }
  return n;
}

/* Of all iterations, where their number is known. */
static double
flops_of (const IrModel *model)
{
  gboolean partial = FALSE;
  double flops = (double) ir_cost_model (model, &partial).flops;
  g_autoptr (GArray) loops = ir_loops (model);

  for (guint i = 0; i < loops->len; i++)
    {
      const IrLoopFacts *loop = &g_array_index (loops, IrLoopFacts, i);
      if (loop->depth == 1 && loop->trips > 1)
        flops += (double) loop->flops * (double) (loop->trips - 1);
    }
  return flops;
}

static void
check_names_and_cost (const Variant *variant)
{
  g_autoptr (IrModel) left = model_of (variant, "float");
  g_autoptr (IrModel) right = left != NULL ? ir_model_clone (left) : NULL;
  g_autoptr (GHashTable) inputs = left != NULL ? pass_trial_inputs (left, 2, 1, FALSE) : NULL;
  g_autoptr (IrRun) before = left != NULL ? run (left, inputs, NULL) : NULL;

  if (before == NULL)
    return;
  apply (variant, right);
  if (!names_are_unique (right) || flops_of (right) > 1.4 * flops_of (left) + 50)
    {
      g_autofree char *from = ir_text_write (left), *to = ir_text_write (right);
      g_test_message ("%s, %u: %g FLOPs, were %g\n%s%s", variant->idiom->rule->name, variant->one,
                      flops_of (right), flops_of (left), from, to);
      g_assert_cmpfloat (flops_of (right), <=, 1.4 * flops_of (left) + 50);
    }
  g_assert_true (names_are_unique (right));
}

static void
test_one_value (gconstpointer data)
{
  Counts counts = { 0 };
  const Idiom *idiom = data;

  for (guint n = n_others (idiom), i = 1; i <= n; i++)
    {
      Variant variant = { idiom, 0, 1, FALSE, 2, i };
      check_names_and_cost (&variant);
      check_variant (&variant, &counts);
    }
  g_test_message ("applied in %u of %u", counts.n_applied, counts.n_ran);
}

static void
check_type (const Idiom *idiom, guint type, Counts *plain, Counts *all)
{
  guint n_plain = type == 0 ? N_PLAIN : N_OTHER_PLAIN, n_wild = type == 0 ? N_WILD : N_OTHER_WILD;

  for (guint i = 0; i < n_plain + n_wild; i++)
    {
      Variant variant = { idiom, type, 1 + i * 2, i >= n_plain, 1 + i % 3 };
      check_variant (&variant, i < n_plain && type == 0 ? plain : all);
    }
}

static void
test_rule (gconstpointer data)
{
  const Idiom *idiom = data;
  Counts plain = { 0 }, all = { 0 };

  for (guint type = 0; type < G_N_ELEMENTS (types); type++)
    check_type (idiom, type, &plain, &all);
  g_test_message ("%s: applied in %u of %u; of %u others in %u; %u compared, %u outside the range",
                  idiom->rule->name, plain.n_applied, plain.n_ran, all.n_ran, all.n_applied,
                  plain.n_compared + all.n_compared, plain.n_outside + all.n_outside);
  if (!idiom_rule_does_not_run (idiom->rule->name))
    g_assert_cmpuint (plain.n_ran, ==, N_PLAIN);
  if (!idiom_rule_has_no_steps (idiom->rule->name))
    g_assert_cmpuint (plain.n_applied, ==, N_PLAIN);
  if (idiom->rule->step_class != IR_CLASS_UNSAFE && !idiom_rule_does_not_run (idiom->rule->name))
    g_assert_cmpuint (plain.n_compared, >, 0);
}

/* Where rules may apply or not, but must not go wrong. */
static void
test_trap (gconstpointer data)
{
  Counts counts = { 0 };

  for (guint type = 0; type < G_N_ELEMENTS (types); type++)
    check_type (data, type, &counts, &counts);
  g_test_message ("applied in %u of %u", counts.n_applied, counts.n_ran);
  g_assert_cmpuint (counts.n_ran, >, 0);
}

static void
test_every_rule_has_an_idiom (void)
{
  g_autoptr (GPtrArray) rules = idiom_rules_new ();

  for (guint i = 0; i < rules->len; i++)
    {
      const Idiom *idiom = rules->pdata[i];
      if (idiom->text == NULL)
        g_test_message ("%s has no idiom: add one to tests/fuzz/idioms.c", idiom->rule->name);
      g_assert_nonnull (idiom->text);
    }
}

int
main (int argc, char **argv)
{
  g_autoptr (GPtrArray) idioms = idioms_new (), traps = idiom_traps_new ();

  g_test_init (&argc, &argv, NULL);
  g_test_set_nonfatal_assertions ();
  g_test_add_func ("/properties/every rule has an idiom", test_every_rule_has_an_idiom);
  for (guint i = 0; i < idioms->len; i++)
    {
      const Idiom *idiom = idioms->pdata[i];
      g_autofree char *path = g_strdup_printf ("/properties/%s/%s %u says the same on both sides",
                                               idiom->pass->name, idiom->rule->name, i);
      g_test_add_data_func (path, idiom, test_rule);
      g_autofree char *one = g_strdup_printf ("/properties/%s/%s %u takes no value twice",
                                              idiom->pass->name, idiom->rule->name, i);
      g_test_add_data_func (one, idiom, test_one_value);
    }
  for (guint i = 0; i < traps->len; i++)
    {
      const Idiom *trap = traps->pdata[i];
      g_autofree char *path = g_strdup_printf ("/properties/%s/%s is right in trap %u",
                                               trap->pass->name, trap->rule->name, i);
      g_test_add_data_func (path, trap, test_trap);
    }
  return g_test_run ();
}
