/* What the inputs of the graph are given in runs, and the graph with the shapes that this makes. */
#include "config.h"

#include "core/exec/eval/given.h"
#include "core/exec/run/fill.h"
#include "core/op/infer.h"
#include "passes/proof/compare-values.h"
#include "views/session/frame.h"
#include "views/session/inputs-private.h"
#include "views/session/timeline-private.h"

#include <string.h>

typedef struct
{
  GHashTable *given; /* value id -> IrTensor */
  GHashTable *words; /* value id -> IrInputWords: how that was made, or how it is filled */
  GHashTable *sizes; /* (nullable) that it was made for, referenced: the session makes new ones */
  guint64 seed;      /* 0, as irscope run does */
  guint n_changes;   /* so far: a run knows of which it is */
} Inputs;

static GHashTable *
new_inputs (void)
{
  return g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);
}

static void
words_free (gpointer data)
{
  IrInputWords *words = data;

  g_free (words->kind);
  g_free (words->text);
  g_free (words);
}

static void
init (gpointer state)
{
  Inputs *self = state;

  self->given = new_inputs ();
  self->words = g_hash_table_new_full (NULL, NULL, NULL, words_free);
}

static void
clear (gpointer state)
{
  Inputs *self = state;

  g_hash_table_unref (self->given);
  g_hash_table_unref (self->words);
  g_clear_pointer (&self->sizes, g_hash_table_unref);
}

IR_SESSION_NOUN (Inputs, init, clear)

static void
changed (IrSession *self)
{
  own (self)->n_changes++;
  ir_session_changed (self, IR_CHANGED_INPUTS);
}

/* -- in words -- */

/* (transfer full) (nullable) */
static IrTensor *
make (IrSession *self, IrValueId input, const IrInputWords *words, GError **error)
{
  const IrValue *value = ir_model_live_value (ir_session_get_original (self), input);
  IrGivenKind kind;

  return value != NULL && ir_given_find (words->kind, &kind)
             ? ir_given_make (kind, value, ir_session_get_sizes (self), words->text, error)
             : NULL;
}

/* Pictures and numbers follow the sizes that are asked for. What cannot be made any more stays as it
 * was; the run says what does not fit. */
static void
follow_sizes (IrSession *self)
{
  GHashTable *sizes = ir_session_get_sizes (self);
  GHashTableIter iter;
  gpointer id, words;

  if (own (self)->sizes == sizes)
    return;
  g_clear_pointer (&own (self)->sizes, g_hash_table_unref);
  own (self)->sizes = g_hash_table_ref (sizes);
  g_hash_table_iter_init (&iter, own (self)->words);
  while (g_hash_table_iter_next (&iter, &id, &words))
    {
      IrTensor *tensor = make (self, GPOINTER_TO_UINT (id), words, NULL);

      if (tensor != NULL)
        g_hash_table_insert (own (self)->given, id, tensor);
    }
}

/**
 * ir_session_give_input:
 * @input: an input of the original graph
 * @kind: a name of ir_given_name(), or "fill"
 * @text: what ir_given_make(), or ir_fill_parse(), reads
 * @error: return location for an error
 *
 * Says in words what the input is given from the next run on, as `irscope run` takes it. It is made
 * again where sizes change.
 *
 * Returns: %FALSE if that cannot be: all is as before
 */
gboolean
ir_session_give_input (
    IrSession *self, IrValueId input, const char *kind, const char *text, GError **error)
{
  const IrInputWords said = { (char *) kind, (char *) text };
  IrInputWords *words;
  IrTensor *tensor = NULL;
  IrFill fill;

  if (ir_session_is_empty (self))
    return FALSE;
  if (strcmp (kind, IR_INPUT_FILL) == 0 ? !ir_fill_parse (text, &fill, error)
                                        : (tensor = make (self, input, &said, error)) == NULL)
    return FALSE;
  words = g_new0 (IrInputWords, 1);
  *words = (IrInputWords){ g_strdup (kind), g_strdup (text) };
  if (tensor != NULL)
    g_hash_table_insert (own (self)->given, GUINT_TO_POINTER (input), tensor);
  else
    g_hash_table_remove (own (self)->given, GUINT_TO_POINTER (input));
  g_hash_table_replace (own (self)->words, GUINT_TO_POINTER (input), words);
  changed (self);
  return TRUE;
}

/**
 * ir_session_input_words:
 *
 * Returns: (transfer none) (nullable): what ir_session_give_input() was told of @input
 */
const IrInputWords *
ir_session_input_words (IrSession *self, IrValueId input)
{
  return g_hash_table_lookup (own (self)->words, GUINT_TO_POINTER (input));
}

GHashTable *
ir_session_get_inputs (IrSession *self)
{
  follow_sizes (self);
  return own (self)->given;
}

/**
 * ir_session_set_input:
 * @tensor: (nullable) (transfer none): what the input is given from the next run on; %NULL makes it
 *   random again
 */
void
ir_session_set_input (IrSession *self, IrValueId input, IrTensor *tensor)
{
  if (tensor != NULL)
    g_hash_table_insert (own (self)->given, GUINT_TO_POINTER (input), ir_tensor_ref (tensor));
  else
    g_hash_table_remove (own (self)->given, GUINT_TO_POINTER (input));
  g_hash_table_remove (own (self)->words, GUINT_TO_POINTER (input));
  changed (self);
}

guint64
ir_session_get_seed (IrSession *self)
{
  return own (self)->seed;
}

void
ir_session_set_seed (IrSession *self, guint64 seed)
{
  if (own (self)->seed == seed)
    return;
  own (self)->seed = seed;
  changed (self);
}

/* Whether what is given from now on is what @feed is. */
gboolean
ir_session_feeds_as (IrSession *self, guint n_changes, const GHashTable *sizes)
{
  return own (self)->n_changes == n_changes && ir_session_get_sizes (self) == sizes;
}

void
ir_session_forget_inputs (IrSession *self)
{
  g_hash_table_remove_all (own (self)->given);
  g_hash_table_remove_all (own (self)->words);
}

/* -- for a run -- */

/* Tensors of @from are added to those of @to. */
static void
add_inputs (GHashTable *to, GHashTable *from, const IrModel *model)
{
  GHashTableIter iter;
  gpointer id, tensor;

  g_hash_table_iter_init (&iter, from);
  while (g_hash_table_iter_next (&iter, &id, &tensor))
    if (model == NULL || ir_model_live_value (model, GPOINTER_TO_UINT (id)) != NULL)
      g_hash_table_insert (to, id, ir_tensor_ref (tensor));
}

/* (transfer full): value id -> IrFill */
static GHashTable *
fills_of (IrSession *self)
{
  GHashTable *fills = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  GHashTableIter iter;
  gpointer id, data;

  g_hash_table_iter_init (&iter, own (self)->words);
  while (g_hash_table_iter_next (&iter, &id, &data))
    {
      const IrInputWords *words = data;
      IrFill fill;

      if (strcmp (words->kind, IR_INPUT_FILL) == 0 && ir_fill_parse (words->text, &fill, NULL))
        g_hash_table_insert (fills, id, g_memdup2 (&fill, sizeof fill));
    }
  return fills;
}

IrFeed
ir_session_dup_feed (IrSession *self)
{
  IrFeed feed = { .n_changes = own (self)->n_changes,
                  .given = new_inputs (),
                  .fills = fills_of (self),
                  .seed = own (self)->seed,
                  .sizes = g_hash_table_ref (ir_session_get_sizes (self)) };

  add_inputs (feed.given, ir_session_get_inputs (self), NULL);
  return feed;
}

void
ir_feed_clear (IrFeed *feed)
{
  g_clear_pointer (&feed->given, g_hash_table_unref);
  g_clear_pointer (&feed->fills, g_hash_table_unref);
  g_clear_pointer (&feed->sizes, g_hash_table_unref);
}

/* Those asked for, and those that the contents of inputs fix. (transfer full) */
static GHashTable *
sizes_of (const IrFeed *feed, const IrModel *model)
{
  GHashTable *sizes = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  GHashTableIter iter;
  gpointer name, size;

  ir_bind_given (model, feed->given, sizes);
  g_hash_table_iter_init (&iter, feed->sizes);
  while (g_hash_table_iter_next (&iter, &name, &size))
    if (!g_hash_table_contains (sizes, name))
      g_hash_table_insert (sizes, g_strdup (name), g_memdup2 (size, sizeof (gint64)));
  return sizes;
}

GHashTable *
ir_feed_inputs (const IrFeed *feed, IrModel *model, GError **error)
{
  g_autoptr (GHashTable) sizes = sizes_of (feed, model);
  const IrRandomOptions options = {
    .seed = feed->seed, .bindings = sizes, .given = feed->given, .fills = feed->fills
  };
  GHashTable *inputs = ir_random_inputs_with (model, &options, error);

  if (inputs != NULL)
    add_inputs (inputs, feed->given, model);
  return inputs;
}

GHashTable *
ir_inputs_of (const IrModel *model, GHashTable *inputs)
{
  GHashTable *known = new_inputs ();
  GHashTableIter iter;
  gpointer id, tensor;

  g_hash_table_iter_init (&iter, inputs);
  while (g_hash_table_iter_next (&iter, &id, &tensor))
    {
      const IrValue *value = ir_model_live_value (model, GPOINTER_TO_UINT (id));

      if (value != NULL && ir_graph_has_input (model->main, value))
        g_hash_table_insert (known, id, ir_tensor_ref (tensor));
    }
  return known;
}

/* -- shapes -- */

struct _IrSizer
{
  IrModel *model; /* frozen */
  IrModel *from;  /* (nullable) another file, or result, whose inputs those of @feed are */
  IrFeed feed;
};

static IrSizer *
sizer_of (IrSession *self, IrModel *model, IrModel *from)
{
  IrSizer *sizer = g_new0 (IrSizer, 1);

  sizer->model = ir_model_ref (model);
  sizer->from = from != NULL ? ir_model_ref (from) : NULL;
  sizer->feed = ir_session_dup_feed (self);
  return sizer;
}

/**
 * ir_session_new_sizer:
 *
 * Returns: (transfer full) (nullable): what ir_sizer_make() needs; %NULL: nothing is open
 */
IrSizer *
ir_session_new_sizer (IrSession *self)
{
  const IrFrame *frame = ir_session_get_frame (self);

  return frame != NULL ? sizer_of (self, frame->model, NULL) : NULL;
}

/**
 * ir_session_new_sizer_of_other:
 *
 * Returns: (transfer full) (nullable): the like of ir_session_new_sizer(), of the graph that the one on screen is
 *   compared with
 */
IrSizer *
ir_session_new_sizer_of_other (IrSession *self)
{
  const IrFrame *frame = ir_session_get_frame (self);

  return frame != NULL ? sizer_of (self, frame->before, frame->foreign ? frame->model : NULL)
                       : NULL;
}

void
ir_sizer_free (IrSizer *sizer)
{
  ir_model_unref (sizer->model);
  g_clear_pointer (&sizer->from, ir_model_unref);
  ir_feed_clear (&sizer->feed);
  g_free (sizer);
}

/**
 * ir_sizer_inputs:
 * @sizer: the graph on screen
 * @error: return location for an error
 *
 * Returns: (transfer full) (nullable): value id -> #IrTensor: what the inputs of a run would hold
 */
GHashTable *
ir_sizer_inputs (const IrSizer *sizer, GError **error)
{
  const IrFeed *feed = &sizer->feed;
  g_autoptr (GHashTable) inputs = NULL;

  if (sizer->from == NULL)
    return ir_feed_inputs (feed, sizer->model, error);
  inputs = ir_feed_inputs (feed, sizer->from, error);
  return inputs != NULL ? ir_matching_inputs (sizer->from, inputs, sizer->model, feed->seed,
                                              feed->sizes, error)
                        : NULL;
}

/**
 * ir_sizer_make:
 * @error: return location for an error
 *
 * Returns: (transfer full) (nullable): a copy of the graph in which symbols have the sizes of the
 *   inputs that a run would take
 */
IrModel *
ir_sizer_make (const IrSizer *sizer, GError **error)
{
  g_autoptr (GHashTable) inputs = ir_sizer_inputs (sizer, error);
  g_autoptr (IrEdit) edit = NULL;
  IrModel *copy;
  GHashTableIter iter;
  gpointer id, tensor;

  if (inputs == NULL)
    return NULL;
  copy = ir_model_clone (sizer->model);
  edit = ir_edit_new_import (copy);
  g_hash_table_iter_init (&iter, inputs);
  while (g_hash_table_iter_next (&iter, &id, &tensor))
    {
      IrValue *input = ir_model_live_value (copy, GPOINTER_TO_UINT (id));

      if (input != NULL && ir_value_is_graph_input (input) && !ir_tensor_is_container (tensor))
        ir_infer_bind_input (edit, input, ir_tensor_rank (tensor), ir_tensor_dims (tensor));
    }
  ir_infer_model (edit, IR_INFER_DEFAULT, NULL);
  return copy;
}
