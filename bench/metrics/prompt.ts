/** P13: measures the fixed bytes of a request, and the share of a request that the next one repeats. */

import { json, sendMessage, type Target } from '../client.ts'
import { atLeast, atMost, times, type Metric } from '../metric.ts'
import type { Entry } from '../../test/support/model-server/server.ts'

type Body = { readonly messages: readonly unknown[]; readonly tools?: readonly unknown[] }

/** In the order in which providers cache: tools, then messages, open at the end. */
const cachedPart = (entry: Entry): string => {
  const { tools, messages } = entry.body as Body
  return JSON.stringify(tools ?? []) + JSON.stringify(messages).slice(0, -1)
}

const commonPrefix = (a: string, b: string): number => {
  let at = 0
  while (at < a.length && a[at] === b[at]) at++
  return at
}

/** Without those of the browser, of media, of jobs and of other sessions. */
const core = ['file', 'terminal', 'web', 'code_execution', 'todo', 'memory', 'clarify', 'session_search', 'skills']

const offer = (target: Target, enabled: readonly string[] | null) =>
  json(target, 'PATCH', '/api/settings', { toolsets: { enabled } })

export const promptSize: Metric = {
  id: 'P13',
  what: 'bytes of the prompt, reuse of its prefix',
  run: async (stage) => {
    const { target } = await stage.ours()
    const prompt = 'Hello'
    const sizeOf = (entry: Entry | undefined) => ({
      kib: ((entry?.bytes ?? NaN) - prompt.length) / 1024,
      tools: (entry?.body as Body | undefined)?.tools?.length ?? 0,
    })
    const firstRequest = async (): Promise<Entry | undefined> => {
      await stage.model.reset({ bodies: true })
      await sendMessage(target, prompt)
      return (await stage.model.journal()).find((entry) => entry.tools)
    }
    await offer(target, core)
    const small = sizeOf(await firstRequest())
    await offer(target, null)
    const whole = sizeOf(await firstRequest())
    await stage.model.reset({ bodies: true })
    const { session } = await sendMessage(target, prompt)
    await times(2, () => sendMessage(target, '[[tools 2 todo {}]]', session))
    const entries = (await stage.model.journal()).filter((entry) => entry.tools)
    await stage.model.reset()
    if (entries.length < 7) throw new Error(`only ${entries.length} requests that offer tools, not 7`)
    const reuse = entries.slice(1).map((entry, n) => {
      const before = cachedPart(entries[n] ?? entry)
      return commonPrefix(before, cachedPart(entry)) / before.length
    })
    return [
      {
        metric: 'P13',
        what: 'fixed bytes of the prompt, core tools',
        unit: 'KB',
        goal: atMost(16),
        samples: [small.kib],
        note: `${small.tools} tools`,
      },
      {
        metric: 'P13',
        what: 'the same with all that a new deployment offers',
        unit: 'KB',
        goal: atMost(32),
        samples: [whole.kib],
        note: `${whole.tools} tools`,
      },
      {
        metric: 'P13',
        what: 'prefix reused by the next request (worst of a session)',
        unit: '',
        goal: atLeast(1),
        samples: [Math.min(...reuse)],
        note: `${entries.length} requests`,
      },
    ]
  },
}
