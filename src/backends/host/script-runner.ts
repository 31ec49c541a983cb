/** Runs scripts on one host, which it prepares when it is new and restores when it was replaced. */

import { decodeBase64Bytes } from '#agent/core/base64.ts'
import { BackendError } from '#agent/core/backend.ts'
import type { HostOptions, ScriptResult } from './host-port.ts'
import { unpreparedCode, requirePrepared, prepare } from './scripts.ts'

const defaultTimeoutMs = 60_000

const lostNote = '[The host was replaced: files, background jobs and installed programs are lost.]'
const restoredNote =
  '[The host was replaced. The workspace is as it was last saved; background jobs and installed programs are lost.]'

export type ScriptRunner = ReturnType<typeof openScriptRunner>

export function openScriptRunner({ port, root, memory, state = '/tmp/.talaria' }: HostOptions) {
  /** A message for the output of the next command. */
  let note: string | undefined
  let preparing: Promise<void> | undefined

  async function run(script: string, timeoutMs = defaultTimeoutMs): Promise<ScriptResult> {
    const guarded = requirePrepared(state, script)
    const result = await port.run(guarded, timeoutMs)
    if (result.code !== unpreparedCode) return requireCode(result)
    await (preparing ??= prepareHost().finally(() => (preparing = undefined)))
    return requireCode(await port.run(guarded, timeoutMs))
  }

  async function prepareHost(): Promise<void> {
    const { begun } = memory.read()
    const restored = begun && port.restore ? await port.restore() : false
    const { code } = await port.run(prepare(state, root), defaultTimeoutMs)
    if (code !== 0) throw new BackendError('unavailable', 'The host could not be prepared.', 'Try again later.')
    if (begun) note = restored ? restoredNote : lostNote
    memory.write({ ...memory.read(), begun: true })
  }

  /** Runs a script and decodes the base64 that it prints. */
  async function readBytes(script: string): Promise<Uint8Array> {
    const { output } = await run(script)
    return decodeBase64Bytes(output.trim())
  }

  return {
    run,
    readBytes,
    state,
    takeNote(): string | undefined {
      const result = note
      note = undefined
      return result
    },
  }
}

function requireCode(result: ScriptResult): ScriptResult {
  if (result.code !== null) return result
  throw new BackendError(
    'unavailable',
    'The host did not report how the script ended: its effect is unknown.',
    'Look at the state before you do it again.',
  )
}
