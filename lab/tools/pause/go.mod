module railwright.dev/lab/tools/pause

go 1.26.0
