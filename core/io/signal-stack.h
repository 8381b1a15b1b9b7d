/* Stacks for the handlers of signals: SIGBUS comes in the middle of kernels. */
#pragma once

void ir_signal_stack_take (void);
