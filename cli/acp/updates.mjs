/** Turns events and messages of a session into updates of the Agent Client Protocol. */

const kinds = {
  read_file: 'read',
  search_files: 'search',
  session_search: 'search',
  write_file: 'edit',
  patch: 'edit',
  terminal: 'execute',
  process: 'execute',
  execute_code: 'execute',
  web_search: 'fetch',
  web_extract: 'fetch',
  todo: 'think',
}

const text = (value) => ({ type: 'text', text: value })
const content = (value) => [{ type: 'content', content: text(value) }]

/** A call is unique by its run, its reply and its id. */
export const callIdOf = ({ run_id: run, step, call_id: call }) => [run, step, call].join('.')

function titleOf(tool, input) {
  const target = input?.command ?? input?.path ?? input?.query ?? input?.url ?? input?.goal
  return typeof target === 'string' ? `${tool}: ${target.slice(0, 120)}` : tool
}

/** The protocol wants absolute paths. Relative ones begin at the workspace of the session. */
const absolute = (path) => (path.startsWith('/') ? path : `/workspace/${path}`)

export function describeCall(tool, input) {
  const path = typeof input?.path === 'string' ? absolute(input.path) : undefined
  return {
    title: titleOf(tool, input),
    kind: kinds[tool] ?? 'other',
    rawInput: input,
    ...(path && { locations: [{ path }] }),
    ...(path && diffOf(path, input)),
  }
}

/** The text that a call writes, and the text before it, which only replacements name. */
function diffOf(path, { content: whole, old_string: oldText, new_string: replaced }) {
  const newText = replaced ?? whole
  if (typeof newText !== 'string') return {}
  return { content: [{ type: 'diff', path, newText, ...(typeof oldText === 'string' && { oldText }) }] }
}

/** The updates of one event. */
export function updatesOf(event) {
  switch (event.type) {
    case 'message.delta':
      return [{ sessionUpdate: 'agent_message_chunk', content: text(event.delta) }]
    case 'reasoning.delta':
      return [{ sessionUpdate: 'agent_thought_chunk', content: text(event.delta) }]
    case 'tool.started':
      return [
        {
          sessionUpdate: 'tool_call',
          toolCallId: callIdOf(event),
          status: 'in_progress',
          ...describeCall(event.tool, event.input),
        },
        ...planOf(event.tool, event.input),
      ]
    case 'tool.completed':
      return [
        {
          sessionUpdate: 'tool_call_update',
          toolCallId: callIdOf(event),
          status: event.failed ? 'failed' : 'completed',
          ...(event.preview && { content: content(event.preview) }),
        },
      ]
    case 'context.compressed':
      return [{ sessionUpdate: 'compaction_update', compactionId: `${event.run_id}.${event.seq}`, status: 'completed' }]
    case 'turn.restarted':
      return [{ sessionUpdate: 'agent_message_chunk', content: text('\n\n(The answer starts again.)\n\n') }]
    default:
      return []
  }
}

const planStates = { pending: 'pending', in_progress: 'in_progress', completed: 'completed', cancelled: 'completed' }

/** The list of the tool `todo` is the plan of the editor. */
function planOf(tool, input) {
  if (tool !== 'todo' || !Array.isArray(input?.todos)) return []
  const entries = input.todos
    .filter((one) => typeof one?.content === 'string')
    .map((one) => ({ content: one.content, priority: 'medium', status: planStates[one.status] ?? 'pending' }))
  return [{ sessionUpdate: 'plan', entries }]
}

/** The updates that show stored messages again, with the ids that their events had. */
export function* replayAll(messages, state = { step: 0 }) {
  for (const message of messages) {
    if (message.role === 'assistant') state.step = message.seq
    yield* replayOf(message, state.step)
  }
}

function replayOf(message, step) {
  const { run_id: run, role, tool_call_id: called } = message
  const said = textOf(message.content)
  const idOf = (call) => callIdOf({ run_id: run, step, call_id: call })
  if (role === 'user') return message.source ? [] : [{ sessionUpdate: 'user_message_chunk', content: text(said) }]
  if (role === 'assistant') return replayReply(message, said, idOf)
  const result = { status: 'completed', content: content(said) }
  return [{ sessionUpdate: 'tool_call_update', toolCallId: idOf(called), ...result }]
}

const textOf = (parts) => (Array.isArray(parts) ? parts.map((part) => part.text ?? '[image]').join('') : (parts ?? ''))

function replayReply({ reasoning, tool_calls: calls = [] }, said, idOf) {
  const started = calls.map(({ id, function: { name, arguments: input } }) => ({
    sessionUpdate: 'tool_call',
    toolCallId: idOf(id),
    status: 'pending',
    ...describeCall(name, parseInput(input)),
  }))
  return [
    ...(reasoning ? [{ sessionUpdate: 'agent_thought_chunk', content: text(reasoning) }] : []),
    ...(said ? [{ sessionUpdate: 'agent_message_chunk', content: text(said) }] : []),
    ...started,
  ]
}

function parseInput(json) {
  try {
    return JSON.parse(json)
  } catch {
    return { input: json }
  }
}
