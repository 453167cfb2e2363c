#!/usr/bin/env bash
# Asks packages of Python what the oracle asks those of Rust: a minute.
#
#   benches/oracle/python.sh >> docs/bench/peers.md
program=$(dirname "$0")/python.py
. "$(dirname "$0")/../../findings/lib/python.sh"
python_with abloom==1.1.0 cjrh-scalable-cuckoo-filter==0.3.2 cuckoofilter==0.0.0.2 cuckoopy==0.1.1 pyprobables==0.7.0 \
    rbloom==1.5.4 scalable-cuckoo-filter==1.1 <"$program"
