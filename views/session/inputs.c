/* What the inputs of the graph are given in runs, and the graph with the shapes that this makes. */
#include "config.h"

#include "core/op/infer.h"
#include "views/session/frame.h"
#include "views/session/inputs-private.h"

typedef struct
{
  GHashTable *given; /* value id -> IrTensor */
  guint64 seed;      /* 0, as irscope run does */
} Inputs;

static GHashTable *
new_inputs (void)
{
  return g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);
}

static void
init (gpointer state)
{
  ((Inputs *) state)->given = new_inputs ();
}

static void
clear (gpointer state)
{
  g_hash_table_unref (((Inputs *) state)->given);
}

IR_SESSION_NOUN (Inputs, init, clear)

GHashTable *
ir_session_get_inputs (IrSession *self)
{
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
  ir_session_changed (self, IR_CHANGED_INPUTS);
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
  ir_session_changed (self, IR_CHANGED_INPUTS);
}

void
ir_session_forget_inputs (IrSession *self)
{
  g_hash_table_remove_all (own (self)->given);
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

IrFeed
ir_session_dup_feed (IrSession *self)
{
  IrFeed feed = { .given = new_inputs (),
                  .seed = own (self)->seed,
                  .sizes = g_hash_table_ref (ir_session_get_sizes (self)) };

  add_inputs (feed.given, own (self)->given, NULL);
  return feed;
}

void
ir_feed_clear (IrFeed *feed)
{
  g_clear_pointer (&feed->given, g_hash_table_unref);
  g_clear_pointer (&feed->sizes, g_hash_table_unref);
}

GHashTable *
ir_feed_inputs (const IrFeed *feed, IrModel *model, GError **error)
{
  GHashTable *inputs = ir_random_inputs (model, feed->seed, feed->sizes, error);

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
  IrFeed feed;
};

/**
 * ir_session_new_sizer:
 *
 * Returns: (transfer full) (nullable): what ir_sizer_make() needs; %NULL: nothing is open
 */
IrSizer *
ir_session_new_sizer (IrSession *self)
{
  const IrFrame *frame = ir_session_get_frame (self);
  IrSizer *sizer;

  if (frame == NULL)
    return NULL;
  sizer = g_new0 (IrSizer, 1);
  sizer->model = ir_model_ref (frame->model);
  sizer->feed = ir_session_dup_feed (self);
  return sizer;
}

void
ir_sizer_free (IrSizer *sizer)
{
  ir_model_unref (sizer->model);
  ir_feed_clear (&sizer->feed);
  g_free (sizer);
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
  g_autoptr (GHashTable) inputs = ir_feed_inputs (&sizer->feed, sizer->model, error);
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
