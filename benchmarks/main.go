package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
	"text/tabwriter"
)

// Aims of agent_sli, as ratios to what is measured in the same run.
const (
	ofUnmarshal   = 1.0 / 8 // of what unmarshalling the same spans costs
	ofSpanMetrics = 1.2     // of spanmetricsconnector, which assembles nothing
	openRunBytes  = 2048    // heap of one open run
)

func main() {
	runs := flag.Int("runs", 1000, "agent runs of 20 spans each, per round")
	rounds := flag.Int("rounds", 7, "rounds; the cheapest one counts")
	only := flag.String("only", "", "measure only subjects whose name contains this")
	profile := flag.String("cpuprofile", "", "write a CPU profile to this file")
	flag.Parse()
	if *profile != "" {
		file, err := os.Create(*profile)
		if err == nil {
			err = pprof.StartCPUProfile(file)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		defer pprof.StopCPUProfile()
	}

	data, err := newInput(*runs)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	var results []result
	for _, s := range subjects() {
		if !strings.Contains(s.name, *only) {
			continue
		}
		r, err := measure(s, data, *rounds)
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", s.name, err)
			os.Exit(2)
		}
		results = append(results, r)
	}
	fmt.Printf("%s, %d runs of 20 spans, %d bytes a span on the wire, cheapest of %d rounds\n\n",
		runtime.Version(), *runs, data.bytes/data.spans, *rounds)
	write(os.Stdout, results)
}

// write prints what was measured, then agent_sli's ratios to its peers.
func write(w io.Writer, results []result) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "subject\tCPU ns/span\tbytes/span\tallocs/span\theap bytes/open run\tsubject/agent_sli\t")
	own := find(results, "agent_sli")
	for _, r := range results {
		heap, ratio := "", ""
		if r.heap >= 0 {
			heap = fmt.Sprintf("%.0f", r.heap)
		}
		if own != nil {
			ratio = fmt.Sprintf("%.2f", r.nanoseconds/own.nanoseconds)
		}
		fmt.Fprintf(table, "%s\t%.0f\t%.0f\t%.2f\t%s\t%s\t\n", r.name, r.nanoseconds, r.bytes, r.allocations, heap, ratio)
	}
	table.Flush()
	if own == nil {
		return
	}
	fmt.Fprintln(w)
	if peer := find(results, "unmarshal"); peer != nil {
		aim(w, "agent_sli / unmarshal", own.nanoseconds/peer.nanoseconds, ofUnmarshal)
	}
	if peer := find(results, "spanmetrics"); peer != nil {
		aim(w, "agent_sli / spanmetrics", own.nanoseconds/peer.nanoseconds, ofSpanMetrics)
	}
	aim(w, "agent_sli heap bytes per open run", own.heap, openRunBytes)
}

func aim(w io.Writer, name string, value, most float64) {
	verdict := "met"
	if value > most {
		verdict = "missed"
	}
	fmt.Fprintf(w, "%-36s %10.3f  aim at most %.3f: %s\n", name, value, most, verdict)
}

func find(results []result, name string) *result {
	for i := range results {
		if results[i].name == name {
			return &results[i]
		}
	}
	return nil
}
