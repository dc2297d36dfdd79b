package slo

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
)

// Bounds of an expression: what people write is far below, and one that a
// mistake or a stranger wrote must not stall the pipeline.
const (
	maxExpression     = 4096   // characters
	maxExpressionCost = 200000 // CEL cost units an evaluation, roughly element visits
)

// factsVariable is what has(run.x) looks its fact up in. No source text can
// spell it.
const factsVariable = "@facts"

var fieldNames = func() []string {
	names := make([]string, len(RunFields))
	for i, f := range RunFields {
		names[i] = f.Name
	}
	return names
}()

var celTypes = map[string]*cel.Type{
	"bool": cel.BoolType, "int": cel.IntType, "double": cel.DoubleType, "string": cel.StringType,
	"list(string)":        cel.ListType(cel.StringType),
	"map(string, double)": cel.MapType(cel.StringType, cel.DoubleType),
}

var expressionEnv = sync.OnceValues(func() (*cel.Env, error) {
	options := []cel.EnvOption{
		cel.ClearMacros(),
		cel.Macros(slices.Concat(cel.StandardMacros, []cel.Macro{hasMacro})...),
		cel.CrossTypeNumericComparisons(true),
		cel.ParserExpressionSizeLimit(maxExpression),
		cel.Variable("attributes", cel.MapType(cel.StringType, cel.StringType)),
		cel.Variable(factsVariable, cel.MapType(cel.StringType, cel.DynType)),
	}
	for _, f := range RunFields {
		options = append(options, cel.Variable(f.Name, celTypes[f.Type]))
	}
	return cel.NewEnv(options...)
})

// hasMacro lets has(run.cost_usd) ask whether a fact is known; for everything
// else has() is the standard one.
var hasMacro = cel.GlobalMacro(operators.Has, 1, func(eh cel.MacroExprFactory, _ ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
	if args[0].Kind() != ast.SelectKind {
		return nil, eh.NewError(args[0].ID(), `has() takes a field, such as has(run.cost_usd); of an attribute ask "name" in attributes`)
	}
	sel := args[0].AsSelect()
	if sel.Operand().Kind() == ast.IdentKind && sel.Operand().AsIdent() == "run" {
		name := "run." + sel.FieldName()
		if !slices.Contains(fieldNames, name) {
			return nil, eh.NewError(args[0].ID(), unknownField(name))
		}
		return eh.NewCall(operators.In, eh.NewLiteral(types.String(name)), eh.NewIdent(factsVariable)), nil
	}
	return eh.NewPresenceTest(sel.Operand(), sel.FieldName()), nil
})

// Compile checks a CEL expression over a run. Its variables are [RunFields]
// and attributes; it must give a bool. An attribute is named by a literal, as
// in attributes["app.tier"], "app.tier" in attributes or has(attributes.tier),
// so that it is known which ones to keep. has(run.cost_usd) asks whether a
// fact is known.
//
// The error is a [Faults] whose lines and columns are those of the source.
func Compile(source string) (*Program, error) {
	env, err := expressionEnv()
	if err != nil {
		return nil, fmt.Errorf("CEL environment: %w", err)
	}
	if strings.TrimSpace(source) == "" {
		return nil, Faults{{Line: 1, Column: 1, Message: "the expression is empty"}}
	}
	parsed, issues := env.Parse(source)
	if issues.Err() != nil {
		// What follows the first syntax error is mostly its echo.
		return nil, expressionFaults(issues)[:1]
	}
	names := namesOf(parsed)
	faults := names.faults
	checked, issues := env.Check(parsed)
	if issues.Err() != nil {
		for _, f := range expressionFaults(issues) {
			// The checker's word on what namesOf explained already.
			if !names.explained(f) {
				faults = append(faults, f)
			}
		}
	}
	if len(faults) > 0 {
		return nil, faults.sorted()
	}
	if t := checked.OutputType(); !t.IsExactType(cel.BoolType) {
		return nil, Faults{{Line: 1, Column: 1, Message: fmt.Sprintf("the expression gives %s, not a bool", t)}}
	}
	var options []cel.ProgramOption
	if names.loops {
		options = append(options, cel.CostLimit(maxExpressionCost))
	}
	program, err := env.Program(checked, options...)
	if err != nil {
		return nil, Faults{{Line: 1, Column: 1, Message: err.Error()}}
	}
	return &Program{Source: source, Attributes: names.attributes, eval: func(vars map[string]any) (bool, error) {
		return evaluate(program, vars)
	}}, nil
}

func evaluate(program cel.Program, vars map[string]any) (bool, error) {
	out, _, err := program.Eval(facts(vars))
	switch {
	case err != nil:
		if missingKey(err) {
			return false, ErrUnknown
		}
		return false, err
	case types.IsUnknown(out):
		return false, ErrUnknown
	}
	value, ok := out.Value().(bool)
	if !ok {
		return false, fmt.Errorf("the expression gave %v, not a bool", out.Type())
	}
	return value, nil
}

// missingKey says whether evaluation needed a map key that is not there: an
// attribute or an evaluation that the run does not carry. The interpreter's
// error type is private, its text is not.
func missingKey(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if strings.HasPrefix(err.Error(), "no such key") {
			return true
		}
	}
	return false
}

// facts gives a run's facts to CEL. One that is missing is an unknown value,
// which || and && weigh as such.
type facts map[string]any

var noAttributes = map[string]string{}

func (f facts) ResolveName(name string) (any, bool) {
	if v := f[name]; v != nil {
		return v, true
	}
	switch {
	case name == "attributes":
		return noAttributes, true
	case name == factsVariable:
		known := make(map[string]any, len(f))
		for k, v := range f {
			if v != nil {
				known[k] = true
			}
		}
		return known, true
	case strings.HasPrefix(name, "run."):
		return unknownFact, true
	}
	return nil, false
}

func (f facts) Parent() cel.Activation { return nil }

var unknownFact = types.NewUnknown(1, nil)

// names is what a walk over the parsed expression finds.
type names struct {
	attributes []string
	loops      bool // evaluation time depends on the facts
	faults     Faults
}

// explained says whether a fault of the checker is the echo of one found here.
func (n *names) explained(f Fault) bool {
	return len(n.faults) > 0 && (strings.Contains(f.Message, "unknown name run;") || strings.Contains(f.Message, "does not support field selection")) ||
		slices.ContainsFunc(n.faults, func(own Fault) bool { return own.Line == f.Line && own.Column == f.Column })
}

func namesOf(parsed *cel.Ast) *names {
	n := &names{}
	native := parsed.NativeRep()
	fault := func(e ast.Expr, message string) {
		at := native.SourceInfo().GetStartLocation(e.ID())
		n.faults = append(n.faults, Fault{Line: at.Line(), Column: at.Column() + 1, Message: message})
	}
	isAttributes := func(e ast.Expr) bool { return e.Kind() == ast.IdentKind && e.AsIdent() == "attributes" }
	const nameIt = `name the attribute by a literal, as in attributes["app.tier"] or "app.tier" in attributes`

	var walk func(e ast.Expr)
	walk = func(e ast.Expr) {
		switch e.Kind() {
		case ast.IdentKind:
			switch name := e.AsIdent(); name {
			case "attributes":
				fault(e, nameIt)
			case "run":
				fault(e, "run is no value of its own; name one of its facts: "+strings.Join(fieldNames, ", "))
			}
		case ast.SelectKind:
			operand := e.AsSelect().Operand()
			switch {
			case isAttributes(operand):
				n.attributes = append(n.attributes, e.AsSelect().FieldName())
			case operand.Kind() == ast.SelectKind && isAttributes(operand.AsSelect().Operand()):
				name := operand.AsSelect().FieldName() + "." + e.AsSelect().FieldName()
				fault(operand.AsSelect().Operand(), fmt.Sprintf("an attribute with dots in its name is written attributes[%q]", name))
			case operand.Kind() == ast.IdentKind && operand.AsIdent() == "run":
				if name := "run." + e.AsSelect().FieldName(); !slices.Contains(fieldNames, name) {
					fault(operand, unknownField(name))
				}
			default:
				walk(operand)
			}
		case ast.CallKind:
			call := e.AsCall()
			if literal, ok := attributeKey(call, isAttributes); ok {
				if literal == nil {
					fault(e, nameIt)
				} else {
					n.attributes = append(n.attributes, *literal)
				}
				return
			}
			if call.FunctionName() == "matches" {
				n.loops = true
			}
			if call.IsMemberFunction() {
				walk(call.Target())
			}
			for _, arg := range call.Args() {
				walk(arg)
			}
		case ast.ListKind:
			for _, element := range e.AsList().Elements() {
				walk(element)
			}
		case ast.MapKind:
			for _, entry := range e.AsMap().Entries() {
				walk(entry.AsMapEntry().Key())
				walk(entry.AsMapEntry().Value())
			}
		case ast.StructKind:
			for _, field := range e.AsStruct().Fields() {
				walk(field.AsStructField().Value())
			}
		case ast.ComprehensionKind:
			n.loops = true
			c := e.AsComprehension()
			for _, part := range []ast.Expr{c.IterRange(), c.AccuInit(), c.LoopCondition(), c.LoopStep(), c.Result()} {
				walk(part)
			}
		}
	}
	walk(native.Expr())
	slices.Sort(n.attributes)
	n.attributes = slices.Compact(n.attributes)
	return n
}

// attributeKey recognises attributes[key] and key in attributes; the literal
// is nil when the key is computed.
func attributeKey(call ast.CallExpr, isAttributes func(ast.Expr) bool) (literal *string, ok bool) {
	args := call.Args()
	if len(args) != 2 {
		return nil, false
	}
	var key ast.Expr
	switch {
	case call.FunctionName() == operators.Index && isAttributes(args[0]):
		key = args[1]
	case call.FunctionName() == operators.In && isAttributes(args[1]):
		key = args[0]
	default:
		return nil, false
	}
	if key.Kind() == ast.LiteralKind {
		if s, isString := key.AsLiteral().Value().(string); isString {
			return &s, true
		}
	}
	return nil, true
}

func unknownField(name string) string {
	if n := nearest(name, fieldNames); n != "" {
		return fmt.Sprintf("unknown fact %s; did you mean %s?", name, n)
	}
	return fmt.Sprintf("unknown fact %s; known are %s", name, strings.Join(fieldNames, ", "))
}

var undeclared = regexp.MustCompile(`undeclared reference to '([^']+)' \(in container ''\)`)

// expressionFaults puts the compiler's words into the reader's.
func expressionFaults(issues *cel.Issues) Faults {
	var faults Faults
	for _, e := range issues.Errors() {
		at := e.Location
		if at == nil {
			at = common.NoLocation
		}
		message := strings.TrimPrefix(e.Message, "Syntax error: ")
		if m := undeclared.FindStringSubmatch(message); m != nil {
			message = fmt.Sprintf("unknown name %s", m[1])
			if n := nearest("run."+m[1], fieldNames); n != "" {
				message += "; did you mean " + n + "?"
			} else {
				message += "; expressions know attributes and the facts run.*, text stands in quotes"
			}
		}
		if strings.HasPrefix(message, "token recognition error at: '=") {
			message = "= is no operator; == compares"
		}
		if strings.Contains(message, "(double, int)") || strings.Contains(message, "(int, double)") {
			message += "; write a whole double as 1.0"
		}
		faults = append(faults, Fault{Line: max(at.Line(), 1), Column: max(at.Column(), 0) + 1, Message: message})
	}
	return faults.sorted()
}
