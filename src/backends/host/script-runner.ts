/** Scripts on one machine: prepared when it is new, brought back when it was replaced. */

import { BackendError } from '../../agent/model/backend.ts'
import type { HostOptions, ScriptResult } from './host-port.ts'
import { unpreparedCode, requirePrepared, prepare } from './scripts.ts'

const PATIENCE_MS = 60_000

const LOST = '[The machine was replaced: files, background jobs and installed programs of before are lost.]'
const RESTORED =
  '[The machine was replaced. The workspace is as it was last saved; background jobs and installed programs are lost.]'

export type ScriptRunner = ReturnType<typeof openScriptRunner>

export function openScriptRunner({ port, root, memory, state = '/tmp/.talaria' }: HostOptions) {
  /** What the next command has to say. */
  let note: string | undefined
  let preparing: Promise<void> | undefined

  async function run(script: string, timeoutMs = PATIENCE_MS): Promise<ScriptResult> {
    const whole = requirePrepared(state, script)
    const ran = await port.run(whole, timeoutMs)
    if (ran.code !== unpreparedCode) return known(ran)
    await (preparing ??= begin().finally(() => (preparing = undefined)))
    return known(await port.run(whole, timeoutMs))
  }

  async function begin(): Promise<void> {
    const { begun } = memory.read()
    const restored = begun && port.restore ? await port.restore() : false
    const { code } = await port.run(prepare(state, root), PATIENCE_MS)
    if (code !== 0) throw new BackendError('unavailable', 'The machine could not be prepared.', 'Try again later.')
    if (begun) note = restored ? RESTORED : LOST
    memory.write({ ...memory.read(), begun: true })
  }

  /** Standard output of a script that should have worked, decoded. */
  async function bytes(script: string): Promise<Uint8Array> {
    const { output } = await run(script)
    return decodeBase64(output.trim())
  }

  return {
    run,
    bytes,
    state,
    takeNote(): string | undefined {
      const said = note
      note = undefined
      return said
    },
  }
}

function known(ran: ScriptResult): ScriptResult {
  if (ran.code !== null) return ran
  throw new BackendError(
    'unavailable',
    'The machine did not say how it ended: it is unknown what was done.',
    'Look before doing it again.',
  )
}

export const decodeBase64 = (base64: string): Uint8Array => Uint8Array.from(atob(base64), (char) => char.charCodeAt(0))
