(module (func (try (do) (catch_all))))
