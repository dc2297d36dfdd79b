package api

import (
	"context"

	"github.com/prometheus/prometheus/promql"
)

// request is one PromQL request.
type request struct {
	ctx     context.Context
	options promql.QueryOpts
	text    string
}
