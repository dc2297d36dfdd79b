// Package truth says what recorded agent telemetry should be read as, and
// compares that with what derive reads.
//
// The expected values come from what the model server, the tools and the
// application saw while the telemetry was recorded, and from the verdict table
// of the design; never from the code under test. It therefore imports nothing
// of this module: derive's output reaches it as JSON objects.
//
// Each emitter is a row of [Emitters] (which facts its telemetry does not
// carry, and why), each scenario a row of [Scenarios] (what happened, and what
// that makes of a run), and what fits neither is in special.go, one reading a
// file. Recordings of the kinds listed need an archive and index entries, a new
// emitter or scenario one more row.
package truth
