/* How much memory the tensors of a run hold. Bytes that several share count once; items of
 * sequences count beside the list of them. */
#pragma once

#include "core/op/call.h"

typedef GHashTable IrCharges; /* address of bytes -> what they are charged */

IrCharges *ir_charges_new (void);
void ir_charges_free (IrCharges *charges);
guint64 ir_charges_add (IrCharges *charges, const IrTensor *tensor);
guint64 ir_charges_remove (IrCharges *charges, const IrTensor *tensor);
