/* Every pass works inside subgraphs and functions: the example of each rule is put into a branch of
 * an If, into the body of a Loop, into the body of a function that is called, and into one that a closure
 * names, and the rule must apply there and keep the results. Constants of the main graph are captured by
 * the subgraphs; in functions they are nodes.
 *
 * Branch, body and a branch in a body are also lowered: then tokens move through the graph. There a rule
 * applies, or says what would leave its frame or come to life. */
#include "config.h"

#include "tests/rules/pass-test.h"

#include <string.h>

typedef enum
{
  PLACE_BRANCH,
  PLACE_LOOP,
  PLACE_FUNCTION,
  PLACE_CLOSURE,
  PLACE_SIDE,
  PLACE_FRAME,
  PLACE_NESTED,
  PLACE_NESTED_FRAMES,
  N_PLACES
} Place;

static const char *const place_names[] = { "a branch",          "the body of a Loop", "a function",
                                           "a closure",         "a side of Switches", "a frame",
                                           "a side in a frame", "a frame in a frame" };

typedef struct
{
  const IrPass *pass;
  const char *rule, *example;
  IrClass step_class;
  Place place;
} Case;

/* Why a rule does not apply in some place. */
static const struct
{
  const char *rule;
  Place place;
  const char *reason;
} exceptions[] = {
  { "unused-initializers", PLACE_FUNCTION, "a function has no initializers" },
  { "unused-initializers", PLACE_CLOSURE, "a function has no initializers" },
};

/* -- the places -- */

typedef struct
{
  IrEdit *edit;
  IrModel *model;
  IrContext *context;
  GPtrArray *nodes, *inputs, *outputs; /* of the main graph, before */
  guint round;                         /* how often something was planted before */
} Planter;

static const char *
named (const Planter *p, const char *name)
{
  g_autofree char *text = g_strdup_printf ("place_%s%u", name, p->round);

  return ir_context_intern (p->context, text);
}

static const IrType *
scalar (const Planter *p, IrDtype dtype)
{
  return ir_type_tensor (p->context, dtype, 0, NULL);
}

static IrValue *
add_input (Planter *p, const char *name, IrDtype dtype)
{
  IrValue *value = ir_edit_add_value (p->edit, p->model->main, name, scalar (p, dtype));

  g_ptr_array_add (p->inputs, value);
  ir_edit_set_graph_inputs (p->edit, p->model->main, (IrValue *const *) p->inputs->pdata,
                            p->inputs->len);
  return value;
}

static void
move_all (Planter *p, IrGraph *to)
{
  for (guint i = 0; i < p->nodes->len; i++)
    ir_edit_move_node (p->edit, p->nodes->pdata[i], to);
}

static void
give_outputs (Planter *p, IrNode *node)
{
  ir_edit_set_graph_outputs (p->edit, p->model->main, node->outputs, node->n_outputs);
}

static void
own (Planter *p, IrNode *node, const char *attr, IrGraph *graph)
{
  ir_edit_set_attr (p->edit, node, ir_attr_graph (p->context, attr, graph->id));
}

/* Nothing of interest, but of the types that the other branch gives. */
static void
fill_other_branch (Planter *p, IrGraph *graph)
{
  g_autoptr (GPtrArray) values = g_ptr_array_new ();

  for (guint i = 0; i < p->outputs->len; i++)
    {
      const IrType *type = ((const IrValue *) p->outputs->pdata[i])->type;
      g_autofree char *name = g_strdup_printf ("other%u", i);
      gint64 dims[IR_MAX_RANK];

      for (int k = 0; k < type->rank; k++)
        dims[k] = ir_dim_is_known (type->dims[k]) ? type->dims[k] : 1;
      g_autoptr (IrTensor)
          tensor = ir_tensor_new_alloc (type->dtype, MAX (type->rank, 0), dims, NULL);
      g_ptr_array_add (values, ir_edit_add_initializer (p->edit, graph, name, tensor));
    }
  ir_edit_set_graph_outputs (p->edit, graph, (IrValue *const *) values->pdata, values->len);
}

static void
plant_in_branch (Planter *p)
{
  IrGraph *then_branch = ir_edit_add_graph (p->edit, IR_GRAPH_SUBGRAPH, "planted");
  IrGraph *else_branch = ir_edit_add_graph (p->edit, IR_GRAPH_SUBGRAPH, "other");
  IrValue *condition = add_input (p, named (p, "go"), IR_DTYPE_BOOL);
  IrNode *node = ir_edit_add_node (p->edit, p->model->main, "If", NULL, named (p, "if"), 1,
                                   &condition, p->outputs->len);

  own (p, node, "then_branch", then_branch);
  own (p, node, "else_branch", else_branch);
  give_outputs (p, node);
  move_all (p, then_branch);
  ir_edit_set_graph_outputs (p->edit, then_branch, (IrValue *const *) p->outputs->pdata,
                             p->outputs->len);
  fill_other_branch (p, else_branch);
}

static void
plant_in_loop (Planter *p)
{
  IrGraph *body = ir_edit_add_graph (p->edit, IR_GRAPH_SUBGRAPH, "planted");
  IrValue *inputs[] = { add_input (p, named (p, "trips"), IR_DTYPE_INT64), NULL };
  IrNode *node = ir_edit_add_node (p->edit, p->model->main, "Loop", NULL, named (p, "loop"), 2,
                                   inputs, p->outputs->len);
  g_autoptr (GPtrArray) outputs = g_ptr_array_new ();
  IrValue *arguments[2];
  IrNode *more;

  own (p, node, "body", body);
  give_outputs (p, node);
  arguments[0] = ir_edit_add_value (p->edit, body, named (p, "i"), scalar (p, IR_DTYPE_INT64));
  arguments[1] = ir_edit_add_value (p->edit, body, named (p, "on"), scalar (p, IR_DTYPE_BOOL));
  ir_edit_set_graph_inputs (p->edit, body, arguments, 2);
  more = ir_edit_add_node (p->edit, body, "Identity", NULL, named (p, "more"), 1, &arguments[1], 1);
  move_all (p, body);
  g_ptr_array_add (outputs, more->outputs[0]);
  g_ptr_array_extend (outputs, p->outputs, NULL, NULL);
  ir_edit_set_graph_outputs (p->edit, body, (IrValue *const *) outputs->pdata, outputs->len);
}

/* Uses of @old, of the main graph, by nodes that moved. */
static void
use_instead (Planter *p, IrValue *old, IrValue *with)
{
  for (guint i = old->n_uses; i > 0; i--)
    {
      IrUse use = ir_value_use (old, i - 1);

      if (use.node != NULL && use.graph != p->model->main)
        ir_edit_set_input (p->edit, use.node, use.slot, with);
    }
}

static IrValue *
constant_in (Planter *p, IrGraph *graph, IrValue *value)
{
  g_autofree char *name = g_strconcat (value->name, "_inside", NULL);
  IrValue *inside = ir_edit_add_value (p->edit, graph, name, NULL);
  IrNode *node = ir_edit_add_node_with_outputs (p->edit, graph, "Constant", NULL, NULL, 0, NULL, 1,
                                                &inside);

  ir_edit_set_attr (p->edit, node, ir_attr_tensor (p->context, "value", value->initializer));
  return inside;
}

/* A function that does what the main graph did */
static IrGraph *
plant_function (Planter *p)
{
  IrGraph *function = ir_edit_add_graph (p->edit, IR_GRAPH_FUNCTION, "Planted");
  IrFunctionInfo info = { .domain = ir_context_intern (p->context, "place"),
                          .name = ir_context_intern (p->context, "Planted"),
                          .overload = ir_context_intern (p->context, ""),
                          .opsets = p->model->opsets };
  g_autoptr (GPtrArray) parameters = g_ptr_array_new ();
  guint n;
  IrValue *const *live = ir_graph_values (p->model->main, &n);
  g_autofree IrValue **values = g_memdup2 (live, MAX (n, 1) * sizeof (IrValue *));

  ir_edit_set_opset (p->edit, "place", 1);
  ir_edit_set_function_info (p->edit, function, &info);
  ir_edit_set_graph_outputs (p->edit, p->model->main, NULL, 0);
  move_all (p, function);
  for (guint i = 0; i < p->inputs->len; i++)
    {
      g_autofree char *name = g_strdup_printf ("place_in%u", i);

      g_ptr_array_add (parameters, ir_edit_add_value (p->edit, function, name, NULL));
      use_instead (p, p->inputs->pdata[i], parameters->pdata[i]);
    }
  for (guint i = 0; i < n; i++)
    if (values[i]->initializer != NULL && values[i]->graph == p->model->main)
      use_instead (p, values[i], constant_in (p, function, values[i]));
  ir_edit_set_graph_inputs (p->edit, function, (IrValue *const *) parameters->pdata,
                            parameters->len);
  ir_edit_set_graph_outputs (p->edit, function, (IrValue *const *) p->outputs->pdata,
                             p->outputs->len);
  return function;
}

static void
plant_in_function (Planter *p)
{
  const IrGraph *function = plant_function (p);

  give_outputs (p, ir_edit_add_node (p->edit, p->model->main, function->name, "place", "place",
                                     p->inputs->len, (IrValue *const *) p->inputs->pdata,
                                     p->outputs->len));
}

/* @value: of a function; @type: what whoever calls it can rely on */
static void
declare (Planter *p, IrValue *value, const IrType *type)
{
  ir_edit_set_claim (p->edit, value, type);
  ir_edit_set_flags (p->edit, value, value->flags | IR_VALUE_DECLARED);
}

/* The first input is captured, the others are arguments. */
static void
plant_in_closure (Planter *p)
{
  const IrGraph *function = plant_function (p);
  const guint n_captured = MIN (p->inputs->len, 1);
  IrValue **inputs = (IrValue **) p->inputs->pdata;
  IrNode *partial = ir_edit_add_node (p->edit, p->model->main, "Partial", "irscope.closure",
                                      "place_closure", n_captured, inputs, 1);
  g_autoptr (GPtrArray) arguments = g_ptr_array_new ();

  ir_edit_set_opset (p->edit, "irscope.closure", 1);
  ir_edit_set_attr (p->edit, partial, ir_attr_string (p->context, "function", function->name, -1));
  ir_edit_set_attr (p->edit, partial, ir_attr_string (p->context, "domain", "place", -1));
  for (guint i = 0; i < p->inputs->len; i++)
    declare (p, ir_graph_input (function, i), inputs[i]->type);
  for (guint i = 0; i < p->outputs->len; i++)
    declare (p, p->outputs->pdata[i], ((IrValue *) p->outputs->pdata[i])->type);
  g_ptr_array_add (arguments, partial->outputs[0]);
  for (guint i = n_captured; i < p->inputs->len; i++)
    g_ptr_array_add (arguments, inputs[i]);
  give_outputs (p, ir_edit_add_node (p->edit, p->model->main, "Call", "irscope.closure", "place",
                                     arguments->len, (IrValue *const *) arguments->pdata,
                                     p->outputs->len));
}

static GPtrArray *
ends_of (const IrGraph *graph, IrValue *(*at) (const IrGraph *, guint), guint n)
{
  GPtrArray *values = g_ptr_array_new ();

  for (guint i = 0; i < n; i++)
    g_ptr_array_add (values, at (graph, i));
  return values;
}

static void
plant_once (IrModel *model, void (*plant_in) (Planter *), guint round)
{
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);
  g_autoptr (GPtrArray) nodes = ir_graph_nodes (model->main), problems = ir_problems_new ();
  g_autoptr (GPtrArray)
      inputs = ends_of (model->main, ir_graph_input, ir_graph_n_inputs (model->main));
  g_autoptr (GPtrArray)
      outputs = ends_of (model->main, ir_graph_output, ir_graph_n_outputs (model->main));
  Planter planter = { edit, model, model->context, nodes, inputs, outputs, round };

  plant_in (&planter);
  ir_infer_model (edit, IR_INFER_DEFAULT, problems);
  for (guint i = 0; i < problems->len; i++)
    g_test_message ("%s", ((IrProblem *) problems->pdata[i])->message);
  g_assert_cmpuint (ir_problems_count (problems, IR_SEVERITY_ERROR), ==, 0);
}

static void
lower (IrModel *model)
{
  g_autoptr (IrPipeline) pipeline = test_pipeline (ir_pass_find ("lower-control-flow"));
  g_autoptr (GError) error = NULL;

  ir_pipeline_run (model, pipeline, NULL, NULL, NULL, &error);
  g_assert_no_error (error);
}

static void
plant (IrModel *model, Place place)
{
  static const struct
  {
    void (*in[2]) (Planter *); /* the inner one first */
    gboolean lowered;
  } planters[N_PLACES] = {
    [PLACE_BRANCH] = { { plant_in_branch } },
    [PLACE_LOOP] = { { plant_in_loop } },
    [PLACE_FUNCTION] = { { plant_in_function } },
    [PLACE_CLOSURE] = { { plant_in_closure } },
    [PLACE_SIDE] = { { plant_in_branch }, TRUE },
    [PLACE_FRAME] = { { plant_in_loop }, TRUE },
    [PLACE_NESTED] = { { plant_in_branch, plant_in_loop }, TRUE },
    [PLACE_NESTED_FRAMES] = { { plant_in_loop, plant_in_loop }, TRUE },
  };

  for (guint i = 0; i < 2 && planters[place].in[i] != NULL; i++)
    plant_once (model, planters[place].in[i], i);
  if (planters[place].lowered)
    lower (model);
}

/* -- one case -- */

/* @tensor: (transfer full) */
static void
give (GHashTable *inputs, const IrModel *model, const char *name, IrTensor *tensor)
{
  const IrValue *value = ir_graph_find_value (model->main, name);

  if (value != NULL)
    g_hash_table_replace (inputs, GUINT_TO_POINTER (value->id), tensor);
  else
    ir_tensor_unref (tensor);
}

static GHashTable *
inputs_of (IrModel *model, GRand *rand, gboolean adversarial)
{
  GHashTable *inputs = test_inputs (model, rand, adversarial);
  static const char *const goes[] = { "place_go0", "place_go1" }, *const twice[] = { "place_trips0",
                                                                                     "place_trips1",
                                                                                     "often" };

  for (guint i = 0; i < G_N_ELEMENTS (goes); i++)
    give (inputs, model, goes[i], ir_tensor_new_scalar (IR_DTYPE_BOOL, 1));
  for (guint i = 0; i < G_N_ELEMENTS (twice); i++)
    give (inputs, model, twice[i], ir_tensor_new_scalar (IR_DTYPE_INT64, 2));
  return inputs;
}

static GStrv
other_rules (const Case *c)
{
  const IrRule *rule = c->pass->rules != NULL ? c->pass->rules : c->pass->documented_rules;
  g_autoptr (GStrvBuilder) names = g_strv_builder_new ();

  for (; rule->name != NULL; rule++)
    if (strcmp (rule->name, c->rule) != 0)
      g_strv_builder_add (names, rule->name);
  return g_strv_builder_end (names);
}

static guint
count_steps (const IrModel *model, const char *rule)
{
  guint n = 0;

  for (guint i = 1; i <= ir_history_n_steps (model); i++)
    n += strcmp (ir_history_step (model, i)->rule, rule) == 0;
  for (guint i = 0; n == 0 && i < ir_history_n_refusals (model); i++)
    g_test_message ("%s: refused: %s", rule, ir_history_refusal (model, i)->reason);
  return n;
}

/* Among tokens: the pass leaves them alone, or says what would leave its place. */
static gboolean
may_refuse (const Case *c, const IrModel *model)
{
  static const char *const reasons[] = { " runs in ", " is not there where, and only where, ",
                                         "a constant would live where this is dead",
                                         "control edges say where it runs" };

  if (c->place < PLACE_SIDE)
    return FALSE;
  for (guint i = 0; i < ir_history_n_refusals (model); i++)
    for (guint k = 0; k < G_N_ELEMENTS (reasons); k++)
      if (strstr (ir_history_refusal (model, i)->reason, reasons[k]) != NULL)
        return TRUE;
  return c->pass->rules == NULL && !c->pass->tokens;
}

static void
check_results (IrModel *original, IrModel *model, GRand *rand, gboolean exact)
{
  g_autoptr (GHashTable) inputs = inputs_of (original, rand, exact);
  g_autoptr (IrRun) before = test_run (original, inputs, "ref");
  g_autoptr (IrRun) after = test_run (model, inputs, "ref");
  g_autofree char *difference = test_compare (original, before, model, after, exact ? 0 : 2e-5);

  if (difference != NULL)
    g_test_message ("%s", difference);
  g_assert_null (difference);
}

/* What was written is read back and does the same. */
static void
check_file (IrModel *model)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (GBytes) bytes = ir_onnx_write_bytes (model, &error);
  g_autoptr (IrModel) again = NULL;

  g_assert_no_error (error);
  again = ir_onnx_read_bytes (bytes, NULL, problems, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (ir_problems_count (problems, IR_SEVERITY_ERROR), ==, 0);
  test_verify (again);
  g_assert_cmpuint (ir_model_n_counted_nodes (again), ==, ir_model_n_counted_nodes (model));
}

static void
test_place (gconstpointer data)
{
  const Case *c = data;
  g_autoptr (GRand) rand = g_rand_new_with_seed (7);
  g_autoptr (IrModel) model = test_model (c->example);
  g_autoptr (IrPipeline) pipeline = test_pipeline (c->pass);
  g_auto (GStrv) others = other_rules (c);
  gboolean exact = c->step_class == IR_CLASS_EXACT;
  IrPipelineOptions options = { .max_class = c->step_class,
                                .disabled_rules = (const char *const *) others,
                                .record_refusals = TRUE,
                                .verify = TRUE };
  g_autoptr (GError) error = NULL;

  test_model_randomize (model, rand);
  plant (model, c->place);
  test_verify (model);
  g_autoptr (IrModel) original = ir_model_clone (model);
  ir_pipeline_run (model, pipeline, &options, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (count_steps (model, c->rule) > 0 || may_refuse (c, model));
  test_verify (model);
  check_results (original, model, rand, exact);
  if (c->place < PLACE_CLOSURE) /* ONNX has no closures and no tokens */
    check_file (model);
}

/* -- what has to stay -- */

/* A new output of the main graph by a node of its own, which waits for @node or is awaited by it. */
static void
add_control (IrModel *model, IrNode *node, gboolean waits)
{
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);
  g_autoptr (GPtrArray)
      outputs = ends_of (model->main, ir_graph_output, ir_graph_n_outputs (model->main));
  IrValue *input = ir_graph_input (model->main, 0);
  IrNode *beside = ir_edit_add_node (edit, model->main, "Identity", NULL, "beside", 1, &input, 1);

  g_ptr_array_add (outputs, beside->outputs[0]);
  ir_edit_set_graph_outputs (edit, model->main, (IrValue *const *) outputs->pdata, outputs->len);
  ir_edit_add_control (edit, waits ? node : beside, waits ? beside : node);
  ir_infer_model (edit, IR_INFER_DEFAULT, NULL);
}

/* Whichever node of an example another one waits for, or waits for another one: it stays, unless it is a
 * constant or nobody reads it. */
static void
test_control (gconstpointer data)
{
  const Case *c = data;
  g_autoptr (IrPipeline) pipeline = test_pipeline (c->pass);
  IrPipelineOptions options = { .max_class = IR_CLASS_ROUNDING, .verify = TRUE };

  for (guint i = 0, n = 1; i < 2 * n; i++)
    {
      g_autoptr (GRand) rand = g_rand_new_with_seed (7);
      g_autoptr (IrModel) model = test_model (c->example);
      g_autoptr (GPtrArray) nodes = ir_graph_nodes (model->main);
      g_autoptr (GError) error = NULL;
      IrNode *node = nodes->pdata[i / 2];

      n = nodes->len;
      if (ir_node_is_constant (node) || node->outputs[0]->n_uses == 0)
        continue;
      test_model_randomize (model, rand);
      add_control (model, node, i % 2 == 0);
      test_verify (model);
      ir_pipeline_run (model, pipeline, &options, NULL, NULL, &error);
      g_assert_no_error (error);
      g_test_message ("%s, node %u, %s", node->op_type, node->id, i % 2 ? "awaited" : "waits");
      g_assert_cmpint (node->state, ==, IR_STATE_LIVE);
      g_assert_true ((node->controls != NULL) == (i % 2 == 0));
    }
}

static gboolean
is_exception (const Case *c)
{
  for (guint i = 0; i < G_N_ELEMENTS (exceptions); i++)
    if (strcmp (exceptions[i].rule, c->rule) == 0 && exceptions[i].place == c->place)
      return TRUE;
  return FALSE;
}

static void
add_cases (const IrPass *pass, const IrRule *rule)
{
  for (guint place = 0; place < N_PLACES; place++)
    {
      const char *example = test_rule_example (rule);
      Case c = { pass, rule->name, example, rule->step_class, place };
      g_autofree char *path = g_strdup_printf ("/places/%s in %s", rule->name, place_names[place]);

      if (example != NULL && !is_exception (&c))
        g_test_add_data_func_full (path, g_memdup2 (&c, sizeof c), test_place, g_free);
      if (example != NULL && place == 0)
        {
          g_autofree char *name = g_strdup_printf ("/places/%s beside control edges", rule->name);
          g_test_add_data_func_full (name, g_memdup2 (&c, sizeof c), test_control, g_free);
        }
    }
}

int
main (int argc, char **argv)
{
  const IrPass *const *passes;
  guint n;

  g_test_init (&argc, &argv, NULL);
  passes = ir_passes (&n);
  for (guint i = 0; i < n; i++)
    for (const IrRule *rule = passes[i]->rules != NULL ? passes[i]->rules
                                                       : passes[i]->documented_rules;
         !passes[i]->once && rule->name != NULL; rule++)
      add_cases (passes[i], rule);
  return g_test_run ();
}
