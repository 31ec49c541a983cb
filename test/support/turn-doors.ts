/**
 * Lists what those can do at each door who act by turns alone: people in chats, senders of webhooks, subagents and jobs.
 * turn-doors.test.ts tries it with a model that does what it is told, and without approvals.
 */

import { type ScriptedCall, says, calls, type Script } from './scripted-model.ts'

export const turnPrincipals = ['chat admin', 'chat guest', 'webhook sender', 'child', 'job'] as const
export type TurnPrincipal = (typeof turnPrincipals)[number]

/** What is tried. `lines` are written one after another. Absent: there is neither a tool nor a command. */
export type Attempt =
  | { readonly call: ScriptedCall; readonly lines?: undefined }
  | { readonly lines: readonly string[]; readonly call?: undefined }

export type TurnDoor = {
  /** The session is that of another key. */
  readonly attempt?: (id: string, principal: TurnPrincipal) => Attempt
  /** An address of the API that shows the effect, and a part of its answer. Absent: the result of the call has the part. */
  readonly shows?: (id: string) => { readonly path: string; readonly part: string }
  readonly result?: RegExp
  readonly open: readonly TurnPrincipal[]
}

const everybody = turnPrincipals
const call =
  (name: string, input: object): NonNullable<TurnDoor['attempt']> =>
  () => ({ call: { name, input } })

/** Stands in the session of the other key alone. */
export const hiddenText = 'the zanzibar plan'
const job = { action: 'create', schedule: 'every 9h' }
const isSet = (path: string, part: string) => () => ({ path, part })

export const turnDoors: Readonly<Record<string, TurnDoor>> = {
  'begin a session': {
    attempt: (_id, principal) =>
      principal === 'child' || principal === 'job'
        ? { call: { name: 'delegate_task', input: { goal: 'Say x.' } } }
        : { call: { name: 'web_search', input: { query: 'x' } } },
    result: /"status":"completed"|web/,
    open: everybody,
  },
  'send a message into a session of another key': {
    attempt: (id) => ({ lines: [`/resume ${id}`, 'words for another'] }),
    shows: (id) => ({ path: `/api/sessions/${id}/messages`, part: 'words for another' }),
    open: [],
  },
  'set the goal of a session of another key': {
    attempt: (id) => ({ lines: [`/resume ${id}`, '/goal a goal for another'] }),
    shows: (id) => ({ path: `/api/sessions/${id}/goal`, part: 'a goal for another' }),
    open: [],
  },
  'change the goal that another key has set': {
    attempt: (id) => ({ lines: [`/resume ${id}`, '/goal outcome changed'] }),
    shows: (id) => ({ path: `/api/sessions/${id}/goal`, part: 'changed' }),
    open: [],
  },
  'read a session of another key': {
    attempt: call('session_search', { query: 'zanzibar' }),
    result: new RegExp(hiddenText),
    open: ['child', 'job'],
  },
  'write a file of a session of another key': {
    attempt: (id) => ({ call: { name: 'write_file', input: { path: `../${id}/a.txt`, content: 'x' } } }),
    shows: (id) => ({ path: `/api/sessions/${id}/files/`, part: 'a.txt' }),
    open: [],
  },
  'save a job with a prompt': {
    attempt: call('cronjob', { ...job, name: 'saved-prompt', prompt: 'Tell.' }),
    shows: isSet('/api/jobs', 'saved-prompt'),
    open: ['chat admin'],
  },
  'save a job with a script': {
    attempt: call('cronjob', { ...job, name: 'saved-script', script: 'echo x', no_agent: true }),
    shows: isSet('/api/jobs', 'saved-script'),
    open: ['chat admin'],
  },
  'save a job that monitors an address': {
    attempt: call('cronjob', { ...job, name: 'saved-monitor', prompt: 'Tell.', monitor_url: 'https://example.com/' }),
    shows: isSet('/api/jobs', 'saved-monitor'),
    open: ['chat admin'],
  },
  'save a job that sends to an address': {
    attempt: call('cronjob', { ...job, name: 'saved-send', prompt: 'Tell.', deliver: 'https://example.com/hook' }),
    shows: isSet('/api/jobs', 'saved-send'),
    open: [],
  },
  'make an image': {
    attempt: call('image_generate', { prompt: 'a fox' }),
    result: /"success":true/,
    open: ['chat admin', 'chat guest', 'child', 'job'],
  },
  'create a webhook': { open: [] },
  'write the memory of the tenant': {
    attempt: call('memory', { target: 'memory', action: 'add', content: 'The office is in Bern.' }),
    shows: isSet('/api/memory', 'Bern'),
    open: [],
  },
  'write a skill': {
    attempt: call('skill_manage', {
      action: 'create',
      name: 'told',
      content: '---\nname: told\ndescription: How to make it.\n---\nRun make.',
    }),
    shows: isSet('/api/skills', '"told"'),
    open: ['chat admin', 'child', 'job'],
  },
  'change roles': { open: [] },
}

/** Renders an order for `obedient`. */
export const order = (asked: ScriptedCall): string =>
  `DO:${btoa(JSON.stringify(asked)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')}:`

/** A model that makes the call of an order in the newest text. */
export const obedient: Script = ({ messages }) => {
  const last = messages.at(-1)
  const [, encoded] = last?.role === 'tool' ? [] : (/DO:([\w-]+):/.exec(JSON.stringify(last?.content)) ?? [])
  if (encoded === undefined) return says('Done.')
  return calls(JSON.parse(atob(encoded.replaceAll('-', '+').replaceAll('_', '/'))) as ScriptedCall)
}
