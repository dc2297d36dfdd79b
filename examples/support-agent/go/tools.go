package main

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"time"
)

// tool is one function that the model may call.
type tool struct {
	toolFunction
	call func(ctx context.Context, arguments map[string]string) (any, error)
}

// toolError is a failure with a stable type (error.type of the span) and the
// class that it truly is.
type toolError struct {
	kind, message, class string
}

func (e *toolError) Error() string { return e.message }

var orderID = regexp.MustCompile(`^A-\d{4}$`)

// shop is the outside world of one run. Its facts are fixed.
type shop struct {
	slow  time.Duration
	polls int
}

func (s *shop) tools() []tool {
	object := func(name string) json.RawMessage {
		return json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{%q:{"type":"string"}},"required":[%q]}`, name, name))
	}
	return []tool{
		{toolFunction{"get_order_status", "Status of an order.", object("order_id")}, s.orderStatus},
		{toolFunction{"refund_order", "Refund an order.", object("order_id")}, s.refund},
		{toolFunction{"search_docs", "Search the help centre.", object("query")}, s.search},
		{toolFunction{"escalate_to_human", "Hand the conversation to a person.", object("reason")}, s.escalate},
		{toolFunction{"ask_orders_agent", "Ask the agent that knows orders.", object("question")}, nil},
	}
}

func (s *shop) orderStatus(ctx context.Context, arguments map[string]string) (any, error) {
	id := arguments["order_id"]
	if !orderID.MatchString(id) {
		return nil, &toolError{"invalid_argument", fmt.Sprintf("invalid order id %q: want A-0000", id), "bad_args"}
	}
	wait, status := 5*time.Millisecond, "shipped"
	switch id {
	case "A-2002":
		return map[string]string{"order_id": id, "status": "pending"}, nil
	case "A-3003":
		wait = 50 * time.Millisecond
	case "A-4004":
		s.polls++
		if s.polls < 3 {
			status = fmt.Sprintf("packing %d", s.polls)
		}
	case "A-8008":
		wait = s.slow
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(wait):
	}
	switch id {
	case "A-3003":
		return nil, &toolError{"timeout", "order service: timed out after 50ms", "transient"}
	case "A-3004":
		return nil, &toolError{"500", "order service: HTTP 500 Internal Server Error", "transient"}
	}
	return map[string]string{"order_id": id, "status": status, "carrier": "DHL", "eta": "2026-03-04"}, nil
}

func (s *shop) refund(_ context.Context, arguments map[string]string) (any, error) {
	return map[string]string{"order_id": arguments["order_id"], "refunded": "49.90 EUR"}, nil
}

func (s *shop) search(context.Context, map[string]string) (any, error) {
	return []map[string]string{
		{"id": "doc-17", "text": "Items can be returned within 30 days if they are unworn."},
		{"id": "doc-22", "text": "Refunds are paid within 5 days."},
	}, nil
}

func (s *shop) escalate(context.Context, map[string]string) (any, error) {
	return map[string]string{"ticket": "T-501"}, nil
}

// without returns the tools but the named one.
func without(tools []tool, name string) []tool {
	return slices.DeleteFunc(slices.Clone(tools), func(t tool) bool { return t.Name == name })
}
