package slo_test

import (
	"math"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/agentslo/agentslo/slo"
)

func TestPriceFindsAModelUnderTheNamesTelemetryGivesIt(t *testing.T) {
	for name, want := range map[string]string{ // input price of the makers' lists
		"gpt-4o-mini":                                      "0.15",
		"gpt-4o-mini-2024-07-18":                           "0.15",
		"GPT-4o-Mini":                                      "0.15",
		"openai/gpt-4o-mini":                               "0.15",
		"openai:gpt-4o-mini":                               "0.15",
		"azure/gpt-4o-mini":                                "0.15",
		"azure/eu/gpt-4o-mini-2024-07-18":                  "0.15",
		"openrouter/openai/gpt-4o-mini":                    "0.15",
		"gpt-4o":                                           "2.50",
		"gpt-4o-2024-08-06":                                "2.50",
		"gpt-4o-2024-05-13":                                "5.00", // a version with its own price
		"gpt-5":                                            "1.25",
		"gpt-5-2025-08-07":                                 "1.25",
		"gpt-5-mini-2025-08-07":                            "0.25",
		"gpt-5-chat-latest":                                "1.25",
		"gpt-4.1-nano-2025-04-14":                          "0.10",
		"claude-sonnet-4-5-20250929":                       "3.00",
		"claude-sonnet-4-5@20250929":                       "3.00",
		"anthropic/claude-sonnet-4.5":                      "3.00",
		"anthropic.claude-sonnet-4-5-20250929-v1:0":        "3.00",
		"us.anthropic.claude-sonnet-4-5-20250929-v1:0":     "3.00",
		"eu.anthropic.claude-haiku-4-5-20251001-v1:0":      "1.00",
		"bedrock/us.anthropic.claude-opus-4-20250514-v1:0": "15.00",
		"bedrock/us-east-1/anthropic.claude-3-haiku-20240307-v1:0": "0.25",
		"anthropic.claude-3-5-sonnet-20241022-v2:0":                "3.00",
		"claude-3-7-sonnet-latest":                                 "3.00",
		"claude-opus-4-20250514":                                   "15.00",
		"claude-opus-4-5-20251101":                                 "5.00",
		"arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-3-haiku-20240307-v1:0":          "0.25",
		"arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.meta.llama3-3-70b-instruct-v1:0": "0.72",
		"models/gemini-2.5-flash":                 "0.30",
		"gemini/gemini-2.0-flash-001":             "0.10",
		"google-gla:gemini-2.5-pro":               "1.25",
		"publishers/google/models/gemini-2.5-pro": "1.25",
		"projects/p/locations/us-central1/publishers/google/models/gemini-2.5-flash-lite": "0.10",
		"vertex_ai/claude-sonnet-4@20250514":                                              "3.00",
		"mistral/mistral-large-2411":                                                      "2.00",
		"mistralai/mistral-large-2512":                                                    "0.50",
		"us.meta.llama4-scout-17b-instruct-v1:0":                                          "0.17",
		"groq/llama-3.3-70b-versatile":                                                    "0.59",
		"meta-llama/Llama-3.3-70B-Instruct-Turbo":                                         "0.88",
		"deepseek/deepseek-chat":                                                          "0.28",
	} {
		p, ok := (*slo.File)(nil).Price(name)
		if !ok {
			t.Errorf("%s has no price", name)
		} else if !p.Input.Equal(decimal.RequireFromString(want)) {
			t.Errorf("%s: input %s, want %s", name, p.Input, want)
		}
	}
}

func TestPriceDoesNotGuess(t *testing.T) {
	for _, name := range []string{
		"", "gpt", "gpt-5-mini-custom", "gpt-55", "my-gpt-4o", "gpt-4o-mini-finetuned",
		"ft:gpt-4o-mini-2024-07-18:acme::abc123",    // fine-tuned models have other prices
		"fireworks/models/gpt-4o",                   // another host
		"ollama/llama3.3", "llama-3.3-70b-instruct", // costs what its host asks
		"arn:aws:bedrock:us-east-1:1:application-inference-profile/abc",
		"claude", "claude-sonnet", "gemini-2.5", "openai/", "deepseek-chat:free", "gpt-4o@", "-latest",
	} {
		if p, ok := (*slo.File)(nil).Price(name); ok {
			t.Errorf("%q costs %s", name, p.Input)
		}
	}
}

func TestFilePricesWin(t *testing.T) {
	files, err := slo.Parse("slo.yaml", []byte(`
service: a
prices:
  gpt-5: {input: 1, output: 8}
  gpt-5-mini-2025-08-07: {input: 7, output: 8}
  my-model: {input: 0.5, cached_input: 0, output: 2}
slos: {cost: {objective: 99%, max_usd: 1}}
`))
	if err != nil {
		t.Fatal(err)
	}
	f := files[0]
	for name, want := range map[string]string{
		"gpt-5": "1", "openai/gpt-5": "1", "gpt-5-2025-08-07": "1",
		"gpt-5-mini-2025-08-07": "7", "gpt-5-mini": "0.25",
		"my-model": "0.5", "azure/My-Model": "0.5", "gpt-4o": "2.5",
	} {
		if p, ok := f.Price(name); !ok || !p.Input.Equal(decimal.RequireFromString(want)) {
			t.Errorf("%s: %v %v, want %s", name, p.Input, ok, want)
		}
	}
	if p, _ := f.Price("my-model"); p.Cost(1_000_000, 1_000_000, 0, 0) != 0 {
		t.Error("a cached price of 0 is a price, not a missing one")
	}
}

func TestCost(t *testing.T) {
	price := func(model string) slo.Price {
		p, ok := (*slo.File)(nil).Price(model)
		if !ok {
			t.Fatalf("%s has no price", model)
		}
		return p
	}
	for _, c := range []struct {
		model                        string
		input, cached, write, output int64
		want                         float64
	}{
		// 1000·0.15 + 500·0.60 = 450 millionths of a dollar
		{"gpt-4o-mini", 1000, 0, 0, 500, 0.00045},
		// 200 of 1000 cached at half: 800·0.15 + 200·0.075 + 500·0.60 = 435
		{"gpt-4o-mini", 1000, 200, 0, 500, 0.000435},
		// 100 plain·3 + 600 read·0.30 + 300 written·3.75 + 50·15 = 300+180+1125+750 = 2355
		{"claude-sonnet-4-5", 1000, 600, 300, 50, 0.002355},
		// no price of its own for cached tokens: 1000·30 + 10·60 = 30600
		{"gpt-4", 1000, 400, 100, 10, 0.0306},
		// emitters that leave the cached part out of input: never less than nothing for the rest
		{"claude-sonnet-4-5", 10, 600, 0, 0, 0.00018},
		{"gpt-4o-mini", -1, -1, -1, -1, 0},
		{"gpt-5", 200_000, 0, 0, 0, 0.25}, // exactly, not 0.25000000000000006
	} {
		if got := price(c.model).Cost(c.input, c.cached, c.write, c.output); got != c.want {
			t.Errorf("%s %d/%d/%d/%d: %v, want %v", c.model, c.input, c.cached, c.write, c.output, got, c.want)
		}
	}
	if got := price("gpt-5").Cost(math.MaxInt64, 0, 0, math.MaxInt64); !(got > 0) || math.IsInf(got, 0) {
		t.Errorf("huge counts cost %v", got)
	}
}

func TestPriceTableIsSane(t *testing.T) {
	for _, name := range slo.PricedModels() {
		p, ok := (*slo.File)(nil).Price(name)
		if !ok {
			t.Errorf("%s is in the table but not found", name)
			continue
		}
		if _, err := time.Parse(time.DateOnly, p.AsOf); err != nil {
			t.Errorf("%s: as of %q", name, p.AsOf)
		}
		if !p.Input.IsPositive() || p.Output.IsNegative() {
			t.Errorf("%s: input %s, output %s", name, p.Input, p.Output)
		}
		if p.CachedInput != nil && !p.CachedInput.LessThan(p.Input) {
			t.Errorf("%s: a cached token costs %s, more than a fresh one", name, p.CachedInput)
		}
		if p.CacheWrite != nil && p.CacheWrite.LessThan(p.Input) {
			t.Errorf("%s: a written token costs %s, less than a fresh one", name, p.CacheWrite)
		}
	}
	for _, maker := range []string{"gpt-5", "claude-opus-4-6", "gemini-2.5-pro", "mistral-large-2512", "llama3-3-70b-instruct", "deepseek-chat"} {
		if _, ok := (*slo.File)(nil).Price(maker); !ok {
			t.Errorf("no price for %s", maker)
		}
	}
}

func BenchmarkPrice(b *testing.B) {
	for _, model := range []string{"gpt-4o-mini", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "unknown"} {
		b.Run(model, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				(*slo.File)(nil).Price(model)
			}
		})
	}
}
