/* Samples: rows of mapped files, gathered into batches and brought into the type of the input. The
 * order of an epoch follows from seed and epoch alone, so that a training run that goes on has it
 * again without its history. Source: Fisher and Yates, by Durstenfeld 1964. */
#include "config.h"

#include "core/exec/train/samples.h"

#include "core/io/io.h"
#include "core/ir/hash.h"

#include <math.h>
#include <string.h>

static void
source_clear (gpointer data)
{
  IrSampleSource *source = data;

  g_free (source->name);
  g_free (source->file);
  g_clear_pointer (&source->rows, ir_tensor_unref);
}

/**
 * ir_samples_new:
 * @seed: of the order
 *
 * Returns: (transfer full): no samples yet
 */
IrSamples *
ir_samples_new (guint64 seed)
{
  IrSamples *samples = g_new0 (IrSamples, 1);

  samples->sources = g_array_new (FALSE, TRUE, sizeof (IrSampleSource));
  g_array_set_clear_func (samples->sources, source_clear);
  samples->seed = seed;
  return samples;
}

/**
 * ir_samples_free:
 * @samples: (transfer full) (nullable): samples
 */
void
ir_samples_free (IrSamples *samples)
{
  if (samples == NULL)
    return;
  g_array_unref (samples->sources);
  g_free (samples->order);
  g_free (samples);
}

/**
 * ir_samples_source:
 * @samples: samples
 * @index: 0 .. sources->len - 1
 *
 * Returns: (transfer none): that of one input
 */
IrSampleSource *
ir_samples_source (const IrSamples *samples, guint index)
{
  return &g_array_index (samples->sources, IrSampleSource, index);
}

static gboolean fail (GError **error, IrIoErrorCode code, const char *format, ...)
    G_GNUC_PRINTF (3, 4);

static gboolean
fail (GError **error, IrIoErrorCode code, const char *format, ...)
{
  va_list args;

  va_start (args, format);
  g_autofree char *message = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error_literal (error, IR_IO_ERROR, code, message);
  return FALSE;
}

/**
 * ir_samples_add:
 * @samples: samples
 * @name: of the input that they are for
 * @file: where they are from, for messages
 * @rows: (transfer none): [N, ...]
 * @error: return location for an error
 *
 * Fails with %IR_IO_ERROR_FORMAT if there are not as many rows as before.
 *
 * Returns: %TRUE if they are added
 */
gboolean
ir_samples_add (
    IrSamples *samples, const char *name, const char *file, IrTensor *rows, GError **error)
{
  guint64 n = ir_tensor_rank (rows) > 0 ? (guint64) ir_tensor_dims (rows)[0] : 0;

  if (ir_tensor_is_container (rows) || ir_tensor_raw (rows) == NULL || n == 0)
    return fail (error, IR_IO_ERROR_FORMAT,
                 "%s: needs an array of numbers with a sample per row, and has no rows", file);
  if (n > G_MAXUINT32)
    return fail (error, IR_IO_ERROR_LIMIT, "%s: has more than 2^32 rows", file);
  if (samples->sources->len > 0 && n != samples->n)
    return fail (error, IR_IO_ERROR_FORMAT,
                 "%s: has %" G_GUINT64_FORMAT " rows, and %s has %" G_GUINT64_FORMAT
                 "; each sample needs a row in both",
                 file, n, ir_samples_source (samples, 0)->file, samples->n);
  IrSampleSource source = { g_strdup (name), g_strdup (file), ir_tensor_ref (rows),
                            ir_tensor_dtype (rows) };
  g_array_append_val (samples->sources, source);
  samples->n = n;
  return TRUE;
}

/**
 * ir_samples_take:
 * @samples: samples
 * @source: one of its sources
 * @dtype: type of the input
 * @error: return location for an error
 *
 * Fails with %IR_IO_ERROR_UNSUPPORTED where the file's numbers are not of that kind: fractions for
 * an input of integers.
 *
 * Returns: %TRUE if batches are of @dtype from now on
 */
gboolean
ir_samples_take (IrSamples *samples, guint source, IrDtype dtype, GError **error)
{
  IrSampleSource *row = ir_samples_source (samples, source);
  const gint64 no_rows = 0;
  g_autoptr (IrTensor) none = ir_tensor_new_copy (ir_tensor_dtype (row->rows), 1, &no_rows, "");
  g_autoptr (IrTensor) cast = ir_tensor_cast (none, dtype);

  if (cast == NULL)
    return fail (error, IR_IO_ERROR_UNSUPPORTED, "%s: is of %s, and the input %s takes %s",
                 row->file, ir_dtype_name (ir_tensor_dtype (row->rows)), row->name,
                 ir_dtype_name (dtype));
  row->dtype = dtype;
  return TRUE;
}

/**
 * ir_samples_hold_out:
 * @samples: samples with their sources
 * @text: a share, "20%", rounded up, or a number of rows
 * @error: return location for an error
 *
 * Holds the last rows out, for validation. Fails with %G_OPTION_ERROR_BAD_VALUE.
 *
 * Returns: %TRUE if some are left to train on
 */
gboolean
ir_samples_hold_out (IrSamples *samples, const char *text, GError **error)
{
  char *end;
  double number = g_ascii_strtod (text, &end);
  gboolean share = strcmp (end, "%") == 0;
  double rows = share ? ceil ((double) samples->n * number / 100) : number;

  if (end == text || (!share && *end != '\0') || !(rows >= 0) || rows != floor (rows) ||
      (share && number >= 100) || rows >= (double) samples->n)
    {
      g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                   "\"%s\" cannot be held out of %" G_GUINT64_FORMAT
                   " samples; a share (20%%) or a number of them is needed",
                   text, samples->n);
      return FALSE;
    }
  samples->n_held_out = (guint64) rows;
  g_clear_pointer (&samples->order, g_free);
  return TRUE;
}

/**
 * ir_samples_n_training:
 * @samples: samples
 *
 * Returns: how many are trained on
 */
guint64
ir_samples_n_training (const IrSamples *samples)
{
  return samples->n - samples->n_held_out;
}

/* -- order -- */

static void
shuffle (IrSamples *samples, guint64 epoch)
{
  guint64 n = ir_samples_n_training (samples);
  guint64 state = ir_mix64 (ir_mix64 (samples->seed) + epoch);

  if (samples->order != NULL && samples->epoch == epoch)
    return;
  if (samples->order == NULL)
    samples->order = g_new (guint32, MAX (n, 1));
  for (guint64 i = 0; i < n; i++)
    samples->order[i] = (guint32) i;
  for (guint64 i = n; i > 1; i--)
    {
      state += G_GUINT64_CONSTANT (0x9e3779b97f4a7c15);
      guint64 k = ir_mix64 (state) % i; /* of 2^64: no place is likelier than another */
      guint32 other = samples->order[k];
      samples->order[k] = samples->order[i - 1];
      samples->order[i - 1] = other;
    }
  samples->epoch = epoch;
}

/* -- batches -- */

/**
 * ir_samples_new_batch:
 * @samples: samples
 * @source: one of its sources
 * @n: rows of a batch
 * @error: return location for an error
 *
 * Returns: (transfer full) (nullable): memory for one, to be filled again and again
 */
IrTensor *
ir_samples_new_batch (const IrSamples *samples, guint source, guint64 n, GError **error)
{
  const IrSampleSource *row = ir_samples_source (samples, source);
  gint64 dims[IR_MAX_RANK];

  memcpy (dims, ir_tensor_dims (row->rows), sizeof (gint64) * ir_tensor_rank (row->rows));
  dims[0] = (gint64) n;
  return ir_tensor_new_alloc (row->dtype, ir_tensor_rank (row->rows), dims, error);
}

static void
copy_row (const IrSampleSource *source, guint64 from, IrTensor *batch, guint64 to)
{
  guint64 n = ir_tensor_n_elements (source->rows) / (guint64) ir_tensor_dims (source->rows)[0];
  gpointer data = ir_tensor_data_writable (batch);
  IrDtype dtype = ir_tensor_dtype (source->rows);

  if (dtype == source->dtype && ir_dtype_bits (dtype) % 8 == 0)
    {
      gsize bytes = n * ir_dtype_bits (dtype) / 8;
      memcpy ((guint8 *) data + to * bytes,
              (const guint8 *) ir_tensor_raw (source->rows) + from * bytes, bytes);
      return;
    }
  for (guint64 i = 0; i < n; i++)
    if (ir_dtype_is_integer (source->dtype))
      ir_dtype_set_int64 (source->dtype, data, to * n + i,
                          ir_tensor_get_int64 (source->rows, from * n + i));
    else
      ir_dtype_set_double (source->dtype, data, to * n + i,
                           ir_tensor_get_double (source->rows, from * n + i));
}

/**
 * ir_samples_fill:
 * @samples: samples
 * @source: one of its sources
 * @epoch: whose order
 * @first: place in it of the first row
 * @batch: a batch that nobody else has
 *
 * Gathers the rows of a batch.
 */
void
ir_samples_fill (IrSamples *samples, guint source, guint64 epoch, guint64 first, IrTensor *batch)
{
  shuffle (samples, epoch);
  for (guint64 i = 0; i < (guint64) ir_tensor_dims (batch)[0]; i++)
    copy_row (ir_samples_source (samples, source), samples->order[first + i], batch, i);
}

/**
 * ir_samples_fill_held_out:
 * @samples: samples
 * @source: one of its sources
 * @first: the first of them, 0 .. n_held_out - 1
 * @batch: a batch that nobody else has
 *
 * Gathers rows that are held out, in the order of the file.
 */
void
ir_samples_fill_held_out (const IrSamples *samples, guint source, guint64 first, IrTensor *batch)
{
  for (guint64 i = 0; i < (guint64) ir_tensor_dims (batch)[0]; i++)
    copy_row (ir_samples_source (samples, source), ir_samples_n_training (samples) + first + i,
              batch, i);
}
