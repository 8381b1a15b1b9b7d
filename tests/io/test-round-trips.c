/* Nothing is lost between a model and its files. */
#include "config.h"

#include "core/ir/edit.h"
#include "tests/io/models.h"

#include <math.h>
#include <string.h>

typedef IrModel *(*ThroughFunc) (IrModel *model);

static const struct
{
  const char *name;
  ThroughFunc through;
} formats[] = {
  { "ONNX", test_through_onnx },
  { "text", test_through_text },
  { "JSON", test_through_json },
};

static void
test_format (gconstpointer data)
{
  ThroughFunc through = formats[GPOINTER_TO_UINT (data)].through;
  const char *const texts[] = { test_rich_text, test_dtypes_text };

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      /* The text mentions a value before the node that makes it; files have nodes in order. */
      g_autoptr (IrModel) unordered = test_read_text (texts[i]);
      g_autoptr (IrModel) model = test_through_onnx (unordered);
      g_autoptr (IrModel) again = through (model);
      g_autoptr (IrModel) third = through (again);

      test_assert_same (model, again);
      test_assert_same (again, third);
    }
}

static IrNode *
find_op (IrModel *model, const char *op_type)
{
  for (guint i = 1; i < model->nodes->len; i++)
    if (strcmp (((IrNode *) model->nodes->pdata[i])->op_type, op_type) == 0)
      return model->nodes->pdata[i];
  g_assert_not_reached ();
}

static void
test_attributes (void)
{
  g_autoptr (IrModel) text = test_read_text (test_rich_text);
  g_autoptr (IrModel) model = test_through_onnx (text);
  IrNode *node = find_op (model, "Every");
  guint n;

  g_assert_cmpfloat (ir_node_attr_float (node, "f", 0), ==, 0.1f);
  g_assert_true (isnan (ir_node_attr_float (node, "f_nan", 0)));
  g_assert_true (isinf (ir_node_attr_float (node, "f_minus", 0)));
  g_assert_true (signbit (ir_node_attr_float (node, "f_zero", 1)) != 0);
  g_assert_cmpint (ir_node_attr_int (node, "i", 0), ==, G_MAXINT64);
  g_assert_cmpint (ir_node_attr_int (node, "i_min", 0), ==, G_MININT64);
  g_assert_cmpstr (ir_node_attr_string (node, "s", NULL), ==, "text with \"quotes\" and \\");
  g_assert_cmpuint (ir_node_attr (node, "s_bytes")->strings[0].length, ==, 2);
  g_assert_cmpmem (ir_node_attr (node, "s_bytes")->strings[0].data, 2, "\0\xff", 2);
  g_assert_cmpint (ir_node_attr_ints (node, "ints", &n)[1], ==, -2);
  g_assert_cmpuint (n, ==, 2);
  g_assert_cmpint (ir_node_attr (node, "ints_none")->kind, ==, IR_ATTR_INTS);
  g_assert_cmpuint (ir_node_attr (node, "ints_none")->n, ==, 0);
  g_assert_cmpint (ir_node_attr (node, "st")->kind, ==, IR_ATTR_SPARSE_TENSOR);
  g_assert_cmpint (ir_node_attr (node, "tp")->types[0]->kind, ==, IR_TYPE_SEQUENCE);
  g_assert_cmpstr (ir_node_attr (node, "documented")->doc, ==, "documented");
  g_assert_cmpfloat (ir_tensor_get_double (ir_node_attr_tensor (node, "t"), 1), ==,
                     (double) 3e-45f);
  g_assert_cmpstr (node->scope, ==, "encoder/layer.0");
  g_assert_cmpstr (node->device, ==, "gpu:0");
  g_assert_cmpstr (node->overload, ==, "over");
  g_assert_cmpstr (node->extra->doc, ==, "what it does");
  g_assert_cmpuint (node->extra->props->n, ==, 1);
  g_assert_nonnull (node->extra->unknown);
  g_assert_cmpuint (node->n_inputs, ==, 4);
  g_assert_null (node->inputs[1]);
}

/* A type and a tensor have as many axes as may be; with one more there is a problem. */
static void
test_most_axes (void)
{
  for (guint more = 0; more < 2; more++)
    {
      g_autoptr (GString) ones = g_string_new ("1"), names = g_string_new ("a0");
      for (guint i = 1; i < IR_MAX_RANK + more; i++)
        {
          g_string_append (ones, ",1");
          g_string_append_printf (names, ",a%u", i);
        }
      g_autofree char *text = g_strdup_printf (
          "<ir_version: 8, opset_import: [\"\" : 17]>\ng (float[%s] x, sparse_tensor(float[%s]) z) => (float[%s] y) "
          "<float[%s] w = {2}> { y = Mul (x, w) }\n",
          names->str, names->str, names->str, ones->str);
      g_autoptr (GPtrArray) problems = ir_problems_new ();
      g_autoptr (GError) error = NULL;
      g_autoptr (IrModel) model = ir_text_read (text, -1, problems, &error);
      if (more > 0)
        {
          g_assert_true (error != NULL || ir_problems_count (problems, IR_SEVERITY_ERROR) > 0);
          continue;
        }
      g_assert_no_error (error);
      test_assert_no_errors (problems);
      const IrValue *x = ir_graph_find_value (model->main, "x"),
                    *w = ir_graph_find_value (model->main, "w");
      g_assert_cmpint (x->type->rank, ==, IR_MAX_RANK);
      g_assert_cmpuint (ir_tensor_rank (w->initializer), ==, IR_MAX_RANK);
      IrModel *(*const ways[]) (IrModel *) = { test_through_text, test_through_onnx,
                                               test_through_json };
      for (guint i = 0; i < G_N_ELEMENTS (ways); i++)
        {
          g_autoptr (IrModel) again = ways[i](model);
          test_assert_same (model, again);
        }
    }
}

static void
test_graph (void)
{
  g_autoptr (IrModel) text = test_read_text (test_rich_text);
  g_autoptr (IrModel) model = test_through_json (text);
  IrNode *branch = find_op (model, "If");
  IrGraph *yes = ir_node_attr_graph (branch, "then_branch");
  IrValue *captured = ir_graph_find_value (model->main, "inner value");
  IrValue *later = ir_graph_find_value (model->main, "later");

  g_assert_nonnull (yes);
  g_assert_cmpuint (yes->owner, ==, branch->id);
  g_assert_true (ir_value_is_captured (captured));
  g_assert_true (ir_value_is_captured (later)); /* a forward reference out of a subgraph */
  g_assert_nonnull (later->producer);
  g_assert_cmpuint (model->info->ir_version, ==, 10);
  g_assert_cmpint (model->info->model_version, ==, G_MININT64);
  g_assert_cmpstr (model->info->extra.doc, ==, "two\nlines");
  g_assert_nonnull (model->info->extra.unknown);
  g_assert_nonnull (ir_model_find_function (model, "com.example", "Twice", "v2"));
  g_assert_cmpuint (ir_graph_opset (ir_model_find_function (model, "com.example", "Twice", ""), ""),
                    ==, 17);
  g_assert_nonnull (ir_graph_find_value (model->main, "W")->initializer);
  g_assert_true (ir_value_is_graph_input (ir_graph_find_value (model->main, "W")));
}

static void
test_extremes (void)
{
  g_autoptr (IrModel) text = test_read_text (test_dtypes_text);
  g_autoptr (IrModel) json = test_through_json (text);
  g_autoptr (IrModel) model = test_through_onnx (json);
  const IrTensor *v7 = ir_graph_find_value (model->main, "v7")->initializer;
  const IrTensor *v22 = ir_graph_find_value (model->main, "v22")->initializer;
  const IrTensor *odd = ir_graph_find_value (model->main, "odd_nan")->initializer;
  const IrTensor *half = ir_graph_find_value (model->main, "by_value")->initializer;

  g_assert_cmpint (ir_tensor_get_int64 (v7, 0), ==, G_MININT64);
  g_assert_cmpint (ir_tensor_get_int64 (v7, 1), ==, G_MAXINT64);
  g_assert_cmpint (ir_tensor_get_int64 (v22, 0), ==, -8);
  g_assert_cmpint (ir_tensor_get_int64 (v22, 2), ==, -1);
  g_assert_cmpmem (ir_tensor_data (odd), 4, "\x01\x00\xc0\x7f", 4);
  g_assert_cmpfloat (ir_tensor_get_double (half, 0), ==, 1.5);
}

/* Weights at any byte offset of the file: a name of growing length moves them. */
static void
test_odd_offsets (void)
{
  for (guint pad = 1; pad <= 9; pad++)
    {
      g_autofree char *name = g_strnfill (pad, 'n');
      g_autofree char *text = g_strdup_printf (
          "<ir_version: 8, opset_import: [\"\" : 17]> %s () => () <double[2] d = {1.5, -2.25}> {}",
          name);
      g_autoptr (IrModel) model = test_read_text (text);
      g_autoptr (IrModel) again = test_through_onnx (model);
      const IrTensor *d = ir_graph_find_value (again->main, "d")->initializer;

      g_assert_cmpfloat (ir_tensor_get_double (d, 1), ==, -2.25);
      g_assert_cmpuint ((gsize) ir_tensor_data (d) % 8, ==, 0);
    }
}

static void
test_elided (void)
{
  const IrTextOptions options = { IR_TEXT_ELIDE, 1 };
  g_autoptr (IrModel) model = test_read_text (
      "<ir_version: 8, opset_import: [\"\" : 17]> g (float[2] x) => (y) <float[2] w = {3, 4}> {\n"
      "c = Constant <value = float[2] {5, 6}> ()\n t = Add (x, w)\n y = Mul (t, c) }");
  g_autofree char *text = ir_text_write_options (model, &options);
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (IrModel) alone = ir_text_read (text, -1, problems, &error);
  g_autoptr (IrModel) over = NULL;

  g_assert_nonnull (strstr (text, "{...}"));
  g_assert_null (strstr (text, "{5"));
  g_assert_null (alone);
  g_assert_error (error, IR_IO_ERROR, IR_IO_ERROR_FORMAT);
  g_clear_error (&error);
  over = ir_text_read_over (text, -1, model, NULL, &error);
  g_assert_no_error (error);
  test_assert_same (model, over);
}

static void
test_scopes (void)
{
  g_autoptr (IrModel) model = test_read_text (
      "<ir_version: 10, opset_import: [\"\" : 17]> g (float x) => (y) {\n"
      "#! metadata [\"pkg.torch.onnx.name_scopes\": \"['', 'encoder', 'encoder.layer.0', 'add']\"]\n"
      "[add] a = Add (x, x)\n"
      "#! metadata [\"irscope.scope\": \"mine/own\"]\n"
      "[\"/named/Neg\"] b = Neg (a)\n"
      "[\"/block.1/Relu\"] c = Relu (b)\n"
      "[plain] y = Neg (c) }");
  g_autoptr (IrModel) again = test_through_onnx (model);
  static const struct
  {
    const char *name, *scope;
  } nodes[] = { { "add", "encoder/layer/0" },
                { "/named/Neg", "mine/own" },
                { "/block.1/Relu", "block.1" },
                { "plain", "" } };

  for (guint i = 0; i < G_N_ELEMENTS (nodes); i++)
    g_assert_cmpstr (ir_graph_find_node (model->main, nodes[i].name)->scope, ==, nodes[i].scope);
  test_assert_same (model, again);
}

static void
test_files (void)
{
  g_autofree char *folder = test_folder ();
  const char *const names[] = { "m.onnx", "m.onnxtxt", "m.json" };
  g_autoptr (IrModel) unordered = test_read_text (test_rich_text);
  g_autoptr (IrModel) model = test_through_onnx (unordered);

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *path = g_build_filename (folder, names[i], NULL);
      g_autofree char *text = NULL;
      g_autofree char *expected = ir_text_write (model);
      g_autoptr (GPtrArray) problems = ir_problems_new ();
      g_autoptr (GError) error = NULL;
      g_autoptr (IrModel) again = NULL;

      g_assert_true (ir_model_save (model, path, NULL, NULL, &error));
      g_assert_no_error (error);
      again = ir_format_find (path)->read (path, problems, NULL, &error);
      g_assert_no_error (error);
      text = ir_text_write (again);
      g_assert_cmpstr (text, ==, expected);
      g_assert_cmpstr (again->path, ==, path);
    }
  test_remove_folder (folder);
}

static void
test_side_file (void)
{
  g_autofree char *folder = test_folder ();
  g_autofree char *path = g_build_filename (folder, "m.onnxtxt", NULL);
  g_autofree char *saved = NULL;
  g_autoptr (GString) text = g_string_new ("<ir_version: 8, opset_import: [\"\" : 17]> g () => () <"
                                           "float[2000] w = {0");
  g_autoptr (IrModel) model = NULL;
  g_autoptr (IrModel) again = NULL;
  g_autoptr (GError) error = NULL;

  for (guint i = 1; i < 2000; i++)
    g_string_append_printf (text, ",%u.25", i);
  g_string_append (text, "}> {}");
  model = test_read_text (text->str);
  g_assert_true (ir_model_save (model, path, NULL, NULL, &error));
  g_assert_true (g_file_get_contents (path, &saved, NULL, NULL));
  g_assert_nonnull (strstr (saved, "[\"location\": \"m.onnxtxt."));
  again = ir_model_load (path, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (ir_tensor_equal (ir_graph_find_value (model->main, "w")->initializer,
                                  ir_graph_find_value (again->main, "w")->initializer));
  test_remove_folder (folder);
}

/* Data of earlier saves goes; what only begins or ends as its name does is somebody else's. */
static void
test_files_of_others (void)
{
  static const struct
  {
    const char *name;
    gboolean stays;
  } files[] = {
    { "m.onnx.0123456789abcdef.data", FALSE }, { "m.onnx.0123456789abcdefg.data", TRUE },
    { "m.onnx.0123456789abcdef2.data", TRUE }, { "m.onnx.0123456789abcde.data", TRUE },
    { "m.onnx.0123456789ab-def.data", TRUE },  { "m.onnx.data", TRUE },
    { "n.onnx.0123456789abcdef.data", TRUE }
  };
  g_autofree char *folder = test_folder (), *path = g_build_filename (folder, "m.onnx", NULL);
  g_autoptr (IrModel)
      model = test_read_text ("<ir_version: 8, opset_import: [\"\" : 17]> g () => () {}");
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    {
      g_autofree char *file = g_build_filename (folder, files[i].name, NULL);
      g_assert_true (g_file_set_contents (file, "mine", -1, NULL));
    }
  g_assert_true (ir_model_save (model, path, NULL, NULL, &error));
  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    {
      g_autofree char *file = g_build_filename (folder, files[i].name, NULL);
      if (g_file_test (file, G_FILE_TEST_EXISTS) != files[i].stays)
        g_error ("%s %s", files[i].name, files[i].stays ? "is gone" : "stays");
    }
  test_remove_folder (folder);
}

/* Before IR version 4 an initializer has to be an input as well; a new one too. */
static void
test_old_inputs (void)
{
  static const float two[2] = { 3, 4 };
  gint64 n = 2;
  g_autoptr (IrModel) model = test_read_text (
      "<ir_version: 3, opset_import: [\"\" : 9]> g (float[2] x, float[2] w) => (float[2] y)"
      " <float[2] w = {1, 2}> { y = Add (x, w) }\n");
  g_autoptr (IrTensor) tensor = ir_tensor_new_copy (IR_DTYPE_FLOAT, 1, &n, two);
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);
  IrValue *added = ir_edit_add_initializer (edit, model->main, "v", tensor);

  ir_edit_set_input (edit, ir_graph_find_value (model->main, "y")->producer, 0, added);
  g_clear_pointer (&edit, ir_edit_free);
  g_autoptr (IrModel) again = test_through_onnx (model);
  g_assert_cmpint (again->info->ir_version, ==, 3);
  g_assert_cmpuint (ir_graph_n_inputs (again->main), ==, 3);
  g_assert_nonnull (ir_value_constant (ir_graph_find_value (again->main, "w")));
  g_assert_nonnull (ir_value_constant (ir_graph_find_value (again->main, "v")));
  g_assert_null (ir_value_constant (ir_graph_find_value (again->main, "x")));
}

/* Documentation and metadata of all that may have some. */
static void
test_notes (void)
{
  static const char text[] =
      "<ir_version: 10, opset_import: [\"\" : 17, \"f\" : 1], doc_string: \"note 0\",\n"
      " metadata_props: [\"key\": \"note 1\"]>\n"
      "#! doc \"note 2\" metadata [\"key\": \"note 3\"]\n"
      "g (#! doc \"note 4\"\n float[2] x, bool c) => (float[2] y) <\n"
      "  #! doc \"note 5\" metadata [\"key\": \"note 6\"]\n  float[2] w = {1, 2}> {\n"
      "  #! doc \"note 7\" metadata [\"key\": \"note 8\"]\n  h = Mul (x, w)\n"
      "  y = If (c) <\n    #! doc \"note 9\"\n    then_branch =\n"
      "    #! doc \"note 10\" metadata [\"key\": \"note 11\"]\n"
      "    t () => (float[2] a) { a = Neg (h) }, else_branch = e () => (float[2] b) { b = f.F (h) }>\n"
      "}\n#! doc \"note 12\" metadata [\"key\": \"note 13\"]\n"
      "<domain: \"f\", opset_import: [\"\" : 17]>\nF (a) => (b) {\n"
      "  #! doc \"note 14\"\n  b = Neg (a)\n}\n";
  IrModel *(*const through[]) (IrModel *) = { test_through_text, test_through_json,
                                              test_through_onnx };
  g_autoptr (IrModel) model = test_read_text (text);

  for (guint i = 0; i < G_N_ELEMENTS (through); i++)
    {
      g_autoptr (IrModel) again = through[i](model);
      g_autofree char *written = ir_text_write (again);

      for (guint k = 0; k < 15; k++)
        {
          g_autofree char *note = g_strdup_printf ("\"note %u\"", k);
          g_test_message ("%s by way %u", note, i);
          g_assert_nonnull (strstr (written, note));
        }
    }
}

/* What was removed is in no file. */
static void
test_removed (void)
{
  IrModel *(*const through[]) (IrModel *) = { test_through_text, test_through_json,
                                              test_through_onnx };
  g_autoptr (IrModel) model = test_read_text (test_rich_text);
  IrGraph *unused = NULL;

  for (guint i = 1; i < model->graphs->len; i++)
    {
      IrGraph *graph = model->graphs->pdata[i];
      if (graph->function != NULL && strcmp (graph->function->overload, "v2") == 0)
        unused = graph;
    }
  {
    g_autoptr (IrEdit) edit = ir_edit_new_import (model);
    g_autoptr (GPtrArray) nodes = ir_graph_nodes (model->main);
    for (guint i = 0; i < nodes->len; i++)
      if (strcmp (((IrNode *) nodes->pdata[i])->op_type, "Sink") == 0)
        ir_edit_remove_node (edit, nodes->pdata[i]);
    ir_edit_remove_value (edit, ir_graph_find_value (model->main, "Z"));
    ir_edit_remove_graph (edit, unused);
  }
  for (guint i = 0; i < G_N_ELEMENTS (through); i++)
    {
      g_autoptr (IrModel) again = through[i](model);
      g_autofree char *written = ir_text_write (again);

      g_assert_nonnull (strstr (written, "Twice <must"));
      g_assert_null (strstr (written, "\"v2\""));
      g_assert_null (strstr (written, "Sink"));
      g_assert_null (strstr (written, " Z = "));
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (formats); i++)
    {
      g_autofree char *path = g_strdup_printf ("/io/round trip/%s keeps every field",
                                               formats[i].name);

      g_test_add_data_func (path, GUINT_TO_POINTER (i), test_format);
    }
  g_test_add_func ("/io/round trip/constants stay constant in old files", test_old_inputs);
  g_test_add_func ("/io/round trip/attributes keep their values", test_attributes);
  g_test_add_func ("/io/round trip/there are as many axes as may be", test_most_axes);
  g_test_add_func ("/io/round trip/subgraphs capture and functions stay", test_graph);
  g_test_add_func ("/io/round trip/extreme elements stay", test_extremes);
  g_test_add_func ("/io/round trip/weights may lie at odd offsets", test_odd_offsets);
  g_test_add_func ("/io/round trip/elided tensors come from the model below", test_elided);
  g_test_add_func ("/io/round trip/scopes come from names and metadata", test_scopes);
  g_test_add_func ("/io/round trip/notes stay", test_notes);
  g_test_add_func ("/io/round trip/what was removed is not written", test_removed);
  g_test_add_func ("/io/round trip/files of every format", test_files);
  g_test_add_func ("/io/round trip/large tensors of text lie beside it", test_side_file);
  g_test_add_func ("/io/round trip/files of others stay", test_files_of_others);
  return g_test_run ();
}
