package main

import (
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
)

type model struct {
	Version string `json:"version"`
	// Its one output: name, datatype, number of elements in a row, and the bytes of every row.
	Output   string `json:"output"`
	Datatype string `json:"datatype"`
	Width    uint64 `json:"width"`
	Row      []byte `json:"row"`
	// Of each request, however many are under way.
	ServiceMs float64 `json:"serviceMs"`
}

// Field numbers of proto/grpc_service.proto.
const (
	requestModel, requestID, requestInputs, requestOutputs, requestRaw = 1, 3, 5, 6, 7
	inputName, inputDatatype, inputShape                               = 1, 2, 3
	responseModel, responseVersion, responseID                         = 1, 2, 3
	responseOutputs, responseRaw                                       = 5, 6
	outputName, outputDatatype, outputShape                            = 1, 2, 3
	streamResponse                                                     = 2
)

// infer gives the answer to a ModelInferRequest, and how long it takes.
func (known *answers) infer(message []byte) ([]byte, time.Duration, error) {
	var name, id string
	rows := uint64(0)
	for len(message) > 0 {
		field, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return nil, 0, malformed()
		}
		message = message[n:]
		if kind != protowire.BytesType {
			n = protowire.ConsumeFieldValue(field, kind, message)
			if n < 0 {
				return nil, 0, malformed()
			}
			message = message[n:]
			continue
		}
		value, n := protowire.ConsumeBytes(message)
		if n < 0 {
			return nil, 0, malformed()
		}
		message = message[n:]
		switch field {
		case requestModel:
			name = string(value)
		case requestID:
			id = string(value)
		case requestInputs:
			rows = firstDimension(value)
		}
	}
	m := known.Models[name]
	if m == nil || rows == 0 {
		return nil, 0, status.Errorf(codes.InvalidArgument, "no such model, or no rows")
	}
	return m.answer(name, id, rows), time.Duration(m.ServiceMs * float64(time.Millisecond)), nil
}

func (m *model) answer(name, id string, rows uint64) []byte {
	shape := protowire.AppendVarint(protowire.AppendVarint(nil, rows), m.Width)
	var output []byte
	output = appendBytes(output, outputName, []byte(m.Output))
	output = appendBytes(output, outputDatatype, []byte(m.Datatype))
	output = appendBytes(output, outputShape, shape)
	size := len(m.Row) * int(rows)
	answer := make([]byte, 0, size+len(output)+len(name)+len(id)+64)
	answer = appendBytes(answer, responseModel, []byte(name))
	answer = appendBytes(answer, responseVersion, []byte(m.Version))
	answer = appendBytes(answer, responseID, []byte(id))
	answer = appendBytes(answer, responseOutputs, output)
	answer = protowire.AppendTag(answer, responseRaw, protowire.BytesType)
	answer = protowire.AppendVarint(answer, uint64(size))
	for range rows {
		answer = append(answer, m.Row...)
	}
	return answer
}

func inStream(answer []byte) []byte {
	return appendBytes(make([]byte, 0, len(answer)+8), streamResponse, answer)
}

// modelOf reads the first string of a ModelReady, ModelMetadata or ModelConfig request.
func modelOf(message []byte) string {
	_, kind, n := protowire.ConsumeTag(message)
	if n < 0 || kind != protowire.BytesType {
		return ""
	}
	name, _ := protowire.ConsumeString(message[n:])
	return name
}

func firstDimension(input []byte) uint64 {
	for len(input) > 0 {
		field, kind, n := protowire.ConsumeTag(input)
		if n < 0 {
			return 0
		}
		input = input[n:]
		if field == inputShape {
			if kind == protowire.BytesType {
				packed, m := protowire.ConsumeBytes(input)
				if m < 0 {
					return 0
				}
				input = packed
			}
			rows, _ := protowire.ConsumeVarint(input)
			return rows
		}
		n = protowire.ConsumeFieldValue(field, kind, input)
		if n < 0 {
			return 0
		}
		input = input[n:]
	}
	return 0
}

func appendBytes(to []byte, field protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(to, field, protowire.BytesType), value)
}

func malformed() error { return status.Errorf(codes.InvalidArgument, "not a ModelInferRequest") }
