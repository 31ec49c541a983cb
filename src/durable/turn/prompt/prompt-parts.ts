/** Lists the parts of the system prompt. Their layers have a fixed order, so the order of this list does not matter. */

import { joinMarks } from '#agent/core/marks.ts'
import type { PromptContext, PromptPart } from './prompt-part.ts'
import { createLayer } from '#agent/prompt/layers.ts'
import { renderModelGuidance } from '#agent/prompt/guidance/models.ts'
import { renderPlatformHint } from '#agent/prompt/guidance/platforms.ts'
import { renderBehaviour, renderToolGuidance } from '#agent/prompt/guidance/tool-use.ts'
import type { PromptLayer } from '#agent/core/prompt-layer.ts'
import type { NamedSkill } from '#agent/core/skills/skill-material.ts'
import { isOffered } from '#agent/skills/readiness.ts'
import { renderSkillIndex } from '#agent/skills/skill-index.ts'
import { loadBundledIndex } from '#backends/modules.ts'
import { BoundedMap } from '#agent/core/bounded-map.ts'
import { defaultSettings } from '#agent/core/settings.ts'
import { defaultIdentity } from '#agent/prompt/identity.ts'
import { findPersonality, renderPersonality } from '#agent/prompt/personalities.ts'
import { blockFindings } from '#agent/untrusted/injection-scan.ts'
import { log } from '#agent/core/log.ts'
import type { Files } from '#agent/core/backend.ts'
import { contextFileCap, cursorRuleFolder, foldersTo, listContextFiles } from '#agent/prompt/context-files.ts'
import { isOwnReset } from '#durable/platform/object-reset.ts'
import { type ContextFile, readFolder, readText, renderContextFile } from './context-files.ts'
import { withTimeout } from '#durable/platform/timeout.ts'
import { projectTextOf } from '#durable/storage/session-metadata.ts'
import type { TurnSession } from '../turn-session.ts'

/** Describes the workspace where commands run and files are. */
const environmentPart: PromptPart = (context) =>
  usesWorkspace(context)
    ? createLayer('environment', `Your workspace: ${context.session.toolRuntime.backend.describe()}`)
    : undefined

/** Whether the session has a tool that works on files or runs commands. */
const usesWorkspace = ({ tools }: Pick<PromptContext, 'tools'>): boolean =>
  [...tools.values()].some(({ needs }) => needs.includes('backend'))

/** A first turn waits for a slow host no longer than this. */
const readTimeoutMs = 3_000

const unread =
  'The files that describe the project of the workspace could not be read. Look for AGENTS.md before you work on it.'

/**
 * Builds the layer of the files that describe the project: AGENTS.md and its relatives. A host is never started for
 * them: they are read where the session has files already.
 */
export const workspacePart: PromptPart = (context) => {
  const { session, model } = context
  const isRead = usesWorkspace(context) && session.hasReadableFiles()
  return isRead ? buildLayer(session, contextFileCap(model?.contextWindow)) : undefined
}

async function buildLayer(session: TurnSession, maxChars: number): Promise<PromptLayer | undefined> {
  const files = await withTimeout(tryRead(session), readTimeoutMs, () => 'unread' as const)
  if (files === 'unread') return createLayer('workspace', unread)
  if (!files.length) return undefined
  // The closest file has the most to say: it gets its room first.
  let remaining = maxChars
  const rendered = files
    .toReversed()
    .map((file) => {
      const result = renderContextFile(file, Math.max(0, remaining), (secret) => session.redact(secret))
      remaining -= Math.min(file.text.length, remaining)
      return result
    })
    .toReversed()
  const names = files.map(({ name }) => name).join(', ')
  const text = [`The workspace has files about its project: ${names}.`, ...rendered.map((each) => each.text)].join('\n')
  const { root } = session.toolRuntime.backend.capabilities
  const marks = joinMarks(...files.map(({ name }) => session.toolRuntime.fileMarks.of(`${root}/${name}`)))
  return { ...createLayer('workspace', text, { isTruncated: rendered.some(({ isTruncated }) => isTruncated) }), marks }
}

async function tryRead(session: TurnSession): Promise<readonly ContextFile[] | 'unread'> {
  try {
    return await readContextFiles(session)
  } catch (error) {
    if (isOwnReset(error)) throw error
    log.warn('prompt.files_unread', 'The context files of a workspace cannot be read.', { error })
    return 'unread'
  }
}

/** Returns the files of the first kind that has text, from the root to the working directory. */
async function readContextFiles({ toolRuntime, meta }: TurnSession): Promise<readonly ContextFile[]> {
  const { files, capabilities } = toolRuntime.backend
  const { root } = capabilities
  const folders = await Promise.all(foldersTo(root, meta.shell?.cwd ?? root).map((path) => readFolder(files, path)))
  for (const group of listContextFiles(folders)) {
    const found = await Promise.all(group.map((path) => readFile(files, root, path)))
    const withText = found.filter((file) => file !== undefined)
    const isOfCursor = group.every((path) => path.endsWith('/.cursorrules'))
    if (withText.length) return isOfCursor ? [...withText, ...(await readCursorRules(files, root))] : withText
  }
  return readCursorRules(files, root)
}

async function readCursorRules(files: Files, root: string): Promise<readonly ContextFile[]> {
  const folder = await readFolder(files, `${root}/${cursorRuleFolder}`)
  if (!folder.names.size) return []
  return (await import('./cursor-rules.ts')).readStandingRules(files, root, folder)
}

async function readFile(files: Files, root: string, path: string): Promise<ContextFile | undefined> {
  const text = await readText(files, path)
  return text === undefined ? undefined : { name: path.slice(root.length + 1), text }
}

/** Builds the layers that come from settings: who the agent is, how it speaks, its instructions, and the date. */
const settingsPart: PromptPart = ({ settings, now }) => {
  const { instructions = '', timezone = defaultSettings.timezone, agent = {} } = settings
  const personality = agent.personality && findPersonality(agent.personality, agent.personalities)
  return [
    // Refused when it is stored, and left out here, because the scan may have learned more since.
    createLayer('identity', agent.soul?.trim() ? blockOnce(agent.soul) : defaultIdentity),
    createLayer('personality', personality ? renderPersonality(blockOnce(personality)) : ''),
    createLayer('instructions', instructions),
    createLayer('date', `Date when this prompt was written: ${dateIn(timezone, now)} (${timezone}).`),
  ]
}

/** Sessions of one tenant have the same texts. */
const blocked = new BoundedMap<string, string>(20)

function blockOnce(text: string): string {
  let result = blocked.get(text)
  if (result === undefined) blocked.set(text, (result = blockFindings(text)))
  return result
}

/** A zone may be written in thousands of ways, in small letters and large ones. */
const formats = new BoundedMap<string, Intl.DateTimeFormat>(100)

/** YYYY-MM-DD: the time of day would defeat the provider's cache. Making a format costs more than a hundred uses of it. */
function dateIn(timeZone: string, at: number): string {
  let format = formats.get(timeZone)
  if (!format) formats.set(timeZone, (format = new Intl.DateTimeFormat('en-CA', { timeZone })))
  return format.format(at)
}

/**
 * The layers of memory, whose code is loaded when there is something. Others read along in a group, so its sessions have no
 * memory in their prompts; and without the tool there is none.
 */
const memoryPart: PromptPart = (context) => {
  const { session, material, tools } = context
  if (!material.memory || !tools.has('memory') || session.meta.origin?.isGroup) return undefined
  const { memory } = material
  return import('./memory-layers.ts').then(({ buildMemoryLayers }) => buildMemoryLayers(context, memory))
}

// Builds the index of skills: those of the tenant, then the bundled ones, as far as the session has what they need.

/** Without the tool that loads them, no skill is named. Waits only for the first prompt of an isolate. */
const skillsPart: PromptPart = (context) => {
  if (!context.tools.has('skill_view')) return undefined
  const loading = loadBundledIndex()
  return loading instanceof Promise
    ? loading.then((bundled) => renderLayer(context, bundled))
    : renderLayer(context, loading)
}

function renderLayer({ tools, material }: PromptContext, bundled: readonly NamedSkill[]): PromptLayer | undefined {
  const { own = [], hidden = [] } = material.skills ?? {}
  const has = { tools: new Set(tools.keys()), toolsets: new Set([...tools.values()].map(({ toolset }) => toolset)) }
  const offered = <Skill extends NamedSkill>(skills: readonly Skill[]) =>
    skills.filter((skill) => isOffered(skill, has))
  const index = renderSkillIndex(offered(own), offered(bundled.filter(({ name }) => !hidden.includes(name))))
  return index === undefined ? undefined : createLayer('skills', index)
}

/** Builds the layers of our own guidance: how the agent works in the place, with the tools and on the model it has. */
const guidancePart: PromptPart = ({ session, tools, model }) => [
  createLayer('platform', renderPlatformHint(session.meta.source) ?? ''),
  createLayer('tools', renderToolGuidance(tools)),
  createLayer('model', (model && renderModelGuidance(model.id)) ?? ''),
  createLayer('behaviour', renderBehaviour(tools)),
]

/** The instructions of the session's project, as the session has them. A subagent has those of its conversation. */
const projectPart: PromptPart = ({ session: { meta } }) => {
  const text = projectTextOf(meta)
  return text ? createLayer('project', text) : undefined
}

export const promptParts: readonly PromptPart[] = [
  guidancePart,
  settingsPart,
  environmentPart,
  projectPart,
  workspacePart,
  skillsPart,
  memoryPart,
]
