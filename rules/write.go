package rules

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/agentslo/agentslo/slo"
)

// Format is how rules are packed.
type Format string

const (
	// FormatPrometheus is a rule file of Prometheus, Mimir, Thanos or VictoriaMetrics.
	FormatPrometheus Format = "prometheus"
	// FormatOperator is one PrometheusRule object of the Prometheus Operator.
	FormatOperator Format = "operator"
)

// Formats lists the formats that [Write] knows.
var Formats = []Format{FormatPrometheus, FormatOperator}

const header = "# Made by sloctl generate rules. Do not edit: change the SLO file and make it again.\n"

// Write writes the rules of the set. It fails on an unknown format and when
// w does.
func Write(w io.Writer, set *slo.Set, format Format) error {
	file := struct {
		Groups []Group `yaml:"groups"`
	}{Groups(set)}
	switch format {
	case FormatPrometheus:
		return encode(w, file)
	case FormatOperator:
		return encode(w, map[string]any{
			"apiVersion": "monitoring.coreos.com/v1",
			"kind":       "PrometheusRule",
			"metadata":   map[string]any{"name": objectName(set), "labels": map[string]string{"app.kubernetes.io/name": "agentslo"}},
			"spec":       file,
		})
	}
	return fmt.Errorf("unknown format %q: it is one of %v", format, Formats)
}

// objectName is a Kubernetes name for the rules: that of the service, if there
// is only one.
func objectName(set *slo.Set) string {
	name := "agentslo"
	if len(set.Files) == 1 {
		name = groupName(set.Files[0])
	}
	name = strings.Trim(notInName.ReplaceAllString(strings.ToLower(name), "-"), "-.")
	return name[:min(len(name), 253)]
}

var notInName = regexp.MustCompile(`[^a-z0-9.-]+`)

func encode(w io.Writer, document any) error {
	var text bytes.Buffer
	text.WriteString(header)
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	if err := encoder.Encode(document); err != nil {
		return err
	}
	if err := encoder.Close(); err != nil {
		return err
	}
	_, err := w.Write(text.Bytes())
	return err
}
