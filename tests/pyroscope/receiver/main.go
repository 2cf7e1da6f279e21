// receiver stands in for a Pyroscope server in tests. It is no Pyroscope: it keeps everything in memory and
// answers only what the tests ask. What it takes, refuses and answers follows a real server (v2.2) with its
// default limits, through the API module that the Pyroscope project publishes; the same assertions run against
// both, so where it differs they say so.
//
// Once it listens it prints "listening on http://HOST:PORT" and serves until it is ended.
package main

import (
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"

	"connectrpc.com/connect"
	"github.com/grafana/pyroscope/api/gen/proto/go/push/v1/pushv1connect"
	"github.com/grafana/pyroscope/api/gen/proto/go/querier/v1/querierv1connect"
)

// gate is what stands before the API, as a proxy would: credentials, a tenant, and refusals on purpose.
type gate struct {
	user, password, token, tenant string
	refuse                        int
	words                         string
	redirect                      string
	next                          http.Handler
}

func (g gate) admits(r *http.Request) bool {
	if g.token != "" && r.Header.Get("Authorization") != "Bearer "+g.token {
		return false
	}
	user, password, _ := r.BasicAuth()
	return g.user == "" || user == g.user && password == g.password
}

// connectCodes: the name of an error in a Connect answer, by the status it comes with.
var connectCodes = map[int]string{
	400: "invalid_argument", 401: "unauthenticated", 403: "permission_denied", 404: "not_found", 408: "deadline_exceeded",
	429: "resource_exhausted", 500: "unknown", 501: "unimplemented", 503: "unavailable", 504: "deadline_exceeded",
}

func (g gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	pushing := strings.HasPrefix(r.URL.Path, "/push.v1.PusherService/")
	switch {
	case !g.admits(r):
		http.Error(w, "no or wrong credentials", http.StatusUnauthorized)
	case g.tenant != "" && r.Header.Get("X-Scope-OrgID") != g.tenant && r.URL.Path != "/ready":
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"code":"unauthenticated","message":"no org id"}`)
	case pushing && g.redirect != "":
		http.Redirect(w, r, g.redirect, http.StatusTemporaryRedirect)
	case pushing && g.refuse != 0:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(g.refuse)
		fmt.Fprintf(w, `{"code":%q,"message":%q}`, connectCodes[g.refuse], g.words)
	default:
		g.next.ServeHTTP(w, r)
	}
}

func routes(profiles *store) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ready", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ready") })
	mux.Handle(pushv1connect.NewPusherServiceHandler(&pusher{store: profiles, budget: newBudget()}, connect.WithReadMaxBytes(64<<20)))
	mux.Handle(querierv1connect.NewQuerierServiceHandler(&querier{store: profiles}))
	return mux
}

func main() {
	g := gate{}
	listen := flag.String("listen", "127.0.0.1:0", "where to listen; port 0 is any free one")
	flag.StringVar(&g.tenant, "tenant", "", "the only tenant that is served; without it any is, as with multitenancy off")
	flag.StringVar(&g.user, "user", "", "user for basic authentication")
	flag.StringVar(&g.password, "password", "", "and its password")
	flag.StringVar(&g.token, "token", "", "bearer token")
	flag.IntVar(&g.refuse, "refuse", 0, "answers every push with this HTTP `STATUS`")
	flag.StringVar(&g.words, "words", "refused on purpose", "and with this message")
	flag.StringVar(&g.redirect, "redirect", "", "answers every push with a redirect to this `URL`")
	flag.Parse()
	g.next = routes(&store{})
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		fmt.Fprintln(os.Stderr, "receiver:", err)
		os.Exit(1)
	}
	fmt.Printf("listening on http://%s\n", listener.Addr())
	if err := http.Serve(listener, g); err != nil {
		fmt.Fprintln(os.Stderr, "receiver:", err)
		os.Exit(1)
	}
}
