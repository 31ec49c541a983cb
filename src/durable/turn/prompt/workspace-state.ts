/**
 * Describes the workspace as it is when a turn starts: branch and changes of its repository, running processes, and once
 * the host. The text stands behind the message, for the model alone.
 */

import type { WorkspaceState } from '#agent/core/message.ts'
import { joinMarks, privateMarks } from '#agent/core/marks.ts'
import { log } from '#agent/core/log.ts'
import { foldersTo } from '#agent/prompt/context-files.ts'
import { newNonce } from '#durable/platform/ids.ts'
import { isOwnReset } from '#durable/platform/object-reset.ts'
import { withTimeout } from '#durable/platform/timeout.ts'
import type { TurnSession } from '../turn-session.ts'

/** The state as a whole, so that it never crowds out the message. */
const maxChars = 2_000
const maxChanges = 30
const maxLineChars = 120
const maxProcesses = 5
/** A turn waits no longer for a slow host. */
const timeoutMs = 3_000

/** Programs that a model asks for first. */
const programs = 'git node npm pnpm python3 pip uv go cargo java gcc make docker rg jq curl'

/** Undefined when there is nothing to tell that the conversation does not have yet. Never rejects but for a reset. */
export async function readWorkspaceState(session: TurnSession, hasFiles: boolean): Promise<WorkspaceState | undefined> {
  const [git, host] = hasFiles ? await withTimeout(readPlace(session), timeoutMs, () => [[], []] as const) : [[], []]
  const lines = [...git, ...listProcesses(session), ...host]
  if (!lines.length) return undefined
  const text = session.redact(lines.join('\n')).slice(0, maxChars)
  const isKnown = lastStateIn(session) === text
  const marks = joinMarks(privateMarks, session.toolRuntime.fileMarks.all())
  return isKnown ? undefined : { text, nonce: newNonce(), marks }
}

/** After a compression or `/new` the conversation has none. */
function lastStateIn({ store }: TurnSession): string | undefined {
  const messages = store.contextEntries().map(({ message }) => message)
  const last = messages.findLast((message) => message.role === 'user' && message.state !== undefined)
  return last?.role === 'user' ? last.state?.text : undefined
}

type Lines = readonly string[]

async function readPlace(session: TurnSession): Promise<readonly [git: Lines, host: Lines]> {
  try {
    return await Promise.all([readRepository(session), describeHost(session)])
  } catch (error) {
    if (isOwnReset(error)) throw error
    log.warn('workspace.state_unread', 'The state of a workspace could not be read.', { error })
    return [[], []]
  }
}

/** Settings of a repository may name programs that git runs by itself. */
const quietGit = {
  GIT_OPTIONAL_LOCKS: '0',
  GIT_CONFIG_COUNT: '1',
  GIT_CONFIG_KEY_0: 'core.fsmonitor',
  GIT_CONFIG_VALUE_0: 'false',
}

async function readRepository({ toolRuntime, meta }: TurnSession): Promise<Lines> {
  const { backend } = toolRuntime
  const { root } = backend.capabilities
  const cwd = meta.shell?.cwd ?? root
  const folders = foldersTo(root, cwd)
  const found = await Promise.all(folders.map((folder) => backend.files.stat(`${folder}/.git`)))
  const folder = folders[found.findLastIndex((stat) => stat !== undefined)]
  if (folder === undefined) return []
  const result = await backend.inspect('git status -sb', { cwd: folder, env: quietGit, timeoutMs })
  if (result.exitCode !== 0) return []
  const [branch = '', ...changes] = result.stdout.split('\n').filter(Boolean)
  return [
    `Branch: ${shorten(branch.replace(/^## /, ''))}`,
    changes.length ? `Changes that are not committed: ${changes.length}` : 'No changes that are not committed.',
    ...changes.slice(0, maxChanges).map(shorten),
    ...(changes.length > maxChanges ? [`… and ${changes.length - maxChanges} more`] : []),
  ]
}

function listProcesses({ toolRuntime }: TurnSession): Lines {
  const running = toolRuntime.processes.list().filter(({ state }) => state.at === 'running')
  const lines = running.slice(0, maxProcesses).map(({ id, command }) => shorten(`Running process ${id}: ${command}`))
  return running.length > maxProcesses ? [...lines, `… and ${running.length - maxProcesses} more processes`] : lines
}

/** Asks a host of the operator once. The images of rented hosts and the virtual shell are described in the prompt. */
async function describeHost(session: TurnSession): Promise<Lines> {
  const { backend } = session.toolRuntime
  if (backend.kind !== 'http') return []
  const { hostProbe } = session.meta
  if (hostProbe !== undefined) return hostProbe ? [hostProbe] : []
  const command = `uname -srm; command -v ${programs}`
  const { stdout } = await backend.inspect(command, { cwd: backend.capabilities.root, timeoutMs })
  const [system = '', ...paths] = stdout.split('\n').filter(Boolean)
  const names = paths.map((path) => path.slice(path.lastIndexOf('/') + 1)).join(', ')
  const text = system ? `Host: ${shorten(system)}${names && `, with ${names}`}` : ''
  session.updateMeta({ hostProbe: text })
  return text ? [text] : []
}

const shorten = (line: string): string => (line.length > maxLineChars ? `${line.slice(0, maxLineChars)}…` : line)
