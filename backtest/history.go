package backtest

import (
	"context"
	"fmt"
	"time"

	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/agentslo/agentslo/rules"
	"github.com/agentslo/agentslo/slo"
)

// API is the part of the Prometheus HTTP API that history is read through.
type API interface {
	Query(ctx context.Context, query string, at time.Time, opts ...promv1.Option) (model.Value, promv1.Warnings, promv1.Infos, error)
}

// history reads raw samples, so that resets, gaps and scrape times are as they
// were.
type history struct {
	api       API
	selectors []string
}

// chunk of a history is asked for at a time: few enough samples for servers
// that bound them.
const chunk = 6 * time.Hour

// History is traffic as a Prometheus scraped it: the series that the rules of
// the SLO read and none of them records.
func History(api API, groups []rules.Group, o *slo.Objective) (Traffic, error) {
	found, err := inputs(groups)
	if err != nil {
		return nil, err
	}
	h := &history{api: api}
	for _, v := range found {
		if metric(v) == eventsMetric {
			v.LabelMatchers = append(v.LabelMatchers, labels.MustNewMatcher(labels.MatchEqual, rules.LabelSLO, o.Name))
		}
		if covered := h.has(v); !covered {
			h.selectors = append(h.selectors, v.String())
		}
	}
	return h, nil
}

func (h *history) has(v *parser.VectorSelector) bool {
	for _, s := range h.selectors {
		if s == v.String() {
			return true
		}
	}
	return false
}

// Scrape implements [Traffic].
func (h *history) Scrape(ctx context.Context, from, to time.Time, into *Storage) error {
	for from.Before(to) {
		end := minTime(from.Add(chunk), to)
		for _, selector := range h.selectors {
			// A range holds its end but not its beginning, or did hold it in older servers:
			// what comes twice is dropped.
			query := fmt.Sprintf("%s[%dms]", selector, end.Sub(from).Milliseconds())
			value, _, _, err := h.api.Query(ctx, query, end)
			if err != nil {
				return fmt.Errorf("reading %s: %w", selector, err)
			}
			matrix, ok := value.(model.Matrix)
			if !ok {
				return fmt.Errorf("reading %s: the server answered with a %s", selector, value.Type())
			}
			for _, stream := range matrix {
				b := labels.NewScratchBuilder(len(stream.Metric))
				for name, value := range stream.Metric {
					b.Add(string(name), string(value))
				}
				b.Sort()
				ls := b.Labels()
				times, values := make([]int64, len(stream.Values)), make([]float64, len(stream.Values))
				for i, p := range stream.Values {
					times[i], values[i] = int64(p.Timestamp), float64(p.Value)
				}
				into.appendTo(ls, times, values)
			}
		}
		from = end
	}
	return nil
}
