/* An open hash table of places: see places.h. At most half of its slots are taken, and the next
 * free one follows the one that a key asks for. */
#include "config.h"

#include "core/exec/ref/places.h"

/* Returns FALSE if there is no memory */
gboolean
ir_places_init (IrPlaces *places,
                const IrCall *call,
                guint64 n,
                IrPlacesEqual equal,
                gconstpointer list,
                GError **error)
{
  guint64 n_slots = 16;

  while (n_slots < 2 * n)
    n_slots *= 2;
  *places = (IrPlaces){ .mask = n_slots - 1, .equal = equal, .list = list };
  places->slots = n < G_MAXINT32 ? g_try_new0 (guint32, (gsize) n_slots) : NULL;
  return places->slots != NULL ||
         ir_call_fail (call, error, IR_OP_ERROR_LIMIT,
                       "no memory for a table of %" G_GUINT64_FORMAT " keys", n);
}

void
ir_places_clear (IrPlaces *places)
{
  g_clear_pointer (&places->slots, g_free);
}

/* Returns 1 + where the key stood before, which is forgotten; 0: nowhere. */
guint32
ir_places_put (IrPlaces *places, guint64 hash, gconstpointer key, guint32 place)
{
  guint64 at = hash & places->mask;
  guint32 before = 0;

  for (; places->slots[at] != 0; at = (at + 1) & places->mask)
    if (places->equal (places->list, places->slots[at] - 1, key))
      {
        before = places->slots[at];
        break;
      }
  places->n += before == 0;
  places->slots[at] = place + 1;
  return before;
}

/* Returns 1 + where it stands; 0: nowhere. */
guint32
ir_places_find (IrPlaces *places, guint64 hash, gconstpointer key)
{
  for (guint64 at = hash & places->mask; places->slots[at] != 0; at = (at + 1) & places->mask)
    if (places->equal (places->list, places->slots[at] - 1, key))
      return places->slots[at];
  return 0;
}
