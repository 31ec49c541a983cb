/** `node bench/slack-server.ts PORT`: answers every call of Slack's Web API with success and counts the posted messages. */

import { createServer } from 'node:http'

let posted = 0

createServer((request, response) => {
  request.resume()
  request.on('end', () => {
    if (request.url?.endsWith('/chat.postMessage')) posted++
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ ok: true, ts: `${posted}.1`, user_id: 'UBOT', user: 'talaria', posted }))
  })
}).listen(Number(process.argv[2]), '127.0.0.1')
