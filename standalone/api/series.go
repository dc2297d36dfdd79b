package api

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
)

// selection is the part of a request that the label endpoints share.
type selection struct {
	limit      int
	sets       [][]*labels.Matcher
	start, end int64 // milliseconds
	querier    storage.Querier
}

func (a *API) selection(r *http.Request) (*selection, *failure) {
	sets, failed := a.matchers(r)
	if failed != nil {
		return nil, failed
	}
	limit, failed := limitParam(r)
	if failed != nil {
		return nil, failed
	}
	start, failed := timeParam(r, "start", minTime)
	if failed != nil {
		return nil, failed
	}
	end, failed := timeParam(r, "end", maxTime)
	if failed != nil {
		return nil, failed
	}
	s := &selection{limit: limit, sets: sets, start: start.UnixMilli(), end: end.UnixMilli()}
	var err error
	if s.querier, err = a.engine.DB().Querier(s.start, s.end); err != nil {
		return nil, &failure{execution, err}
	}
	return s, nil
}

// hint asks for one more than the limit, so that a cut is noticed.
func (s *selection) hint() *storage.LabelHints {
	if s.limit == 0 {
		return &storage.LabelHints{}
	}
	return &storage.LabelHints{Limit: s.limit + 1}
}

type lookup func(matchers ...*labels.Matcher) ([]string, annotations.Annotations, error)

// union is the sorted union of a lookup over every set of matchers.
func (s *selection) union(find lookup) (*reply, *failure) {
	sets := s.sets
	if len(sets) == 0 {
		sets = [][]*labels.Matcher{nil}
	}
	var notes annotations.Annotations
	found := map[string]struct{}{}
	for _, set := range sets {
		names, warned, err := find(set...)
		if err != nil {
			return nil, &failure{execution, err}
		}
		notes.Merge(warned)
		for _, name := range names {
			found[name] = struct{}{}
		}
	}
	names := slices.AppendSeq(make([]string, 0, len(found)), maps.Keys(found))
	slices.Sort(names)
	return &reply{data: cut(names, s.limit), notes: notes, truncate: s.limit > 0 && len(names) > s.limit}, nil
}

func (a *API) labelNames(r *http.Request) (*reply, *failure) {
	s, failed := a.selection(r)
	if failed != nil {
		return nil, failed
	}
	defer s.querier.Close()
	return s.union(func(m ...*labels.Matcher) ([]string, annotations.Annotations, error) {
		return s.querier.LabelNames(r.Context(), s.hint(), m...)
	})
}

func (a *API) labelValues(r *http.Request) (*reply, *failure) {
	name := r.PathValue("name")
	if strings.HasPrefix(name, "U__") {
		name = model.UnescapeName(name, model.ValueEncodingEscaping)
	}
	if !model.UTF8Validation.IsValidLabelName(name) {
		return nil, &failure{badData, fmt.Errorf("invalid label name: %q", name)}
	}
	s, failed := a.selection(r)
	if failed != nil {
		return nil, failed
	}
	defer s.querier.Close()
	return s.union(func(m ...*labels.Matcher) ([]string, annotations.Annotations, error) {
		return s.querier.LabelValues(r.Context(), name, s.hint(), m...)
	})
}

func (a *API) series(r *http.Request) (*reply, *failure) {
	s, failed := a.selection(r)
	if failed != nil {
		return nil, failed
	}
	defer s.querier.Close()
	if len(s.sets) == 0 {
		return nil, &failure{badData, errors.New("no match[] parameter provided")}
	}
	hints := &storage.SelectHints{Start: s.start, End: s.end, Func: "series", Limit: s.hint().Limit}
	selected := make([]storage.SeriesSet, 0, len(s.sets))
	for _, set := range s.sets {
		selected = append(selected, s.querier.Select(r.Context(), true, hints, set...))
	}
	merged := storage.NewMergeSeriesSet(selected, 0, storage.ChainedSeriesMerge)
	metrics := []labels.Labels{}
	for merged.Next() {
		if err := r.Context().Err(); err != nil {
			return nil, queryFailure(err)
		}
		if s.limit > 0 && len(metrics) > s.limit {
			break
		}
		metrics = append(metrics, merged.At().Labels())
	}
	if err := merged.Err(); err != nil {
		return nil, queryFailure(err)
	}
	return &reply{data: cut(metrics, s.limit), notes: merged.Warnings(), truncate: s.limit > 0 && len(metrics) > s.limit}, nil
}
