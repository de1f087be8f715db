package host

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"strings"

	"github.com/taskq-host/taskq-host/abi"
)

const contentJSON = "application/json"

func hasNUL(p []byte) bool { return bytes.IndexByte(p, 0) >= 0 }

func failed(f *abi.Failure) Outcome { return Outcome{Kind: Failed, Failure: f} }

// failure makes a failure of a class of the host's own.
func failure(class string, origin abi.Origin, message string) *abi.Failure {
	f := &abi.Failure{Class: class, Ancestors: abi.Ancestors(class), Origin: origin}
	var cut bool
	if f.Message, cut = abi.Text(message, abi.MaxMessage); cut {
		f.Truncated = append(f.Truncated, "message")
	}
	return f
}

func (x *execution) tooLarge() *abi.Failure {
	return failure(abi.ClassResultTooLarge, abi.OriginLimit,
		fmt.Sprintf("the result is longer than %d bytes", x.limits.Result))
}

// succeed checks a result against its content type. Nil means that nothing
// was pushed, which is null.
func (x *execution) succeed(result []byte) Outcome {
	declared := x.attempt.ResultContentType
	if result == nil {
		return Outcome{Kind: Succeeded, ContentType: contentJSON}
	}
	switch {
	case declared != "":
	case x.command():
		declared = detectContentType(result)
	default:
		declared = contentJSON
	}
	switch media := mediaType(declared); {
	case media == contentJSON || strings.HasSuffix(media, "+json"):
		if !json.Valid(result) {
			return failed(failure(abi.ClassUnencodableValue, abi.OriginGuest,
				fmt.Sprintf("the result of %d bytes isn't valid JSON, and its type is %s", len(result), media)))
		}
		result = x.repairResult(result, false)
	case strings.HasPrefix(media, "text/"):
		result = x.repairResult(result, true)
	}
	return Outcome{Kind: Succeeded, Result: result, ContentType: declared}
}

// repairResult replaces what isn't UTF-8, and NULs of plain text. An escaped
// NUL in JSON stays: it is legal, and results are stored as bytes.
func (x *execution) repairResult(result []byte, nul bool) []byte {
	repaired := bytes.ToValidUTF8(result, []byte("\uFFFD"))
	if nul {
		repaired = []byte(abi.Repair(string(result)))
	}
	if !bytes.Equal(repaired, result) {
		x.warn("the result wasn't valid text: what wasn't became U+FFFD")
	}
	return repaired
}

func mediaType(contentType string) string {
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return strings.ToLower(strings.TrimSpace(contentType))
	}
	return media
}
