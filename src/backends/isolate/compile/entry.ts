/** Exports the compiler as a worker, so that untrusted text is parsed without secrets, network or session. */

import { WorkerEntrypoint } from 'cloudflare:workers'
import type { Compiled, CompiledLanguage } from '../protocol.ts'
import { compile } from './compile.ts'
import { compilePlugin } from './compile-plugin.ts'

export class Compiler extends WorkerEntrypoint {
  compile(source: string, language?: CompiledLanguage): Compiled {
    return compile(source, language)
  }

  compilePlugin(source: string): Compiled {
    return compilePlugin(source)
  }
}
