package convention

import (
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Clients of vector stores speak the database convention: a system and an
// operation, and Traceloop's one event a document that was found. A search is a
// look-up of documents; what else a store does is no agent's work.

// storeScopes instrument clients of vector stores.
var storeScopes = []string{
	"opentelemetry.instrumentation.chromadb*", "opentelemetry.instrumentation.pinecone*",
	"opentelemetry.instrumentation.qdrant*", "opentelemetry.instrumentation.weaviate*",
	"opentelemetry.instrumentation.milvus*", "opentelemetry.instrumentation.lancedb*",
	"opentelemetry.instrumentation.marqo*",
	"@traceloop/instrumentation-chromadb", "@traceloop/instrumentation-pinecone", "@traceloop/instrumentation-qdrant",
}

// vectorStore says whether a database system holds nothing but vectors: a
// query of any other one may be of anything.
func vectorStore(system string) bool {
	if len(system) < len("marqo") || len(system) > len("chromadb") {
		return false
	}
	for _, name := range [...]string{"chroma", "chromadb", "pinecone", "qdrant", "weaviate", "milvus", "lancedb", "marqo"} {
		if strings.EqualFold(system, name) {
			return true
		}
	}
	return false
}

// storeKind reads what a client did from its operation and its span's name.
func storeKind(r *reading) Kind {
	call := r.text(slotStoreCall)
	name := r.name
	if i := strings.IndexByte(name, '.'); i >= 0 {
		name = name[i+1:] // behind the store's own
	}
	switch call {
	case "_query": // the part of Chroma's query that has the question, and not what it found
		return Step
	case "", "get", "do", "raw", "graphql_raw_query": // Weaviate's builders end in words that say little
		call = name
	}
	switch {
	case strings.HasSuffix(call, "._query"):
		return Step
	case strings.HasPrefix(call, "delete"), strings.Contains(call, "aggregate"):
		return Other
	case strings.Contains(call, "query"), strings.Contains(call, "search"), strings.HasPrefix(call, "recommend"),
		strings.HasPrefix(call, "discover"), strings.HasPrefix(call, "fetch_object"), strings.HasSuffix(call, "gql.get.do"):
		return Retrieval
	}
	return Other
}

// storeEvent counts documents. The event that has the question shows that the
// emitter tells of results: without any there were none.
func storeEvent(r *reading, e ptrace.SpanEvent) {
	switch e.Name() {
	case "db.query.result", "db.search.result", "db.pinecone.query.result":
		r.documents = max(r.documents, 0)
		id, ok := e.Attributes().Get("db.query.result.id")
		if ok && id.Type() == pcommon.ValueTypeStr && strings.HasPrefix(id.Str(), "[") {
			if n := length(id.Str()); n >= 0 { // in JavaScript, the ids of a whole query
				r.documents += n
				return
			}
		}
		r.documents++
	case "db.query.embeddings":
		r.documents = max(r.documents, 0)
	}
}

// foundDocuments makes a span that tells of documents a look-up, whoever made it.
func (f *Facts) foundDocuments(r *reading) {
	if (f.Kind == Other || f.Kind == Unrecognised) && r.documents != Unknown {
		f.Kind, f.Convention = Retrieval, traceloopVocabulary.name
	}
}
