/** Classifies sessions by their source: for search, and for lists that people read. */

/** `scheduled`: runs of jobs and batches, of which there are many. `hidden`: work of other sessions, and temporary chats. `interactive`: all others. */
export type SourceClass = 'interactive' | 'scheduled' | 'hidden'

export const scheduledSources = ['cron', 'job', 'batch', 'monitor'] as const
/** A chat that nothing remembers. */
export const temporarySource = 'temporary'

export const hiddenSources = ['subagent', 'tool', 'learning', temporarySource] as const

const classes: ReadonlyMap<string, SourceClass> = new Map([
  ...scheduledSources.map((source) => [source, 'scheduled'] as const),
  ...hiddenSources.map((source) => [source, 'hidden'] as const),
])

export const classifySource = (source: string): SourceClass => classes.get(source) ?? 'interactive'
