package run

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/agentslo/agentslo/processor/convention"
)

// Calls of a run in short: tool, arguments (- not captured), + for a success, !
// for a failure, ~ for wrong arguments, / for one that was cut short.
func callsOf(text string) *Run {
	r := &Run{}
	for i, word := range strings.Fields(text) {
		t := ToolCall{Name: word[:1], HasArgs: word[1] != '-', Start: uint64(i * 10), End: uint64(i*10 + 5)}
		if t.HasArgs {
			t.ArgsHash = uint64(word[1])
		}
		switch word[2] {
		case '!':
			t.Class = convention.Transient
		case '~':
			t.Class = convention.BadArgs
		case '/':
			t.Unfinished = true
		}
		r.Tools = append(r.Tools, t)
	}
	r.persistence()
	return r
}

func TestPersistence(t *testing.T) {
	for calls, want := range map[string]string{
		"a1+":                 "-",
		"a1!":                 "permanent",
		"a1! a1!":             "permanent permanent",
		"a1! a1+":             "recovered -",
		"a1! a1! a1+":         "recovered recovered -",
		"a1+ a1!":             "- intermittent",
		"a1+ a1! a1+ a1!":     "- recovered - intermittent",
		"a1! a2+":             "permanent -",    // another call of the tool
		"a1! b1+":             "permanent -",    // another tool
		"a1! a1/":             "permanent -",    // nobody knows what became of it
		"a1~ a2+":             "recovered -",    // the arguments were put right
		"a2+ a1~":             "- permanent",    // and not before
		"a1~ b2+":             "permanent -",    // another tool says nothing of these arguments
		"a-! a-+":             "recovered -",    // not captured: the same tool
		"a1! a-+":             "recovered -",    // of either
		"a-! a1+":             "recovered -",    //
		"a-+ a1!":             "- intermittent", //
		"a1! b1! a1+ b1! b2+": "recovered permanent - permanent -",
	} {
		r := callsOf(calls)
		var got []string
		for i := range r.Tools {
			got = append(got, cmp.Or(r.Tools[i].Persistence.String(), "-"))
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s: %s, want %s", calls, text, want)
		}
	}
}

// Against the definition, call by call.
func TestPersistenceAgreesWithItsDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	for range 3000 {
		var words []string
		for range rng.IntN(8) {
			words = append(words, fmt.Sprintf("%c%c%c", "ab"[rng.IntN(2)], "12-"[rng.IntN(3)], "+!~/"[rng.IntN(4)]))
		}
		r := callsOf(strings.Join(words, " "))
		for i, f := range r.Tools {
			want := NotFailed
			if f.Failed() {
				want = Permanent
				for k, s := range r.Tools {
					same := s.Name == f.Name && s.Succeeded() && (!s.HasArgs || !f.HasArgs || s.ArgsHash == f.ArgsHash)
					corrected := s.Name == f.Name && s.Succeeded() && f.Class == convention.BadArgs && k > i
					switch {
					case same && k > i || corrected:
						want = Recovered
					case same && want == Permanent:
						want = Intermittent
					}
				}
			}
			if f.Persistence != want {
				t.Fatalf("%s: call %d is %q, want %q", words, i, f.Persistence, want)
			}
		}
	}
}

// Findings come back as they were, beside what else a record has.
func TestRecordKeepsFindings(t *testing.T) {
	f := &convention.Facts{}
	f.Reset()
	f.Kind, f.ToolName, f.HasArgs, f.ArgsHash = convention.Tool, "refund", true, 7
	f.Findings = []convention.Finding{{ID: 1}, {ID: 1<<32 - 1, Hash: 1<<64 - 1}}
	g := newGroup([16]byte{1}, 0)
	g.resource(&resource{})
	g.appendRecord(f, 0, 0, 0, &interner{})
	f.Findings = nil
	f.SpanID[0] = 2
	g.appendRecord(f, 0, 0, 0, &interner{})
	spans, ok := g.decode(nil)
	if !ok || fmt.Sprint(spans[0].Findings) != fmt.Sprint([]convention.Finding{{ID: 1}, {ID: 1<<32 - 1, Hash: 1<<64 - 1}}) || len(spans[1].Findings) != 0 {
		t.Errorf("read %v, %+v and %+v", ok, spans[0].Findings, spans[1].Findings)
	}
	for n := range g.log { // a damaged log is refused, not read beyond its end
		short := *g
		short.log = g.log[:n]
		if _, ok := short.decode(nil); ok {
			t.Errorf("%d bytes of %d were taken for whole", n, len(g.log))
		}
	}
}
