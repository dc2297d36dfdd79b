package backtest

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentslo/agentslo/slo"
)

// Row is how many events of each verdict were counted at a time.
type Row struct {
	Time   time.Time
	Counts [len(slo.Verdicts)]float64 // in the order of [slo.Verdicts]
}

// ReadCSV reads rows of time, good and bad, and unknown and excluded where a
// header names them. Without a header the columns are time, good, bad. Times
// are RFC 3339 or Unix seconds, in any order; counts are those since the row
// before, whole and not negative. Errors name the line.
func ReadCSV(in io.Reader) ([]Row, error) {
	r := csv.NewReader(in)
	r.FieldsPerRecord = -1
	r.TrimLeadingSpace = true
	r.Comment = '#'
	columns := []string{"time", "good", "bad"}
	var rows []Row
	for first := true; ; first = false {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		line, _ := r.FieldPos(0)
		if first {
			record[0] = strings.TrimPrefix(record[0], "\uFEFF")
			if names, ok := header(record); ok {
				if !slices.Contains(names, "time") || !slices.Contains(names, "bad") {
					return nil, fmt.Errorf("line %d: the header must name the columns time, good and bad", line)
				}
				columns = names
				continue
			}
		}
		if len(record) != len(columns) {
			return nil, fmt.Errorf("line %d: %d columns in place of %d (%s)", line, len(record), len(columns), strings.Join(columns, ", "))
		}
		var row Row
		for i, text := range record {
			text = strings.TrimSpace(text)
			switch columns[i] {
			case "time":
				if row.Time, err = ParseTime(text); err != nil {
					return nil, fmt.Errorf("line %d: %w", line, err)
				}
			case "":
			default:
				n, err := strconv.ParseFloat(text, 64)
				if err != nil || n < 0 || n != math.Trunc(n) || n > 1<<50 {
					return nil, fmt.Errorf("line %d: %s is %q: it must be a whole number of events, 0 or more", line, columns[i], text)
				}
				for j, v := range slo.Verdicts {
					if v.String() == columns[i] {
						row.Counts[j] = n
					}
				}
			}
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		return nil, errors.New("it has no rows")
	}
	slices.SortStableFunc(rows, func(a, b Row) int { return a.Time.Compare(b.Time) })
	return rows, nil
}

// header has the names of a first line that is none of numbers; "" for columns
// that mean nothing here.
func header(record []string) (names []string, ok bool) {
	for _, text := range record {
		text = strings.ToLower(strings.TrimSpace(text))
		if _, err := strconv.ParseFloat(text, 64); err == nil {
			return nil, false
		}
		switch text {
		case "timestamp", "ts":
			text = "time"
		case "time", "good", "bad", "unknown", "excluded":
			ok = true
		default:
			text = ""
		}
		names = append(names, text)
	}
	return names, ok
}

// ParseTime reads RFC 3339 or Unix seconds.
func ParseTime(text string) (time.Time, error) {
	if seconds, err := strconv.ParseFloat(text, 64); err == nil && math.Abs(seconds) < 1e11 {
		return time.UnixMilli(int64(seconds * 1000)).UTC(), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04Z07:00", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("time %q: write it like 2026-01-31T12:00:00Z or as Unix seconds", text)
}

// recording shows rows as an exporter would have.
type recording struct {
	rows   []Row
	every  time.Duration
	agent  *counters
	next   int
	last   time.Time
	begins time.Time
}

// Recorded is traffic of recorded counts, scraped at a distance of every. Start
// the replay no earlier than the time it begins with: [Begin] of the rows.
func Recorded(f *slo.File, o *slo.Objective, rows []Row, every time.Duration) Traffic {
	return &recording{rows: rows, every: every, agent: newCounters(f, o, defaultAgent), begins: Begin(rows)}
}

// Begin is when an exporter of the rows shows its zeros: some minutes before
// the first of them.
func Begin(rows []Row) time.Time { return rows[0].Time.Add(-5 * time.Minute).Truncate(time.Minute) }

// Scrape implements [Traffic].
func (r *recording) Scrape(ctx context.Context, _, to time.Time, into *Storage) error {
	if r.last.IsZero() {
		r.last = r.begins.Add(-r.every)
	}
	for at := r.last.Add(r.every); !at.After(to); at = at.Add(r.every) {
		for ; r.next < len(r.rows) && !r.rows[r.next].Time.After(at); r.next++ {
			for i, n := range r.rows[r.next].Counts {
				r.agent.values[i] += n
			}
		}
		r.agent.show(into, at)
		r.last = at
	}
	return ctx.Err()
}
