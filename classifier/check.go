package classifier

import (
	"fmt"
	"slices"
	"strings"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/host"
)

// Rules of refusals.
const (
	RuleNoEntry = "classifier.no_entry"
	RuleImport  = "classifier.import"
)

// allowed are the imports of the contract that a classifier may have. Those of
// a language's own runtime (wasi_snapshot_preview1, env) answer it with
// nothing that differs between two runs, so they are none of its business.
var allowed = []string{"input_read", "output_write", "log", "panic"}

// Check says whether a module may be a classifier; the error is a
// *host.Refusal.
func Check(r *host.Report) error {
	if !slices.Contains(r.Entries, string(abi.KindClassify)) {
		return &host.Refusal{Rule: RuleNoEntry, Message: fmt.Sprintf("the module is no classifier: it doesn't export %s", abi.ExportClassify)}
	}
	for _, i := range r.Imports {
		if i.Module == abi.Module && !slices.Contains(allowed, i.Name) {
			return &host.Refusal{Rule: RuleImport, Message: fmt.Sprintf("import %s.%s: a classifier is a pure function of its input and may import only %s",
				i.Module, i.Name, strings.Join(allowed, ", "))}
		}
	}
	return nil
}
