/* A folder that makes a failure happen again, with nothing but irscope. */
#pragma once

#include "passes/debug/reproduce.h"

typedef struct
{
  const char *folder; /* it is made, and what is in it stays */
  /* What the command says beside the files; NULL and 0: nothing, the program's own choice. */
  const char *step_class, *device;
  int threads;
} IrBundleOptions;

typedef struct
{
  IrReproducer part;   /* (owned) */
  char *command;       /* (owned) finds the step again, in the folder */
  gboolean reproduced; /* it does: the files were read back and tried */
} IrBundle;

gboolean ir_bundle_write (IrTrial *trial,
                          const IrBisection *found,
                          const char *predicate,
                          const IrReproduceOptions *how,
                          const IrBundleOptions *options,
                          IrBundle *result,
                          GError **error);
void ir_bundle_clear (IrBundle *result);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (IrBundle, ir_bundle_clear)
