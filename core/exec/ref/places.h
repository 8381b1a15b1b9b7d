/* Where keys stand in a list: an open hash table of places, for lists of any length. It has one
 * piece of memory, so that it is let go at once when a run is stopped. */
#pragma once

#include "core/exec/ref/block.h"

/* Whether the list has @key at @place. */
typedef gboolean (*IrPlacesEqual) (gconstpointer list, guint32 place, gconstpointer key);

typedef struct
{
  guint32 *slots; /* 1 + place; 0: free */
  guint64 mask;   /* slots - 1 */
  guint n;        /* different keys */
  IrPlacesEqual equal;
  gconstpointer list;
} IrPlaces;

gboolean ir_places_init (IrPlaces *places,
                         const IrCall *call,
                         guint64 n,
                         IrPlacesEqual equal,
                         gconstpointer list,
                         GError **error);
guint32 ir_places_put (IrPlaces *places, guint64 hash, gconstpointer key, guint32 place);
guint32 ir_places_find (IrPlaces *places, guint64 hash, gconstpointer key);
void ir_places_clear (IrPlaces *places);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (IrPlaces, ir_places_clear)
