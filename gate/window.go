package gate

import (
	"time"

	"github.com/agentslo/agentslo/slo"
)

// windowStart is where the error budget that holds at a time began to count.
func windowStart(w slo.Window, at time.Time) time.Time {
	if w.Calendar == "" {
		return at.Add(-w.Rolling)
	}
	location := w.Location
	if location == nil {
		location = time.UTC
	}
	t := at.In(location)
	year, month, day := t.Date()
	switch w.Calendar {
	case "week": // begins on Monday
		day -= (int(t.Weekday()) + 6) % 7
	case "quarter":
		month, day = (month-1)/3*3+1, 1
	default:
		day = 1
	}
	start := time.Date(year, month, day, 0, 0, 0, 0, location)
	if !start.Before(at) { // the period's first instant still belongs to the one before
		return windowStart(w, at.Add(-time.Nanosecond))
	}
	return start
}

// burnWindows are the periods over which burn rates are told.
var burnWindows = []struct {
	name   string
	length time.Duration
}{{"1h", time.Hour}, {"6h", 6 * time.Hour}, {"1d", 24 * time.Hour}, {"3d", 72 * time.Hour}}
