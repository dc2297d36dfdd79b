package convention

import (
	"os"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

func TestVectorStores(t *testing.T) {
	const python = "opentelemetry.instrumentation."
	chroma := func(operation string) a { return a{"db.system": "chroma", "db.operation": operation} }
	found := func(ids ...string) (events []madeEvent) {
		for _, id := range ids {
			events = append(events, madeEvent{name: "db.query.result", attributes: a{"db.query.result.id": id}})
		}
		return events
	}
	asked := []madeEvent{{name: "db.query.embeddings", attributes: a{"db.query.embeddings.vector": "[1]"}}}
	for _, c := range []struct {
		why       string
		made      made
		kind      Kind
		documents int64
	}{
		{"Chroma", made{scope: python + "chromadb", name: "chroma.query", attributes: chroma("query"), events: found("1", "2")}, Retrieval, 2},
		{"whose scope got lost", made{name: "chroma.query", attributes: chroma("query"), events: found("1", "2")}, Retrieval, 2},
		{"asked and found nothing", made{scope: python + "chromadb", name: "chroma.query", attributes: chroma("query"), events: asked}, Retrieval, 0},
		// Without any event it may be that somebody took the events away.
		{"not said", made{scope: python + "chromadb", name: "chroma.query", attributes: chroma("query")}, Retrieval, Unknown},
		// The question is on a span of its own in Python, and the answer on its parent.
		{"the question alone", made{scope: python + "chromadb", name: "chroma.query.segment._query", attributes: chroma("_query"), events: asked},
			Step, Unknown},
		{"in JavaScript one event a query", made{scope: "@traceloop/instrumentation-chromadb", name: "chromadb.query",
			attributes: a{"db.system": "ChromaDB"}, events: found(`["1","2","3"]`)}, Retrieval, 3},
		{"and nothing found", made{scope: "@traceloop/instrumentation-chromadb", name: "chromadb.query",
			attributes: a{"db.system": "ChromaDB"}, events: found(`[]`)}, Retrieval, 0},
		{"documents put in", made{scope: python + "chromadb", name: "chroma.add", attributes: chroma("add")}, Other, Unknown},
		{"Pinecone", made{scope: python + "pinecone", name: "pinecone.query", attributes: a{"db.system": "Pinecone"}, events: append(found("1"), asked...)},
			Retrieval, 1},
		{"in JavaScript", made{scope: "@traceloop/instrumentation-pinecone", name: "pinecone.query",
			attributes: a{"db.system": "Pinecone", "db.query.result.matches_length": 3}}, Retrieval, 3},
		{"and nothing found", made{scope: "@traceloop/instrumentation-pinecone", name: "pinecone.query",
			attributes: a{"db.system": "Pinecone", "db.query.result.matches_length": 0}}, Retrieval, 0},
		{"its upsert", made{scope: "@traceloop/instrumentation-pinecone", name: "pinecone.upsert", attributes: a{"db.system": "Pinecone"}}, Other, Unknown},
		{"Qdrant", made{scope: python + "qdrant", name: "qdrant.query_points", attributes: a{"db.system": "Qdrant"}}, Retrieval, Unknown},
		{"Qdrant's search", made{scope: python + "qdrant", name: "qdrant.search_batch", attributes: a{"db.system": "Qdrant"}}, Retrieval, Unknown},
		{"and deletion", made{scope: python + "qdrant", name: "qdrant.delete_vectors", attributes: a{"db.system": "Qdrant"}}, Other, Unknown},
		{"Weaviate", made{scope: python + "weaviate", name: "db.weaviate.collections.query.get", attributes: a{"db.system": "weaviate", "db.operation": "get"}},
			Retrieval, Unknown},
		{"its older client", made{scope: python + "weaviate", name: "db.weaviate.gql.get.do", attributes: a{"db.system": "weaviate", "db.operation": "do"}},
			Retrieval, Unknown},
		{"its schema", made{scope: python + "weaviate", name: "db.weaviate.schema.get", attributes: a{"db.system": "weaviate", "db.operation": "get"}},
			Other, Unknown},
		{"Milvus", made{scope: python + "milvus", name: "milvus.search", attributes: a{"db.system": "milvus", "db.operation": "search",
			"db.milvus.search.result_count": 0}}, Retrieval, 0},
		{"its events", made{scope: python + "milvus", name: "milvus.search", attributes: a{"db.system": "milvus", "db.operation": "search"},
			events: []madeEvent{{name: "db.search.result"}, {name: "db.search.result"}}}, Retrieval, 2},
		{"LanceDB", made{scope: python + "lancedb", name: "lancedb.search", attributes: a{"db.system": "lancedb", "db.operation": "search"}}, Retrieval, Unknown},
		{"Marqo", made{scope: python + "marqo", name: "marqo.search", attributes: a{"db.system": "marqo", "db.operation": "search"},
			events: []madeEvent{{name: "db.query.result", attributes: a{"_id": "1"}}}}, Retrieval, 1},
		{"the stable names", made{name: "search docs", attributes: a{"db.system.name": "qdrant", "db.operation.name": "search"}}, Retrieval, Unknown},
		{"another database", made{name: "query", kind: ptrace.SpanKindClient, attributes: a{"db.system": "postgresql", "db.operation": "query"}}, Other, Unknown},
	} {
		f := c.made.facts(t)
		if f.Kind != c.kind || f.Documents != c.documents || f.Kind == Retrieval && (f.Convention != "traceloop" || f.ToolName != c.made.name) {
			t.Errorf("%s: kind %v, documents %d, %s %s", c.why, f.Kind, f.Documents, f.Convention, f.ToolName)
		}
	}
	f := made{scope: python + "qdrant", name: "qdrant.search", status: ptrace.StatusCodeError, message: "connection refused"}.facts(t)
	if !f.Failed || f.Class != Transient {
		t.Errorf("a look-up that failed: %v %v", f.Failed, f.Class)
	}
}

func TestVectorStoreDoesNotAllocate(t *testing.T) {
	if os.Getenv("GORACE") != "" {
		t.Skip("the race detector allocates")
	}
	scope := pcommon.NewInstrumentationScope()
	s := made{name: "chromadb.query", attributes: a{"db.system": "ChromaDB"},
		events: []madeEvent{{name: "db.query.result", attributes: a{"db.query.result.id": `["1","2"]`}}}}.span(t)
	x, f := New(), Facts{}
	x.Span(&f, scope, s)
	if n := testing.AllocsPerRun(100, func() { x.Span(&f, scope, s) }); n > 0 || f.Documents != 2 {
		t.Errorf("%v allocations, %d documents", n, f.Documents)
	}
}
