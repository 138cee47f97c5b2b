// A fair server on the centrifuge library: the same connections and entries as the edge has, each with the library's own
// best batching (ConnectReply.WriteDelay: messages of one client are gathered that long into one frame).
//
//	centrifuge-peer HTTP_PORT FEED_PORT WINDOW_MS
//
// The n-th phone that connects is user n. Entries come ready-made by the feed (TCP, from bench-edge): 4 bytes size of the
// text, 4 bytes count of recipients, their numbers, the text; little-endian. So it is spared Kafka, presence of lists,
// distances and encoding.
package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/centrifugal/centrifuge"
)

var (
	count   atomic.Int64
	lock    sync.RWMutex
	clients []*centrifuge.Client
)

func feed(port string) {
	listener, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		log.Fatal(err)
	}
	connection, err := listener.Accept()
	if err != nil {
		log.Fatal(err)
	}
	reader := bufio.NewReaderSize(connection, 1<<20)
	head := make([]byte, 8)
	for {
		if _, err := io.ReadFull(reader, head); err != nil {
			return
		}
		text := make([]byte, binary.LittleEndian.Uint32(head))
		users := make([]byte, 4*binary.LittleEndian.Uint32(head[4:]))
		if _, err := io.ReadFull(reader, users); err != nil {
			return
		}
		if _, err := io.ReadFull(reader, text); err != nil {
			return
		}
		lock.RLock()
		for at := 0; at < len(users); at += 4 {
			user := binary.LittleEndian.Uint32(users[at:])
			if int(user) < len(clients) && clients[user] != nil {
				_ = clients[user].Send(text)
			}
		}
		lock.RUnlock()
	}
}

func main() {
	if len(os.Args) != 4 {
		log.Fatal("usage: centrifuge-peer HTTP_PORT FEED_PORT WINDOW_MS")
	}
	window, err := strconv.Atoi(os.Args[3])
	if err != nil {
		log.Fatal(err)
	}
	node, err := centrifuge.New(centrifuge.Config{})
	if err != nil {
		log.Fatal(err)
	}
	node.OnConnecting(func(ctx context.Context, event centrifuge.ConnectEvent) (centrifuge.ConnectReply, error) {
		number := count.Add(1) - 1
		return centrifuge.ConnectReply{
			Credentials:        &centrifuge.Credentials{UserID: strconv.FormatInt(number, 10)},
			WriteDelay:         time.Duration(window) * time.Millisecond,
			ReplyWithoutQueue:  window > 0,
			MaxMessagesInFrame: -1,
		}, nil
	})
	node.OnConnect(func(client *centrifuge.Client) {
		number, _ := strconv.Atoi(client.UserID())
		lock.Lock()
		for len(clients) <= number {
			clients = append(clients, nil)
		}
		clients[number] = client
		lock.Unlock()
	})
	if err := node.Run(); err != nil {
		log.Fatal(err)
	}
	go feed(os.Args[2])
	http.Handle("/connection/websocket", centrifuge.NewWebsocketHandler(node, centrifuge.WebsocketConfig{
		CheckOrigin: func(*http.Request) bool { return true },
	}))
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}
