/* How runs keep values, as far as it matters for where they are: what ir_places_new() is given by value id. */
#pragma once

typedef enum
{
  IR_PLACES_LEFT,
  IR_PLACES_KEPT,   /* wanted in the host's memory as soon as it is made, as if it were a graph output */
  IR_PLACES_WITHIN, /* where no step reads it there, it comes with a larger value that is kept */
  IR_PLACES_AT_ONCE /* likewise kept, where steps of the host may read or write the bytes that it is copied to */
} IrPlacesKeep;
