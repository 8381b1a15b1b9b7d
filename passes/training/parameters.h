/* How each parameter went through a training run: its norm, and how far steps moved it. */
#pragma once

#include "core/exec/train/train.h"

typedef struct
{
  char *name;
  double weights, update; /* norms of it and of its change in the last step */
  GArray *history;        /* of double: update / weights, the largest of each @stride steps */
  guint64 stride, n_last; /* steps of an entry, and of the last one */
} IrParameterCourse;

/* (transfer full) (element-type IrParameterCourse): those that @trainer measures */
GPtrArray *ir_parameter_courses_new (const IrTrainer *trainer);
void ir_parameter_courses_take (GPtrArray *courses, const IrTrainer *trainer); /* behind a step */
GPtrArray *ir_parameter_courses_copy (const GPtrArray *courses);
double ir_parameter_course_ratio (const IrParameterCourse *course); /* of the last step; NaN */
/* (transfer full): the history as bars, from 1e-6 to 1 and more in logarithms */
char *ir_parameter_course_bars (const IrParameterCourse *course);
