/** Exports the compiler as a worker, so that untrusted text is parsed without secrets, network or session. */

import { WorkerEntrypoint } from 'cloudflare:workers'
import type { Compiled, Language } from '../protocol.ts'
import { compile } from './compile.ts'

export class Compiler extends WorkerEntrypoint {
  compile(source: string, language?: Language): Compiled {
    return compile(source, language)
  }
}
