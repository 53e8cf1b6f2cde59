package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
)

// answers is what the engine knows: answers of a real engine about its models, byte for byte, and how to answer inferences.
type answers struct {
	// Method, then the name of the model ("" for the server): the whole answer.
	Calls map[string]map[string][]byte `json:"calls"`
	// By name.
	Models map[string]*model `json:"models"`
}

// raw carries messages as bytes: nothing is decoded but what an answer depends on.
type raw struct{}

func (raw) Name() string { return "proto" }
func (raw) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil
}
func (raw) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

func serve(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("engine takes ANSWERS.json")
	}
	text, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	var known answers
	if err := json.Unmarshal(text, &known); err != nil {
		return err
	}
	encoding.RegisterCodecV2(raw{})
	server := grpc.NewServer(grpc.ForceServerCodecV2(raw{}), grpc.UnknownServiceHandler(known.handle))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		<-stop
		server.Stop()
	}()
	return server.Serve(listener)
}

const service = "/inference.GRPCInferenceService/"

func (known *answers) handle(_ any, stream grpc.ServerStream) error {
	path, _ := grpc.MethodFromServerStream(stream)
	if path == service+"ModelStreamInfer" {
		return known.stream(stream)
	}
	var message []byte
	if err := stream.RecvMsg(&message); err != nil {
		return err
	}
	if path == service+"ModelInfer" {
		answer, waitFor, err := known.infer(message)
		if err != nil {
			return err
		}
		sleep(stream.Context(), waitFor)
		return stream.SendMsg(&answer)
	}
	if len(path) > len(service) {
		for name, answer := range known.Calls[path[len(service):]] {
			if name == "" || name == modelOf(message) {
				return stream.SendMsg(&answer)
			}
		}
	}
	return status.Errorf(codes.Unimplemented, "%s is not known", path)
}

type due struct {
	answer []byte
	at     time.Time
}

// stream answers in the order of the requests, as Triton does; each is ready a service time after its arrival.
func (known *answers) stream(stream grpc.ServerStream) error {
	waiting := make(chan due, 4096)
	var sent sync.WaitGroup
	sent.Add(1)
	var sendError error
	go func() {
		defer sent.Done()
		for next := range waiting {
			sleep(stream.Context(), time.Until(next.at))
			if sendError == nil {
				sendError = stream.SendMsg(&next.answer)
			}
		}
	}()
	err := known.take(stream, waiting)
	close(waiting)
	sent.Wait()
	if err == io.EOF {
		return sendError
	}
	return err
}

func (known *answers) take(stream grpc.ServerStream, waiting chan<- due) error {
	for {
		var message []byte
		if err := stream.RecvMsg(&message); err != nil {
			return err
		}
		arrived := time.Now()
		answer, waitFor, err := known.infer(message)
		if err != nil {
			return err
		}
		waiting <- due{inStream(answer), arrived.Add(waitFor)}
	}
}

func sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
