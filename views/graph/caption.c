/* What stands above the graph: which rewrite is shown, or what is compared. */
#include "config.h"

#include "views/graph/caption.h"

#include "core/ir/history.h"
#include "views/label.h"
#include "views/session/debug.h"
#include "views/session/file.h"
#include "views/session/frame.h"
#include "views/session/timeline.h"

#include <string.h>

GtkWidget *
ir_caption_build (IrCaption *self, GtkWidget *close)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 8);
  GtkWidget *title = gtk_label_new (NULL);
  GtkWidget *text = gtk_label_new (NULL);

  for (GtkWidget **label = (GtkWidget *[]){ title, text, NULL }; *label != NULL; label++)
    {
      gtk_label_set_xalign (GTK_LABEL (*label), 0);
      gtk_label_set_ellipsize (GTK_LABEL (*label), PANGO_ELLIPSIZE_END);
      gtk_box_append (GTK_BOX (box), *label);
    }
  gtk_widget_set_hexpand (text, TRUE);
  self->close = close;
  gtk_widget_add_css_class (self->close, "flat");
  gtk_widget_add_css_class (self->close, "circular");
  gtk_widget_set_valign (self->close, GTK_ALIGN_CENTER);
  gtk_box_append (GTK_BOX (box), self->close);
  gtk_widget_add_css_class (title, "caption-heading");
  gtk_widget_add_css_class (text, "caption");
  gtk_widget_add_css_class (text, "dim-label");
  gtk_widget_add_css_class (box, "caption-bar");
  self->box = box;
  self->title = GTK_LABEL (title);
  self->text = GTK_LABEL (text);
  return box;
}

/* One rewrite by its rule; more by what holds them together. */
static char *
caption_title (const IrModel *history, const IrFrame *frame)
{
  const IrStep *last;
  const char *pass;

  if (frame->from > frame->to)
    return g_strdup_printf ("Step %u, compared with step %u", frame->to, frame->from);
  last = ir_history_step (history, frame->to);
  pass = ir_history_pass_of (history, frame->to);
  if (frame->from == frame->to || frame->from + 1 == frame->to)
    return strcmp (pass, last->rule) == 0 ? g_strdup (pass)
                                          : g_strdup_printf ("%s · %s", pass, last->rule);
  if (ir_history_step (history, frame->from + 1)->pass_run == last->pass_run)
    return g_strdup_printf ("%s · %u steps", pass, frame->to - frame->from);
  return g_strdup_printf ("Steps %u to %u", frame->from + 1, frame->to);
}

static char *
foreign_title (IrSession *about)
{
  g_autofree char *other = ir_session_other_title (about);

  if (ir_session_get_compare (about) == IR_COMPARE_FILE)
    return g_strdup_printf ("Compared with %s", other);
  return g_strdup (ir_session_shows_what_if (about) ? "Compared with the original result"
                                                    : "Compared with the what-if");
}

static void
show (IrCaption *self, const char *title, const char *text)
{
  const gboolean has_text = text != NULL && text[0] != '\0';

  g_autofree char *whole = has_text ? g_strdup_printf ("%s\n%s", title, text) : g_strdup (title);

  gtk_label_set_text (self->title, title);
  gtk_label_set_text (self->text, has_text ? text : "");
  ir_set_tip (self->box, whole);
  gtk_widget_set_visible (self->box, TRUE);
}

void
ir_caption_update (IrCaption *self, IrSession *session)
{
  const IrModel *history = ir_session_get_history (session);
  const IrFrame *frame = ir_session_get_frame (session);
  const char *reason, *rule = ir_session_get_shown_why (session);
  g_autofree char *title = NULL;

  gtk_widget_set_visible (self->close, frame != NULL && (frame->foreign || frame->marks != NULL));
  if (frame != NULL && frame->marks != NULL && rule != NULL)
    {
      title = g_strdup_printf ("Why not %s", rule);
      show (self, title, ir_session_get_shown_why_text (session));
      return;
    }
  if (frame != NULL && frame->foreign)
    {
      title = foreign_title (session);
      show (self, title, "New: only in this graph. Removed: only in the other one.");
      return;
    }
  if (frame != NULL && frame->to == 0 && frame->from == 0 && ir_history_n_steps (history) > 0)
    {
      show (self, "Original",
            "As it was before the first step."); /* the graph stays at its place */
      return;
    }
  if (frame == NULL || frame->to > ir_history_n_steps (history) ||
      MAX (frame->to, frame->from) == 0)
    {
      gtk_widget_set_visible (self->box, FALSE);
      return;
    }
  title = caption_title (history, frame);
  reason = frame->from + 1 == frame->to ? ir_history_step (history, frame->to)->reason : NULL;
  show (self, title, reason);
}
