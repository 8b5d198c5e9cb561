module runnel/bench/peers/go

go 1.19
