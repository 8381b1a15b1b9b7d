/* The views' own models, and the text view's way from a text to a step, in a real window. */
#include "config.h"

#include "core/io/io.h"
#include "core/ir/dump.h"
#include "tests/gui/driving.h"
#include "tests/gui/waiting.h"
#include "views/chart-strip.h"
#include "views/graph/canvas.h"
#include "views/nodes/node-list.h"
#include "views/properties/editing.h"
#include "views/session/file.h"
#include "views/session/frame.h"
#include "views/session/records.h"
#include "views/session/debug.h"
#include "views/session/run-control.h"
#include "views/session/runs.h"
#include "views/session/selection.h"
#include "views/session/timeline.h"
#include "views/steps/step-list.h"
#include "views/tensor/element-list.h"
#include "views/tensor/tensor-facts.h"
#include "views/tensor/tensor-plot.h"
#include "views/view.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

/* -- waiting -- */

/* -- a view in a window -- */

typedef struct
{
  IrSession *session;
  GtkWidget *window, *view;
} Fixture;

static void
open_view (Fixture *fixture, const char *id, const char *file)
{
  fixture->session = ir_session_new ();
  fixture->view = GTK_WIDGET (ir_view_info_create (ir_view_find (id), fixture->session));
  fixture->window = gtk_window_new ();
  gtk_window_set_default_size (GTK_WINDOW (fixture->window), 600, 500);
  gtk_window_set_child (GTK_WINDOW (fixture->window), fixture->view);
  gtk_window_present (GTK_WINDOW (fixture->window));
  gtk_test_widget_wait_for_draw (fixture->window);
  if (file == NULL)
    ir_session_new_model (fixture->session);
  else
    {
      g_autofree char *path = g_build_filename (IR_SOURCE_DATADIR, "examples", file, NULL);

      ir_session_open (fixture->session, path);
    }
  wait_for ("the model", is_open_and_idle, fixture->session);
  settle (100);
}

static void
close_view (Fixture *fixture)
{
  gtk_window_destroy (GTK_WINDOW (fixture->window));
  g_object_unref (fixture->session);
  while (g_main_context_iteration (NULL, FALSE))
    ;
}

/* -- text -- */

static GtkTextBuffer *
text_buffer (Fixture *fixture)
{
  return gtk_text_view_get_buffer (GTK_TEXT_VIEW (find_widget (fixture->view, GTK_TYPE_TEXT_VIEW)));
}

static char *
view_text (Fixture *fixture)
{
  GtkTextIter start, end;

  gtk_text_buffer_get_bounds (text_buffer (fixture), &start, &end);
  return gtk_text_buffer_get_text (text_buffer (fixture), &start, &end, TRUE);
}

/* As typing does: gtk_text_buffer_set_text() does not count as a modification. */
static void
set_text (Fixture *fixture, const char *text)
{
  GtkTextIter start, end;

  gtk_text_buffer_get_bounds (text_buffer (fixture), &start, &end);
  gtk_text_buffer_begin_user_action (text_buffer (fixture));
  gtk_text_buffer_delete (text_buffer (fixture), &start, &end);
  gtk_text_buffer_insert_at_cursor (text_buffer (fixture), text, -1);
  gtk_text_buffer_end_user_action (text_buffer (fixture));
}

static void
replace_text (Fixture *fixture, const char *from, const char *to)
{
  g_autofree char *text = view_text (fixture), *changed = NULL;
  char *at = strstr (text, from);

  g_assert_nonnull (at);
  changed = g_strdup_printf ("%.*s%s%s", (int) (at - text), text, to, at + strlen (from));
  set_text (fixture, changed);
}

static gboolean
has_read (gpointer data)
{
  return !is_shown (data, "Reading the text");
}

static void
apply (Fixture *fixture)
{
  g_assert_true (gtk_widget_activate_action (fixture->view, "text.apply", NULL));
  wait_for ("the text", has_read, fixture->view);
  wait_for ("the edit", is_idle, fixture->session);
  settle (200);
}

static char *
dump (Fixture *fixture)
{
  return ir_model_dump (ir_session_get_frame (fixture->session)->model);
}

static void
test_apply (void)
{
  Fixture fixture;
  g_autofree char *before = NULL, *after = NULL, *undone = NULL, *text = NULL;

  open_view (&fixture, "text", "worked-example.onnx");
  before = dump (&fixture);
  replace_text (&fixture, "Sin (x2)", "Cos (x2)");
  apply (&fixture);
  g_assert_cmpuint (ir_session_get_n_steps (fixture.session), ==, 1);
  g_assert_false (gtk_text_buffer_get_modified (text_buffer (&fixture)));
  after = dump (&fixture);
  g_assert_cmpstr (after, !=, before);
  text = view_text (&fixture);
  g_assert_nonnull (strstr (text, "Cos (x2)"));

  ir_session_goto (fixture.session, 0);
  wait_for ("the original", is_idle, fixture.session);
  settle (100);
  undone = dump (&fixture);
  g_assert_cmpstr (undone, ==, before);
  g_free (text);
  text = view_text (&fixture);
  g_assert_nonnull (strstr (text, "Sin (x2)"));
  close_view (&fixture);
}

static char *
selected_text (Fixture *fixture)
{
  GtkTextIter start, end;

  if (!gtk_text_buffer_get_selection_bounds (text_buffer (fixture), &start, &end))
    return NULL;
  return gtk_text_buffer_get_text (text_buffer (fixture), &start, &end, FALSE);
}

/* Where the keys of the graph's search are pressed in the text, its words are found. */
static void
test_find_in_text (void)
{
  Fixture fixture;
  g_autofree char *before = NULL, *after = NULL, *first = NULL, *again = NULL;
  GtkWidget *entry;

  open_view (&fixture, "text", "worked-example.onnx");
  before = view_text (&fixture);
  g_assert_true (gtk_widget_activate_action (fixture.view, "view.search", NULL));
  entry = find_widget (fixture.view, GTK_TYPE_SEARCH_ENTRY);
  g_assert_nonnull (entry);
  g_assert_true (
      gtk_widget_is_ancestor (gtk_window_get_focus (GTK_WINDOW (fixture.window)), entry));
  gtk_editable_set_text (GTK_EDITABLE (entry), "sin (");
  g_signal_emit_by_name (entry, "activate"); /* sooner than the entry tells what was typed */
  first = selected_text (&fixture);
  g_assert_cmpstr (first, ==, "sin ("); /* of the description */
  settle (400);
  g_assert_true (is_shown (fixture.view, "1 of 2"));
  g_assert_true (gtk_widget_activate_action (fixture.view, "view.next-hit", NULL));
  again = selected_text (&fixture);
  g_assert_cmpstr (again, ==, "Sin (");
  gtk_editable_set_text (GTK_EDITABLE (entry), "no such words");
  settle (400);
  g_assert_true (is_shown (fixture.view, "Nothing found"));
  g_signal_emit_by_name (entry, "stop-search");
  after = view_text (&fixture);
  g_assert_cmpstr (after, ==, before);
  g_assert_false (gtk_text_buffer_get_modified (text_buffer (&fixture)));
  close_view (&fixture);
}

/* Weights are out of sight until they are looked for, and are text all the same. */
static void
test_folded_weights (void)
{
  Fixture fixture;
  g_autofree char *seen = NULL, *all = NULL, *found = NULL;
  GtkTextIter start, end;
  GtkWidget *entry;

  open_view (&fixture, "text", "digits.onnx");
  gtk_text_buffer_get_bounds (text_buffer (&fixture), &start, &end);
  seen = gtk_text_buffer_get_text (text_buffer (&fixture), &start, &end, FALSE);
  all = gtk_text_buffer_get_text (text_buffer (&fixture), &start, &end, TRUE);
  g_assert_null (strstr (seen, "bn1.running_mean\" ="));
  g_assert_nonnull (strstr (all, "bn1.running_mean\" ="));
  g_assert_nonnull (strstr (seen, "/conv1/Conv"));
  replace_text (&fixture, "\n}", "\n  unused = Neg (image)\n}"); /* what is folded is not lost */
  apply (&fixture);
  g_assert_cmpuint (ir_session_get_n_steps (fixture.session), ==, 1);
  g_assert_nonnull (ir_graph_find_value (ir_session_get_frame (fixture.session)->model->main,
                                         "bn1.running_mean"));
  settle (300);
  g_assert_true (gtk_widget_activate_action (fixture.view, "view.search", NULL));
  entry = find_widget (fixture.view, GTK_TYPE_SEARCH_ENTRY);
  gtk_editable_set_text (GTK_EDITABLE (entry), "bn1.running_mean\" =");
  g_signal_emit_by_name (entry, "activate");
  gtk_text_buffer_get_bounds (text_buffer (&fixture), &start, &end);
  found = gtk_text_buffer_get_text (text_buffer (&fixture), &start, &end, FALSE);
  g_assert_nonnull (strstr (found, "bn1.running_mean\" ="));
  close_view (&fixture);
}

static void
test_apply_same (void)
{
  Fixture fixture;

  open_view (&fixture, "text", "digits.onnx");
  replace_text (&fixture, "\n", "\n\n"); /* tensors are left out of this text */
  apply (&fixture);
  g_assert_cmpuint (ir_session_get_n_steps (fixture.session), ==, 0);
  close_view (&fixture);
}

static void
test_apply_broken (void)
{
  Fixture fixture;
  g_autofree char *before = NULL, *after = NULL, *text = NULL;
  GtkTextIter iter;

  open_view (&fixture, "text", "worked-example.onnx");
  before = dump (&fixture);
  replace_text (&fixture, "Sin (x2)", "Sin (x2 ]");
  apply (&fixture);
  after = dump (&fixture);
  g_assert_cmpstr (after, ==, before);
  g_assert_cmpuint (ir_session_get_n_steps (fixture.session), ==, 0);
  g_assert_true (is_shown (fixture.view, "Line 12"));
  text = view_text (&fixture);
  gtk_text_buffer_get_iter_at_offset (text_buffer (&fixture), &iter,
                                      (int) (strstr (text, " ]") - text + 1));
  g_assert_true (gtk_text_iter_has_tag (
      &iter, gtk_text_tag_table_lookup (gtk_text_buffer_get_tag_table (text_buffer (&fixture)),
                                        "problem")));

  g_assert_true (gtk_widget_activate_action (fixture.view, "text.revert", NULL));
  settle (200);
  g_free (text);
  text = view_text (&fixture);
  g_assert_nonnull (strstr (text, "Sin (x2)"));
  g_assert_false (is_shown (fixture.view, "Line 10"));
  close_view (&fixture);
}

/* A graph that is written from nothing runs, though the original has none of its inputs. */
static void
test_write_new (void)
{
  Fixture fixture;
  g_autoptr (IrTensor) y = NULL;

  open_view (&fixture, "text", NULL);
  set_text (&fixture, "<ir_version: 8, opset_import: [\"\" : 17]>\n"
                      "g (float[2,3] x) => (float[2,3] y) { z = Relu (x) y = Add (z, x) }\n");
  apply (&fixture);
  g_assert_cmpuint (ir_session_get_n_steps (fixture.session), ==, 1);
  ir_session_run_graph (fixture.session);
  wait_for ("the run", is_idle, fixture.session);
  y = ir_session_dup_tensor (fixture.session,
                             ir_session_get_frame (fixture.session)->model->main->outputs->ids[0],
                             IR_SIDE_AFTER, NULL);
  g_assert_nonnull (y);
  g_assert_cmpuint (ir_tensor_n_elements (y), ==, 6);
  close_view (&fixture);
}

/* -- elements, planes, facts -- */

static IrTensor *
counting (IrDtype dtype, guint rank, const gint64 *dims)
{
  g_autoptr (IrTensor) flat = NULL;
  gint64 n = 1;

  for (guint i = 0; i < rank; i++)
    n *= dims[i];
  g_autofree float *data = g_new (float, MAX (n, 1));
  for (gint64 i = 0; i < n; i++)
    data[i] = (float) i;
  g_assert_cmpint (dtype, ==, IR_DTYPE_FLOAT);
  return ir_tensor_new_copy (dtype, rank, dims, data);
}

/* Of a long string a cell has the start. */
static void
test_strings (void)
{
  const gint64 n = 3;
  g_autofree char *many = g_strnfill (5000, 'x'), *start = g_strnfill (1024, 'x');
  g_autofree char *cut = g_strconcat (start, "\u2026 (5000 bytes)", NULL);
  GBytes *strings[] = { g_bytes_new (NULL, 0), g_bytes_new ("a\xff", 2), g_bytes_new (many, 5000) };
  const char *const texts[] = { "", "a\uFFFD", cut };
  g_autoptr (IrTensor) tensor = ir_tensor_new_strings (1, &n, strings);

  for (guint i = 0; i < n; i++)
    {
      g_autofree char *text = ir_tensor_element_text (tensor, i);
      g_assert_cmpstr (text, ==, texts[i]);
      g_bytes_unref (strings[i]);
    }
}

/* Of a tensor that is too long for a list, the part is listed that was asked for. */
/* Whoever follows a row that goes looks for it among those that come at the same time: ten millions. */
static void
on_elements (GListModel *list, guint position, guint removed, guint added, guint *told)
{
  g_assert_true (removed == 0 || added == 0);
  g_assert_cmpuint (g_list_model_get_n_items (list), ==, added);
  (*told)++;
}

static void
test_parts_of_elements (void)
{
  const gint64 dims[] = { 25000001 };
  g_autoptr (IrTensor) tensor = ir_tensor_new_alloc (IR_DTYPE_UINT8, 1, dims, NULL);
  g_autoptr (IrElementList) list = ir_element_list_new ();
  const guint64 asked[] = { 0, 25000000, 12345678, 9999999 };
  guint told = 0;

  g_signal_connect (list, "items-changed", G_CALLBACK (on_elements), &told);
  ((guint8 *) ir_tensor_data_writable (tensor))[25000000] = 7;
  ir_element_list_load (list, NULL, tensor);
  const guint n = g_list_model_get_n_items (G_LIST_MODEL (list));
  g_assert_cmpuint (n, <, 25000001);
  for (guint i = 0; i < G_N_ELEMENTS (asked); i++)
    {
      const guint row = ir_element_list_row (list, asked[i]);
      g_autofree char *wanted = g_strdup_printf ("[%" G_GUINT64_FORMAT "]", asked[i]);

      g_assert_cmpuint (row, <, n);
      g_assert_cmpuint (ir_element_list_first (list) + row, ==, asked[i]);
      g_assert_cmpuint (ir_element_list_first (list) + n, <=, 25000001);
      g_autoptr (IrElement) element = g_list_model_get_item (G_LIST_MODEL (list), row);
      g_autofree char *index = ir_element_index_text (element),
                      *text = ir_element_after_text (element);
      g_assert_cmpstr (index, ==, wanted);
      g_assert_cmpstr (text, ==, asked[i] == 25000000 ? "7" : "0");
    }
  ir_element_list_set_format (list, IR_NUMBER_BITS); /* the part stays */
  g_autoptr (IrElement)
      last = g_list_model_get_item (G_LIST_MODEL (list), ir_element_list_row (list, 25000000));
  g_autofree char *bits = ir_element_after_text (last);
  g_assert_cmpstr (bits, ==, "0x07");
  g_assert_cmpuint (told, >, 4);
}

static void
test_elements (void)
{
  const gint64 dims[] = { 2, 3, 4 };
  g_autoptr (IrTensor) tensor = counting (IR_DTYPE_FLOAT, 3, dims);
  g_autoptr (IrElementList) list = ir_element_list_new ();
  g_autoptr (IrElement) element = NULL;
  g_autofree char *index = NULL, *before = NULL, *after = NULL, *difference = NULL;
  guint64 flat;

  ir_element_list_load (list, NULL, tensor);
  g_assert_cmpuint (g_list_model_get_n_items (G_LIST_MODEL (list)), ==, 24);
  element = g_list_model_get_item (G_LIST_MODEL (list), 23);
  index = ir_element_index_text (element);
  before = ir_element_before_text (element);
  after = ir_element_after_text (element);
  difference = ir_element_difference_text (element);
  g_assert_cmpstr (index, ==, "[1, 2, 3]");
  g_assert_cmpstr (before, ==, "");
  g_assert_cmpstr (after, ==, "23");
  const float odd[] = { -NAN, INFINITY, -INFINITY, 0.1f };
  const char *const texts[] = { "NaN", "Inf", "-Inf", "0.100000001" };
  g_autoptr (IrTensor) odds = ir_tensor_new_copy (IR_DTYPE_FLOAT, 1, (const gint64[]){ 4 }, odd);
  for (guint i = 0; i < G_N_ELEMENTS (odd); i++)
    {
      g_autofree char *text = ir_tensor_element_text (odds, i);
      g_assert_cmpstr (text, ==, texts[i]);
    }
  g_assert_cmpstr (difference, ==, "");
  g_assert_null (g_list_model_get_item (G_LIST_MODEL (list), 24));
  g_assert_true (ir_tensor_index_parse (tensor, "1, 2, 3", &flat));
  g_assert_cmpuint (flat, ==, 23);
  g_assert_true (ir_tensor_index_parse (tensor, "[0 2 1]", &flat));
  g_assert_cmpuint (flat, ==, 9);
  g_assert_true (ir_tensor_index_parse (tensor, "17", &flat));
  g_assert_cmpuint (flat, ==, 17);
  g_assert_false (ir_tensor_index_parse (tensor, "24", &flat));
  g_assert_false (ir_tensor_index_parse (tensor, "2, 0, 0", &flat));
  g_assert_false (ir_tensor_index_parse (tensor, "0, 3, 0", &flat));
  g_assert_false (ir_tensor_index_parse (tensor, "1, 2", &flat));
  g_assert_false (ir_tensor_index_parse (tensor, "", &flat));
}

static void
assert_planes (guint rank, const gint64 *dims, guint64 n, guint64 last, const char *text)
{
  g_autoptr (IrTensor) tensor = ir_tensor_new_alloc (IR_DTYPE_FLOAT, rank, dims, NULL);
  IrTensorLayout layout;

  if (!ir_tensor_layout_init (&layout, tensor, "heat", NULL))
    {
      g_assert_cmpuint (n, ==, 0);
      return;
    }
  g_assert_cmpuint (ir_tensor_layout_n_planes (&layout, tensor), ==, n);
  ir_tensor_layout_set_plane (&layout, tensor, last);
  g_autofree char *is = ir_tensor_layout_text (&layout, tensor);
  g_assert_cmpstr (is, ==, text);
}

static void
test_planes (void)
{
  assert_planes (4, (const gint64[]){ 2, 3, 4, 5 }, 6, 5, "[1, 2, :, :]");
  assert_planes (2, (const gint64[]){ 4, 5 }, 1, 0, "[:, :]");
  assert_planes (1, (const gint64[]){ 5 }, 1, 0, "[:]");
  assert_planes (0, NULL, 1, 0, "[]");
  assert_planes (4, (const gint64[]){ 1, 7, 1, 1 }, 1, 0, "[0, :, 0, 0]");
  assert_planes (4, (const gint64[]){ 2, 3, 1, 1 }, 1, 0, "[:, :, 0, 0]");
  assert_planes (3, (const gint64[]){ 2, 0, 3 }, 0, 0, NULL);
}

static void
assert_difference (const float *before, const float *after, const char *text)
{
  const gint64 dims[] = { 2 };
  g_autoptr (IrTensor) a = ir_tensor_new_copy (IR_DTYPE_FLOAT, 1, dims, before),
                       b = ir_tensor_new_copy (IR_DTYPE_FLOAT, 1, dims, after);
  g_autofree char *said = NULL;
  IrDifference difference;

  ir_trial_difference (a, b, &difference);
  said = ir_difference_text (&difference);
  g_assert_cmpstr (said, ==, text);
}

/* Neither 8e14 of 1e21 nor twice of an element near 0 reads as a catastrophe. */
static void
test_difference_text (void)
{
  assert_difference ((const float[]){ 8e21f, 1e-9f }, (const float[]){ 8e21f + 8e15f, 2e-9f },
                     "off by 9.9e-07 of the largest value, at most 7.88e+15");
  assert_difference ((const float[]){ 4, -8 }, (const float[]){ 4, -6 },
                     "off by 0.25 of the largest value, at most 2");
  assert_difference ((const float[]){ 0, 0 }, (const float[]){ 0, 3 },
                     "off by at most 3, where all was 0");
  assert_difference ((const float[]){ 0, 1 }, (const float[]){ 0, 1 }, "the same numbers");
  assert_difference ((const float[]){ 0, 1 }, (const float[]){ 0, NAN },
                     "NaN or infinite on one side, or of another shape");
}

static void
test_facts (void)
{
  const float a[] = { 1, 2, NAN, INFINITY }, b[] = { 1, 2.5f, NAN, INFINITY }, c[] = { 1, 2, 3, 4 };
  const gint64 dims[] = { 4 }, square[] = { 2, 2 };
  g_autoptr (IrTensor) before = ir_tensor_new_copy (IR_DTYPE_FLOAT, 1, dims, a),
                       after = ir_tensor_new_copy (IR_DTYPE_FLOAT, 1, dims, b),
                       finite = ir_tensor_new_copy (IR_DTYPE_FLOAT, 1, dims, c),
                       other = ir_tensor_new_copy (IR_DTYPE_FLOAT, 2, square, c);
  g_autoptr (IrTensorFacts) near = ir_tensor_facts_new (before, after, NULL),
                            same = ir_tensor_facts_new (before, before, NULL),
                            nan = ir_tensor_facts_new (before, finite, NULL),
                            shape = ir_tensor_facts_new (finite, other, NULL),
                            none = ir_tensor_facts_new (NULL, finite, NULL);
  g_autofree char *warning = ir_tensor_facts_warning (near, IR_SIDE_BEFORE),
                  *no_warning = ir_tensor_facts_warning (none, IR_SIDE_AFTER);

  g_assert_cmpint (near->relation, ==, IR_TENSORS_DIFFER);
  g_assert_cmpuint (near->n_different, ==, 1);
  g_assert_cmpuint (near->worst, ==, 1);
  g_assert_cmpfloat (near->worst_difference, ==, 0.5);
  g_assert_cmpint (same->relation, ==, IR_TENSORS_EQUAL);
  g_assert_cmpint (nan->relation, ==, IR_TENSORS_NAN_DIFFERS);
  g_assert_cmpuint (nan->worst, ==, 2);
  g_assert_cmpint (shape->relation, ==, IR_TENSORS_SHAPES_DIFFER);
  g_assert_cmpint (none->relation, ==, IR_TENSORS_NOT_COMPARED);
  g_assert_nonnull (strstr (warning, "1 NaN, 1 +Inf, 0 −Inf"));
  g_assert_null (no_warning);
}

/* Every kind of contents has its text. */
static void
test_fact_texts (void)
{
  const gint64 empty[] = { 2, 0 }, two[] = { 2 };
  const gint64 numbers[] = { G_MININT64, G_MAXINT64 };
  const guint8 bools[] = { 1, 0 };
  GBytes *strings[] = { g_bytes_new_static ("a", 1), g_bytes_new_static ("\xff\xfe", 2) };
  g_autoptr (IrTensor) none = ir_tensor_new_copy (IR_DTYPE_FLOAT, 2, empty, ""),
                       ints = ir_tensor_new_copy (IR_DTYPE_INT64, 1, two, numbers),
                       bits = ir_tensor_new_copy (IR_DTYPE_BOOL, 1, two, bools),
                       words = ir_tensor_new_strings (1, two, strings),
                       scalar = ir_tensor_new_scalar (IR_DTYPE_FLOAT, 0.5);
  const struct
  {
    IrTensor *tensor;
    const char *has;
  } cases[] = {
    { none, "no elements" },    { ints, "-9223372036854775808,   9223372036854775807" },
    { bits, "true,   false" },  { words, "\"a\",   \"\uFFFD\uFFFD\"" },
    { scalar, "float[]\n0.5" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (IrTensorFacts) facts = ir_tensor_facts_new (NULL, cases[i].tensor, NULL);
      g_autofree char *text = ir_tensor_facts_text (facts, IR_SIDE_AFTER);

      if (strstr (text, cases[i].has) == NULL)
        g_error ("“%s” does not have “%s”", text, cases[i].has);
    }
  g_bytes_unref (strings[0]);
  g_bytes_unref (strings[1]);
}

static gboolean
shows_statistics (gpointer data)
{
  return is_shown (data, "mean");
}

static IrValueId
frame_output (const Fixture *fixture)
{
  return ir_graph_output (ir_session_get_frame (fixture->session)->model->main, 0)->id;
}

/* The tensor of a value before it was run, after, and in the optimized graph. */
static void
test_tensor_view (void)
{
  Fixture fixture;
  const IrFrame *frame;

  open_view (&fixture, "tensor", "digits.onnx");
  g_assert_true (is_shown (fixture.view, "No Value Selected"));
  frame = ir_session_get_frame (fixture.session);
  ir_session_select_value (fixture.session, frame->model->main->outputs->ids[0]);
  settle (200);
  g_assert_true (is_shown (fixture.view, "Run the graph"));
  ir_session_run_pipeline (fixture.session, NULL);
  wait_for ("the pipeline", is_idle, fixture.session);
  ir_session_run_graph (fixture.session);
  wait_for ("the run", is_idle, fixture.session);
  wait_for ("the statistics", shows_statistics, fixture.view);
  g_assert_true (is_shown (fixture.view, "differ, most by") || is_shown (fixture.view, "equal"));
  g_assert_true (is_shown (fixture.view, "[0, 0]"));
  ir_session_select_value (fixture.session, 0);
  settle (200);
  g_assert_true (is_shown (fixture.view, "Select a node in the graph"));
  g_assert_true (is_shown (fixture.view, "Show the Output"));
  gtk_widget_activate_action (GTK_WIDGET (fixture.view), "tensor.show-output", NULL);
  settle (200);
  g_assert_cmpuint (ir_session_get_selected_value (fixture.session), ==, frame_output (&fixture));
  close_view (&fixture);
}

static GtkWidget *
find_toggle (GtkWidget *root, const char *label)
{
  if (GTK_IS_TOGGLE_BUTTON (root) &&
      g_strcmp0 (gtk_button_get_label (GTK_BUTTON (root)), label) == 0)
    return root;
  for (GtkWidget *child = gtk_widget_get_first_child (root); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    {
      GtkWidget *found = find_toggle (child, label);

      if (found != NULL)
        return found;
    }
  return NULL;
}

/* GTK warns, which ends the test, where a cursor blinks in what cannot be written in. */
static void
test_budget_gives_focus_back (void)
{
  Fixture fixture;
  GtkWidget *entry, *none;

  open_view (&fixture, "memory", "digits.onnx");
  settle (200);
  entry = find_widget (fixture.view, GTK_TYPE_ENTRY);
  none = find_toggle (fixture.view, "No budget");
  gtk_toggle_button_set_active (GTK_TOGGLE_BUTTON (find_toggle (fixture.view, "Under a budget")),
                                TRUE);
  settle (200);
  g_assert_true (gtk_widget_grab_focus (entry));
  gtk_toggle_button_set_active (GTK_TOGGLE_BUTTON (none), TRUE);
  g_assert_true (gtk_window_get_focus (GTK_WINDOW (fixture.window)) == none);
  settle (1500);
  close_view (&fixture);
}

/* A chain whose values are all needed again, in the opposite order: to plan it takes a while. */
static char *
write_chain (guint n)
{
  GString *text = g_string_new ("<ir_version: 8, opset_import: [\"\" : 17]>\n"
                                "long (float[64,64] x) => (float[64,64] y)\n{\n  v0 = Exp (x)\n");
  g_autofree char *path = g_build_filename (g_get_user_config_dir (), "chain.onnxtxt", NULL);

  for (guint i = 1; i < n; i++)
    g_string_append_printf (text, "  v%u = Tanh (v%u)\n", i, i - 1);
  for (guint i = n - 1; i-- > 0;)
    g_string_append_printf (text, "  w%u = Add (%c%u, v%u)\n", i, i < n - 2 ? 'w' : 'v', i + 1, i);
  g_string_append (text, "  y = Identity (w0)\n}\n");
  g_assert_true (g_file_set_contents (path, text->str, -1, NULL));
  g_string_free (text, TRUE);
  return g_steal_pointer (&path);
}

typedef struct
{
  GtkWidget *view;
  const char *text;
} Waited;

static gboolean
is_said (gpointer data)
{
  const Waited *waited = data;

  return is_shown (waited->view, waited->text);
}

/* Two plans: nothing is compared where the graph is not; else sums of both, and values that are gone or new. */
static void
test_compared_plans (void)
{
  Fixture fixture;
  GtkWidget *other;

  open_view (&fixture, "memory", "digits.onnx");
  settle (200);
  gtk_toggle_button_set_active (GTK_TOGGLE_BUTTON (find_toggle (fixture.view, "Compared")), TRUE);
  wait_for ("that nothing is", is_said, &(Waited){ fixture.view, "Nothing is compared" });
  ir_session_run_pipeline (fixture.session, NULL);
  wait_for ("the pipeline", is_idle, fixture.session);
  ir_session_set_compare (fixture.session, IR_COMPARE_ORIGINAL);
  wait_for ("what is gone", is_said, &(Waited){ fixture.view, "gone: " });
  g_assert_true (is_shown (fixture.view, "Without reuse: "));
  other = find_toggle (fixture.view, "Before");
  gtk_toggle_button_set_active (GTK_TOGGLE_BUTTON (other), TRUE);
  wait_for ("the other plan", is_said, &(Waited){ fixture.view, "gone: " });
  gtk_toggle_button_set_active (GTK_TOGGLE_BUTTON (find_toggle (fixture.view, "No budget")), TRUE);
  settle (200);
  g_assert_false (gtk_widget_get_mapped (other));
  close_view (&fixture);
}

static void
wait_until_said (Fixture *fixture, const char *text)
{
  wait_for (text, is_said, &(Waited){ fixture->view, text });
}

static void
test_plan_cancelled (void)
{
  Fixture fixture;
  g_autofree char *path = write_chain (3000);
  GtkWidget *entry;

  open_view (&fixture, "memory", "worked-example.onnx");
  ir_session_open (fixture.session, path);
  wait_for ("the chain", is_open_and_idle, fixture.session);
  wait_until_said (&fixture, "The plan that a run would follow");
  gtk_toggle_button_set_active (GTK_TOGGLE_BUTTON (find_toggle (fixture.view, "Under a budget")),
                                TRUE);
  entry = find_widget (fixture.view, GTK_TYPE_ENTRY);
  gtk_editable_set_text (GTK_EDITABLE (entry), "20%");
  g_signal_emit_by_name (entry, "activate");
  wait_until_said (&fixture, "Looking for what to compute again");
  g_signal_emit_by_name (
      gtk_widget_get_ancestor (find_label (fixture.view, "Cancel"), GTK_TYPE_BUTTON), "clicked");
  wait_until_said (&fixture, "This was cancelled.");
  gtk_toggle_button_set_active (GTK_TOGGLE_BUTTON (find_toggle (fixture.view, "No budget")), TRUE);
  wait_until_said (&fixture, "The plan that a run would follow");
  g_assert_false (is_shown (fixture.view, "This was cancelled."));
  g_assert_cmpint (g_unlink (path), ==, 0);
  close_view (&fixture);
}

/* Return is pressed sooner than the entry tells what was typed, and than the frame is there. */
static void
test_find_node (void)
{
  Fixture fixture;
  GtkWidget *entry;
  IrNodeId first;

  open_view (&fixture, "graph", "digits.onnx");
  gtk_widget_activate_action (fixture.view, "view.search", NULL);
  entry = find_widget (fixture.view, GTK_TYPE_SEARCH_ENTRY);
  gtk_editable_set_text (GTK_EDITABLE (entry), "block/relu2");
  g_signal_emit_by_name (entry, "activate");
  first = ir_session_get_selected_node (fixture.session);
  g_assert_cmpuint (first, !=, 0);
  settle (300);
  g_assert_cmpuint (ir_session_get_selected_node (fixture.session), ==, first);
  ir_session_run_pipeline (fixture.session, NULL);
  wait_for ("the pipeline", is_idle, fixture.session);
  g_assert_cmpuint (ir_session_get_selected_node (fixture.session), ==, 0); /* it was fused */
  ir_session_goto (fixture.session, 0);
  gtk_widget_activate_action (fixture.view, "view.search", NULL);
  gtk_editable_set_text (GTK_EDITABLE (entry), "block/relu2");
  g_signal_emit_by_name (entry, "activate");
  wait_for ("the original", is_idle, fixture.session);
  settle (100);
  g_assert_cmpuint (ir_session_get_selected_node (fixture.session), ==, first);
  close_view (&fixture);
}

/* Else keys of the window would go to whatever is in front. */
static void
test_menu_gives_focus_back (void)
{
  Fixture fixture;
  g_autoptr (GMenu) model = g_menu_new ();
  GtkWidget *list, *menu;

  open_view (&fixture, "steps", "digits.onnx");
  ir_session_run_pipeline (fixture.session, NULL);
  wait_for ("the pipeline", is_idle, fixture.session);
  settle (200);
  list = find_widget (fixture.view, GTK_TYPE_LIST_VIEW);
  menu = find_widget (fixture.view, GTK_TYPE_POPOVER_MENU);
  g_assert_nonnull (list);
  g_assert_nonnull (menu);
  g_menu_append (model, "Prove This Step", "steps.prove");
  gtk_popover_menu_set_menu_model (GTK_POPOVER_MENU (menu), G_MENU_MODEL (model));
  gtk_popover_popup (GTK_POPOVER (menu));
  settle (300);
  gtk_popover_popdown (GTK_POPOVER (menu));
  settle (300);
  g_assert_nonnull (gtk_window_get_focus (GTK_WINDOW (fixture.window)));
  g_assert_true (gtk_window_get_focus (GTK_WINDOW (fixture.window)) == list ||
                 gtk_widget_is_ancestor (gtk_window_get_focus (GTK_WINDOW (fixture.window)), list));
  close_view (&fixture);
}

static GtkGestureClick *
find_click (GtkWidget *widget, guint button)
{
  g_autoptr (GListModel) all = gtk_widget_observe_controllers (widget);

  for (guint i = 0; i < g_list_model_get_n_items (all); i++)
    {
      g_autoptr (GObject) controller = g_list_model_get_item (all, i);

      if (GTK_IS_GESTURE_CLICK (controller) &&
          gtk_gesture_single_get_button (GTK_GESTURE_SINGLE (controller)) == button)
        return GTK_GESTURE_CLICK (controller);
    }
  g_error ("no such gesture");
}

/* A row that was pressed for the menu, whose release the menu takes, is not pressed any more. */
static void
test_menu_releases_row (void)
{
  Fixture fixture;
  GtkWidget *list, *row;

  open_view (&fixture, "steps", "digits.onnx");
  ir_session_run_pipeline (fixture.session, NULL);
  wait_for ("the pipeline", is_idle, fixture.session);
  settle (200);
  list = find_widget (fixture.view, GTK_TYPE_LIST_VIEW);
  row = gtk_widget_pick (list, 40, 60, GTK_PICK_DEFAULT);
  g_assert_true (row != NULL && row != list);
  for (GtkWidget *widget = row; widget != NULL; widget = gtk_widget_get_parent (widget))
    gtk_widget_set_state_flags (widget, GTK_STATE_FLAG_ACTIVE, FALSE); /* as GTK does on a press */
  g_signal_emit_by_name (find_click (list, GDK_BUTTON_SECONDARY), "pressed", 1, 40.0, 60.0);
  settle (200);
  g_assert_true (gtk_widget_get_visible (find_widget (fixture.view, GTK_TYPE_POPOVER_MENU)));
  for (GtkWidget *widget = row; widget != NULL; widget = gtk_widget_get_parent (widget))
    g_assert_cmpuint (gtk_widget_get_state_flags (widget) & GTK_STATE_FLAG_ACTIVE, ==, 0);
  /* The toolkit asks for the pointer above a menu that is shown, which is late for a closed window. */
  gtk_popover_popdown (GTK_POPOVER (find_widget (fixture.view, GTK_TYPE_POPOVER_MENU)));
  settle (600);
  close_view (&fixture);
}

/* -- steps -- */

static IrStepRowKind
kind_at (IrStepList *list, guint position)
{
  g_autoptr (IrStepRow) row = g_list_model_get_item (G_LIST_MODEL (list), position);

  return ir_step_row_get_kind (row);
}

/* The passes that did nothing are counted in one row, and named in as many when it is opened. */
static void
check_idle (IrStepList *list)
{
  const guint n = g_list_model_get_n_items (G_LIST_MODEL (list)),
              n_idle = ir_step_list_get_summary (list)->idle->len;

  g_assert_cmpint (kind_at (list, n - 1), ==, IR_STEP_ROW_IDLE);
  g_assert_cmpuint (n_idle, >, 1);
  ir_step_list_set_open (list, n - 1, TRUE);
  g_assert_cmpuint (g_list_model_get_n_items (G_LIST_MODEL (list)), ==, n + n_idle);
  ir_step_list_set_open (list, n - 1, FALSE);
  g_assert_cmpuint (g_list_model_get_n_items (G_LIST_MODEL (list)), ==, n);
}

typedef struct
{
  guint position, removed, added, n;
} Told;

static void
on_told (GListModel *list, guint position, guint removed, guint added, Told *told)
{
  *told = (Told){ position, removed, added, told->n + 1 };
}

/* The steps of a closed card are represented by it; only its rows come and go. */
static void
check_folding (IrStepList *list, IrModel *history)
{
  Told told = { 0 };
  guint position, n, n_all;

  ir_step_list_load (list, history, NULL);
  n_all = g_list_model_get_n_items (G_LIST_MODEL (list));
  position = ir_step_list_position (list, 1) - 1;
  g_assert_cmpint (kind_at (list, position), ==, IR_STEP_ROW_PASS);
  g_assert_true (ir_step_list_is_open (list, position));
  for (n = 0; kind_at (list, position + 1 + n) == IR_STEP_ROW_STEP;)
    n++;
  g_signal_connect (list, "items-changed", G_CALLBACK (on_told), &told);
  ir_step_list_set_open (list, position, FALSE);
  g_assert_cmpuint (told.n, ==, 1);
  g_assert_cmpuint (told.position, ==, position);
  g_assert_cmpuint (told.removed, ==, n + 1);
  g_assert_cmpuint (told.added, ==, 1);
  g_assert_cmpuint (ir_step_list_position (list, 1), ==, position);
  g_assert_cmpuint (ir_step_list_position (list, n), ==, position);
  g_assert_cmpuint (ir_step_list_position (list, n + 1), ==, position + 2);
  g_assert_cmpuint (ir_step_list_card_position (list, n), ==, position);
  /* it stays closed when the history is loaded again, because verdicts came in */
  ir_step_list_load (list, history, NULL);
  g_assert_cmpuint (ir_step_list_position (list, 1), ==, position);
  ir_step_list_set_open (list, position, TRUE);
  g_assert_cmpuint (g_list_model_get_n_items (G_LIST_MODEL (list)), ==, n_all);
  g_signal_handlers_disconnect_by_data (list, &told);
}

/* A hundred thousand steps of which most are alike: few rows, and each step has one. */
static void
test_many_steps (void)
{
  g_autoptr (IrStepList) list = ir_step_list_new ();
  g_autoptr (IrModel)
      model = ir_text_read ("<ir_version: 8, opset_import: [\"\" : 17]>\n"
                            "g (float[2] x) => (float[2] y) { a = Relu (x)  y = Neg (a) }",
                            -1, NULL, NULL);
  IrEdit *edit = ir_edit_new (model);
  const guint n = 100000;
  guint position;

  ir_edit_begin_pass (edit, "fold-constants");
  for (guint i = 0; i < n; i++)
    {
      ir_edit_begin_step (edit, i % 3 == 2 ? "other" : "fold", IR_CLASS_EXACT, 1 + i % 2);
      ir_edit_rename_node (edit, ir_model_live_node (model, 1 + i % 2), i % 4 < 2 ? "p" : "q");
      ir_edit_end_step (edit);
    }
  ir_edit_end_pass (edit);
  ir_edit_free (edit);
  g_assert_cmpuint (ir_history_n_steps (model), ==, n);

  ir_step_list_load (list, model, NULL);
  g_assert_cmpuint (g_list_model_get_n_items (G_LIST_MODEL (list)), ==, 1 + 1 + 4);
  position = ir_step_list_position (list, 77777);
  g_assert_cmpint (kind_at (list, position), ==, IR_STEP_ROW_GROUP);
  ir_step_list_set_open (list, position, TRUE);
  g_assert_cmpuint (g_list_model_get_n_items (G_LIST_MODEL (list)), >, n / 7);
  position = ir_step_list_position (list, 77777);
  g_assert_cmpint (kind_at (list, position), ==, IR_STEP_ROW_STEP);
  for (guint step = 0; step <= n; step += 997)
    g_assert_cmpuint (ir_step_list_position (list, step), !=, GTK_INVALID_LIST_POSITION);
}

/* Each card is found by the last step of its pass, whether that is listed or not. */
static void
check_cards (IrStepList *list)
{
  guint n = 0;

  for (guint i = 0; i < g_list_model_get_n_items (G_LIST_MODEL (list)); i++)
    {
      g_autoptr (IrStepRow) row = g_list_model_get_item (G_LIST_MODEL (list), i);
      if (ir_step_row_get_kind (row) != IR_STEP_ROW_PASS)
        continue;
      n++;
      g_assert_cmpuint (ir_step_list_card_position (list, ir_step_row_get_step (row)), ==, i);
    }
  g_assert_cmpuint (n, >, 0);
}

static void
test_step_list (void)
{
  Fixture fixture;
  g_autoptr (IrStepList) list = ir_step_list_new ();
  IrModel *history;
  guint n, n_all, position;

  open_view (&fixture, "steps", "digits.onnx");
  ir_session_run_pipeline (fixture.session, NULL);
  wait_for ("the pipeline", is_idle, fixture.session);
  history = ir_session_get_history (fixture.session);
  n = ir_session_get_n_steps (fixture.session);
  ir_step_list_load (list, history, NULL);
  n_all = g_list_model_get_n_items (G_LIST_MODEL (list));
  g_assert_cmpuint (ir_step_list_n_steps (list), ==, n);
  g_assert_cmpuint (n_all, >, n + 1); /* and headings, and the passes that did nothing */
  check_idle (list);
  check_cards (list);
  for (guint step = 0; step <= n; step++)
    {
      g_autoptr (IrStepRow)
          row = g_list_model_get_item (G_LIST_MODEL (list), ir_step_list_position (list, step));

      g_assert_cmpuint (ir_step_row_get_step (row), ==, step);
      g_assert_cmpint (ir_step_row_get_kind (row), !=, IR_STEP_ROW_PASS);
    }

  ir_step_list_load (list, history, "FOLD-conv bn");
  g_assert_cmpuint (ir_step_list_n_steps (list), >, 0);
  g_assert_cmpuint (ir_step_list_n_steps (list), <, n);
  for (guint step = 1; step <= n; step++)
    {
      position = ir_step_list_position (list, step);
      if (position != GTK_INVALID_LIST_POSITION)
        g_assert_nonnull (strstr (ir_history_step (history, step)->rule, "fold-conv"));
    }
  check_folding (list, history);
  check_cards (list);
  ir_step_list_load (list, history, "fold-conv /bn1"); /* not the last of that pass */
  check_cards (list);
  ir_step_list_load (list, history, "rounding"); /* a verdict */
  check_cards (list);
  g_assert_cmpuint (ir_step_list_n_steps (list), >, 0);
  for (guint step = 1; step <= n; step++)
    if (ir_step_list_position (list, step) != GTK_INVALID_LIST_POSITION)
      g_assert_cmpint (ir_history_step (history, step)->proof.verdict, ==, IR_VERDICT_ROUNDING);
  ir_step_list_load (list, history, "no such rule");
  g_assert_cmpuint (g_list_model_get_n_items (G_LIST_MODEL (list)), ==, 1);
  ir_step_list_load (list, NULL, NULL);
  g_assert_cmpuint (g_list_model_get_n_items (G_LIST_MODEL (list)), ==, 0);
  g_assert_true (is_shown (fixture.view, "Details"));
  g_assert_true (is_shown (fixture.view, "✓"));
  close_view (&fixture);
}

/* -- schedule and properties -- */

static gboolean
is_narrower (gpointer data)
{
  GtkWidget *const *widgets = data;

  return gtk_widget_get_width (widgets[0]) <= gtk_widget_get_width (widgets[1]);
}

static void
test_schedule (void)
{
  Fixture fixture;
  GtkWidget *area;

  open_view (&fixture, "schedule", "digits.onnx");
  area = find_widget (fixture.view, GTK_TYPE_DRAWING_AREA);
  g_assert_true (gtk_widget_get_mapped (area));
  g_assert_cmpint (gtk_widget_get_width (area), >, 100);
  g_assert_cmpint (gtk_widget_get_width (area), <=, gtk_widget_get_width (fixture.view));
  gtk_window_set_default_size (GTK_WINDOW (fixture.window), 900, 500);
  ir_session_run_graph (fixture.session);
  wait_for ("the run", is_idle, fixture.session);
  settle (300);
  g_assert_true (is_shown (fixture.view, "Measured"));
  GtkWidget *widgets[] = { area, fixture.view };
  wait_for ("the bars to fit the window", is_narrower, widgets);
  close_view (&fixture);
}

static gboolean
is_wider (gpointer data)
{
  GtkWidget *const *widgets = data;

  return !is_narrower ((gpointer) widgets);
}

/* M marks the time of the selected bar; a table says what lies in it, and the table of nodes has no others. */
static void
test_time_span (void)
{
  Fixture fixture;
  double from, to;

  open_view (&fixture, "schedule", "digits.onnx");
  ir_session_run_graph (fixture.session);
  wait_for ("the run", is_idle, fixture.session);
  settle (500);
  GtkWidget *area = find_widget (fixture.view, GTK_TYPE_DRAWING_AREA);
  const IrModel *model = ir_session_get_frame (fixture.session)->model;
  const IrNode *conv = NULL;
  guint n;
  IrNode *const *order = ir_graph_order (model->main, &n);
  for (guint i = 0; i < n && conv == NULL; i++)
    if (g_str_equal (order[i]->op_type, "Conv"))
      conv = order[i];
  ir_session_select_node (fixture.session, conv->id);
  g_assert_true (press_key (area, GDK_KEY_m));
  ir_session_get_time_span (fixture.session, &from, &to);
  g_assert_cmpfloat (from, >=, 0);
  g_assert_cmpfloat (to, >, from);
  const GtkBitset *nodes = ir_session_get_time_span_nodes (fixture.session);
  g_assert_true (gtk_bitset_contains (nodes, conv->id));
  g_assert_cmpuint (gtk_bitset_get_size (nodes), <, n);
  settle (50);
  g_assert_true (is_shown (fixture.view, "Conv"));
  g_autoptr (IrNodeList) list = ir_node_list_new ();
  ir_node_list_load (list, (IrModel *) model, "", nodes, NULL);
  g_assert_cmpuint (g_list_model_get_n_items (G_LIST_MODEL (list)), ==,
                    gtk_bitset_get_size (nodes));
  g_assert_true (press_key (area, GDK_KEY_Escape));
  g_assert_null (ir_session_get_time_span_nodes (fixture.session));
  g_assert_false (press_key (area, GDK_KEY_Escape));

  GtkWidget *widgets[] = { area, fixture.view };
  settle (300);
  for (guint i = 0; i < 6; i++)
    {
      g_assert_true (press_key (area, GDK_KEY_w));
      settle (100);
    }
  wait_for ("wider bars", is_wider, widgets);
  settle (400);
  GtkScrolledWindow *scroller = GTK_SCROLLED_WINDOW (
      gtk_widget_get_ancestor (area, GTK_TYPE_SCROLLED_WINDOW));
  GtkAdjustment *across = gtk_scrolled_window_get_hadjustment (scroller);
  g_assert_cmpfloat (gtk_adjustment_get_value (across), >, 0); /* the middle stayed */
  const double before = gtk_adjustment_get_value (across);
  g_assert_true (press_key (area, GDK_KEY_d));
  g_assert_cmpfloat (gtk_adjustment_get_value (across), >, before);
  g_assert_true (press_key (area, GDK_KEY_a));
  g_assert_cmpfloat (fabs (gtk_adjustment_get_value (across) - before), <, 1);
  ir_session_run_graph (fixture.session); /* what is measured anew has other times */
  wait_for ("the run", is_idle, fixture.session);
  g_assert_null (ir_session_get_time_span_nodes (fixture.session));
  close_view (&fixture);
}

/* Down goes to the next thing that an allocator would be asked for, Up back. */
static void
test_events (void)
{
  Fixture fixture;

  open_view (&fixture, "memory", "digits.onnx");
  ir_session_run_graph (fixture.session);
  wait_for ("the run", is_idle, fixture.session);
  settle (500);
  GtkWidget *area = find_widget (fixture.view, GTK_TYPE_DRAWING_AREA);
  const IrRun *run = ir_session_get_run (fixture.session, IR_SIDE_AFTER);
  g_autoptr (GArray) events = ir_mem_plan_events (run->memplan);
  g_assert_cmpuint (events->len, >, 4);
  for (guint i = 0; i < 4; i++)
    {
      const IrMemEvent *event = &g_array_index (events, IrMemEvent, i);
      g_autofree char *text = g_strdup_printf ("Event %u of %u, before step %u: %s", i + 1,
                                               events->len, event->step,
                                               event->allocates ? "allocates" : "frees");
      g_assert_true (press_key (area, GDK_KEY_Down));
      g_assert_true (is_shown (fixture.view, text));
      g_assert_cmpuint (ir_session_get_selected_value (fixture.session), ==, event->value);
    }
  g_assert_true (press_key (area, GDK_KEY_Up));
  g_assert_true (is_shown (fixture.view, "Event 3 of"));
  for (guint i = 0; i < 5; i++)
    press_key (area, GDK_KEY_Up); /* not before the first */
  g_assert_true (is_shown (fixture.view, "Event 1 of"));
  close_view (&fixture);
}

/* What makes a value that another view points at is marked in the graph, and what reads it. */
static void
test_hovered_value (void)
{
  Fixture fixture;
  guint n;

  open_view (&fixture, "graph", "digits.onnx");
  settle (300);
  IrCanvas *canvas = IR_CANVAS (find_widget (fixture.view, IR_TYPE_CANVAS));
  IrNode *const *order = ir_graph_order (ir_session_get_frame (fixture.session)->model->main, &n);
  const IrNode *conv = NULL;
  for (guint i = 0; i < n && conv == NULL; i++)
    if (g_str_equal (order[i]->op_type, "Conv"))
      conv = order[i];
  g_assert_cmpuint (ir_canvas_n_hovered (canvas), ==, 0);
  ir_session_set_hover_value (fixture.session, conv->id, conv->outputs[0]->id);
  g_assert_cmpuint (ir_canvas_n_hovered (canvas), ==, 1 + conv->outputs[0]->n_uses);
  ir_session_set_hover (fixture.session, conv->id);
  g_assert_cmpuint (ir_canvas_n_hovered (canvas), ==, 1);
  ir_session_set_hover (fixture.session, 0);
  g_assert_cmpuint (ir_canvas_n_hovered (canvas), ==, 0);
  close_view (&fixture);
}

static cairo_surface_t *
strip_at (IrChartStrip *strip, IrScene *scene, const GdkRectangle *seen)
{
  cairo_surface_t *surface = cairo_image_surface_create (CAIRO_FORMAT_ARGB32, seen->width,
                                                         seen->height);
  cairo_t *cr = cairo_create (surface);

  cairo_translate (cr, -seen->x, -seen->y);
  ir_chart_strip_draw (strip, scene, ir_palette (IR_PALETTE_LIGHT), seen, 1, cr);
  cairo_destroy (cr);
  cairo_surface_flush (surface);
  return surface;
}

static int
most_apart (cairo_surface_t *a, cairo_surface_t *b)
{
  const guchar *x = cairo_image_surface_get_data (a), *y = cairo_image_surface_get_data (b);
  const int n = cairo_image_surface_get_stride (a) * cairo_image_surface_get_height (a);
  int most = 0;

  for (int i = 0; i < n; i++)
    most = MAX (most, abs (x[i] - y[i]));
  return most;
}

/* What was moved and completed has the pixels of what is painted anew, but for how edges are rounded that a column cuts. */
static void
test_strip (void)
{
  static const int places[] = { 0, 13, 60, 55, 41, 390, 391, 0 };
  IrChartStrip moved = { 0 };
  Fixture fixture;
  IrScene *scene;

  open_view (&fixture, "graph", "digits.onnx");
  scene = ir_session_get_frame (fixture.session)->scene;
  for (guint i = 0; i < G_N_ELEMENTS (places); i++)
    {
      const GdkRectangle seen = { places[i], 300, 220, 400 };
      IrChartStrip fresh = { 0 };
      cairo_surface_t *a = strip_at (&moved, scene, &seen), *b = strip_at (&fresh, scene, &seen);

      g_assert_cmpint (most_apart (a, b), <=, 4);
      cairo_surface_destroy (a);
      cairo_surface_destroy (b);
      ir_chart_strip_clear (&fresh);
    }
  ir_chart_strip_clear (&moved);
  close_view (&fixture);
}

static gboolean
stands (gpointer session)
{
  return ir_session_get_standing (session) != NULL;
}

static gboolean
is_before_node (gpointer session)
{
  return stands (session) && ir_session_get_standing (session)->node != 0;
}

static gboolean
is_judged (gpointer session)
{
  return ir_session_get_run_hits (session) != NULL;
}

#define ENTRY "entry nan, max>6, dead>25%, op:softmax …\nExamples\nAdd\n"

/* All that it shows: before, at a breakpoint, and of what the run has kept. */
static void
test_run_view (void)
{
  Fixture fixture;

  open_view (&fixture, "run", "worked-example.onnx");
  assert_shown (fixture.view, "Step\n-Over\n-Round\n-To Selected\nContinue\n-End\n-Pause\n"
                              "Step begins a run that stops before its first node\n" ENTRY);
  g_assert_true (ir_session_add_run_break (fixture.session, "op:mul", NULL));
  g_assert_true (ir_session_add_run_break (fixture.session, "max>1.5", NULL));
  ir_session_drive (fixture.session, (IrRunCommand){ .move = IR_RUN_CONTINUE });
  wait_for ("the input", stands, fixture.session);
  assert_shown (fixture.view,
                "Step\nOver\nRound\n-To Selected\nContinue\nEnd\n-Pause\n"
                "Stands at the beginning, 0 of 5 nodes done; max>1.5: x1: max is 2\n" ENTRY
                "op:mul\nbutton Remove\n● max>1.5\nbutton Remove\n");
  ir_session_drive (fixture.session, (IrRunCommand){ .move = IR_RUN_CONTINUE });
  wait_for ("the next breakpoint", is_before_node, fixture.session);
  assert_shown (fixture.view, "Step\nOver\nRound\nTo Selected\nContinue\nEnd\n-Pause\n"
                              "Stands before product (Mul), 1 of 5 nodes done; op:mul\n" ENTRY
                              "● op:mul\nbutton Remove\nmax>1.5\nbutton Remove\n");
  ir_session_drive (fixture.session, (IrRunCommand){ .move = IR_RUN_STOP });
  wait_for ("the end of the run", is_idle, fixture.session);
  ir_session_remove_run_break (fixture.session, 0);
  ir_session_run_graph (fixture.session);
  wait_for ("the run", is_idle, fixture.session);
  wait_for ("what was watched for", is_judged, fixture.session);
  assert_shown (fixture.view,
                "Step\n-Over\n-Round\nTo Selected\nContinue\n-End\n-Pause\n"
                "The last run is of the graph on screen\n" ENTRY "max>1.5\nbutton Remove\n"
                "They hold of 3 values that the run has kept\nv2: max is 10\nv4: max is 10.6931\n"
                "f: max is 11.6521\n");
  close_view (&fixture);
}

/* Steps that were stopped at, one that is left out, and a text that is none. */
static void
test_breakpoints_view (void)
{
  Fixture fixture;
  GtkWidget *entry;

  open_view (&fixture, "breakpoints", "digits.onnx");
  assert_shown (fixture.view,
                "entry rule=fold-*, op=Conv, nodes<50 …\nExamples\n-Add\n-Run Back\n-Run On\n"
                "No breakpoints yet. F9 runs to the next one, Shift+F9 back.\n");
  entry = find_widget (fixture.view, GTK_TYPE_ENTRY);
  gtk_editable_set_text (GTK_EDITABLE (entry), "rule=");
  g_signal_emit_by_name (entry, "activate");
  assert_shown (fixture.view, "entry rule=\nExamples\n-Add\n-Run Back\n-Run On\n"
                              "a name must follow “=”\n"
                              "No breakpoints yet. F9 runs to the next one, Shift+F9 back.\n");
  gtk_editable_set_text (GTK_EDITABLE (entry), "");
  g_assert_true (ir_session_add_breakpoint (fixture.session, "rule=fold-conv-bn", NULL));
  g_assert_true (ir_session_add_breakpoint (fixture.session, "op=Gemm", NULL));
  ir_session_switch_breakpoint (fixture.session, 1, FALSE);
  ir_session_run_pipeline (fixture.session, NULL);
  wait_for ("the pipeline", is_idle, fixture.session);
  ir_session_goto (fixture.session, 0);
  wait_for ("the original", is_idle, fixture.session);
  ir_session_run_to_breakpoint (fixture.session, TRUE);
  wait_for ("the breakpoint", is_idle, fixture.session);
  settle (200);
  assert_shown (
      fixture.view,
      "entry rule=fold-*, op=Conv, nodes<50 …\nExamples\n-Add\n-Run Back\n-Run On\n"
      "[x]\nrule=fold-conv-bn\n● stopped once\nbutton Remove\n[ ]\n-op=Gemm\nbutton Remove\n");
  close_view (&fixture);
}

/* All rows, those that a question leaves, a question that is none, and a row that is chosen. */
static void
test_nodes_view (void)
{
  Fixture fixture;
  GtkWidget *entry, *table;

  open_view (&fixture, "nodes", "worked-example.onnx");
  settle (200);
  assert_shown (fixture.view, "Filter: conv, shape:*,64,*,*, cost>1M\n5 nodes and constants\n"
                              "Operator\nName\nType\nShape\nInputs\n"
                              "Log\nln\nfloat\n[]\nx1\nMul\nproduct\nfloat\n[]\nx1, x2\n"
                              "Sin\nsine\nfloat\n[]\nx2\nAdd\nsum\nfloat\n[]\nv1, v2\n"
                              "Sub\ndifference\nfloat\n[]\nv4, v3\n");
  entry = find_widget (fixture.view, GTK_TYPE_SEARCH_ENTRY);
  gtk_editable_set_text (GTK_EDITABLE (entry), "op:mul");
  g_signal_emit_by_name (entry, "search-changed");
  settle (200);
  assert_shown (fixture.view, "1 of 5\nOperator\nName\nType\nShape\nInputs\n"
                              "Mul\nproduct\nfloat\n[]\nx1, x2\n");
  table = find_widget (fixture.view, GTK_TYPE_COLUMN_VIEW);
  gtk_single_selection_set_selected (
      GTK_SINGLE_SELECTION (gtk_column_view_get_model (GTK_COLUMN_VIEW (table))), 0);
  const IrNode *node = ir_model_live_node (ir_session_get_frame (fixture.session)->model,
                                           ir_session_get_selected_node (fixture.session));
  g_assert_cmpstr (node->op_type, ==, "Mul");
  gtk_editable_set_text (GTK_EDITABLE (entry), "has:none");
  g_signal_emit_by_name (entry, "search-changed");
  settle (200);
  g_assert_true (
      is_shown (fixture.view, "“has:none”: values can be asked for has:nan and has:inf"));
  close_view (&fixture);
}

static gboolean
has_scores (gpointer session)
{
  return ir_session_get_scoreboard (session) != NULL;
}

/* In each picture the line is lower where a step costs less. */
static void
test_scoreboard_view (void)
{
  Fixture fixture;

  open_view (&fixture, "scoreboard", "digits.onnx");
  assert_shown (fixture.view,
                "No Steps Yet\nRun a pipeline to see what each step saves.\n-Optimize\n");
  ir_session_run_pipeline (fixture.session, NULL);
  wait_for ("the pipeline", is_idle, fixture.session);
  wait_for ("the scores", has_scores, fixture.session);
  ir_session_goto (fixture.session, 3);
  wait_for ("the third step", is_idle, fixture.session);
  settle (200);
  assert_shown (fixture.view,
                "Nodes\n38\n-7 % · here −1\nFLOPs\n703.2 k\nBytes moved\n159.9 KiB\n-2 %\n"
                "Peak memory\n12.0 KiB\nTime not measured · no step made the graph dearer\n"
                "Measure Times\n-Next Rise\n");
  close_view (&fixture);
}

static void
test_properties (void)
{
  Fixture fixture;
  const IrFrame *frame;
  guint n;
  IrNode *const *order;

  open_view (&fixture, "properties", "digits.onnx");
  g_assert_true (is_shown (fixture.view, "digits.onnx"));
  ir_session_run_pipeline (fixture.session, NULL);
  wait_for ("the pipeline", is_idle, fixture.session);
  frame = ir_session_get_frame (fixture.session);
  order = ir_graph_order (frame->model->main, &n);
  for (guint i = 0; i < n; i++)
    {
      ir_session_select_node (fixture.session, order[i]->id);
      settle (20);
      g_assert_true (is_shown (fixture.view, order[i]->op_type));
    }
  close_view (&fixture);
}

/* Weights have no box of their own: they are changed where they are listed, once they are selected there. */
static void
test_properties_of_weights (void)
{
  Fixture fixture;
  IrNode *const *order;
  guint n, n_weights = 0;

  open_view (&fixture, "properties", "digits.onnx");
  order = ir_graph_order (ir_session_get_frame (fixture.session)->model->main, &n);
  for (guint i = 0; i < n; i++)
    for (guint k = 0; k < order[i]->n_inputs; k++)
      {
        const IrValue *value = order[i]->inputs[k];

        if (value == NULL || value->initializer == NULL)
          continue;
        ir_session_select_node (fixture.session, order[i]->id);
        settle (20);
        g_assert_false (is_shown (fixture.view, "Replace…"));
        ir_session_select_value (fixture.session, value->id);
        settle (20);
        g_assert_true (is_shown (fixture.view, "Replace…"));
        g_assert_false (is_shown (fixture.view, "Remove")); /* which would be the node */
        n_weights++;
      }
  g_assert_cmpuint (n_weights, >, 4);
  close_view (&fixture);
}

static void
test_attr_text (void)
{
  static const float values[] = { 0.001f, 1e-5f, 1.0f / 3, 16777217, 1e-45f, -0.0f, INFINITY };

  for (guint i = 0; i < G_N_ELEMENTS (values); i++)
    {
      float value = values[i];
      const IrAttr attr = { .kind = IR_ATTR_FLOAT, .n = 1, .floats = &value };
      g_autofree char *text = ir_editing_attr_text (&attr);

      g_assert_true ((float) g_ascii_strtod (text, NULL) == value);
      g_assert_cmpuint (strlen (text), <=, i < 2 ? 5 : 14);
    }
}

int
main (int argc, char **argv)
{
  start_window_tests (&argc, &argv);
  g_test_add_func ("/schedule/keys go along the axis of time and mark a range", test_time_span);
  g_test_add_func ("/memory/keys play what an allocator would be asked for", test_events);
  g_test_add_func ("/graph/marks what makes and reads a value that is pointed at",
                   test_hovered_value);
  g_test_add_func ("/text/Apply makes one step and going back restores the graph", test_apply);
  g_test_add_func ("/text/a text that says the same makes no step", test_apply_same);
  g_test_add_func ("/text/its words are found", test_find_in_text);
  g_test_add_func ("/text/weights are folded until they are found", test_folded_weights);
  g_test_add_func ("/text/a broken text is underlined and changes nothing", test_apply_broken);
  g_test_add_func ("/text/a graph written from nothing runs", test_write_new);
  g_test_add_func ("/tensor/elements have indices and values", test_elements);
  g_test_add_func ("/tensor/of too many elements a part is listed", test_parts_of_elements);
  g_test_add_func ("/tensor/long strings are cut in cells", test_strings);
  g_test_add_func ("/tensor/planes span the last two axes longer than one", test_planes);
  g_test_add_func ("/tensor/facts tell how two tensors differ", test_facts);
  g_test_add_func ("/tensor/every kind of contents has its text", test_fact_texts);
  g_test_add_func ("/tensor/the view says what to do, then shows statistics", test_tensor_view);
  g_test_add_func ("/steps/are listed under their passes and found by words", test_step_list);
  g_test_add_func ("/steps/a hundred thousand of them are few rows", test_many_steps);
  g_test_add_func ("/schedule/is as wide as its pane", test_schedule);
  g_test_add_func ("/chart/what is panned is moved", test_strip);
  g_test_add_func ("/run/what it shows", test_run_view);
  g_test_add_func ("/nodes/what it shows", test_nodes_view);
  g_test_add_func ("/breakpoints/what it shows", test_breakpoints_view);
  g_test_add_func ("/scoreboard/what it shows", test_scoreboard_view);
  g_test_add_func ("/properties/shows every node", test_properties);
  g_test_add_func ("/properties/weights are replaced where their reader lists them",
                   test_properties_of_weights);
  g_test_add_func ("/properties/numbers have the digits that they need", test_attr_text);
  g_test_add_func ("/records/a difference is told by its scale first", test_difference_text);
  g_test_add_func ("/memory/two plans are compared", test_compared_plans);
  g_test_add_func ("/memory/the budget gives the focus back", test_budget_gives_focus_back);
  g_test_add_func ("/memory/a plan that takes long is cancelled", test_plan_cancelled);
  g_test_add_func ("/graph/nodes are found at once", test_find_node);
  g_test_add_func ("/steps/a menu gives the focus back", test_menu_gives_focus_back);
  g_test_add_func ("/steps/the menu of a step leaves no row pressed", test_menu_releases_row);
  return run_window_tests ();
}
