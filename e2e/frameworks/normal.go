package frameworks

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// normaliser takes out of a recording what says where and when it was made:
// ids are renamed in order of appearance, times count from a fixed start, the
// machine's resource attributes go.
type normaliser struct {
	name  string // of the recording: ids of two recordings differ
	root  string // folder of the repository
	url   string // of the world
	names map[string]string
	count map[string]int
	shift time.Duration
	// generated is Agent.Generated.
	generated []*regexp.Regexp
}

var (
	begin     = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	ofMachine = regexp.MustCompile(`^(host|os|process|service\.instance)\.`)
	uuid      = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	codeLine  = regexp.MustCompile(`(\.(?:[cm]?js|go)):\d+(:\d+)?`) // of a stack trace
	isoTime   = regexp.MustCompile(`20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`)
)

// normalise makes the requests' texts: traces, and logs ("" without any).
func (n *normaliser) normalise(traces []ptrace.Traces, logs []plog.Logs) (spans, records string, err error) {
	n.names, n.count = map[string]string{}, map[string]int{}
	first := pcommon.Timestamp(0)
	for _, request := range traces {
		for _, rs := range request.ResourceSpans().All() {
			n.resource(rs.Resource())
			for _, ss := range rs.ScopeSpans().All() {
				for _, span := range ss.Spans().All() {
					if first == 0 || span.StartTimestamp() < first {
						first = span.StartTimestamp()
					}
					n.id(span.TraceID().String())
					n.id(span.SpanID().String())
				}
			}
		}
	}
	for _, id := range mentioned(traces, logs) {
		n.id(id)
	}
	if first == 0 {
		return "", "", fmt.Errorf("%s: no spans came", n.name)
	}
	n.shift = begin.Sub(first.AsTime())
	var out bytes.Buffer
	for _, request := range traces {
		n.spanTimes(request)
		text, err := (&ptrace.JSONMarshaler{}).MarshalTraces(request)
		if err != nil {
			return "", "", err
		}
		if text, err = layout([]byte(n.text(string(text)))); err != nil {
			return "", "", err
		}
		out.Write(text)
	}
	spans = out.String()
	out.Reset()
	for _, request := range logs {
		n.recordTimes(request)
		text, err := (&plog.JSONMarshaler{}).MarshalLogs(request)
		if err != nil {
			return "", "", err
		}
		if text, err = layout([]byte(n.text(string(text)))); err != nil {
			return "", "", err
		}
		out.Write(text)
	}
	return spans, out.String(), nil
}

// mentioned lists the ids of spans that may never have been exported.
func mentioned(traces []ptrace.Traces, logs []plog.Logs) (ids []string) {
	for _, request := range traces {
		for _, rs := range request.ResourceSpans().All() {
			for _, ss := range rs.ScopeSpans().All() {
				for _, span := range ss.Spans().All() {
					ids = append(ids, span.ParentSpanID().String())
					for _, link := range span.Links().All() {
						ids = append(ids, link.TraceID().String(), link.SpanID().String())
					}
				}
			}
		}
	}
	for _, request := range logs {
		for _, rl := range request.ResourceLogs().All() {
			for _, sl := range rl.ScopeLogs().All() {
				for _, record := range sl.LogRecords().All() {
					ids = append(ids, record.TraceID().String(), record.SpanID().String())
				}
			}
		}
	}
	return ids
}

func (n *normaliser) resource(r pcommon.Resource) {
	r.Attributes().RemoveIf(func(key string, _ pcommon.Value) bool { return ofMachine.MatchString(key) })
}

// id gives a trace or span id its name: as long, and the same in every
// recording of the scenario.
func (n *normaliser) id(id string) {
	if _, known := n.names[id]; id == "" || known {
		return
	}
	n.names[id] = n.hash(len(id), fmt.Sprintf("%d-%d", len(id), n.next(fmt.Sprint(len(id)))))
}

func (n *normaliser) next(kind string) int {
	n.count[kind]++
	return n.count[kind]
}

func (n *normaliser) hash(length int, of string) string {
	sum := sha256.Sum256([]byte(n.name + " " + of))
	return hex.EncodeToString(sum[:])[:length]
}

func (n *normaliser) text(text string) string {
	var pairs []string
	for id, name := range n.names {
		pairs = append(pairs, id, name)
	}
	host, port, _ := strings.Cut(strings.TrimPrefix(n.url, "http://"), ":")
	text = strings.NewReplacer(append(pairs, n.root, "/app", n.url, "http://world.example:80",
		`"`+host+`"`, `"world.example"`, `"intValue":"`+port+`"`, `"intValue":"80"`)...).Replace(text)
	text = uuid.ReplaceAllStringFunc(text, func(id string) string {
		name, known := n.names["uuid "+id]
		if !known {
			h := n.hash(32, fmt.Sprint("uuid", n.next("uuid")))
			name = h[:8] + "-" + h[8:12] + "-4" + h[13:16] + "-8" + h[17:20] + "-" + h[20:]
			n.names["uuid "+id] = name
		}
		return name
	})
	for _, pattern := range n.generated {
		text = pattern.ReplaceAllStringFunc(text, func(id string) string {
			name, known := n.names[pattern.String()+id]
			if !known {
				name = pattern.FindStringSubmatch(id)[1] + fmt.Sprint(n.next(pattern.String()))
				n.names[pattern.String()+id] = name
			}
			return name
		})
	}
	text = codeLine.ReplaceAllString(text, "$1")
	return isoTime.ReplaceAllString(text, begin.Format("2006-01-02T15:04:05.000Z"))
}

func (n *normaliser) at(t pcommon.Timestamp) pcommon.Timestamp {
	if t == 0 {
		return 0
	}
	return pcommon.NewTimestampFromTime(t.AsTime().Add(n.shift))
}

func (n *normaliser) spanTimes(request ptrace.Traces) {
	for _, rs := range request.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				span.SetStartTimestamp(n.at(span.StartTimestamp()))
				span.SetEndTimestamp(n.at(span.EndTimestamp()))
				for _, event := range span.Events().All() {
					event.SetTimestamp(n.at(event.Timestamp()))
				}
			}
		}
	}
}

func (n *normaliser) recordTimes(request plog.Logs) {
	for _, rl := range request.ResourceLogs().All() {
		n.resource(rl.Resource())
		for _, sl := range rl.ScopeLogs().All() {
			for _, record := range sl.LogRecords().All() {
				record.SetTimestamp(n.at(record.Timestamp()))
				record.SetObservedTimestamp(n.at(record.ObservedTimestamp()))
			}
		}
	}
}
