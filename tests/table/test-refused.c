/* What inference refuses, one condition at a time, beside the same node where it is right. */
#include "config.h"

#include "core/io/io.h"
#include "core/ir/edit.h"
#include "core/op/infer.h"

#include <string.h>

typedef struct
{
  const char *inputs;  /* of a graph, in ONNX text */
  const char *nodes;   /* that make y */
  const char *type;    /* (nullable) of y; NULL: refused */
  const char *message; /* part of the problem */
} Case;

#define POOL   "y = MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> (x, i)"
#define POOLED "float[1,2,3,3] x, int64[1,2,3,3] i"
#define TO(SIZES)                                                                                  \
  "s = Constant <value_ints = [" SIZES "]> ()  "                                                   \
  "y = MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> (x, i, s)"
#define DEFORM "y = DeformConv <kernel_shape = [3, 3], offset_group = 2> (x, w, o, b, m)"
#define PLACED(OFFSETS, MASK)                                                                      \
  "float[2,4,5,5] x, float[6,4,3,3] w, float[6] b, float" OFFSETS " o, float" MASK " m"

static const Case cases[] = {
  { POOLED, POOL, "float[1,2,6,6]", NULL },
  { POOLED, "y = MaxUnpool (x, i)", NULL, "kernel_shape" },
  { POOLED, "y = MaxUnpool <kernel_shape: ints = []> (x, i)", NULL, "kernel_shape" },
  { POOLED, "y = MaxUnpool <kernel_shape = [2]> (x, i)", NULL, "kernel_shape" },
  { "float[1,2] x, int64[1,2] i", POOL, NULL, "X has 2 dims" },
  { "float[1,2,3] x, int64[1,2,3] i", "y = MaxUnpool <kernel_shape = [2]> (x, i)", "float[1,2,4]",
    NULL },
  { "float[] x, int64[1,2,3,3] i", POOL, "float[?,?,?,?]", NULL },
  { "float[1,2,3,3] x, int64[1,2,3] i", POOL, NULL, "input 1 has 3 dims, 4 are needed" },
  { "float[1,2,3,3] x, float[1,2,3,3] i", POOL, NULL, "float" },
  { "float[1,2,3,3] x, int64[2,2,3,3] i", POOL, NULL, "dims of X and I" },
  { "float[1,2,3,3] x, int64[1,2,3,4] i", POOL, NULL, "dims of X and I" },
  { POOLED, TO ("1, 2, 6, 6"), "float[1,2,6,6]", NULL },
  { POOLED, TO ("1, 2, 6, 9"), "float[1,2,6,9]", NULL },
  { POOLED, TO ("1, 2, 6, 5"), NULL, "5 elements along axis 3, there are 6" },
  { POOLED, TO ("1, 3, 6, 6"), NULL, "3 elements along axis 1, there are 2" },
  { POOLED, TO ("2, 2, 6, 6"), NULL, "2 elements along axis 0, there are 1" },
  { POOLED, TO ("1, 2, 6"), NULL, "output_shape and X" },
  { PLACED ("[2,36,3,3]", "[2,18,3,3]"), DEFORM, "float[2,6,3,3]", NULL },
  { PLACED ("[3,36,3,3]", "[2,18,3,3]"), DEFORM, NULL, "batches" },
  { PLACED ("[2,36,3,3]", "[1,18,3,3]"), DEFORM, NULL, "batches" },
  { PLACED ("[2,18,3,3]", "[2,18,3,3]"), DEFORM, NULL, "channels of the offsets" },
  { PLACED ("[2,36,3,3]", "[2,36,3,3]"), DEFORM, NULL, "channels of the offsets" },
  { PLACED ("[2,36,4,3]", "[2,18,3,3]"), DEFORM, NULL, "sizes of the offsets" },
  { PLACED ("[2,36,3,3]", "[2,18,3,2]"), DEFORM, NULL, "sizes of the offsets" },
  { PLACED ("[2,36,9]", "[2,18,3,3]"), DEFORM, NULL, "input 2 has 3 dims, 4 are needed" },
};

static void
test_case (gconstpointer data)
{
  const Case *c = data;
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autofree char *text = g_strdup_printf (
      "<ir_version: 10, opset_import: [\"\" : 22, \"com.microsoft\" : 1]>\n"
      "g (%s) => (y) { %s }",
      c->inputs, c->nodes);
  g_autoptr (IrModel) model = ir_text_read (text, -1, problems, &error);

  g_assert_no_error (error);
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);
  ir_infer_model (edit, IR_INFER_DEFAULT, problems);
  for (guint i = 0; i < problems->len; i++)
    g_test_message ("%s", ((IrProblem *) problems->pdata[i])->message);
  g_assert_cmpuint (problems->len, ==, c->type == NULL);
  if (c->type == NULL)
    {
      g_assert_nonnull (strstr (((IrProblem *) problems->pdata[0])->message, c->message));
      return;
    }
  g_autofree char *type = ir_type_to_string (model->context,
                                             ir_graph_find_value (model->main, "y")->type);
  g_assert_cmpstr (type, ==, c->type);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_set_nonfatal_assertions ();
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *path = g_strdup_printf ("/refused/%u %s", i, cases[i].nodes);

      g_test_add_data_func (path, &cases[i], test_case);
    }
  return g_test_run ();
}
