/** Runs the model server as a process: `node test/support/model-server/main.ts [--port N]`. */

import process from 'node:process'
import { startModelServer } from './server.ts'

const at = process.argv.indexOf('--port')
const server = await startModelServer({ port: at < 0 ? 0 : Number(process.argv[at + 1]) })
process.stdout.write(`${JSON.stringify({ url: server.url, port: server.port })}\n`)
const stop = (): void => {
  void server.close().then(() => process.exit(0))
}
process.on('SIGTERM', stop)
process.on('SIGINT', stop)
