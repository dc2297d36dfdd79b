package api

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
)

// encode writes data as the server does: times in seconds with milliseconds,
// values as strings. encoding/json would write neither.
func encode(data any) (json.RawMessage, error) {
	switch v := data.(type) {
	case promql.Vector:
		return appendList(nil, v, appendSample), nil
	case promql.Matrix:
		return appendList(nil, v, appendSeries), nil
	case promql.Scalar:
		return appendPoint(nil, v.T, v.V), nil
	case queryData:
		result, err := encode(v.result)
		if err != nil {
			return nil, err
		}
		b := append([]byte(`{"resultType":"`), v.result.Type()...)
		b = append(b, `","result":`...)
		b = append(b, result...)
		return append(b, '}'), nil
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(data); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func appendList[T any](b []byte, items []T, one func([]byte, T) []byte) []byte {
	b = append(b, '[')
	for i, item := range items {
		if i > 0 {
			b = append(b, ',')
		}
		b = one(b, item)
	}
	return append(b, ']')
}

func appendSample(b []byte, s promql.Sample) []byte {
	b = append(b, `{"metric":`...)
	b = appendLabels(b, s.Metric)
	if s.H != nil {
		b = append(b, `,"histogram":`...)
		return append(appendHistogram(b, promql.HPoint{T: s.T, H: s.H}), '}')
	}
	b = append(b, `,"value":`...)
	return append(appendPoint(b, s.T, s.F), '}')
}

func appendSeries(b []byte, s promql.Series) []byte {
	b = append(b, `{"metric":`...)
	b = appendLabels(b, s.Metric)
	if len(s.Floats) > 0 {
		b = append(b, `,"values":`...)
		b = appendList(b, s.Floats, func(b []byte, p promql.FPoint) []byte { return appendPoint(b, p.T, p.F) })
	}
	if len(s.Histograms) > 0 {
		b = append(b, `,"histograms":`...)
		b = appendList(b, s.Histograms, appendHistogram)
	}
	return append(b, '}')
}

// appendHistogram leaves native histograms, which nothing here stores, to
// Prometheus's own encoder.
func appendHistogram(b []byte, p promql.HPoint) []byte {
	encoded, err := p.MarshalJSON()
	if err != nil {
		return append(b, "null"...)
	}
	return append(b, encoded...)
}

func appendLabels(b []byte, l labels.Labels) []byte {
	b = append(b, '{')
	first := true
	l.Range(func(l labels.Label) {
		if !first {
			b = append(b, ',')
		}
		first = false
		b = appendString(b, l.Name)
		b = append(b, ':')
		b = appendString(b, l.Value)
	})
	return append(b, '}')
}

func appendString(b []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < 0x20 || c >= 0x80 || c == '"' || c == '\\' {
			encoded, _ := encode(s)
			return append(b, encoded...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

func appendPoint(b []byte, t int64, v float64) []byte {
	b = append(b, '[')
	b = appendTime(b, t)
	b = append(b, ',')
	b = appendValue(b, v)
	return append(b, ']')
}

// appendTime writes milliseconds as seconds, exactly.
func appendTime(b []byte, t int64) []byte {
	if t < 0 {
		b = append(b, '-')
		t = -t
	}
	b = strconv.AppendInt(b, t/1000, 10)
	if fraction := t % 1000; fraction != 0 {
		b = append(b, '.', byte('0'+fraction/100), byte('0'+fraction/10%10), byte('0'+fraction%10))
	}
	return b
}

func appendValue(b []byte, v float64) []byte {
	format := byte('f')
	if abs := math.Abs(v); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	b = append(b, '"')
	b = strconv.AppendFloat(b, v, format, -1, 64)
	return append(b, '"')
}

// exemplarJSON is an exemplar as the API shows it.
type exemplarJSON struct{ exemplar.Exemplar }

func (e exemplarJSON) MarshalJSON() ([]byte, error) {
	b := append([]byte(`{"labels":`), appendLabels(nil, e.Labels)...)
	b = append(b, `,"value":`...)
	b = appendValue(b, e.Value)
	b = append(b, `,"timestamp":`...)
	b = appendTime(b, e.Ts)
	return append(b, '}'), nil
}
