/* The one file of the core that knows the screens' folders. */
#include "fanout/screens.h"

#include "fanout/nearby/product.h"

const struct screen *const SCREENS[] = {&NEARBY_SCREEN, NULL};
