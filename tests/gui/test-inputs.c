/* The dialog of the inputs in a real window under Xvfb: sizes, files, pictures and numbers. */
#include "config.h"

#include "app/gui/window.h"
#include "core/io/io.h"
#include "tests/gui/driving.h"
#include "tests/gui/waiting.h"
#include "views/session/debug.h"
#include "views/session/execution.h"
#include "views/session/frame.h"
#include "views/session/gradients.h"
#include "views/session/inputs.h"
#include "views/session/play.h"
#include "views/session/run-control.h"
#include "views/session/runs.h"
#include "views/session/selection.h"
#include "views/session/timeline.h"

#include <glib/gstdio.h>
#include <string.h>

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17]>\n"

typedef struct
{
  IrWindow *window;
  IrSession *session;
  char *dir;
} Fixture;

static void
set_up (Fixture *fixture, gconstpointer text)
{
  fixture->dir = g_dir_make_tmp ("irscope-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (fixture->dir, "graph.onnxtxt", NULL);
  g_autoptr (GFile) file = g_file_new_for_path (path);

  g_assert_true (g_file_set_contents (path, text, -1, NULL));
  fixture->window = ir_window_new (NULL);
  fixture->session = ir_window_get_session (fixture->window);
  gtk_window_present (GTK_WINDOW (fixture->window));
  gtk_test_widget_wait_for_draw (GTK_WIDGET (fixture->window));
  ir_window_open (fixture->window, file);
  wait_for ("the model", is_open_and_idle, fixture->session);
}

static void
tear_down (Fixture *fixture, gconstpointer text)
{
  gtk_window_destroy (GTK_WINDOW (fixture->window));
  g_free (fixture->dir);
  while (g_main_context_iteration (NULL, FALSE))
    ;
}

static GtkWidget *
open_dialog (Fixture *fixture)
{
  gtk_widget_activate_action (GTK_WIDGET (fixture->window), "win.inputs", NULL);
  GtkWidget *dialog = dialog_over (fixture->window);
  g_assert_nonnull (dialog);
  gtk_test_widget_wait_for_draw (dialog);
  return dialog;
}

typedef gboolean (*Match) (GtkWidget *widget, gconstpointer data);

static GtkWidget *
find_matching (GtkWidget *root, Match match, gconstpointer data)
{
  if (match (root, data))
    return root;
  for (GtkWidget *child = gtk_widget_get_first_child (root); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    {
      GtkWidget *found = find_matching (child, match, data);
      if (found != NULL)
        return found;
    }
  return NULL;
}

static gboolean
is_row (GtkWidget *widget, gconstpointer title)
{
  return ADW_IS_ACTION_ROW (widget) &&
         strcmp (adw_preferences_row_get_title (ADW_PREFERENCES_ROW (widget)), title) == 0;
}

static gboolean
is_label (GtkWidget *widget, gconstpointer part)
{
  return GTK_IS_LABEL (widget) && gtk_widget_get_mapped (widget) &&
         strstr (gtk_label_get_text (GTK_LABEL (widget)), part) != NULL;
}

static gboolean
is_spin (GtkWidget *widget, gconstpointer data)
{
  return GTK_IS_SPIN_BUTTON (widget);
}

static const char *
subtitle (GtkWidget *dialog, const char *title)
{
  GtkWidget *row = find_matching (dialog, is_row, title);

  g_assert_nonnull (row);
  return adw_action_row_get_subtitle (ADW_ACTION_ROW (row));
}

static void
set_spin (GtkWidget *dialog, const char *title, double value)
{
  GtkWidget *spin = find_matching (find_matching (dialog, is_row, title), is_spin, NULL);

  g_assert_nonnull (spin);
  gtk_spin_button_set_value (GTK_SPIN_BUTTON (spin), value);
}

static gboolean
has_run (gpointer session)
{
  return is_open_and_idle (session) && ir_session_get_run (session, IR_SIDE_AFTER) != NULL;
}

/* By somebody who knows the sizes. */
static void
run_seen (IrSession *session)
{
  ir_session_see_sizes (session);
  ir_session_run_graph (session);
}

/* -- sizes -- */

static const char fixed[] = HEAD
    "g (float[b,s,128] x) => (float[16,128] y) <int64[2] to = {16,128}>\n"
    "{ [fix] y = Reshape (x, to) }";

static void
test_proposed_sizes (Fixture *fixture, gconstpointer data)
{
  GtkWidget *dialog = open_dialog (fixture);

  g_assert_cmpstr (subtitle (dialog, "s"), ==, "b*s = 16, by fix (Reshape)");
  g_assert_cmpstr (subtitle (dialog, "b"), ==, "1, chosen by default");
  /* What is asked for changes what follows for the others. */
  set_spin (dialog, "b", 4);
  g_assert_cmpstr (subtitle (dialog, "b"), ==, "As irscope run --dim b=4");
  g_assert_cmpstr (subtitle (dialog, "s"), ==, "b*s = 16, by fix (Reshape)");
  g_assert_null (find_matching (dialog, is_label, "does not fit"));
  set_spin (dialog, "b", 3);
  while (g_main_context_iteration (NULL, FALSE))
    ;
  g_assert_nonnull (
      find_matching (dialog, is_label, "fix (Reshape) needs b*s = 16, which b = 3 does not fit."));
  ir_session_set_size (fixture->session, "b", -1);
  g_assert_cmpstr (subtitle (dialog, "s"), ==, "b*s = 16, by fix (Reshape)");
  run_seen (fixture->session);
  wait_for ("the run", has_run, fixture->session);
}

/* A run that would choose sizes shows them before, once. */
static const char open_sizes[] = HEAD
    "g (float[batch,seq] x) => (float[batch,seq] y) { y = Neg (x) }";
static const char open_batch[] = HEAD "g (float[batch,3] x) => (float[batch,3] y) { y = Neg (x) }";
static const char proposed_size[] = HEAD "g (float[s,3] x) => (float[6] y)"
                                         "<int64[1] six = {6}> { y = Reshape (x, six) }";

static void
test_asks_for_any (Fixture *fixture, gconstpointer data)
{
  GtkWidget *dialog;

  gtk_widget_activate_action (GTK_WIDGET (fixture->window), "win.run", NULL);
  dialog = dialog_over (fixture->window);
  g_assert_nonnull (dialog);
  g_assert_cmpstr (data == open_batch ? subtitle (dialog, "batch") : subtitle (dialog, "s"), ==,
                   data == open_batch ? "1, chosen by default" : "s = 2, by #1 (Reshape)");
  g_signal_emit_by_name (gtk_window_get_default_widget (GTK_WINDOW (dialog)), "clicked");
  wait_for ("the run", has_run, fixture->session);
}

static void
test_asks (Fixture *fixture, gconstpointer data)
{
  GtkWidget *dialog;

  gtk_widget_activate_action (GTK_WIDGET (fixture->window), "win.run", NULL);
  dialog = dialog_over (fixture->window);
  g_assert_nonnull (dialog);
  gtk_test_widget_wait_for_draw (dialog);
  g_assert_cmpstr (subtitle (dialog, "seq"), ==, "8, chosen by default");
  set_spin (dialog, "seq", 5);
  g_signal_emit_by_name (gtk_window_get_default_widget (GTK_WINDOW (dialog)), "clicked");
  wait_for ("the run", has_run, fixture->session);
  g_assert_null (dialog_over (fixture->window));
  gtk_widget_activate_action (GTK_WIDGET (fixture->window), "win.run", NULL);
  g_assert_null (dialog_over (fixture->window));
  wait_for ("another run", has_run, fixture->session);
}

/* -- whatever runs the graph asks as a run does -- */

static const char open_steps[] = HEAD
    "g (float[batch,seq] x) => (float[batch,seq] y) { h = Identity (x) y = Neg (h) }";

static void
step_by_node (IrSession *session, GtkWidget *window)
{
  gtk_widget_activate_action (window, "win.drive", "s", "step");
}

static void
check_execution (IrSession *session, GtkWidget *window)
{
  gtk_widget_activate_action (window, "win.check-execution", NULL);
}

static void
measure_kernels (IrSession *session, GtkWidget *window)
{
  const IrGraph *graph = ir_session_get_frame (session)->model->main;

  ir_session_select_node (session, ir_graph_find_value (graph, "y")->producer->id);
  gtk_widget_activate_action (window, "win.measure-kernels", NULL);
}

static void
run_it (IrSession *session, GtkWidget *window)
{
  gtk_widget_activate_action (window, "win.run", NULL);
}

static void
play (IrSession *session, GtkWidget *window)
{
  ir_session_play (session);
}

static void
derive (IrSession *session, GtkWidget *window)
{
  ir_session_derive (session, "y", "x");
}

static void
prove_step (IrSession *session, GtkWidget *window)
{
  ir_session_prove_step (session, 1);
}

static void
prove_all (IrSession *session, GtkWidget *window)
{
  gtk_widget_activate_action (window, "win.prove-all", NULL);
}

static void
bisect (IrSession *session, GtkWidget *window)
{
  ir_session_bisect (session, "max_abs(*) > 0");
}

static void
measure_times (IrSession *session, GtkWidget *window)
{
  ir_session_measure_times (session);
}

static void
compare_values (IrSession *session, GtkWidget *window)
{
  gtk_widget_activate_action (window, "win.compare-values", NULL);
}

static void (*const commands[]) (IrSession *session, GtkWidget *window) = {
  run_it,     step_by_node, check_execution, measure_kernels, play,           derive,
  prove_step, prove_all,    bisect,          measure_times,   compare_values,
};

static gboolean
has_steps (gpointer session)
{
  return is_open_and_idle (session) && ir_session_get_n_steps (session) > 0;
}

static gboolean
stands (gpointer session)
{
  return ir_session_get_standing (session) != NULL;
}

static void
optimize (Fixture *fixture)
{
  ir_session_set_prove (fixture->session, FALSE);
  ir_session_run_pipeline (fixture->session, NULL);
  wait_for ("steps", has_steps, fixture->session);
  ir_session_goto (fixture->session, G_MAXUINT);
  ir_session_set_compare (fixture->session, IR_COMPARE_ORIGINAL);
  wait_for ("the last step", is_open_and_idle, fixture->session);
}

static void
test_all_ask (Fixture *fixture, gconstpointer data)
{
  GtkWidget *window = GTK_WIDGET (fixture->window);

  optimize (fixture);
  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    {
      GtkWidget *dialog;

      commands[i](fixture->session, window);
      dialog = dialog_over (fixture->window);
      g_test_message ("command %u", i);
      g_assert_nonnull (dialog);
      g_assert_false (ir_session_get_busy (fixture->session));
      gtk_window_close (GTK_WINDOW (dialog));
      while (g_main_context_iteration (NULL, FALSE))
        ;
      g_assert_null (dialog_over (fixture->window));
      g_assert_false (ir_session_get_busy (fixture->session));
      g_assert_false (ir_session_is_driven (fixture->session));
    }
}

/* Once they were seen nothing asks again, and a run has what was set meanwhile. */
static void
test_goes_on (Fixture *fixture, gconstpointer data)
{
  GtkWidget *window = GTK_WIDGET (fixture->window), *dialog;
  IrTensor *tensor;

  optimize (fixture);
  step_by_node (fixture->session, window);
  dialog = dialog_over (fixture->window);
  g_assert_nonnull (dialog);
  gtk_test_widget_wait_for_draw (dialog);
  set_spin (dialog, "seq", 5);
  g_signal_emit_by_name (gtk_window_get_default_widget (GTK_WINDOW (dialog)), "clicked");
  g_assert_null (dialog_over (fixture->window));
  wait_for ("where it stands", stands, fixture->session);
  ir_session_drive (fixture->session, (IrRunCommand){ .move = IR_RUN_CONTINUE });
  wait_for ("the end", has_run, fixture->session);
  tensor = ir_run_value (
      ir_session_get_run (fixture->session, IR_SIDE_AFTER),
      ir_graph_output (ir_session_get_frame (fixture->session)->model->main, 0)->id);
  g_assert_nonnull (tensor);
  g_assert_cmpint (ir_tensor_dims (tensor)[1], ==, 5);
  g_assert_null (ir_session_stale_text (fixture->session));
  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    {
      commands[i](fixture->session, window);
      g_assert_null (dialog_over (fixture->window));
      ir_session_cancel (fixture->session);
      wait_for ("rest", is_idle, fixture->session);
    }
}

static gint64
asked_for (Fixture *fixture, const char *name)
{
  const gint64 *size = g_hash_table_lookup (ir_session_get_sizes (fixture->session), name);

  return size != NULL ? *size : -1;
}

static void
test_remembered_sizes (Fixture *fixture, gconstpointer data)
{
  g_autofree char *path = g_build_filename (fixture->dir, "graph.onnxtxt", NULL);
  g_autofree char *other = g_build_filename (fixture->dir, "other.onnxtxt", NULL);
  g_autoptr (GFile) file = g_file_new_for_path (path), other_file = g_file_new_for_path (other);

  g_assert_true (g_file_set_contents (other, fixed, -1, NULL));
  set_spin (open_dialog (fixture), "b", 4);
  ir_window_open (fixture->window, other_file);
  wait_for ("another model", is_open_and_idle, fixture->session);
  g_assert_cmpint (asked_for (fixture, "b"), ==, -1);
  ir_window_open (fixture->window, file);
  wait_for ("the model", is_open_and_idle, fixture->session);
  g_assert_cmpint (asked_for (fixture, "b"), ==, 4);
  /* What is left to the run is not asked for the next time either. */
  ir_session_set_size (fixture->session, "b", -1);
  ir_window_open (fixture->window, other_file);
  wait_for ("another model", is_open_and_idle, fixture->session);
  ir_window_open (fixture->window, file);
  wait_for ("the model", is_open_and_idle, fixture->session);
  g_assert_cmpint (asked_for (fixture, "b"), ==, -1);
}

/* -- widgets of a row -- */

typedef enum
{
  RANDOM,
  NUMPY,
  PICTURE,
  NUMBERS
} Kind;

static gboolean
is_expander (GtkWidget *widget, gconstpointer title)
{
  return ADW_IS_EXPANDER_ROW (widget) &&
         strcmp (adw_preferences_row_get_title (ADW_PREFERENCES_ROW (widget)), title) == 0;
}

static gboolean
is_drop_down (GtkWidget *widget, gconstpointer data)
{
  return GTK_IS_DROP_DOWN (widget);
}

static gboolean
is_entry (GtkWidget *widget, gconstpointer data)
{
  return GTK_IS_ENTRY (widget);
}

static gboolean
is_combo (GtkWidget *widget, gconstpointer title)
{
  return ADW_IS_COMBO_ROW (widget) &&
         strcmp (adw_preferences_row_get_title (ADW_PREFERENCES_ROW (widget)), title) == 0;
}

static guint
kind_of (GtkWidget *dialog, const char *input)
{
  GtkWidget *row = find_matching (dialog, is_expander, input);

  return gtk_drop_down_get_selected (GTK_DROP_DOWN (find_matching (row, is_drop_down, NULL)));
}

/* -- data sets -- */

static const char pair[] = HEAD "g (float[2] a) => (float[2] y) { y = Neg (a) }";

static void
write_tensor (const char *dir, const char *name, float one, float two)
{
  const float numbers[] = { one, two };
  g_autoptr (IrTensor) tensor = ir_tensor_new_copy (IR_DTYPE_FLOAT, 1, (gint64[]){ 2 }, numbers);
  g_autofree char *path = g_build_filename (dir, name, NULL);

  g_assert_true (ir_tensor_save (tensor, path, NULL));
}

static gboolean
is_button (GtkWidget *widget, gconstpointer label)
{
  return GTK_IS_BUTTON (widget) &&
         g_strcmp0 (gtk_button_get_label (GTK_BUTTON (widget)), label) == 0;
}

static void
test_data_sets (Fixture *fixture, gconstpointer data)
{
  static const float wanted[] = { -2, -4 };
  GtkWidget *dialog, *row;

  for (guint i = 0; i < 2; i++)
    {
      g_autofree char *dir = g_strdup_printf ("%s/test_data_set_%u", fixture->dir, i);

      g_assert_cmpint (g_mkdir (dir, 0700), ==, 0);
      write_tensor (dir, "input_0.pb", 1, (float) (2 + i));
      write_tensor (dir, "output_0.pb", -1, wanted[i]);
    }
  dialog = open_dialog (fixture);
  row = find_matching (dialog, is_row, "test_data_set_0");
  g_assert_nonnull (row);
  for (guint i = 0; i < 2; i++)
    {
      const char *name = i == 0 ? "test_data_set_0" : "test_data_set_1";

      row = find_matching (dialog, is_row, name);
      g_signal_emit_by_name (find_matching (row, is_button, "Use"), "clicked");
      g_assert_cmpstr (subtitle (dialog, name), ==,
                       "Used by the next run, which compares the outputs");
      g_assert_cmpstr (subtitle (dialog, "a"), ==,
                       i == 0 ? "float[2] · input_0.pb · [1, 2]"
                              : "float[2] · input_0.pb · [1, 3]");
      g_assert_cmpuint (kind_of (dialog, "a"), ==, NUMPY);
      run_seen (fixture->session);
      wait_for ("the run", has_run, fixture->session);
      g_assert_cmpstr (subtitle (dialog, name), ==,
                       i == 0 ? "The output is as in test_data_set_0"
                              : "y differs from test_data_set_1: element 1 is -3, not -4");
      /* in the properties, too, which stay when the message goes */
      g_assert_cmpstr (subtitle (GTK_WIDGET (fixture->window), "Its data set"), ==,
                       subtitle (dialog, name));
    }
  g_signal_emit_by_name (find_matching (row, is_button, "Leave"), "clicked");
  g_assert_cmpstr (subtitle (dialog, "a"), ==, "float[2] · random");
  g_assert_cmpuint (kind_of (dialog, "a"), ==, RANDOM);
}

/* -- what is said of an input -- */

/* As a user does: chooses the kind, and types. */
static GtkWidget *
say (GtkWidget *dialog, const char *input, Kind kind, const char *text)
{
  GtkWidget *row = find_matching (dialog, is_expander, input), *entry;

  g_assert_nonnull (row);
  gtk_drop_down_set_selected (GTK_DROP_DOWN (find_matching (row, is_drop_down, NULL)), kind);
  entry = text != NULL ? find_matching (row, is_entry, NULL) : NULL;
  if (text != NULL)
    gtk_editable_set_text (GTK_EDITABLE (entry), text);
  return row;
}

typedef struct
{
  GtkWidget *dialog;
  const char *input, *part;
} Subtitle;

static gboolean
has_part (gpointer data)
{
  const Subtitle *wanted = data;

  return strstr (subtitle (wanted->dialog, wanted->input), wanted->part) != NULL;
}

static void
expect_subtitle (GtkWidget *dialog, const char *input, const char *part)
{
  Subtitle wanted = { dialog, input, part };

  wait_for (part, has_part, &wanted);
}

static const IrTensor *
contents (Fixture *fixture, const char *input)
{
  const IrModel *model = ir_session_get_frame (fixture->session)->before;
  const IrValue *value = ir_graph_find_value (model->main, input);

  return g_hash_table_lookup (ir_session_get_inputs (fixture->session),
                              GUINT_TO_POINTER (value->id));
}

static char *
write_picture (Fixture *fixture)
{
  static const char content[] = "P6 2 1 255\n\x0a\x14\x1e\x0b\x15\x1f";
  char *path = g_build_filename (fixture->dir, "two.ppm", NULL);

  g_assert_true (g_file_set_contents (path, content, sizeof content - 1, NULL));
  return path;
}

static const char three[] = HEAD
    "g (float[1,3,1,2] image, float[2] a, uint8[1,h,w,3] open) => (y, z, u) "
    "{ y = Neg (image) z = Neg (a) u = Identity (open) }";

static void
test_pictures (Fixture *fixture, gconstpointer data)
{
  g_autofree char *path = write_picture (fixture);
  GtkWidget *dialog = open_dialog (fixture), *row = say (dialog, "image", PICTURE, path);
  const IrTensor *tensor;

  expect_subtitle (dialog, "image", "float[1,3,1,2] · two.ppm · [[[[-");
  adw_combo_row_set_selected (ADW_COMBO_ROW (find_matching (row, is_combo, "Normalization")), 3);
  expect_subtitle (dialog, "image", "float[1,3,1,2] · two.ppm · [[[[10");
  tensor = contents (fixture, "image");
  g_assert_cmpfloat (ir_tensor_get_double (tensor, 5), ==, 31);
  adw_combo_row_set_selected (ADW_COMBO_ROW (find_matching (row, is_combo, "Channels")), 2);
  expect_subtitle (dialog, "image", "[[[[30");
  /* its own size, until another is asked for */
  say (dialog, "open", PICTURE, path);
  expect_subtitle (dialog, "open", "uint8[1,1,2,3] · two.ppm · [[[[10");
  g_assert_cmpstr (subtitle (dialog, "w"), ==, "2, as an input that is given has it");
  ir_session_set_size (fixture->session, "w", 4);
  g_assert_cmpstr (subtitle (dialog, "w"), ==, "As irscope run --dim w=4");
  g_assert_cmpint (ir_tensor_dims (contents (fixture, "open"))[2], ==, 4);
  run_seen (fixture->session);
  wait_for ("the run", has_run, fixture->session);
  /* what cannot be is said, and what was there stays */
  say (dialog, "image", PICTURE, "/no/such/picture.png");
  expect_subtitle (dialog, "image", "there is no file '/no/such/picture.png'");
  g_assert_cmpfloat (ir_tensor_get_double (contents (fixture, "image"), 0), ==, 30);
}

static void
test_numbers (Fixture *fixture, gconstpointer data)
{
  GtkWidget *dialog = open_dialog (fixture), *row;
  const IrInputWords *words;

  say (dialog, "a", NUMBERS, "3, -4.5");
  expect_subtitle (dialog, "a", "float[2] · [3, -4.5]");
  say (dialog, "a", NUMBERS, "1,<b>");
  expect_subtitle (dialog, "a", "found '<b>'");
  g_assert_nonnull (find_matching (dialog, is_label, "found '<b>'"));
  say (dialog, "a", NUMBERS, "1,2,3");
  expect_subtitle (dialog, "a", "3 numbers do not fit float[2]");
  row = say (dialog, "a", RANDOM, NULL);
  expect_subtitle (dialog, "a", "float[2] · random");
  adw_combo_row_set_selected (ADW_COMBO_ROW (find_matching (row, is_combo, "Distribution")), 2);
  expect_subtitle (dialog, "a", "float[2] · uniform");
  run_seen (fixture->session);
  wait_for ("the run", has_run, fixture->session);
  words = ir_session_input_words (
      fixture->session,
      ir_graph_find_value (ir_session_get_frame (fixture->session)->before->main, "a")->id);
  g_assert_cmpstr (words->kind, ==, IR_INPUT_FILL);
}

static const char point[] = HEAD
    "g (float x1, float x2) => (float f) <float x1 = {2}, float x2 = {5}> { f = Mul (x1, x2) }";

/* What the model holds by default can be said otherwise, and again. */
static void
test_defaults (Fixture *fixture, gconstpointer data)
{
  GtkWidget *dialog = open_dialog (fixture);

  g_assert_cmpstr (subtitle (dialog, "x1"), ==, "float[] · by default · 2");
  say (dialog, "x2", NUMBERS, "7");
  expect_subtitle (dialog, "x2", "float[] · 7");
  say (dialog, "x2", RANDOM, NULL);
  expect_subtitle (dialog, "x2", "float[] · by default · 5");
}

/* All that was said is there again when the model is opened again; what is gone is random, and said. */
static void
test_remembered_inputs (Fixture *fixture, gconstpointer data)
{
  g_autofree char *picture = write_picture (fixture);
  g_autofree char *path = g_build_filename (fixture->dir, "graph.onnxtxt", NULL);
  g_autofree char *other = g_build_filename (fixture->dir, "other.onnxtxt", NULL);
  g_autoptr (GFile) file = g_file_new_for_path (path), other_file = g_file_new_for_path (other);
  GtkWidget *dialog = open_dialog (fixture);

  g_assert_true (g_file_set_contents (other, fixed, -1, NULL));
  say (dialog, "image", PICTURE, picture);
  say (dialog, "a", NUMBERS, "5,6");
  expect_subtitle (dialog, "image", "[[[[-");
  expect_subtitle (dialog, "a", "[5, 6]");
  gtk_window_destroy (GTK_WINDOW (dialog));
  ir_window_open (fixture->window, other_file);
  wait_for ("another model", is_open_and_idle, fixture->session);
  g_assert_cmpuint (g_hash_table_size (ir_session_get_inputs (fixture->session)), ==, 0);
  g_assert_cmpint (g_unlink (picture), ==, 0);
  ir_window_open (fixture->window, file);
  wait_for ("the model", is_open_and_idle, fixture->session);
  g_assert_cmpfloat (ir_tensor_get_double (contents (fixture, "a"), 1), ==, 6);
  g_assert_null (contents (fixture, "image"));
  dialog = open_dialog (fixture);
  g_assert_cmpstr (subtitle (dialog, "image"), ==, "float[1,3,1,2] · random");
}

int
main (int argc, char **argv)
{
  start_window_tests (&argc, &argv);
  g_test_add ("/inputs/proposed-sizes", Fixture, fixed, set_up, test_proposed_sizes, tear_down);
  g_test_add ("/inputs/asks", Fixture, open_sizes, set_up, test_asks, tear_down);
  g_test_add ("/inputs/all that runs the graph asks", Fixture, open_steps, set_up, test_all_ask,
              tear_down);
  g_test_add ("/inputs/what asked goes on", Fixture, open_steps, set_up, test_goes_on, tear_down);
  g_test_add ("/inputs/asks for a batch alone", Fixture, open_batch, set_up, test_asks_for_any,
              tear_down);
  g_test_add ("/inputs/asks for what a node needs", Fixture, proposed_size, set_up,
              test_asks_for_any, tear_down);
  g_test_add ("/inputs/remembered-sizes", Fixture, fixed, set_up, test_remembered_sizes, tear_down);
  g_test_add ("/inputs/pictures", Fixture, three, set_up, test_pictures, tear_down);
  g_test_add ("/inputs/numbers", Fixture, three, set_up, test_numbers, tear_down);
  g_test_add ("/inputs/defaults", Fixture, point, set_up, test_defaults, tear_down);
  g_test_add ("/inputs/remembered-inputs", Fixture, three, set_up, test_remembered_inputs,
              tear_down);
  g_test_add ("/inputs/data-sets", Fixture, pair, set_up, test_data_sets, tear_down);
  return run_window_tests ();
}
