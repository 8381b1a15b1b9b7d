/* What is written of random graphs of every family: as ONNX, text in all its forms, JSON and DOT, and of what their nodes
 * give, and of containers, as files; and of what is read of those. Kept in files.txt (tests/table/snapshot.h). That it is read as
 * it was is tried in tests/io. */
#include "config.h"

#include "core/io/io.h"
#include "tests/fuzz/graph-gen.h"
#include "tests/fuzz/op-trial.h"
#include "tests/support/folder.h"
#include "tests/table/snapshot.h"

#define N_GRAPHS 16 /* of each family */

static const IrTextOptions forms[] = {
  { IR_TEXT_NUMBERS },
  { IR_TEXT_BASE64, 3 },
  { IR_TEXT_ELIDE, 3 },
};

static void
say_bytes (GString *text, const char *what, GBytes *bytes)
{
  g_autofree char *sum = bytes != NULL ? g_compute_checksum_for_bytes (G_CHECKSUM_SHA1, bytes)
                                       : NULL;

  g_string_append_printf (text, "%s: %" G_GSIZE_FORMAT " bytes, %s\n", what,
                          bytes != NULL ? g_bytes_get_size (bytes) : 0, sum);
}

static void
say_model (GString *text, IrModel *model)
{
  g_autofree char *json = ir_json_write (model), *dot = ir_dot_write (model);
  g_autoptr (GBytes) onnx = ir_onnx_write_bytes (model, NULL);

  for (guint i = 0; i < G_N_ELEMENTS (forms); i++)
    {
      g_autofree char *written = ir_text_write_options (model, &forms[i]);
      g_string_append (text, written);
    }
  g_string_append_printf (text, "%s\n%s\n", json, dot);
  say_bytes (text, "onnx", onnx);
  for (guint id = 1; id < model->nodes->len; id++)
    {
      const IrNode *node = model->nodes->pdata[id];
      g_autofree char *short_text = node->state == IR_STATE_LIVE ? ir_text_write_node (node) : NULL;
      if (short_text != NULL)
        g_string_append_printf (text, "%s\n", short_text);
    }
}

/* What comes back from each form, written again. */
static void
say_read (GString *text, IrModel *model)
{
  g_autofree char *written = ir_text_write (model), *json = ir_json_write (model),
                  *elided = ir_text_write_options (model, &forms[2]);
  g_autoptr (GBytes) onnx = ir_onnx_write_bytes (model, NULL);
  g_autoptr (IrModel) of_text = ir_text_read (written, -1, NULL, NULL),
                      of_json = ir_json_read (json, -1, NULL, NULL),
                      of_onnx = ir_onnx_read_bytes (onnx, NULL, NULL, NULL),
                      over = ir_text_read_over (elided, -1, model, NULL, NULL);
  IrModel *const read[] = { of_text, of_json, of_onnx, over };

  for (guint i = 0; i < G_N_ELEMENTS (read); i++)
    {
      g_autofree char *again = read[i] != NULL ? ir_text_write (read[i]) : NULL;
      g_string_append_printf (text, "%u: %s\n", i, again);
    }
}

/* As a file of ONNX: @path, which is for nothing else */
static void
say_value (GString *text, const IrTensor *value, const char *path)
{
  char *contents = NULL;
  gsize length;

  if (!ir_tensor_save (value, path, NULL))
    return;
  g_assert_true (g_file_get_contents (path, &contents, &length, NULL));
  g_autoptr (GBytes) bytes = g_bytes_new_take (contents, length);
  say_bytes (text, "pb", bytes);
}

static void
say_outputs (GString *text, const Graph *graph, const char *path)
{
  for (guint i = 0; i < graph->outputs->len; i++)
    {
      const IrTensor *tensor = graph->outputs->pdata[i];
      g_autoptr (GBytes) array = tensor != NULL && !ir_tensor_is_container (tensor)
                                     ? ir_npy_write (tensor, NULL)
                                     : NULL;

      say_bytes (text, "npy", array);
      if (tensor != NULL &&
          (i == 0 || ir_tensor_is_container (tensor))) /* each takes time to reach the disk */
        say_value (text, tensor, path);
    }
}

static char *
say (gconstpointer data, guint *n_tried, guint *n_taken)
{
  GString *text = g_string_new (NULL);
  g_autofree char *folder = test_folder (), *path = g_build_filename (folder, "value.pb", NULL);

  *n_tried = *n_taken = N_GRAPHS;
  for (guint32 seed = 1; seed <= N_GRAPHS; seed++)
    {
      g_auto (Graph) graph = { 0 };
      graph_init (&graph, seed, data);
      say_model (text, graph.model);
      say_read (text, graph.model);
      say_outputs (text, &graph, path);
    }
  test_remove_folder (folder);
  return g_string_free (text, FALSE);
}

static gboolean
has_trials (const IrOp *op)
{
  return op->start == NULL && (op->flags & IR_OP_SUBGRAPHS) == 0 && op->tokens == IR_TOKENS_STRICT;
}

/* Sequences, optionals and maps that operators take */
static char *
say_containers (gconstpointer data, guint *n_tried, guint *n_taken)
{
  GString *text = g_string_new (NULL);
  g_autofree char *folder = test_folder (), *path = g_build_filename (folder, "value.pb", NULL);

  *n_tried = *n_taken = 0;
  for (guint id = 1; id < ir_op_n (); id++)
    for (guint32 seed = 0; has_trials (ir_op_by_id ((IrOpId) id)) && seed < 3; seed++)
      {
        g_auto (Trial) trial = { 0 };
        trial_init (&trial, ir_op_by_id ((IrOpId) id), seed, 4);
        ++*n_tried;
        for (guint i = 0; i < trial.n; i++)
          if (trial.tensors[i] != NULL && ir_tensor_is_container (trial.tensors[i]))
            {
              say_value (text, trial.tensors[i], path);
              ++*n_taken;
            }
      }
  test_remove_folder (folder);
  return g_string_free (text, FALSE);
}

int
main (int argc, char **argv)
{
  guint n;
  const GraphFamily *families = graph_families (&n);

  for (guint i = 0; i < n; i++)
    snapshot_add (families[i].name, say, &families[i]);
  snapshot_add ("containers", say_containers, NULL);
  return snapshot_run (argc, argv, "files.txt");
}
