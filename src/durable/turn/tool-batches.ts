/** Runs the tool calls of one session in batches, and limits and stores their results. */

import type { CallContext } from '#agent/core/tool.ts'
import { historyDb } from '#db/shards/sharded-database.ts'
import { log } from '#agent/core/log.ts'
import { type Authority, historyReach } from '#agent/core/permission/authority.ts'
import { allMarks, joinMarks, type Marks, noMarks } from '#agent/core/marks.ts'
import { textIn, type ToolMessage } from '#agent/core/message.ts'
import { redactJson } from '#agent/core/secrets/redaction.ts'
import type { Settings } from '#agent/core/settings.ts'
import type { Result, ToolCall } from '#agent/core/turn.ts'
import { createReachableHistory } from '#db/history.ts'
import { createFindSimilar } from '#durable/tenant/recall/find-similar.ts'
import { type CallProgress, concurrentCalls, dispatch, type DispatchOptions } from '#tools/dispatch.ts'
import {
  cutMiddle,
  maxLimits,
  openBatch,
  type ResultLimits,
  type Shorten,
  type Spill,
  spillText,
} from '#tools/limit-result.ts'
import { checkPermission, type PermissionContext } from '#tools/check-permission.ts'
import { attachmentPrefix, hasLargeImage, storeToolImages } from '#durable/workspace/attachments.ts'
import { failpoint } from '#durable/platform/failpoint.ts'
import { clock } from '#durable/platform/clock.ts'
import { newNonce } from '#durable/platform/ids.ts'
import { redactorFor } from '#durable/platform/redaction.ts'
import type { FindFix, ResultNote } from './find-fix.ts'
import type { Asking } from './how-it-went.ts'
import { type ProgramLog, withPrograms } from './programs.ts'
import type { SessionServices, ToolRuntimeOptions } from './session-services.ts'
import type { SessionToolbox } from './session-toolbox.ts'
import { type MarkLog, openMarkLog, type ReadingRun } from './tools/mark-log.ts'
import { openFileMarks } from '#durable/workspace/file-marks.ts'
import type { ToolScope } from './tools/turn-scope.ts'
import type { ExecutionBackend } from '#agent/core/backend.ts'
import {
  contextFileNames,
  cursorRuleFolder,
  foldersTo,
  listContextFiles,
  maxHintAncestors,
  maxHintChars,
} from '#agent/prompt/context-files.ts'
import { isOwnReset } from '#durable/platform/object-reset.ts'
import type { SessionMetadata } from '#durable/storage/session-metadata.ts'
import { readFolder, readText, renderContextFile } from './prompt/context-files.ts'

export type BatchRunOptions = Pick<PermissionContext, 'policy' | 'judge'> & {
  readonly settings: Settings
  /** That of the turn. */
  readonly authority: Authority
  readonly scope: ToolScope
  readonly signal: AbortSignal
  /** Stores the calls that programs make. */
  readonly programs: ProgramLog
  /** The results that their batch has already. */
  readonly earlierResults: readonly ToolMessage[]
  readonly resultLimits: ResultLimits
  /** The run that makes the calls. */
  readonly runId: string
  /** The model calls of the run so far. */
  readonly step: number
  /** The entries that the model has read, as `ReadingRun` has them. */
  readonly read: ReadingRun['read']
  /** Publishes what running calls print. */
  readonly onProgress: (progress: CallProgress) => void
  /** Whether the model of the turn reads images. */
  readonly seesImages: boolean
}

export class ToolBatches {
  readonly #options: ToolRuntimeOptions
  readonly #services: SessionServices
  readonly #toolbox: SessionToolbox
  readonly #hints: FolderHints
  readonly #kept = new Map<string, unknown>()

  constructor(options: ToolRuntimeOptions, services: SessionServices, toolbox: SessionToolbox) {
    this.#options = options
    this.#services = services
    this.#toolbox = toolbox
    const { env, tenantId, meta, updateMeta } = options
    const redact = (text: string) => redactorFor(env, tenantId).redact(text)
    const { of: marksOf } = openFileMarks({ meta, updateMeta })
    this.#hints = new FolderHints({ backend: services.backend, meta, updateMeta, redact, marksOf })
  }

  /** Returns the first of these calls that may run concurrently. */
  together(calls: readonly ToolCall[], settings: Settings, scope: ToolScope): readonly ToolCall[] {
    return concurrentCalls(calls, { toolbox: this.#toolbox.tools(settings, scope), services: this.#services.all })
  }

  marks(run: ReadingRun): MarkLog {
    return openMarkLog(this.#options, run)
  }

  run(
    calls: readonly ToolCall[],
    {
      settings,
      authority,
      scope,
      signal,
      runId,
      step,
      read: entries,
      programs,
      seesImages,
      earlierResults,
      resultLimits,
      onProgress,
      ...approvals
    }: BatchRunOptions,
  ): AsyncIterable<Result> {
    const { env, tenantId, sessionId } = this.#options
    const services = { ...this.#services.all, history: this.#openHistory(authority, settings) }
    const marks = this.marks({ id: runId, authority, read: entries })
    this.#services.begin(runId)
    this.#hints.begin(runId)
    const { backend, shell } = services
    const policy = approvals.policy()
    const describeLocation = () => `${backend.kind} ${shell.read().cwd}`
    const permission = { services, describeLocation, now: clock.now, egress: marks, ...approvals }
    const hooks = this.#options.hooks?.()?.forCalls({ sessionId, runId, model: services.model })
    const dispatchOptions: DispatchOptions = {
      toolbox: this.#toolbox.tools(settings, scope),
      services,
      permit: (call, tool) => checkPermission(call, tool, permission),
      marks,
      context: { sessionId, runId, authority, signal, clock, seesImages, kept: this.#kept, ...reachOf(policy) },
      schedule: clock.schedule,
      progress: { emit: onProgress, openRedaction: () => redactorFor(env, tenantId).stream() },
      earlierResults,
      resultLimits,
      newNonce,
      redactor: () => redactorFor(env, tenantId),
      spill: (callId, text, read) => this.#services.spill(callId, text, read),
      ...(hooks && { hooks }),
      failpoint: (moment) => failpoint(`${moment}-tool`),
      logError: (error, tool) => log.error('tool.failed', `The tool ${tool} failed.`, { error }),
    }
    const { runProgram } = this.#services
    const results = dispatch(calls, runProgram ? withPrograms(dispatchOptions, runProgram, programs) : dispatchOptions)
    const { unattended } = policy
    const asking = { ...this.#options, authority, settings, runId, step, unattended, toolbox: dispatchOptions.toolbox }
    return mapMessages(results, async (message) => {
      const hinted = withNotes(message, await this.#listNotes(message, calls, dispatchOptions, asking), marks)
      return hasLargeImage(hinted) ? storeToolImages(hinted, env.BLOBS, attachmentPrefix(tenantId, sessionId)) : hinted
    })
  }

  #openHistory(authority: Authority, settings: BatchRunOptions['settings']) {
    const { env, tenantId, sessionId } = this.#options
    return createReachableHistory(
      { db: historyDb(env, tenantId), blobs: env.BLOBS, findSimilar: createFindSimilar(env, authority, settings) },
      { tenantId, sessionId },
      historyReach(authority),
    )
  }

  /** Notes of a result beside the outcome of its call: of its folder, of its failure, and of the end of a long task. */
  async #listNotes(
    message: ToolMessage,
    calls: readonly ToolCall[],
    given: Pick<DispatchOptions, 'toolbox' | 'services'>,
    asking: Asking,
  ): Promise<readonly (ResultNote | undefined)[]> {
    const { env } = this.#options
    const { authority, settings } = asking
    const touched = listTouchedPaths(calls, message.callId, given)
    const isFixKnown = settings.learning?.fixes !== false && historyReach(authority).kind === 'tenant'
    return [
      touched.length ? await this.#hints.render(touched) : undefined,
      isFixKnown && mayHaveFailed(message) ? await findFix(message, calls, { env, authority }) : undefined,
      settings.learning?.ask_after_steps
        ? { text: (await import('./how-it-went.ts')).takeQuestion(asking), marks: noMarks }
        : undefined,
    ]
  }

  /** Redacts and bounds the results of tools that the client ran, and stores their images. */
  async receiveResults(
    messages: readonly ToolMessage[],
    scope: ToolScope,
    limits: ResultLimits = maxLimits,
  ): Promise<readonly ToolMessage[]> {
    const { env, tenantId, sessionId, settings } = this.#options
    const { redact } = redactorFor(env, tenantId)
    // Only a model that can read files gets a path.
    const canRead = this.#toolbox.tools(settings.now(), scope).has('read_file')
    const logError = (error: unknown) => log.error('results.unstored', 'A long result cannot be stored.', { error })
    const spill: Spill['spill'] = (callId, text, marks) => this.#services.spill(callId, text, marks)
    const shorten: Shorten = (callId, text, marks) =>
      canRead
        ? spillText({ callId, text, marks }, { spill, logError }, limits)
        : cutMiddle(text, Math.min(limits.perResult, limits.perBatch / messages.length))
    const batch = openBatch({ limits, shorten })
    for (const message of messages) {
      const content = message.content.map((part) =>
        part.type === 'text' ? { ...part, text: redactJson(part.text, redact) } : part,
      )
      await batch.add({ ...message, content, marks: message.marks ?? allMarks })
    }
    const prefix = attachmentPrefix(tenantId, sessionId)
    return Promise.all(batch.messages().map((message) => storeToolImages(message, env.BLOBS, prefix)))
  }
}

/** Calls wait for work alone when nobody can be asked. */
const reachOf = ({ unattended }: ReturnType<BatchRunOptions['policy']>): Pick<CallContext, 'mayWaitFor'> =>
  unattended === undefined ? {} : { mayWaitFor: 'work' }

/** Absolute paths. For a command it is the directory where the command ended. */
function listTouchedPaths(
  calls: readonly ToolCall[],
  id: string,
  { toolbox, services }: Pick<DispatchOptions, 'toolbox' | 'services'>,
): readonly string[] {
  const call = calls.find((each) => each.id === id)
  const tool = call && toolbox.get(call.name)
  if (!tool?.needs.includes('backend')) return []
  const touched = tool.touches(call?.input, services)
  if (touched === 'nothing') return []
  return touched === 'alone' ? [services.shell?.read().cwd ?? '/'] : touched
}

/** Changes the messages of results. One generator for all changes: each one more would cost several promises per result. */
async function* mapMessages(
  results: AsyncIterable<Result>,
  change: (message: ToolMessage) => Promise<ToolMessage>,
): AsyncGenerator<Result> {
  for await (const result of results)
    yield result.of === 'tool' ? { ...result, message: await change(result.message) } : result
}

/** Commands say in their result how they ended. */
const mayHaveFailed = (message: ToolMessage): boolean => message.failed || textIn(message).includes('"exit_code"')

const findFix: FindFix = async (...given) => (await import('./find-fix.ts')).findFix(...given)

/** The result holds what its notes hold. */
function withNotes(
  message: ToolMessage,
  notes: readonly (ResultNote | undefined)[],
  { add }: Pick<MarkLog, 'add'>,
): ToolMessage {
  const given = notes.filter((note) => note !== undefined && note.text !== '') as readonly ResultNote[]
  if (!given.length) return message
  const held = joinMarks(...given.map(({ marks }) => marks))
  add(held)
  const added = given.map(({ text }) => ({ type: 'text' as const, text }))
  return { ...message, content: [...message.content, ...added], marks: joinMarks(message.marks, held) }
}

type HintOptions = {
  readonly backend: Pick<ExecutionBackend, 'files' | 'capabilities' | 'kind'>
  readonly meta: () => SessionMetadata
  readonly updateMeta: (change: Partial<SessionMetadata>) => void
  readonly redact: (text: string) => string
  /** Of a file, by its absolute path. */
  readonly marksOf: (path: string) => Marks
}

const noNote: ResultNote = { text: '', marks: noMarks }

/** Folders whose hint is remembered. The oldest may get it a second time. */
const maxRemembered = 100
/** A shorter rest of the room is left for the next result. */
const minRoomChars = 500

/**
 * Adds the context file of a folder to the first result of a tool that works there, such as the AGENTS.md of a
 * repository that was cloned after the prompt was built. Each folder gets its hint once.
 */
export class FolderHints {
  readonly #options: HintOptions
  /**
   * Folders of a host that had no context file in this turn: each listing is a request. The rows of the virtual
   * workspace are listed each time.
   */
  readonly #empty = new Set<string>()
  #runId = ''

  constructor(options: HintOptions) {
    this.#options = options
  }

  /** Called with every batch of a run. */
  begin(runId: string): void {
    if (runId !== this.#runId) this.#empty.clear()
    this.#runId = runId
  }

  /**
   * Returns the hints for a call that works on these absolute paths. They are a help: a workspace that cannot be read
   * changes no result.
   */
  async render(paths: readonly string[]): Promise<ResultNote | undefined> {
    try {
      return await this.#render(paths)
    } catch (error) {
      if (isOwnReset(error)) throw error
      log.warn('hints.unread', 'The context files of a folder cannot be read.', { error })
      return undefined
    }
  }

  async #render(paths: readonly string[]): Promise<ResultNote> {
    const { room, ...ofFolders } = await this.#renderFolders(paths)
    const notes = [ofFolders, await this.#renderRules(paths, room)].filter(({ text }) => text)
    return { text: notes.map(({ text }) => text).join('\n'), marks: joinMarks(...notes.map(({ marks }) => marks)) }
  }

  /** Rules of `.cursor/rules` for files that a call works on. */
  async #renderRules(paths: readonly string[], room: number): Promise<ResultNote> {
    const { backend, meta, redact, marksOf } = this.#options
    const { files, kind } = backend
    const { root } = backend.capabilities
    const path = `${root}/${cursorRuleFolder}`
    if (!paths.length || room < minRoomChars || this.#empty.has(path)) return noNote
    const folder = await readFolder(files, path)
    if (!folder.names.size && kind !== 'virtual') this.#empty.add(path)
    if (!folder.names.size) return noNote
    const { readRulesFor } = await import('./prompt/cursor-rules.ts')
    const { hintedFolders = [] } = meta()
    const rules = (await readRulesFor(paths, { files, root, folder })).filter(
      (rule) => !hintedFolders.includes(rule.path),
    )
    let left = room
    const given = rules.filter(({ text }) => left >= minRoomChars && ((left -= text.length), true))
    this.#remember(given.map((rule) => rule.path))
    const text = given.map((rule) => renderContextFile({ name: rule.name, text: rule.text }, room, redact).text)
    return { text: text.join('\n'), marks: joinMarks(...given.map((rule) => marksOf(rule.path))) }
  }

  async #renderFolders(paths: readonly string[]): Promise<ResultNote & { readonly room: number }> {
    const { marksOf, backend } = this.#options
    const { files, capabilities, kind } = backend
    const folders = this.#listNewFolders(capabilities.root, paths)
    if (!folders.length) return { ...noNote, room: maxHintChars }
    const found = await Promise.all(folders.map((path) => readFolder(files, path)))
    const hints: string[] = []
    const shown: Marks[] = []
    const given: string[] = []
    let room = maxHintChars
    for (const folder of found) {
      const file = await this.#readFile(folder)
      if (!file) {
        if (kind !== 'virtual') this.#empty.add(folder.path)
      } else if (paths.includes(file.path)) given.push(folder.path)
      else if (room >= minRoomChars) {
        const name = file.path.slice(capabilities.root.length + 1)
        hints.push(renderContextFile({ name, text: file.text }, room, this.#options.redact).text)
        shown.push(marksOf(file.path))
        given.push(folder.path)
        room -= file.text.length
      }
    }
    this.#remember(given)
    return { text: hints.join('\n'), marks: joinMarks(...shown), room }
  }

  /** The closest folder comes first. The prompt has the files of the root, if there were any. */
  #listNewFolders(root: string, paths: readonly string[]): readonly string[] {
    const { hintedFolders = [], promptRecord } = this.#options.meta()
    const isRootKnown = promptRecord?.layers.some(({ name }) => name === 'workspace') ?? false
    const known = new Set([...hintedFolders, ...(isRootKnown ? [root] : [])])
    const around = paths
      .filter((path) => path === root || path.startsWith(`${root}/`))
      .flatMap((path) => foldersTo(root, path).slice(-(maxHintAncestors + 1)))
    return [...new Set(around)]
      .filter((folder) => !known.has(folder) && !this.#empty.has(folder) && !contextFileNames.has(nameOf(folder)))
      .toSorted((a, b) => b.length - a.length)
  }

  async #readFile(folder: Awaited<ReturnType<typeof readFolder>>) {
    for (const [path = ''] of listContextFiles([folder])) {
      const text = await readText(this.#options.backend.files, path)
      if (text !== undefined) return { path, text }
    }
    return undefined
  }

  #remember(folders: readonly string[]): void {
    if (!folders.length) return
    const { hintedFolders = [] } = this.#options.meta()
    this.#options.updateMeta({ hintedFolders: [...hintedFolders, ...folders].slice(-maxRemembered) })
  }
}

const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1)
