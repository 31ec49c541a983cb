/**
 * Keeps what the running turn holds, so that an evicted session still knows it. What earlier turns have read counts for as
 * long as its messages, or a summary of them, are sent to models.
 */

import { holdsBoth, joinMarks, type Marks, noMarks } from '#agent/core/marks.ts'
import type { Entry } from '#agent/core/history.ts'
import type { ToolMessage } from '#agent/core/message.ts'
import { type Authority, marksOfAuthority, withMarks } from '#agent/core/permission/authority.ts'
import type { PromptRecord } from '#agent/core/prompt-layer.ts'
import type { Services, Tool } from '#agent/core/tool.ts'
import type { ToolCall } from '#agent/core/turn.ts'
import type { KnownTexts } from '#agent/policy/approval/known-texts.ts'
import type { EgressState } from '#agent/policy/approval/egress.ts'
import { getResultMarks, getWriteReach, MarksReader, readText, sourceOf } from '#agent/untrusted/result-marks.ts'
import type { LinkFilter } from '#agent/untrusted/link-filter.ts'
import { type EgressPart, loadEgressPart, loadShellPolicy, readEgressPart } from '#backends/modules.ts'
import type { SessionMetadata } from '#durable/storage/session-metadata.ts'
import { type FileMarks, openFileMarks } from '#durable/workspace/file-marks.ts'

export type MarkLog = EgressState & {
  readonly now: () => Marks
  /** Adds marks that no message has: a search of the provider. */
  readonly add: (marks: Marks) => void
  /** Of the text of an answer, once both marks are held. Undefined: any address may be in it. */
  readonly openLinks: () => Promise<() => LinkFilter> | undefined
  /** The authority for a call, and for all that it starts. */
  readonly authority: () => Authority
  /** Called before a call runs. Marks the files that it may write, and returns the marks of its result. */
  readonly begin: (call: ToolCall, tool: Tool, services: Partial<Services>) => Promise<SettleMarks>
}

/** `reported`: what the tool says that it has read. The result counts as read. */
export type SettleMarks = (message: ToolMessage, reported: Marks) => Marks

export type ReadingRun = {
  readonly id: string
  readonly authority: Authority
  /** The entries that its model has read, as they were stored. The array may grow. */
  readonly read: readonly ReadEntry[]
}

/** Assembled messages are joined, and their marks and sources with them. So entries are read. */
type ReadEntry = Pick<Entry, 'message'>

type LogMetadata = {
  readonly meta: () => Pick<SessionMetadata, 'exposure' | 'fileMarks' | 'promptRecord'>
  readonly updateMeta: (change: Pick<SessionMetadata, 'exposure' | 'fileMarks'>) => void
}

export function openMarkLog(metadata: LogMetadata, { id: runId, authority, read: entries }: ReadingRun): MarkLog {
  const { meta, updateMeta } = metadata
  const stored = (): Exposure => {
    const { exposure } = meta()
    return exposure?.runId === runId ? exposure : { runId }
  }
  const before = joinMarks(marksOfEntries(entries), marksOfAuthority(authority), marksOfPrompt(meta().promptRecord))
  const [files, readCount] = [openFileMarks(metadata), entries.length]
  const recent: ToolMessage[] = []
  let texts: KnownTexts | undefined
  const now = () => joinMarks(stored(), before)
  const add = (marks: Marks) => {
    const known = stored()
    const after = joinMarks(known, marks)
    if (after.isForeign !== known.isForeign || after.isPrivate !== known.isPrivate)
      updateMeta({ exposure: { ...known, ...after } })
  }
  const collect = (part: EgressPart | undefined): KnownTexts => {
    if (!part) throw new Error('The part for what leaves is not loaded.')
    return (texts ??= part.collectTexts([...entries.slice(0, readCount).map(({ message }) => message), ...recent]))
  }
  const take = createCounter(stored, updateMeta)
  return {
    now,
    hasForeignFiles: files.hasForeign,
    hasDictatedFiles: files.hasDictated,
    isPrivateFile: (path) => files.of(path).isPrivate === true,
    add,
    authority: () => withMarks(authority, now()),
    load: () => (now().isForeign && !readEgressPart() ? loadEgressPart() : undefined),
    carriesNothing: (send) =>
      readEgressPart()?.carriesNothing(send, {
        isPrivate: now().isPrivate === true,
        texts: () => collect(readEgressPart()),
        take,
      }) === true,
    openLinks: () =>
      holdsBoth(now())
        ? loadEgressPart().then((part) => {
            const known = collect(part)
            return () => part.openLinkFilter((url) => known.hasTyped(url) || known.hasRead(url), known.hasShown)
          })
        : undefined,
    async begin(call, tool, services) {
      const isFetching = await isFetchingCommand(call, services)
      const read = marksOfFiles(files, call, tool, services)
      await markWritten(files, { call, tool, services, marks: now(), isFetching })
      return (message, reported) => {
        const { name, input } = call
        const marks = getResultMarks({ tool: name, input, turn: now(), files: read, reported, isFetching })
        markKept(files, message, marks)
        add(marks)
        recent.push({ ...message, marks })
        texts = undefined
        return marks
      }
    },
  }
}

type Exposure = NonNullable<SessionMetadata['exposure']>

const createCounter =
  (stored: () => Exposure, updateMeta: LogMetadata['updateMeta']) =>
  (host: string, most: number): boolean => {
    const known = stored()
    const count = (known.sent?.[host] ?? 0) + 1
    if (count > most) return false
    updateMeta({ exposure: { ...known, sent: { ...known.sent, [host]: count } } })
    return true
  }

/**
 * Marks the file with the whole output of a command or a program, which holds what its result holds. Quotes in the output
 * itself are escaped.
 */
function markKept(files: FileMarks, { name, content: [part] }: ToolMessage, marks: Marks): void {
  if (part?.type !== 'text' || !/^(?:terminal|execute_code)$/.test(name)) return
  const kept = /"output_file":"(\/tmp\/results\/[^"]+)"/.exec(part.text)?.[1]
  if (kept) files.set(kept, marks)
}

const readers = new WeakMap<readonly ReadEntry[], { readonly reader: MarksReader; count: number }>()

/** Each step of a turn asks, so only entries that were added since are read. */
function marksOfEntries(read: readonly ReadEntry[]): Marks {
  let known = readers.get(read)
  if (!known || known.count > read.length) readers.set(read, (known = { reader: new MarksReader(), count: 0 }))
  for (; known.count < read.length; known.count++) known.reader.read((read[known.count] as ReadEntry).message)
  return known.reader.marks
}

/** Of the layers that hold memory and files. A record that is older than marks tells only which layers there are. */
function marksOfPrompt(record: PromptRecord | undefined): Marks {
  if (!record) return noMarks
  if (record.marks) return record.marks
  const isOfTenant = record.layers.some(({ name }) => name === 'memory' || name === 'user' || name === 'workspace')
  return isOfTenant ? { isForeign: true, isPrivate: true } : noMarks
}

/** Whether a command prints, or stores, what other hosts send. The parsed line has no quotes and variables left. */
async function isFetchingCommand({ name, input }: ToolCall, { backend }: Partial<Services>): Promise<boolean> {
  if (name === 'execute_code') return readText(input, 'language') === 'python'
  if (name !== 'terminal' || !backend || backend.capabilities.network === 'none') return false
  const { judgeCommand } = await loadShellPolicy()
  const { isFetching } = await loadEgressPart()
  const { root } = backend.capabilities
  const place = { cwd: root, workspace: root, isSandboxed: true, isOnline: true }
  const { commands, isUnjudged } = judgeCommand(readText(input, 'command'), place)
  return isUnjudged === true || commands.some(isFetching)
}

type MarkedWrite = {
  readonly call: ToolCall
  readonly tool: Tool
  readonly services: Partial<Services>
  readonly marks: Marks
  readonly isFetching: boolean
}

/** Before the call runs: it may write, and then the session may end. */
async function markWritten(files: FileMarks, write: MarkedWrite): Promise<void> {
  const { call, tool, services, marks } = write
  const reach = getWriteReach(call.name, call.input)
  if (reach === 'any' && (await mayWrite(call))) {
    files.setPrivate()
    if (marks.isForeign || write.isFetching) files.setAllForeign(marks.isForeign)
  }
  if (reach !== 'named') return
  // A file that a turn without private data writes holds only what the turn has read.
  const written = marks.isForeign ? marks : joinMarks(marks, { isPrivate: true })
  for (const path of pathsOf(call, tool, services))
    files.set(path, call.name === 'write_file' ? written : joinMarks(files.of(path), written))
}

async function mayWrite(call: ToolCall): Promise<boolean> {
  if (call.name === 'process') return sendsInput(call)
  // Commands in the background are reported later, by the marks of all files.
  if (call.name !== 'terminal' || isInBackground(call)) return true
  const policy = await loadShellPolicy()
  return !policy.isReadOnly(readText(call.input, 'command'))
}

const isInBackground = ({ input }: ToolCall): boolean =>
  typeof input === 'object' && input !== null && Boolean((input as Record<string, unknown>)['background'])

const sendsInput = ({ input }: ToolCall): boolean => /^(?:write|submit)$/.test(readText(input, 'action'))

function marksOfFiles(files: FileMarks, call: ToolCall, tool: Tool, services: Partial<Services>): Marks {
  switch (call.name) {
    case 'search_files':
      return joinMarks(...pathsOf(call, tool, services).map((path) => files.below(path)))
    case 'terminal':
    case 'process':
    case 'execute_code':
      return files.all()
    default: {
      const paths = pathsOf(call, tool, services)
      return paths.length ? joinMarks(...paths.map((path) => files.of(path))) : files.all()
    }
  }
}

/** The absolute paths that a call names. */
function pathsOf({ name, input }: ToolCall, tool: Tool, services: Partial<Services>): readonly string[] {
  if (name === 'vision_analyze' || name === 'video_analyze')
    return services.backend ? [services.backend.resolve(sourceOf(input))] : []
  if (!tool.needs.includes('backend')) return []
  const touched = tool.touches(input, services)
  return typeof touched === 'string' ? [] : touched
}
