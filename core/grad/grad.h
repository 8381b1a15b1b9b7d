/* Derivatives: nodes that compute gradients, built from the GRAD column of the op table. */
#pragma once

#include "core/ir/edit.h"

#define IR_GRAD_ERROR (ir_grad_error_quark ())
GQuark ir_grad_error_quark (void);
typedef enum
{
  IR_GRAD_ERROR_NO_RULE /* a node on the way cannot be derived: message says which and why */
} IrGradErrorCode;

gboolean ir_grad_expand (IrEdit *edit, GError **error);
