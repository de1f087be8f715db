(module (import "taskq_rt" "tick" (func)))
