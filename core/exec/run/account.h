/* How much memory the tensors of a run hold. Bytes that several share count once; items of
 * sequences count beside the list of them. */
#pragma once

#include "core/op/call.h"

typedef struct _IrAccount IrAccount; /* address of bytes -> how many, and for how many */

IrAccount *ir_account_new (void);
void ir_account_free (IrAccount *account);
guint64 ir_account_add (IrAccount *account, const IrTensor *tensor);
guint64 ir_account_remove (IrAccount *account, const IrTensor *tensor);
guint ir_account_n_items (IrAccount *account, const IrTensor *tensor);
