/** Exports the line matcher as a worker without network, secrets or session. */

import { WorkerEntrypoint } from 'cloudflare:workers'
import type { MatchAnswer } from '../protocol.ts'
import { matchLines } from './platform-match.ts'

export class Matcher extends WorkerEntrypoint {
  match(pattern: string, texts: readonly string[], timeoutMs: number): Promise<MatchAnswer> {
    return matchLines(pattern, texts, timeoutMs)
  }
}
