/* The sizes that were asked for and the views that were kept, by model, from one time that it is open to the next. */
#pragma once

#include "views/session/session.h"

void ir_remember_sizes (IrSession *session); /* from now on, as long as it lives */
void ir_remember_views (IrSession *session); /* the same, of what is kept under numbers */
