/* The text: the graph at the cursor in ONNX's textual syntax. Apply reads it; what cannot be read
 * is underlined at its place, otherwise the differences become one step of the history. Large
 * constants are written as {...} and stay what they are. */
#include "config.h"

#include "core/act/act.h"
#include "core/io/io.h"
#include "core/op/verify.h"
#include "views/jobs.h"
#include "views/session/frame.h"
#include "views/session/selection.h"
#include "views/session/timeline.h"
#include "views/text/assist.h"
#include "views/text/find-bar.h"
#include "views/text/folding.h"
#include "views/text/offers.h"
#include "views/view.h"

#include <gtksourceview/gtksource.h>
#include <string.h>

#define LARGE_ELEMENTS 16    /* of a constant: more is written as {...} */
#define CHUNK          65536 /* bytes that are put into the buffer between two frames */

struct _IrTextView
{
  IrView parent;
  GtkWidget *stack, *view, *status, *find_bar, *fold;
  GtkSourceBuffer *buffer;
  GtkTextTag *error_tag;
  IrModel *shown; /* (nullable) the model whose text it is */
  GPtrArray *problems;
  gboolean loading;
  gboolean parsing;   /* a job reads the text */
  guint check_source; /* what is typed is read when there is a pause */
  guint n_changes;    /* of the text, counted */
  gboolean applied;   /* the session is making the step; until then the text counts as changed */

  char *rest; /* (nullable) a long text, that is put into the buffer bit by bit */
  gsize rest_at;
  guint rest_source;
  int line; /* where the cursor was */
};

#define IR_TYPE_TEXT_VIEW (ir_text_view_get_type ())
G_DECLARE_FINAL_TYPE (IrTextView, ir_text_view, IR, TEXT_VIEW, IrView)
G_DEFINE_FINAL_TYPE (IrTextView, ir_text_view, IR_TYPE_VIEW)

/* -- showing -- */

static void
update_actions (IrTextView *self)
{
  gboolean modified = gtk_text_buffer_get_modified (GTK_TEXT_BUFFER (self->buffer));

  const gboolean can = modified && !self->loading && !self->parsing && !self->applied;

  gtk_widget_action_set_enabled (GTK_WIDGET (self), "text.apply", can);
  gtk_widget_action_set_enabled (GTK_WIDGET (self), "text.revert", can);
  ir_view_set_indicator (IR_VIEW (self), modified ? "•" : NULL);
}

static void
set_status (IrTextView *self, const char *text, gboolean is_error)
{
  const char *classes[] = { is_error ? "error" : "dim-label", "text-status", NULL };

  gtk_widget_set_visible (self->status, text[0] != '\0');
  gtk_widget_set_css_classes (self->status, classes);
  gtk_label_set_text (GTK_LABEL (self->status), text);
  gtk_widget_set_tooltip_text (self->status, text[0] != '\0' ? text : NULL);
}

static void
clear_marks (IrTextView *self)
{
  GtkTextIter start, end;

  gtk_text_buffer_get_bounds (GTK_TEXT_BUFFER (self->buffer), &start, &end);
  gtk_text_buffer_remove_tag (GTK_TEXT_BUFFER (self->buffer), self->error_tag, &start, &end);
}

static void select_node (IrTextView *self);

/* The cursor goes to the line where it was, if nothing is selected that is elsewhere. */
static void
end_loading (IrTextView *self)
{
  GtkTextBuffer *buffer = GTK_TEXT_BUFFER (self->buffer);
  const IrFrame *frame = ir_session_get_frame (ir_view_get_session (IR_VIEW (self)));
  GtkTextIter iter;

  g_clear_pointer (&self->rest, g_free);
  gtk_text_buffer_end_irreversible_action (buffer);
  gtk_text_buffer_set_modified (buffer, FALSE);
  gtk_text_view_set_editable (GTK_TEXT_VIEW (self->view), TRUE);
  self->loading = FALSE;
  gtk_text_buffer_get_iter_at_line (buffer, &iter, self->line);
  gtk_text_buffer_place_cursor (buffer, &iter);
  if (self->line > 0)
    gtk_text_view_scroll_mark_onscreen (GTK_TEXT_VIEW (self->view),
                                        gtk_text_buffer_get_insert (buffer));
  /* to where lines begin: what was typed before may have been longer */
  gtk_adjustment_set_value (gtk_scrollable_get_hadjustment (GTK_SCROLLABLE (self->view)), 0);
  ir_text_fold_update (self->fold);
  ir_text_mark_changes (GTK_TEXT_BUFFER (self->buffer), frame);
  select_node (self);
  gtk_widget_queue_resize (self->view);
  set_status (self,
              frame != NULL && ir_model_n_nodes (frame->model) == 0
                  ? "Write a graph, such as  g (float[3] x) => (y) { y = Relu (x) }  and apply it."
                  : "",
              FALSE);
  update_actions (self);
}

static gboolean
insert_chunk (gpointer data)
{
  IrTextView *self = data;
  const char *from = self->rest + self->rest_at;
  gsize length = MIN (strlen (from), CHUNK);
  GtkTextIter end;

  while (length > 0 && (from[length] & 0xc0) == 0x80) /* not inside of a character */
    length--;
  gtk_text_buffer_get_end_iter (GTK_TEXT_BUFFER (self->buffer), &end);
  gtk_text_buffer_insert (GTK_TEXT_BUFFER (self->buffer), &end, from, (int) length);
  self->rest_at += length;
  if (length > 0 && self->rest[self->rest_at] != '\0')
    return G_SOURCE_CONTINUE;
  self->rest_source = 0;
  end_loading (self);
  return G_SOURCE_REMOVE;
}

/* A long text goes into the buffer bit by bit, so that the window goes on meanwhile. */
static void
set_text (IrTextView *self, char *text)
{
  GtkTextBuffer *buffer = GTK_TEXT_BUFFER (self->buffer);
  GtkTextIter iter;

  if (self->rest_source == 0)
    {
      gtk_text_buffer_get_iter_at_mark (buffer, &iter, gtk_text_buffer_get_insert (buffer));
      self->line = gtk_text_iter_get_line (&iter);
      gtk_text_buffer_begin_irreversible_action (buffer);
    }
  g_clear_handle_id (&self->rest_source, g_source_remove);
  g_clear_pointer (&self->problems, g_ptr_array_unref);
  g_free (self->rest);
  self->rest = text;
  self->rest_at = 0;
  self->loading = TRUE;
  gtk_text_view_set_editable (GTK_TEXT_VIEW (self->view), FALSE);
  gtk_text_buffer_set_text (buffer, "", 0);
  if (insert_chunk (self))
    self->rest_source = g_idle_add_full (GDK_PRIORITY_REDRAW + 10, insert_chunk, self, NULL);
}

static gpointer
write_text (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  IrTextOptions options = { .large = IR_TEXT_ELIDE, .max_elements = LARGE_ELEMENTS };
  return ir_text_write_options (data, &options);
}

static void
on_written (gpointer owner, gpointer result, const GError *error, gpointer data)
{
  IrTextView *self = IR_TEXT_VIEW (owner);
  g_autofree char *text = result;

  if (text != NULL && self->shown == data)
    set_text (self, g_steal_pointer (&text));
}

static void
start_writing (IrTextView *self)
{
  IrJobSpec spec = {
    .run = write_text,
    .data = ir_model_ref (self->shown),
    .data_free = (GDestroyNotify) ir_model_unref,
    .result_free = g_free,
    .done = on_written,
  };
  ir_job_unref (ir_job_start (self, &spec));
}

/* Text that the user is changing is not replaced behind their back. */
static void
load_frame (IrTextView *self)
{
  const IrFrame *frame = ir_session_get_frame (ir_view_get_session (IR_VIEW (self)));

  gtk_stack_set_visible_child_name (GTK_STACK (self->stack), frame != NULL ? "text" : "closed");
  if (frame == NULL)
    {
      g_clear_pointer (&self->shown, ir_model_unref);
      return;
    }
  if (frame->model == self->shown)
    return;
  if (gtk_text_buffer_get_modified (GTK_TEXT_BUFFER (self->buffer)) && !self->applied &&
      !self->loading)
    {
      set_status (self, "The graph has moved on; Revert shows it.", FALSE);
      return;
    }
  self->applied = FALSE;
  g_clear_pointer (&self->shown, ir_model_unref);
  self->shown = ir_model_ref (frame->model);
  start_writing (self);
}

/* Where @needle stands at the beginning of a statement, not inside of another name. */
static gboolean
find_text (IrTextView *self, const char *needle, GtkTextIter *from, GtkTextIter *to)
{
  GtkTextIter start;

  gtk_text_buffer_get_start_iter (GTK_TEXT_BUFFER (self->buffer), &start);
  while (gtk_text_iter_forward_search (&start, needle, 0, from, to, NULL))
    {
      GtkTextIter before = *from;

      if (!gtk_text_iter_backward_char (&before) ||
          g_unichar_isspace (gtk_text_iter_get_char (&before)))
        return TRUE;
      start = *to;
    }
  return FALSE;
}

static gboolean
to_the_left (gpointer view)
{
  GtkAdjustment *across = gtk_scrollable_get_hadjustment (GTK_SCROLLABLE (view));

  gtk_adjustment_set_value (across, gtk_adjustment_get_lower (across));
  return G_SOURCE_REMOVE;
}

/* With its beginning: text to the left of what is shown would be cut at the line numbers. The toolkit
 * scrolls the left margin away, and does so when it has measured the lines. */
static void
show_line (IrTextView *self, const GtkTextIter *place)
{
  GtkTextIter begin = *place;

  gtk_text_iter_set_line_offset (&begin, 0);
  gtk_text_view_scroll_to_iter (GTK_TEXT_VIEW (self->view), &begin, 0.2, FALSE, 0, 0);
  g_idle_add_full (G_PRIORITY_LOW, to_the_left, g_object_ref (self->view), g_object_unref);
}

static void
select_node (IrTextView *self)
{
  IrSession *session = ir_view_get_session (IR_VIEW (self));
  const IrNode *node = self->shown != NULL
                           ? ir_model_live_node (self->shown,
                                                 ir_session_get_selected_node (session))
                           : NULL;
  const IrValue *value = node != NULL ? ir_node_output (node, 0) : NULL;
  g_autofree char *plain = NULL, *quoted = NULL;
  GtkTextIter from, to;

  if (value == NULL || self->loading)
    return;
  plain = g_strdup_printf ("%s =", value->name);
  quoted = g_strdup_printf ("\"%s\" =", value->name);
  if (!find_text (self, quoted, &from, &to) && !find_text (self, plain, &from, &to))
    return;
  gtk_text_iter_backward_chars (&to, 2);
  gtk_text_buffer_select_range (GTK_TEXT_BUFFER (self->buffer), &from, &to);
  show_line (self, &from);
}

static void
ir_text_view_session_changed (IrView *view, IrSessionChanges changes)
{
  IrTextView *self = IR_TEXT_VIEW (view);

  if (changes & (IR_CHANGED_FRAME | IR_CHANGED_HISTORY))
    load_frame (self);
  if (changes & IR_CHANGED_SELECTION &&
      !gtk_text_buffer_get_modified (GTK_TEXT_BUFFER (self->buffer)))
    select_node (self);
  if (changes & IR_CHANGED_BUSY && self->applied &&
      !ir_session_get_busy (ir_view_get_session (view)))
    { /* it made no step: the text stays as the user wrote it */
      self->applied = FALSE;
      update_actions (self);
    }
}

/* -- problems -- */

static void
mark_problem (IrTextView *self, const IrProblem *problem)
{
  GtkTextBuffer *buffer = GTK_TEXT_BUFFER (self->buffer);
  GtkTextIter start, end;

  if (problem->line == 0)
    return;
  gtk_text_buffer_get_iter_at_line_index (buffer, &start, (int) problem->line - 1, 0);
  for (guint i = 1; i < problem->column && !gtk_text_iter_ends_line (&start); i++)
    gtk_text_iter_forward_char (&start);
  end = start;
  if (gtk_text_iter_ends_line (&end))
    gtk_text_iter_backward_char (&start);
  else if (!gtk_text_iter_forward_word_end (&end) ||
           gtk_text_iter_get_line (&end) != gtk_text_iter_get_line (&start))
    {
      end = start;
      gtk_text_iter_forward_char (&end);
    }
  gtk_text_buffer_apply_tag (buffer, self->error_tag, &start, &end);
  ir_text_fold_open_at (self->fold, &start);
}

/* What is wrong with a node has no place of its own: where its first output is made. */
static void
mark_node (IrTextView *self, const IrModel *model, IrNodeId id)
{
  const IrNode *node = model != NULL ? ir_model_live_node (model, id) : NULL;
  const IrValue *value = node != NULL ? ir_node_output (node, 0) : NULL;
  g_autofree char *text = value != NULL ? g_strdup_printf ("%s =", value->name) : NULL;
  GtkTextIter from, to;

  if (text == NULL || !find_text (self, text, &from, &to))
    return;
  to = from;
  gtk_text_iter_forward_to_line_end (&to);
  gtk_text_buffer_apply_tag (GTK_TEXT_BUFFER (self->buffer), self->error_tag, &from, &to);
}

/* @model: (nullable): what the text says, as far as it could be read */
static void
place_problems (IrTextView *self, const IrModel *model)
{
  for (guint i = 0; i < self->problems->len; i++)
    {
      const IrProblem *problem = self->problems->pdata[i];

      if (problem->severity < IR_SEVERITY_ERROR)
        continue;
      if (problem->line > 0)
        mark_problem (self, problem);
      else
        mark_node (self, model, problem->node);
    }
}

/* In the status; (nullable): the first one */
static const IrProblem *
say_problems (IrTextView *self, GPtrArray *problems, const GError *error)
{
  const IrProblem *first = NULL;
  g_autofree char *text = NULL;
  guint n_errors;

  for (guint i = 0; i < problems->len && first == NULL; i++)
    if (((IrProblem *) problems->pdata[i])->severity >= IR_SEVERITY_ERROR)
      first = problems->pdata[i];
  if (first == NULL)
    {
      set_status (self, error != NULL ? error->message : "The text cannot be read.", TRUE);
      return NULL;
    }
  n_errors = ir_problems_count (problems, IR_SEVERITY_ERROR);
  text = first->line == 0 || g_str_has_prefix (first->message, "Line ")
             ? g_strdup (first->message)
             : g_strdup_printf ("Line %u, column %u: %s", first->line, first->column,
                                first->message);
  if (n_errors > 1)
    {
      char *more = g_strdup_printf ("%s  (and %u more)", text, n_errors - 1);

      g_free (text);
      text = more;
    }
  set_status (self, text, TRUE);
  return first;
}

static void
show_problems (IrTextView *self, GPtrArray *problems, const GError *error)
{
  const IrProblem *first;
  GtkTextIter place;

  place_problems (self, NULL);
  first = say_problems (self, problems, error);
  if (first == NULL || first->line == 0)
    return;
  gtk_text_buffer_get_iter_at_line (GTK_TEXT_BUFFER (self->buffer), &place, (int) first->line - 1);
  gtk_text_buffer_place_cursor (GTK_TEXT_BUFFER (self->buffer), &place);
  show_line (self, &place);
}

/* What the text says is wrong here, or NULL. */
static char *
problem_at (IrTextView *self, guint line)
{
  for (guint i = 0; self->problems != NULL && i < self->problems->len; i++)
    {
      const IrProblem *problem = self->problems->pdata[i];

      if (problem->line == line)
        return problem->hint != NULL ? g_strdup_printf ("%s\n%s", problem->message, problem->hint)
                                     : g_strdup (problem->message);
    }
  return NULL;
}

static gboolean
on_query_tooltip (
    GtkWidget *widget, int x, int y, gboolean keyboard, GtkTooltip *tooltip, IrTextView *self)
{
  GtkTextIter iter;
  int bx, by;
  g_autofree char *text = NULL;

  if (keyboard)
    return FALSE;
  gtk_text_view_window_to_buffer_coords (GTK_TEXT_VIEW (widget), GTK_TEXT_WINDOW_WIDGET, x, y, &bx,
                                         &by);
  if (!gtk_text_view_get_iter_at_location (GTK_TEXT_VIEW (widget), &iter, bx, by) ||
      !gtk_text_iter_has_tag (&iter, self->error_tag))
    return FALSE;
  text = problem_at (self, (guint) gtk_text_iter_get_line (&iter) + 1);
  if (text == NULL)
    return FALSE;
  gtk_tooltip_set_text (tooltip, text);
  return TRUE;
}

/* -- applying -- */

/* One step: the differences, and the types that follow from them. */
static gboolean
graft_text (
    IrEdit *edit, gpointer data, GPtrArray *problems, GCancellable *cancellable, GError **error)
{
  ir_act_apply_text (edit, data, problems);
  return TRUE;
}

typedef struct
{
  char *text;
  IrModel *base;
} ParseRequest;

typedef struct
{
  IrModel *target; /* (nullable) */
  GPtrArray *problems;
  GError *error;
} Parsed;

static void
parse_request_free (gpointer data)
{
  ParseRequest *request = data;

  g_free (request->text);
  ir_model_unref (request->base);
  g_free (request);
}

static void
parsed_free (gpointer data)
{
  Parsed *parsed = data;

  g_clear_pointer (&parsed->target, ir_model_unref);
  g_ptr_array_unref (parsed->problems);
  g_clear_error (&parsed->error);
  g_free (parsed);
}

/* What is wrong with types, beside what cannot be read. */
static void
verify (Parsed *parsed)
{
  if (parsed->target != NULL && ir_problems_count (parsed->problems, IR_SEVERITY_ERROR) == 0)
    ir_verify_model (parsed->target, parsed->problems);
}

static gpointer
parse_text (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  const ParseRequest *request = data;
  Parsed *parsed = g_new0 (Parsed, 1);

  parsed->problems = ir_problems_new ();
  parsed->target = ir_text_read_over (request->text, -1, request->base, parsed->problems,
                                      &parsed->error);
  return parsed;
}

static void
on_parsed (gpointer owner, gpointer result, const GError *error, gpointer data)
{
  IrTextView *self = IR_TEXT_VIEW (owner);
  const ParseRequest *request = data;
  Parsed *parsed = result;

  self->parsing = FALSE;
  gtk_text_view_set_editable (GTK_TEXT_VIEW (self->view), TRUE);
  g_clear_pointer (&self->problems, g_ptr_array_unref);
  self->problems = g_ptr_array_ref (parsed->problems);
  if (parsed->target == NULL || ir_problems_count (self->problems, IR_SEVERITY_ERROR) > 0)
    show_problems (self, self->problems, parsed->error);
  else if (request->base != self->shown)
    set_status (self, "The graph has moved on; Revert shows it.", FALSE);
  else
    {
      set_status (self, "", FALSE);
      self->applied = TRUE;
      ir_session_edit (ir_view_get_session (IR_VIEW (self)), "Apply Text",
                       ir_done_new (IR_DONE_TEXT, request->text, NULL, 0), graft_text,
                       g_steal_pointer (&parsed->target), (GDestroyNotify) ir_model_unref);
    }
  update_actions (self);
  parsed_free (parsed);
}

/* -- reading while one types -- */

#define PAUSE_MS 300

typedef struct
{
  ParseRequest parse; /* first */
  guint n_changes;
} CheckRequest;

static gpointer
check_text (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  Parsed *parsed = parse_text (job, data, cancellable, error);

  verify (parsed);
  return parsed;
}

/* What is found is underlined, if nothing was typed meanwhile; the cursor stays. */
static void
on_checked (gpointer owner, gpointer result, const GError *error, gpointer data)
{
  IrTextView *self = IR_TEXT_VIEW (owner);
  const CheckRequest *request = data;
  Parsed *parsed = result;

  if (request->n_changes == self->n_changes && !self->parsing && !self->applied && !self->loading)
    {
      g_clear_pointer (&self->problems, g_ptr_array_unref);
      self->problems = g_ptr_array_ref (parsed->problems);
      clear_marks (self);
      place_problems (self, parsed->target);
      if (ir_problems_count (self->problems, IR_SEVERITY_ERROR) > 0 || parsed->target == NULL)
        say_problems (self, self->problems, parsed->error);
      else
        set_status (self, "Can be applied (Ctrl+Enter)", FALSE);
    }
  parsed_free (parsed);
}

static gboolean
check_now (gpointer data)
{
  IrTextView *self = data;
  GtkTextIter start, end;
  CheckRequest *request;

  self->check_source = 0;
  if (self->shown == NULL || self->parsing || self->applied || self->loading ||
      !gtk_text_buffer_get_modified (GTK_TEXT_BUFFER (self->buffer)))
    return G_SOURCE_REMOVE;
  gtk_text_buffer_get_bounds (GTK_TEXT_BUFFER (self->buffer), &start, &end);
  request = g_new0 (CheckRequest, 1);
  request->parse.text = gtk_text_buffer_get_text (GTK_TEXT_BUFFER (self->buffer), &start, &end,
                                                  TRUE);
  request->parse.base = ir_model_ref (self->shown);
  request->n_changes = self->n_changes;
  ir_job_unref (ir_job_start (self, &(IrJobSpec){ .run = check_text,
                                                  .data = request,
                                                  .data_free = parse_request_free,
                                                  .result_free = parsed_free,
                                                  .done = on_checked }));
  return G_SOURCE_REMOVE;
}

static void
apply_text (IrTextView *self)
{
  GtkTextBuffer *buffer = GTK_TEXT_BUFFER (self->buffer);
  GtkTextIter start, end;
  ParseRequest *request;

  if (self->shown == NULL || self->parsing || self->applied || self->loading ||
      !gtk_text_buffer_get_modified (buffer))
    return;
  if (ir_session_get_busy (ir_view_get_session (IR_VIEW (self))))
    {
      set_status (self, "Wait until the current work ends, then apply again.", FALSE);
      return;
    }
  clear_marks (self);
  g_clear_handle_id (&self->check_source, g_source_remove);
  gtk_text_buffer_get_bounds (buffer, &start, &end);
  request = g_new0 (ParseRequest, 1);
  request->text = gtk_text_buffer_get_text (buffer, &start, &end, TRUE);
  request->base = ir_model_ref (self->shown);
  self->parsing = TRUE;
  gtk_text_view_set_editable (GTK_TEXT_VIEW (self->view), FALSE);
  set_status (self, "Reading the text…", FALSE);
  update_actions (self);
  ir_job_unref (ir_job_start (self, &(IrJobSpec){ .run = parse_text,
                                                  .data = request,
                                                  .data_free = parse_request_free,
                                                  .result_free = parsed_free,
                                                  .done = on_parsed }));
}

static void
revert_text (IrTextView *self)
{
  if (self->parsing || self->applied || self->loading)
    return;
  clear_marks (self);
  gtk_text_buffer_set_modified (GTK_TEXT_BUFFER (self->buffer), FALSE);
  g_clear_pointer (&self->shown, ir_model_unref);
  load_frame (self);
}

static void
on_changed (GtkTextBuffer *buffer, IrTextView *self)
{
  if (self->loading)
    return;
  set_status (self, "", FALSE);
  clear_marks (self);
  update_actions (self);
  self->n_changes++;
  g_clear_handle_id (&self->check_source, g_source_remove);
  self->check_source = g_timeout_add (PAUSE_MS, check_now, self);
}

/* Where the cursor is, by a search or by keys, is to be seen. */
static void
on_cursor (GtkTextBuffer *buffer, GParamSpec *pspec, IrTextView *self)
{
  GtkTextIter place;

  gtk_text_buffer_get_iter_at_mark (buffer, &place, gtk_text_buffer_get_insert (buffer));
  if (!self->loading)
    ir_text_fold_open_at (self->fold, &place);
}

static void
action_apply (GtkWidget *widget, const char *name, GVariant *parameter)
{
  apply_text (IR_TEXT_VIEW (widget));
}

static void
action_revert (GtkWidget *widget, const char *name, GVariant *parameter)
{
  revert_text (IR_TEXT_VIEW (widget));
}

static void
action_search (GtkWidget *widget, const char *name, GVariant *parameter)
{
  /* hidden text is not searched */
  gtk_toggle_button_set_active (GTK_TOGGLE_BUTTON (IR_TEXT_VIEW (widget)->fold), TRUE);
  ir_find_bar_open (IR_TEXT_VIEW (widget)->find_bar);
}

static void
action_next_hit (GtkWidget *widget, const char *name, GVariant *parameter)
{
  ir_find_bar_move (IR_TEXT_VIEW (widget)->find_bar, TRUE);
}

static void
action_previous_hit (GtkWidget *widget, const char *name, GVariant *parameter)
{
  ir_find_bar_move (IR_TEXT_VIEW (widget)->find_bar, FALSE);
}

/* -- object -- */

static void
follow_theme (IrTextView *self)
{
  gboolean dark = adw_style_manager_get_dark (adw_style_manager_get_default ());
  GtkSourceStyleScheme *scheme = gtk_source_style_scheme_manager_get_scheme (
      gtk_source_style_scheme_manager_get_default (), dark ? "Adwaita-dark" : "Adwaita");

  gtk_source_buffer_set_style_scheme (self->buffer, scheme);
}

static void
ir_text_view_dispose (GObject *object)
{
  IrTextView *self = IR_TEXT_VIEW (object);

  g_clear_handle_id (&self->rest_source, g_source_remove);
  g_clear_handle_id (&self->check_source, g_source_remove);
  g_clear_pointer (&self->rest, g_free);
  g_clear_pointer (&self->shown, ir_model_unref);
  g_clear_pointer (&self->problems, g_ptr_array_unref);
  G_OBJECT_CLASS (ir_text_view_parent_class)->dispose (object);
}

static void
ir_text_view_focus_content (IrView *view)
{
  gtk_widget_grab_focus (IR_TEXT_VIEW (view)->view);
}

/* The last line can be scrolled above what floats there. */
static void
ir_text_view_inset (IrView *view, int px)
{
  gtk_text_view_set_bottom_margin (GTK_TEXT_VIEW (IR_TEXT_VIEW (view)->view), px);
}

static void
ir_text_view_class_init (IrTextViewClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  G_OBJECT_CLASS (klass)->dispose = ir_text_view_dispose;
  IR_VIEW_CLASS (klass)->session_changed = ir_text_view_session_changed;
  IR_VIEW_CLASS (klass)->focus_content = ir_text_view_focus_content;
  IR_VIEW_CLASS (klass)->inset = ir_text_view_inset;
  gtk_widget_class_install_action (widget_class, "text.apply", NULL, action_apply);
  gtk_widget_class_install_action (widget_class, "text.revert", NULL, action_revert);
  gtk_widget_class_install_action (widget_class, "view.search", NULL, action_search);
  gtk_widget_class_install_action (widget_class, "view.next-hit", NULL, action_next_hit);
  gtk_widget_class_install_action (widget_class, "view.previous-hit", NULL, action_previous_hit);
}

static GtkWidget *
text_button (const char *label, const char *tooltip, const char *action, const char *css)
{
  GtkWidget *button = gtk_button_new_with_label (label);

  gtk_widget_set_tooltip_text (button, tooltip);
  gtk_actionable_set_action_name (GTK_ACTIONABLE (button), action);
  if (css != NULL)
    gtk_widget_add_css_class (button, css);
  return button;
}

static GtkWidget *
make_bar (IrTextView *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0),
            *buttons = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6), *revert, *apply;

  self->status = gtk_label_new (NULL);
  gtk_label_set_xalign (GTK_LABEL (self->status), 0);
  gtk_label_set_ellipsize (GTK_LABEL (self->status), PANGO_ELLIPSIZE_END);
  gtk_label_set_wrap (GTK_LABEL (self->status), TRUE);
  gtk_label_set_lines (GTK_LABEL (self->status), 3);
  gtk_widget_set_visible (self->status, FALSE);
  gtk_widget_set_halign (buttons, GTK_ALIGN_END);
  revert = text_button ("Revert", "Show the graph as it is", "text.revert", NULL);
  apply = text_button ("Apply", "Make the graph what the text says, as one step (Ctrl+Enter)",
                       "text.apply", "suggested-action");
  self->fold = ir_text_fold_new (GTK_TEXT_BUFFER (self->buffer));
  gtk_box_append (GTK_BOX (buttons), self->fold);
  gtk_box_append (GTK_BOX (buttons), revert);
  gtk_box_append (GTK_BOX (buttons), apply);
  gtk_widget_add_css_class (buttons, "view-toolbar");
  gtk_box_append (GTK_BOX (box), buttons);
  gtk_box_append (GTK_BOX (box), self->status);
  return box;
}

static gboolean
complete (GtkWidget *widget, GVariant *arguments, gpointer data)
{
  IrTextView *self = data;
  guint n_typed;
  g_autoptr (GPtrArray) words = ir_text_complete (GTK_TEXT_BUFFER (self->buffer), &n_typed);

  if (words->len == 0)
    set_status (self, "No operator and no value begins so", FALSE);
  else if (words->len > 1)
    ir_text_offer (GTK_WIDGET (self), GTK_TEXT_VIEW (self->view), g_steal_pointer (&words),
                   n_typed);
  return TRUE;
}

/* Before the editor itself takes the key for a new line, or for a completion of its own, which at times
 * is shown without a size. */
static void
add_shortcut (IrTextView *self)
{
  GtkEventController *controller = gtk_shortcut_controller_new ();
  GtkShortcutTrigger *trigger = gtk_shortcut_trigger_parse_string (
      "<Control>Return|<Control>KP_Enter");

  gtk_event_controller_set_propagation_phase (controller, GTK_PHASE_CAPTURE);
  gtk_shortcut_controller_add_shortcut (
      GTK_SHORTCUT_CONTROLLER (controller),
      gtk_shortcut_new (trigger, gtk_named_action_new ("text.apply")));
  gtk_shortcut_controller_add_shortcut (
      GTK_SHORTCUT_CONTROLLER (controller),
      gtk_shortcut_new (gtk_shortcut_trigger_parse_string ("<Control>space"),
                        gtk_callback_action_new (complete, self, NULL)));
  gtk_widget_add_controller (self->view, controller);
}

/* While there is typing that is not applied the keys are its own, also where it has been taken back to
 * its beginning: the next stroke would take back an edit of the graph, and the typing with it. */
static gboolean
keep_undo (GtkWidget *widget, GVariant *arguments, gpointer data)
{
  GtkTextBuffer *buffer = GTK_TEXT_BUFFER (IR_TEXT_VIEW (data)->buffer);

  return gtk_text_buffer_get_can_undo (buffer) || gtk_text_buffer_get_can_redo (buffer);
}

static void
add_undo_keys (IrTextView *self)
{
  GtkEventController *controller = gtk_shortcut_controller_new ();

  gtk_shortcut_controller_add_shortcut (
      GTK_SHORTCUT_CONTROLLER (controller),
      gtk_shortcut_new (gtk_shortcut_trigger_parse_string ("<Control>z|<Control><Shift>z"),
                        gtk_callback_action_new (keep_undo, self, NULL)));
  gtk_widget_add_controller (gtk_widget_get_parent (self->view), controller);
}

static GtkWidget *
make_editor (IrTextView *self)
{
  GtkWidget *scroller = gtk_scrolled_window_new ();

  self->buffer = gtk_source_buffer_new (NULL);
  gtk_source_buffer_set_highlight_matching_brackets (self->buffer, TRUE);
  self->error_tag = gtk_text_buffer_create_tag (GTK_TEXT_BUFFER (self->buffer), "problem",
                                                "underline", PANGO_UNDERLINE_ERROR, NULL);
  self->view = gtk_source_view_new_with_buffer (self->buffer);
  g_object_unref (self->buffer);
  ir_text_number_lines (GTK_SOURCE_VIEW (self->view));
  gtk_source_view_set_highlight_current_line (GTK_SOURCE_VIEW (self->view), TRUE);
  gtk_source_view_set_tab_width (GTK_SOURCE_VIEW (self->view), 2);
  gtk_source_view_set_insert_spaces_instead_of_tabs (GTK_SOURCE_VIEW (self->view), TRUE);
  gtk_text_view_set_monospace (GTK_TEXT_VIEW (self->view), TRUE);
  gtk_text_view_set_left_margin (GTK_TEXT_VIEW (self->view), 8);
  gtk_widget_set_has_tooltip (self->view, TRUE);
  ir_text_assist (GTK_SOURCE_VIEW (self->view));
  add_shortcut (self);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->view), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  "Text of the graph", -1);
  g_signal_connect (self->view, "query-tooltip", G_CALLBACK (on_query_tooltip), self);
  g_signal_connect_object (self->buffer, "changed", G_CALLBACK (on_changed), self, 0);
  g_signal_connect_object (self->buffer, "modified-changed", G_CALLBACK (update_actions), self,
                           G_CONNECT_SWAPPED); /* comes after "changed" */
  /* Lines are measured as sizes are given, not as they are drawn, when scroll bars have their places. */
  g_signal_connect_object (self->buffer, "changed", G_CALLBACK (gtk_widget_queue_resize),
                           self->view, G_CONNECT_SWAPPED);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scroller), self->view);
  add_undo_keys (self);
  gtk_widget_set_vexpand (scroller, TRUE);
  return scroller;
}

static void
ir_text_view_init (IrTextView *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0), *editor;

  editor = make_editor (self);
  gtk_box_append (GTK_BOX (box), make_bar (self));
  self->find_bar = ir_find_bar_new (GTK_SOURCE_VIEW (self->view));
  gtk_box_append (GTK_BOX (box), self->find_bar);
  gtk_box_append (GTK_BOX (box), editor);
  self->stack = gtk_stack_new ();
  gtk_stack_add_named (
      GTK_STACK (self->stack),
      ir_view_empty_page ("text-x-generic-symbolic", "No Graph",
                          "Open a graph to read it as text, or make a new one and write it.",
                          "win.new", "New Graph"),
      "closed");
  gtk_stack_add_named (GTK_STACK (self->stack), box, "text");
  adw_bin_set_child (ADW_BIN (self), self->stack);
  g_signal_connect_object (self->buffer, "notify::cursor-position", G_CALLBACK (on_cursor), self,
                           0);
  g_signal_connect_object (adw_style_manager_get_default (), "notify::dark",
                           G_CALLBACK (follow_theme), self, G_CONNECT_SWAPPED);
  follow_theme (self);
  update_actions (self);
}

const IrViewInfo ir_view_text = {
  .id = "text",
  .title = "Text",
  .icon_name = "text-x-generic-symbolic",
  .doc = "The graph as text, to read and to edit.",
  .help = "The same graph in ONNX text. Edit it, then Apply: it becomes what the text "
          "says, as one step that can be undone. Ctrl+F searches the text.",
  .place = IR_VIEW_BESIDE,
  .get_type = ir_text_view_get_type,
};
