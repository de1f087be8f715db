package classify

import (
	"strings"

	"github.com/taskq-host/taskq-host/abi"
)

// BaseName is a class without its qualifier, as built-in classifiers compare
// it: what follows the last of . :: / \ and $, without leading * and & and
// without trailing type parameters. "*net.OpError", "net::OpError" and
// "OpError[int]" are all OpError.
func BaseName(class string) string {
	name := strings.TrimLeft(class, "*&")
	for {
		bare, ok := withoutParameters(name)
		if !ok {
			break
		}
		name = bare
	}
	for i := len(name) - 1; i >= 0; i-- {
		switch name[i] {
		case '.', '/', '\\', '$':
			return name[i+1:]
		case ':':
			if i > 0 && name[i-1] == ':' {
				return name[i+1:]
			}
		}
	}
	return name
}

// withoutParameters drops a trailing <…> or […], nested ones included; a name
// that would be empty without it stays as it is.
func withoutParameters(name string) (string, bool) {
	if name == "" {
		return name, false
	}
	var opening byte
	closing := name[len(name)-1]
	switch closing {
	case '>':
		opening = '<'
	case ']':
		opening = '['
	default:
		return name, false
	}
	depth := 0
	for i := len(name) - 1; i > 0; i-- {
		switch name[i] {
		case closing:
			depth++
		case opening:
			if depth--; depth == 0 {
				return name[:i], true
			}
		}
	}
	return name, false
}

// names is a set of base names.
type names map[string]struct{}

func namesOf(list []string) names {
	out := make(names, len(list))
	for _, n := range list {
		out[BaseName(n)] = struct{}{}
	}
	return out
}

// anyName reports whether is holds for the base name of the failure's class
// or of one of its ancestors.
func anyName(f *abi.Failure, is func(name string) bool) bool {
	if is(BaseName(f.Class)) {
		return true
	}
	for _, a := range f.Ancestors {
		if is(BaseName(a)) {
			return true
		}
	}
	return false
}

func (ns names) has(name string) bool {
	_, ok := ns[name]
	return ok
}
