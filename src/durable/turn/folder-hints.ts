/**
 * Adds the context file of a folder to the first result of a tool that works there, such as the AGENTS.md of a
 * repository that was cloned after the prompt was built. Each folder gets its hint once.
 */

import { log } from '#agent/core/log.ts'
import type { ExecutionBackend } from '#agent/core/backend.ts'
import type { Result } from '#agent/core/turn.ts'
import {
  contextFileNames,
  foldersTo,
  listContextFiles,
  maxHintAncestors,
  maxHintChars,
} from '#agent/prompt/context-files.ts'
import { isOwnReset } from '#durable/platform/object-reset.ts'
import type { SessionMetadata } from '#durable/storage/session-metadata.ts'
import { readFolder, readText, renderContextFile } from './prompt/context-files.ts'

type HintOptions = {
  readonly backend: Pick<ExecutionBackend, 'files' | 'capabilities' | 'kind'>
  readonly meta: () => SessionMetadata
  readonly updateMeta: (change: Partial<SessionMetadata>) => void
  readonly redact: (text: string) => string
}

/** Folders whose hint is remembered. The oldest may get it a second time. */
const maxRemembered = 100
/** A shorter rest of the room is left for the next result. */
const minRoomChars = 500

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

  /** Adds hints to the results of calls. `pathsOf`: absolute paths that the call with this id works on. */
  async *addTo(results: AsyncIterable<Result>, pathsOf: (callId: string) => readonly string[]): AsyncGenerator<Result> {
    for await (const result of results) {
      const hint = result.of === 'tool' ? await this.#tryRender(pathsOf(result.message.callId)) : ''
      if (result.of !== 'tool' || !hint) yield result
      else {
        const content = [...result.message.content, { type: 'text' as const, text: hint }]
        yield { ...result, message: { ...result.message, content } }
      }
    }
  }

  /** A hint is a help: a workspace that cannot be read changes no result. */
  async #tryRender(paths: readonly string[]): Promise<string> {
    try {
      return await this.#render(paths)
    } catch (error) {
      if (isOwnReset(error)) throw error
      log.warn('hints.unread', 'The context files of a folder cannot be read.', { error })
      return ''
    }
  }

  async #render(paths: readonly string[]): Promise<string> {
    const { files, capabilities, kind } = this.#options.backend
    const folders = this.#listNewFolders(capabilities.root, paths)
    if (!folders.length) return ''
    const found = await Promise.all(folders.map((path) => readFolder(files, path)))
    const hints: string[] = []
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
        given.push(folder.path)
        room -= file.text.length
      }
    }
    this.#remember(given)
    return hints.join('\n')
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
