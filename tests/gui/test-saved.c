/* What is open is written down as a session, and restored from it: by hand, after the model has changed on
 * disk, and after the process was killed. */
#include "config.h"

#include "app/gui/keeper.h"
#include "app/gui/window.h"
#include "core/io/io.h"
#include "tests/gui/driving.h"
#include "tests/gui/waiting.h"
#include "views/session/act.h"
#include "views/session/debug.h"
#include "views/session/file.h"
#include "views/session/inputs.h"
#include "views/session/kept.h"
#include "views/session/kernels.h"
#include "views/session/run-control.h"
#include "views/session/saved.h"
#include "views/session/selection.h"
#include "views/session/undo.h"

#include <glib/gstdio.h>
#include <signal.h>
#include <sys/wait.h>

typedef struct
{
  IrSession *session;
  char *failed; /* (nullable) what a dialog would say */
} Fixture;

static void
on_failed (Fixture *fixture, const char *title, const char *text)
{
  g_free (fixture->failed);
  fixture->failed = g_strdup_printf ("%s\n%s", title, text);
}

static void
open_model (Fixture *fixture, const char *path)
{
  ir_session_open (fixture->session, path);
  wait_for ("the model", is_open_and_idle, fixture->session);
}

static char *
digits (void)
{
  return g_build_filename (IR_SOURCE_DATADIR, "examples", "digits.onnx", NULL);
}

static void
set_up (Fixture *fixture, gconstpointer data)
{
  g_autofree char *path = digits ();

  fixture->session = ir_session_new ();
  ir_session_set_prove (fixture->session, FALSE);
  g_signal_connect_swapped (fixture->session, "failed", G_CALLBACK (on_failed), fixture);
  open_model (fixture, path);
}

static void
tear_down (Fixture *fixture, gconstpointer data)
{
  g_object_unref (fixture->session);
  g_free (fixture->failed);
  while (g_main_context_iteration (NULL, FALSE))
    ;
}

static void
act (IrSession *session, const char *first, const char *second, const char *third)
{
  ir_session_act (session, (const char *const[]){ first, second, third, NULL });
  wait_for ("the act", is_open_and_idle, session);
}

static void
finish (Fixture *fixture)
{
  wait_for ("it", is_open_and_idle, fixture->session);
}

static char *
text_of (IrSession *session)
{
  g_autoptr (IrSessionFile) file = ir_session_to_file (session);

  return ir_session_file_text (file, NULL);
}

static char *
elided (IrModel *model)
{
  return ir_text_write_options (model,
                                &(IrTextOptions){ .large = IR_TEXT_ELIDE, .max_elements = 16 });
}

/* What is open, in a session of its own. (transfer full) */
static IrSession *
restored_from (const char *text, Fixture *heard)
{
  g_autoptr (GError) error = NULL;
  IrSessionFile *file = ir_session_file_parse (text, -1, "/tmp/session.json", &error);
  IrSession *session = ir_session_new ();

  g_assert_no_error (error);
  g_signal_connect_swapped (session, "failed", G_CALLBACK (on_failed), heard);
  ir_session_restore (session, file);
  wait_for ("the session", is_open_and_idle, session);
  return session;
}

/* As much as there is: acts, text, kernel, opset, pipelines, a what-if, undone, branches. */
static void
do_much (Fixture *fixture)
{
  IrSession *session = fixture->session;
  const IrValue *input;
  g_autoptr (GError) error = NULL;

  act (session, "insert", "Sigmoid", "image");
  act (session, "rename", "/fc/Gemm", "a name with spaces");
  ir_session_undo (session);
  finish (fixture);
  act (session, "rename", "/fc/Gemm", "other"); /* what was undone is a branch */
  ir_session_run_pipeline (session, "basic");
  finish (fixture);
  ir_session_skip (session, "fold-conv-bn");
  finish (fixture);
  act (session, "rename", "other", "third"); /* goes on with the what-if */
  ir_session_ask_for_kernel (session, 1, "ref");
  finish (fixture);
  ir_session_upgrade_opset (session, 20);
  finish (fixture);
  ir_session_run_pipeline (session, "default");
  finish (fixture);
  ir_session_undo (session);
  finish (fixture);
  ir_session_goto (session, 3);
  finish (fixture);
  input = ir_graph_input (ir_session_get_original (session)->main, 0);
  ir_session_give_input (session, input->id, "fill", "uniform,low=0,high=1", &error);
  g_assert_no_error (error);
  ir_session_set_size (session, "batch", 3);
  ir_session_set_seed (session, 9);
  g_assert_true (ir_session_add_breakpoint (session, "op=Conv", &error));
  ir_session_switch_breakpoint (session, 0, FALSE);
  g_assert_true (ir_session_add_run_break (session, "nan op:conv", &error));
  ir_session_set_note (session, "/conv1/Conv", "\"quoted\" & ünïcode");
  ir_session_add_rule (session, "op:conv cost>1", IR_RULE_COLOUR, 2);
  ir_session_set_overlay (session, "flops");
  ir_session_keep_view (session, 4, &(IrKeptView){ .zoom = 0.5, .x = 10, .y = 20 });
  finish (fixture);
}

static void
test_round_trip (Fixture *fixture, gconstpointer data)
{
  g_autofree char *before = NULL, *after = NULL;
  g_autoptr (IrSession) restored = NULL;

  do_much (fixture);
  before = text_of (fixture->session);
  restored = restored_from (before, fixture);
  g_assert_cmpstr (fixture->failed, ==, NULL);
  after = text_of (restored);
  g_assert_cmpstr (before, ==, after);
  g_assert_true (ir_session_get_modified (restored));
  g_assert_cmpuint (ir_session_get_n_branches (restored), ==,
                    ir_session_get_n_branches (fixture->session));
}

/* What was undone can be done again, and what was done undone, with the same steps. */
static void
test_undo_after (Fixture *fixture, gconstpointer data)
{
  g_autofree char *text = NULL;
  g_autoptr (IrSession) restored = NULL;

  do_much (fixture);
  text = text_of (fixture->session);
  restored = restored_from (text, fixture);
  for (guint i = 0; i < 2; i++)
    {
      IrSession *both[] = { fixture->session, restored };
      g_autofree char *texts[2] = { NULL, NULL };

      for (guint k = 0; k < 2; k++)
        {
          if (i == 0)
            ir_session_redo (both[k]);
          else
            while (ir_session_get_undo (both[k]) != NULL)
              {
                ir_session_undo (both[k]);
                wait_for ("the undo", is_open_and_idle, both[k]);
              }
          wait_for ("it", is_open_and_idle, both[k]);
          texts[k] = elided (ir_session_get_frame (both[k])->model);
        }
      g_assert_cmpstr (texts[0], ==, texts[1]);
      g_assert_cmpuint (ir_session_get_n_steps (both[0]), ==, ir_session_get_n_steps (both[1]));
      g_free (texts[0]);
      texts[0] = NULL;
      g_free (texts[1]);
      texts[1] = NULL;
    }
  g_assert_false (ir_session_get_modified (restored));
  ir_session_go_to_branch (restored, 0);
  wait_for ("the branch", is_open_and_idle, restored);
}

/* A text that was applied is a text again. */
static void
test_text (Fixture *fixture, gconstpointer data)
{
  const IrFrame *frame = ir_session_get_frame (fixture->session);
  g_autofree char *text = elided (frame->model);
  g_autofree char *before = NULL, *after = NULL;
  g_autoptr (IrSession) restored = NULL;
  char *relu = strstr (text, "= Relu");

  g_assert_nonnull (relu);
  memcpy (relu, "= Tanh", 6);
  ir_session_edit (fixture->session, "Apply Text", ir_done_new (IR_DONE_TEXT, text, NULL, 0),
                   apply_text, text, NULL);
  finish (fixture);
  before = text_of (fixture->session);
  restored = restored_from (before, fixture);
  g_assert_cmpstr (fixture->failed, ==, NULL);
  after = text_of (restored);
  g_assert_cmpstr (before, ==, after);
  g_assert_nonnull (strstr (before, "Tanh"));
}

/* The passes that were chosen, their options, and what each run was allowed. */
static void
test_passes (Fixture *fixture, gconstpointer data)
{
  const char *const first[] = { "eliminate-identity", "fold-conv-bn", NULL },
                    *const second[] = { "fold-constants", NULL },
                    *const limit[] = { "fold-constants.limit=1M", NULL };
  g_autofree char *before = NULL, *after = NULL;
  g_autoptr (IrSession) restored = NULL;
  g_autoptr (GError) error = NULL;

  ir_session_set_unsafe (fixture->session, TRUE);
  ir_session_set_passes (fixture->session, first, NULL, &error);
  g_assert_no_error (error);
  ir_session_run_pipeline (fixture->session, NULL);
  finish (fixture);
  g_assert_cmpuint (ir_session_get_n_steps (fixture->session), >, 0);
  ir_session_skip (fixture->session, "fold-conv-bn");
  finish (fixture);
  act (fixture->session, "insert", "Abs", "image"); /* goes on with the what-if */
  ir_session_set_unsafe (fixture->session, FALSE);
  ir_session_set_passes (fixture->session, second, limit, &error);
  g_assert_no_error (error);
  ir_session_run_pipeline (fixture->session, NULL);
  finish (fixture);
  before = text_of (fixture->session);
  restored = restored_from (before, fixture);
  g_assert_cmpstr (fixture->failed, ==, NULL);
  after = text_of (restored);
  g_assert_cmpstr (before, ==, after);
  g_assert_nonnull (strstr (before, "\"unsafe\""));
  g_assert_cmpstr (ir_session_get_pipeline (restored), ==, IR_SESSION_PASSES);
  g_assert_true (g_strv_equal (ir_session_get_passes (restored), second));
  g_assert_true (g_strv_equal (ir_session_get_pass_values (restored), limit));
  g_assert_false (ir_session_get_unsafe (restored));
}

/* What is said of inputs is said of the model as it was opened, also where an edit renames them. */
static void
test_names (Fixture *fixture, gconstpointer data)
{
  const IrValue *input = ir_graph_input (ir_session_get_original (fixture->session)->main, 0);
  g_autofree char *text = NULL;
  g_autoptr (IrSession) restored = NULL;
  g_autoptr (GError) error = NULL;

  ir_session_give_input (fixture->session, input->id, "fill", "ones", &error);
  g_assert_no_error (error);
  act (fixture->session, "rename-value", "image", "picture");
  g_assert_cmpuint (ir_session_get_n_steps (fixture->session), ==, 1);
  text = text_of (fixture->session);
  restored = restored_from (text, fixture);
  g_assert_cmpstr (fixture->failed, ==, NULL);
}

/* -- the model has changed -- */

static void
test_changed_model (Fixture *fixture, gconstpointer data)
{
  g_autofree char *folder = test_folder (), *path = g_build_filename (folder, "net.onnxtxt", NULL);
  g_autofree char *text = NULL, *other = NULL;
  const char
      *net = "<ir_version: 8, opset_import: [\"\" : 17]>\n"
             "g (float[2] x) => (float[2] y) {\n a = Relu (x)\n b = Neg (a)\n y = Exp (b)\n}";
  g_autoptr (IrSession) restored = NULL;

  g_assert_true (g_file_set_contents (path, net, -1, NULL));
  open_model (fixture, path);
  act (fixture->session, "insert", "Sigmoid", "a");
  act (fixture->session, "insert", "Tanh", "b");
  ir_session_set_note (fixture->session, "#2", "here");
  text = text_of (fixture->session);
  other = g_strdup ("<ir_version: 8, opset_import: [\"\" : 17]>\n"
                    "g (float[2] x) => (float[2] y) {\n a = Relu (x)\n y = Exp (a)\n}");
  g_assert_true (g_file_set_contents (path, other, -1, NULL));
  restored = restored_from (text, fixture);
  g_assert_nonnull (strstr (fixture->failed, "Insert Node (insert Tanh b) is left out"));
  g_assert_cmpuint (ir_model_n_counted_nodes (ir_session_get_frame (restored)->model), ==, 3);
  g_assert_cmpuint (ir_session_get_n_steps (restored), ==, 1);
  test_remove_folder (folder);
}

/* Ends the session, and restores it as the window's keeper has it. */
static char *
elided_after (Fixture *fixture, guint n_done)
{
  g_autofree char *text = text_of (fixture->session);
  g_autoptr (IrSession) restored = restored_from (text, fixture);
  g_autoptr (IrSessionFile) file = ir_session_to_file (restored);

  g_assert_cmpstr (fixture->failed, ==, NULL);
  g_assert_cmpuint (file->n_done, ==, n_done);
  return elided (ir_session_get_frame (restored)->model);
}

static void
assert_n (const char *text, const char *what, guint n)
{
  g_auto (GStrv) parts = g_strsplit (text, what, -1);

  g_assert_cmpuint (g_strv_length (parts) - 1, ==, n);
}

/* What is in the file is not done to it again; what is behind it is, from there on. */
static void
test_written (Fixture *fixture, gconstpointer data)
{
  g_autofree char *folder = test_folder (), *path = g_build_filename (folder, "net.onnx", NULL);
  g_autofree char *text = NULL, *before = NULL, *after = NULL, *undone = NULL;
  IrSession *session = fixture->session;
  g_autoptr (IrSessionFile) file = NULL;
  g_autoptr (IrSession) restored = NULL;

  act (session, "insert", "Abs", "image");
  ir_session_undo (session);
  finish (fixture);
  act (session, "insert", "Sigmoid", "image"); /* leaves a branch, which begins before the file */
  ir_session_save (session, path);
  finish (fixture);
  text = elided_after (fixture, 0);
  assert_n (text, "Sigmoid (", 1);
  act (session, "insert", "Tanh", "image");
  ir_session_run_pipeline (session, "basic");
  finish (fixture);
  file = ir_session_to_file (session);
  g_assert_cmpuint (file->branches->len, ==, 0);
  g_assert_cmpuint (((IrDone *) file->done->pdata[0])->at, ==, 0);
  g_assert_cmpuint (file->step, ==, ir_session_get_cursor (session) - 1);
  before = elided (ir_session_get_frame (session)->model);
  after = elided_after (fixture, 2);
  assert_n (after, "Sigmoid (", 1);
  assert_n (after, "Tanh (", 1);
  g_assert_cmpuint (ir_model_n_counted_nodes (ir_session_get_frame (session)->model), >, 2);
  for (guint i = 0; i < 3; i++) /* before the file was written: there is nothing but the file */
    {
      ir_session_undo (session);
      finish (fixture);
    }
  g_assert_null (fixture->failed);
  undone = text_of (session);
  restored = restored_from (undone, fixture);
  g_free (undone);
  undone = elided (ir_session_get_frame (restored)->model);
  assert_n (undone, "Sigmoid (", 1);
  g_assert_nonnull (strstr (fixture->failed, "1 thing was undone that the model's file holds"));
  test_remove_folder (folder);
}

static gboolean
is_looked_at (gpointer session)
{
  const IrKeptView *sight = ir_session_get_sight (session);

  return sight != NULL && ABS (sight->zoom - 1.75) < 1e-6 && ABS (sight->x - 90) < 1 &&
         ABS (sight->y - 410) < 1;
}

/* What was looked at is looked at, in a window of another size too. */
static void
test_sight (Fixture *fixture, gconstpointer data)
{
  const IrKeptView place = { .zoom = 1.75, .x = 90, .y = 410, .width = 800, .height = 600 };
  g_autofree char *folder = test_folder (), *path = g_build_filename (folder, "s.json", NULL),
                  *text = NULL;
  g_autoptr (GError) error = NULL;
  IrWindow *window = ir_window_new (NULL);

  ir_session_note_sight (fixture->session, &place);
  text = text_of (fixture->session);
  g_assert_true (g_file_set_contents (path, text, -1, &error));
  gtk_window_set_default_size (GTK_WINDOW (window), 900, 700);
  gtk_window_present (GTK_WINDOW (window));
  g_action_group_activate_action (G_ACTION_GROUP (window), "open-session",
                                  g_variant_new_string (path));
  wait_for ("the session", is_open_and_idle, ir_window_get_session (window));
  settle (300); /* nothing takes it away */
  wait_for ("the place", is_looked_at, ir_window_get_session (window));
  g_assert_true (is_looked_at (ir_window_get_session (window)));
  gtk_window_destroy (GTK_WINDOW (window));
  settle (50);
  test_remove_folder (folder);
}

/* So large that writing takes a while. */
#define LONG_NOTE (24u << 20)

/* Files in the folder that are no locks: what is being written, and what was. */
static gboolean
has_session (gpointer dir)
{
  g_autoptr (GDir) files = g_dir_open (dir, 0, NULL);
  const char *name;
  gboolean found = FALSE;

  while (files != NULL && (name = g_dir_read_name (files)) != NULL)
    found |= !g_str_has_suffix (name, ".lock");
  return found;
}

/* It is closed while a thread writes its session, and before that, and behind it: nothing is left of it. */
static void
test_closed_while_written (Fixture *fixture, gconstpointer data)
{
  g_autofree char *dir = g_build_filename (g_get_user_data_dir (), "irscope", "sessions", NULL),
                  *path = digits (), *note = g_strnfill (LONG_NOTE, 'x');
  g_autoptr (GFile) file = g_file_new_for_path (path);

  for (guint i = 0; i < 3; i++)
    {
      IrWindow *window = ir_window_new (NULL);
      IrSession *session = ir_window_get_session (window);

      gtk_window_present (GTK_WINDOW (window));
      ir_keeper_attach (window);
      ir_session_set_prove (session, FALSE);
      ir_window_open (window, file);
      wait_for ("the graph", is_open_and_idle, session);
      ir_session_set_note (session, "#1", note);
      if (i > 0)
        wait_for ("what is written", has_session, dir);
      if (i == 2)
        settle (100);
      gtk_window_destroy (GTK_WINDOW (window));
      settle (i == 0 ? 600 : 200); /* long enough for a write that was to come */
      g_assert_false (has_session (dir));
    }
}

static gboolean
says_changed (gpointer window)
{
  return is_shown (window, "has changed on disk");
}

/* The window says so, keeps what was done, and Reload does to the new file what was not saved; its own saving is
 * no change. */
static void
test_watch (Fixture *fixture, gconstpointer data)
{
  g_autofree char *folder = test_folder (), *path = g_build_filename (folder, "net.onnxtxt", NULL);
  const char *net = "<ir_version: 8, opset_import: [\"\" : 17]>\n"
                    "g (float[2] x) => (float[2] y) {\n a = Relu (x)\n y = Neg (a)\n}";
  const char
      *other = "<ir_version: 8, opset_import: [\"\" : 17]>\n"
               "g (float[2] x) => (float[2] y) {\n a = Relu (x)\n b = Abs (a)\n y = Neg (b)\n}";
  IrWindow *window = ir_window_new (NULL);
  IrSession *session = ir_window_get_session (window);
  g_autoptr (GFile) file = g_file_new_for_path (path);

  g_assert_true (g_file_set_contents (path, net, -1, NULL));
  gtk_window_present (GTK_WINDOW (window));
  ir_keeper_attach (window);
  ir_window_open (window, file);
  wait_for ("the graph", is_open_and_idle, session);
  act (session, "insert", "Sigmoid", "a");
  ir_session_save (session, path);
  wait_for ("the file", is_open_and_idle, session);
  settle (1000);
  g_assert_false (says_changed (window));
  act (session, "insert", "Tanh", "a"); /* the hash stays that of the file as it was written */
  g_assert_true (g_file_set_contents (path, other, -1, NULL));
  wait_for ("the toast", says_changed, window);
  g_assert_cmpuint (ir_session_get_n_steps (session), ==, 2);
  gtk_widget_activate_action (GTK_WIDGET (window), "win.reload", NULL);
  wait_for ("the other file", is_open_and_idle, session);
  g_assert_cmpuint (ir_model_n_counted_nodes (ir_session_get_frame (session)->model), ==, 4);
  ir_keepers_end ();
  gtk_window_destroy (GTK_WINDOW (window));
  settle (50);
  test_remove_folder (folder);
}

/* -- killed -- */

static guint n_acts; /* of the process that is killed */

/* All of them are on disk: its is the only session there. */
static gboolean
is_written (gpointer dir)
{
  g_autoptr (GDir) files = g_dir_open (dir, 0, NULL);
  const char *name;
  gboolean found = FALSE;

  while (files != NULL && (name = g_dir_read_name (files)) != NULL)
    {
      g_autofree char *path = g_build_filename (dir, name, NULL);
      g_autoptr (IrSessionFile)
          file = g_str_has_suffix (name, ".json") ? ir_session_file_read (path, NULL) : NULL;

      found |= file != NULL && file->n_done == n_acts;
    }
  return found;
}

/* In a process of its own: one act after another, each said with its time when it is in place. */
G_GNUC_NORETURN static void
act_until_killed (void)
{
  g_autofree char *path = digits (),
                  *dir = g_build_filename (g_get_user_data_dir (), "irscope", "sessions", NULL);
  g_autoptr (GFile) file = g_file_new_for_path (path);
  IrWindow *window = ir_window_new (NULL);
  IrSession *session = ir_window_get_session (window);

  gtk_window_present (GTK_WINDOW (window));
  ir_keeper_attach (window);
  ir_session_set_prove (session, FALSE);
  ir_window_open (window, file);
  wait_for ("the graph", is_open_and_idle, session);
  for (guint i = 1;; i++)
    {
      g_autofree char *name = g_strdup_printf ("name%u", i);

      act (session, "rename", "#1", name);
      g_print ("%u %" G_GINT64_FORMAT "\n", i, g_get_monotonic_time ());
      settle (i % 7 * 10);
      n_acts = i;
      if (i % 6 != 0)
        continue;
      wait_for ("what was done is there", is_written, dir);
      g_print ("%u 0\n", i); /* long ago: it is never lost */
    }
}

/* How much was said to be done by @time_us, at the latest. */
static guint
done_by (const char *said, gint64 time_us)
{
  g_auto (GStrv) lines = g_strsplit (said, "\n", -1);
  guint n = 0;

  for (guint i = 0; lines[i] != NULL; i++)
    {
      const char *space = strchr (lines[i], ' ');

      if (space != NULL && lines[i + 1] != NULL && g_ascii_strtoll (space, NULL, 10) <= time_us)
        n = MAX (n, (guint) g_ascii_strtoull (lines[i], NULL, 10));
    }
  return n;
}

/* Kills @pid @ms after the first thing that it says. */
static char *
read_some (int fd, guint ms, gint64 *killed_us, GPid pid)
{
  GString *said = g_string_new (NULL);
  char block[4096];
  gssize n = read (fd, block, sizeof block);

  g_assert_cmpint (n, >, 0);
  g_string_append_len (said, block, n);
  g_usleep (ms * 1000);
  *killed_us = g_get_monotonic_time ();
  kill (pid, SIGKILL);
  waitpid (pid, NULL, 0);
  while ((n = read (fd, block, sizeof block)) > 0)
    g_string_append_len (said, block, n);
  return g_string_free (said, FALSE);
}

/* How long before the kill everything must be on disk. Machines that do much else are slow to write. */
static gint64
most_lost_us (void)
{
  return g_getenv ("IRSCOPE_KILLS") != NULL ? G_USEC_PER_SEC : 4 * G_USEC_PER_SEC;
}

static void
kill_once (guint ms)
{
  g_autofree char *self = g_file_read_link ("/proc/self/exe", NULL), *said = NULL, *path = NULL;
  char *argv[] = { self, (char *) "--act", NULL };
  g_autoptr (IrSessionFile) file = NULL;
  g_autoptr (GError) error = NULL;
  gint64 killed_us;
  GPid pid;
  int out;
  guint n, least;

  g_spawn_async_with_pipes (NULL, argv, NULL,
                            G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL,
                            &pid, NULL, &out, NULL, &error);
  g_assert_no_error (error);
  said = read_some (out, ms, &killed_us, pid);
  close (out);
  least = done_by (said, killed_us - most_lost_us ());
  n = done_by (said, killed_us);
  path = ir_keeper_find_lost ();
  if (path == NULL)
    {
      g_assert_cmpuint (least, ==, 0); /* it was killed before there was anything */
      return;
    }
  file = ir_session_file_read (path, &error);
  g_assert_no_error (error);
  g_test_message ("killed after %u ms: %u done, %u there, %u needed", ms, n, file->n_done, least);
  g_assert_cmpuint (file->n_done, >=, least);
  g_assert_cmpuint (file->n_done, <=, n + 1);
  for (guint i = 0; i < file->n_done; i++)
    {
      g_autofree char *expected = g_strdup_printf ("rename '#1' name%u", i + 1);

      g_assert_cmpstr (((IrDone *) file->done->pdata[i])->text, ==, expected);
    }
  ir_keeper_drop (path);
}

static void
test_killed (Fixture *fixture, gconstpointer data)
{
  const char *kills = g_getenv ("IRSCOPE_KILLS");
  const guint n = kills != NULL ? (guint) g_ascii_strtoull (kills, NULL, 10) : 10;

  for (guint i = 0; i < n; i++)
    kill_once ((guint) g_test_rand_int_range (0, kills != NULL ? 5000 : 900));
}

/* -- what was lost -- */

static gboolean
asks (gpointer window)
{
  GtkWidget *dialog = dialog_over (window);

  return dialog != NULL && is_shown (dialog, "Restore the last session?");
}

static void
test_offer (Fixture *fixture, gconstpointer data)
{
  g_autofree char *dir = g_build_filename (g_get_user_data_dir (), "irscope", "sessions", NULL),
                  *path = g_build_filename (dir, "lost.json", NULL);
  g_autoptr (IrSessionFile) file = NULL;
  g_autoptr (GError) error = NULL;
  IrWindow *window = ir_window_new (NULL);
  IrSession *session = ir_window_get_session (window);

  act (fixture->session, "insert", "Abs", "image");
  file = ir_session_to_file (fixture->session);
  g_mkdir_with_parents (dir, 0700);
  ir_session_file_write (file, path, &error);
  g_assert_no_error (error);
  gtk_window_present (GTK_WINDOW (window));
  ir_window_offer_lost (window);
  wait_for ("the question", asks, window);
  adw_message_dialog_response (ADW_MESSAGE_DIALOG (dialog_over (window)), "restore");
  gtk_window_destroy (GTK_WINDOW (dialog_over (window)));
  wait_for ("the session", is_open_and_idle, session);
  g_assert_cmpuint (ir_session_get_n_steps (session), ==, 1);
  settle (100);
  g_assert_false (g_file_test (path, G_FILE_TEST_EXISTS));
  ir_window_offer_lost (window); /* there is no other */
  settle (100);
  g_assert_null (dialog_over (window));
  gtk_window_destroy (GTK_WINDOW (window));
  settle (50);
}

static gboolean
has_failed (gpointer fixture)
{
  return ((Fixture *) fixture)->failed != NULL;
}

static gboolean
asks_about_unreadable (gpointer window)
{
  GtkWidget *dialog = dialog_over (window);

  return dialog != NULL && is_shown (dialog, "A lost session could not be read");
}

/* What cannot be read, and what cannot be restored, is there still. */
static void
test_kept (Fixture *fixture, gconstpointer data)
{
  g_autofree char *dir = g_build_filename (g_get_user_data_dir (), "irscope", "sessions", NULL),
                  *path = g_build_filename (dir, "lost.json", NULL);
  IrWindow *window = ir_window_new (NULL);
  IrSession *session = ir_window_get_session (window);

  gtk_window_present (GTK_WINDOW (window));
  g_mkdir_with_parents (dir, 0700);
  g_assert_true (g_file_set_contents (path, "{\"irscope_session\": 9}", -1, NULL));
  ir_window_offer_lost (window);
  wait_for ("what is wrong", asks_about_unreadable, window);
  g_assert_true (is_shown (dialog_over (window), path));
  adw_message_dialog_response (ADW_MESSAGE_DIALOG (dialog_over (window)), "later");
  gtk_window_destroy (GTK_WINDOW (dialog_over (window)));
  settle (50);
  g_assert_true (g_file_test (path, G_FILE_TEST_EXISTS));
  g_assert_true (g_file_set_contents (path,
                                      "{\"irscope_session\": 1, \"program\": \"" IR_VERSION
                                      "\", \"model\": {\"path\": \"gone.onnx\"}}",
                                      -1, NULL));
  g_signal_connect_swapped (session, "failed", G_CALLBACK (on_failed), fixture);
  ir_window_offer_lost (window);
  wait_for ("the question", asks, window);
  adw_message_dialog_response (ADW_MESSAGE_DIALOG (dialog_over (window)), "restore");
  gtk_window_destroy (GTK_WINDOW (dialog_over (window)));
  wait_for ("the failure", has_failed, fixture);
  g_assert_nonnull (strstr (fixture->failed, "could not be restored"));
  settle (50);
  g_assert_true (g_file_test (path, G_FILE_TEST_EXISTS));
  if (dialog_over (window) != NULL) /* that says so */
    gtk_window_destroy (GTK_WINDOW (dialog_over (window)));
  ir_window_offer_lost (window); /* it is there to be asked about again */
  wait_for ("the question", asks, window);
  adw_message_dialog_response (ADW_MESSAGE_DIALOG (dialog_over (window)), "discard");
  gtk_window_destroy (GTK_WINDOW (dialog_over (window)));
  settle (50);
  g_assert_false (g_file_test (path, G_FILE_TEST_EXISTS));
  gtk_window_destroy (GTK_WINDOW (window));
  settle (50);
}

int
main (int argc, char **argv)
{
  if (argc > 1 && strcmp (argv[1], "--act") == 0)
    {
      gtk_init ();
      adw_init ();
      act_until_killed ();
    }
  start_window_tests (&argc, &argv);
#define ADD(NAME, TEST) g_test_add ("/saved/" NAME, Fixture, NULL, set_up, TEST, tear_down)
  ADD ("gives what it was made of", test_round_trip);
  ADD ("can be undone and done again as before", test_undo_after);
  ADD ("has texts that were applied", test_text);
  ADD ("has passes that were chosen, and what each run was allowed", test_passes);
  ADD ("has inputs by the names of the file", test_names);
  ADD ("keeps what fits a model that has changed", test_changed_model);
  ADD ("has only what was done behind the file that was saved", test_written);
  ADD ("has what is looked at", test_sight);
  ADD ("offers the model again when its file has changed", test_watch);
  ADD ("loses no more than the last second when it is killed", test_killed);
  ADD ("leaves nothing of a window that is closed while it is written", test_closed_while_written);
  ADD ("offers what was lost", test_offer);
  ADD ("keeps what was lost until it is restored", test_kept);
  return run_window_tests ();
}
