# The program that the conformance suite starts for each scenario: has the client of the test process play it, because starting
# that client anew for each one would take as long as all scenarios, and Node alone half as long. The arguments are the port of
# the test process and the address of the server.
LC_ALL=C
body="$MCP_CONFORMANCE_SCENARIO"$'\n'"$2"$'\n'"${MCP_CONFORMANCE_CONTEXT:-{\}}"
exec 3<> "/dev/tcp/127.0.0.1/$1"
printf 'POST / HTTP/1.0\r\nContent-Length: %d\r\n\r\n%s' "${#body}" "$body" >&3
read -r _ status _ <&3
[ "$status" = 200 ] || { cat <&3 >&2; exit 1; }
