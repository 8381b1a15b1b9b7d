/* Arithmetic on the weights of convolutions, one output channel at a time: in double, rounded once
 * at the end. Shared by the passes that fold into Conv and ConvTranspose. */
#pragma once

#include "passes/rule/rule.h"

/* The convolution @label of a match with its constant weight ?w and bias ?b?. */
typedef struct
{
  const IrNode *node;
  const IrTensor *w, *b; /* b nullable */
  gint64 n_channels;     /* of the output */
  int rank;              /* of the output */
} IrConvParts;

gboolean ir_conv_parts (IrMatch *match, const char *label, IrConvParts *parts);
/* @c as one number per channel if numpy broadcasting to [N, C, ...] means that and the result does
 * not grow; else %NULL with the reason in @match. (transfer full): g_free() */
double *ir_conv_channel_vector (IrMatch *match, const IrConvParts *parts, const char *variable);
/* The bias as doubles, zeros where there is none. (transfer full) */
double *ir_conv_bias (const IrConvParts *parts);
/* Binds ?w2 (W times @scale, which may be %NULL: no change) and ?b2. FALSE if something finite
 * would not stay so. */
gboolean ir_conv_bind (IrMatch *match,
                       const IrConvParts *parts,
                       const double *scale,
                       const double *bias);
