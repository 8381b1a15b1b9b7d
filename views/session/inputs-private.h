/* What the inputs are given, for the folder alone. */
#pragma once

#include "views/session/hub.h"
#include "views/session/inputs.h"

/* What a job takes along: the inputs that were given, the rest is random. */
typedef struct
{
  GHashTable *given; /* value id -> IrTensor */
  GHashTable *fills; /* value id -> IrFill */
  guint64 seed;
  GHashTable *sizes; /* of free dims, by name */
  guint n_changes;   /* of what is given, by then */
} IrFeed;

IrFeed ir_session_dup_feed (IrSession *self);
void ir_feed_clear (IrFeed *feed);
gboolean ir_session_feeds_as (IrSession *self, guint n_changes, const GHashTable *sizes);
/* (transfer full) (nullable): every input of @model */
GHashTable *ir_feed_inputs (const IrFeed *feed, IrModel *model, GError **error);
/* Those of @inputs that @model has: a run refuses others. (transfer full) */
GHashTable *ir_inputs_of (const IrModel *model, GHashTable *inputs);

void ir_session_forget_inputs (IrSession *self); /* ids mean something else from now on */
void ir_session_forget_sizes (IrSession *self);
void ir_session_forget_data_set (IrSession *self);
/* "failed", where sizes may be the reason (sizes.c). */
void ir_session_run_failed (IrSession *self, const char *title, const GError *error);
