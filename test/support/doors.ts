/** Lists what each kind of key can do at each door. doors.test.ts tries it, and docs/security.md shows it. */

import { turnDoors, turnPrincipals } from './turn-doors.ts'

export const doorKeys = {
  owner: { scopes: ['chat', 'read', 'write', 'jobs', 'approve'] },
  '`chat`': { scopes: ['chat'] },
  '`read`': { scopes: ['read'] },
  '`write`': { scopes: ['write'] },
  '`jobs`': { scopes: ['jobs'] },
  'page visitor': { scopes: ['chat', 'read'], hasCookie: true },
  '`max_risk: read`': { scopes: ['chat', 'read', 'write', 'jobs'], role: 'reader' },
  '`toolsets: [file]`': { scopes: ['chat', 'read', 'write', 'jobs'], role: 'files' },
} as const
export type DoorKey = keyof typeof doorKeys

export const doorRoles = {
  reader: { scopes: ['chat', 'read', 'write', 'jobs'], max_risk: 'read' },
  files: { scopes: ['chat', 'read', 'write', 'jobs'], toolsets: ['file'] },
} as const

export type Door = {
  readonly name: string
  readonly method: string
  /** `id`: the session of another key. `withGoal`: one in which that key has set a goal. */
  readonly path: (id: string, withGoal: string) => string
  readonly body?: object | string
  /** The keys that may pass. */
  readonly open: readonly DoorKey[]
}

const everybody = Object.keys(doorKeys) as readonly DoorKey[]
const without = (...keys: readonly DoorKey[]) => everybody.filter((key) => !keys.includes(key))
const visitor = 'page visitor'
const limited = ['`max_risk: read`', '`toolsets: [file]`'] as const

const job = { schedule: 'every 1h', prompt: 'Tell.' }
const skill = '---\nname: told\ndescription: d\n---\nRun make.'

export const doors: readonly Door[] = [
  {
    name: 'begin a session',
    method: 'POST',
    path: () => '/api/sessions',
    body: {},
    open: ['owner', '`chat`', visitor, ...limited],
  },
  {
    name: 'send a message into a session of another key',
    method: 'POST',
    path: (id) => `/api/sessions/${id}/steer`,
    body: { input: 'x' },
    open: ['owner', visitor, ...limited],
  },
  {
    name: 'set the goal of a session of another key',
    method: 'PUT',
    path: (id) => `/api/sessions/${id}/goal`,
    body: { text: 'x', state: 'draft' },
    open: ['owner', visitor, ...limited],
  },
  {
    name: 'change the goal that another key has set',
    method: 'PATCH',
    path: (_id, withGoal) => `/api/sessions/${withGoal}/goal`,
    body: { text: 'y' },
    open: ['owner', ...limited],
  },
  {
    name: 'read a session of another key',
    method: 'GET',
    path: (id) => `/api/sessions/${id}/messages`,
    open: ['owner', '`read`', visitor, ...limited],
  },
  {
    name: 'write a file of a session of another key',
    method: 'PUT',
    path: (id) => `/api/sessions/${id}/files/a.txt`,
    body: 'x',
    open: ['owner', ...limited],
  },
  {
    name: 'save a job with a prompt',
    method: 'POST',
    path: () => '/api/jobs',
    body: { ...job, name: 'prompt' },
    open: ['owner', '`jobs`', ...limited],
  },
  {
    name: 'save a job with a script',
    method: 'POST',
    path: () => '/api/jobs',
    body: { ...job, name: 'script', script: 'echo x' },
    open: ['owner', '`jobs`'],
  },
  {
    name: 'save a job that monitors an address',
    method: 'POST',
    path: () => '/api/jobs',
    body: { ...job, name: 'monitor', monitor_url: 'https://example.com/' },
    open: ['owner', '`jobs`'],
  },
  {
    name: 'save a job that sends to an address',
    method: 'POST',
    path: () => '/api/jobs',
    body: { ...job, name: 'send', deliver: 'https://example.com/hook' },
    open: ['owner', '`jobs`'],
  },
  {
    name: 'make an image',
    method: 'POST',
    path: () => '/v1/images/generations',
    body: { prompt: 'a fox', model: 'openai/none' },
    open: ['owner', '`chat`', visitor],
  },
  {
    name: 'create a webhook',
    method: 'POST',
    path: () => '/api/webhooks',
    body: { name: 'CI', signature: 'gitlab', secret: 'a-secret-of-a-webhook', prompt: 'x' },
    open: without('`chat`', '`read`', '`jobs`', visitor),
  },
  {
    name: 'write the memory of the tenant',
    method: 'PATCH',
    path: () => '/api/memory',
    body: { target: 'memory', operations: [{ action: 'add', content: 'x' }] },
    open: ['owner'],
  },
  {
    name: 'write a skill',
    method: 'POST',
    path: () => '/api/skills',
    body: { name: 'told', content: skill },
    open: ['owner', '`write`'],
  },
  {
    name: 'change roles',
    method: 'PATCH',
    path: () => '/api/settings',
    body: { roles: { reader: { ...doorRoles.reader, max_risk: 'spend' } } },
    open: ['owner'],
  },
]

/** Renders the table of docs/security.md. */
export function renderDoors(): string {
  const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [
    row(['door', ...everybody, ...turnPrincipals]),
    row(['---', ...everybody.map(() => '---'), ...turnPrincipals.map(() => '---')]),
    ...doors.map(({ name, open }) => {
      const turns = turnDoors[name]?.open ?? []
      const isOpen = [
        ...everybody.map((key) => open.includes(key)),
        ...turnPrincipals.map((one) => turns.includes(one)),
      ]
      return row([name, ...isOpen.map((is) => (is ? 'yes' : '–'))])
    }),
  ].join('\n')
}
