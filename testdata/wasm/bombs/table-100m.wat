;; 100 million entries, 800 MB, before any code runs.
(module (table 100000000 funcref))
