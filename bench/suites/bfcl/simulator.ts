/** Talks to the simulators of BFCL in a process of Python. */

import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

export type SimulatedCall = { readonly name: string; readonly input: Readonly<Record<string, unknown>> }

/** `folder` contains the package `bfcl_eval`. Requests are answered in their order. */
export function startSimulator(folder: string) {
  const program = fileURLToPath(new URL('simulate.py', import.meta.url))
  const child = spawn('python3', [program, folder], { stdio: ['pipe', 'pipe', 'inherit'] })
  const waiting: { readonly resolve: (value: unknown) => void; readonly reject: (error: Error) => void }[] = []
  createInterface({ input: child.stdout }).on('line', (line) => {
    const reply = JSON.parse(line) as { readonly value?: unknown; readonly error?: string }
    const first = waiting.shift()
    if (reply.error === undefined) first?.resolve(reply.value)
    else first?.reject(new Error(reply.error))
  })
  const ask = <T>(request: object): Promise<T> =>
    new Promise((resolve, reject) => {
      waiting.push({ resolve: resolve as (value: unknown) => void, reject })
      child.stdin.write(`${JSON.stringify(request)}\n`)
    })
  return {
    open: (lane: string, classes: readonly string[], config: object, isLong: boolean) =>
      ask<true>({ do: 'open', lane, classes, config, isLong }),
    call: (lane: string, { name, input }: SimulatedCall) => ask<string>({ do: 'call', lane, name, input }),
    parse: (lane: string, text: string) => ask<SimulatedCall>({ do: 'parse', lane, text }),
    state: async (lane: string) => JSON.stringify(await ask<unknown>({ do: 'state', lane })),
    close: () => void child.kill(),
  }
}
