/* What irscope tensor says of contents beyond their statistics: places, differences, what is found, and
 * pictures. */
#pragma once

#include "app/cli/command.h"
#include "core/exec/check/metrics.h"
#include "core/exec/exec.h"
#include "core/ir/tensor-text.h"

/* @json: (nullable): text is wanted */
void cli_tensor_places (const IrTensor *tensor, const IrTensorStats *stats, cJSON *json);
void cli_tensor_metrics (const IrTensor *tensor,
                         const IrTensorMetrics *metrics,
                         const char *against,
                         cJSON *json);
/* At most @most are listed. FALSE: @text cannot be read */
gboolean cli_tensor_find (const IrTensor *tensor,
                          const char *text,
                          guint most,
                          IrNumberFormat format,
                          cJSON *json,
                          GError **error);
/* The first elements with their places, a line each. */
void cli_tensor_list (const IrTensor *tensor, guint most, IrNumberFormat format);

typedef struct
{
  char *path, *as, *axes, *colours;
} CliTensorPicture;
/* @minus: (nullable): of the difference */
gboolean cli_tensor_picture (const CliTensorPicture *wanted,
                             const IrTensor *tensor,
                             const IrTensor *minus,
                             const IrTensorStats *stats,
                             GError **error);
