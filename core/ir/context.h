/* IrContext holds what is immutable and shared by a model and all of its snapshots: interned
 * strings, hash-consed symbolic dimensions, interned types, id lists and payloads of the edit log.
 * Everything in it lives until the last model that uses it is gone. It is locked, so snapshots may
 * be read (and types made) from several threads. */
#pragma once

#include <glib.h>

typedef struct _IrContext IrContext;
typedef struct _IrIdList IrIdList;

/* An interned, immutable list of ids; equal lists are the same pointer. */
struct _IrIdList
{
  guint n;
  guint32 ids[];
};

IrContext *ir_context_new (void);
IrContext *ir_context_ref (IrContext *context);
void ir_context_unref (IrContext *context);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrContext, ir_context_unref)

const char *ir_context_intern (IrContext *context, const char *string);
const char *ir_context_intern_len (IrContext *context, const char *string, gssize length);
gboolean ir_context_has_string (IrContext *context, const char *string);
const IrIdList *ir_context_id_list (IrContext *context, const guint32 *ids, guint n);

gpointer ir_context_alloc (IrContext *context, gsize size);
gpointer ir_context_dup (IrContext *context, gconstpointer data, gsize size);
void ir_context_own (IrContext *context, gpointer object, GDestroyNotify destroy);
gsize ir_context_bytes (IrContext *context);
