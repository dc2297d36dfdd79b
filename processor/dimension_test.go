package processor

import (
	"maps"
	"testing"
)

// Where a dimension's value comes from, on spans that say different things.
func TestDimensions(t *testing.T) {
	const file = `
service: support
dimensions:
  tenant:  {baggage: tenant}
  plan:    {attribute: plan}
  version: {resource: service.version}
slos: {completion: {objective: 99%}}
`
	for name, c := range map[string]struct {
		spans string
		want  map[string]string
	}{
		"baggage is copied under its key": {`
1 - 0 9 ia:helper tenant=acme
2 1 1 2 chat:gpt-5 tenant=other`, map[string]string{"tenant": "acme"}},
		"or with a prefix, which says what it is": {`
1 - 0 9 ia:helper tenant=mine baggage.tenant=acme`, map[string]string{"tenant": "acme"}},
		"above the run, where the request came in": {`
9 - 0 10 raw:"POST /chat" kind=SERVER baggage.tenant=acme plan=gold
1 9 0 9 ia:helper`, map[string]string{"tenant": "acme", "plan": "gold"}},
		"below it, if nothing else says it": {`
1 - 0 9 ia:helper
2 1 1 2 chat:gpt-5 baggage.tenant=acme`, map[string]string{"tenant": "acme"}},
		"a span comes before its resource": {`
1 - 0 9 ia:helper plan=gold res.plan=basic`, map[string]string{"plan": "gold"}},
		"an attribute may be the resource's": {`
1 - 0 9 ia:helper res.plan=basic`, map[string]string{"plan": "basic"}},
		"a resource's never is the span's": {`
1 - 0 9 ia:helper service.version=9 res.service.version="1.2"
2 1 1 2 chat:gpt-5 res.service.version="7"`, map[string]string{"version": "1.2"}},
		"without a resource there is none": {`
1 - 0 9 ia:helper service.version=9`, nil},
		"the root's resource may not have it": {`
1 - 0 9 ia:helper
2 1 1 2 chat:gpt-5 res.service.version="7"`, map[string]string{"version": "7"}},
	} {
		t.Run(name, func(t *testing.T) {
			spans := parseHostile("== case\n" + c.spans)[0].td
			judged, _ := Derive(parseFiles(t, file), func(e *Engine) { e.Consume(spans, 0) })
			if len(judged) != 1 {
				t.Fatalf("%d runs", len(judged))
			}
			want := map[string]string{"tenant": "", "plan": "", "version": ""} // every run is counted under some value
			maps.Copy(want, c.want)
			if got := judged[0].Summary().Dimensions; !maps.Equal(got, want) {
				t.Errorf("%v, want %v", got, want)
			}
		})
	}
}
