/** Makes examples from schemas: known values by the name of a field, else the smallest value that fits. */

import { type Components, type Json, referencedName } from './components.ts'

const session = 'ses_0f8d6c7b2a9e4d31b5c0a7e9d2f4b681'
const run = `run_5b1f0c9e8a7d4e62.${session}`
const time = '2026-11-22T10:00:00.000Z'
const later = '2026-11-22T10:00:04.000Z'
const seconds = 1_795_341_600
const completion = 'chatcmpl-5b1f0c9e8a7d4e62'
const response = `resp_5b1f0c9e8a7d4e62.${session}`

/** By `Component.field`, then by the field alone. A value of another type than the schema's is not used. */
const byField: Readonly<Record<string, unknown>> = {
  'Session.id': session,
  'Message.id': 'msg_1',
  'Message.role': 'user',
  'Message.content': 'Summarise the report.',
  'Approval.id': `${session}.run_5b1f0c9e8a7d4e62.1.call_1`,
  'Approval.input': { command: 'rm -r build' },
  'Approval.risk': 'exec',
  'Question.id': `${session}.run_5b1f0c9e8a7d4e62.1.call_1`,
  'Question.question': 'Which branch?',
  'Question.choices': ['main', 'develop'],
  'Tenant.id': 'acme',
  'Tenant.name': 'Acme',
  'Key.id': 'k7q2m5x3a6b4c2de',
  'Key.name': 'laptop',
  'Credential.id': 'cred_1f2e3d4c5b6a79880716253443526170',
  'Credential.reason': null,
  'Credential.until': null,
  'Channel.id': 'ch_1f2e3d4c5b6a79880716253443526170',
  'Channel.webhook_url': 'https://talaria.example.com/webhooks/telegram/ch_1f2e3d4c5b6a79880716253443526170',
  'Channel.settings': {},
  'Webhook.id': 'wh_1f2e3d4c5b6a79880716253443526170',
  'Webhook.webhook_url': 'https://talaria.example.com/webhooks/webhook/wh_1f2e3d4c5b6a79880716253443526170',
  'Secret.name': 'DEPLOY_TOKEN',
  'Job.id': '3f9c1a7be204',
  'Job.name': 'Morning report',
  'Job.prompt': 'Summarise what is new in the repository.',
  'Job.schedule': '0 9 * * 1-5',
  'Job.display': '0 9 * * 1-5',
  'Job.timezone': 'Europe/Berlin',
  'Job.deliver': 'local',
  'JobRun.id': 'jobrun_5b1f0c9e8a7d4e62',
  'JobRun.job_id': '3f9c1a7be204',
  'UploadedFile.id': 'file-1f2e3d4c5b6a79880716253443526170',
  'Model.id': 'talaria',
  'Model.created': seconds,
  'ModelFacts.id': 'openai/gpt-5.2',
  'Tool.name': 'read_file',
  'Tool.reason': null,
  'Toolset.name': 'file',
  'Toolset.tools': ['read_file', 'write_file', 'patch', 'search_files'],
  'PairedPerson.id': 'telegram:4711',
  'PairedPerson.person': '4711',
  'Login.id': 'login_1f2e3d4c5b6a7988',
  'ChatCompletion.id': completion,
  'ChatCompletion.created': seconds,
  'Response.id': response,
  'Response.created_at': seconds,
  'Run.output': 'The report has three findings.',
  'Run.error': null,
  'Run.exit_reason': 'completed',
  'Run.status': 'completed',
  'Run.ended_at': later,
  'Run.completed': true,
  'Checkpoint.n': 1,
  'Subagent.children': [],
  'Subagent.goal': 'Find the newest figures.',
  'Subagent.role': 'leaf',
  'Error.param': 'input',
  session_id: session,
  run_id: run,
  message_id: 'msg_1',
  call_id: 'call_1',
  question_id: `${session}.run_5b1f0c9e8a7d4e62.1.call_1`,
  approval_id: `${session}.run_5b1f0c9e8a7d4e62.1.call_1`,
  parent_id: null,
  tenant_id: 'acme',
  key: 'tal_k7q2m5x3a6b4c2de_…',
  title: 'Quarterly report',
  name: 'report.md',
  filename: 'report.md',
  purpose: 'assistants',
  source: 'api',
  model: 'openai/gpt-5.2',
  provider: 'openai',
  created_at: time,
  started_at: time,
  updated_at: later,
  modified_at: time,
  last_used_at: time,
  expires_at: null,
  last_at: time,
  at: time,
  from: '2026-11-01T00:00:00Z',
  to: '2026-11-22T00:00:00Z',
  input: 'Summarise the report.',
  output: 'The report has three findings.',
  content: 'The report has three findings.',
  text: 'The report has three findings.',
  prompt_tokens: 1_280,
  completion_tokens: 42,
  input_tokens: 1_280,
  output_tokens: 42,
  total_tokens: 1_322,
  cost_usd: 0.0031,
  next_cursor: null,
  last_four: '9f3a',
  platform: 'telegram',
  tool: 'terminal',
  rule: 'rm',
  toolset: 'file',
  by: 'virtual',
  path: 'report.md',
  mime: 'text/markdown',
  bytes: 5_120,
  size: 5_120,
  scopes: ['chat', 'read'],
  host: 'api.example.com',
  issuer: 'https://team.cloudflareaccess.com',
  endpoint: 'https://push.example.com/send/4f1c',
  audience: '4714c1358e65fe4b408ad6d432a5f878',
  claim: 'email',
  value: 'ann@example.com',
  snippet: 'The report has three findings.',
  status: 'completed',
  finish_reason: 'stop',
  answer: 'main',
  q: 'report',
  seq: 1,
  limits: {},
  settings: {},
  metadata: {},
  delta: 'The report',
  url: 'https://talaria.example.com/files/…',
}

const maxDepth = 8

export type Examples = { readonly components: Components; readonly requiredOnly: boolean }
/** The component and the field that an example is for. */
type Place = { readonly owner?: string | undefined; readonly field?: string | undefined }

export function makeExample(schema: Json, examples: Examples, place: Place = {}, depth = 0): unknown {
  const resolved = examples.components.resolve(schema)
  const found = findKnown(resolved, place) ?? findFixed(resolved)
  if (found) return found.value
  if (depth > maxDepth) return null
  const inner = { ...place, owner: referencedName(schema) ?? place.owner }
  const [choice] = choicesOf(resolved)
  return choice ? makeExample(choice, examples, inner, depth + 1) : makeOfType(resolved, examples, inner, depth)
}

type Found = { readonly value: unknown }

function findKnown(schema: Json, { owner, field = '' }: Place): Found | undefined {
  const key = [`${owner}.${field}`, field].find((one) => Object.hasOwn(byField, one) && fits(byField[one], schema))
  return key === undefined ? undefined : { value: byField[key] }
}

function findFixed(schema: Json): Found | undefined {
  const key = ['example', 'const', 'default'].find((one) => one in schema)
  if (key !== undefined) return { value: schema[key] }
  return Array.isArray(schema['enum']) ? { value: schema['enum'][0] as unknown } : undefined
}

const choicesOf = ({ oneOf, anyOf, allOf }: Json) => (oneOf ?? anyOf ?? allOf ?? []) as readonly Json[]

function makeOfType(schema: Json, examples: Examples, place: Place, depth: number): unknown {
  switch (typesOf(schema)[0]) {
    case 'object':
      return makeObject(schema, examples, place.owner, depth)
    case 'array': {
      const items = (schema['items'] ?? {}) as Json
      return schema['maxItems'] === 0 ? [] : [makeExample(items, examples, { owner: place.owner }, depth + 1)]
    }
    case 'integer':
    case 'number':
      return Math.max(Number(schema['minimum'] ?? 0), Number(schema['exclusiveMinimum'] ?? -1) + 1)
    case 'boolean':
      return false
    case 'null':
      return null
    case 'string':
      return makeString(schema)
    default:
      return {}
  }
}

function makeString({ format, minLength = 0 }: Json): string {
  if (format === 'date-time') return time
  return format === 'date' ? '2026-11-22' : 'text'.padEnd(Number(minLength), 't')
}

function makeObject(schema: Json, examples: Examples, owner: string | undefined, depth: number): Json {
  const { properties = {}, required = [] } = schema as {
    properties?: Record<string, Json>
    required?: readonly string[]
  }
  // Optional fields of responses are shown only where a value says something.
  const isShown = (field: string) =>
    required.includes(field) || (!examples.requiredOnly && Object.hasOwn(byField, `${owner}.${field}`))
  const shown = Object.entries(properties).filter(([field]) => isShown(field))
  return Object.fromEntries(
    shown.map(([field, one]) => [field, makeExample(one, examples, { owner, field }, depth + 1)]),
  )
}

const typesOf = ({ type }: Json): readonly string[] => (Array.isArray(type) ? type : [type]).map(String)

function fits(value: unknown, schema: Json): boolean {
  if ('const' in schema) return schema['const'] === value
  if (Array.isArray(schema['enum'])) return schema['enum'].includes(value)
  const choices = choicesOf(schema)
  if (choices.length) return choices.some((one) => fits(value, one))
  return !('$ref' in schema) && matchesType(value, typesOf(schema))
}

function matchesType(value: unknown, types: readonly string[]): boolean {
  if (types.includes('undefined')) return true
  if (Number.isInteger(value) && types.includes('integer')) return true
  return types.includes(Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value)
}
