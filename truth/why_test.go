package truth_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/agentslo/agentslo/processor"
	"github.com/agentslo/agentslo/processor/recording"
	"github.com/agentslo/agentslo/truth"
)

// Of every fact of every recorded run it is said where it comes from: what is
// known names spans and attributes that are there, what is not known says what
// was looked for.
func TestEveryFactSaysWhereItComesFrom(t *testing.T) {
	entries, err := truth.Recordings()
	if err != nil {
		t.Fatal(err)
	}
	index, err := os.Open(filepath.Join(moreRecordings, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer index.Close()
	more, err := truth.ReadIndex(index)
	if err != nil {
		t.Fatal(err)
	}
	open := func(name string) (io.ReadCloser, error) {
		if file, err := os.Open(filepath.Join(moreRecordings, name)); err == nil {
			return file, nil
		}
		return truth.Open(name)
	}
	entries = append(entries, more...)
	facts := 0
	for i := range entries {
		x, err := truth.Expect(&entries[i])
		if err != nil {
			t.Fatal(err)
		}
		explainer, spans := processor.NewExplainer(), map[string]ptrace.Span{}
		judged, _ := processor.DeriveSources(sixSLOs(t), func(e *processor.Engine) {
			sink := recording.Sink{
				Traces: func(td ptrace.Traces) {
					explainer.Traces(td)
					e.Consume(td, 0)
					for _, rs := range td.ResourceSpans().All() {
						for _, ss := range rs.ScopeSpans().All() {
							for _, s := range ss.Spans().All() {
								spans[s.TraceID().String()+s.SpanID().String()] = s
							}
						}
					}
				},
				Logs: func(ld plog.Logs) { explainer.Logs(ld); e.ConsumeLogs(ld) },
			}
			for _, name := range x.Files {
				file, err := open(name)
				if err != nil {
					t.Fatal(err)
				}
				defer file.Close()
				if err := recording.Read(name, io.Reader(file), sink); err != nil {
					t.Fatal(err)
				}
			}
		})
		for k := range judged {
			for _, f := range explainer.Why(&judged[k]) {
				facts++
				fault := func(format string, args ...any) {
					t.Helper()
					t.Errorf("%s: %s = %v: "+format, append([]any{x.Name, f.Name, f.Value}, args...)...)
				}
				if f.Value != nil && len(f.From) == 0 && f.How == "" {
					fault("from nowhere")
				}
				if f.Value == nil && f.How == "" && len(f.Missing) == 0 {
					fault("for no reason")
				}
				for _, s := range f.From {
					if s.Attribute == "" {
						fault("of no attribute of %s [%s]", s.Span, s.SpanID)
						continue
					}
					span, ok := spans[s.TraceID+s.SpanID]
					if !ok && s.Attribute != "log record" && !strings.HasPrefix(f.Name, "evaluations") {
						fault("from span %s, which is not there", s.SpanID)
					}
					if ok && !carries(span, s.Attribute) {
						fault("%s [%s] has no %s", s.Span, s.SpanID, s.Attribute)
					}
				}
				for _, m := range f.Missing {
					if len(m.LookedFor) == 0 {
						fault("looked for nothing on %s [%s] of %s", m.Span, m.SpanID, m.Convention)
					}
				}
			}
		}
	}
	t.Logf("%d facts", facts)
	if facts < 5000 {
		t.Errorf("%d facts of %d recordings", facts, len(entries))
	}
}

func carries(s ptrace.Span, attribute string) bool {
	if name, ok := strings.CutPrefix(attribute, "event "); ok {
		for _, e := range s.Events().All() {
			if e.Name() == name {
				return true
			}
		}
		return false
	}
	switch attribute {
	case "span status", "span name", "span times", "scope name", "log record":
		return true
	case "span link":
		return s.Links().Len() > 0
	}
	if strings.HasPrefix(attribute, "resource ") {
		return true
	}
	v, ok := s.Attributes().Get(attribute)
	return ok && v.Type() != pcommon.ValueTypeEmpty
}
