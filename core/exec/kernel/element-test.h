/* What is searched for among the elements of a tensor: a value or a condition. */
#pragma once

#include "core/ir/tensor.h"

#include <gio/gio.h>

/* "3", "=3", "!=0", ">6", "<=-1", "abs>1e3", "nan", "inf" */
typedef struct
{
  enum
  {
    IR_ELEMENT_NAN,
    IR_ELEMENT_INF,
    IR_ELEMENT_EQUAL,
    IR_ELEMENT_OTHER,
    IR_ELEMENT_GREATER,
    IR_ELEMENT_GREATER_EQUAL,
    IR_ELEMENT_LESS,
    IR_ELEMENT_LESS_EQUAL
  } kind;
  gboolean magnitude; /* of the element's magnitude */
  double number;
} IrElementTest;

gboolean ir_element_test_parse (const char *text, IrElementTest *test);
gboolean ir_element_test_holds (const IrElementTest *test, double x);
/* The first from @from on; the number of elements where there is none, or where it was cancelled. */
guint64 ir_tensor_find_element (const IrTensor *tensor,
                                const IrElementTest *test,
                                guint64 from,
                                GCancellable *cancellable);
