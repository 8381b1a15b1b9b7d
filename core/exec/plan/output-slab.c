/* Memory of the values that a run hands out. They lie one behind the other, in the order of the
 * schedule, in chunks of some megabytes. A value that lies within another one (keep-ranges.c) has
 * no bytes of its own, and one that is computed from constants alone has memory of its own, as it
 * is the same in every run.
 *
 * What a receiver has let go is filled again by the next run; where he still has one tensor of a
 * chunk, the chunk is his, and the plan takes another: a receiver of one value keeps some megabytes,
 * not those of all. */
#include "config.h"

#include <stdlib.h>

#include "core/ir/pages.h"
#include "core/exec/plan/plan.h"

#define CHUNK_BYTES (8 << 20) /* of a chunk, unless one value needs more */
#define PINNED_BYTES                                                                               \
  (2 << 20) /* at least, of one that is pinned: from there on it has pages of its own */

/* Some lines from value to value: kernels that read one and write the other at the same place
 * of a page (4 KiB) would wait for stores that only look as if they went there. */
#define STAGGER    (5 * IR_ALIGN_BYTES)
#define PAGE_BYTES 4096

/* -- chunks -- */

static GBytes *
new_memory (gsize bytes, GError **error)
{
  gpointer memory = ir_pages_new (bytes);

  if (memory != NULL)
    return g_bytes_new_with_free_func (memory, bytes, free, memory);
  g_autofree char *needed = g_format_size (bytes);
  g_set_error (error, G_IO_ERROR, G_IO_ERROR_NO_SPACE,
               "Not enough memory for values of %s that are kept", needed);
  return NULL;
}

typedef struct
{
  GBytes *bytes;
  const IrMemory *memory;
} PinnedMemory;

static void
pinned_free (gpointer data)
{
  PinnedMemory *pinned = data;

  pinned->memory->unpin ((gpointer) g_bytes_get_data (pinned->bytes, NULL));
  g_bytes_unref (pinned->bytes);
  g_free (pinned);
}

static void
chunk_clear (gpointer data)
{
  IrOutputChunk *chunk = data;

  g_clear_pointer (&chunk->memory, g_bytes_unref);
  g_clear_pointer (&chunk->other, g_bytes_unref);
}

static IrOutputChunk *
chunk_at (const IrPrepared *prepared, guint index)
{
  return &g_array_index (prepared->chunks, IrOutputChunk, index);
}

/* That of a back end copies to it while the host goes on, unless the system refuses that. */
static gboolean
pin (const IrPlaces *places, IrOutputChunk *chunk, GError **error)
{
  gboolean pinned;
  gsize bytes;
  gpointer data = (gpointer) g_bytes_get_data (chunk->memory, &bytes);
  PinnedMemory memory = { chunk->memory, places->memory };

  if (!places->memory->pin (data, bytes, &pinned, error))
    return FALSE;
  if (pinned)
    chunk->memory = g_bytes_new_with_free_func (data, bytes, pinned_free,
                                                g_memdup2 (&memory, sizeof memory));
  else
    chunk->pageable = TRUE;
  return TRUE;
}

static gboolean
fill_chunk (IrPrepared *prepared, IrOutputChunk *chunk, GError **error)
{
  gboolean late = prepared->places != NULL && prepared->taken_bytes < IR_LATE_BYTES;

  /* No two that are pinned share a page. */
  chunk->memory = new_memory (late ? MAX (chunk->bytes, PINNED_BYTES) : chunk->bytes, error);
  prepared->new_bytes += chunk->bytes;
  return chunk->memory != NULL && (!late || pin (prepared->places, chunk, error));
}

/* Room for one value more. What is still expected bounds a chunk, so that small plans stay small.
 */
static gboolean
take_room (IrPrepared *prepared, guint64 bytes, IrOutputPlace *place, GError **error)
{
  guint64 room = ir_mem_align (bytes, IR_ALIGN_BYTES) + (bytes >= PAGE_BYTES ? STAGGER : 0);
  IrOutputChunk *last = prepared->chunks->len > 0 ? chunk_at (prepared, prepared->chunks->len - 1)
                                                  : NULL;

  if (last == NULL || last->used + bytes > last->bytes)
    {
      guint64 left = prepared->expected_bytes > prepared->taken_bytes
                         ? prepared->expected_bytes - prepared->taken_bytes
                         : 0;
      IrOutputChunk chunk = { .bytes = MAX (room, MIN (left, CHUNK_BYTES)) };
      if (!fill_chunk (prepared, &chunk, error))
        {
          chunk_clear (&chunk);
          return FALSE;
        }
      g_array_append_val (prepared->chunks, chunk);
      last = chunk_at (prepared, prepared->chunks->len - 1);
    }
  *place = (IrOutputPlace){ prepared->chunks->len, last->used };
  last->used += room;
  prepared->taken_bytes += room;
  return TRUE;
}

/* -- tensors -- */

static IrTensor *
tensor_at (const IrPrepared *prepared, IrValueId id)
{
  const IrType *type = ir_schedule_kept_type (prepared->schedule,
                                              ir_model_value (prepared->model, id));
  const IrOutputPlace *place = &prepared->values[id].slab_place;

  return ir_tensor_new_within (type->dtype, (guint) type->rank, type->dims,
                               chunk_at (prepared, place->chunk - 1)->memory, place->at);
}

/**
 * ir_output_slab_init:
 * @prepared: a plan whose kept values are known
 *
 * Begins with no memory.
 */
void
ir_output_slab_init (IrPrepared *prepared)
{
  prepared->slab_values = g_array_new (FALSE, FALSE, sizeof (IrValueId));
  prepared->chunks = g_array_new (FALSE, TRUE, sizeof (IrOutputChunk));
  g_array_set_clear_func (prepared->chunks, chunk_clear);
  prepared->expected_bytes = prepared->kept_bytes;
  for (IrValueId id = 1; id < prepared->n_values; id++)
    {
      IrPlanValue *row = &prepared->values[id];
      row->slab_place = (IrOutputPlace){ 0 };
      if (row->keep == IR_KEEP_PLANNED && row->within.of == 0) /* it is rounded up, and moved */
        prepared->expected_bytes += IR_ALIGN_BYTES + STAGGER;
    }
  prepared->taken_bytes = 0;
}

/**
 * ir_output_slab_needs:
 * @prepared: a plan
 * @value: one that is kept
 *
 * Returns: bytes of memory that ir_output_slab_tensor() will take for @value: 0 where it lies within
 *   another one that has some
 */
guint64
ir_output_slab_needs (const IrPrepared *prepared, const IrValue *value)
{
  guint64 at;
  IrValueId root = ir_capture_root (prepared, value->id, &at);

  return prepared->values[root].slab_place.chunk == 0
             ? ir_prepared_kept_bytes (prepared, ir_model_value (prepared->model, root))
             : 0;
}

/**
 * ir_output_slab_tensor:
 * @prepared: a plan
 * @value: one that is kept
 * @error: return location for an error
 *
 * Fails where there is not enough memory.
 *
 * Returns: (transfer full) (nullable): its tensor, in memory that lasts as long as the tensor
 */
IrTensor *
ir_output_slab_tensor (IrPrepared *prepared, const IrValue *value, GError **error)
{
  guint64 at, bytes = ir_output_slab_needs (prepared, value);
  IrValueId root = ir_capture_root (prepared, value->id, &at);

  if (bytes > 0 && !take_room (prepared, bytes, &prepared->values[root].slab_place, error))
    return NULL;
  prepared->values[value->id].slab_place = (IrOutputPlace){
    prepared->values[root].slab_place.chunk, prepared->values[root].slab_place.at + at
  };
  g_array_append_val (prepared->slab_values, value->id);
  return tensor_at (prepared, value->id);
}

/**
 * ir_output_slab_is_pinned:
 * @prepared: a plan
 * @id: a value
 *
 * Returns: whether what is kept of it lies where the memory of a back end can be copied to while the host goes on
 */
gboolean
ir_output_slab_is_pinned (const IrPrepared *prepared, IrValueId id)
{
  guint chunk = prepared->values[id].slab_place.chunk;

  return chunk != 0 && prepared->taken_bytes <= IR_LATE_BYTES &&
         !chunk_at (prepared, chunk - 1)->pageable;
}

/**
 * ir_output_slab_constant:
 * @prepared: a plan
 * @value: one that is kept, and holds the same in every run
 * @error: return location for an error
 *
 * Fails where there is not enough memory.
 *
 * Returns: (transfer full) (nullable): its tensor, in memory of its own, which all runs share
 */
IrTensor *
ir_output_slab_constant (const IrPrepared *prepared, const IrValue *value, GError **error)
{
  const IrType *type = ir_schedule_kept_type (prepared->schedule, value);
  g_autoptr (GBytes) memory = new_memory (ir_step_bytes (type), error);

  return memory != NULL
             ? ir_tensor_new_within (type->dtype, (guint) type->rank, type->dims, memory, 0)
             : NULL;
}

/* The memory that takes its turn now, or new memory. @in_use: by chunk: somebody has a tensor of the
 * other one */
static gboolean
renew_chunks (IrPrepared *prepared, const guint8 *gone, const guint8 *in_use, GError **error)
{
  for (guint i = 0; i < prepared->chunks->len; i++)
    {
      IrOutputChunk *chunk = chunk_at (prepared, i);
      GBytes *before = chunk->memory;
      if (!gone[i])
        continue;
      chunk->memory = !in_use[i] ? g_steal_pointer (&chunk->other) : NULL;
      g_clear_pointer (&chunk->other, g_bytes_unref);
      if (prepared->alternate)
        chunk->other = before;
      else
        g_bytes_unref (before);
      if (chunk->memory == NULL && !fill_chunk (prepared, chunk, error))
        return FALSE;
    }
  for (guint i = 0; i < prepared->slab_values->len; i++)
    {
      IrValueId id = g_array_index (prepared->slab_values, IrValueId, i);
      IrPlanValue *row = &prepared->values[id];
      guint chunk = row->slab_place.chunk - 1;
      if (!gone[chunk])
        continue;
      g_autoptr (IrTensor) other = g_steal_pointer (&row->other);
      IrTensor *turn = other != NULL && !in_use[chunk] ? g_steal_pointer (&other)
                                                       : tensor_at (prepared, id);
      if (prepared->alternate)
        row->other = ir_tensor_ref (row->binding.tensor);
      ir_steps_rebind (prepared, id, turn);
    }
  return TRUE;
}

/* Whose other memory somebody still has a tensor of, or that has none. (transfer full) */
static guint8 *
find_in_use (const IrPrepared *prepared)
{
  guint8 *in_use = g_new0 (guint8, prepared->chunks->len + 1);

  for (guint i = 0; i < prepared->slab_values->len; i++)
    {
      const IrPlanValue *row = &prepared
                                    ->values[g_array_index (prepared->slab_values, IrValueId, i)];
      if (row->other == NULL || !ir_tensor_reclaim (row->other))
        in_use[row->slab_place.chunk - 1] = TRUE;
    }
  return in_use;
}

/**
 * ir_output_slab_renew:
 * @prepared: a plan that begins a run
 * @error: return location for an error
 *
 * Makes all tensors writable: chunks whose last receiver has let them go are used again.
 *
 * Fails where there is not enough memory.
 *
 * Returns: %TRUE if all values have memory
 */
gboolean
ir_output_slab_renew (IrPrepared *prepared, GError **error)
{
  g_autofree guint8 *gone = NULL, *in_use = NULL;

  for (guint i = 0; i < prepared->slab_values->len; i++)
    {
      IrValueId id = g_array_index (prepared->slab_values, IrValueId, i);
      IrTensor *tensor = prepared->values[id].binding.tensor;
      if (tensor != NULL && ir_tensor_reclaim (tensor))
        continue;
      if (gone == NULL)
        gone = g_new0 (guint8, prepared->chunks->len);
      gone[prepared->values[id].slab_place.chunk - 1] = TRUE;
    }
  if (gone == NULL)
    return TRUE;
  in_use = find_in_use (prepared);
  return renew_chunks (prepared, gone, in_use, error);
}

/**
 * ir_output_slab_clear:
 * @prepared: a plan
 *
 * Lets go of the memory; tensors that somebody has keep theirs.
 */
void
ir_output_slab_clear (IrPrepared *prepared)
{
  for (guint i = 0; prepared->slab_values != NULL && i < prepared->slab_values->len; i++)
    g_clear_pointer (&prepared->values[g_array_index (prepared->slab_values, IrValueId, i)].other,
                     ir_tensor_unref);
  g_clear_pointer (&prepared->slab_values, g_array_unref);
  g_clear_pointer (&prepared->chunks, g_array_unref);
}
