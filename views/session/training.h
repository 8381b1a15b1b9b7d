/* A training run of the graph on screen: begun, paused, driven step by step. While it is under way it is the
 * session's long job. %IR_CHANGED_TRAINING. */
#pragma once

#include "passes/training/curves.h"
#include "passes/training/parameters.h"
#include "views/session/session.h"

/* As it is asked for; texts as the options of irscope train. */
typedef struct
{
  GStrv data; /* NAME=FILE */
  char *target, *loss, *optimizer, *rate, *validate;
  /* (nullable): as they are without */
  char *schedule, *of, *loss_scale, *freeze, *budget;
  GStrv settings; /* (nullable) of passes, as optimizer.clip=1 */
  gboolean deterministic;
  guint64 batch, epochs, seed;
  char *path;     /* of the checkpoint, written after each epoch and at the end; .onnx */
  gboolean go_on; /* from that checkpoint */
} IrTrainingWish;

void ir_training_wish_clear (IrTrainingWish *wish);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (IrTrainingWish, ir_training_wish_clear)

typedef enum
{
  IR_COURSE_NONE,
  IR_COURSE_RUNS,
  IR_COURSE_STANDS, /* behind a step or within one, until it is told how to go on */
  IR_COURSE_ENDED
} IrCourseState;

/* What there is to see of it. */
typedef struct
{
  IrCourseState state;
  GArray *points;        /* (transfer full) of IrTrainingPoint */
  GPtrArray *parameters; /* (transfer full) (nullable) of IrParameterCourse */
  guint64 step, n_steps; /* done, and in all; 0: not known yet */
  char *text;            /* (nullable) notes, or why it ended */
  gboolean failed;       /* it is that */
  IrNodeId bad_node;     /* that gave the first numbers that are not finite; 0: none */
  gboolean is_written;   /* there is a checkpoint of it: */
  char *path;            /* (nullable) */
  char *standing;        /* (nullable) where in a step it stands, and what there is to see */
} IrCourse;

IrCourse ir_session_get_course (IrSession *self);
void ir_course_clear (IrCourse *course);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (IrCourse, ir_course_clear)

typedef enum
{
  IR_TRAINING_RUNS,
  IR_TRAINING_STEP, /* to stand behind the first step */
  IR_TRAINING_NODE  /* to stand before its first node */
} IrTrainingStart;

/* Breakpoints of runs count in it, too. */
void ir_session_train (IrSession *self, const IrTrainingWish *wish, IrTrainingStart start);
void ir_session_train_on (IrSession *self);   /* from where it stands */
void ir_session_train_step (IrSession *self); /* one batch, or what is left of it */
void ir_session_train_node (IrSession *self); /* to the next node */
void ir_session_train_pause (IrSession *self);
void ir_session_train_stop (IrSession *self); /* after the step under way; it is written */
void ir_session_train_rate (IrSession *self, double rate);
void ir_session_forget_course (IrSession *self);
