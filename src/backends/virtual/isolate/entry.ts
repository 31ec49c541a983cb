/** Exports the shell as a worker that can reach only the files of its session. */

import { WorkerEntrypoint } from 'cloudflare:workers'
import type { ShellAnswer, ShellHost, ShellRequest } from '../protocol.ts'
import { runShell } from './run.ts'

export class Shell extends WorkerEntrypoint {
  async run(host: ShellHost, request: ShellRequest): Promise<ShellAnswer> {
    return runShell(host, request)
  }
}
