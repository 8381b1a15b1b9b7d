/* The object, which holds its nouns and lets the frame follow what they tell. */
#include "config.h"

#include "views/session/session.h"

#include "views/session/replace.h"

G_DEFINE_FINAL_TYPE (IrSession, ir_session, G_TYPE_OBJECT)

/* Before anybody else hears of it. */
static void
ir_session_real_changed (IrSession *self, guint changes)
{
  if (changes & (IR_CHANGED_CURSOR | IR_CHANGED_COMPARE | IR_CHANGED_PICTURE))
    ir_session_request_frame (self);
}

static void
ir_session_finalize (GObject *object)
{
  ir_session_free_nouns (IR_SESSION (object));
  G_OBJECT_CLASS (ir_session_parent_class)->finalize (object);
}

static void
ir_session_class_init (IrSessionClass *klass)
{
  const GType type = G_TYPE_FROM_CLASS (klass);

  G_OBJECT_CLASS (klass)->finalize = ir_session_finalize;
  g_signal_new_class_handler ("changed", type, G_SIGNAL_RUN_FIRST,
                              G_CALLBACK (ir_session_real_changed), NULL, NULL, NULL, G_TYPE_NONE,
                              1, G_TYPE_UINT);
  g_signal_new ("message", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 1,
                G_TYPE_STRING);
  g_signal_new ("failed", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 2,
                G_TYPE_STRING, G_TYPE_STRING);
  g_signal_new ("sizes-unseen", type, G_SIGNAL_RUN_LAST, 0, g_signal_accumulator_true_handled, NULL,
                NULL, G_TYPE_BOOLEAN, 1, G_TYPE_STRING);
  g_signal_new ("show-view", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 1,
                G_TYPE_STRING);
}

static void
ir_session_init (IrSession *self)
{
  self->nouns = g_hash_table_new (NULL, NULL);
}

/**
 * ir_session_new:
 *
 * Returns: (transfer full): a session in which nothing is open
 */
IrSession *
ir_session_new (void)
{
  return g_object_new (IR_TYPE_SESSION, NULL);
}
