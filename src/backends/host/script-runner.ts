/** Runs scripts on one host, which it prepares when it is new and restores when it was replaced. */

import { decodeBase64Bytes } from '#agent/core/base64.ts'
import { BackendError } from '#agent/core/backend.ts'
import type { HostMemory, HostOptions, RestoreOutcome, ScriptResult } from './host-port.ts'
import {
  judgeWorkspace,
  madeWord,
  noWorkspaceCode,
  prepare,
  requirePrepared,
  returnedNote,
  stateBeside,
  unpreparedCode,
} from './scripts.ts'

const defaultTimeoutMs = 60_000
/** Attempts of one script: on a host that is new, or whose workspace has just been removed, it has to run again. */
const maxAttempts = 3

/** A command that removes the records looks from outside as a new host does. */
const replaced = '[The host was replaced, or something removed the records of this session there.'
const notes: Readonly<Record<RestoreOutcome, string>> = {
  restored: `${replaced} The workspace is as it was last saved; background jobs and programs of a replaced host are lost.]`,
  older: `${replaced} The last copy of the workspace is damaged: it is as it was saved before that, and later changes are lost, as are background jobs and programs of a replaced host.]`,
  live: '[The host had lost its records of this session. The workspace is newer than its last copy and was left as it is; background jobs may be lost.]',
  lost: `${replaced} Files are lost, as are background jobs and programs of a replaced host.]`,
}
const recreatedNote = (root: string) => `[The workspace ${root} was missing. It was created again and is empty.]`

export type ScriptRunner = ReturnType<typeof openScriptRunner>

export function openScriptRunner({ port, root, memory, state = stateBeside(root), temporary = '/tmp' }: HostOptions) {
  let preparing: Promise<void> | undefined

  async function run(script: string, timeoutMs = defaultTimeoutMs): Promise<ScriptResult> {
    const guarded = requirePrepared({ state, root, temporary }, script)
    for (let attempt = 1; attempt <= maxAttempts; attempt++) {
      const result = await port.run(guarded, timeoutMs)
      const { code, note } = result
      if (note !== undefined) addNote(memory, note)
      if (code !== unpreparedCode && code !== noWorkspaceCode) return requireCode(result)
      const repair = code === unpreparedCode ? prepareHost : recreateWorkspace
      await (preparing ??= repair().finally(() => (preparing = undefined)))
    }
    throw unprepared()
  }

  async function prepareHost(): Promise<void> {
    const { begun } = memory.read()
    const outcome = begun ? await (port.restore ?? judge)() : undefined
    // Before the host is marked: afterwards nothing would show that it was replaced.
    if (outcome) addNote(memory, notes[outcome])
    await runPrepare()
    memory.write({ ...memory.read(), begun: true })
  }

  /** For hosts without copies, whose workspace is there or lost. */
  async function judge(): Promise<RestoreOutcome> {
    const { output } = await port.run(judgeWorkspace({ state, root }), defaultTimeoutMs)
    return output.trim() === 'live' ? 'live' : 'lost'
  }

  /** A command has removed or moved the workspace. Nothing else of the host is touched. */
  async function recreateWorkspace(): Promise<void> {
    const printed = await runPrepare()
    // Prints nothing when something has put it back in this moment.
    if (printed !== '') addNote(memory, printed === madeWord ? recreatedNote(root) : returnedNote(root, printed))
  }

  /** Returns the name from which the workspace was moved back, or that it was created. */
  async function runPrepare(): Promise<string> {
    const { code, output } = await port.run(prepare({ state, root }), defaultTimeoutMs)
    if (code !== 0) throw unprepared()
    return output.trim()
  }

  /** Runs a script and decodes the base64 that it prints. */
  async function readBytes(script: string): Promise<Uint8Array> {
    const { code, output } = await run(script)
    // A full disk or memory cuts the output. A list without its end would look like files that were removed.
    if (code !== 0) throw incomplete()
    return decodeBase64Bytes(output.trim())
  }

  return {
    run,
    readBytes,
    state,
    takeNote: () => takeNotes(memory),
  }
}

/** Stored, because the session's object may end before its next command. */
function addNote(memory: HostMemory, note: string): void {
  const record = memory.read()
  memory.write({ ...record, notes: [...new Set([...(record.notes ?? []), note])] })
}

function takeNotes(memory: HostMemory): string | undefined {
  const { notes: pending = [], ...rest } = memory.read()
  if (!pending.length) return undefined
  memory.write(rest)
  return pending.join('\n')
}

const incomplete = (): BackendError =>
  new BackendError('unavailable', 'The output of the host arrives incomplete.', 'Is there enough space on its disk?')

const unprepared = (): BackendError =>
  new BackendError('unavailable', 'The host could not be prepared.', 'Try again later.')

function requireCode(result: ScriptResult): ScriptResult {
  if (result.code !== null) return result
  throw new BackendError(
    'unavailable',
    'The host did not report how the script ended: its effect is unknown.',
    'Look at the state before you do it again.',
  )
}
