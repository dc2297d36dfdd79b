package slo

import (
	"bytes"
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/shopspring/decimal"
)

//go:embed prices.csv
var priceTable []byte

// builtInPrices is by canonical name.
var builtInPrices = sync.OnceValue(func() map[string]Price {
	prices, err := readPrices(priceTable)
	if err != nil {
		panic(err) // held by a test
	}
	return prices
})

func readPrices(table []byte) (map[string]Price, error) {
	reader := csv.NewReader(bytes.NewReader(table))
	reader.Comment = '#'
	reader.FieldsPerRecord = 6
	prices := map[string]Price{}
	for {
		row, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return prices, nil
		}
		if err != nil {
			return nil, fmt.Errorf("prices: %w", err)
		}
		if row[0] == "model" {
			continue
		}
		var amounts [4]*Decimal
		for i, text := range row[1:5] {
			if text == "" {
				continue
			}
			d, err := decimal.NewFromString(text)
			if err != nil {
				return nil, fmt.Errorf("prices: %s: %w", row[0], err)
			}
			amounts[i] = &d
		}
		name := canonicalModel(row[0])
		if _, ok := prices[name]; ok {
			return nil, fmt.Errorf("prices: %s stands twice", row[0])
		}
		if amounts[0] == nil || amounts[3] == nil {
			return nil, fmt.Errorf("prices: %s has no input or output price", row[0])
		}
		prices[name] = Price{Input: *amounts[0], CachedInput: amounts[1], CacheWrite: amounts[2], Output: *amounts[3], AsOf: row[5]}
	}
}

// Price looks up what a model costs, in the file's own table first, then in the
// built-in one. The whole name must match, after the prefixes of providers
// (openai/, models/, anthropic:) and regions (us.anthropic.), and after the
// suffixes of versions (-2024-07-18, -20250929, @20250929, -v1:0, -001,
// -latest); the name with its version is tried before the one without. Case
// does not count, and . and - are the same. It may be called on a nil File.
//
// The built-in table holds list prices of the model's own provider for
// standard processing, with the day on which they were looked up. Surcharges
// for long contexts or regions and discounts for batches are not in it.
func (f *File) Price(model string) (Price, bool) {
	if f != nil && len(f.Prices) > 0 {
		if p, ok := f.Prices[model]; ok {
			return p, true
		}
		for name := range modelNames(model) {
			for own, p := range f.Prices {
				if canonicalModel(own) == name {
					return p, true
				}
			}
		}
	}
	for name := range modelNames(model) {
		if p, ok := builtInPrices()[name]; ok {
			return p, true
		}
	}
	return Price{}, false
}

// Cost is what the tokens cost in US dollars. Input includes cached input and
// cache writes; tokens without a price of their own cost what Input costs.
// Counts below zero are taken for zero.
func (p Price) Cost(input, cachedInput, cacheWrite, output int64) float64 {
	input, cachedInput, cacheWrite, output = max(input, 0), max(cachedInput, 0), max(cacheWrite, 0), max(output, 0)
	plain := max(input-cachedInput-cacheWrite, 0)
	total := p.Input.Mul(decimal.NewFromInt(plain)).Add(p.Output.Mul(decimal.NewFromInt(output)))
	for _, part := range []struct {
		price  *Decimal
		tokens int64
	}{{p.CachedInput, cachedInput}, {p.CacheWrite, cacheWrite}} {
		price := p.Input
		if part.price != nil {
			price = *part.price
		}
		total = total.Add(price.Mul(decimal.NewFromInt(part.tokens)))
	}
	return total.Shift(-6).InexactFloat64()
}

var (
	// Providers that sell at the price of the model's maker, and routes to them.
	// Hosts with prices of their own are not here: their names then match none.
	providerPrefix = regexp.MustCompile(`^(?:openai|azure|azure_ai|azure-openai|anthropic|bedrock|bedrock_converse|converse|aws|amazon-bedrock|vertex_ai|vertexai|vertex|google|google-vertex|google-gla|google_genai|gemini|models|publishers|mistral|mistralai|deepseek|deepseek-ai|meta|meta-llama|groq|together|together_ai|openrouter|litellm|litellm_proxy|us|eu|global|global-standard|[a-z]{2}(?:-gov)?-[a-z]+-\d)[/:]`)
	bedrockRegion  = regexp.MustCompile(`^(?:us|us-gov|eu|apac|jp|au|ca|sa|global)\.`)
	bedrockVendor  = regexp.MustCompile(`^(?:anthropic|meta|mistral|deepseek|openai|google)\.`)
	bedrockVersion = regexp.MustCompile(`-v\d+(?::\d+)?$`)
	versionSuffix  = regexp.MustCompile(`(?:@(?:\d{8}|\d{3}|latest|default)|-\d{4}-\d{2}-\d{2}|-20\d{6}|-0\d\d|-latest)$`)
)

// modelNames yields the canonical names under which a model may stand in a
// table, closest first.
func modelNames(model string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		name := strings.ToLower(strings.TrimSpace(model))
		if len(name) > 300 {
			return
		}
		if !yield(canonicalModel(name)) {
			return
		}
		stripped := withoutPrefixes(name)
		if stripped != name && !yield(canonicalModel(stripped)) {
			return
		}
		// A Bedrock name has its version after its date.
		for _, suffix := range []*regexp.Regexp{bedrockVersion, versionSuffix} {
			if shorter := suffix.ReplaceAllString(stripped, ""); shorter != stripped && shorter != "" {
				stripped = shorter
				if !yield(canonicalModel(stripped)) {
					return
				}
			}
		}
	}
}

// SameModel says whether two names may be those of one model: they are the same
// but for provider and region prefixes, versions and dates.
func SameModel(a, b string) bool {
	for x := range modelNames(a) {
		for y := range modelNames(b) {
			if x == y {
				return true
			}
		}
	}
	return false
}

func withoutPrefixes(name string) string {
	if rest, ok := strings.CutPrefix(name, "arn:aws"); ok {
		// arn:aws:bedrock:REGION:ACCOUNT:foundation-model/NAME or …inference-profile/NAME
		for _, resource := range []string{":foundation-model/", ":inference-profile/"} {
			if _, after, ok := strings.Cut(rest, resource); ok {
				name = after
			}
		}
	}
	if strings.HasPrefix(name, "projects/") {
		if i := strings.LastIndex(name, "/models/"); i >= 0 {
			name = name[i+len("/models/"):]
		}
	}
	for range 6 {
		shorter := name[len(providerPrefix.FindString(name)):]
		if shorter == name {
			break
		}
		name = shorter
	}
	name = bedrockRegion.ReplaceAllString(name, "")
	return bedrockVendor.ReplaceAllString(name, "")
}

func canonicalModel(name string) string {
	return strings.ReplaceAll(strings.ToLower(name), ".", "-")
}

// PricedModels lists the names of the built-in price table, sorted, in their
// canonical form: lower case, with - for each point.
func PricedModels() []string {
	var names []string
	for name := range builtInPrices() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
