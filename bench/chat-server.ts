/** `node bench/chat-server.ts PORT`: answers every call of a platform's API with success. */

import { createServer } from 'node:http'
import { acceptedAnswer } from './chat-platforms.ts'

let calls = 0

createServer((request, response) => {
  request.resume()
  request.on('end', () => {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(acceptedAnswer(++calls)))
  })
}).listen(Number(process.argv[2]), '127.0.0.1')
