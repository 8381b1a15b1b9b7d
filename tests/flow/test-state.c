/* Where tokens lie behind each event: what was laid down is taken, and what is left at the end are outputs. */
#include "config.h"

#include "core/exec/flow/token-round.h"
#include "core/exec/run/flow-state.h"
#include "core/io/io.h"
#include "core/exec/run/iteration-name.h"
#include "core/layout/scene-tokens.h"
#include "core/render/render.h"
#include "core/op/op.h"
#include "passes/debug/loops.h"
#include "tests/flow/flow-program.h"
#include "tests/rules/pass-test.h"

#include <string.h>

#define LOWER "lower-control-flow"

/* Halves x until it is at most 1, by one of two ways. */
static const char halving[] =
    "(double x) => (double y) { most = Constant <value_int = 9> () yes = Constant <value = bool {1}> () "
    "y = Loop (most, yes, x) <body = b (int64 i, bool go, double s) => (bool more, double t) { "
    "[halve] half = Constant <value = double {0.5}> () one = Constant <value = double {1}> () "
    "two = Constant <value = double {2}> () [large] c = Greater (s, two) "
    "[choose] t = If (c) <then_branch = p () => (u) { [quarter] u = Mul (s, half) }, "
    "else_branch = e () => (v) { [take] v = Sub (s, one) }> [far] more = Greater (t, one) }> }";

static IrFlowLog *
play (IrModel *model, GHashTable *inputs)
{
  const IrFlowFilter all = { .to = G_MAXUINT64, .iteration = -1 };
  g_autoptr (GArray) chosen = ir_flow_values (model, ir_backend_find ("ref"));
  const IrRunOptions options = { .backend = ir_backend_find ("ref"),
                                 .capture = IR_CAPTURE_CHOSEN,
                                 .chosen = chosen,
                                 .iterations = { .kind = IR_ITERATIONS_SERIES } };
  g_autoptr (GError) error = NULL;
  IrFlowLog *log = ir_flow_log_new (&all);
  g_autoptr (IrRun) run = ir_flow_log_run (log, model, inputs, &options, NULL, &error);

  g_assert_no_error (error);
  return log;
}

static void
lower (IrModel *model)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrPipeline) pipeline = test_pipeline (ir_pass_find (LOWER));
  const IrPipelineOptions options = { .max_class = IR_CLASS_EXACT, .verify = TRUE };

  ir_pipeline_run (model, pipeline, &options, NULL, NULL, &error);
  g_assert_no_error (error);
}

/* (nullable) What waits for @reader on an edge from @value */
static const IrFlowToken *
token_at (const GArray *tokens, IrNodeId reader, IrValueId value, const IrFlowEvent *event)
{
  for (guint i = 0; i < tokens->len; i++)
    {
      const IrFlowToken *token = &g_array_index (tokens, IrFlowToken, i);
      if (token->reader == reader && token->value == value &&
          (token->stays || token->iteration == event->iteration) &&
          strcmp (token->frame, event->frame) == 0)
        return token;
    }
  return NULL;
}

/* A node that ran had a live token on each edge, one that was dead a dead one on some. */
static void
check_event (const IrModel *model, const GArray *tokens, const IrFlowEvent *event)
{
  const IrNode *node = ir_model_node (model, event->node);
  guint n_dead = 0;

  if ((event->kind != IR_FLOW_FIRED && event->kind != IR_FLOW_DEAD) ||
      ir_node_attr_graph (node, "body") != NULL) /* what it reads has entered the body */
    return;
  for (guint i = 0; i < node->n_inputs; i++)
    {
      const IrNode *from = node->inputs[i] != NULL ? node->inputs[i]->producer : NULL;
      const IrFlowToken *token = token_at (
          tokens, node->id, node->inputs[i] != NULL ? node->inputs[i]->id : 0, event);
      n_dead += token != NULL && token->state == IR_TOKEN_DEAD;
      if (from == NULL || *event->frame == '\0' || strcmp (from->op_type, "Constant") == 0 ||
          ir_node_tokens (from) == IR_TOKENS_EXIT || ir_node_tokens (node) == IR_TOKENS_MERGE)
        continue;
      g_autofree char *loop = ir_value_loop (node->inputs[i]);
      if (loop == NULL || strcmp (loop, event->loop) != 0)
        continue;
      if (token == NULL)
        g_error ("event %" G_GUINT64_FORMAT ": %s %s in %s@%" G_GINT64_FORMAT " had no token of %s",
                 event->index, ir_flow_kind_name (event->kind), node->op_type, event->frame,
                 event->iteration, node->inputs[i]->name);
      if (event->kind == IR_FLOW_FIRED && token->state != IR_TOKEN_LIVE)
        g_error ("event %" G_GUINT64_FORMAT ": #%u (%s) in %s@%" G_GINT64_FORMAT
                 " had a token of %s in state %d",
                 event->index, node->id, node->op_type, event->frame, event->iteration,
                 node->inputs[i]->name, (int) token->state);
    }
  if (event->kind == IR_FLOW_DEAD && node->controls == NULL &&
      ir_node_tokens (node) != IR_TOKENS_MERGE)
    g_assert_cmpuint (n_dead, >, 0);
}

static void
check_all (IrModel *model, GHashTable *inputs)
{
  g_autoptr (IrFlowLog) log = play (model, inputs);
  const GArray *events = ir_flow_log_events (log);
  g_autoptr (IrFlowState) state = ir_flow_state_new (log);

  for (guint i = 0; i < events->len; i++)
    {
      g_autoptr (GArray) tokens = ir_flow_state_tokens (state);
      check_event (ir_flow_log_model (log), tokens, &g_array_index (events, IrFlowEvent, i));
      ir_flow_state_go (state, i);
    }
  g_autoptr (GArray) left = ir_flow_state_tokens (state);
  for (guint i = 0; i < left->len; i++)
    {
      const IrFlowToken *token = &g_array_index (left, IrFlowToken, i);
      if (*token->frame != '\0')
        g_error ("%s is left for #%u (%s) in %s@%" G_GINT64_FORMAT ", state %d, stays %d",
                 ir_model_value (model, token->value)->name, token->reader,
                 token->reader != 0 ? ir_model_node (model, token->reader)->op_type : "output",
                 token->frame, token->iteration, (int) token->state, token->stays);
    }
}

static void
test_random (gconstpointer data)
{
  for (guint seed = 0; seed < 8; seed++)
    {
      guint n;
      g_autofree char *text = flow_program (7000 + seed, &n);
      g_autoptr (IrModel) model = test_model (text);
      g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
      g_autoptr (GHashTable) inputs = test_inputs (model, rand, FALSE);

      if (data != NULL)
        lower (model);
      check_all (model, inputs);
    }
}

/* -- one program -- */

static IrFlowLog *
play_halving (IrModel *model, double x)
{
  g_autoptr (GHashTable)
      inputs = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);

  g_hash_table_insert (inputs, GUINT_TO_POINTER (ir_graph_input (model->main, 0)->id),
                       ir_tensor_new_scalar (IR_DTYPE_DOUBLE, x));
  return play (model, inputs);
}

/* All texts of the picture behind an event, with spaces between; (transfer full) */
static char *
texts_at (IrModel *model, IrFlowState *state, guint event)
{
  const IrSceneOptions options = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (IrScene) scene = ir_scene_new_for_model (model, &options, NULL, &error);
  GString *texts = g_string_new (" ");

  g_assert_no_error (error);
  ir_flow_state_go (state, event);
  g_autoptr (GArray) tokens = ir_scene_tokens (scene, model, state, NULL, NULL);
  for (guint i = 0; i < tokens->len; i++)
    g_string_append_printf (texts, "[%s] ", g_array_index (tokens, IrSceneToken, i).text);
  return g_string_free (g_steal_pointer (&texts), FALSE);
}

/* Behind the last event of @kind at the node that is called so; (transfer full) */
static char *
texts_behind (
    IrModel *model, IrFlowState *state, IrFlowKind kind, const char *name, gint64 iteration)
{
  const IrFlowLog *log = ir_flow_state_log (state);
  const GArray *events = ir_flow_log_events (log);

  for (guint i = events->len; i-- > 0;)
    {
      const IrFlowEvent *event = &g_array_index (events, IrFlowEvent, i);
      const IrNode *node = ir_model_node (ir_flow_log_model (log), event->node);
      if (event->kind == kind && event->iteration == iteration &&
          (strcmp (node->name, name) == 0 || strcmp (node->op_type, name) == 0 ||
           strcmp (node->outputs[0]->name, name) == 0))
        return texts_at (model, state, i);
    }
  g_error ("no such event: %s", name);
}

static void
expect (const char *texts, const char *wanted)
{
  if (strstr (texts, wanted) == NULL)
    g_error ("%s is not in%s", wanted, texts);
}

static void
test_body (void)
{
  g_autoptr (IrModel) model = test_model (halving);
  g_autoptr (IrFlowLog) log = play_halving (model, 6);
  g_autoptr (IrFlowState) state = ir_flow_state_new (log);
  g_autofree char *large = texts_behind (model, state, IR_FLOW_FIRED, "large", 1),
                  *chosen = texts_behind (model, state, IR_FLOW_CALLED, "choose", 2),
                  *left = texts_behind (model, state, IR_FLOW_EXITED, "Loop", 2),
                  *back = texts_behind (model, state, IR_FLOW_FIRED, "large", 1);

  /* 6, 3, 1.5: halved twice, then one less */
  expect (large, " [iteration 1] ");
  expect (large, " [@1 3] ");
  expect (large, " [@1 true] ");
  expect (large, "[▶ fired] ");
  expect (chosen, "[▶ else] ");
  expect (chosen, " [not taken] ");
  expect (left, "[▶ ended after 3] ");
  g_assert_null (strstr (left, "@1"));
  g_assert_cmpstr (large, ==, back);
}

static void
test_tokens (void)
{
  g_autoptr (IrModel) model = test_model (halving);

  lower (model);
  g_autoptr (IrFlowLog) log = play_halving (model, 6);
  g_autoptr (IrFlowState) state = ir_flow_state_new (log);
  const guint n = ir_flow_log_events (log)->len;
  g_autofree char *halved = texts_behind (model, state, IR_FLOW_FIRED, "quarter", 1),
                  *less = texts_behind (model, state, IR_FLOW_FIRED, "take", 2),
                  *merged = texts_behind (model, state, IR_FLOW_MERGED, "t", 2),
                  *out = texts_behind (model, state, IR_FLOW_EXITED, "Exit", 3),
                  *end = texts_at (model, state, n - 1);

  expect (halved, " [@1 1.5] ");
  expect (less, " [@2 0.5] ");
  expect (less, " [dead] ");
  expect (merged, " [took input 1] ");
  expect (out, "[▶ final: 0.5] ");
  expect (end, " [0.5] ");
}

/* What is foretold of an iteration is what happens in one, in this order. */
static void
test_foretold (void)
{
  g_autofree char *path = g_build_filename (g_getenv ("IRSCOPE_DATADIR"), "examples",
                                            "while-newton.onnxtxt", NULL);
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (IrModel) model = ir_model_load (path, problems, NULL, &error);
  guint at = 0, n_fired = 0;

  g_assert_no_error (error);
  lower (model);
  g_autoptr (GRand) rand = g_rand_new_with_seed (3);
  g_autoptr (GHashTable) inputs = test_inputs (model, rand, FALSE);
  g_autoptr (IrFlowLog) log = play (model, inputs);
  g_autoptr (GArray) rounds = ir_token_rounds (ir_flow_log_model (log)),
                     before = ir_token_rounds (model);
  g_assert_cmpuint (g_array_index (before, IrTokenRound, 1).steps->len, ==,
                    g_array_index (rounds, IrTokenRound, 1).steps->len);
  const GArray *events = ir_flow_log_events (log);
  g_assert_cmpuint (rounds->len, ==, 2);
  const IrTokenRound *round = &g_array_index (rounds, IrTokenRound, 1);
  g_assert_cmpstr (round->path, ==, "loop");
  g_assert_cmpuint (round->in_flight, ==, 10);
  g_assert_cmpuint (round->peak_bytes, >=, 17);
  for (guint i = 0; i < events->len; i++)
    {
      const IrFlowEvent *event = &g_array_index (events, IrFlowEvent, i);
      if (event->iteration != 1 || (event->kind != IR_FLOW_FIRED && event->kind != IR_FLOW_MERGED))
        continue;
      while (at < round->steps->len &&
             g_array_index (round->steps, IrTokenStep, at).node != event->node)
        at++;
      g_assert_cmpuint (at, <, round->steps->len);
      n_fired++;
    }
  g_assert_cmpuint (n_fired, >, 10);
}

/* Of functions that call each other last the log has the iterations, as of the loop that they are. */
static void
test_calls (void)
{
  g_autofree char *path = g_build_filename (g_getenv ("IRSCOPE_DATADIR"), "examples",
                                            "mindspore-while.onnxtxt", NULL);
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (IrModel) model = ir_model_load (path, problems, NULL, &error);
  g_autoptr (GArray) loops = ir_loops (model);
  g_autoptr (GHashTable)
      inputs = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);

  g_assert_no_error (error);
  g_assert_cmpuint (loops->len, ==, 1);
  g_assert_cmpstr (g_array_index (loops, IrLoopFacts, 0).path, ==, "root");
  g_assert_cmpuint (g_array_index (loops, IrLoopFacts, 0).invariants->len, ==, 1);
  for (guint i = 0; i < 2; i++)
    g_hash_table_insert (inputs, GUINT_TO_POINTER (ir_graph_input (model->main, i)->id),
                         ir_tensor_new_scalar (IR_DTYPE_DOUBLE, 2 - i));
  g_autoptr (IrFlowLog) log = play (model, inputs);
  const GArray *frames = ir_flow_log_frames (log);
  g_assert_cmpuint (frames->len, ==, 1);
  g_assert_cmpstr (g_array_index (frames, IrFlowFrame, 0).name, ==, "root");
  g_assert_cmpuint (g_array_index (frames, IrFlowFrame, 0).n_iterations, ==, 6);
  g_autoptr (IrFlowState) state = ir_flow_state_new (log);
  ir_flow_state_go (state, ir_flow_log_events (log)->len - 1);
  g_autoptr (GArray) left = ir_flow_state_tokens (state);
  for (guint i = 0; i < left->len; i++)
    g_assert_cmpstr (g_array_index (left, IrFlowToken, i).frame, ==, "");
}

/* With one iteration in flight a NextIteration waits until the one before is done. */
static void
test_waits (void)
{
  g_autoptr (IrModel) lowered = test_model (halving);
  gboolean waits = FALSE;

  lower (lowered);
  g_autoptr (IrModel) model = ir_model_clone (lowered);
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);
  for (guint i = 1; i < model->nodes->len; i++)
    if (strcmp (((IrNode *) model->nodes->pdata[i])->op_type, "Enter") == 0)
      ir_edit_set_attr (edit, model->nodes->pdata[i],
                        ir_attr_int (model->context, "parallel_iterations", 1));
  g_autoptr (IrFlowLog) log = play_halving (model, 6);
  g_autoptr (IrFlowState) state = ir_flow_state_new (log);
  for (guint i = 0; i < ir_flow_log_events (log)->len; i++)
    {
      g_autofree char *texts = texts_at (model, state, i);
      waits = waits || (strstr (texts, "[@0 waits ") != NULL && strstr (texts, " waits] ") != NULL);
    }
  g_assert_true (waits);
}

/* What is painted is what was placed, without colour, too. */
static void
test_picture (void)
{
  g_autoptr (IrModel) model = test_model (halving);
  g_autoptr (IrFlowLog) log = play_halving (model, 6);
  g_autoptr (IrFlowState) state = ir_flow_state_new (log);
  const IrSceneOptions options = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (IrScene) scene = ir_scene_new_for_model (model, &options, NULL, &error);

  ir_flow_state_go (state, 20);
  g_autoptr (GArray) tokens = ir_scene_tokens (scene, model, state, NULL, NULL);
  IrRenderOptions render = { .tokens = tokens };
  g_autoptr (GBytes) svg = ir_render_svg (scene, &render, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (tokens->len, >, 2);
  for (guint i = 0; i < tokens->len; i++)
    {
      g_autofree char *text = g_markup_escape_text (g_array_index (tokens, IrSceneToken, i).text,
                                                    -1);
      g_assert_nonnull (
          g_strstr_len (g_bytes_get_data (svg, NULL), (gssize) g_bytes_get_size (svg), text));
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/flow-state/random", NULL, test_random);
  g_test_add_data_func ("/flow-state/random-tokens", "lowered", test_random);
  g_test_add_func ("/flow-state/body", test_body);
  g_test_add_func ("/flow-state/tokens", test_tokens);
  g_test_add_func ("/flow-state/foretold", test_foretold);
  g_test_add_func ("/flow-state/calls", test_calls);
  g_test_add_func ("/flow-state/waits", test_waits);
  g_test_add_func ("/flow-state/picture", test_picture);
  return g_test_run ();
}
