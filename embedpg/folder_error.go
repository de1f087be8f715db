package embedpg

// FolderError says that a server's folder can't be used. Its text is one
// sentence that ends in the line to type.
type FolderError struct {
	Dir     string
	Problem string // what is wrong with it
	Err     error  // the cause; may be nil
}

// Error is one sentence that ends in the line to type.
func (e *FolderError) Error() string {
	s := "embedpg: the folder " + e.Dir + " " + e.Problem
	if e.Err != nil {
		s += " (" + e.Err.Error() + ")"
	}
	return s + "; choose another: " + EnvDir + "=/another/folder taskq-host dev"
}

// Unwrap returns the cause.
func (e *FolderError) Unwrap() error { return e.Err }
