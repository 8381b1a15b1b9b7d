/* What every noun of the session stands on, and what knows none of them: where its state is kept,
 * how it tells of changes, and the one long job. */
#pragma once

#include "views/jobs.h"
#include "views/session/session.h"

/* The state of one noun, which the functions of its file alone read and write. */
typedef struct
{
  gsize size;
  void (*init) (gpointer state);  /* (nullable): all zero is right */
  void (*clear) (gpointer state); /* (nullable) */
} IrNoun;

struct _IrSession
{
  GObject parent_instance;
  GHashTable *nouns; /* const IrNoun * -> its state */
};

gpointer ir_session_noun (IrSession *self, const IrNoun *noun); /* made when first asked for */
void ir_session_free_nouns (IrSession *self);

/* In the file of a noun: own (self) is its state. */
#define IR_SESSION_NOUN(Type, init, clear)                                                         \
  static Type *own (IrSession *self)                                                               \
  {                                                                                                \
    static const IrNoun noun = { sizeof (Type), init, clear };                                     \
    return ir_session_noun (self, &noun);                                                          \
  }

void ir_session_changed (IrSession *self, IrSessionChanges changes);
void ir_session_message (IrSession *self, const char *format, ...) G_GNUC_PRINTF (2, 3);
void ir_session_failed (IrSession *self, const char *title, const GError *error);

/* FALSE, and @spec's data is freed: there is a job. */
gboolean ir_session_start_job (IrSession *self, const char *text, const IrJobSpec *spec);
void ir_session_end_job (IrSession *self); /* first line of every done function */
/* Cancels a job that runs beside, and forgets it. */
void ir_session_drop_job (IrJob **job);
