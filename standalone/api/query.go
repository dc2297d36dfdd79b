package api

import (
	"errors"
	"net/http"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

// queryData is the data of query and query_range.
type queryData struct{ result parser.Value }

func (a *API) query(r *http.Request) (*reply, *failure) {
	limit, failed := limitParam(r)
	if failed != nil {
		return nil, failed
	}
	at, failed := timeParam(r, "time", time.Now())
	if failed != nil {
		return nil, failed
	}
	return a.run(r, limit, func(q *request) (promql.Query, error) {
		return a.engine.Queries().NewInstantQuery(q.ctx, a.engine.DB(), q.options, q.text, at)
	})
}

// maxPoints is the server's own bound on points per series.
const maxPoints = 11_000

func (a *API) queryRange(r *http.Request) (*reply, *failure) {
	limit, failed := limitParam(r)
	if failed != nil {
		return nil, failed
	}
	start, err := parseTime(r.FormValue("start"))
	if err != nil {
		return nil, invalid("start", err)
	}
	end, err := parseTime(r.FormValue("end"))
	if err != nil {
		return nil, invalid("end", err)
	}
	if end.Before(start) {
		return nil, invalid("end", errors.New("end timestamp must not be before start time"))
	}
	step, err := parseDuration(r.FormValue("step"))
	if err != nil {
		return nil, invalid("step", err)
	}
	if step <= 0 {
		return nil, invalid("step", errors.New("zero or negative query resolution step widths are not accepted. Try a positive integer"))
	}
	if end.Sub(start)/step > maxPoints {
		return nil, &failure{badData, errors.New("exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query resolution (?step=XX)")}
	}
	return a.run(r, limit, func(q *request) (promql.Query, error) {
		return a.engine.Queries().NewRangeQuery(q.ctx, a.engine.DB(), q.options, q.text, start, end, step)
	})
}

func (a *API) run(r *http.Request, limit int, build func(*request) (promql.Query, error)) (*reply, *failure) {
	ctx, cancel, failed := queryContext(r)
	if failed != nil {
		return nil, failed
	}
	defer cancel()
	options, failed := queryOptions(r)
	if failed != nil {
		return nil, failed
	}
	q := &request{ctx: ctx, options: options, text: r.FormValue("query")}
	query, err := build(q)
	if err != nil {
		return nil, invalid("query", err)
	}
	defer query.Close()
	release, failed := a.acquire(ctx)
	if failed != nil {
		return nil, failed
	}
	defer release()
	result := query.Exec(ctx)
	if result.Err != nil {
		return nil, queryFailure(result.Err)
	}
	answer := &reply{notes: result.Warnings, query: q.text}
	value := result.Value
	switch v := value.(type) {
	case promql.Vector:
		value, answer.truncate = cut(v, limit), limit > 0 && len(v) > limit
	case promql.Matrix:
		value, answer.truncate = cut(v, limit), limit > 0 && len(v) > limit
	}
	// Closing the query gives its points back to a pool: encode before that.
	encoded, err := encode(queryData{value})
	if err != nil {
		return nil, &failure{internal, err}
	}
	answer.data = encoded
	return answer, nil
}

func cut[S ~[]T, T any](s S, limit int) S {
	if limit > 0 && len(s) > limit {
		return s[:limit]
	}
	return s
}

func (a *API) formatQuery(r *http.Request) (*reply, *failure) {
	expr, err := a.engine.Parser().ParseExpr(r.FormValue("query"))
	if err != nil {
		return nil, invalid("query", err)
	}
	return &reply{data: expr.Pretty(0)}, nil
}

func (a *API) queryExemplars(r *http.Request) (*reply, *failure) {
	start, failed := timeParam(r, "start", minTime)
	if failed != nil {
		return nil, failed
	}
	end, failed := timeParam(r, "end", maxTime)
	if failed != nil {
		return nil, failed
	}
	if end.Before(start) {
		return nil, &failure{badData, errors.New("end timestamp must not be before start timestamp")}
	}
	expr, err := a.engine.Parser().ParseExpr(r.FormValue("query"))
	if err != nil {
		return nil, &failure{badData, err}
	}
	type result struct {
		SeriesLabels labels.Labels  `json:"seriesLabels"`
		Exemplars    []exemplarJSON `json:"exemplars"`
	}
	results := []result{}
	selectors := parser.ExtractSelectors(expr)
	if len(selectors) == 0 {
		return &reply{data: results}, nil
	}
	querier, err := a.engine.DB().ExemplarQuerier(r.Context())
	if err != nil {
		return nil, queryFailure(err)
	}
	found, err := querier.Select(start.UnixMilli(), end.UnixMilli(), selectors...)
	if err != nil {
		return nil, queryFailure(err)
	}
	for _, f := range found {
		one := result{SeriesLabels: f.SeriesLabels}
		for _, e := range f.Exemplars {
			one.Exemplars = append(one.Exemplars, exemplarJSON{e})
		}
		results = append(results, one)
	}
	return &reply{data: results}, nil
}
