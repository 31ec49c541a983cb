/** Talks to a program of Python: one JSON request per line, one answer per line, in their order. `PYTHON` names another Python. */

import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

type Answer = { readonly value?: unknown; readonly error?: string }

export function startPython(program: string, ...args: readonly string[]) {
  const child = spawn(process.env['PYTHON'] ?? 'python3', [program, ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, PYTHONPATH: import.meta.dirname, PYTHONDONTWRITEBYTECODE: '1' },
  })
  const waiting: { readonly resolve: (value: unknown) => void; readonly reject: (error: Error) => void }[] = []
  createInterface({ input: child.stdout }).on('line', (line) => {
    const { value, error } = JSON.parse(line) as Answer
    const first = waiting.shift()
    if (error === undefined) first?.resolve(value)
    else first?.reject(new Error(error))
  })
  child.on('exit', (code) => {
    for (const { reject } of waiting.splice(0)) reject(new Error(`${program} has ended with ${code}.`))
  })
  return {
    ask: <T>(request: object): Promise<T> =>
      new Promise((resolve, reject) => {
        waiting.push({ resolve: resolve as (value: unknown) => void, reject })
        child.stdin.write(`${JSON.stringify(request)}\n`)
      }),
    close: () => void child.kill(),
  }
}
