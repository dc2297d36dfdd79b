package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/rules"
)

// RuleOptions say which rules are evaluated and who hears of alerts.
type RuleOptions struct {
	Name    string // what the rules API calls the file
	Content []byte // a Prometheus rule file
	// EvalInterval, if set, takes the place of every group's own interval.
	EvalInterval time.Duration
	ExternalURL  string // of this process; the base of generator URLs
	// Notify hears of firing and resolved alerts at every evaluation that has
	// something to say; may be nil.
	Notify rules.NotifyFunc
}

type ruleset struct {
	manager *rules.Manager
	ctx     context.Context
	cancel  context.CancelFunc
	done    chan struct{}
	once    sync.Once
}

// StartRules loads the rules and evaluates them until StopRules or Close. How
// long an alert's condition has held is restored from the database, unless
// the process was down for more than an hour. It may be called once.
func (e *Engine) StartRules(options RuleOptions) error {
	external, err := url.Parse(options.ExternalURL)
	if err != nil {
		return fmt.Errorf("external URL: %w", err)
	}
	notify := options.Notify
	if notify == nil {
		notify = func(context.Context, string, ...*rules.Alert) {}
	}
	registerer := e.options.Registerer
	if registerer == nil {
		registerer = prometheus.NewRegistry() // the manager keeps its metrics anyhow
	}
	ctx, cancel := context.WithCancel(context.Background())
	loader := &ruleContent{options: options, parser: e.parser, logger: e.options.Logger}
	manager := rules.NewManager(&rules.ManagerOptions{
		ExternalURL:          external,
		QueryFunc:            rules.EngineQueryFunc(e.queries, e.db),
		NotifyFunc:           notify,
		Context:              ctx,
		AppendableV2:         e.db,
		Queryable:            e.db,
		Logger:               e.options.Logger,
		Registerer:           registerer,
		OutageTolerance:      time.Hour,
		ForGracePeriod:       10 * time.Minute,
		ResendDelay:          time.Minute,
		RestoreNewRuleGroups: true,
		GroupLoader:          loader,
		Parser:               e.parser,
	})
	if err := manager.Update(e.options.EvalInterval, []string{options.Name}, labels.EmptyLabels(), options.ExternalURL, nil); err != nil {
		cancel()
		return errors.Join(append([]error{err}, loader.errs...)...)
	}
	r := &ruleset{manager: manager, ctx: ctx, cancel: cancel, done: make(chan struct{})}
	e.rules.Store(r)
	go func() {
		defer close(r.done)
		manager.Run()
	}()
	return nil
}

// StopRules waits for the evaluation under way, evaluates every group once
// more, so that the rules have seen what was collected last, and then no more.
func (e *Engine) StopRules() {
	r := e.rules.Load()
	if r == nil {
		return
	}
	r.once.Do(func() {
		r.manager.Stop()
		<-r.done
		for _, group := range r.manager.RuleGroups() {
			group.Eval(r.ctx, time.Now())
		}
		r.cancel()
	})
}

// RuleGroups are the groups being evaluated, with their state; none before StartRules.
func (e *Engine) RuleGroups() []*rules.Group {
	if r := e.rules.Load(); r != nil {
		return r.manager.RuleGroups()
	}
	return nil
}

// AlertingRules are the alerting rules of all groups.
func (e *Engine) AlertingRules() []*rules.AlertingRule {
	if r := e.rules.Load(); r != nil {
		return r.manager.AlertingRules()
	}
	return nil
}

// ruleContent loads rules from memory: what is evaluated cannot differ from
// what the SLO file says because an old file lay about.
type ruleContent struct {
	options RuleOptions
	parser  parser.Parser
	logger  *slog.Logger
	errs    []error
}

func (l *ruleContent) Load(_ string, ignoreUnknown bool, scheme model.ValidationScheme) (*rulefmt.RuleGroups, []error) {
	groups, errs := rulefmt.Parse(l.options.Content, ignoreUnknown, scheme, l.parser, l.logger)
	if len(errs) > 0 {
		l.errs = errs
		return nil, errs
	}
	if l.options.EvalInterval > 0 {
		for i := range groups.Groups {
			groups.Groups[i].Interval = model.Duration(l.options.EvalInterval)
		}
	}
	return groups, nil
}

func (l *ruleContent) Parse(query string) (parser.Expr, error) { return l.parser.ParseExpr(query) }
