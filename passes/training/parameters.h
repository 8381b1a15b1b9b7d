/* How each parameter went through a training run: its norm, and how far steps moved it. */
#pragma once

#include "core/exec/train/train.h"
#include "core/look/overlay.h"

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
/* -- behind the columns of curves.h: update / weights of each, a column that has its name -- */
char *ir_parameter_courses_csv_head (const GPtrArray *courses);
char *ir_parameter_courses_csv (const GPtrArray *courses);
GPtrArray *ir_parameter_courses_load (const char *path, GError **error);
/* (transfer full): node id -> IrNodeUpdate, of the nodes of @model that read them */
GHashTable *ir_parameter_courses_by_node (const GPtrArray *courses, const IrModel *model);
/* (transfer full): the history as bars, from 1e-6 to 1 and more in logarithms */
char *ir_parameter_course_bars (const IrParameterCourse *course);
