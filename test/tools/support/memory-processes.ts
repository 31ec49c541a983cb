/** Implements background processes whose output and state a test sets. */

import type { Processes, ProcessStart, ProcessState, ProcessView } from '#agent/core/process.ts'

export type Scripted = { command?: string; pty?: true; output?: string; state?: ProcessState }

export type MemoryProcesses = Processes & {
  readonly started: ProcessStart[]
  readonly sent: { readonly id: string; readonly text: string; readonly close: boolean }[]
  readonly toldOf: string[]
  /** Replaces a process. */
  readonly set: (id: string, change: Scripted) => void
}

export function memoryProcesses(initial: Readonly<Record<string, Scripted>> = {}): MemoryProcesses {
  const all = new Map<string, ProcessView & { output: string }>()
  const set = (id: string, { command = 'server', pty, output = '', state = { at: 'running' } }: Scripted) =>
    void all.set(id, {
      id,
      command,
      ...(pty && { pty }),
      cwd: '/workspace',
      startedAt: 0,
      state,
      notify: false,
      watching: [],
      output,
    })
  for (const [id, scripted] of Object.entries(initial)) set(id, scripted)
  const get = (id: string) => all.get(id)!
  const [started, sent, toldOf]: [ProcessStart[], MemoryProcesses['sent'], string[]] = [[], [], []]
  return {
    started,
    sent,
    toldOf,
    set,
    async start(request) {
      started.push(request)
      set('proc_new', { command: request.command })
      return get('proc_new')
    },
    list: () => [...all.values()],
    find(id) {
      const matching = [...all.keys()].filter((key) => key.startsWith(id))
      const [one] = matching
      return one && matching.length === 1 ? { process: get(one) } : { candidates: matching }
    },
    refresh: async (id) => get(id),
    wait: async (id) => get(id),
    output: async (id) => get(id).output,
    async write(id, { callId, text, close }) {
      if (sent.some((one) => one.id === `${id} ${callId}`)) return 'unsure'
      sent.push({ id: `${id} ${callId}`, text, close })
      return 'written'
    },
    async kill(id) {
      const { command, output } = get(id)
      set(id, { command, output, state: { at: 'exited', exitCode: 137, endedAt: 5_000, killed: true } })
      return get(id)
    },
    markReported: (id) => void toldOf.push(id),
  }
}
