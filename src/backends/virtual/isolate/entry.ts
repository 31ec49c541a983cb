/** The shell as a worker of its own: no network, no secrets, nothing but the session's files. */

import { WorkerEntrypoint } from 'cloudflare:workers'
import type { ShellAnswer, ShellHost, ShellRequest } from '../protocol.ts'
import { runShell } from './run.ts'

export class Shell extends WorkerEntrypoint {
  async run(host: ShellHost, request: ShellRequest): Promise<ShellAnswer> {
    return runShell(host, request)
  }
}
