/* Opening, ordering and copying models of many nodes: whoever does it looks often enough whether
 * anybody still wants the model, and ends at once where nobody does. */
#include "config.h"

#include "core/io/json/print.h"
#include "core/op/infer.h"
#include "tests/ear.h"
#include "tests/io/models.h"

#include <math.h>

#define N_NODES 40000

static IrModel *
chain_new (guint n)
{
  IrModel *model = ir_model_new ();
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);
  const IrType *type = ir_type_parse (model->context, "float[8]", NULL);
  IrValue *first = ir_edit_add_value (edit, model->main, "v0", type), *last = first, *half = first;

  ir_edit_set_opset (edit, "", 21);
  ir_edit_set_graph_inputs (edit, model->main, &first, 1);
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *name = g_strdup_printf ("v%u", i + 1);
      IrValue *out = ir_edit_add_value (edit, model->main, name, type), *in[] = { last, half };

      ir_edit_set_flags (edit, out, out->flags | IR_VALUE_NAMED_BY_USER);
      ir_edit_add_node_with_outputs (edit, model->main, "Add", "", name, 2, in, 1, &out);
      half = i % 2 == 0 ? out : half;
      last = out;
    }
  ir_edit_set_graph_outputs (edit, model->main, &last, 1);
  return model;
}

/* Looks at which it is cancelled: the first, the last, and some between. */
static int
chosen_look (int n_looks, guint i, guint n)
{
  return 1 + (int) ((gint64) (n_looks - 1) * i / (n - 1));
}

static void
test_opening (gconstpointer data)
{
  g_autofree char *folder = test_folder ();
  g_autofree char *path = g_strconcat (folder, "/model.", data, NULL);
  /* A sanitizer measures all of the text that is left at each of its numbers. */
  const guint n_nodes = g_str_equal (data, "onnxtxt") ? N_NODES / 10 : N_NODES;
  g_autoptr (IrModel) model = chain_new (n_nodes);
  g_autoptr (IrModel) whole = NULL;
  g_autoptr (GError) error = NULL;
  Ear all = { 0 };
  const IrStop listen = ear_stop (&all);
  const guint n = 9;

  g_assert_true (ir_model_save (model, path, NULL, &error));
  whole = ir_model_load_until (path, NULL, &listen, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (ir_model_n_nodes (whole), ==, n_nodes);
  /* Reading, values, nodes, order, types. */
  g_test_message ("%d looks", all.n_looks);
  g_assert_cmpint (all.n_looks, >=, (int) (7 * n_nodes / 1000));
  for (guint i = 0; i < n; i++)
    {
      g_autoptr (GCancellable) cancellable = g_cancellable_new ();
      g_autoptr (GPtrArray) problems = ir_problems_new ();
      Ear ear = { .cancellable = cancellable, .stop_at = chosen_look (all.n_looks, i, n) };
      const IrStop stop = ear_stop (&ear);
      g_autoptr (IrModel) part = ir_model_load_until (path, problems, &stop, &error);

      if (part != NULL) /* JSON is parsed aside, where looks go by the clock */
        {
          g_assert_cmpstr (data, ==, "json");
          g_assert_cmpint (ear.n_looks, <, ear.stop_at);
          continue;
        }
      g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
      g_clear_error (&error);
      g_assert_cmpint (ear.n_looks, ==, ear.stop_at);
      g_assert_cmpuint (problems->len, ==, 0);
    }
  test_remove_folder (folder);
}

/* One node, whose numbers are many. */
static void
test_long_lists (gconstpointer data)
{
  g_autofree char *folder = test_folder ();
  g_autofree char *path = g_strconcat (folder, "/model.onnxtxt", NULL);
  g_autoptr (GString) text = g_string_new ("<ir_version: 10, opset_import: [\"\" : 21]>\n"
                                           "g () => (int64[N] y) {\n  y = Constant <");
  g_autoptr (GError) error = NULL;
  const guint n = 16384;

  g_string_append (text, data);
  for (guint i = 0; i < n; i++)
    g_string_append_printf (text, i > 0 ? ", %u" : "%u", i);
  g_string_append_printf (text, "%c> ()\n}\n", strchr (data, '[')[1] == '\0' ? ']' : '}');
  g_assert_true (g_file_set_contents (path, text->str, (gssize) text->len, &error));
  Ear all = { 0 };
  const IrStop listen = ear_stop (&all);
  g_autoptr (IrModel) whole = ir_model_load_until (path, NULL, &listen, &error);
  g_assert_no_error (error);
  g_test_message ("%d looks", all.n_looks);
  g_assert_cmpint (all.n_looks, >=, (int) (n / 2048));
  for (int at = 1; at <= all.n_looks; at++)
    {
      g_autoptr (GCancellable) cancellable = g_cancellable_new ();
      g_autoptr (GPtrArray) problems = ir_problems_new ();
      Ear ear = { .cancellable = cancellable, .stop_at = at };
      const IrStop stop = ear_stop (&ear);

      g_assert_null (ir_model_load_until (path, problems, &stop, &error));
      g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
      g_clear_error (&error);
      g_assert_cmpuint (problems->len, ==, 0);
    }
  test_remove_folder (folder);
}

/* What is made as a whole is left behind where nobody wants it. */
static void
test_saving (gconstpointer data)
{
  g_autofree char *folder = test_folder ();
  g_autofree char *path = g_strconcat (folder, "/model.", data, NULL);
  g_autoptr (IrModel) model = chain_new (N_NODES);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) error = NULL;
  Ear ear = { .stop_at = 1, .cancellable = cancellable };
  const IrStop stop = ear_stop (&ear);

  g_assert_false (ir_model_save_until (model, path, NULL, &stop, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_assert_cmpint (ear.n_looks, ==, 1);
  g_assert_false (g_file_test (path, G_FILE_TEST_EXISTS));
  test_remove_folder (folder);
}

/* A model whose order is not known yet; the last edit is one that the order depends on. */
static void
forget_order (IrModel *model)
{
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);

  ir_edit_add_value (edit, model->main, "unused", NULL);
}

static void
test_order (void)
{
  g_autoptr (IrModel) model = chain_new (N_NODES);
  Ear all = { 0 };
  const IrStop listen = ear_stop (&all);
  guint n;

  forget_order (model);
  g_assert_true (ir_model_order_until (model, &listen));
  g_assert_cmpint (all.n_looks, >=, 4 * (N_NODES / 8192));
  for (int at = 1; at <= all.n_looks; at++)
    {
      g_autoptr (GCancellable) cancellable = g_cancellable_new ();
      Ear ear = { .cancellable = cancellable, .stop_at = at };
      const IrStop stop = ear_stop (&ear);

      forget_order (model);
      g_assert_false (ir_model_order_until (model, &stop));
      g_assert_cmpint (ear.n_looks, ==, at);
      ir_graph_order (model->main, &n); /* by whoever wants it again */
      g_assert_cmpuint (n, ==, N_NODES);
    }
}

static void
test_copies (gconstpointer data)
{
  IrModel *(*copy) (IrModel * from, const IrStop *stop) = data != NULL ? ir_model_snapshot_until
                                                                       : ir_model_clone_until;
  g_autoptr (IrModel) model = chain_new (N_NODES);
  g_autoptr (IrModel) whole = NULL;
  Ear all = { 0 };
  const IrStop listen = ear_stop (&all);

  whole = copy (model, &listen);
  test_assert_same (model, whole);
  g_assert_cmpint (all.n_looks, >=, 4 * (N_NODES / 4096));
  for (int at = 1; at <= all.n_looks; at++)
    {
      g_autoptr (GCancellable) cancellable = g_cancellable_new ();
      Ear ear = { .cancellable = cancellable, .stop_at = at };
      const IrStop stop = ear_stop (&ear);

      g_assert_null (copy (model, &stop));
      g_assert_cmpint (ear.n_looks, ==, at);
    }
}

static cJSON *
random_json (GRand *rand, guint depth)
{
  const char *const strings[] = { "", "plain", "\"quoted\\\b\f\n\r\t/", "\x01\x1f\x7f", "ÄÖ→" };
  const double numbers[] = { 0, -0.0, 1, -17, 0.1, 1e300, 123456789012.0, 1.0 / 3, NAN, INFINITY };
  const gint kind = g_rand_int_range (rand, 0, depth > 0 ? 7 : 5);
  cJSON *made;

  if (kind < 2)
    return cJSON_CreateString (strings[g_rand_int_range (rand, 0, G_N_ELEMENTS (strings))]);
  if (kind < 4)
    return cJSON_CreateNumber (numbers[g_rand_int_range (rand, 0, G_N_ELEMENTS (numbers))]);
  if (kind == 4)
    return g_rand_boolean (rand) ? cJSON_CreateNull () : cJSON_CreateBool (g_rand_boolean (rand));
  made = kind == 5 ? cJSON_CreateArray () : cJSON_CreateObject ();
  for (gint n = g_rand_int_range (rand, 0, 6); n > 0; n--)
    if (kind == 5)
      cJSON_AddItemToArray (made, random_json (rand, depth - 1));
    else
      cJSON_AddItemToObject (made, strings[n % 5], random_json (rand, depth - 1));
  return made;
}

static void
test_json_text (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (11);

  for (guint i = 0; i < 500; i++)
    {
      cJSON *json = random_json (rand, 5);
      char *printed = cJSON_Print (json);
      g_auto (GStrv) parts = g_strsplit (printed, "\x7f", -1); /* which cJSON leaves to steer terminals */
      g_autofree char *wanted = g_strjoinv ("\\u007f", parts);
      g_autofree char *found = ir_json_print_text (json);

      g_assert_cmpstr (found, ==, wanted);
      cJSON_free (printed);
      cJSON_Delete (json);
    }
}

typedef struct
{
  gsize bytes;
  guint parts_wanted;
} Sink;

static gboolean
take_part (const char *text, gsize length, gpointer user_data)
{
  Sink *sink = user_data;

  sink->bytes += length;
  return --sink->parts_wanted > 0;
}

static void
test_json_looks (void)
{
  cJSON *json = cJSON_CreateArray ();
  Ear all = { 0 };
  const IrStop listen = ear_stop (&all);
  Sink sink = { 0, G_MAXUINT };
  gsize whole;

  for (guint i = 0; i < 200000; i++)
    cJSON_AddItemToArray (json, cJSON_CreateNumber (i));
  g_assert_true (ir_json_print (json, take_part, &sink, &listen));
  whole = sink.bytes;
  g_assert_cmpuint (whole / (gsize) all.n_looks, <=, 65536 + 64);
  for (int at = 1; at <= all.n_looks; at++)
    {
      g_autoptr (GCancellable) cancellable = g_cancellable_new ();
      Ear ear = { .cancellable = cancellable, .stop_at = at };
      const IrStop stop = ear_stop (&ear);

      sink = (Sink){ 0, G_MAXUINT };
      g_assert_false (ir_json_print (json, take_part, &sink, &stop));
      g_assert_cmpint (ear.n_looks, ==, at);
      g_assert_cmpuint (sink.bytes, <, whole);
    }
  sink = (Sink){ 0, 2 };
  g_assert_false (ir_json_print (json, take_part, &sink, NULL));
  g_assert_cmpuint (sink.bytes, <, whole);
  cJSON_Delete (json);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/stopping/opening-onnx-looks-and-ends-at-once", "onnx", test_opening);
  g_test_add_data_func ("/stopping/opening-text-looks-and-ends-at-once", "onnxtxt", test_opening);
  g_test_add_data_func ("/stopping/opening-json-looks-and-ends-at-once", "json", test_opening);
  g_test_add_data_func ("/stopping/opening-a-long-list-looks-and-ends-at-once", "value_ints = [",
                        test_long_lists);
  g_test_add_data_func ("/stopping/opening-a-long-tensor-looks-and-ends-at-once",
                        "value = int64[16384] {", test_long_lists);
  g_test_add_data_func ("/stopping/saving-json-is-left-behind", "json", test_saving);
  g_test_add_data_func ("/stopping/saving-dot-is-left-behind", "dot", test_saving);
  g_test_add_func ("/stopping/an-order-that-was-stopped-is-found-anew", test_order);
  g_test_add_data_func ("/stopping/a-clone-looks-and-ends-at-once", NULL, test_copies);
  g_test_add_data_func ("/stopping/a-snapshot-looks-and-ends-at-once", "frozen", test_copies);
  g_test_add_func ("/stopping/json-is-printed-as-cjson-prints-it", test_json_text);
  g_test_add_func ("/stopping/printing-json-looks-and-ends-at-once", test_json_looks);
  return g_test_run ();
}
