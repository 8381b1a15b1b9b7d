/* Spreading of bits, for hashes and for what looks like chance and is not. */
#pragma once

#include <glib.h>

/**
 * ir_mix64:
 * @bits: a number
 *
 * The finalizer of SplitMix64: each bit of @bits changes about half of those that come back, and no
 * two numbers give the same.
 *
 * Source: Steele, Lea and Flood 2014.
 *
 * Returns: a hash of @bits
 */
static inline guint64
ir_mix64 (guint64 bits)
{
  bits = (bits ^ (bits >> 30)) * G_GUINT64_CONSTANT (0xbf58476d1ce4e5b9);
  bits = (bits ^ (bits >> 27)) * G_GUINT64_CONSTANT (0x94d049bb133111eb);
  return bits ^ (bits >> 31);
}
