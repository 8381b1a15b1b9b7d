/* How long the window's main loop is held up while a model is opened, optimized, stepped through,
 * run and panned; one line per phase: wall time, longest gap of an 8 ms tick, and frames per second
 * of panning; and how long after a jump to any step its row, rule and numbers, and its picture are
 * there. Not a test: no time is asserted. Pictures are panned as they are opened, whole, at the zoom where
 * about 2,000 boxes are in sight (with names, and an overlay), and unfolded.
 *
 *     GSK_RENDERER=cairo xvfb-run -s "-screen 0 1280x860x24" bench-window MODEL [--only-panning|--timeline]
 *
 * With --timeline the graph is run, and the timeline of that run is panned, from far out to close by.
 *
 * tests/generators/large.py writes models for it. */
#include "config.h"

#include "app/gui/window.h"
#include "core/layout/scene.h"
#include "tests/gui/driving.h"
#include "views/chart-area.h"
#include "views/graph/canvas.h"
#include "views/session/file.h"
#include "views/session/frame.h"
#include "views/session/runs.h"
#include "views/session/timeline.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#define TICK_MS 8

typedef struct
{
  gint64 last_us, longest_us, start_us;
  double cpu_ms; /* of the main thread, at the start */
  guint n_frames;
} Meter;

static gboolean
on_tick (gpointer data)
{
  Meter *meter = data;
  const gint64 now = g_get_monotonic_time ();

  meter->longest_us = MAX (meter->longest_us, now - meter->last_us);
  meter->last_us = now;
  return G_SOURCE_CONTINUE;
}

/* What the main thread itself has worked: it says something on a busy machine, too. */
static double
thread_cpu_ms (void)
{
  struct timespec t;

  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &t);
  return (double) t.tv_sec * 1e3 + (double) t.tv_nsec / 1e6;
}

static void
begin (Meter *meter)
{
  meter->cpu_ms = thread_cpu_ms ();
  meter->start_us = meter->last_us = g_get_monotonic_time ();
  meter->longest_us = 0;
  meter->n_frames = 0;
}

static void
end (Meter *meter, const char *phase)
{
  const double ms = (double) (g_get_monotonic_time () - meter->start_us) / 1000;

  g_print ("%-20s %9.1f ms, longest gap %7.1f ms, main thread %7.1f ms", phase, ms,
           (double) meter->longest_us / 1000, thread_cpu_ms () - meter->cpu_ms);
  if (meter->n_frames > 0)
    g_print (", %.1f frames/s, %.1f ms each", meter->n_frames / ms * 1000,
             (thread_cpu_ms () - meter->cpu_ms) / meter->n_frames);
  g_print ("\n");
}

static void
wait_idle (IrSession *session)
{
  do
    g_main_context_iteration (NULL, TRUE);
  while (ir_session_get_busy (session) || ir_session_get_frame (session) == NULL ||
         ir_session_get_frame (session)->to != ir_session_get_cursor (session));
}

/* Until what was asked of the picture is drawn. */
static void
wait_picture (IrSession *session)
{
  while (ir_session_get_frame (session)->serial != ir_session_get_picture_serial (session))
    g_main_context_iteration (NULL, TRUE);
}

/* It sleeps until something is to be done, so that frames come when they are due. */
static void
pass_ms (guint ms)
{
  const gint64 until = g_get_monotonic_time () + ms * 1000;

  while (g_get_monotonic_time () < until)
    g_main_context_iteration (NULL, TRUE);
}

static void
on_after_paint (GdkFrameClock *clock, gpointer data)
{
  ((Meter *) data)->n_frames++;
}

/* -- jumps -- */

#define N_JUMPS 60

typedef struct
{
  gint64 start_us, row_us, picture_us; /* 0: not yet */
} Jump;

/* The row, the rule and the numbers of a step are there when its view has been told of the cursor. */
static void
on_jump_changed (IrSession *session, guint changes, Jump *jump)
{
  if (changes & IR_CHANGED_CURSOR && jump->row_us == 0)
    jump->row_us = g_get_monotonic_time () - jump->start_us;
}

static int
compare_times (gconstpointer a, gconstpointer b)
{
  const gint64 x = *(const gint64 *) a, y = *(const gint64 *) b;

  return x < y ? -1 : x > y;
}

static void
print_times (const char *what, GArray *times)
{
  g_array_sort (times, compare_times);
  if (times->len > 0)
    g_print ("  %-26s median %7.1f ms, 95 %% %7.1f ms, worst %7.1f ms\n", what,
             (double) g_array_index (times, gint64, times->len / 2) / 1000,
             (double) g_array_index (times, gint64, times->len * 95 / 100) / 1000,
             (double) g_array_index (times, gint64, times->len - 1) / 1000);
}

/* Anywhere in the history, by a fixed sequence. The row is told of in the call of
 * ir_session_goto(); it is drawn in the next frame of the window, which is counted. The picture is
 * there when its frame has been made, and drawn in the next one. */
static void
measure_jumps (IrSession *session, GtkWidget *window, IrCompare compare, const char *name)
{
  const guint n = ir_session_get_n_steps (session);
  g_autoptr (GArray) rows = g_array_new (FALSE, FALSE, sizeof (gint64)),
                     drawn = g_array_new (FALSE, FALSE, sizeof (gint64)),
                     pictures = g_array_new (FALSE, FALSE, sizeof (gint64));
  GdkFrameClock *clock = gtk_widget_get_frame_clock (window);
  guint state = 12345, n_boxes = 0;

  ir_session_set_compare (session, compare);
  wait_idle (session);
  for (guint i = 0; i < N_JUMPS && n > 1; i++)
    {
      Meter meter = { 0 };
      Jump jump = { .start_us = g_get_monotonic_time () };
      const gulong told = g_signal_connect (session, "changed", G_CALLBACK (on_jump_changed),
                                            &jump),
                   painted = g_signal_connect (clock, "after-paint", G_CALLBACK (on_after_paint),
                                               &meter);
      gint64 row_us = 0;
      guint step;

      state = state * 1103515245u + 12345u;
      step = (state >> 8) % (n + 1);
      if (step == ir_session_get_cursor (session))
        step = step > 0 ? step - 1 : 1;
      ir_session_goto (session, step);
      while (ir_session_get_frame (session)->to != step || meter.n_frames == 0)
        {
          g_main_context_iteration (NULL, TRUE);
          if (row_us == 0 && meter.n_frames > 0)
            row_us = g_get_monotonic_time () - jump.start_us;
        }
      jump.picture_us = g_get_monotonic_time () - jump.start_us;
      g_signal_handler_disconnect (session, told);
      g_signal_handler_disconnect (clock, painted);
      g_array_append_val (rows, jump.row_us);
      g_array_append_val (drawn, row_us);
      g_array_append_val (pictures, jump.picture_us);
    }
  ir_scene_boxes (ir_session_get_frame (session)->scene, &n_boxes);
  g_print ("jumps, %s: %u in %u steps, %u boxes\n", name, pictures->len, n, n_boxes);
  print_times ("row, rule, numbers: told", rows);
  print_times ("row, rule, numbers: drawn", drawn);
  print_times ("picture made", pictures);
}

static gboolean
pan (GtkWidget *canvas, GdkFrameClock *clock, gpointer data)
{
  GtkAdjustment *adjustment = data;

  gtk_adjustment_set_value (adjustment, gtk_adjustment_get_value (adjustment) + 3);
  return G_SOURCE_CONTINUE;
}

static void
measure_along (GtkWidget *canvas, GtkAdjustment *adjustment, Meter *meter, const char *phase)
{
  GdkFrameClock *clock = gtk_widget_get_frame_clock (canvas);
  const gulong handler = g_signal_connect (clock, "after-paint", G_CALLBACK (on_after_paint),
                                           meter);
  const guint tick = gtk_widget_add_tick_callback (canvas, pan, adjustment, NULL);

  begin (meter);
  pass_ms (2000);
  end (meter, phase);
  gtk_widget_remove_tick_callback (canvas, tick);
  g_signal_handler_disconnect (clock, handler);
}

static void
measure_panning (GtkWidget *canvas, Meter *meter, const char *phase)
{
  measure_along (canvas, gtk_scrollable_get_vadjustment (GTK_SCROLLABLE (canvas)), meter, phase);
}

/* -- the timeline -- */

#define MOST_ZOOMS 12

static void
measure_timeline (IrSession *session, GtkWidget *window, Meter *meter)
{
  const IrRun *run;
  GtkWidget *view, *area;
  GtkAdjustment *across;

  ir_session_set_prove (session, FALSE);
  ir_session_run_graph (session);
  wait_idle (session);
  run = ir_session_get_run (session, IR_SIDE_AFTER);
  begin (meter);
  g_action_group_activate_action (G_ACTION_GROUP (window), "show",
                                  g_variant_new_string ("schedule"));
  pass_ms (3000);
  end (meter, "timeline");
  view = find_widget (window, IR_TYPE_CHART_AREA);
  area = view != NULL ? find_widget (view, GTK_TYPE_DRAWING_AREA) : NULL;
  if (run == NULL || area == NULL || !gtk_widget_get_mapped (area))
    {
      g_printerr ("bench-window: there is no timeline\n");
      exit (1);
    }
  across = gtk_scrolled_window_get_hadjustment (
      GTK_SCROLLED_WINDOW (gtk_widget_get_ancestor (area, GTK_TYPE_SCROLLED_WINDOW)));
  g_print ("             %u spans\n", run->trace->items->len);
  for (guint i = 0; i < MOST_ZOOMS; i++)
    {
      const double part = gtk_adjustment_get_page_size (across) /
                          MAX (gtk_adjustment_get_upper (across), 1);
      g_autofree char *phase = g_strdup_printf ("pan, %.2f %% in sight", MIN (100 * part, 100));

      gtk_adjustment_set_value (across, gtk_adjustment_get_upper (across) / 3);
      measure_along (area, across, meter, phase);
      press_key (area, GDK_KEY_w);
      pass_ms (1500);
    }
}

static void
count_box (IrSceneHit hit, gpointer data)
{
  *(guint *) data += hit.box >= 0;
}

static guint
boxes_in_sight (IrCanvas *canvas)
{
  const IrLayoutRect sight = ir_canvas_get_sight (canvas);
  guint n = 0;

  ir_scene_foreach_in_rect (ir_canvas_get_scene (canvas), &sight, count_box, &n);
  return n;
}

/* In the middle of the picture, as far out as shows so many boxes. */
static void
show_boxes (IrCanvas *canvas, guint n)
{
  const IrLayoutRect bounds = ir_scene_bounds (ir_canvas_get_scene (canvas));
  double low = 0.02, high = 2;

  ir_canvas_zoom_to (canvas, 1);
  ir_canvas_centre (canvas, bounds.x + bounds.width / 2, bounds.y + bounds.height / 3);
  for (guint i = 0; i < 20; i++)
    {
      ir_canvas_zoom_to (canvas, sqrt (low * high));
      ir_canvas_centre (canvas, bounds.x + bounds.width / 2, bounds.y + bounds.height / 3);
      if (boxes_in_sight (canvas) > n)
        low = ir_canvas_get_zoom (canvas);
      else
        high = ir_canvas_get_zoom (canvas);
    }
  pass_ms (300);
  g_print ("             %u boxes in sight at %.0f %%\n", boxes_in_sight (canvas),
           100 * ir_canvas_get_zoom (canvas));
}

static void
measure_pictures (GtkWidget *canvas, IrSession *session, Meter *meter)
{
  guint n;

  measure_panning (canvas, meter, "pan");
  ir_canvas_fit (IR_CANVAS (canvas));
  pass_ms (600);
  measure_panning (canvas, meter, "pan, fit");
  if (ir_session_has_folds (session, TRUE))
    {
      begin (meter);
      ir_session_set_folds (session, FALSE);
      wait_picture (session);
      end (meter, "unfold");
      ir_canvas_fit (IR_CANVAS (canvas));
      pass_ms (600);
      measure_panning (canvas, meter, "pan, unfolded, fit");
    }
  ir_scene_boxes (ir_canvas_get_scene (IR_CANVAS (canvas)), &n);
  if (n < 2000)
    return;
  show_boxes (IR_CANVAS (canvas), 2000);
  measure_panning (canvas, meter, "pan, 2,000");
  ir_canvas_zoom_to (IR_CANVAS (canvas), 0.2);
  pass_ms (300);
  g_print ("             %u boxes in sight at 20 %%, with names\n",
           boxes_in_sight (IR_CANVAS (canvas)));
  measure_panning (canvas, meter, "pan, names");
  begin (meter);
  ir_session_set_overlay (session, "flops");
  wait_picture (session);
  end (meter, "overlay");
  show_boxes (IR_CANVAS (canvas), 2000);
  measure_panning (canvas, meter, "pan, 2,000, overlay");
  ir_session_set_overlay (session, NULL);
  wait_picture (session);
}

static void
on_failed (IrSession *session, const char *what, const char *why, gpointer data)
{
  g_printerr ("bench-window: %s: %s\n", what, why);
  exit (1);
}

int
main (int argc, char **argv)
{
  Meter meter = { 0 };
  IrWindow *window;
  IrSession *session;
  GtkWidget *canvas;
  guint n_boxes, n_lines;

  g_set_application_name ("irscope");
  gtk_init ();
  adw_init ();
  if (argc < 2 || argc > 3)
    {
      g_printerr ("usage: %s MODEL [--only-panning|--timeline]\n", argv[0]);
      return 2;
    }
  g_timeout_add (TICK_MS, on_tick, &meter);
  window = g_object_new (IR_TYPE_WINDOW, NULL);
  gtk_window_present (GTK_WINDOW (window));
  session = ir_window_get_session (window);
  pass_ms (500);

  begin (&meter);
  g_signal_connect (session, "failed", G_CALLBACK (on_failed), NULL);
  ir_session_open (session, argv[1]);
  wait_idle (session);
  pass_ms (200);
  end (&meter, "open");
  ir_scene_boxes (ir_session_get_frame (session)->scene, &n_boxes);
  ir_scene_lines (ir_session_get_frame (session)->scene, &n_lines);
  g_print (
      "             %u boxes, %u lines, laid out in %.1f ms\n", n_boxes, n_lines,
      (double) ir_layout_stats (ir_scene_layout (ir_session_get_frame (session)->scene))->time_us /
          1000);
  canvas = find_widget (GTK_WIDGET (window), IR_TYPE_CANVAS);
  if (argc > 2 && g_str_equal (argv[2], "--timeline"))
    measure_timeline (session, GTK_WIDGET (window), &meter);
  else
    measure_pictures (canvas, session, &meter);
  if (argc > 2)
    {
      gtk_window_destroy (GTK_WINDOW (window));
      return 0;
    }

  ir_session_set_prove (session, FALSE);
  begin (&meter);
  ir_session_run_pipeline (session, NULL);
  wait_idle (session);
  pass_ms (200);
  end (&meter, "optimize");
  g_print ("             %u steps\n", ir_session_get_n_steps (session));
  begin (&meter);
  for (guint i = 0; i < 10 && ir_session_get_cursor (session) > 0; i++)
    {
      ir_session_step_by (session, -1);
      wait_idle (session);
    }
  end (&meter, "ten steps");
  ir_session_show_view (session, "steps");
  pass_ms (300);
  measure_jumps (session, GTK_WIDGET (window), IR_COMPARE_STEP, "since the step before");
  measure_jumps (session, GTK_WIDGET (window), IR_COMPARE_ORIGINAL, "since the original");
  begin (&meter);
  ir_session_run_graph (session);
  wait_idle (session);
  pass_ms (200);
  end (&meter, "run");
  gtk_window_destroy (GTK_WINDOW (window));
  return 0;
}
