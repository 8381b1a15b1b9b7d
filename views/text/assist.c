/* What helps to read and write the text. */
#include "config.h"

#include "views/text/assist.h"

#include "core/op/op.h"

#include <string.h>

#define MAX_MARKED 200 /* statements that are marked as changed */
#define CHANGED    "changed"

/* ONNX text, as data/onnxtxt.lang says. */
static GtkSourceLanguage *
find_language (void)
{
  static const char path[] = "resource:///org/irscope/Irscope/languages/";
  GtkSourceLanguageManager *manager = gtk_source_language_manager_get_default ();

  /* before it is asked for the first time */
  if (!g_strv_contains (gtk_source_language_manager_get_search_path (manager), path))
    gtk_source_language_manager_append_search_path (manager, path);
  return gtk_source_language_manager_get_language (manager, "onnxtxt");
}

/* -- completion: operators, and words of the text -- */

static gboolean
is_word (gunichar c)
{
  return g_unichar_isalnum (c) || c == '_' || c == '.' || c == '/';
}

static void
offer (GPtrArray *found, const char *word, const char *typed)
{
  if (g_ascii_strncasecmp (word, typed, strlen (typed)) == 0 && strcmp (word, typed) != 0 &&
      !g_ptr_array_find_with_equal_func (found, word, g_str_equal, NULL))
    g_ptr_array_add (found, g_strdup (word));
}

/* (transfer full) */
static GPtrArray *
find_words (GtkTextBuffer *buffer, const char *typed)
{
  GPtrArray *found = g_ptr_array_new_with_free_func (g_free);
  GtkTextIter start, end;
  g_autofree char *text = NULL;
  g_auto (GStrv) words = NULL;

  for (guint i = 1; i < ir_op_n (); i++)
    offer (found, ir_op_by_id ((IrOpId) i)->name, typed);
  gtk_text_buffer_get_bounds (buffer, &start, &end);
  text = gtk_text_buffer_get_text (buffer, &start, &end, FALSE);
  words = g_strsplit_set (text, " \t\n()<>{}[],=:\"", -1);
  for (guint i = 0; words[i] != NULL; i++)
    offer (found, words[i], typed);
  return found;
}

/* As far as all of them say the same. (transfer full) */
static char *
common_start (const GPtrArray *words)
{
  const char *first = words->pdata[0];
  gsize length = strlen (first);

  for (guint i = 1; i < words->len; i++)
    {
      const char *word = words->pdata[i];
      gsize same = 0;

      while (same < length && word[same] == first[same])
        same++;
      length = same;
    }
  return g_strndup (first, length);
}

/* Completes the word before the cursor as far as that is clear. (transfer full): what it could be, none
 * where it is complete. @n_typed: (out): characters of it before the cursor */
GPtrArray *
ir_text_complete (GtkTextBuffer *buffer, guint *n_typed)
{
  GtkTextIter start, end;
  g_autofree char *typed = NULL, *common = NULL;
  GPtrArray *found;

  gtk_text_buffer_get_iter_at_mark (buffer, &end, gtk_text_buffer_get_insert (buffer));
  start = end;
  while (gtk_text_iter_backward_char (&start))
    if (!is_word (gtk_text_iter_get_char (&start)))
      {
        gtk_text_iter_forward_char (&start);
        break;
      }
  typed = gtk_text_buffer_get_text (buffer, &start, &end, FALSE);
  found = typed[0] != '\0' ? find_words (buffer, typed) : g_ptr_array_new_with_free_func (g_free);
  *n_typed = (guint) g_utf8_strlen (typed, -1);
  if (found->len == 0)
    return found;
  common = common_start (found);
  if (strlen (common) > strlen (typed) || found->len == 1)
    {
      gtk_text_buffer_begin_user_action (buffer);
      gtk_text_buffer_delete (buffer, &start, &end);
      gtk_text_buffer_insert (buffer, &start, common, -1);
      gtk_text_buffer_end_user_action (buffer);
      *n_typed = (guint) g_utf8_strlen (common, -1);
    }
  return found;
}

void
ir_text_assist (GtkSourceView *view)
{
  GtkSourceBuffer *buffer = GTK_SOURCE_BUFFER (gtk_text_view_get_buffer (GTK_TEXT_VIEW (view)));
  const GdkRGBA colour = { 0.2f, 0.6f, 1, 0.16f };

  gtk_source_buffer_set_language (buffer, find_language ());
  gtk_text_buffer_create_tag (GTK_TEXT_BUFFER (buffer), CHANGED, "paragraph-background-rgba",
                              &colour, NULL);
}

/* -- changed lines -- */

/* The line where @needle begins a statement. */
static void
mark_statement (GtkTextBuffer *buffer, const char *needle)
{
  GtkTextIter at, from, to;

  gtk_text_buffer_get_start_iter (buffer, &at);
  while (gtk_text_iter_forward_search (&at, needle, 0, &from, &to, NULL))
    {
      GtkTextIter before = from;

      if (gtk_text_iter_backward_char (&before) &&
          !g_unichar_isspace (gtk_text_iter_get_char (&before)))
        {
          at = to;
          continue;
        }
      gtk_text_iter_set_line_offset (&from, 0);
      gtk_text_iter_forward_line (&to);
      gtk_text_buffer_apply_tag_by_name (buffer, CHANGED, &from, &to);
      return;
    }
}

/* The statements of nodes that the step on screen made or changed. */
void
ir_text_mark_changes (GtkTextBuffer *buffer, const IrFrame *frame)
{
  guint n = 0, n_marked = 0;
  const IrSceneBox *boxes = frame != NULL && frame->scene != NULL
                                ? ir_scene_boxes (frame->scene, &n)
                                : NULL;

  for (guint i = 0; i < n && n_marked < MAX_MARKED; i++)
    {
      const IrNode *node = boxes[i].state == IR_SCENE_NEW || boxes[i].state == IR_SCENE_CHANGED
                               ? ir_model_live_node (frame->model, boxes[i].node)
                               : NULL;
      const IrValue *value = node != NULL ? ir_node_output (node, 0) : NULL;
      g_autofree char *plain = NULL, *quoted = NULL;

      if (value == NULL)
        continue;
      n_marked++;
      plain = g_strdup_printf ("%s =", value->name);
      quoted = g_strdup_printf ("\"%s\" =", value->name);
      mark_statement (buffer, quoted);
      mark_statement (buffer, plain);
    }
}
