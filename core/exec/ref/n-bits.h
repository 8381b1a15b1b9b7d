/* Numbers of a few bits that lie packed in bytes. */
#pragma once

#include <glib.h>

/* Number @i of @bits each (1, 2, 4 or 8), the first in the low bits of a byte. */
static inline guint
ir_n_bits_at (const guint8 *data, guint64 i, guint bits)
{
  guint per_byte = 8 / bits;

  return data[i / per_byte] >> (i % per_byte * bits) & ((1u << bits) - 1);
}
