/* What an input may be given, in words: a file, a picture, or numbers. The command line and the window
 * make contents by the same function. */
#pragma once

#include "core/exec/run/run.h"

typedef enum
{
  IR_GIVEN_FILE,    /* "x.npy", "x.pb", "all.npz", "all.npz:ARRAY" */
  IR_GIVEN_PICTURE, /* "cat.jpg", "cat.jpg,preset=imagenet,fit=pad": picture.h */
  IR_GIVEN_NUMBERS, /* "1,2,3"; one number is all of the input */
  IR_N_GIVEN
} IrGivenKind;

/* @sizes: (nullable) name -> gint64 *, of free dims. (transfer full) (nullable) */
IrTensor *ir_given_make (
    IrGivenKind kind, const IrValue *input, GHashTable *sizes, const char *text, GError **error);
const char *ir_given_name (IrGivenKind kind); /* "file": as it is written down */
gboolean ir_given_find (const char *name, IrGivenKind *kind);
/* The arrays of an .npz file that have the name of an input of @model: of IrNamedTensor, at least one.
 * (transfer full) (nullable) */
GPtrArray *ir_given_arrays (const IrModel *model, const char *path, GError **error);
