// Preloaded into the command line of wrangler: tells the parent process where the runtime itself listens, after every
// reload, and that it is lost. The address that wrangler prints is that of its proxy, which hides from the worker that a
// client has gone away.
import { createRequire } from 'node:module'

// Runs when the main script of wrangler is loaded, before it has read its arguments.
process.nextTick(() => {
  const wrangler = createRequire(import.meta.url)('wrangler')
  const DevEnv = wrangler.unstable_DevEnv
  wrangler.unstable_DevEnv = class extends DevEnv {
    constructor(...factories) {
      super(...factories)
      this.on('reloadComplete', ({ proxyData: { userWorkerUrl } }) =>
        process.send?.({ event: 'RUNTIME_READY', host: userWorkerUrl.hostname, port: Number(userWorkerUrl.port) }),
      )
    }
  }
})

// A runtime that crashes while wrangler restarts it is not started again. The log alone tells.
const { log } = console
console.log = (...values) => {
  log(...values)
  if (String(values[0]).includes('failed to restart after an unexpected crash'))
    process.send?.({ event: 'RUNTIME_LOST' })
}
