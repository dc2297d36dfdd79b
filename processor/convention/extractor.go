package convention

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Extractor reads spans and log records. It is read-only after [New] and safe
// for concurrent use.
type Extractor struct {
	// Names are the attributes that files ask for: dimensions, match, run keys
	// and CEL. Facts.Attributes refers to them by index.
	Names []string
}

// New returns an extractor that also keeps the values of the named attributes.
func New(names ...string) *Extractor { return &Extractor{Names: names} }

// Resource is what a resource says, read once a batch.
type Resource struct {
	Service, Environment string // service.name; deployment.environment.name or its older name
	Attributes           []Attribute
}

// Resource reads a resource.
func (x *Extractor) Resource(r pcommon.Resource) Resource { return Resource{} }

// Span reads one span into f, which it resets first. scope is the name of the
// span's instrumentation scope. The span is not changed.
func (x *Extractor) Span(f *Facts, scope pcommon.InstrumentationScope, s ptrace.Span) {}

// Log reads one log record into f, which it resets first. It reports false if
// the record says nothing of a run. The record's trace and span id are the
// caller's to read.
func (x *Extractor) Log(f *Facts, scope pcommon.InstrumentationScope, r plog.LogRecord) bool {
	return false
}
