/** Serves recorded answers on a port of this computer, and keeps what was asked. */

import { createServer } from 'node:http'

export async function startVendorServer() {
  const asked = []
  const answers = {}
  const server = createServer(async (request, response) => {
    const chunks = []
    for await (const chunk of request) chunks.push(chunk)
    const line = `${request.method} ${request.url}`
    asked.push({ line, authorization: request.headers.authorization ?? '', body: Buffer.concat(chunks).toString() })
    const [status, text] = Object.entries(answers).find(([start]) => line.startsWith(start))?.[1] ?? [404, '{}']
    response.writeHead(status, { 'content-type': 'application/json' }).end(text)
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${server.address().port}`, asked, answers, close: () => void server.close() }
}
