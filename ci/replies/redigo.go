// What redigo makes of CF.INSERT and CF.INSERTNX of a full key. Argument: port.
package main

import (
	"fmt"
	"log"
	"os"

	"github.com/gomodule/redigo/redis"
)

var version string // set by the linker, because the library does not have its own

func main() {
	client, err := redis.Dial("tcp", "127.0.0.1:"+os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	fmt.Println("Go: redigo", version)
	for _, arguments := range []redis.Args{
		{"CF.INSERT", "insert", "ITEMS", "kept", "new"},
		{"CF.INSERTNX", "insertnx", "ITEMS", "kept", "kept", "new"},
	} {
		added, err := redis.Ints(client.Do(arguments[0].(string), arguments[1:]...))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(added)
	}
}
