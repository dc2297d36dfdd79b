package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentslo/agentslo/gate"
	"github.com/agentslo/agentslo/slo"
)

// defaultPrometheus is where sloctl up listens.
const defaultPrometheus = "http://localhost:9500"

// question is what budget and gate have in common: files, a selection of their
// SLOs, and the server that is asked.
type question struct {
	paths   *[]string
	slos    []string
	by      string
	address string
	headers []string
	timeout time.Duration
	end     string
}

func questionFlags(c *cobra.Command) *question {
	q := &question{paths: fileFlag(c)}
	flags := c.Flags()
	flags.StringVar(&q.address, "prometheus", "", "base URL of a Prometheus API (default $PROMETHEUS_URL, or that of sloctl up: "+defaultPrometheus+")")
	flags.StringSliceVar(&q.slos, "slo", nil, "only these SLOs; the same as naming them as arguments")
	flags.StringVar(&q.by, "by", "", "a budget for each `agent`, tool, or value of a dimension")
	flags.StringArrayVar(&q.headers, "header", nil, "`\"Name: value\"` sent with each request, such as a tenant; \"Name: @FILE\" reads the value from a file; repeatable")
	flags.DurationVar(&q.timeout, "timeout", 2*time.Minute, "how long reading may take")
	flags.StringVar(&q.end, "time", "", "when the window ends, RFC 3339 or Unix seconds (default now)")
	complete := func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return sloNames(*q.paths), cobra.ShellCompDirectiveNoFileComp
	}
	c.ValidArgsFunction = complete
	_ = c.RegisterFlagCompletionFunc("slo", complete)
	return q
}

// sloNames lists the SLOs of files, for completion.
func sloNames(paths []string) (names []string) {
	set, err := load(paths)
	if err != nil {
		return nil
	}
	for _, f := range set.Files {
		for i := range f.SLOs {
			names = append(names, f.SLOs[i].Name)
		}
	}
	return names
}

// ask reads the budgets and hands them on while the API may still be asked.
func (q *question) ask(ctx context.Context, args []string, then func(context.Context, gate.Prometheus, *slo.Set, []gate.Budget) error) error {
	set, err := load(*q.paths)
	if err != nil {
		return err
	}
	headers, err := q.requestHeaders()
	if err != nil {
		return err
	}
	api, err := gate.Dial(cmp.Or(q.address, os.Getenv("PROMETHEUS_URL"), defaultPrometheus), headers)
	if err != nil {
		return err
	}
	at, err := q.at()
	if err != nil {
		return err
	}
	if q.timeout <= 0 {
		return fmt.Errorf("--timeout %s: must be above 0", q.timeout)
	}
	ctx, cancel := context.WithTimeout(ctx, q.timeout)
	defer cancel()
	budgets, err := gate.Read(ctx, api, set, gate.Options{At: at, SLOs: append(slices.Clone(q.slos), args...), By: q.by})
	if err != nil {
		return err
	}
	return then(ctx, api, set, budgets)
}

func (q *question) requestHeaders() (http.Header, error) {
	headers := http.Header{}
	for _, h := range q.headers {
		name, value, ok := strings.Cut(h, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || name == "" {
			return nil, fmt.Errorf(`--header: write it as "Name: value"`)
		}
		if file, ok := strings.CutPrefix(value, "@"); ok {
			data, err := os.ReadFile(file)
			if err != nil {
				return nil, fmt.Errorf("--header %s: %w", name, err)
			}
			value = strings.TrimSpace(string(data))
		}
		headers.Add(name, value)
	}
	return headers, nil
}

// at is the time of --time; the zero time is now.
func (q *question) at() (time.Time, error) {
	if q.end == "" {
		return time.Time{}, nil
	}
	if seconds, err := strconv.ParseFloat(q.end, 64); err == nil && seconds > 0 && seconds < 1e11 {
		return time.UnixMilli(int64(seconds * 1000)), nil
	}
	if t, err := time.Parse(time.RFC3339, q.end); err == nil {
		return t, nil
	}
	return time.Time{}, fmt.Errorf("--time %q: write it like 2026-01-31T12:00:00Z or as Unix seconds", q.end)
}
