package slo_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/agentslo/agentslo/slo"
)

// FuzzParse looks for input that makes Parse panic, hang, give neither files
// nor faults, or place a fault outside of the file.
func FuzzParse(f *testing.F) {
	names, _ := filepath.Glob("testdata/*.yaml")
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("a: &a [*a, *a]\n"))
	f.Add([]byte("&a {<<: *a}"))
	f.Add([]byte("service: \"\\u0041\\x42\\\n  c\"\nslos: {c: {sli: custom, objective: 9%, good: \"run.\\x61gent == \\\"a\\\" && x\"}}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 64<<10 {
			return
		}
		start := time.Now()
		files, err := slo.Parse("f.yaml", data)
		if took := time.Since(start); took > 5*time.Second {
			t.Fatalf("took %v", took)
		}
		if err == nil {
			if len(files) == 0 {
				t.Fatal("neither files nor faults")
			}
			set := &slo.Set{Files: files}
			set.Match("s", "e", "agent", func(string) (string, bool) { return "", false })
			set.AttributeNames()
			for _, file := range files {
				if file.Service == "" || len(file.SLOs) == 0 {
					t.Fatalf("accepted without service or SLO: %+v", file)
				}
				for _, o := range file.SLOs {
					if !o.Target.IsPositive() || !o.Budget().IsPositive() || o.SLI == "" {
						t.Fatalf("accepted: %+v", o)
					}
				}
			}
			return
		}
		var faults slo.Faults
		if !errors.As(err, &faults) || len(faults) == 0 || files != nil {
			t.Fatalf("files %v beside %v", files, err)
		}
		lines := 1
		for _, c := range data {
			if c == '\n' || c == '\r' || c >= 0x80 { // YAML has more line ends than \n
				lines++
			}
		}
		for _, f := range faults {
			if f.Line < 1 || f.Line > lines+1 || f.Column < 1 || f.Column > len(data)+1 || f.Message == "" || !utf8.ValidString(f.Message) {
				t.Fatalf("%+v in a file of %d lines", f, lines)
			}
		}
	})
}

func FuzzCompile(f *testing.F) {
	for _, source := range []string{`run.tool_calls > 1`, `attributes["a"] == "b" || has(run.cost_usd)`, `run.tools.exists(t, t.matches("a+"))`, `{"a": 1}["a"] == 1`, `run.evaluations.x > 0.5 ? true : "a" in attributes`, `google.protobuf.Duration{seconds: 1} == duration("1s")`, `dyn(run.agent) == 1`} {
		f.Add(source)
	}
	f.Fuzz(func(t *testing.T, source string) {
		p, err := slo.Compile(source)
		if (p == nil) == (err == nil) {
			t.Fatalf("%v %v", p, err)
		}
		if err != nil {
			return
		}
		start := time.Now()
		p.Eval(map[string]any{"run.tools": []string{"a", "b"}, "run.tool_calls": 1, "attributes": map[string]string{"a": "b"}})
		if took := time.Since(start); took > 5*time.Second {
			t.Fatalf("evaluation took %v", took)
		}
	})
}

// FuzzMatchGlob compares the glob matcher with the plain definition of a glob.
func FuzzMatchGlob(f *testing.F) {
	for _, pair := range [][2]string{{"a*b?", "axxbc"}, {`\*é?`, "*éü"}, {"**", ""}, {"*??xy", "€xy"}} {
		f.Add(pair[0], pair[1])
	}
	var plain func(glob, name []rune) bool
	plain = func(glob, name []rune) bool {
		switch {
		case len(glob) == 0:
			return len(name) == 0
		case glob[0] == '*':
			return plain(glob[1:], name) || len(name) > 0 && plain(glob, name[1:])
		case len(name) == 0:
			return false
		case glob[0] == '?':
			return plain(glob[1:], name[1:])
		case glob[0] == '\\':
			return len(glob) > 1 && glob[1] == name[0] && plain(glob[2:], name[1:])
		}
		return glob[0] == name[0] && plain(glob[1:], name[1:])
	}
	f.Fuzz(func(t *testing.T, glob, name string) {
		if len(glob) > 12 || len(name) > 16 || !utf8.ValidString(glob) || !utf8.ValidString(name) {
			return
		}
		if got, want := slo.MatchGlob(glob, name), plain([]rune(glob), []rune(name)); got != want {
			t.Errorf("%q on %q: %v, want %v", glob, name, got, want)
		}
	})
}
