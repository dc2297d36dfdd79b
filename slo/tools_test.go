package slo_test

import (
	"testing"

	"github.com/agentslo/agentslo/slo"
)

func TestBuiltInTools(t *testing.T) {
	var none *slo.File
	bare := parse(t, document("a", "")).Files[0]
	for _, f := range []*slo.File{none, bare, {}} {
		for name, want := range map[string]string{
			"final_answer": "answer", "FinalAnswer": "answer", "finalAnswer": "answer", "final-answer": "answer", "finish": "answer",
			"final_output": "answer", "final_result": "answer", "submit_answer": "answer", "attempt_completion": "answer", "respond_to_user": "answer",
			"finish_order": "evidence", "submit_answers": "evidence",
			"handoff_to_billing": "not counted", "transfer_to_billing_agent": "not counted", "transferToBilling": "not counted", "agent_handoff": "not counted",
			"(merged tools)": "not counted", "handoff_to_human": "not counted",
			"transfer_tokens": "evidence", "transferTokens": "evidence",
			"think": "neither", "Think": "neither", "todo_write": "neither", "TodoWrite": "neither", "todos": "neither", "plan": "neither", "plan_trip": "neither", "planner": "neither",
			"rethink": "evidence", "thinking_machine": "evidence", "search_docs": "evidence", "my_plan": "evidence", "": "evidence",
		} {
			got := "neither"
			answer, notCounted, evidence := f.AnswerTool(name), f.NotCountedTool(name), f.EvidenceTool(name)
			switch {
			case answer && !notCounted && !evidence:
				got = "answer"
			case notCounted && !answer && !evidence:
				got = "not counted"
			case evidence && !answer && !notCounted:
				got = "evidence"
			case answer || notCounted || evidence:
				got = "several"
			}
			if got != want {
				t.Errorf("%q is %s, want %s", name, got, want)
			}
		}
		if f.RequiredTool("x") || f.RetrievalTool("search_docs") || f.WriteTool("send") {
			t.Error("no file names such tools")
		}
	}
}

func TestFileTools(t *testing.T) {
	f := parse(t, document("bank", `tools:
  evidence: ["*", plan_lookup]
  required: ["verify_*"]
  answer: [send_reply, handoff_note]
  not_counted: ["route_*", finish]
  retrieval: ["search_*"]
  write: ["transfer_to_savings", "send_*"]`)).Files[0]
	for what, ok := range map[string]bool{
		"its answer":                          f.AnswerTool("send_reply") && !f.EvidenceTool("send_reply"),
		"its answer beats the built-in list":  f.AnswerTool("handoff_note") && !f.NotCountedTool("handoff_note"),
		"its case counts":                     !f.AnswerTool("Send_Reply"),
		"not counted":                         f.NotCountedTool("route_x") && !f.EvidenceTool("route_x"),
		"not counted beats the built-in list": f.NotCountedTool("finish") && !f.AnswerTool("finish"),
		"a named tool is no handoff":          !f.NotCountedTool("transfer_to_savings") && f.EvidenceTool("transfer_to_savings"),
		"the built-in list still holds":       f.NotCountedTool("transfer_to_agent") && f.AnswerTool("final_answer"),
		"a named tool is no mere planning":    f.EvidenceTool("plan_lookup") && !f.EvidenceTool("plan_trip"),
		"required":                            f.RequiredTool("verify_id") && !f.RequiredTool("other"),
		"retrieval":                           f.RetrievalTool("search_docs") && !f.RetrievalTool("other"),
		"write":                               f.WriteTool("send_mail") && !f.WriteTool("read"),
	} {
		if !ok {
			t.Error(what)
		}
	}
	narrow := parse(t, document("a", `tools: {evidence: ["search_*"]}`)).Files[0]
	if !narrow.EvidenceTool("search_docs") || narrow.EvidenceTool("calculator") {
		t.Error("without * only the named tools are evidence")
	}
	nothing := parse(t, document("a", `tools: {evidence: []}`)).Files[0]
	if nothing.EvidenceTool("search_docs") {
		t.Error("an empty list means none")
	}
}

func TestToolsThatMeanPeople(t *testing.T) {
	for name, want := range map[string][3]bool{ // waits for a person, escalates, abstains
		"ask_user": {true, false, false}, "AskUserQuestion": {true, false, false}, "ask_human": {true, true, false},
		"wait_for_approval": {true, false, false}, "approval": {true, false, false}, "requestHumanHelp": {false, true, false},
		"escalate": {false, true, false}, "escalate_to_tier2": {false, true, false}, "handoff_to_human": {false, true, false}, "handoff_to_humans": {false, false, false},
		"abstain": {false, false, true}, "AbstainFromAnswer": {false, false, true}, "search": {false, false, false}, "deescalate": {false, false, false}, "": {false, false, false},
	} {
		if got := [3]bool{slo.HumanWaitTool(name), slo.EscalationTool(name), slo.AbstainTool(name)}; got != want {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
}

func BenchmarkEvidenceTool(b *testing.B) {
	f := parse(b, document("a", `tools: {answer: [send_reply], not_counted: ["route_*"], write: ["refund_*"]}`)).Files[0]
	b.ReportAllocs()
	for b.Loop() {
		f.EvidenceTool("check_job_status")
	}
}

func TestPausingAndSearchTools(t *testing.T) {
	for name, want := range map[string][2]bool{
		"sleep": {true, false}, "Wait": {true, false}, "sleepSeconds": {true, false}, "wait_for_job": {false, false}, "sleep_analysis": {false, false},
		"search_docs": {false, true}, "webSearch": {false, true}, "retrieve-context": {false, true}, "query_knowledge_base": {false, true},
		"research_agent": {false, false}, "mcp__docs__search": {false, true}, "get_order": {false, false},
	} {
		if got := [2]bool{slo.PausingTool(name), slo.SearchTool(name)}; got != want {
			t.Errorf("%s: pausing, search are %v", name, got)
		}
	}
	set := parse(t, "service: a\ntools: {retrieval: [handbook*]}\nslos: {no_progress: {objective: 99%}}\n")
	if !set.RetrievalTool("handbook_2") || set.RetrievalTool("search") || !set.Names("no_progress") || set.Names("cost") {
		t.Error("what the set says of its files")
	}
}
