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

/* Names of operators, and all words of the text (Ctrl+Space). */
static void
add_completion (GtkSourceView *view)
{
  GtkSourceCompletion *completion = gtk_source_view_get_completion (view);
  GtkSourceCompletionWords *words = gtk_source_completion_words_new ("Words");
  g_autoptr (GtkTextBuffer) operators = gtk_text_buffer_new (NULL);
  g_autoptr (GString) names = g_string_new (NULL);

  for (guint i = 1; i < ir_op_n (); i++)
    g_string_append_printf (names, "%s\n", ir_op_by_id ((IrOpId) i)->name);
  gtk_text_buffer_set_text (operators, names->str, (int) names->len);
  gtk_source_completion_words_register (words, operators);
  gtk_source_completion_words_register (words, gtk_text_view_get_buffer (GTK_TEXT_VIEW (view)));
  g_object_set (words, "minimum-word-size", 3, NULL);
  /* When it is asked for: what comes by itself is at times shown without a size (GtkSourceView 5.6). */
  gtk_source_completion_block_interactive (completion);
  gtk_source_completion_add_provider (completion, GTK_SOURCE_COMPLETION_PROVIDER (words));
  g_object_set_data_full (G_OBJECT (view), "operators", g_steal_pointer (&operators),
                          g_object_unref);
  g_object_unref (words);
}

void
ir_text_assist (GtkSourceView *view)
{
  GtkSourceBuffer *buffer = GTK_SOURCE_BUFFER (gtk_text_view_get_buffer (GTK_TEXT_VIEW (view)));
  const GdkRGBA colour = { 0.2f, 0.6f, 1, 0.16f };

  gtk_source_buffer_set_language (buffer, find_language ());
  gtk_text_buffer_create_tag (GTK_TEXT_BUFFER (buffer), CHANGED, "paragraph-background-rgba",
                              &colour, NULL);
  add_completion (view);
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
