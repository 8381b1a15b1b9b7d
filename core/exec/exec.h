/* The faces of the execution, for whoever uses several of them. */
#pragma once

#include "core/exec/eval/eval.h"
#include "core/exec/kernel/backend.h"
#include "core/exec/kernel/stats.h"
#include "core/exec/lower/lower.h"
#include "core/exec/memory/memory.h"
#include "core/exec/run/run.h"
#include "core/exec/schedule/schedule.h"
