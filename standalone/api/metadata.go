package api

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
)

type metadataJSON struct {
	Type string `json:"type"`
	Help string `json:"help"`
	Unit string `json:"unit"`
}

func (a *API) metadata(r *http.Request) (*reply, *failure) {
	limit := -1
	if v := r.FormValue("limit"); v != "" {
		var err error
		if limit, err = strconv.Atoi(v); err != nil {
			return nil, &failure{badData, errors.New("limit must be a number")}
		}
	}
	if v := r.FormValue("limit_per_metric"); v != "" {
		// There is one target, so never more than one entry a metric.
		if _, err := strconv.Atoi(v); err != nil {
			return nil, &failure{badData, errors.New("limit_per_metric must be a number")}
		}
	}
	known := a.engine.Metadata()
	data := map[string][]metadataJSON{}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if asked := r.FormValue("metric"); asked != "" && asked != name {
			continue
		}
		if limit >= 0 && len(data) >= limit {
			break
		}
		m := known[name]
		data[name] = []metadataJSON{{string(m.Type), m.Help, m.Unit}}
	}
	return &reply{data: data}, nil
}
