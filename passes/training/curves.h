/* What the steps of a training run gave, as a table in CSV and as curves. */
#pragma once

#include "core/exec/train/train.h"
#include "core/layout/charts.h"

/* NaN: there was none */
typedef struct
{
  guint64 step, epoch;
  double loss, accuracy, rate, ms, check_loss, check_accuracy, weights, update;
} IrTrainingPoint;

IrTrainingPoint ir_training_point (const IrTrainerResult *step, const IrTrainerResult *check);
const char *ir_training_csv_head (void);
char *ir_training_point_to_csv (const IrTrainingPoint *point);
GArray *ir_training_points_load (const char *path, GError **error);
IrScene *ir_training_chart (const GArray *points, const IrChartOptions *options);
