/* Acts by hand. */
#include "config.h"

#include "views/session/act.h"

#include "core/act/act.h"
#include "core/io/io.h"
#include "passes/pipeline/save.h"
#include "views/session/edit-private.h"
#include "views/session/frame-private.h"
#include "views/session/hub.h"
#include "views/session/request.h"
#include "views/session/selection.h"

#include <string.h>

typedef struct
{
  GStrv words;
  IrActDone done;
  IrSessionRefused refused; /* (nullable) */
  gpointer data;
  GDestroyNotify data_free;
} ActRequest;

static void
act_free (gpointer data)
{
  ActRequest *request = data;

  g_strfreev (request->words);
  ir_act_done_clear (&request->done);
  if (request->data_free != NULL)
    request->data_free (request->data);
  g_free (request);
}

/* In a thread. */
static gboolean
do_act (IrEdit *edit, gpointer data, GPtrArray *problems, GCancellable *cancellable, GError **error)
{
  ActRequest *request = data;

  return ir_act_do (edit, (const char *const *) request->words, &request->done, problems, error);
}

static void
on_acted (IrSession *self, gpointer data)
{
  const ActRequest *request = data;
  const IrFrame *frame = ir_session_get_frame (self);
  g_autoptr (GtkBitset) nodes = gtk_bitset_new_empty ();

  for (guint i = 0; i < request->done.nodes->len; i++)
    {
      const IrNodeId id = g_array_index (request->done.nodes, IrNodeId, i);

      if (ir_model_live_node (frame->model, id) != NULL)
        gtk_bitset_add (nodes, id);
    }
  if (!gtk_bitset_is_empty (nodes))
    {
      ir_session_select_value (self, 0);
      ir_session_set_selection (self, nodes);
    }
  else if (ir_model_live_value (frame->model, request->done.value) != NULL)
    {
      ir_session_select_node (self, 0);
      ir_session_select_value (self, request->done.value);
    }
}

static void
on_refused (IrSession *self, const char *title, const GError *error, gpointer data)
{
  const ActRequest *request = data;

  if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED) ||
      !request->refused (error->message, request->data))
    ir_session_failed (self, title, error);
}

/* A newer version of ai.onnx may need other forms of nodes: passes write them, which acts do not know. */
static gboolean
upgrades (IrSession *self, const char *const *words)
{
  const IrFrame *frame = ir_session_get_frame (self);
  gint64 version;

  if (strcmp (words[0], "opset") != 0 || words[1] == NULL || words[2] != NULL || frame == NULL ||
      !g_ascii_string_to_signed (words[1], 10, 1, 1000, &version, NULL) ||
      version <= ir_model_opset (frame->model, ""))
    return FALSE;
  ir_session_upgrade_opset (self, version);
  return TRUE;
}

/* As a shell would read them again. (transfer full) */
static char *
quote_words (const char *const *words)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; words[i] != NULL; i++)
    {
      const gboolean plain = words[i][0] != '\0' &&
                             strspn (words[i], G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS
                                     "_-./:,=[]+@#%") == strlen (words[i]) &&
                             words[i][0] != '#';
      g_autofree char *quoted = plain ? g_strdup (words[i]) : g_shell_quote (words[i]);

      g_string_append_printf (text, "%s%s", i > 0 ? " " : "", quoted);
    }
  return g_string_free (text, FALSE);
}

/**
 * ir_session_act_or:
 * @words: (array zero-terminated=1): an act of core/act and its words; copied
 * @refused: (nullable): hears why it cannot be done, in place of a dialog
 * @data: (transfer full): of @refused, freed by @data_free (nullable)
 *
 * Does the act on the graph at the cursor, as one step. What it made or changed is selected.
 */
void
ir_session_act_or (IrSession *self,
                   const char *const *words,
                   IrSessionRefused refused,
                   gpointer data,
                   GDestroyNotify data_free)
{
  const IrAct *act = words[0] != NULL ? ir_act_find (words[0]) : NULL;
  g_autofree char *text = NULL;
  ActRequest *request;

  g_return_if_fail (act != NULL);
  if (upgrades (self, words))
    {
      if (data_free != NULL)
        data_free (data);
      return;
    }
  request = g_new0 (ActRequest, 1);
  request->words = g_strdupv ((char **) words);
  request->refused = refused;
  request->data = data;
  request->data_free = data_free;
  text = quote_words (words);
  ir_session_edit_then (self, act->title, ir_done_new (IR_DONE_ACT, text, NULL, 0), do_act,
                        on_acted, refused != NULL ? on_refused : NULL, request, act_free);
}

void
ir_session_act (IrSession *self, const char *const *words)
{
  ir_session_act_or (self, words, NULL, NULL, NULL);
}

/**
 * ir_session_copy_text:
 *
 * Returns: (transfer full) (nullable): the selected nodes in ONNX text; %NULL: none, or what speaks
 *   against it was said
 */
char *
ir_session_copy_text (IrSession *self)
{
  const IrFrame *frame = ir_session_get_frame (self);
  g_autoptr (GArray) ids = g_array_new (FALSE, FALSE, sizeof (IrNodeId));
  g_autoptr (GError) error = NULL;
  GtkBitsetIter iter;
  guint id;
  char *text;

  if (frame == NULL)
    return NULL;
  for (gboolean more = gtk_bitset_iter_init_first (&iter, ir_session_get_selection (self), &id);
       more; more = gtk_bitset_iter_next (&iter, &id))
    if (ir_model_live_node (frame->model, id) != NULL)
      g_array_append_val (ids, id);
  if (ids->len == 0)
    return NULL;
  text = ir_act_copy_text (frame->model, (const IrNodeId *) ids->data, ids->len, &error);
  if (text == NULL)
    ir_session_failed (self, "Cannot Copy", error);
  return text;
}

/* -- extracting -- */

typedef struct
{
  IrRequest base;
  GStrv from, to;
  char *path;
} ExtractRequest;

static void
clear_request (gpointer data)
{
  ExtractRequest *request = data;

  g_strfreev (request->from);
  g_strfreev (request->to);
  g_free (request->path);
}

static gpointer
run_extract (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  const ExtractRequest *request = data;
  g_autoptr (IrModel)
      part = ir_act_extract (request->base.frame->model, (const char *const *) request->from,
                             (const char *const *) request->to, error);

  if (part == NULL || !ir_pass_save_model (part, request->path, NULL, NULL, cancellable, error))
    return NULL;
  return GINT_TO_POINTER (TRUE);
}

static void
on_extracted (IrSession *self, gpointer result, gpointer data)
{
  const ExtractRequest *request = data;
  g_autofree char *base = g_path_get_basename (request->path);

  ir_session_changed (self, IR_CHANGED_BUSY);
  ir_session_message (self, "Wrote %s", base);
}

static const IrWork extract_work = {
  .run = run_extract,
  .done = on_extracted,
  .failure = "Cannot Extract",
  .clear = clear_request,
};

/**
 * ir_session_extract:
 * @from: (array zero-terminated=1): values, as ir_act_extract() takes them
 * @to: (array zero-terminated=1): values
 * @path: where the part is written
 */
void
ir_session_extract (IrSession *self,
                    const char *const *from,
                    const char *const *to,
                    const char *path)
{
  ExtractRequest *request;

  if (ir_session_is_empty (self))
    return;
  request = ir_session_new_request (self, &extract_work, sizeof *request);
  request->from = g_strdupv ((char **) from);
  request->to = g_strdupv ((char **) to);
  request->path = g_strdup (path);
  ir_session_start (self, "Extracting", request);
}

void
ir_session_refuse (IrSession *self, const char *why)
{
  ir_session_message (self, "%s", why);
}
