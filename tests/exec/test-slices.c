/* Values that lie within others: what Concat joins and what Split and Slice cut out, in plans and
 * in runs, whose results must be those of runs in which every value has memory of its own. */
#include "config.h"

#include "core/exec/run/capture.h"
#include "core/exec/kernel/backend.h"
#include "tests/exec/graphs.h"

#include <string.h>

/* -- plans -- */

static IrMemPlan *
plan_of (Builder *b)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrSchedule) schedule = ir_schedule_new (b->model, &ir_backend_ref, 1, &error);

  g_assert_no_error (error);
  return ir_mem_plan_new (b->model, schedule, 64);
}

static const IrMemItem *
item_of (const IrMemPlan *plan, const IrValue *value)
{
  for (guint i = 0; i < plan->items->len; i++)
    if (g_array_index (plan->items, IrMemItem, i).value == value->id)
      return &g_array_index (plan->items, IrMemItem, i);
  g_assert_not_reached ();
}

static void
assert_part (const IrMemPlan *plan, const IrValue *part, const IrValue *whole, guint64 at)
{
  const IrMemItem *item = item_of (plan, part);

  g_assert_cmpuint (item->part_of, ==, whole->id);
  g_assert_cmpuint (item->alias_of, !=, 0);
  g_assert_cmpuint (item->offset, ==, item_of (plan, whole)->offset + at);
}

static void
assert_apart (const IrMemPlan *plan, const IrValue *part, const IrValue *whole)
{
  g_assert_cmpuint (item_of (plan, part)->part_of, !=, whole->id);
}

static void
assert_cut (const IrMemPlan *plan, const IrValue *part, const IrValue *whole, guint64 at)
{
  const IrMemItem *item = item_of (plan, part);

  g_assert_cmpuint (item->view_of, ==, whole->id);
  g_assert_cmpuint (item->offset, ==, item_of (plan, whole)->offset + at);
}

/* -- runs -- */

static void
assert_same (const IrRun *run, const IrRun *other, IrValueId id)
{
  const IrTensor *y = ir_run_value ((IrRun *) run, id), *z = ir_run_value ((IrRun *) other, id);

  g_assert_nonnull (y);
  g_assert_nonnull (z);
  g_assert_cmpmem (ir_tensor_data (y), ir_tensor_n_bytes (y), ir_tensor_data (z),
                   ir_tensor_n_bytes (z));
}

static void
check_outputs (const IrModel *model, const IrRun *run, const IrRun *own)
{
  for (guint i = 0; i < ir_graph_n_outputs (model->main); i++)
    assert_same (run, own, ir_graph_output (model->main, i)->id);
}

/* Every third value is kept, from @first on: it leaves the arena, its neighbours stay. */
static void
check_chosen (
    Builder *b, GHashTable *inputs, const IrRunOptions *base, const IrRun *own, guint first)
{
  g_autoptr (GError) error = NULL;
  IrRunOptions options = *base;
  guint n_values;
  IrValue *const *values = ir_graph_values (b->model->main, &n_values);

  options.capture = IR_CAPTURE_CHOSEN;
  options.chosen = g_array_new (FALSE, FALSE, sizeof (IrValueId));
  for (guint i = first; i < n_values; i += 3)
    g_array_append_val (options.chosen, values[i]->id);
  g_autoptr (IrRun) run = ir_model_run (b->model, inputs, &options, NULL, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < options.chosen->len; i++)
    assert_same (run, own, g_array_index (options.chosen, IrValueId, i));
  check_outputs (b->model, run, own);
  g_array_unref (options.chosen);
}

/* @own has every value, some of them within others; running the nodes one by one gives each memory
 * of its own. */
static void
check_again (IrModel *model, GHashTable *inputs, const IrRunOptions *options, const IrRun *own)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrRun) none = ir_model_run (model, inputs, options, NULL, &error);

  g_assert_no_error (error);
  for (IrValueId id = 1; id < own->n_values; id++)
    {
      if (ir_model_live_value (own->model, id) == NULL || ir_run_value (own, id) == NULL)
        continue;
      g_autoptr (IrTensor) wanted = ir_run_find (none, id, NULL, NULL, &error);
      g_assert_no_error (error);
      g_assert_true (ir_tensor_equal (ir_run_value (own, id), wanted));
    }
}

static void
check_runs_on (Builder *b, GHashTable *inputs, const char *backend, guint n_threads)
{
  g_autoptr (GError) error = NULL;
  IrRunOptions options = { .backend = ir_backend_find (backend), .n_threads = n_threads };
  g_autoptr (IrExecutable) executable = ir_executable_new (b->model, &options, &error);
  g_assert_no_error (error);
  IrRunOptions all = options;
  all.capture = IR_CAPTURE_ALL;
  g_autoptr (IrRun) own = ir_model_run (b->model, inputs, &all, NULL, &error);
  g_assert_no_error (error);
  check_again (b->model, inputs, &options, own);

  for (guint round = 0; round < 2; round++)
    {
      g_autoptr (IrRun) run = ir_executable_run (executable, inputs, NULL, NULL, &error);
      g_assert_no_error (error);
      g_assert_cmpuint (run->trace->arena_bytes, ==, run->memplan->peak_bytes);
      check_outputs (b->model, run, own);
    }
  options.capture = IR_CAPTURE_STATS;
  g_autoptr (IrRun) stats = ir_model_run (b->model, inputs, &options, NULL, &error);
  g_assert_no_error (error);
  check_outputs (b->model, stats, own);
  for (guint first = 0; first < 3; first++)
    check_chosen (b, inputs, &options, own, first);
}

static void
check_runs (Builder *b, GHashTable *inputs)
{
  check_runs_on (b, inputs, "ref", 1);
  check_runs_on (b, inputs, "cpu", 1);
  check_runs_on (b, inputs, "cpu", 2);
}

/* -- one by one -- */

typedef struct
{
  Builder b;
  GHashTable *inputs;
  IrValue *x; /* float[4,16], an input */
} Case;

static void
case_begin (Case *c)
{
  *c = (Case){ .inputs = inputs_new () };
  builder_init (&c->b, 17);
  c->x = build_input (&c->b, "x", "float[4,16]");
  inputs_add (c->inputs, c->x, tensor_random ("float[4,16]", 3));
}

/* Ends with a value that is no part of anything. */
static IrMemPlan *
case_end (Case *c, IrValue *last)
{
  build_output (&c->b, build_node (&c->b, NULL, "Sqrt", 1, last, END)->outputs[0]);
  build_done (&c->b);
  return plan_of (&c->b);
}

static void
case_clear (Case *c)
{
  check_runs (&c->b, c->inputs);
  builder_clear (&c->b);
  g_hash_table_unref (c->inputs);
}

static IrValue *
unary (Case *c, const char *op, IrValue *value)
{
  return build_node (&c->b, NULL, op, 1, value, END)->outputs[0];
}

static IrValue *
join (Case *c, IrValue *left, IrValue *right, gint64 axis)
{
  IrNode *node = build_node (&c->b, NULL, "Concat", 1, left, right, END);

  build_int (&c->b, node, "axis", axis);
  return node->outputs[0];
}

static void
test_parts_are_written_in_place (void)
{
  Case c;

  case_begin (&c);
  IrValue *left = unary (&c, "Exp", c.x), *right = unary (&c, "Tanh", c.x);
  IrValue *whole = join (&c, left, right, -2);
  g_autoptr (IrMemPlan) plan = case_end (&c, whole);
  assert_part (plan, left, whole, 0);
  assert_part (plan, right, whole, 256);
  g_assert_cmpuint (plan->peak_bytes, ==, 512);
  g_assert_cmpuint (plan->naive_bytes, ==, 1024);
  g_autofree char *why = ir_mem_plan_explain (plan, c.b.model, right->id);
  g_assert_nonnull (strstr (why, "from byte 256 on"));
  case_clear (&c);
}

static void
test_other_axes_are_copied (void)
{
  Case c;

  case_begin (&c);
  IrValue *left = unary (&c, "Exp", c.x), *right = unary (&c, "Tanh", c.x);
  IrValue *whole = join (&c, left, right, 1);
  g_autoptr (IrMemPlan) plan = case_end (&c, whole);
  assert_apart (plan, left, whole);
  assert_apart (plan, right, whole);
  g_autofree char *why = ir_mem_plan_explain (plan, c.b.model, whole->id);
  g_assert_nonnull (strstr (why, "is not one range"));
  case_clear (&c);
}

static void
test_an_input_that_is_joined_twice (void)
{
  Case c;

  case_begin (&c);
  IrValue *part = unary (&c, "Exp", c.x);
  IrValue *whole = join (&c, part, part, 0);
  g_autoptr (IrMemPlan) plan = case_end (&c, whole);
  assert_part (plan, part, whole, 0);
  g_assert_cmpuint (plan->peak_bytes, ==, 512);
  case_clear (&c);
}

static void
test_what_lies_outside_is_copied (void)
{
  Case c;

  case_begin (&c);
  IrValue *constant = build_constant (&c.b, "c", tensor_random ("float[4,16]", 5));
  IrValue *kept = unary (&c, "Exp", c.x);
  build_output (&c.b, kept);
  IrValue *part = unary (&c, "Tanh", c.x);
  IrValue *first = join (&c, c.x, constant, 0), *second = join (&c, kept, part, 0);
  IrValue *whole = join (&c, first, second, 0);
  g_autoptr (IrMemPlan) plan = case_end (&c, whole);
  assert_apart (plan, c.x, first);
  assert_apart (plan, constant, first);
  assert_apart (plan, kept, second);
  assert_part (plan, part, second, 256);
  assert_part (plan, first, whole, 0);
  assert_part (plan, second, whole, 512);
  case_clear (&c);
}

static void
test_a_value_of_two_wholes_lies_in_one (void)
{
  Case c;

  case_begin (&c);
  IrValue *part = unary (&c, "Exp", c.x), *other = unary (&c, "Tanh", c.x);
  IrValue *first = join (&c, part, other, 0), *second = join (&c, other, part, 0);
  IrNode *sum = build_node (&c.b, NULL, "Add", 1, first, second, END);
  g_autoptr (IrMemPlan) plan = case_end (&c, sum->outputs[0]);
  assert_part (plan, part, first, 0);
  assert_part (plan, other, first, 256);
  assert_apart (plan, part, second);
  case_clear (&c);
}

static void
test_offsets_of_nested_wholes_add_up (void)
{
  Case c;
  IrValue *wholes[6], *parts[6];

  case_begin (&c);
  wholes[0] = unary (&c, "Exp", c.x);
  for (guint i = 1; i < 6; i++)
    {
      IrValue *sum = build_node (&c.b, NULL, "ReduceMax", 1, wholes[i - 1], END)->outputs[0];
      IrNode *layer = build_node (&c.b, NULL, "Add", 1, c.x, sum, END);
      parts[i] = unary (&c, "Tanh", layer->outputs[0]); /* written over what the layer gives */
      wholes[i] = join (&c, wholes[i - 1], parts[i], 0);
    }
  g_autoptr (IrMemPlan) plan = case_end (&c, wholes[5]);
  for (guint i = 1; i < 6; i++)
    {
      assert_part (plan, wholes[i - 1], wholes[i], 0);
      assert_part (plan, parts[i], wholes[i], i * 256);
      g_assert_cmpuint (item_of (plan, parts[i])->offset, ==,
                        item_of (plan, wholes[5])->offset + i * 256);
      g_assert_cmpuint (item_of (plan, parts[i])->over, !=, 0);
    }
  g_assert_cmpuint (plan->peak_bytes, <=, 6 * 256 + 64);
  case_clear (&c);
}

static void
test_a_part_that_is_read_later_is_not_overwritten (void)
{
  Case c;

  case_begin (&c);
  IrValue *left = unary (&c, "Exp", c.x), *right = unary (&c, "Tanh", c.x);
  IrValue *whole = join (&c, left, right, 0);
  IrValue *over = unary (&c, "Neg", whole); /* would write over the part that Add reads */
  IrValue *late = build_node (&c.b, NULL, "Add", 1, over, over, END)->outputs[0];
  IrValue *read = unary (&c, "Neg", right);
  g_autoptr (IrMemPlan) plan = case_end (&c, join (&c, late, read, 0));
  if (item_of (plan, right)->part_of == whole->id)
    g_assert_cmpuint (item_of (plan, over)->over, ==, 0);
  case_clear (&c);
}

static void
test_early_parts_do_not_raise_the_peak (void)
{
  Case c;

  case_begin (&c);
  IrValue *wide_sizes = build_constant (&c.b, "wide",
                                        ir_tensor_new_int64s ((gint64[]){ 64, 4, 16 }, 3));
  IrValue *sizes = build_constant (&c.b, "sizes", ir_tensor_new_int64s ((gint64[]){ 300, 16 }, 2));
  IrValue *one = build_constant (&c.b, "one", ir_tensor_new_int64s ((gint64[]){ 1, 1 }, 2));
  IrValue *early = unary (&c, "Exp", c.x);
  /* Two values of 16 KiB live here, beside which the whole of 19 KiB must not wait. */
  IrValue *wide = build_node (&c.b, NULL, "Expand", 1, c.x, wide_sizes, END)->outputs[0];
  IrValue *peak = unary (&c, "ReduceMax", unary (&c, "Transpose", wide));
  peak = build_node (&c.b, NULL, "Reshape", 1, peak, one, END)->outputs[0];
  IrValue *late = build_node (&c.b, NULL, "Expand", 1, peak, sizes, END)->outputs[0];
  IrValue *whole = join (&c, early, late, 0);
  g_autoptr (IrMemPlan) plan = case_end (&c, whole);
  assert_apart (plan, early, whole);
  assert_part (plan, late, whole, 256);
  g_assert_cmpuint (plan->peak_bytes, ==, 2 * 16384 + 256);
  g_autofree char *why = ir_mem_plan_explain (plan, c.b.model, early->id);
  g_assert_nonnull (strstr (why, "more live at once"));
  case_clear (&c);
}

static void
test_splits_are_views (void)
{
  Case c;

  case_begin (&c);
  IrValue *whole = unary (&c, "Exp", c.x);
  IrNode *split = build_node (&c.b, NULL, "Split", 2, whole, END);
  IrValue *low = unary (&c, "Neg", split->outputs[0]), *high = unary (&c, "Abs", split->outputs[1]);
  IrValue *sum = build_node (&c.b, NULL, "Sub", 1, low, high, END)->outputs[0];
  g_autoptr (IrMemPlan) plan = case_end (&c, sum);
  assert_cut (plan, split->outputs[0], whole, 0);
  assert_cut (plan, split->outputs[1], whole, 128);
  /* Each half is written over by itself. */
  g_assert_cmpuint (item_of (plan, low)->over, ==, split->outputs[0]->id);
  g_assert_cmpuint (item_of (plan, high)->over, ==, split->outputs[1]->id);
  g_assert_cmpuint (plan->peak_bytes, ==, 256);
  case_clear (&c);
}

static IrValue *
cut (Case *c, IrValue *value, const char *name, gint64 start, gint64 end, gint64 step)
{
  IrValue *operands[4];
  gint64 numbers[] = { start, end, 0, step };

  for (guint i = 0; i < 4; i++)
    {
      g_autofree char *full = g_strdup_printf ("%s%u", name, i);
      operands[i] = build_constant (&c->b, full, ir_tensor_new_int64s (&numbers[i], 1));
    }
  return build_node (&c->b, NULL, "Slice", 1, value, operands[0], operands[1], operands[2],
                     operands[3], END)
      ->outputs[0];
}

static void
test_slices_are_views_while_nobody_writes (void)
{
  Case c;

  case_begin (&c);
  IrValue *whole = unary (&c, "Exp", c.x);
  IrValue *middle = cut (&c, whole, "m", 1, -1, 1), *odd = cut (&c, whole, "o", 1, 4, 2),
          *back = cut (&c, whole, "b", -1, -5, -1), *one = cut (&c, whole, "s", 2, 3, 5);
  IrValue *over = unary (&c, "Neg", whole); /* not over what is still looked at */
  IrValue *sum = build_node (&c.b, NULL, "Add", 1, middle, odd, END)->outputs[0];
  sum = build_node (&c.b, NULL, "Add", 1, sum, one, END)->outputs[0];
  IrValue *rest = build_node (&c.b, NULL, "Add", 1, over, back, END)->outputs[0];
  rest = build_node (&c.b, NULL, "Sub", 1, rest, whole, END)->outputs[0];
  g_autoptr (IrMemPlan) plan = case_end (&c, join (&c, sum, rest, 0));
  assert_cut (plan, middle, whole, 64);
  assert_cut (plan, one, whole, 128);
  g_assert_cmpuint (item_of (plan, odd)->view_of, ==, 0);
  g_assert_cmpuint (item_of (plan, back)->view_of, ==, 0);
  g_assert_cmpuint (item_of (plan, over)->over, ==, 0);
  case_clear (&c);
}

static void
test_offsets_are_aligned (void)
{
  Case c;

  case_begin (&c);
  IrValue *few = build_input (&c.b, "few", "float[3]");
  inputs_add (c.inputs, few, tensor_random ("float[3]", 5));
  IrValue *shape = build_constant (&c.b, "shape", ir_tensor_new_int64s ((gint64[]){ 64 }, 1));
  IrValue *left = unary (&c, "Abs", few), *right = unary (&c, "Exp", c.x);
  right = build_node (&c.b, NULL, "Reshape", 1, right, shape, END)->outputs[0];
  IrValue *whole = join (&c, left, right, 0);
  g_autoptr (IrMemPlan) plan = case_end (&c, whole);
  assert_part (plan, left, whole, 0);
  assert_apart (plan, right, whole);
  g_autofree char *why = ir_mem_plan_explain (plan, c.b.model, right->id);
  g_assert_nonnull (strstr (why, "alignment"));
  case_clear (&c);
}

/* -- at random -- */

typedef struct
{
  IrValue *value;
  gint64 rows;
} Grown;

static const Grown *
pick (GArray *grown, GRand *rand)
{
  guint first = grown->len > 8 && g_rand_boolean (rand) ? grown->len - 8 : 0;

  return &g_array_index (grown, Grown,
                         (guint) g_rand_int_range (rand, (gint) first, (gint) grown->len));
}

static void
grow (Case *c, GArray *grown, GRand *rand, guint index)
{
  const char *const unaries[] = { "Neg", "Abs", "Relu", "Tanh" };
  Grown a = *pick (grown, rand), other = *pick (grown, rand), added = { NULL, a.rows };
  g_autofree char *name = g_strdup_printf ("n%u_", index);

  switch (g_rand_int_range (rand, 0, 8))
    {
    case 0:
    case 1:
    case 2:
      if (a.rows + other.rows > 64)
        return;
      added = (Grown){ join (c, a.value, other.value, 0), a.rows + other.rows };
      break;
    case 3:
      if (a.rows < 2)
        return;
      added.rows = g_rand_int_range (rand, 1, (gint) a.rows);
      gint64 start = g_rand_int_range (rand, 0, (gint) (a.rows - added.rows) + 1);
      added.value = cut (c, a.value, name, start, start + added.rows, 1);
      break;
    case 4:
      if (a.rows % 2 != 0)
        return;
      added.rows = a.rows / 2;
      IrNode *split = build_node (&c->b, NULL, "Split", 2, a.value, END);
      added.value = split->outputs[1];
      g_array_append_val (grown, added);
      added.value = split->outputs[0];
      break;
    case 5:
      if (a.rows != other.rows)
        return;
      added.value = build_node (&c->b, NULL, "Sub", 1, a.value, other.value, END)->outputs[0];
      break;
    case 6:
      added.value = build_node (&c->b, NULL, "Identity", 1, a.value, END)->outputs[0];
      break;
    default:
      added.value = unary (c, unaries[g_rand_int_range (rand, 0, 4)], a.value);
      break;
    }
  g_array_append_val (grown, added);
}

static void
test_random_graphs (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (43);
  guint n_parts = 0, n_views = 0;

  for (guint round = 0; round < 60; round++)
    {
      g_autoptr (GArray) grown = g_array_new (FALSE, FALSE, sizeof (Grown));
      Case c;
      case_begin (&c);
      Grown first = { unary (&c, "Exp", c.x), 4 };
      g_array_append_val (grown, first);
      for (guint i = 0; i < 30; i++)
        grow (&c, grown, rand, i);
      build_output (&c.b, g_array_index (grown, Grown, grown->len / 2).value);
      g_autoptr (IrMemPlan)
          plan = case_end (&c, g_array_index (grown, Grown, grown->len - 1).value);
      for (guint i = 0; i < plan->items->len; i++)
        {
          n_parts += g_array_index (plan->items, IrMemItem, i).part_of != 0;
          n_views += g_array_index (plan->items, IrMemItem, i).view_of != 0;
        }
      g_assert_cmpuint (plan->lower_bound_bytes, <=, plan->peak_bytes);
      g_assert_cmpuint (plan->peak_bytes, <=, plan->naive_bytes);
      case_clear (&c);
    }
  g_test_message ("%u parts, %u views", n_parts, n_views);
  g_assert_cmpuint (n_parts, >, 60);
  g_assert_cmpuint (n_views, >, 60);
}

/* Sizes of a run may deny what a type says of the whole: the node fails, and what was to lie within is not written beyond
 * it. Over each axis, by each back end, in a plan that has run before. */
static void
test_parts_that_do_not_fit_have_memory_of_their_own (void)
{
  static const struct
  {
    const char *x, *other, *right, *wrong;
    gint64 axis;
  } cases[] = {
    { "float[n,16,6,4]", "float[1,16,6,4]", "float[1,16,6,4]", "float[64,16,6,4]", 1 },
    { "float[1,n,5]", "float[1,3,5]", "float[1,3,5]", "float[1,900,5]", 2 },
    { "float[4,n]", "float[4,1000]", "float[4,1000]", "float[4,200000]", 0 },
  };

  for (guint i = 0; i < 2 * G_N_ELEMENTS (cases); i++)
    {
      const typeof (cases[0]) *c = &cases[i / 2];
      g_auto (Builder) b = { 0 };
      builder_init (&b, 17);
      IrValue *x = build_input (&b, "x", c->x), *other = build_input (&b, "other", c->other);
      IrNode *made = build_node (&b, NULL, "Relu", 1, x, END);
      IrNode *joined = build_node (&b, NULL, "Concat", 1, made->outputs[0], other, END);
      build_int (&b, joined, "axis", c->axis);
      build_output (&b, build_node (&b, NULL, "Neg", 1, joined->outputs[0], END)->outputs[0]);
      build_done (&b);
      const IrRunOptions options = { .backend = ir_backend_find (i % 2 ? "cpu" : "ref"),
                                     .n_threads = 1 };
      g_autoptr (IrExecutable) plan = ir_executable_new (b.model, &options, NULL);
      for (guint n = 0; n < 4; n++)
        {
          g_autoptr (GError) error = NULL;
          g_autoptr (GHashTable) inputs = inputs_new ();
          inputs_add (inputs, x, tensor_random (n % 2 ? c->wrong : c->right, n));
          inputs_add (inputs, other, tensor_random (c->other, n));
          g_autoptr (IrRun) run = ir_executable_run (plan, inputs, NULL, NULL, &error);
          if (n % 2)
            g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_KERNEL);
          else
            g_assert_no_error (error);
        }
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/slices/what is joined is written into its place",
                   test_parts_are_written_in_place);
  g_test_add_func ("/slices/joining along an inner axis copies", test_other_axes_are_copied);
  g_test_add_func ("/slices/an input that is joined twice lies in one of its places",
                   test_an_input_that_is_joined_twice);
  g_test_add_func ("/slices/inputs, constants and outputs of the graph are copied",
                   test_what_lies_outside_is_copied);
  g_test_add_func ("/slices/a value of two wholes lies in one of them",
                   test_a_value_of_two_wholes_lies_in_one);
  g_test_add_func ("/slices/offsets of nested wholes add up", test_offsets_of_nested_wholes_add_up);
  g_test_add_func ("/slices/a part that is read later is not written over with its whole",
                   test_a_part_that_is_read_later_is_not_overwritten);
  g_test_add_func ("/slices/parts that are made early do not raise the peak",
                   test_early_parts_do_not_raise_the_peak);
  g_test_add_func ("/slices/what Split gives lies in its input, each written over by itself",
                   test_splits_are_views);
  g_test_add_func ("/slices/what Slice gives lies in its input, which stays as it is",
                   test_slices_are_views_while_nobody_writes);
  g_test_add_func ("/slices/parts that do not fit have memory of their own",
                   test_parts_that_do_not_fit_have_memory_of_their_own);
  g_test_add_func ("/slices/parts begin where the alignment allows", test_offsets_are_aligned);
  g_test_add_func ("/slices/random graphs give what they give without sharing", test_random_graphs);
  return g_test_run ();
}
