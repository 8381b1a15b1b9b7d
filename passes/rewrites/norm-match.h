/* What the fusions of normalizations share: is a reduction the mean over the last axis? */
#pragma once

#include "passes/rule/rule.h"

gboolean ir_match_last_axis_mean (IrMatch *match, const char *label);
gboolean ir_match_scales_last_axis (IrMatch *match, const char *scale, const char *like);
gboolean ir_match_opset_between (IrMatch *match, gint64 least, gint64 below);
gboolean ir_match_is_float32 (IrMatch *match);
void ir_match_bind_scalar_attr (IrMatch *match, const char *constant, const char *attr);
