// Answers DNS over HTTPS (the JSON form) on this host with what the system resolves, so that the local server can refuse
// names that lead to private addresses. workerd would connect to exactly these addresses.
import { lookup } from 'node:dns/promises'
import { createServer } from 'node:http'
import { isIPv6 } from 'node:net'

/** Starts the resolver on a free port of the loopback interface and returns its address. */
export async function startResolver() {
  const server = createServer(async ({ url }, response) => {
    const query = new URL(url, 'http://localhost').searchParams
    const family = query.get('type') === 'AAAA' ? 6 : 4
    // A name that does not resolve has no addresses: the request to it fails by itself.
    const found = await lookup(query.get('name') ?? '', { all: true, family }).catch(() => [])
    const records = found.map(({ address }) => ({ type: isIPv6(address) ? 28 : 1, data: address }))
    response.setHeader('content-type', 'application/dns-json')
    response.end(JSON.stringify({ Status: 0, Answer: records }))
  })
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening))
  server.unref()
  return `http://127.0.0.1:${server.address().port}/dns-query`
}
