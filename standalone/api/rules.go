package api

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/rules"
)

type groupJSON struct {
	Name           string    `json:"name"`
	File           string    `json:"file"`
	Rules          []any     `json:"rules"`
	Interval       float64   `json:"interval"`
	Limit          int       `json:"limit"`
	EvaluationTime float64   `json:"evaluationTime"`
	LastEvaluation time.Time `json:"lastEvaluation"`
}

type alertingJSON struct {
	State          string           `json:"state"`
	Name           string           `json:"name"`
	Query          string           `json:"query"`
	Duration       float64          `json:"duration"`
	KeepFiringFor  float64          `json:"keepFiringFor"`
	Labels         labels.Labels    `json:"labels"`
	Annotations    labels.Labels    `json:"annotations"`
	Alerts         []alertJSON      `json:"alerts"`
	Health         rules.RuleHealth `json:"health"`
	LastError      string           `json:"lastError,omitempty"`
	EvaluationTime float64          `json:"evaluationTime"`
	LastEvaluation time.Time        `json:"lastEvaluation"`
	Type           string           `json:"type"`
}

type recordingJSON struct {
	Name           string           `json:"name"`
	Query          string           `json:"query"`
	Labels         labels.Labels    `json:"labels"`
	Health         rules.RuleHealth `json:"health"`
	LastError      string           `json:"lastError,omitempty"`
	EvaluationTime float64          `json:"evaluationTime"`
	LastEvaluation time.Time        `json:"lastEvaluation"`
	Type           string           `json:"type"`
}

type alertJSON struct {
	Labels          labels.Labels `json:"labels"`
	Annotations     labels.Labels `json:"annotations"`
	State           string        `json:"state"`
	ActiveAt        time.Time     `json:"activeAt"`
	KeepFiringSince *time.Time    `json:"keepFiringSince,omitempty"`
	Value           string        `json:"value"`
}

func activeAlerts(rule *rules.AlertingRule) []alertJSON {
	active := rule.ActiveAlerts()
	list := make([]alertJSON, 0, len(active))
	for _, a := range active {
		one := alertJSON{
			Labels: a.Labels, Annotations: a.Annotations, State: a.State.String(), ActiveAt: a.ActiveAt,
			Value: strconv.FormatFloat(a.Value, 'e', -1, 64),
		}
		if !a.KeepFiringSince.IsZero() {
			one.KeepFiringSince = &a.KeepFiringSince
		}
		list = append(list, one)
	}
	return list
}

func (a *API) alerts(*http.Request) (*reply, *failure) {
	list := []alertJSON{}
	for _, rule := range a.engine.AlertingRules() {
		list = append(list, activeAlerts(rule)...)
	}
	return &reply{data: map[string]any{"alerts": list}}, nil
}

func (a *API) rules(r *http.Request) (*reply, *failure) {
	sets, failed := a.matchers(r)
	if failed != nil {
		return nil, failed
	}
	kind := strings.ToLower(r.Form.Get("type"))
	if kind != "" && kind != "alert" && kind != "record" {
		return nil, invalid("type", fmt.Errorf("not supported value %q", kind))
	}
	excludeAlerts := false
	if v := r.Form.Get("exclude_alerts"); v != "" {
		var err error
		if excludeAlerts, err = strconv.ParseBool(strings.ToLower(v)); err != nil {
			return nil, invalid("exclude_alerts", fmt.Errorf("error converting exclude_alerts: %w", err))
		}
	}
	asked := func(parameter, value string) bool {
		values := r.Form[parameter]
		return len(values) == 0 || slices.Contains(values, value)
	}
	groups := []groupJSON{}
	for _, g := range a.engine.RuleGroups() {
		if !asked("rule_group[]", g.Name()) || !asked("file[]", g.File()) {
			continue
		}
		group := groupJSON{
			Name: g.Name(), File: g.File(), Interval: g.Interval().Seconds(), Limit: g.Limit(),
			EvaluationTime: g.GetEvaluationTime().Seconds(), LastEvaluation: g.GetLastEvaluation(),
		}
		for _, rule := range g.Rules(sets...) {
			if !asked("rule_name[]", rule.Name()) {
				continue
			}
			if shown := describe(rule, kind, excludeAlerts); shown != nil {
				group.Rules = append(group.Rules, shown)
			}
		}
		if len(group.Rules) > 0 {
			groups = append(groups, group)
		}
	}
	return page(r, groups)
}

// describe returns the rule as the API shows it, or nil if it is not of the kind asked for.
func describe(rule rules.Rule, kind string, excludeAlerts bool) any {
	lastError := ""
	if err := rule.LastError(); err != nil {
		lastError = err.Error()
	}
	switch rule := rule.(type) {
	case *rules.AlertingRule:
		if kind == "record" {
			return nil
		}
		var active []alertJSON
		if !excludeAlerts {
			active = activeAlerts(rule)
		}
		return alertingJSON{
			State: rule.State().String(), Name: rule.Name(), Query: rule.Query().String(),
			Duration: rule.HoldDuration().Seconds(), KeepFiringFor: rule.KeepFiringFor().Seconds(),
			Labels: rule.Labels(), Annotations: rule.Annotations(), Alerts: active,
			Health: rule.Health(), LastError: lastError,
			EvaluationTime: rule.GetEvaluationDuration().Seconds(), LastEvaluation: rule.GetEvaluationTimestamp(),
			Type: "alerting",
		}
	case *rules.RecordingRule:
		if kind == "alert" {
			return nil
		}
		return recordingJSON{
			Name: rule.Name(), Query: rule.Query().String(), Labels: rule.Labels(),
			Health: rule.Health(), LastError: lastError,
			EvaluationTime: rule.GetEvaluationDuration().Seconds(), LastEvaluation: rule.GetEvaluationTimestamp(),
			Type: "recording",
		}
	}
	return nil
}

// page cuts the groups to the part that group_limit and group_next_token ask for.
func page(r *http.Request, groups []groupJSON) (*reply, *failure) {
	token := func(g groupJSON) string { return g.File + ";" + g.Name }
	data := struct {
		Groups []groupJSON `json:"groups"`
		Next   string      `json:"groupNextToken,omitempty"`
	}{Groups: groups}
	limit, next := r.Form.Get("group_limit"), r.Form.Get("group_next_token")
	if limit == "" {
		if next != "" {
			return nil, invalid("group_limit", errors.New("group_limit needs to be present in order to paginate over the groups"))
		}
		return &reply{data: data}, nil
	}
	n, err := strconv.Atoi(limit)
	if err != nil || n <= 0 {
		return nil, invalid("group_limit", errors.New("group_limit needs to be a valid number greater than 0"))
	}
	if next != "" {
		at := slices.IndexFunc(groups, func(g groupJSON) bool { return token(g) == next })
		if at < 0 {
			return nil, invalid("group_next_token", fmt.Errorf("invalid group_next_token '%v'. were rule groups changed?", next))
		}
		groups = groups[at:]
	}
	if len(groups) > n {
		data.Next = token(groups[n])
		groups = groups[:n]
	}
	data.Groups = groups
	return &reply{data: data}, nil
}
