package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/agentslo/agentslo/backtest"
	"github.com/agentslo/agentslo/cmd/sloctl/internal/terminal"
	"github.com/agentslo/agentslo/gate"
	"github.com/agentslo/agentslo/slo"
)

// replayFlags are the values of backtest's flags.
type replayFlags struct {
	paths          *[]string
	scenario       []string
	input          string
	question       question // of --prometheus
	from, to       string
	perHour        float64
	errors         string
	seed           uint64
	length         string
	incidents      []string
	incidentErrors string
	scrape, step   time.Duration
	compare        string
	plot           string
}

func newBacktestCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "backtest [SLO…]",
		Short: "Say what the alerts would have done, over history or synthetic traffic",
		Long: `Say what the alerts would have done, over history or synthetic traffic.

The generated rules run unchanged on the Prometheus engine in simulated time:
over a scenario, over a CSV of time, good and bad, or over the exporter's
counters in any Prometheus. Printed are every alert with the budget spent by
then, and how many pages were false: the error ratio was within the budget for
as long as the alert looks back. That is known of scenarios; of history it is
where --incident says when the objective was not met.

A scenario is one of poisson, daily, bursts and nightly (how runs come), with
clumped (failures come in a row) and step or ramp (an incident), such as
daily,clumped,step.`,
		Example: `  sloctl backtest -f slo.yaml --scenario poisson --per-hour 4
  sloctl backtest -f slo.yaml completion --scenario daily,step --per-hour 10 --incident 20d/6h --incident-errors 50% --compare workbook
  sloctl backtest -f slo.yaml completion --input counts.csv --plot completion.svg
  sloctl backtest -f slo.yaml --prometheus http://localhost:9090 --from 30d --incident 2026-01-31T12:00:00Z/3h`,
	}
	flags := &replayFlags{paths: fileFlag(c)}
	flags.question.paths = flags.paths
	output := outputFlag(c)
	set := c.Flags()
	set.StringSliceVar(&flags.scenario, "scenario", nil, "synthetic traffic: "+strings.Join(backtest.Shapes, ", "))
	set.StringVar(&flags.input, "input", "", "CSV file of time, good, bad (and unknown, excluded, where a header names them); - is stdin")
	set.StringVar(&flags.question.address, "prometheus", "", "base URL of a Prometheus API whose history is read")
	set.StringArrayVar(&flags.question.headers, "header", nil, "`\"Name: value\"` sent with each request; \"Name: @FILE\" reads the value from a file; repeatable")
	set.StringVar(&flags.from, "from", "30d", "where the history of --prometheus begins: RFC 3339, Unix seconds, or how long before its end")
	set.StringVar(&flags.to, "to", "", "where it ends (default now)")
	set.Float64Var(&flags.perHour, "per-hour", 10, "counted runs an hour of a scenario")
	set.StringVar(&flags.errors, "errors", "", "error ratio of a scenario, such as 1% (default exactly the budget; half of it beside an incident)")
	set.Uint64Var(&flags.seed, "seed", 1, "seed of a scenario: the same one gives the same runs")
	set.StringVar(&flags.length, "for", "30d", "length of a scenario")
	set.StringArrayVar(&flags.incidents, "incident", nil, "`START/DURATION` of an incident: of a scenario's, 20d/6h after its beginning (default two thirds of its length/6h); else when the objective was not met, such as 2026-01-31T12:00:00Z/3h; repeatable")
	set.StringVar(&flags.incidentErrors, "incident-errors", "100%", "error ratio in a scenario's incident; with ramp, at its end")
	set.DurationVar(&flags.scrape, "scrape", 30*time.Second, "time between scrapes of a scenario or a CSV")
	set.DurationVar(&flags.step, "step", time.Minute, "time between evaluations of the rules")
	set.StringVar(&flags.compare, "compare", "", "also run other rules: workbook, the standard multi-window burn rates")
	set.StringVar(&flags.plot, "plot", "", "write a chart to a .svg or .html file")
	_ = c.MarkFlagFilename("plot", "svg", "html")
	_ = c.MarkFlagFilename("input", "csv")
	_ = c.RegisterFlagCompletionFunc("scenario", cobra.FixedCompletions(backtest.Shapes, cobra.ShellCompDirectiveNoFileComp))
	_ = c.RegisterFlagCompletionFunc("compare", cobra.FixedCompletions([]string{"workbook"}, cobra.ShellCompDirectiveNoFileComp))
	c.MarkFlagsMutuallyExclusive("scenario", "input", "prometheus")
	c.MarkFlagsOneRequired("scenario", "input", "prometheus")
	c.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return sloNames(*flags.paths), cobra.ShellCompDirectiveNoFileComp
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		reports, err := flags.run(c.Context(), c, args)
		if err != nil {
			return err
		}
		if err := flags.draw(c.Context(), reports); err != nil {
			return err
		}
		if *output != table {
			return encode(c.OutOrStdout(), *output, reports)
		}
		for i, r := range reports {
			if i > 0 {
				fmt.Fprintln(c.OutOrStdout())
			}
			if err := writeBacktest(c.OutOrStdout(), r); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}

func (x *replayFlags) run(ctx context.Context, c *cobra.Command, args []string) ([]*backtest.Report, error) {
	if err := x.check(c); err != nil {
		return nil, err
	}
	set, err := load(*x.paths)
	if err != nil {
		return nil, err
	}
	if err := (gate.Options{SLOs: args}).Check(set); err != nil {
		return nil, err
	}
	var tests []backtest.Test
	for _, f := range set.Files {
		for i := range f.SLOs {
			if o := &f.SLOs[i]; len(args) == 0 || slices.Contains(args, o.Name) {
				tests = append(tests, backtest.Test{Set: set, File: f, Objective: o, Step: x.step, Workbook: x.compare != ""})
			}
		}
	}
	switch {
	case x.input != "" && len(tests) > 1:
		return nil, errors.New("--input has the counts of one SLO; name it")
	case x.plot != "" && len(tests) > 1:
		return nil, errors.New("--plot draws one SLO; name it")
	}
	var reports []*backtest.Report
	for i := range tests {
		t := &tests[i]
		if err := x.prepare(t, c); err != nil {
			return nil, err
		}
		progress := newProgress(c.ErrOrStderr(), t.Objective.Name, t.Start, t.End)
		t.Progress = progress.at
		r, err := t.Run(ctx)
		progress.done()
		if err != nil {
			return nil, err
		}
		if x.question.address != "" && r.Good+r.Bad == 0 {
			fmt.Fprintf(c.ErrOrStderr(), "sloctl backtest: %s/%s: no event was counted from %s to %s; is the exporter scraped by this Prometheus?\n",
				t.File.Service, t.Objective.Name, t.Start.UTC().Format(time.RFC3339), t.End.UTC().Format(time.RFC3339))
		}
		reports = append(reports, r)
	}
	return reports, nil
}

func (x *replayFlags) check(c *cobra.Command) error {
	switch {
	case x.compare != "" && x.compare != "workbook":
		return fmt.Errorf("--compare %q: must be workbook", x.compare)
	case x.plot != "" && filepath.Ext(x.plot) != ".svg" && filepath.Ext(x.plot) != ".html":
		return fmt.Errorf("--plot %s: the name must end in .svg or .html", x.plot)
	case x.step < time.Second || x.step > time.Hour || x.step%time.Millisecond != 0:
		return fmt.Errorf("--step %s: must be between 1s and 1h", x.step)
	case x.scrape < time.Second || x.scrape > 4*time.Minute:
		return fmt.Errorf("--scrape %s: must be between 1s and 4m, or Prometheus would not see the counters all the time", x.scrape)
	}
	only := func(source string, names ...string) error {
		for _, name := range names {
			if c.Flags().Changed(name) && !c.Flags().Changed(source) {
				return fmt.Errorf("--%s belongs to --%s", name, source)
			}
		}
		return nil
	}
	return errors.Join(only("scenario", "per-hour", "errors", "seed", "for", "incident-errors"), only("prometheus", "header", "from", "to"))
}

// prepare gives the test its traffic.
func (x *replayFlags) prepare(t *backtest.Test, c *cobra.Command) error {
	switch {
	case x.input != "":
		return x.recorded(t, c)
	case x.question.address != "":
		return x.history(t)
	}
	return x.synthetic(t)
}

// epoch is when scenarios begin: a Monday.
var epoch = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)

func (x *replayFlags) synthetic(t *backtest.Test) error {
	length, err := slo.ParseDuration(x.length)
	if err != nil || length < time.Hour || length > 400*24*time.Hour {
		return fmt.Errorf("--for %q: must be between 1h and 400d", x.length)
	}
	s := backtest.Scenario{Shapes: x.scenario, PerHour: x.perHour, Seed: x.seed, Start: epoch, Scrape: x.scrape}
	budget, _ := t.Objective.Budget().Float64()
	s.ErrorRatio = budget
	incident := slices.Contains(x.scenario, backtest.ShapeStep) || slices.Contains(x.scenario, backtest.ShapeRamp)
	if incident {
		s.ErrorRatio = budget / 2
	}
	if x.errors != "" {
		if s.ErrorRatio, err = share("errors", x.errors); err != nil {
			return err
		}
	}
	switch {
	case !incident && len(x.incidents) > 0:
		return errors.New("--incident needs a scenario with one: step or ramp")
	case len(x.incidents) > 1:
		return errors.New("a scenario has one --incident")
	case incident:
		start, duration := length*2/3, 6*time.Hour
		if len(x.incidents) == 1 {
			from, lasts, _ := strings.Cut(x.incidents[0], "/")
			if start, err = slo.ParseDuration(from); err == nil {
				duration, err = slo.ParseDuration(lasts)
			}
			if err != nil {
				return fmt.Errorf("--incident %q: write it like 20d/6h, when after the beginning and how long", x.incidents[0])
			}
		}
		if start+duration > length {
			return fmt.Errorf("--incident: it ends after the scenario, at %s of %s", slo.FormatDuration(start+duration), slo.FormatDuration(length))
		}
		s.Incident, s.IncidentFor = epoch.Add(start), duration
		if s.IncidentRatio, err = share("incident-errors", x.incidentErrors); err != nil {
			return err
		}
		t.Incidents = []backtest.Incident{{Start: s.Incident, End: s.Incident.Add(duration)}}
	}
	if err := s.Check(); err != nil {
		return err
	}
	t.Traffic, t.Truth = s.Traffic(t.File, t.Objective), s.Truth
	// Evaluations and scrapes do not coincide.
	t.Start, t.End = epoch.Add(x.step+5*time.Second), epoch.Add(length)
	return nil
}

// share reads an error ratio: 5% or 0.05.
func share(flag, text string) (float64, error) {
	digits, percent := strings.CutSuffix(text, "%")
	d, err := decimal.NewFromString(digits)
	if percent {
		d = d.Shift(-2)
	}
	if err != nil || d.IsNegative() || d.GreaterThan(one) {
		return 0, fmt.Errorf("--%s %q: must be between 0%% and 100%%", flag, text)
	}
	f, _ := d.Float64()
	return f, nil
}

func (x *replayFlags) recorded(t *backtest.Test, c *cobra.Command) error {
	in := c.InOrStdin()
	if x.input != "-" {
		file, err := os.Open(x.input)
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }()
		in = file
	}
	rows, err := backtest.ReadCSV(in)
	if err != nil {
		return fmt.Errorf("%s: %w", x.input, err)
	}
	t.Traffic = backtest.Recorded(t.File, t.Objective, rows, x.scrape)
	t.Start, t.End = backtest.Begin(rows).Add(x.step+5*time.Second), rows[len(rows)-1].Time.Add(2*x.step)
	if t.End.Sub(t.Start) > 400*24*time.Hour {
		return fmt.Errorf("%s: it spans %s; at most 400 days can be replayed", x.input, terminal.Duration(t.End.Sub(t.Start)))
	}
	return x.known(t)
}

// known are the incidents that a person knows of.
func (x *replayFlags) known(t *backtest.Test) error {
	for _, text := range x.incidents {
		from, lasts, _ := strings.Cut(text, "/")
		start, err := backtest.ParseTime(from)
		if err != nil {
			return fmt.Errorf("--incident %q: write it like 2026-01-31T12:00:00Z/3h", text)
		}
		duration, err := slo.ParseDuration(lasts)
		if err != nil {
			return fmt.Errorf("--incident %q: write it like 2026-01-31T12:00:00Z/3h", text)
		}
		t.Incidents = append(t.Incidents, backtest.Incident{Start: start, End: start.Add(duration)})
	}
	slices.SortFunc(t.Incidents, func(a, b backtest.Incident) int { return a.Start.Compare(b.Start) })
	return nil
}

func (x *replayFlags) history(t *backtest.Test) error {
	headers, err := x.question.requestHeaders()
	if err != nil {
		return err
	}
	api, err := gate.Dial(x.question.address, headers)
	if err != nil {
		return err
	}
	t.End = time.Now()
	if x.to != "" {
		if t.End, err = backtest.ParseTime(x.to); err != nil {
			return fmt.Errorf("--to: %w", err)
		}
	}
	if before, err := slo.ParseDuration(x.from); err == nil {
		t.Start = t.End.Add(-before)
	} else if t.Start, err = backtest.ParseTime(x.from); err != nil {
		return fmt.Errorf("--from %q: write it like 2026-01-31T12:00:00Z, as Unix seconds, or like 30d", x.from)
	}
	t.Start, t.End = t.Start.Truncate(time.Second), t.End.Truncate(time.Second)
	if length := t.End.Sub(t.Start); length < 2*x.step || length > 400*24*time.Hour {
		return fmt.Errorf("--from and --to: at least two evaluations and at most 400 days can be replayed, not %s", terminal.Duration(length))
	}
	groups := backtest.Groups(t.Set, t.File, t.Objective)
	if t.Traffic, err = backtest.History(api, groups, t.Objective); err != nil {
		return err
	}
	return x.known(t)
}

func (x *replayFlags) draw(ctx context.Context, reports []*backtest.Report) error {
	if x.plot == "" {
		return nil
	}
	file, err := os.Create(x.plot)
	if err != nil {
		return err
	}
	write := reports[0].WriteSVG
	if filepath.Ext(x.plot) == ".html" {
		write = reports[0].WriteHTML
	}
	return errors.Join(write(ctx, file), file.Close())
}

func writeBacktest(w io.Writer, r *backtest.Report) error {
	colours := terminal.Colours(w)
	name := r.Service + "/" + r.SLO
	if r.Environment != "" {
		name += " in " + r.Environment
	}
	fmt.Fprintf(w, "%s: %s over %s, from %s to %s UTC.\n", terminal.Paint(name, terminal.Bold, colours), terminal.ExactPercent(decimal.RequireFromString(r.Objective)), period(r.Window),
		r.From.UTC().Format(time.DateTime), r.To.UTC().Format(time.DateTime))
	fmt.Fprintf(w, "%s, %s bad", events(int64(r.Good+r.Bad), "run"), terminal.Integer(int64(r.Bad)))
	if r.Good+r.Bad > 0 {
		fmt.Fprintf(w, " (%s)", terminal.Percent(decimal.NewFromFloat(r.Bad/(r.Good+r.Bad))))
	}
	if r.BudgetSpent != nil {
		fmt.Fprintf(w, "; %s of the budget spent at the end", terminal.Percent(decimal.NewFromFloat(*r.BudgetSpent)))
	}
	fmt.Fprint(w, ".\n\n")

	compared := len(r.Rules) > 1
	alerts := terminal.Table{Header: []string{"ALERT", "SEVERITY", "START", "END", "LASTED", "BUDGET SPENT", "FALSE"}}
	if compared {
		alerts.Header = append([]string{"RULES"}, alerts.Header...)
	}
	for _, rs := range r.Rules {
		for _, a := range rs.Alerts {
			end := "firing"
			if a.End != nil {
				end = a.End.UTC().Format("2006-01-02 15:04")
			}
			isFalse := terminal.Cell{Text: "?"}
			if a.False != nil {
				isFalse.Text = "no"
				if *a.False {
					isFalse = terminal.Cell{Text: "yes", Colour: terminal.Red}
				}
			}
			row := []terminal.Cell{{Text: a.Name()}, {Text: a.Severity, Colour: severityColours[a.Severity]},
				{Text: a.Start.UTC().Format("2006-01-02 15:04")}, {Text: end}, {Text: strings.TrimSuffix(a.Lasted(r.To), ", still firing")}, {Text: a.Spent()}, isFalse}
			if compared {
				row = append([]terminal.Cell{{Text: rs.Rules}}, row...)
			}
			alerts.Rows = append(alerts.Rows, row)
		}
	}
	if len(alerts.Rows) == 0 {
		fmt.Fprintln(w, "No alert.")
	} else if err := alerts.Write(w, colours); err != nil {
		return err
	}
	fmt.Fprintln(w)
	summary := terminal.Table{
		Header: []string{"RULES", "PAGES", "FALSE", "TICKETS", "FALSE", "PAGE AFTER", "BUDGET SPENT", "TICKET AFTER", "RESET AFTER"},
		Right:  map[int]bool{1: true, 2: true, 3: true, 4: true, 5: true, 6: true, 7: true, 8: true},
	}
	for _, rs := range r.Rules {
		s := rs.Summary
		summary.Rows = append(summary.Rows, []terminal.Cell{{Text: rs.Rules}, {Text: terminal.Integer(int64(s.Pages))}, number(s.FalsePages), {Text: terminal.Integer(int64(s.Tickets))}, number(s.FalseTickets),
			after(s.PageAfter), spent(s.BudgetSpentAtPage), after(s.TicketAfter), after(s.ResetAfter)})
	}
	return summary.Write(w, colours)
}

func number(n *int) terminal.Cell {
	switch {
	case n == nil:
		return terminal.Cell{Text: "?"}
	case *n > 0:
		return terminal.Cell{Text: terminal.Integer(int64(*n)), Colour: terminal.Red}
	}
	return terminal.Cell{Text: "0"}
}

func after(seconds *float64) terminal.Cell {
	if seconds == nil {
		return terminal.Cell{Text: "–"}
	}
	return terminal.Cell{Text: terminal.Seconds(int64(*seconds))}
}

func spent(share *float64) terminal.Cell {
	if share == nil {
		return terminal.Cell{Text: "–"}
	}
	return terminal.Cell{Text: terminal.Percent(decimal.NewFromFloat(*share))}
}

// progress is a bar on a terminal, and nothing elsewhere.
type progress struct {
	w          io.Writer
	name       string
	start, end time.Time
}

func newProgress(w io.Writer, name string, start, end time.Time) progress {
	if f, ok := w.(*os.File); !ok || !term.IsTerminal(int(f.Fd())) || os.Getenv("TERM") == "dumb" {
		w = nil
	}
	return progress{w, name, start, end}
}

func (p progress) at(t time.Time) {
	if p.w == nil {
		return
	}
	const width = 40
	share := float64(t.Sub(p.start)) / float64(p.end.Sub(p.start))
	full := min(max(int(share*width), 0), width)
	fmt.Fprintf(p.w, "\r%s [%s%s] %3.0f%% %s\x1b[K", p.name, strings.Repeat("=", full), strings.Repeat(" ", width-full), 100*share, t.UTC().Format(time.DateOnly))
}

// done takes the bar away.
func (p progress) done() {
	if p.w != nil {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
