/** Annotates the tools of AgentDojo as a careful server would, by what they do: the suite has no annotations. */

export type ToolAnnotations = {
  readonly readOnlyHint: boolean
  readonly destructiveHint: boolean
  readonly openWorldHint: boolean
}

/** Looks something up, and changes nothing. */
const reads = /^(?:get|read|search|list|check)_/
/** Removes or overwrites something. */
const destroys = /^(?:delete|cancel|remove|update|reschedule)_/
/** Reaches the web, other people, or money of others. People who are invited to an event get a message. */
const reaches = /_webpage$|calendar_event(?:_participants)?$|_slack$|_to_channel$|^(?:send|share|reserve)_|transaction$/

export function annotate(name: string): ToolAnnotations {
  const isRead = reads.test(name)
  const isOpen = isRead ? name === 'get_webpage' : reaches.test(name)
  return { readOnlyHint: isRead, destructiveHint: !isRead && destroys.test(name), openWorldHint: isOpen }
}
