// Package recording reads recorded OTLP: traces and logs as JSON, JSON lines
// or protobuf. It knows nothing of what is in them.
package recording

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"google.golang.org/protobuf/encoding/protowire"
)

// Sink takes what a recording holds, in its order.
type Sink struct {
	Traces func(ptrace.Traces)
	Logs   func(plog.Logs)
}

// MaxValue bounds one JSON value or protobuf message, in bytes.
const MaxValue = 64 << 20

// Error is one fault in a recording. What stands before and after it is read.
type Error struct {
	Name string
	Line int // of a JSON recording, from 1; 0 in a protobuf one
	Err  error
}

func (e *Error) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("%s:%d: %v", e.Name, e.Line, e.Err)
	}
	return fmt.Sprintf("%s: %v", e.Name, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

var (
	errEmpty    = errors.New("it is empty; expected OTLP traces or logs as JSON, JSON lines or protobuf")
	errNotOTLP  = errors.New("not OTLP: expected an object with resourceSpans or resourceLogs")
	errTooLarge = fmt.Errorf("longer than %d MiB; export in smaller batches", MaxValue>>20)
)

// Read reads one recording. Faults do not stop it; each is returned, wrapped
// in a joined error, as an *Error that names the recording.
func Read(name string, r io.Reader, sink Sink) error {
	in := bufio.NewReaderSize(r, 1<<16)
	if bom, _ := in.Peek(3); bytes.Equal(bom, []byte("\xef\xbb\xbf")) {
		_, _ = in.Discard(3)
	}
	first, err := firstByte(in)
	if err == io.EOF {
		return &Error{Name: name, Err: errEmpty}
	}
	if err != nil {
		return &Error{Name: name, Err: err}
	}
	if first == protoTag {
		return readProto(name, in, sink)
	}
	return (&jsonReader{name: name, in: in, sink: sink}).read()
}

// protoTag begins each resource in an export request: field 1, bytes. As text
// it would be a line feed, which JSON recordings may begin with as well, so
// firstByte skips those that a text goes on from.
const protoTag = 0x0a

// firstByte returns the first byte that says what the input is.
func firstByte(in *bufio.Reader) (byte, error) {
	head, err := in.Peek(64)
	if len(head) == 0 {
		return 0, err
	}
	for _, c := range head {
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		case '{', '[':
			return c, nil
		}
		break
	}
	return head[0], nil
}

type jsonReader struct {
	name   string
	in     *bufio.Reader
	sink   Sink
	line   int
	good   int // values that were handed on
	bad    int
	faults []error // the first of the bad
}

// maxFaults bounds what is said of one recording.
const maxFaults = 20

func (j *jsonReader) fault(line int, err error) {
	if j.bad++; j.bad <= maxFaults {
		j.faults = append(j.faults, &Error{Name: j.name, Line: line, Err: err})
	}
}

// outcome says what could not be read: of a recording that is none its first
// fault alone, of others each, up to a bound.
func (j *jsonReader) outcome() error {
	switch {
	case j.bad == 0:
		return nil
	case j.good == 0 && j.bad > 1:
		var first *Error
		errors.As(j.faults[0], &first)
		return &Error{Name: j.name, Line: first.Line, Err: fmt.Errorf("%w; nor could anything else in it be read (%d faults)", first.Err, j.bad)}
	case j.bad > maxFaults:
		j.faults = append(j.faults, &Error{Name: j.name, Err: fmt.Errorf("%d more lines could not be read", j.bad-maxFaults)})
	}
	return errors.Join(j.faults...)
}

// read takes one JSON value after the other. A value usually is a line; where
// a line is no whole value, as in an indented document, the following lines
// belong to it. A line that is no part of any value is a fault, and reading
// goes on with the next.
func (j *jsonReader) read() error {
	for {
		line, err := j.readLine()
		if err != nil && err != io.EOF {
			j.fault(j.line, err)
			if errors.Is(err, errTooLarge) {
				continue
			}
			return j.outcome()
		}
		eof := err == io.EOF
		if text := bytes.TrimSpace(line); len(text) > 0 {
			start := j.line
			if !json.Valid(text) && !eof && (text[0] == '{' || text[0] == '[') {
				text, eof = j.document(text)
			}
			j.value(start, text)
		}
		if eof {
			return j.outcome()
		}
	}
}

// readLine returns the next line. One that is too long is skipped whole.
func (j *jsonReader) readLine() ([]byte, error) {
	var line []byte
	tooLong := false
	j.line++
	for {
		part, err := j.in.ReadSlice('\n')
		if !tooLong {
			line = append(line, part...)
			if len(line) > MaxValue {
				tooLong, line = true, nil
			}
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case tooLong && err == nil, tooLong && err == io.EOF:
			return nil, errTooLarge
		}
		return line, err
	}
}

// document completes a value that goes over several lines. If it never
// becomes one, only its first line is given up.
func (j *jsonReader) document(first []byte) (text []byte, eof bool) {
	at := j.line
	var rest bytes.Buffer
	dec := json.NewDecoder(io.MultiReader(bytes.NewReader(first), bytes.NewReader([]byte{'\n'}),
		io.TeeReader(io.LimitReader(j.in, MaxValue), &rest)))
	var raw json.RawMessage
	err := dec.Decode(&raw)
	read := rest.Bytes()
	if err != nil {
		j.in = bufio.NewReaderSize(io.MultiReader(bytes.NewReader(read), j.in), 1<<16)
		return first, false
	}
	used := int(dec.InputOffset()) - len(first) - 1
	if used < 0 {
		// The first line holds a value and something after it.
		j.in = bufio.NewReaderSize(io.MultiReader(bytes.NewReader(read), j.in), 1<<16)
		return first, false
	}
	j.line = at + bytes.Count(read[:used], []byte{'\n'})
	tail := read[used:]
	j.in = bufio.NewReaderSize(io.MultiReader(bytes.NewReader(tail), j.in), 1<<16)
	return raw, false
}

// value hands on one JSON value: a request, or a list of them.
func (j *jsonReader) value(line int, text []byte) {
	if text[0] == '[' {
		var list []json.RawMessage
		if err := json.Unmarshal(text, &list); err != nil {
			j.fault(line, explain(err, text))
			return
		}
		for _, x := range list {
			j.value(line, x)
		}
		return
	}
	var head map[string]json.RawMessage
	if err := json.Unmarshal(text, &head); err != nil {
		j.fault(line, explain(err, text))
		return
	}
	_, spans := head["resourceSpans"]
	_, logs := head["resourceLogs"]
	switch {
	case spans:
		td, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(text)
		if err != nil {
			j.fault(line, fmt.Errorf("OTLP traces: %w", err))
			return
		}
		j.good++
		j.sink.Traces(td)
	case logs:
		ld, err := (&plog.JSONUnmarshaler{}).UnmarshalLogs(text)
		if err != nil {
			j.fault(line, fmt.Errorf("OTLP logs: %w", err))
			return
		}
		j.good++
		j.sink.Logs(ld)
	case len(head) == 0, head["resourceMetrics"] != nil:
		j.good++ // nothing of ours, and nothing wrong
	default:
		j.fault(line, errNotOTLP)
	}
}

func explain(err error, text []byte) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		if syntax.Offset >= int64(len(text)) {
			return errors.New("not OTLP: the JSON is cut off in the middle of a value")
		}
		return fmt.Errorf("not OTLP: %w at byte %d, where JSON or protobuf is expected", err, syntax.Offset)
	}
	return fmt.Errorf("%w: %v", errNotOTLP, err)
}

// readProto reads an export request resource by resource, so that one cut off
// at its end still gives those before.
func readProto(name string, in *bufio.Reader, sink Sink) error {
	data, err := io.ReadAll(io.LimitReader(in, 16*MaxValue))
	if err != nil {
		return &Error{Name: name, Err: err}
	}
	for at := 0; at < len(data); {
		num, typ, n := protowire.ConsumeTag(data[at:])
		if n < 0 || num != 1 || typ != protowire.BytesType {
			return &Error{Name: name, Err: fmt.Errorf("not OTLP: byte %d begins no resource of an export request in JSON or protobuf", at)}
		}
		_, m := protowire.ConsumeBytes(data[at+n:])
		if m < 0 {
			return &Error{Name: name, Err: fmt.Errorf("OTLP protobuf: cut off: the resource at byte %d goes on past the end at byte %d", at, len(data))}
		}
		message := data[at : at+n+m]
		td, terr := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(message)
		if terr == nil {
			sink.Traces(td)
		} else if ld, lerr := (&plog.ProtoUnmarshaler{}).UnmarshalLogs(message); lerr == nil {
			sink.Logs(ld)
		} else {
			return &Error{Name: name, Err: fmt.Errorf("not OTLP: the resource at byte %d is neither traces (%v) nor logs (%v)", at, terr, lerr)}
		}
		at += n + m
	}
	return nil
}
