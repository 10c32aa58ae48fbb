// Reads a document with a client that is generated from inkgate's OpenAPI document.
//
//	go run . FILE [SERVER]
package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"log"
	"os"

	"example.com/acme/inkgate"
)

func main() {
	server := "http://127.0.0.1:7860"
	if len(os.Args) > 2 {
		server = os.Args[2]
	}
	file, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	settings := inkgate.NewConfiguration()
	settings.Servers = inkgate.ServerConfigurations{{URL: server}}
	if key := os.Getenv("INKGATE_API_KEY"); key != "" {
		settings.AddDefaultHeader("Authorization", "Bearer "+key)
	}
	request := inkgate.NewOcrRequest(base64.StdEncoding.EncodeToString(file))
	read := inkgate.NewAPIClient(settings).ReadAPI.ReadOcr(context.Background())
	answer, response, err := read.ReadOcrRequest(inkgate.ReadOcrRequest{OcrRequest: request}).Execute()
	if err != nil {
		// The body is a problem document. 429 and 503 say in Retry-After when to return.
		log.Fatalf("%v: %v", err, response)
	}
	for _, page := range answer.OcrResponse.Pages {
		fmt.Printf("page %d, %d x %d pixels\n", page.Index+1, page.Width, page.Height)
	}
	fmt.Println(answer.OcrResponse.GetText())
}
