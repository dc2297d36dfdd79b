package slo_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/agentslo/agentslo/slo"
)

func schema(t *testing.T) (*jsonschema.Schema, any) {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(slo.JSONSchema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("slo.json", document); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("slo.json")
	if err != nil {
		t.Fatal(err)
	}
	return s, document
}

// documents reads YAML as an editor does: into plain values.
func documents(t *testing.T, data []byte) []any {
	t.Helper()
	var all []any
	for d := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var v any
		if err := d.Decode(&v); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		if v == nil {
			continue
		}
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		plain, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, plain)
	}
}

func TestSchemaAgreesOnFixtures(t *testing.T) {
	s, _ := schema(t)
	for _, name := range fixtures(t, "*.yaml") {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(data, []byte("# schema: cannot say")) {
			continue
		}
		var refused error
		for _, d := range documents(t, data) {
			refused = errors.Join(refused, s.Validate(d))
		}
		if strings.HasSuffix(name, ".good.yaml") && refused != nil {
			t.Errorf("%s: the schema refuses a good file: %v", name, refused)
		}
		if strings.HasSuffix(name, ".bad.yaml") && refused == nil {
			t.Errorf("%s: the schema accepts a bad file", name)
		}
	}
}

// closed lists the objects of the schema that know all of their keys.
func closed(at string, node any, found map[string][]string) {
	switch n := node.(type) {
	case map[string]any:
		if properties, ok := n["properties"].(map[string]any); ok && n["additionalProperties"] == false {
			for name := range properties {
				found[at] = append(found[at], name)
			}
			slices.Sort(found[at])
		}
		for name, child := range n {
			closed(at+"/"+name, child, found)
		}
	case []any:
		for i, child := range n {
			closed(fmt.Sprintf("%s/%d", at, i), child, found)
		}
	}
}

// The parser tells which keys it allows when it meets a foreign one. Both ways:
// each object of the schema is asked of the parser, with the same keys.
func TestSchemaHasTheKeysOfTheParser(t *testing.T) {
	const rest = "\nservice: a\nslos: {completion: {objective: 99%}}\n"
	places := map[string]string{
		"":                           "zz: 1" + rest,
		"/properties/runs":           "runs: {zz: 1}" + rest,
		"/properties/tools":          "tools: {zz: 1}" + rest,
		"/properties/alerting":       "alerting: {zz: 1}" + rest,
		"/properties/policy":         "policy: {zz: 1}" + rest,
		"/properties/window/oneOf/1": "window: {zz: 1}" + rest,
		"/$defs/severity":            "alerting: {page: {zz: 1}}" + rest,
		"/$defs/price":               "prices: {m: {zz: 1}}" + rest,
		"/$defs/dimension":           "dimensions: {d: {zz: 1}}" + rest,
		"/$defs/exclusion":           "exclude: [{zz: 1}]" + rest,
		"/$defs/deadline":            "service: a\nslos: {abandoned_spend: {deadline: {zz: 1}}}",
		"/$defs/events":              "service: a\nslos: {ratio: {events: {zz: 1}}}",
		"/$defs/judge":               "service: a\nslos: {correctness: {judge: {zz: 1}}}",
		"/$defs/evaluation":          "service: a\nslos: {correctness: {evaluations: [{zz: 1}]}}",
		"/$defs/action":              "service: a\nslos: {forbidden_actions: {actions: [{zz: 1}]}}",
	}
	for _, kind := range slo.Kinds {
		places["/$defs/slo_"+kind] = fmt.Sprintf("service: a\nslos: {%s: {zz: 1}}", kind)
	}
	_, document := schema(t)
	objects := map[string][]string{}
	closed("", document, objects)
	allowed := regexp.MustCompile(`unknown key zz in .*\(allowed: (.*)\)`)
	for place, keys := range objects {
		text, ok := places[place]
		if !ok {
			t.Errorf("the schema has an object at %s that this test does not ask the parser about", place)
			continue
		}
		_, err := slo.Parse("x", []byte(text))
		m := allowed.FindStringSubmatch(fmt.Sprint(err))
		if m == nil {
			t.Errorf("%s: the parser does not refuse a foreign key: %v", place, err)
			continue
		}
		got := strings.Split(m[1], ", ")
		slices.Sort(got)
		if !slices.Equal(got, keys) {
			t.Errorf("%s: the parser allows %v, the schema %v", place, got, keys)
		}
	}
	for place := range places {
		if _, ok := objects[place]; !ok {
			t.Errorf("the schema has no object with all keys at %s", place)
		}
	}
}

// Single values, of which parser and schema must say the same.
func TestSchemaAgreesOnValues(t *testing.T) {
	s, _ := schema(t)
	shares := []string{"95%", "0.95", "'0.95'", "99.9 %", ".5", "50", "'50'", "1", "100%", "'1.0'", "0", "0%", "'0'", "-5%", "-0.5", "101%", "100.1%", "x", "'%'", "true", "[1]", "~", "{}", "00%", "0.0%", "007%", "'.'", "1e-1"}
	durations := []string{"10s", "1h30m", "1.5h", "500ms", "2w", "0", "0s", "'0'", "0.0s", "10", "'10'", "-1s", "1 h", "1y", "s", "true", "[1s]", "~", "0s1ms", "0h0s"}
	globs := []string{"a", "'*'", "'a*?'", `'\['`, "'[a]'", "'{a}'", `'a\'`, "''", "' '", "5", "~", `'\\'`, "'a b'"}
	texts := []string{"a", "'a b'", "''", "' '", "5", "'5'", "true", "~", "[a]", "{}"}
	names := []string{"a", "A-1_b.c", "'1'", "1", "'a b'", "''", "-a", "a/b", "~", "[]", strings.Repeat("a", 100), strings.Repeat("a", 101)}
	numbers := []string{"1", "0", "0.25", "-1", "'1'", "x", "true", "~", "[1]", ".5", "1e1"}
	integers := []string{"1", "2", "0", "-1", "5", "2.5", "'5'", "x", "~", "1000", "1001", "1000000", "10000001"}
	lists := []string{"[]", "[a]", "[a, b]", "[a, a]", "a", "~", "{}", "[1]", "[~]", "[[a]]"}
	for template, values := range map[string][]string{
		"slos: {completion: {objective: %s, alert: none}}": shares,
		"max_excluded: %s": shares,
		"policy: {freeze_below: %s, resume_above: 99.99%%}": shares,
		"policy: {resume_above: %s}":                        shares,
		"slos: {grounding: {objective: 99%%, evaluations: [{name: a, min_score: 1}], expected_coverage: %s}}": shares,
		"slos: {grounding: {objective: 99%%, evaluations: [{name: a, min_score: 1}], wait: %s}}":              durations,
		"slos: {latency: {objective: 99%%, threshold: %s}}\nruns: {max_age: 100w}":                            durations,
		"runs: {max_age: 100w, quiet_period: %s}":                                                             durations,
		"runs: {max_age: 100w, idle_timeout: %s}":                                                             durations,
		"runs: {max_spans: %s}":                 integers,
		"runs: {root: %s}":                      {"agent", "trace", "span", "~", "1", "[agent]"},
		"runs: {key: %s}":                       lists,
		"runs: %s":                              {"{}", "[]", "~", "x", "{a: 1}"},
		"agents: [%s]":                          globs,
		"agents: %s":                            lists,
		"by: %s":                                {"[]", "[agent]", "[agent, agent]", "[tenant]", "agent", "~"},
		"sampling: %s":                          {"none", "uniform", "head", "~", "5"},
		"environment: %s":                       texts,
		"aliases: {x: %s}":                      texts,
		"aliases: {'%s': y}":                    {"a", "a*", "a?"},
		"match: {x: %s}":                        texts,
		"match: {'%s': x}":                      {"a", " ", ""},
		"labels: {x: %s}":                       texts,
		"labels: {'%s': x}":                     {"a", "A_1", "1a", "a-b", "a.b", "__a", "_a", "slo", "severity", "tier", "pod"},
		"alerting: {page: {labels: {'%s': x}}}": {"a", "severity", "tier", "alertname", "a-b"},
		"alerting: {runbook: '%s'}":             {"https://x/{{slo}}", "http://x", "x", "", "ftp://x"},
		"alerting: {dashboard: '%s'}":           {"https://x", "grafana"},
		"alerting: {false_pages: %s}":           numbers,
		"alerting: {dispersion: %s}":            numbers,
		"alerting: {expected_every: %s}":        durations,
		"slos: {grounding: {objective: 99%%, evaluations: [{name: a, min_score: 1}], judge: {sensitivity: %s, specificity: 99.99%%}}}": shares,
		"slos: {grounding: {objective: 99%%, evaluations: [{name: a, min_score: 1}], judge: %s}}":                                      {"{}", "~", "95%", "{sensitivity: 90%}", "{specificity: 90%}", "{sensitivity: 90%, specificity: 90%}"},
		"dimensions: {'%s': {attribute: x}}":        {"version", "a.b", "pod", "job", "severity", "__x", "service"},
		"dimensions: {x: {attribute: %s}}":          texts,
		"dimensions: {x: {attribute: a, keep: %s}}": integers,
		"dimensions: {x: %s}":                       {"{}", "a", "~", "{keep: 1}", "{baggage: a}", "{resource: a, keep: 5}", "{baggage: a, resource: b}", "{attribute: a, alert: ticket}", "{attribute: a, alert: none}", "{attribute: a, alert: page}", "{attribute: a, alert: ~}", "{attribute: a, baggage: a}"},
		"exclude: %s":                               {"[]", "[{name: a, when: 'true'}]", "[{name: a}]", "[{when: 'true'}]", "[a]", "{}", "~"},
		"exclude: [{name: %s, when: 'true'}]":       names,
		"exclude: [{name: a, when: %s}]":            {"'true'", "true", "''", "5", "~"},
		"tools: {expect: %s}":                       {"always", "when_offered", "never", "sometimes", "when-offered", "'true'", "true", "'run.tool_calls > 1'", "''", "~", "5"},
		"tools: {evidence: %s}":                     lists,
		"tools: {required: %s}":                     lists,
		"tools: {answer: [%s]}":                     globs,
		"tools: {not_counted: [%s]}":                globs,
		"tools: {retrieval: [%s]}":                  globs,
		"tools: {write: [%s]}":                      globs,
		"prices: {m: {input: %s, output: 1}}":       numbers,
		"prices: {m: {input: 1, output: %s}}":       numbers,
		"prices: {m: {input: 1, output: 1, cached_input: %s, cache_write: 1}}": numbers,
		"prices: {m: %s}":        {"{}", "{input: 1}", "{output: 1}", "1", "~"},
		"outcomes: {%s: 'true'}": {"answered", "abstained", "escalated", "stopped_no_progress", "limit_reached", "cancelled", "error", "lost", "unknown", "other"},
		"window: %s":             {"30d", "1w", "24h", "30", "month", "~", "{calendar: month}", "{calendar: week, timezone: Europe/Berlin}", "{calendar: year}", "{timezone: UTC}", "{}", "[]", "0s"},
		"apiVersion: %s":         {"agentslo/v1", "v1", "~"},
		"kind: %s":               {"AgentSLO", "SLO", "~"},
		"slos: %s":               {"{}", "[]", "~", "x", "{completion: {}}", "{completion: 99%}", "{x: {objective: 99%}}", "{x: {sli: latency, objective: 99%}}", "{x: {sli: speed, objective: 99%}}", "{latency: {sli: completion, objective: 99%}}", "{latency: {sli: completion, objective: 99%, threshold: 1s}}", "{latency: {objective: 99%}}"},
		"slos: {%s: {sli: completion, objective: 99%%}}":                                                          {"a", "A-1_b.c", "'1'", "'a b'", "''", "-a", "a/b"},
		"slos: {completion: {objective: 99%%, alert: %s}}":                                                        {"page", "ticket", "none", "email", "~"},
		"slos: {completion: {objective: 99%%, agents: %s}}":                                                       lists,
		"slos: {completion: {objective: 99%%, when: %s}}":                                                         {"'true'", "true", "''", "~"},
		"slos: {custom: {objective: 99%%, good: %s}}":                                                             {"'true'", "true", "''", "~"},
		"slos: {completion: {objective: 99%%, description: %s}}":                                                  append(texts, strings.Repeat("ä", 1050), strings.Repeat("ä", 1051)),
		"slos: {ratio: {objective: 99%%, events: %s}}":                                                            {"{good: [a], bad: [b]}", "{good: [a], total: [b]}", "{bad: [a], total: [b]}", "{total: [b]}", "{}", "{good: [a], bad: [b], total: [c]}", "~", "[a]", "{bad: a, total: b}", "{bad: [], total: [a]}", "{bad: ['a{x=\"1\"}'], total: [a, b]}", "{bad: ['sum(a)'], total: [a]}", "{bad: ['a[5m]'], total: [a]}", "{bad: ['{x=\"1\"}'], total: [a]}", "{bad: [a, a], total: [a]}", "{bad: [1], total: [a]}"},
		"slos: {ratio: {objective: 99%%, events: {bad: [a], total: [a]}, %s}}":                                    {"alert: none", "when: 'true'", "agents: [a]", "good: 'true'", "wait: 1h"},
		"slos: {cost: {objective: 99%%, max_usd: %s}}":                                                            numbers,
		"slos: {no_progress: {objective: 99%%, repeats: %s}}":                                                     integers,
		"slos: {no_progress: {objective: 99%%, per_tool: {a: %s}}}":                                               integers,
		"slos: {no_progress: {objective: 99%%, per_tool: {%s: 3}}}":                                               globs[:7],
		"slos: {latency: {objective: 99%%, threshold: 1s, measure: %s}}":                                          {"run", "first_token", "total", "~"},
		"slos: {correctness: {objective: 99%%, evaluations: [{name: a, min_score: 1}], combine: %s}}":             {"all", "any", "first", "last", "~"},
		"slos: {correctness: {objective: 99%%, evaluations: %s}}":                                                 {"[]", "~", "{}", "[a]", "[{}]", "[{name: a}]", "[{min_score: 1}]", "[{name: a, min_score: 1}]", "[{name: a, good_labels: [x]}]", "[{name: a, bad_labels: [x, x]}]", "[{name: a, max_score: '1'}]", "[{name: '', max_score: 1}]"},
		"slos: {abstention: {objective: 71%%, correct: %s, alert: none, evaluations: [{name: a, min_score: 1}]}}": shares,
		"slos: {abstention: {objective: 71%%, %s}}":                                                               {"correct: 95%", "wait: 1h", "combine: all", "expected_coverage: 50%", "evaluations: [{name: a, min_score: 1}]", "provider_faults: exclude"},
		"slos: {completion: {objective: 99%%, provider_faults: %s}}":                                              {"blame", "exclude", "ignore", "~", "true"},
		"slos: {abandoned_spend: {objective: 99%%, grace: %s}}":                                                   durations,
		"slos: {abandoned_spend: {objective: 99%%, deadline: %s}}\nruns: {max_age: 100w}":                         append(durations, "{attribute: a.b}", "{attribute: ''}", "{}", "{attribute: 5}", "{attribute: [a]}"),
		"slos: {completion: {objective: 99%%, %s}}":                                                               {"scope: run", "scope: tool", "scope: agent", "scope: step", "scope: ~", "tools: [a]", "scope: tool, tools: [a]", "scope: tool, tools: a", "scope: agent, tools: [a]", "scope: run, tools: [a]", "scope: tool, measure: run", "scope: tool, provider_faults: blame", "scope: agent, provider_faults: exclude"},
		"slos: {latency: {objective: 99%%, threshold: 1s, %s}}":                                                   {"scope: tool", "scope: agent, measure: run", "scope: agent, measure: first_token", "scope: run, measure: first_token", "tools: ['*']", "scope: tool, tools: [a, a]"},
		"slos: {tool_free: {objective: 99%%, %s}}":                                                                {"scope: run", "scope: tool", "tools: [a]"},
		"service: %s": names,
	} {
		for _, value := range values {
			text := fmt.Sprintf(template, value)
			if !strings.HasPrefix(text, "service:") {
				text += "\nservice: a"
			}
			if !strings.HasPrefix(text, "slos:") {
				text += "\nslos: {completion: {objective: 99%}}"
			}
			_, parserSays := slo.Parse("x", []byte(text))
			schemaSays := s.Validate(documents(t, []byte(text))[0])
			if (parserSays == nil) != (schemaSays == nil) {
				t.Errorf("%s\nparser: %v\nschema: %v", text, parserSays, schemaSays)
			}
		}
	}
}
