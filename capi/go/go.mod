module github.com/guira-rs/guira/capi/go

go 1.19
