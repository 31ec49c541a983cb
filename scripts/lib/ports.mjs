// Checks that the port is free: another server on it would look like a successful start.
import { createServer } from 'node:net'

const listens = (port, host) =>
  new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', (error) =>
      resolve(error.code === 'EADDRINUSE' || error.code === 'EACCES' ? error.code : undefined),
    )
    probe.listen({ port, host, exclusive: true }, () => probe.close(() => resolve(undefined)))
  })

export async function requirePort(port, host) {
  for (const address of host === 'localhost' ? ['127.0.0.1', '::1'] : [host]) {
    const taken = await listens(port, address)
    if (taken === 'EACCES')
      throw new Error(`Port ${port} needs more rights. Choose one above 1023: npm start -- --port 8787`)
    if (taken)
      throw new Error(
        `Port ${port} is in use. Stop what listens there or choose another: npm start -- --port ${port + 1}`,
      )
  }
}
