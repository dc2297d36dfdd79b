package exporter

import (
	"os"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/confmap"
	"go.yaml.in/yaml/v3"
)

func unmarshal(t *testing.T, text string) (*Config, error) {
	t.Helper()
	var raw map[string]any
	if err := yaml.Unmarshal([]byte(text), &raw); err != nil {
		t.Fatal(err)
	}
	c := createDefaultConfig().(*Config)
	return c, confmap.NewFromStringMap(raw).Unmarshal(c)
}

func TestConfig(t *testing.T) {
	c, err := unmarshal(t, `
endpoint: 0.0.0.0:9999
files: []
birth_hold: 2m
storage: file_storage/agents
max_label_sets: 5
max_seen_spans: 7
tls: {cert_file: cert.pem, key_file: key.pem}
`)
	if err != nil {
		t.Fatal(err)
	}
	if c.ServerConfig.NetAddr.Endpoint != "0.0.0.0:9999" || c.BirthHold != 2*time.Minute || c.Storage.String() != "file_storage/agents" ||
		c.MaxLabelSets != 5 || c.MaxSeenSpans != 7 || !c.ServerConfig.TLS.HasValue() {
		t.Errorf("%+v", c)
	}
}

func TestDefaults(t *testing.T) {
	c, err := unmarshal(t, `{}`)
	if err != nil {
		t.Fatal(err)
	}
	if c.ServerConfig.NetAddr.Endpoint != "localhost:9464" || c.BirthHold != time.Minute || c.Storage != nil {
		t.Errorf("%+v", c)
	}
	if err := confmap.Validate(c); err != nil {
		t.Errorf("the default is not valid: %v", err)
	}
	if c, _ = unmarshal(t, `{endpoint: ""}`); c.ServerConfig.NetAddr.Endpoint != "" || confmap.Validate(c) != nil {
		t.Errorf("without an endpoint: %+v, %v", c, confmap.Validate(c))
	}
}

func TestConfigMistakes(t *testing.T) {
	for text, says := range map[string]string{
		`{birth_hold: -1s}`:             "birth_hold",
		`{max_label_sets: 0}`:           "max_label_sets",
		`{max_seen_spans: -1}`:          "max_seen_spans",
		`{files: [does/not/exist.yml]}`: "files",
		`{birth_hlod: 1s}`:              "birth_hlod",
		`{birth_hold: soon}`:            "birth_hold",
	} {
		c, err := unmarshal(t, text)
		if err == nil {
			err = confmap.Validate(c)
		}
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", text, err)
		}
	}
	// All at once, and the SLO file's own faults with their positions.
	path := writeFile(t, "apiVersion: agentslo/v1\nkind: AgentSLO\nservice: x\nslos: {latency: {objective: 100%, threshold: 3s}}\n")
	c := testConfig(func(c *Config) { c.Files, c.MaxLabelSets, c.BirthHold = []string{path}, 0, -1 })
	err := c.Validate()
	for _, says := range []string{"max_label_sets", "birth_hold", path + ":4:"} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v says nothing of %s", err, says)
		}
	}
}

// Every setting of the configuration stands in the README's table.
func TestReadmeListsEverySetting(t *testing.T) {
	data, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"endpoint", "files", "birth_hold", "storage", "max_label_sets", "max_seen_spans"} {
		if !strings.Contains(string(data), "| `"+key+"` |") {
			t.Errorf("README does not list %s", key)
		}
	}
}
