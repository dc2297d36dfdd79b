package standalone

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/agentslo/agentslo/rules"
	"github.com/agentslo/agentslo/slo"
	"github.com/agentslo/agentslo/standalone/alertmanager"
	"github.com/agentslo/agentslo/standalone/engine"
	"github.com/agentslo/agentslo/standalone/pipeline"
)

// Run receives, counts, evaluates and serves until the context ends, then
// stops in order: receivers, the processor, which keeps its open runs in the
// checkpoint, the exporter with its counters, a last collection, the rules and
// the database. It returns nil after a clean stop, [slo.Faults] for an invalid
// file, and else what kept it from running.
func Run(ctx context.Context, o Options) error {
	o = o.withDefaults()
	set, err := slo.Load(o.Files...)
	if err != nil {
		return err
	}
	p := &process{options: o, set: set, logger: o.logger(), started: time.Now()}
	if err := p.start(ctx); err != nil {
		return errors.Join(err, p.stop())
	}
	if ctx.Err() == nil {
		p.announce()
		if o.Ready != nil {
			o.Ready(p.addresses())
		}
	}
	select {
	case <-ctx.Done():
	case <-p.pipeline.Stopped():
		err = p.pipeline.Err()
	case err = <-p.served:
		err = fmt.Errorf("%s %s: %w", flagListen, p.options.Listen, err)
	}
	return errors.Join(err, p.stop())
}

// process is what Run started so far; parts that did not start are nil.
type process struct {
	options Options
	set     *slo.Set
	logger  *slog.Logger
	started time.Time

	folder   *folder
	listener net.Listener
	server   *http.Server
	served   chan error
	web      *web

	own      *prometheus.Registry // metrics of this process
	counters counters             // agent_slo's
	engine   *engine.Engine
	alerts   *alertmanager.Client
	pipeline *pipeline.Pipeline
}

func (p *process) start(ctx context.Context) error {
	o := &p.options
	var err error
	if p.folder, err = openFolder(o.Data); err != nil {
		return err
	}
	if p.folder.killed {
		p.logger.Warn("the process before this one was killed: runs that were open then are not counted; counters begin at 0 again, what they had counted is kept", "data", o.Data)
	}
	if p.listener, err = listen(flagListen, o.Listen); err != nil {
		return err
	}
	o.Listen = taken(o.Listen, p.listener)
	if err := receiverPorts(o); err != nil {
		return err
	}
	p.own = prometheus.NewRegistry()
	p.own.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))

	// Probes are answered while the database reads its log.
	p.web = newWeb()
	p.serve()
	p.engine, err = engine.Open(engine.Options{
		Directory: p.folder.metrics(), Retention: retention(p.set),
		ScrapeInterval: o.ScrapeInterval, EvalInterval: o.EvalInterval,
		Logger: p.logger, Registerer: p.own,
	})
	if err != nil {
		return err
	}
	// The first collection comes before the first run: what is born after it
	// gets its zero sample.
	if err := p.engine.Collect(ctx, &p.counters); err != nil {
		return err
	}
	collector := p.pipelineOptions()
	if p.pipeline, err = pipeline.Start(ctx, collector); err != nil {
		return err
	}
	p.engine.StartCollecting(&p.counters)
	if err := p.startRules(); err != nil {
		return err
	}
	return p.web.open(p, pipeline.Config(collector))
}

func (p *process) pipelineOptions() pipeline.Options {
	return pipeline.Options{
		Files: p.options.Files, GRPC: p.options.OTLPGRPC, HTTP: p.options.OTLPHTTP, Directory: p.folder.checkpoint(),
		Processor: newProcessor(), Exporter: newExporter(p.counters.set),
		Version: p.options.Version, Log: p.options.Log, Verbose: p.options.Verbose, Metrics: p.own,
	}
}

func (p *process) startRules() error {
	o := engine.RuleOptions{Name: strings.Join(p.options.Files, ", "), EvalInterval: p.options.EvalInterval, ExternalURL: url(p.options.Listen)}
	if p.options.Alertmanager != "" {
		client, err := alertmanager.Dial(p.options.Alertmanager, o.ExternalURL, p.logger)
		if err != nil {
			return fmt.Errorf("--alertmanager: %w", err)
		}
		p.alerts = client
		o.Notify = client.Notify
	}
	var content bytes.Buffer
	if err := rules.Write(&content, p.set, rules.FormatPrometheus); err != nil {
		return err
	}
	o.Content = content.Bytes()
	return p.engine.StartRules(o)
}

// stop stops what was started, and returns what could not be kept.
func (p *process) stop() error {
	var errs []error
	if p.pipeline != nil {
		errs = append(errs, p.pipeline.Stop())
	}
	if p.engine != nil {
		p.engine.StopCollecting()
		if p.pipeline != nil {
			errs = append(errs, p.engine.Collect(context.Background(), &p.counters))
		}
		// A last evaluation, so that the rules remember what was just collected
		// however long the process stays away.
		p.engine.StopRules()
	}
	brief, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if p.alerts != nil {
		p.alerts.Close(brief)
	}
	if p.server != nil {
		if err := p.server.Shutdown(brief); err != nil {
			_ = p.server.Close() // a reader that does not let go
		}
	} else if p.listener != nil {
		_ = p.listener.Close()
	}
	if p.engine != nil {
		errs = append(errs, p.engine.Close())
	}
	if p.folder != nil {
		errs = append(errs, p.folder.close(errors.Join(errs...) == nil))
	}
	return errors.Join(errs...)
}

// retention keeps samples longer than the longest error budget's window: rules
// look back over the whole of it and a little beyond.
func retention(set *slo.Set) time.Duration {
	longest := 15 * 24 * time.Hour
	for _, f := range set.Files {
		windows := rules.Windows(f)
		longest = max(longest, windows[len(windows)-1], f.Window.Rolling)
		if f.Window.Calendar == "quarter" {
			longest = max(longest, 92*24*time.Hour)
		}
	}
	return longest + longest/10 + 2*24*time.Hour
}

func (p *process) addresses() Addresses {
	return Addresses{Page: url(p.options.Listen), GRPC: p.options.OTLPGRPC, HTTP: url(p.options.OTLPHTTP)}
}

func (p *process) announce() {
	slos := 0
	for _, f := range p.set.Files {
		slos += len(f.SLOs)
	}
	a := p.addresses()
	say(p.options.Log, "agentslo is up, watching %d SLOs of %d file(s)\n", slos, len(p.set.Files))
	say(p.options.Log, "  page       %s\n", a.Page)
	say(p.options.Log, "  OTLP       gRPC %s, HTTP %s\n", a.GRPC, a.HTTP)
	say(p.options.Log, "  Prometheus %s   (Grafana data source; sloctl budget --prometheus %s)\n", a.Page, a.Page)
	say(p.options.Log, "  data       %s\n", p.folder.path)
	for flag, address := range map[string]string{flagListen: p.options.Listen, flagGRPC: p.options.OTLPGRPC, flagHTTP: p.options.OTLPHTTP} {
		if exposed(address) {
			say(p.options.Log, "  note       %s %s is reached from other machines, and asks nobody who they are\n", flag, address)
		}
	}
}

func say(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }
