/* Damaged, hostile and changing files: nothing crashes, everything is said. */
#include "config.h"

#include "core/io/mapped-file.h"
#include "core/io/onnx/protobuf.h"
#include "tests/io/models.h"

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

static GBytes *
rich_bytes (void)
{
  g_autoptr (IrModel) model = test_read_text (test_rich_text);
  g_autoptr (GError) error = NULL;
  GBytes *bytes = ir_onnx_write_bytes (model, &error);

  g_assert_no_error (error);
  return bytes;
}

/* Reads, and takes the result through all writers if there is one. */
static gboolean
try_onnx (const guint8 *data, gsize length, GPtrArray *problems)
{
  /* A copy of exactly this size, so that a sanitizer sees a byte too far. */
  g_autoptr (GBytes) bytes = g_bytes_new (data, length);
  g_autoptr (GError) error = NULL;
  g_autoptr (IrModel) model = ir_onnx_read_bytes (bytes, NULL, problems, &error);

  g_assert_true ((model == NULL) == (error != NULL));
  if (model != NULL)
    {
      g_autofree char *text = ir_text_write (model);
      g_autofree char *json = ir_json_write (model);
      g_autofree char *dot = ir_dot_write (model);
      g_autoptr (GBytes) again = ir_onnx_write_bytes (model, NULL);

      g_assert_nonnull (text);
      g_assert_nonnull (json);
      g_assert_nonnull (dot);
      g_assert_nonnull (again);
    }
  return model != NULL;
}

static long
resident_file_kib (void)
{
  g_autofree char *status = NULL;

  g_assert_true (g_file_get_contents ("/proc/self/status", &status, NULL, NULL));
  const char *line = strstr (status, "RssFile:");
  g_assert_nonnull (line);
  return strtol (line + strlen ("RssFile:"), NULL, 10);
}

/* Pages of a mapped file that are given back leave the memory, and come again when read. */
static void
test_give_back (void)
{
  gsize length = 16 << 20;
  g_autofree char *folder = g_dir_make_tmp ("irscope-io-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "weights", NULL);
  g_autofree char *content = g_malloc (length);
  g_autoptr (GError) error = NULL;

  for (gsize i = 0; i < length; i++)
    content[i] = (char) (i / 4096 + i);
  g_assert_true (g_file_set_contents (path, content, (gssize) length, &error));
  g_autoptr (IrMappedFile) file = ir_mapped_file_open (path, &error);
  g_assert_no_error (error);
  g_autoptr (GBytes) bytes = ir_mapped_file_bytes (file);
  const char *data = g_bytes_get_data (bytes, NULL);
  g_assert_cmpint (memcmp (data, content, length), ==, 0);
  long all = resident_file_kib ();
  ir_mapped_file_give_back (data + 100, length - 200);
  ir_mapped_file_give_back (content, length); /* not of a file: stays what it is */
  g_assert_cmpint (resident_file_kib (), <, all - 15 * 1024);
  g_assert_cmpint (memcmp (data, content, length), ==, 0);
  g_unlink (path);
  g_rmdir (folder);
}

static void
test_truncation (void)
{
  g_autoptr (GBytes) bytes = rich_bytes ();
  gsize length, n_models = 0;
  const guint8 *data = g_bytes_get_data (bytes, &length);

  for (gsize cut = 0; cut < length; cut++)
    {
      g_autoptr (GPtrArray) problems = ir_problems_new ();

      n_models += try_onnx (data, cut, problems);
    }
  /* Most of a cut file is still shown. */
  g_assert_cmpuint (n_models, >, length / 2);
}

static void
flip_bits (guint8 *data, gsize length, GRand *random)
{
  for (int i = g_rand_int_range (random, 1, 6); i > 0; i--)
    data[g_rand_int_range (random, 0, (gint32) length)] ^= (guint8) (1 << g_rand_int_range (random,
                                                                                            0, 8));
}

static void
test_flips_onnx (void)
{
  g_autoptr (GBytes) bytes = rich_bytes ();
  GRand *random = g_rand_new_with_seed (1);
  gsize length;
  const guint8 *data = g_bytes_get_data (bytes, &length);

  for (guint i = 0; i < 4000; i++)
    {
      g_autofree guint8 *copy = g_memdup2 (data, length);
      g_autoptr (GPtrArray) problems = ir_problems_new ();

      flip_bits (copy, length, random);
      try_onnx (copy, length, problems);
    }
  g_rand_free (random);
}

static void
test_flips_text (void)
{
  g_autoptr (IrModel) model = test_read_text (test_rich_text);
  char *texts[] = { ir_text_write (model), ir_json_write (model) };
  GRand *random = g_rand_new_with_seed (2);

  for (guint i = 0; i < 4000; i++)
    {
      const char *text = texts[i % 2];
      gsize length = strlen (text);
      g_autofree char *copy = g_memdup2 (text, length);
      g_autoptr (GPtrArray) problems = ir_problems_new ();
      g_autoptr (GError) error = NULL;
      g_autoptr (IrModel) again = NULL;

      flip_bits ((guint8 *) copy, length, random);
      if (i % 8 == 0)
        length = (gsize) g_rand_int_range (random, 0, (gint32) length);
      again = i % 2 == 0 ? ir_text_read (copy, (gssize) length, problems, &error)
                         : ir_json_read (copy, (gssize) length, problems, &error);
      g_assert_true ((again == NULL) == (error != NULL));
    }
  g_rand_free (random);
  g_free (texts[0]);
  g_free (texts[1]);
}

/* -- hand-made messages -- */

static GBytes *
model_with_graph (IrWireWriter *writer, IrWireMark mark)
{
  ir_wire_end (writer, mark);
  return ir_wire_writer_steal_bytes (writer);
}

static IrWireMark
begin_model (IrWireWriter *writer)
{
  IrWireMark mark;

  ir_wire_writer_init (writer);
  ir_wire_put_varint (writer, 1, 8);
  mark = ir_wire_begin (writer, 8);
  ir_wire_put_varint (writer, 2, 17);
  ir_wire_end (writer, mark);
  return ir_wire_begin (writer, 7);
}

static IrModel *
read_hand_made (GBytes *bytes, GPtrArray *problems)
{
  g_autoptr (GError) error = NULL;
  IrModel *model = ir_onnx_read_bytes (bytes, NULL, problems, &error);

  g_assert_no_error (error);
  return model;
}

/* One initializer "w" with the given dims, type and a data field of varints. */
static IrModel *
read_tensor_with (const gint64 *dims,
                  guint n_dims,
                  guint type,
                  guint32 field,
                  const gint64 *numbers,
                  guint n,
                  GPtrArray *problems)
{
  IrWireWriter writer;
  IrWireMark graph = begin_model (&writer), tensor = ir_wire_begin (&writer, 5);
  g_autoptr (GBytes) bytes = NULL;

  ir_wire_put_packed (&writer, 1, dims, n_dims);
  ir_wire_put_varint (&writer, 2, type);
  ir_wire_put_string (&writer, 8, "w");
  /* Not packed: the other spelling of repeated numbers. */
  for (guint i = 0; i < n; i++)
    ir_wire_put_varint (&writer, field, (guint64) numbers[i]);
  ir_wire_end (&writer, tensor);
  bytes = model_with_graph (&writer, graph);
  return read_hand_made (bytes, problems);
}

static void
test_encodings (void)
{
  static const struct
  {
    guint type;
    guint32 field;
    gint64 dims, numbers[3];
    guint n;
    gint64 first, last;
  } cases[] = {
    { IR_DTYPE_INT32, 5, 3, { -1, 2, G_MAXINT32 }, 3, -1, G_MAXINT32 },
    { IR_DTYPE_INT8, 5, 2, { -128, 127 }, 2, -128, 127 },
    { IR_DTYPE_UINT16, 5, 2, { 0, 65535 }, 2, 0, 65535 },
    { IR_DTYPE_BOOL, 5, 2, { 0, 1 }, 2, 0, 1 },
    { IR_DTYPE_INT64, 7, 2, { G_MININT64, G_MAXINT64 }, 2, G_MININT64, G_MAXINT64 },
    { IR_DTYPE_UINT32, 11, 2, { 0, 4294967295 }, 2, 0, 4294967295 },
    { IR_DTYPE_INT4, 5, 3, { 0x78, 0x0f }, 2, -8, -1 },
    { IR_DTYPE_UINT2, 5, 5, { 0xe4, 0x02 }, 2, 0, 2 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GPtrArray) problems = ir_problems_new ();
      g_autoptr (IrModel) model = read_tensor_with (
          &cases[i].dims, 1, cases[i].type, cases[i].field, cases[i].numbers, cases[i].n, problems);
      const IrTensor *tensor = ir_graph_find_value (model->main, "w")->initializer;

      test_assert_no_errors (problems);
      g_assert_nonnull (tensor);
      g_assert_cmpint (ir_tensor_get_int64 (tensor, 0), ==, cases[i].first);
      g_assert_cmpint (ir_tensor_get_int64 (tensor, (guint64) cases[i].dims - 1), ==,
                       cases[i].last);
    }
}

static void
test_hostile_tensors (void)
{
  static const struct
  {
    guint type;
    gint64 dims[2];
  } cases[] = {
    { IR_DTYPE_FLOAT, { G_MAXINT64, 2 } },
    { IR_DTYPE_FLOAT, { 1 << 30, 1 << 30 } },
    { IR_DTYPE_INT32, { -1, 2 } },
    { IR_DTYPE_INT32, { 2, 2 } },
    { 99, { 1, 1 } },
    { IR_DTYPE_STRING, { 1000000, 1000000 } },
  };
  static const gint64 numbers[] = { 1 };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GPtrArray) problems = ir_problems_new ();
      g_autoptr (IrModel)
          model = read_tensor_with (cases[i].dims, 2, cases[i].type, 5, numbers, 1, problems);

      g_assert_true (test_has_problem (problems, IR_PROBLEM_BAD_TENSOR));
      g_assert_null (ir_graph_find_value (model->main, "w")->initializer);
    }
}

static void
put_if (IrWireWriter *writer, guint depth)
{
  IrWireMark node = ir_wire_begin (writer, 1), attr, graph;

  ir_wire_put_string (writer, 4, "If");
  attr = ir_wire_begin (writer, 5);
  ir_wire_put_string (writer, 1, "then_branch");
  graph = ir_wire_begin (writer, 6);
  if (depth > 0)
    put_if (writer, depth - 1);
  ir_wire_end (writer, graph);
  ir_wire_put_varint (writer, 20, 5);
  ir_wire_end (writer, attr);
  ir_wire_end (writer, node);
}

static void
test_nesting (void)
{
  IrWireWriter writer;
  IrWireMark graph = begin_model (&writer);
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (GBytes) bytes = NULL;
  g_autoptr (IrModel) model = NULL;

  put_if (&writer, 5000);
  bytes = model_with_graph (&writer, graph);
  model = read_hand_made (bytes, problems);
  g_assert_true (test_has_problem (problems, IR_PROBLEM_LIMIT));
  g_assert_cmpuint (ir_model_n_nodes (model), >, 10);
}

static void
test_nested_text (void)
{
  const char *const pieces[] = { "seq(", "g () => () { x = If () <a = ", "[", "<", "{" };

  for (guint i = 0; i < G_N_ELEMENTS (pieces); i++)
    {
      g_autoptr (GString) text = g_string_new ("<ir_version: 8> g (");
      g_autoptr (GPtrArray) problems = ir_problems_new ();
      g_autoptr (GError) error = NULL;
      g_autoptr (IrModel) model = NULL;

      if (i > 0)
        g_string_append (text, ") => () { x = If () <a = ");
      for (guint k = 0; k < 20000; k++)
        g_string_append (text, pieces[i]);
      model = ir_text_read (text->str, -1, problems, &error);
      g_assert_null (model);
      g_assert_error (error, IR_IO_ERROR, IR_IO_ERROR_FORMAT);
    }
}

/* Notes that end in the middle, found by fuzzing. */
static void
test_cut_notes (void)
{
  static const char *const notes[] = { "#! <unknown",
                                       "#! doc",
                                       "#! doc \"a\\",
                                       "#! metadata [\"a\" :",
                                       "#! metadata [\"a\": \"b\",",
                                       "#!unknown \"=\"" };

  for (guint i = 0; i < G_N_ELEMENTS (notes); i++)
    {
      g_autoptr (GPtrArray) problems = ir_problems_new ();
      g_autoptr (GError) error = NULL;
      /* Exactly as long as it is, so that a sanitizer sees a byte too far. */
      g_autofree char *text = g_memdup2 (notes[i], strlen (notes[i]));
      g_autoptr (IrModel) model = ir_text_read (text, (gssize) strlen (notes[i]), problems, &error);

      g_assert_null (model);
      g_assert_error (error, IR_IO_ERROR, IR_IO_ERROR_FORMAT);
    }
}

static void
test_findings (void)
{
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (IrModel) model = ir_text_read (
      "<ir_version: 8, opset_import: [\"\" : 17]> g (float[2] x, float[2] x) => (y, nowhere) {\n"
      " a = Add (b, missing)\n b = Neg (a)\n y = Relu (x)\n y = Neg (x) }",
      -1, problems, &error);
  const IrProblem *undefined = NULL;

  g_assert_no_error (error);
  g_assert_nonnull (model);
  g_assert_true (test_has_problem (problems, IR_PROBLEM_DUPLICATE_NAME));
  g_assert_true (test_has_problem (problems, IR_PROBLEM_UNDEFINED_VALUE));
  g_assert_true (test_has_problem (problems, IR_PROBLEM_CYCLE));
  for (guint i = 0; i < problems->len && undefined == NULL; i++)
    if (((IrProblem *) problems->pdata[i])->node != 0)
      undefined = problems->pdata[i];
  g_assert_nonnull (undefined);
  g_assert_cmpuint (undefined->line, ==, 2);
  g_assert_nonnull (undefined->hint);
  g_assert_cmpuint (ir_model_n_nodes (model), ==, 4);
}

static void
test_text_mistakes (void)
{
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (IrModel) model = ir_text_read ("<ir_version: 8, opset_import: [\"\" : 17]>\n"
                                            "g (float[2] x) => (float[2] y) {\n"
                                            "  a = Add (x x)\n"
                                            "  b = Relu <alpha = > (x)\n"
                                            "  c = Relu (x)\n"
                                            "  y = = Neg (c)\n"
                                            "}",
                                            -1, problems, &error);
  static const guint places[][2] = { { 3, 14 }, { 4, 21 }, { 6, 7 } };

  g_assert_null (model);
  g_assert_error (error, IR_IO_ERROR, IR_IO_ERROR_FORMAT);
  g_assert_cmpuint (problems->len, ==, G_N_ELEMENTS (places));
  for (guint i = 0; i < G_N_ELEMENTS (places); i++)
    {
      const IrProblem *problem = problems->pdata[i];

      g_assert_cmpint (problem->code, ==, IR_PROBLEM_SYNTAX);
      g_assert_cmpuint (problem->line, ==, places[i][0]);
      g_assert_cmpuint (problem->column, ==, places[i][1]);
    }
}

/* A list that was not closed is said to be no list, not an input with contents. */
static void
test_open_list (void)
{
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (IrModel) model = ir_text_read ("<ir_version: 8, opset_import: [\"\" : 17]>\n"
                                            "g (float[2] x => (float[2] y) { y = Relu (x) }",
                                            -1, problems, &error);

  g_assert_null (model);
  g_assert_nonnull (strstr (error->message, "needs \")\" here, found \"=>"));
}

/* Two models in one text are not one with a function. */
static void
test_two_models (void)
{
  static const char one[] = "<ir_version: 8, opset_import: [\"\" : 17]>\n"
                            "g (float[2] x) => (float[2] y) { y = Relu (x) }\n";
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (GError) error = NULL;
  g_autofree char *two = g_strconcat (one, one, NULL);
  g_autoptr (IrModel) model = ir_text_read (two, -1, problems, &error);

  g_assert_null (model);
  g_assert_nonnull (strstr (error->message, "a second model begins here"));
}

/* -- external data -- */

static IrModel *
read_external (const char *folder, const char *location, const char *offset, GPtrArray *problems)
{
  g_autofree char *path = g_build_filename (folder, "model.onnxtxt", NULL);
  g_autofree char *text = g_strdup_printf (
      "<ir_version: 8, opset_import: [\"\" : 17]> g () => () <"
      "float[2] w = [\"location\": \"%s\", \"offset\": \"%s\", \"length\": \"8\"]> {}",
      location, offset);
  g_autoptr (GError) error = NULL;

  g_assert_true (g_file_set_contents (path, text, -1, &error));
  return ir_format_find ("text")->read (path, problems, NULL, NULL);
}

static void
test_external (void)
{
  g_autofree char *folder = test_folder ();
  g_autofree char *outside = g_strconcat (folder, "-outside", NULL);
  g_autofree char *data = g_build_filename (folder, "w.bin", NULL);
  g_autofree char *link = g_build_filename (folder, "link.bin", NULL);
  g_autofree char *sub = g_build_filename (folder, "sub", NULL);
  g_autofree char *sub_data = g_build_filename (sub, "w.bin", NULL);
  g_autofree char *sub_link = g_build_filename (sub, "link", NULL);
  g_autofree char *pipe = g_build_filename (folder, "pipe", NULL);
  g_autofree char *up = NULL;
  const float numbers[3] = { 1, 2, 3 };
  g_autoptr (GPtrArray) good = ir_problems_new ();
  g_autoptr (IrModel) model = NULL;

  g_assert_true (g_file_set_contents (data, (const char *) numbers, sizeof numbers, NULL));
  g_assert_true (g_file_set_contents (outside, (const char *) numbers, sizeof numbers, NULL));
  g_mkdir (sub, 0700);
  g_assert_true (g_file_set_contents (sub_data, (const char *) numbers, sizeof numbers, NULL));
  g_assert_cmpint (symlink (outside, link), ==, 0);
  g_assert_cmpint (symlink (sub, sub_link), ==, 0);
  g_assert_cmpint (mkfifo (pipe, 0600), ==, 0);

  model = read_external (folder, "w.bin", "4", good);
  g_assert_nonnull (model);
  g_assert_cmpfloat (ir_tensor_get_double (ir_graph_find_value (model->main, "w")->initializer, 0),
                     ==, 2);
  g_clear_pointer (&model, ir_model_unref);
  model = read_external (folder, "sub/w.bin", "0", good);
  g_assert_nonnull (model);
  test_assert_no_errors (good);
  g_clear_pointer (&model, ir_model_unref);
  model = read_external (folder, "sub\\\\.//w.bin", "0", good);
  g_assert_nonnull (model);
  test_assert_no_errors (good);

  up = g_strdup_printf ("../%s", strrchr (outside, '/') + 1);
  const struct
  {
    const char *location, *offset;
  } bad[] = { { outside, "0" },
              { up, "0" },
              { "sub/../w.bin", "0" },
              { "link.bin", "0" },
              { "none.bin", "0" },
              { "w.bin", "8" },
              { "w.bin", "99" },
              { "sub", "0" },
              { "", "0" },
              { "sub/link/w.bin", "0" },
              { "pipe", "0" },
              { "w.bin/x", "0" },
              { ".", "0" } };
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autoptr (GPtrArray) problems = ir_problems_new ();
      g_autoptr (IrModel)
          refused = read_external (folder, bad[i].location, bad[i].offset, problems);

      g_assert_true (test_has_problem (problems, IR_PROBLEM_EXTERNAL_DATA));
      g_assert_nonnull (refused);
      g_assert_null (ir_graph_find_value (refused->main, "w")->initializer);
    }
  g_unlink (outside);
  test_remove_folder (folder);
}

/* A link whose name has the separator of another system in it, beside the file that a check of the
 * parts by themselves would find. */
static void
test_external_backslash (void)
{
  g_autofree char *folder = test_folder ();
  g_autofree char *outside = g_strconcat (folder, "-outside", NULL);
  g_autofree char *link = g_build_filename (folder, "sub\\w.bin", NULL);
  g_autofree char *sub = g_build_filename (folder, "sub", NULL);
  g_autofree char *data = g_build_filename (sub, "w.bin", NULL);
  const float inner[2] = { 1, 2 }, outer[2] = { 8, 9 };
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (IrModel) model = NULL;

  g_mkdir (sub, 0700);
  g_assert_true (g_file_set_contents (data, (const char *) inner, sizeof inner, NULL));
  g_assert_true (g_file_set_contents (outside, (const char *) outer, sizeof outer, NULL));
  g_assert_cmpint (symlink (outside, link), ==, 0);
  model = read_external (folder, "sub\\\\w.bin", "0", problems);
  test_assert_no_errors (problems);
  g_assert_cmpfloat (ir_tensor_get_double (ir_graph_find_value (model->main, "w")->initializer, 0),
                     ==, 1);
  g_unlink (outside);
  test_remove_folder (folder);
}

/* In ONNX a tensor that cannot be had leaves the rest to be shown. */
static void
test_external_onnx (void)
{
  IrWireWriter writer;
  IrWireMark graph = begin_model (&writer), tensor = ir_wire_begin (&writer, 5), entry;
  const gint64 dims[] = { 2 };
  g_autofree char *folder = test_folder ();
  g_autofree char *path = g_build_filename (folder, "m.onnx", NULL);
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (GBytes) bytes = NULL;
  g_autoptr (IrModel) model = NULL;

  ir_wire_put_packed (&writer, 1, dims, 1);
  ir_wire_put_varint (&writer, 2, 1);
  ir_wire_put_string (&writer, 8, "w");
  entry = ir_wire_begin (&writer, 13);
  ir_wire_put_string (&writer, 1, "location");
  ir_wire_put_string (&writer, 2, "/etc/passwd");
  ir_wire_end (&writer, entry);
  ir_wire_put_varint (&writer, 14, 1);
  ir_wire_end (&writer, tensor);
  bytes = model_with_graph (&writer, graph);
  g_assert_true (ir_file_write_atomic (path, bytes, NULL));
  model = ir_format_find ("onnx")->read (path, problems, NULL, NULL);
  g_assert_nonnull (model);
  g_assert_true (test_has_problem (problems, IR_PROBLEM_EXTERNAL_DATA));
  g_assert_cmpint (ir_value_rank (ir_graph_find_value (model->main, "w")), ==, 1);
  test_remove_folder (folder);
}

/* -- files that change -- */

#define BIG 65536

static char *
write_big_model (const char *folder)
{
  const gint64 dims[] = { BIG };
  g_autofree float *numbers = g_new (float, BIG);
  IrWireWriter writer;
  IrWireMark graph = begin_model (&writer), tensor = ir_wire_begin (&writer, 5);
  g_autoptr (GBytes) raw = NULL;
  g_autoptr (GBytes) bytes = NULL;
  char *path = g_build_filename (folder, "big.onnx", NULL);

  for (guint i = 0; i < BIG; i++)
    numbers[i] = (float) i;
  raw = g_bytes_new (numbers, BIG * sizeof (float));
  ir_wire_put_packed (&writer, 1, dims, 1);
  ir_wire_put_varint (&writer, 2, 1);
  ir_wire_put_string (&writer, 8, "w");
  ir_wire_put_reference (&writer, 9, raw);
  ir_wire_end (&writer, tensor);
  bytes = model_with_graph (&writer, graph);
  g_assert_true (ir_file_write_atomic (path, bytes, NULL));
  return path;
}

static void
test_cut_file (void)
{
  g_autofree char *folder = test_folder ();
  g_autofree char *path = write_big_model (folder);
  g_autoptr (GError) error = NULL;
  g_autoptr (IrModel) model = ir_model_load (path, NULL, NULL, &error);
  const IrTensor *tensor = ir_graph_find_value (model->main, "w")->initializer;

  g_assert_no_error (error);
  g_assert_cmpfloat (ir_tensor_get_double (tensor, 3), ==, 3);
  g_assert_true (ir_model_check_file (model, &error));
  g_assert_cmpint (truncate (path, 4096), ==, 0);
  /* Not a crash, and not silent. */
  g_assert_cmpfloat (ir_tensor_get_double (tensor, BIG - 1), ==, 0);
  g_assert_false (ir_model_check_file (model, &error));
  g_assert_error (error, IR_IO_ERROR, IR_IO_ERROR_CHANGED);
  g_clear_error (&error);
  g_assert_false (ir_model_save (model, path, NULL, NULL, &error));
  g_assert_error (error, IR_IO_ERROR, IR_IO_ERROR_CHANGED);
  test_remove_folder (folder);
}

static void
test_rewritten_file (void)
{
  g_autofree char *folder = test_folder ();
  g_autofree char *path = write_big_model (folder);
  g_autoptr (GError) error = NULL;
  g_autoptr (IrModel) model = ir_model_load (path, NULL, NULL, &error);
  FILE *file;

  g_assert_no_error (error);
  file = g_fopen (path, "r+b");
  g_assert_nonnull (file);
  fseek (file, 100000, SEEK_SET);
  fputc (1, file);
  fclose (file);
  g_assert_false (ir_model_check_file (model, &error));
  g_assert_error (error, IR_IO_ERROR, IR_IO_ERROR_CHANGED);
  test_remove_folder (folder);
}

/* Saving over the file that the weights lie in replaces it; the old one stays mapped. */
static void
test_save_over (void)
{
  g_autofree char *folder = test_folder ();
  g_autofree char *path = write_big_model (folder);
  g_autoptr (GError) error = NULL;
  g_autoptr (IrModel) model = ir_model_load (path, NULL, NULL, &error);
  g_autoptr (IrModel) again = NULL;

  for (guint i = 0; i < 3; i++)
    {
      g_assert_true (ir_model_save (model, path, NULL, NULL, &error));
      g_assert_no_error (error);
    }
  g_assert_cmpfloat (
      ir_tensor_get_double (ir_graph_find_value (model->main, "w")->initializer, BIG - 1), ==,
      BIG - 1);
  again = ir_model_load (path, NULL, NULL, &error);
  g_assert_true (ir_tensor_equal (ir_graph_find_value (again->main, "w")->initializer,
                                  ir_graph_find_value (model->main, "w")->initializer));
  test_remove_folder (folder);
}

static void
test_weights_stay (void)
{
  g_autofree char *folder = test_folder ();
  g_autofree char *path = write_big_model (folder);
  g_autoptr (IrModel) model = ir_model_load (path, NULL, NULL, NULL);
  const IrTensor *tensor = ir_graph_find_value (model->main, "w")->initializer;
  g_autofree char *maps = NULL;
  g_auto (GStrv) lines = NULL;
  guintptr data = (guintptr) g_bytes_get_data (ir_tensor_bytes (tensor), NULL);
  gboolean found = FALSE;

  g_assert_true (g_file_get_contents ("/proc/self/maps", &maps, NULL, NULL));
  lines = g_strsplit (maps, "\n", -1);
  for (guint i = 0; lines[i] != NULL; i++)
    if (strstr (lines[i], "big.onnx") != NULL)
      {
        guint64 start = g_ascii_strtoull (lines[i], NULL, 16);
        guint64 end = g_ascii_strtoull (strchr (lines[i], '-') + 1, NULL, 16);

        found |= data >= start && data < end;
      }
  g_assert_true (found);
  test_remove_folder (folder);
}

static void
test_unwritable (void)
{
  g_autoptr (IrModel) model = test_read_text (test_rich_text);
  g_autofree char *folder = test_folder ();
  g_autofree char *path = g_build_filename (folder, "none", "m.onnx", NULL);
  g_autoptr (GError) error = NULL;

  g_assert_false (ir_model_save (model, path, NULL, NULL, &error));
  g_assert_error (error, IR_IO_ERROR, IR_IO_ERROR_OPEN);
  g_clear_error (&error);
  g_assert_false (ir_model_save (model, folder, "onnx", NULL, &error));
  g_assert_error (error, IR_IO_ERROR, IR_IO_ERROR_OPEN);
  g_clear_error (&error);
  g_assert_false (ir_model_save (model, "m.unknown", NULL, NULL, &error));
  g_assert_error (error, IR_IO_ERROR, IR_IO_ERROR_UNSUPPORTED);
  test_remove_folder (folder);
}

static void
test_no_model (void)
{
  static const char *const contents[] = {
    "", "\n", "hello", "{\"a\": 1}", "\x0a\xff\xff", "PK\3\4"
  };
  g_autofree char *folder = test_folder ();

  for (guint i = 0; i < G_N_ELEMENTS (contents); i++)
    {
      g_autofree char *path = g_build_filename (folder, "file", NULL);
      g_autoptr (GError) error = NULL;
      g_autoptr (IrModel) model = NULL;

      g_assert_true (g_file_set_contents (path, contents[i], -1, NULL));
      model = ir_model_load (path, NULL, NULL, &error);
      g_assert_null (model);
      g_assert_error (error, IR_IO_ERROR, IR_IO_ERROR_FORMAT);
    }
  test_remove_folder (folder);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/io/damage/pages that are given back come again", test_give_back);
  g_test_add_func ("/io/damage/a model cut at any byte is read as far as it goes", test_truncation);
  g_test_add_func ("/io/damage/flipped bits of ONNX do no harm", test_flips_onnx);
  g_test_add_func ("/io/damage/flipped bits of text and JSON do no harm", test_flips_text);
  g_test_add_func ("/io/damage/every field that elements may stand in is read", test_encodings);
  g_test_add_func ("/io/damage/tensors that do not fit are refused", test_hostile_tensors);
  g_test_add_func ("/io/damage/deep nesting has an end", test_nesting);
  g_test_add_func ("/io/damage/deep nesting of text has an end", test_nested_text);
  g_test_add_func ("/io/damage/cut notes of text do no harm", test_cut_notes);
  g_test_add_func ("/io/damage/faults of a graph are found and it is still shown", test_findings);
  g_test_add_func ("/io/damage/mistakes in text have places", test_text_mistakes);
  g_test_add_func ("/io/damage/a list of text that is not closed is named", test_open_list);
  g_test_add_func ("/io/damage/two models in a text are refused", test_two_models);
  g_test_add_func ("/io/damage/external data stay in the folder", test_external);
  g_test_add_func ("/io/damage/a link with a backslash is not followed", test_external_backslash);
  g_test_add_func ("/io/damage/a refused tensor leaves the graph", test_external_onnx);
  g_test_add_func ("/io/damage/a file that is cut does not crash", test_cut_file);
  g_test_add_func ("/io/damage/a file that is rewritten is noticed", test_rewritten_file);
  g_test_add_func ("/io/damage/saving over the open file keeps the weights", test_save_over);
  g_test_add_func ("/io/damage/weights stay in the pages of the file", test_weights_stay);
  g_test_add_func ("/io/damage/what cannot be written is said", test_unwritable);
  g_test_add_func ("/io/damage/what is no model is said", test_no_model);
  return g_test_run ();
}
