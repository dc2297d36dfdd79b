package convention

import (
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// finishes folds the words of all emitters, in lower case without _ and -.
var finishes = map[string]Finish{
	"stop": FinishStop, "endturn": FinishStop, "stopsequence": FinishStop, "completed": FinishStop, "complete": FinishStop,
	"goal": FinishStop, "eos": FinishStop, "eostoken": FinishStop, "success": FinishStop, "finished": FinishStop,
	"finishreasonstop": FinishStop, "end": FinishStop,

	"toolcalls": FinishTool, "toolcall": FinishTool, "tooluse": FinishTool, "functioncall": FinishTool,
	"functioncalls": FinishTool,

	"length": FinishLength, "maxtokens": FinishLength, "maxoutputtokens": FinishLength, "modellength": FinishLength,
	"incomplete": FinishLength, "finishreasonmaxtokens": FinishLength, "modelcontextwindowexceeded": FinishLength,

	"contentfilter": FinishFiltered, "contentfiltered": FinishFiltered, "safety": FinishFiltered,
	"guardrailintervened": FinishFiltered, "recitation": FinishFiltered, "prohibitedcontent": FinishFiltered,
	"blocklist": FinishFiltered, "spii": FinishFiltered, "imagesafety": FinishFiltered,

	"refusal": FinishRefusal,

	"cancelled": FinishCancelled, "canceled": FinishCancelled, "aborted": FinishCancelled, "abort": FinishCancelled,
	"userabort": FinishCancelled, "userinterrupt": FinishCancelled,

	"interrupt": FinishHuman, "interrupted": FinishHuman, "approvalrequired": FinishHuman, "paused": FinishHuman,
	"suspended": FinishHuman,

	"maxturns": FinishLimit, "errormaxturns": FinishLimit, "errormaxbudgetusd": FinishLimit, "timeout": FinishLimit,
	"maxsteps": FinishLimit, "maxiterations": FinishLimit, "limitturns": FinishLimit, "limittokens": FinishLimit,
	"limittime": FinishLimit, "maxmodelcalls": FinishLimit,

	"noprogress": FinishNoProgress, "stuck": FinishNoProgress, "loopdetected": FinishNoProgress,

	"error": FinishError, "failed": FinishError, "errorduringexecution": FinishError, "malformedfunctioncall": FinishError,
	"errornocompletetaskcall": FinishError, "unexpectedtoolcall": FinishError,

	"other": FinishOther, "unknown": FinishOther, "unspecified": FinishOther, "finishreasonunspecified": FinishOther,
	"checkpoint": FinishOther, "compaction": FinishOther, "pauseturn": FinishOther,
	// Not ended yet.
	"queued": FinishNone, "inprogress": FinishNone, "null": FinishNone, "none": FinishNone, "": FinishNone,
}

// finishWord folds one emitter's word.
func finishWord(word string) Finish {
	switch word { // the common ones without folding
	case "stop":
		return FinishStop
	case "tool_calls", "tool_call", "tool-calls", "tool_use":
		return FinishTool
	}
	var folded [32]byte
	n := 0
	for i := 0; i < len(word); i++ {
		c := word[i]
		if c == '_' || c == '-' || c == ' ' {
			continue
		}
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if n == len(folded) {
			return FinishOther
		}
		folded[n] = c
		n++
	}
	if finish, ok := finishes[string(folded[:n])]; ok {
		return finish
	}
	if strings.HasPrefix(string(folded[:n]), "limit") {
		return FinishLimit
	}
	return FinishOther
}

// finishOf reads a reason: a word, a list, or a list as JSON text. Of several,
// one that asks for a tool tells, else the last.
func finishOf(v value) Finish {
	switch v.Type() {
	case pcommon.ValueTypeStr:
		s := v.Str()
		if s == "" || s[0] != '[' && s[0] != '"' {
			return finishWord(s)
		}
		if s[0] == '"' {
			return finishWord(text(s))
		}
		finish := FinishNone
		for e := elementsOf(s); e.next(); {
			finish = foldFinish(finish, finishWord(text(e.value)))
		}
		return finish
	case pcommon.ValueTypeSlice:
		finish := FinishNone
		s := v.Slice()
		for i := range min(s.Len(), 64) {
			finish = foldFinish(finish, finishWord(s.At(i).Str()))
		}
		return finish
	}
	return FinishNone
}

func foldFinish(a, b Finish) Finish {
	if a == FinishTool || b == FinishNone {
		return a
	}
	return b
}
