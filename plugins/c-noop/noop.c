/* An actor that does nothing, for measuring what everything around it costs. */
#define TASKQ_NO_LIBC
#include "taskq.h"

TASKQ_RUN { return 0; }
