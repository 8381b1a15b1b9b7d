/* What fits is said before anything is changed; parts of graphs come back as text; boxes move with their lines.
 * What acts do is in tests/cli/test-edit.py. */
#include "config.h"

#include "core/act/act.h"
#include "core/io/io.h"
#include "core/layout/scene.h"
#include "core/op/infer.h"
#include "core/op/op.h"

#include <string.h>

static const char net[] = "<ir_version: 8, opset_import: [\"\": 17]>\n"
                          "g (float[2,3] x, bool[2,3] c, float[4] w) => (float[2,3] y) {\n"
                          "  [first] h = Relu (x)\n  [second] y = Add (h, x)\n}\n";

static IrModel *
read_net (void)
{
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (GError) error = NULL;
  IrModel *model = ir_text_read (net, -1, problems, &error);
  g_autoptr (IrEdit) edit = NULL;

  g_assert_no_error (error);
  edit = ir_edit_new_import (model);
  ir_infer_model (edit, IR_INFER_DEFAULT, problems);
  return model;
}

static void
test_fits (void)
{
  g_autoptr (IrModel) model = read_net ();
  const IrNode *add = ir_graph_find_node (model->main, "second");
  const IrValue *x = ir_graph_find_value (model->main, "x"),
                *c = ir_graph_find_value (model->main, "c"),
                *w = ir_graph_find_value (model->main, "w");
  g_autoptr (GError) error = NULL;

  g_assert_true (ir_act_fits (add, 0, x, &error));
  g_assert_no_error (error);
  g_assert_false (ir_act_fits (add, 0, c, &error));
  g_assert_error (error, IR_ACT_ERROR, IR_ACT_ERROR_REFUSED);
  g_assert_nonnull (strstr (error->message, "bool"));
  g_clear_error (&error);
  g_assert_false (ir_act_fits (add, 1, w, &error)); /* [2,3] and [4] */
  g_clear_error (&error);
  g_assert_cmpint (ir_act_slot_for (add, x, &error), ==, -1); /* none is open */
  g_assert_nonnull (strstr (error->message, "say which"));
  g_assert_cmpint (ir_act_slot_for (ir_graph_find_node (model->main, "first"), x, NULL), ==, 0);
}

static void
test_operators (void)
{
  static const struct
  {
    const char *op, *value;
    gint slot;
  } cases[] = {
    { "Relu", "x", 0 },        { "Relu", "c", -1 },   { "Sin", "c", -1 },
    { "Sin", "w", 0 },         { "MatMul", "c", -1 }, { "Add", "w", 0 },
    { "Where", "c", 0 },       { "If", "c", 0 },      { "SequenceAt", "x", -1 },
    { "MaxPool", "w", -1 },    { "Einsum", "x", 0 },  { "And", "c", 0 },
    { "And", "x", -1 },        { "Not", "w", -1 },    { "Where", "x", 1 },
    { "BitwiseNot", "x", -1 }, { "IsNaN", "c", -1 },  { "Reshape", "x", 0 },
    { "Gather", "c", 0 },      { "If", "x", 1 },      { "Loop", "x", 2 },
    { "Loop", "c", 1 },        { "Scan", "x", 0 },    { "SequenceMap", "x", -1 },
  };
  /* the narrower classes, by an element type that is in and one that is not */
  static const struct
  {
    const char *op, *in, *out;
  } narrow[] = {
    { "DequantizeLinear", "int8", "int64" },
    { "QuantizeLinear", "int32", "int64" },
    { "TfIdfVectorizer", "string", "float" },
    { "MatMulInteger", "uint8", "int32" },
    { "ConstantOfShape", "int64", "int32" },
    { "BitShift", "uint8", "int8" },
    { "Neg", "int8", "uint8" },
    { "ReduceSum", "int32", "int8" },
    { "MatMul", "float16", "uint8" },
  };
  g_autoptr (IrModel) model = read_net ();

  for (guint i = 0; i < G_N_ELEMENTS (narrow); i++)
    for (guint is_in = 0; is_in < 2; is_in++)
      {
        g_autofree char *text = g_strdup_printf (
            "<ir_version: 8, opset_import: [\"\" : 21]> g (%s[2] v) => (y) { y = Identity (v) }",
            is_in ? narrow[i].in : narrow[i].out);
        g_autoptr (IrModel) own = ir_text_read (text, -1, NULL, NULL);

        g_test_message ("%s of %s", narrow[i].op, is_in ? narrow[i].in : narrow[i].out);
        g_assert_true ((ir_act_op_slot_for (ir_op_find ("", narrow[i].op),
                                            ir_graph_find_value (own->main, "v")) == 0) == is_in);
      }

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      const gint slot = ir_act_op_slot_for (ir_op_find ("", cases[i].op),
                                            ir_graph_find_value (model->main, cases[i].value));

      g_test_message ("%s of %s: %d", cases[i].op, cases[i].value, slot);
      g_assert_cmpint (slot, ==, cases[i].slot);
    }
}

/* A node has as many inputs as are given, or as its operator needs; those that are not given yet are empty. */
static void
test_inputs_of_new_nodes (void)
{
  guint n_added = 0;

  for (guint i = 1; i < ir_op_n (); i++)
    {
      const IrOp *op = ir_op_by_id ((IrOpId) i);
      const char *const x[] = { "x", "x" };
      g_autoptr (IrModel) model = read_net ();

      if (op->start != NULL || (op->domain != NULL && op->domain[0] != '\0'))
        continue;
      for (guint n = 0; n <= 2 && (op->in.max < 0 || (int) n <= op->in.max); n++)
        {
          const char *words[] = { "add", op->name, n > 0 ? x[0] : NULL, n > 1 ? x[1] : NULL, NULL };
          g_autoptr (IrEdit) edit = ir_edit_new (model);
          g_auto (IrActDone) done = { 0 };
          g_autoptr (GError) error = NULL;

          if (!ir_act_do (edit, words, &done, NULL, &error))
            continue; /* what is given does not fit */
          const IrNode *node = ir_model_node (model, g_array_index (done.nodes, IrNodeId, 0));
          g_assert_cmpuint (node->n_inputs, ==, MAX (n, ir_op_least_inputs (op)));
          for (guint k = 0; k < node->n_inputs; k++)
            g_assert_true ((node->inputs[k] != NULL) == (k < n));
          n_added++;
        }
    }
  g_assert_cmpuint (n_added, >, 150);
}

/* A type without numbers is what is missing them, and no text of its own is quoted. */
static void
test_types_alone (void)
{
  static const char *const types[] = { "float[4,1,25]", "int64", "bool [2]", "double[]" };

  for (guint i = 0; i < G_N_ELEMENTS (types); i++)
    {
      const char *words[] = { "add-constant", "k", types[i], NULL };
      g_autoptr (IrModel) model = read_net ();
      g_autoptr (IrEdit) edit = ir_edit_new (model);
      g_auto (IrActDone) done = { 0 };
      g_autoptr (GError) error = NULL;

      g_assert_false (ir_act_do (edit, words, &done, NULL, &error));
      g_assert_nonnull (strstr (error->message, "has no numbers"));
      g_assert_nonnull (strstr (error->message, types[i]));
      g_assert_null (strstr (error->message, "Line"));
    }
}

/* What is copied can be read, takes what the nodes read, and gives what nothing of them reads. */
static void
test_copy (void)
{
  g_autoptr (IrModel) model = read_net (), part = NULL;
  const IrNodeId second = ir_graph_find_node (model->main, "second")->id;
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (GError) error = NULL;
  g_autofree char *text = ir_act_copy_text (model, &second, 1, &error);

  g_assert_no_error (error);
  part = ir_text_read (text, -1, problems, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (ir_model_n_nodes (part), ==, 1);
  g_assert_cmpuint (ir_graph_n_inputs (part->main), ==, 2);
  g_assert_cmpstr (ir_graph_output (part->main, 0)->name, ==, "y");
  g_assert_null (ir_act_copy_text (model, NULL, 0, &error));
  g_assert_error (error, IR_ACT_ERROR, IR_ACT_ERROR_REFUSED);
}

/* Lines end where the box is; other boxes stay. */
static void
test_move (void)
{
  g_autoptr (IrModel) model = read_net ();
  const IrSceneOptions options = { 0 };
  g_autoptr (IrScene) before = ir_scene_new_for_model (model, &options, NULL, NULL);
  g_autoptr (IrScene) after = ir_scene_new_for_model (model, &options, NULL, NULL);
  g_autoptr (GHashTable) moves = g_hash_table_new (g_int64_hash, g_int64_equal);
  IrLayoutPoint by = { 120, -40 };
  const IrNodeId id = ir_graph_find_node (model->main, "first")->id;
  const gint32 moved = ir_scene_find_node (before, id);
  guint n, n_lines, n_seen = 0;
  const IrSceneBox *old = ir_scene_boxes (before, &n), *new = ir_scene_boxes (after, &n);
  const IrSceneLine *lines;

  g_hash_table_insert (moves, (gpointer) &old[moved].key, &by);
  ir_scene_move (after, moves);
  lines = ir_scene_lines (after, &n_lines);
  for (guint i = 0; i < n; i++)
    g_assert_cmpfloat (new[i].x - old[i].x, ==, (gint32) i == moved ? by.x : 0);
  for (guint i = 0; i < n_lines; i++)
    {
      const IrLayoutPoint *points = ir_scene_line_points (after, &lines[i]);
      const IrLayoutPoint *end = lines[i].to == moved ? &points[lines[i].n_points - 1] : points;

      if (lines[i].from != moved && lines[i].to != moved)
        continue;
      n_seen++;
      g_assert_cmpfloat (end->x, >=, new[moved].x);
      g_assert_cmpfloat (end->x, <=, new[moved].x + new[moved].width);
    }
  g_assert_cmpuint (n_seen, ==, 2);
  g_assert_cmpint (ir_scene_pick (after, new[moved].x + 5, new[moved].y + 5, 1).box, ==, moved);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/act/an input takes what fits it", test_fits);
  g_test_add_func ("/act/operators take what fits them", test_operators);
  g_test_add_func ("/act/a new node has the inputs that it needs", test_inputs_of_new_nodes);
  g_test_add_func ("/act/types without numbers", test_types_alone);
  g_test_add_func ("/act/nodes are copied as text", test_copy);
  g_test_add_func ("/act/boxes move with their lines", test_move);
  return g_test_run ();
}
