/** Tools that serve the agent and not the task: what is said beside them may be the whole answer. */

const tools: ReadonlySet<string> = new Set(['memory', 'todo', 'skill_manage', 'session_search'])

export const isHousekeeping = (name: string): boolean => tools.has(name)
