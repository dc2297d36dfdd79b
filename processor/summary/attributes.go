package summary

import (
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// Scope is the instrumentation scope of summary spans.
const Scope = "github.com/agentslo/agentslo/processor"

// namePrefix and the agent's name make the span's name.
const namePrefix = "agentslo.run "

// Attribute names of the summary span. They are part of what people query in
// their trace store: add some, never rename one. A name that ends in a dot is
// followed by the name of an SLO, dimension, tool or model.
const (
	attrRun         = "agentslo.run.id"
	attrFirst       = "agentslo.first"
	attrMatched     = "agentslo.matched"
	attrService     = "agentslo.service"
	attrEnvironment = "agentslo.environment"
	attrAgent       = "agentslo.agent"
	attrOutcome     = "agentslo.outcome"
	attrCompletion  = "agentslo.completion"
	attrExcluded    = "agentslo.excluded"
	attrVerdict     = "agentslo.verdict."
	attrReason      = "agentslo.reason."
	attrValue       = "agentslo.value."
	attrSteps       = "agentslo.steps."
	attrDimension   = "agentslo.dimension."
	attrToolCalls   = "agentslo.tool_calls." // result, a dot, tool
	attrTokens      = "agentslo.tokens."     // type, a dot, model

	attrFaults    = "agentslo.provider_faults." // fault, a dot, model
	attrFailovers = "agentslo.failovers"
	attrSignals   = "agentslo.signals."
	attrWasted    = "agentslo.wasted." // calls, a dot, cause, a dot, tool; tokens, usd or seconds, a dot, cause

	attrToolFailures = "agentslo.tool_failures." // class, a dot, persistence, a dot, tool
	attrDuplicates   = "agentslo.duplicate_effects."

	attrFirstWrong      = "agentslo.first_wrong"
	attrFirstWrongName  = "agentslo.first_wrong.name"
	attrFirstWrongClass = "agentslo.first_wrong.class"
	attrFirstWrongStep  = "agentslo.first_wrong.step"
	attrFirstWrongSpan  = "agentslo.first_wrong.span_id"

	attrBlockerTool    = "agentslo.blocker.tool"
	attrBlockerClass   = "agentslo.blocker.class"
	attrBlockerSteps   = "agentslo.blocker.steps"
	attrBlockerSeconds = "agentslo.blocker.seconds"
	attrBlockerUSD     = "agentslo.blocker.cost_usd"

	attrDuration   = "agentslo.duration_seconds"
	attrCost       = "agentslo.cost_usd"
	attrModelCalls = "agentslo.model_calls"
	attrSampling   = "agentslo.sampling_probability"
	attrBiased     = "agentslo.sampling_biased"
)

// Attribute documents one attribute of the summary span.
type Attribute struct {
	Name string // with <placeholders>
	Type string // string, bool, int, double or list of maps
	Doc  string
}

// Attributes lists the attributes of a summary span. One that does not apply,
// or is not known, is absent.
var Attributes = []Attribute{
	{attrRun, "string", "identity of the run, 32 hex digits"},
	{attrFirst, "bool", "whether this is the run's first summary; later ones bring SLOs that waited for evaluations"},
	{attrMatched, "bool", "whether an SLO file matches the run"},
	{attrService, "string", "`service` of the SLO file; of an unmatched run, its `service.name`"},
	{attrEnvironment, "string", "deployment environment"},
	{attrAgent, "string", "name of the run's agent"},
	{attrOutcome, "string", "how the run ended: `answered`, `abstained`, `escalated`, `stopped_no_progress`, `limit_reached`, `cancelled`, `error`, `lost`, `unknown`"},
	{attrCompletion, "string", "why the run was handed on: `root_ended`, `idle_timeout`, `max_age`, `max_spans`, `evicted`, `end_of_input`, `shutdown`"},
	{attrExcluded, "string", "name of the exclusion that matched"},
	{attrVerdict + "<slo>", "string", "`good`, `bad`, `unknown` or `excluded`; of an SLO of steps the worst among them"},
	{attrReason + "<slo>", "string", "why, unless it is a plain good"},
	{attrValue + "<slo>", "double", "what was measured, in the unit of the SLI kind; of an SLO of steps how many were bad"},
	{attrSteps + "<slo>", "list of maps", "what an SLO of steps counts, in place of its verdict: steps that came out alike, as `verdict` and, where there is one, `agent`, `tool` and `reason` (string) with their `count` (int); empty where the run has none. At most 64 and those under `__overflow__`"},
	{attrDimension + "<dimension>", "string", "value of a dimension of the SLO file"},
	{attrToolCalls + "<result>.<tool>", "int", "calls of one tool with one result: `ok`, `transient`, `bad_args`, `auth`, `unrecoverable`, `unclassified`"},
	{attrTokens + "<type>.<model>", "int", "tokens of one model: `input` (cached included), `cached_input`, `cache_write`, `output` (reasoning included), `reasoning`"},
	{attrToolFailures + "<class>.<persistence>.<tool>", "int", "failed calls of one tool, by class and by what became of them: `recovered` (a later same call succeeded; after `bad_args`, any later one of the tool), `intermittent` (only an earlier one had), `permanent`"},
	{attrDuplicates + "<tool>", "int", "calls of a write tool that did again what an earlier one had done"},
	{attrFirstWrong, "string", "the first step that went wrong: `failed_call`, `failed_model_call`, `empty_retrieval`, `repeated_call` (same arguments and result as an earlier call)"},
	{attrFirstWrongName, "string", "its tool or model"},
	{attrFirstWrongClass, "string", "class of its failure"},
	{attrFirstWrongStep, "int", "which of the run's model calls, tool calls and retrievals it is, from 1"},
	{attrFirstWrongSpan, "string", "its span, 16 hex digits"},
	{attrBlockerTool, "string", "tool of the blocker: the first permanent failure that no other call got round"},
	{attrBlockerClass, "string", "class of that failure"},
	{attrBlockerSteps, "int", "model and tool calls that began after it"},
	{attrBlockerSeconds, "double", "seconds from it to the end of the run"},
	{attrBlockerUSD, "double", "US dollars spent after it"},
	{attrFaults + "<fault>.<model>", "int", "model calls that failed for trouble at the provider: `rate_limit`, `overloaded`, `timeout`, `circuit_open`, `unavailable`"},
	{attrFailovers, "int", "such calls after which the agent went to another model or provider"},
	{attrSignals + "<signal>", "int", "how often else happened what is counted: `guardrail_passed`, `guardrail_blocked`, `judge`, `schema_failure`, `schema_given_up`, `same_correction`, `schema_retry_clean`, `schema_retry_same_window`, `schema_retry_unknown`, `resumed_from_checkpoint`, `resumed_unconfirmed`"},
	{attrWasted + "calls.<cause>.<tool>", "int", "tool calls that brought nothing, by the reason of `no_progress`; calls that began after the caller had left (`caller_gone`) or the deadline had passed (`deadline_passed`), model calls among them without a tool"},
	{attrWasted + "tokens.<cause>", "int", "tokens of such model calls, and of those that asked for nothing but such tool calls; as far as known"},
	{attrWasted + "usd.<cause>", "double", "their cost in US dollars, as far as known"},
	{attrWasted + "seconds.<cause>", "double", "seconds in which such a call ran"},
	{attrDuration, "double", "seconds from root start to root end, less waits for a person"},
	{attrCost, "double", "cost in US dollars"},
	{attrModelCalls, "int", "model calls"},
	{attrSampling, "double", "probability with which each span was kept, above 0 and at most 1"},
	{attrBiased, "bool", "true when the run's spans were kept with different probabilities, or by a tail sampler"},
}

// Table is [Attributes] in Markdown.
func Table() string {
	var b strings.Builder
	b.WriteString("| attribute | type | meaning |\n|---|---|---|\n")
	for _, a := range Attributes {
		b.WriteString("| `" + a.Name + "` | " + a.Type + " | " + a.Doc + " |\n")
	}
	return b.String()
}

// Is says whether the scope holds summary spans.
func Is(scope pcommon.InstrumentationScope) bool { return scope.Name() == Scope }
