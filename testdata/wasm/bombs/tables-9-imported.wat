;; Imported tables count too.
(module
  (import "m" "1" (table 1 funcref)) (import "m" "2" (table 1 funcref)) (import "m" "3" (table 1 funcref))
  (import "m" "4" (table 1 funcref)) (import "m" "5" (table 1 funcref)) (import "m" "6" (table 1 funcref))
  (import "m" "7" (table 1 funcref)) (import "m" "8" (table 1 funcref)) (import "m" "9" (table 1 funcref)))
