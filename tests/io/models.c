#include "config.h"

#include "tests/io/models.h"

#include "core/ir/edit.h"

#include <string.h>

const char test_rich_text[] =
    "#! unknown \"oAYB\"\n"
    "< ir_version: 10, opset_import: [\"\" : 17, \"com.example\" : 3],\n"
    "  producer_name: \"a \\\"quoted\\\" producer\", model_version: -9223372036854775808,\n"
    "  doc_string: \"two\nlines\", metadata_props: [\"key\": \"value\", \"empty\": \"\"] >\n"
    "# an ordinary comment\n"
    "main_graph (float[N, 128 @\"WIDTH\"] @\"IMAGE\" X, seq(float[]) S, optional(int64) O,\n"
    "  map(string, float[2]) M, sparse_tensor(float[4,4]) P, float[] U, ? untyped,\n"
    "  opaque(\"some.domain\",\"thing\") Q, float[\"2*N + 1\"] E, float[_low,\"9up\",\"a b\"] D, float[2] W = {1, -0})\n"
    " => (float[N,10] Y, bool B) <\n"
    "  float[3] C = {nan, inf, -inf},\n"
    "  #! doc \"an \\\"initializer\\\"\\nwith lines\" metadata [\"a\": \"b\"]\n"
    "  int64[2] L = {9223372036854775807, -9223372036854775808},\n"
    "  sparse_tensor(float[4,4]) Z = {1.5, 2.5} int64[2] {0, 15},\n"
    "  string[2] T = {\"text\", bytes\"AP8=\"},\n"
    "  float[2] \"inner value\">\n"
    "{\n"
    "  #! doc \"what it does\" metadata [\"irscope.device\": \"gpu:0\", \"mine\": \"yes\"] unknown \"oAYB\"\n"
    "  [\"/encoder/layer.0/MatMul\"] \"inner value\" = com.example.Every:over <\n"
    "    f = 0.1, f_whole = 2.0, f_nan = nan, f_minus = -inf, f_zero = -0.0,\n"
    "    i = 9223372036854775807, i_min = -9223372036854775808,\n"
    "    s = \"text with \\\"quotes\\\" and \\\\\", s_bytes = bytes\"AP8=\", s_nul = bytes\"YQBi\", s_empty = \"\",\n"
    "    t = float[2] name = {0.1, 3e-45}, floats = [1.0, 2.5], floats_none: floats = [],\n"
    "    ints = [1, -2], ints_none: ints = [], strings = [\"a\", \"\", bytes\"gA==\"],\n"
    "    tensors = [int8[1] {-128}, float {1}], st = sparse_tensor(int32[3]) {7} int64[1] {2},\n"
    "    sts = [sparse_tensor(int32[2]) {7} int64[1,1] {1}],\n"
    "    tp: type_proto = seq(float[a,?]), tps: type_protos = [float, int64[]],\n"
    "    #! doc \"documented\"\n"
    "    documented = 1, \"odd name\" = 2> (X, \"\", W, T)\n"
    "  , second = Dropout (C, )\n"
    "  Y, B = If (second) <then_branch = yes () => (float[2] y1, bool b1) {\n"
    "      y1 = Add (\"inner value\", W)\n"
    "      b1 = Loop (later) <body = deep () => (q) { q = Identity (X) }>\n"
    "    }, else_branch = no () => (float[2] y2, bool b2) <float[2] local = {1, 2}> {\n"
    "      y2 = Mul (local, \"inner value\")\n"
    "      b2 = Not (second)\n"
    "    }, graphs = [g1 () => () {}, g2 (float a) => (float b) { b = Neg (a) }]>\n"
    "  later = com.example.Twice <k = 3> (L)\n"
    "  = com.example.Sink (Z, later)\n"
    "}\n"
    "#! doc \"a function\"\n"
    "< domain: \"com.example\", opset_import: [\"\" : 17] >\n"
    "Twice <must, k: int = 2, alpha: float = 0.5> (a) => (b) <float[2] h> {\n"
    "  h = Add <axis: int = @k> (a, a)\n"
    "  b = LeakyRelu <alpha: float = @alpha> (h)\n"
    "}\n"
    "< domain: \"com.example\", overload: \"v2\", opset_import: [\"\" : 17] >\n"
    "Twice (a) => (b) { b = Neg (a) }\n"
    "< domain: \"com.example\", opset_import: [\"\" : 17] >\n"
    "Nothing () => () {}\n";

const char test_dtypes_text[] =
    "< ir_version: 10, opset_import: [\"\" : 21] > g () => () <\n"
    "  float[6] v1 = {3.4028235e+38, 1e-45, -0, nan, inf, -inf}, uint8[2] v2 = {0, 255},\n"
    "  int8[2] v3 = {-128, 127}, uint16[2] v4 = {0, 65535}, int16[2] v5 = {-32768, 32767},\n"
    "  int32[2] v6 = {-2147483648, 2147483647},\n"
    "  int64[2] v7 = {-9223372036854775808, 9223372036854775807}, string[2] v8 = {\"\", \"é\n\"},\n"
    "  bool[2] v9 = {0, 1}, float16[3] v10 = {31744, 32768, 65535},\n"
    "  double[3] v11 = {1.7976931348623157e+308, 5e-324, -0}, uint32[2] v12 = {0, 4294967295},\n"
    "  uint64[2] v13 = {0, 18446744073709551615}, complex64[1] v14 = {1.5, -0},\n"
    "  complex128[2] v15 = {nan, 1, 2, -inf}, bfloat16[2] v16 = {1, 65535},\n"
    "  float8e4m3fn[2] v17 = {0, 255}, float8e4m3fnuz[1] v18 = {128}, float8e5m2[1] v19 = {124},\n"
    "  float8e5m2fnuz[1] v20 = {7}, uint4[3] v21 = {0, 15, 7}, int4[3] v22 = {-8, 7, -1},\n"
    "  float4e2m1[3] v23 = {0, 15, 3}, float8e8m0[1] v24 = {254}, uint2[5] v25 = {0, 1, 2, 3, 1},\n"
    "  int2[3] v26 = {-2, 1, -1}, float[0] empty = {}, float scalar = {1e10},\n"
    "  float[1] odd_nan = base64\"AQDAfw==\", float16[2] by_value = {1.5, -2.0}> {}\n";

/* Two arrays in an archive, one of them deflated. */
GBytes *
test_npz (void)
{
  static const char text[] =
      "UEsDBBQAAAAIAAAAIQCayqvnTAAAAIgAAAAFAAAAYS5ucHmb7BfqGxDJyFDGUK2eklqcXKRupaBuk2airqOgnpZf"
      "VFKUmBefX5SSChJ3S8wpTgWKF2ckFqQC+RpGOpo6CrUKFAAuBoYGewYGBgcAUEsDBBQAAAAAAAAAIQBRNldzhAAA"
      "AIQAAAAFAAAAYi5ucHmTTlVNUFkBAHYAeydkZXNjcic6ICc8ZjQnLCAnZm9ydHJhbl9vcmRlcic6IEZhbHNlLCAn"
      "c2hhcGUnOiAoMSwpLCB9ICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAg"
      "ICAgICAgICAgCgAAgD9QSwECFAMUAAAACAAAACEAmsqr50wAAACIAAAABQAAAAAAAAAAAAAAgAEAAAAAYS5ucHlQ"
      "SwECFAMUAAAAAAAAACEAUTZXc4QAAACEAAAABQAAAAAAAAAAAAAAgAFvAAAAYi5ucHlQSwUGAAAAAAIAAgBmAAAA"
      "FgEAAAAA";
  gsize length;
  guint8 *data = g_base64_decode (text, &length);

  return g_bytes_new_take (data, length);
}

static const char *const severities[] = { "note", "warning", "error" };

void
test_assert_no_errors (const GPtrArray *problems)
{
  for (guint i = 0; i < problems->len; i++)
    {
      const IrProblem *problem = problems->pdata[i];

      if (problem->severity == IR_SEVERITY_ERROR)
        g_test_message ("%s %s: %s", severities[problem->severity],
                        ir_problem_code_name (problem->code), problem->message);
    }
  g_assert_cmpuint (ir_problems_count (problems, IR_SEVERITY_ERROR), ==, 0);
}

gboolean
test_has_problem (const GPtrArray *problems, IrProblemCode code)
{
  for (guint i = 0; i < problems->len; i++)
    if (((const IrProblem *) problems->pdata[i])->code == code)
      return TRUE;
  return FALSE;
}

IrModel *
test_read_text (const char *text)
{
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (GError) error = NULL;
  IrModel *model = ir_text_read (text, -1, problems, &error);

  g_assert_no_error (error);
  test_assert_no_errors (problems);
  return model;
}

IrModel *
test_through_onnx (IrModel *model)
{
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) bytes = ir_onnx_write_bytes (model, &error);
  IrModel *again;

  g_assert_no_error (error);
  again = ir_onnx_read_bytes (bytes, model->path, problems, &error);
  g_assert_no_error (error);
  return again;
}

IrModel *
test_through_text (IrModel *model)
{
  g_autofree char *text = ir_text_write (model);
  g_autofree char *second = NULL;
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (GError) error = NULL;
  IrModel *again = ir_text_read (text, -1, problems, &error);

  if (error != NULL)
    g_test_message ("%s", text);
  g_assert_no_error (error);
  again->path = model->path;
  second = ir_text_write (again);
  g_assert_cmpstr (text, ==, second);
  return again;
}

IrModel *
test_through_json (IrModel *model)
{
  g_autofree char *text = ir_json_write (model);
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (GError) error = NULL;
  IrModel *again = ir_json_read (text, -1, problems, &error);

  g_assert_no_error (error);
  again->path = model->path;
  return again;
}

void
test_assert_same (IrModel *a, IrModel *b)
{
  g_autofree char *dump_a = ir_model_dump (a);
  g_autofree char *dump_b = ir_model_dump (b);

  if (strcmp (dump_a, dump_b) == 0)
    return;
  g_auto (GStrv) lines_a = g_strsplit (dump_a, "\n", -1);
  g_auto (GStrv) lines_b = g_strsplit (dump_b, "\n", -1);
  /* The first line that differs says more than two whole dumps. */
  for (guint i = 0; lines_a[i] != NULL && lines_b[i] != NULL; i++)
    g_assert_cmpstr (lines_a[i], ==, lines_b[i]);
  g_assert_cmpuint (g_strv_length (lines_a), ==, g_strv_length (lines_b));
  g_assert_not_reached ();
}

/* An ONNX file of a chain of Adds, each with @tensor_bytes of weights. */
void
test_write_weights (const char *path, guint n_tensors, gsize tensor_bytes)
{
  g_autoptr (IrModel) model = ir_model_new ();
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);
  const gint64 dims[] = { (gint64) (tensor_bytes / sizeof (float)) };
  g_autoptr (GBytes) bytes = g_bytes_new_take (g_malloc0 (tensor_bytes), tensor_bytes);
  const IrType *type = ir_type_tensor (model->context, IR_DTYPE_FLOAT, 1, dims);
  IrValue *value = ir_edit_add_value (edit, model->main, "x", type);
  g_autoptr (GError) error = NULL;

  ir_edit_set_opset (edit, "", 17);
  ir_edit_set_graph_inputs (edit, model->main, &value, 1);
  for (guint i = 0; i < n_tensors; i++)
    {
      IrTensor *tensor = ir_tensor_new (IR_DTYPE_FLOAT, 1, dims, bytes);
      IrValue *inputs[] = { value, ir_edit_add_initializer (edit, model->main, NULL, tensor) };

      value = ir_edit_add_node (edit, model->main, "Add", "", "", 2, inputs, 1)->outputs[0];
      ir_context_own (model->context, tensor, (GDestroyNotify) ir_tensor_unref);
    }
  ir_edit_set_graph_outputs (edit, model->main, &value, 1);
  ir_model_save (model, path, "onnx", NULL, &error);
  g_assert_no_error (error);
}
