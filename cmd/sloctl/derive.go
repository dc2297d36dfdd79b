package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/agentslo/agentslo/cmd/sloctl/internal/terminal"
	"github.com/agentslo/agentslo/processor"
	"github.com/agentslo/agentslo/processor/recording"
	agentrun "github.com/agentslo/agentslo/processor/run"
	"github.com/agentslo/agentslo/processor/sli"
	"github.com/agentslo/agentslo/slo"
)

func newDeriveCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "derive INPUT…",
		Short: "Judge recorded telemetry: one verdict per run and SLO",
		Long: `Judge recorded telemetry: one verdict per run and SLO.

An input is a file of OTLP traces or logs as JSON, JSON lines or protobuf; - is
standard input. All inputs are one stream, so evaluations in one file meet the
runs in another, and the end of the last input ends every wait.

A fact that the telemetry does not carry is shown as – and is null in JSON. Tool
calls that a model asked for and went on from, of which neither a span nor a later
message shows what became, are tool_calls.unseen; with nothing but such calls
tool_calls.ok is null.

--why says of each fact of each run which span and attribute it was read from,
and which convention knows that attribute; of a fact that is not known, which
attributes were looked for, and on which spans. In JSON it is the member "why".
Values of attributes are shown, cut after 200 bytes: mind where you put them.`,
		Example: `  sloctl derive -f slo.yaml spans.jsonl
  sloctl derive -f slo.yaml spans.jsonl evaluations.jsonl -o json | jq .outcome
  sloctl derive -f slo.yaml --why --trace 4bf92f35 spans.jsonl
  sloctl derive -f slo.yaml --why -o json spans.jsonl | jq '.why["tokens.input"]'
  kubectl logs agent-0 | sloctl derive -f slo.yaml -`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("name a file of OTLP traces or logs, or - for standard input")
			}
			return nil
		},
	}
	paths, output := fileFlag(c), outputFlag(c)
	why := c.Flags().Bool("why", false, "say which span and attribute each fact came from")
	trace := c.Flags().String("trace", "", "only runs whose trace id begins so")
	c.RunE = func(c *cobra.Command, args []string) error {
		set, err := load(*paths)
		if err != nil {
			return err
		}
		var faults error
		derive, explainer := processor.Derive, (*processor.Explainer)(nil)
		if *why {
			derive, explainer = processor.DeriveSources, processor.NewExplainer()
		}
		judged, stats := derive(set, func(e *processor.Engine) {
			sink := recording.Sink{Traces: func(td ptrace.Traces) { e.Consume(td, 0) }, Logs: e.ConsumeLogs}
			if *why {
				sink = keeping(sink, explainer)
			}
			for _, name := range args {
				if err := readInput(name, c.InOrStdin(), sink); err != nil {
					faults = errors.Join(faults, err)
				}
			}
		})
		reports := make([]processor.Report, 0, len(judged))
		for i := range judged {
			r := judged[i].Report()
			if !strings.HasPrefix(r.TraceID, strings.ToLower(*trace)) {
				continue
			}
			if *why {
				r.Why = explainer.Why(&judged[i])
			}
			reports = append(reports, r)
		}
		if len(reports) == 0 && len(judged) > 0 {
			return errors.Join(faults, fmt.Errorf("no run has a trace id that begins with %q; there are %d others", *trace, len(judged)))
		}
		if err := writeReports(c.OutOrStdout(), *output, set, reports); err != nil {
			return err
		}
		if faults == nil || stats.Spans.Load() > 0 {
			remark(c.ErrOrStderr(), len(reports), stats)
		}
		return faults
	}
	return c
}

func readInput(name string, stdin io.Reader, sink recording.Sink) error {
	if name == "-" {
		return recording.Read("standard input", stdin, sink)
	}
	in, err := os.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	return recording.Read(name, in, sink)
}

// writeReports writes one object a line as JSON, one document a run as YAML.
func writeReports(w io.Writer, f format, set *slo.Set, reports []processor.Report) error {
	switch f {
	case asJSON:
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		for i := range reports {
			if err := enc.Encode(&reports[i]); err != nil {
				return err
			}
		}
		return nil
	case asYAML:
		for i := range reports {
			if i > 0 {
				fmt.Fprintln(w, "---")
			}
			if err := encode(w, f, &reports[i]); err != nil {
				return err
			}
		}
		return nil
	}
	if len(reports) == 0 {
		return nil
	}
	if err := reportTable(set, reports).Write(w, terminal.Colours(w)); err != nil {
		return err
	}
	for i := range reports {
		if err := writeWhy(w, &reports[i], terminal.Colours(w)); err != nil {
			return err
		}
	}
	return nil
}

var verdictColours = map[string]terminal.Colour{
	slo.Good.String(): terminal.Green, slo.Bad.String(): terminal.Red, slo.Unknown.String(): terminal.Yellow, slo.Excluded.String(): terminal.Dim,
}

func reportTable(set *slo.Set, reports []processor.Report) terminal.Table {
	t := terminal.Table{Right: map[int]bool{}}
	for _, name := range []string{"TRACE", "AGENT", "OUTCOME", "SECONDS", "MODEL CALLS", "TOOLS OK", "FAILED", "IN", "OUT", "USD"} {
		if len(t.Header) >= 3 {
			t.Right[len(t.Header)] = true
		}
		t.Header = append(t.Header, name)
	}
	t.Header = append(t.Header, "FIRST WRONG")
	var names []string
	for _, f := range set.Files {
		for i := range f.SLOs {
			if n := f.SLOs[i].Name; f.SLOs[i].CountsRuns() && !slices.Contains(names, n) {
				names = append(names, n)
				t.Header = append(t.Header, strings.ToUpper(n))
			}
		}
	}
	for i := range reports {
		r := &reports[i]
		failed := 0
		for _, n := range r.ToolCalls.Failed {
			failed += n
		}
		failures := strconv.Itoa(failed)
		if failed == 0 && r.ToolCalls.OK == nil {
			failures = "–" // calls may have run unseen
		}
		outcome := r.Outcome
		if r.OutcomeReason != "" {
			outcome += " (" + r.OutcomeReason + ")"
		}
		row := []terminal.Cell{{Text: r.TraceID[:min(8, len(r.TraceID))]}, {Text: r.Agent}, {Text: outcome}}
		for _, text := range []string{
			real(r.DurationSeconds, 2), whole(r.ModelCalls), whole(r.ToolCalls.OK), failures,
			whole(r.Tokens.Input), whole(r.Tokens.Output), real(r.CostUSD, 5),
		} {
			row = append(row, terminal.Cell{Text: text})
		}
		row = append(row, terminal.Cell{Text: firstWrong(r.FirstWrong)})
		for _, n := range names {
			x, ok := r.SLOs[n]
			if !ok {
				row = append(row, terminal.Cell{Text: "–"})
				continue
			}
			text := x.Verdict
			switch {
			case x.Steps != nil:
				text = stepsText(x)
			case x.Reason == sli.NoSteps:
				text = "–"
			case x.Reason != "":
				text += " (" + x.Reason + ")"
			}
			row = append(row, terminal.Cell{Text: text, Colour: verdictColours[x.Verdict]})
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// stepsText counts the run's steps: "3 good, 1 bad (transient)".
func stepsText(x processor.SLOReport) string {
	totals := map[string]int64{}
	for _, s := range x.Steps {
		totals[s.Verdict] += s.Count
	}
	var parts []string
	for _, v := range slo.Verdicts {
		if n := totals[v.String()]; n > 0 {
			parts = append(parts, strconv.FormatInt(n, 10)+" "+v.String())
		}
	}
	text := strings.Join(parts, ", ")
	if x.Verdict != slo.Good.String() && x.Reason != "" {
		text += " (" + x.Reason + ")"
	}
	return text
}

// firstWrong is where to begin to look: step 2: get_order (transient).
func firstWrong(x *processor.FirstWrongReport) string {
	if x == nil {
		return "–"
	}
	why := x.What
	if x.What == agentrun.FailedCall && x.Class != "" {
		why = x.Class
	}
	return fmt.Sprintf("step %d: %s (%s)", x.Step, cmp.Or(x.Name, "?"), why)
}

func real(v *float64, digits int) string {
	if v == nil {
		return "–"
	}
	return strconv.FormatFloat(*v, 'f', digits, 64)
}

func whole[N int | int64](v *N) string {
	if v == nil {
		return "–"
	}
	return strconv.FormatInt(int64(*v), 10)
}

// remark says what became of spans that are in no run: no traffic and no facts
// must not look alike.
func remark(w io.Writer, found int, s *agentrun.Stats) {
	if found == 0 {
		fmt.Fprintf(w, "no runs: %s, %d of them by an agent's instrumentation\n", count(s.Spans.Load(), "span"), s.AISpans.Load())
	}
	if n := s.Unattached.Load(); n > 0 {
		fmt.Fprintf(w, "%s of models or tools belong to no run: no agent span is above them (set runs.root: trace or runs.key if they should)\n", count(n, "span"))
	}
	scopes := s.Unrecognised()
	for _, scope := range slices.Sorted(maps.Keys(scopes)) {
		fmt.Fprintf(w, "%s of scope %q: a known AI instrumentation, but nothing usable in them\n", count(scopes[scope], "span"), scope)
	}
	for _, x := range []struct {
		n    int64
		what string
	}{
		{s.Malformed.Load(), "span without a trace id or span id"},
		{s.Duplicates.Load(), "span that had come before"},
		{s.EvaluationsOrphaned.Load(), "evaluation of no run here"},
	} {
		if x.n > 0 {
			fmt.Fprintln(w, count(x.n, x.what))
		}
	}
}

// count writes a number with its noun: 1 span, 2 spans.
func count(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	first, rest, ok := strings.Cut(what, " ")
	if ok {
		rest = " " + rest
	}
	return strconv.FormatInt(n, 10) + " " + first + "s" + rest
}
