/** Adds to operations, by their ids: longer descriptions, examples of requests, and snippets for SDKs. */

type Sample = { readonly lang: string; readonly label: string; readonly source: string }
export type OperationText = {
  readonly description?: string
  /** The body of a request. Default: its required fields. */
  readonly request?: object
  /** Replace `$URL` by the address of the deployment. */
  readonly samples?: readonly Sample[]
}

const js = (source: string): Sample => ({ lang: 'javascript', label: 'OpenAI SDK (JavaScript)', source })
const python = (source: string): Sample => ({ lang: 'python', label: 'OpenAI SDK (Python)', source })
const aiSdk = (source: string): Sample => ({ lang: 'typescript', label: 'AI SDK', source })

const jsClient = `import OpenAI from 'openai'

const client = new OpenAI({ baseURL: '$URL/v1', apiKey: process.env.TALARIA_API_KEY })
`
const pythonClient = `import os
from openai import OpenAI

client = OpenAI(base_url="$URL/v1", api_key=os.environ["TALARIA_API_KEY"])
`

/** The methods of OpenAI's SDKs take the same arguments in both languages. */
const sdk = (jsCall: string, pythonCall: string): readonly Sample[] => [
  js(`${jsClient}\n${jsCall}`),
  python(`${pythonClient}\n${pythonCall}`),
]

export const operationTexts: Readonly<Record<string, OperationText>> = {
  createSignIn: { request: { key: 'tal_abcdefgh23456789_k2j4h6g8f0d2s4a6' } },
  createChatCompletion: {
    description:
      'The agent answers as one model, `talaria`. It uses its own tools and may take many steps. ' +
      'With `stream: true` the answer is a stream of `ChatCompletionChunk`.',
    request: { model: 'talaria', messages: [{ role: 'user', content: 'Summarise report.md in three sentences.' }] },
    samples: [
      ...sdk(
        `const stream = await client.chat.completions.create({
  model: 'talaria',
  messages: [{ role: 'user', content: 'Summarise report.md in three sentences.' }],
  stream: true,
})
for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta.content ?? '')`,
        `stream = client.chat.completions.create(
    model="talaria",
    messages=[{"role": "user", "content": "Summarise report.md in three sentences."}],
    stream=True,
)
for chunk in stream:
    print(chunk.choices[0].delta.content or "" if chunk.choices else "", end="")`,
      ),
      aiSdk(`import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { streamText } from 'ai'

const talaria = createOpenAICompatible({
  name: 'talaria',
  baseURL: '$URL/v1',
  apiKey: process.env.TALARIA_API_KEY,
})
const { textStream } = streamText({ model: talaria('talaria'), prompt: 'Summarise report.md in three sentences.' })
for await (const text of textStream) process.stdout.write(text)`),
    ],
  },
  createResponse: {
    description:
      'A response is a run of a session. `previous_response_id` or `conversation` continues it. ' +
      'With `stream: true` the answer is a stream of `ResponseStreamEvent`.',
    request: { model: 'talaria', input: 'Summarise report.md in three sentences.' },
    samples: sdk(
      `const response = await client.responses.create({
  model: 'talaria',
  input: 'Summarise report.md in three sentences.',
})
console.log(response.output_text)`,
      `response = client.responses.create(model="talaria", input="Summarise report.md in three sentences.")
print(response.output_text)`,
    ),
  },
  getResponse: {
    samples: sdk('const response = await client.responses.retrieve(id)', 'response = client.responses.retrieve(id)'),
  },
  deleteResponse: { samples: sdk('await client.responses.delete(id)', 'client.responses.delete(id)') },
  cancelResponse: {
    samples: sdk('const response = await client.responses.cancel(id)', 'response = client.responses.cancel(id)'),
  },
  listResponseInputItems: {
    samples: sdk(
      'for await (const item of client.responses.inputItems.list(id)) console.log(item)',
      'for item in client.responses.input_items.list(id):\n    print(item)',
    ),
  },
  listModels: {
    description: 'The agent itself as `talaria`, and `provider/model` for every model of a configured provider.',
    samples: sdk(
      'for await (const model of client.models.list()) console.log(model.id)',
      'for model in client.models.list():\n    print(model.id)',
    ),
  },
  getModel: {
    samples: sdk(`const model = await client.models.retrieve('talaria')`, 'model = client.models.retrieve("talaria")'),
  },
  createFile: {
    description: 'Uploads a file of at most 10 MB. Its id can be used as `file_id` in messages.',
    samples: sdk(
      `import { createReadStream } from 'node:fs'

const file = await client.files.create({ file: createReadStream('report.md'), purpose: 'assistants' })`,
      'file = client.files.create(file=open("report.md", "rb"), purpose="assistants")',
    ),
  },
  listFiles: {
    samples: sdk(
      'for await (const file of client.files.list()) console.log(file.filename)',
      'for file in client.files.list():\n    print(file.filename)',
    ),
  },
  getFileContent: {
    samples: sdk('const text = await (await client.files.content(id)).text()', 'text = client.files.content(id).text'),
  },
  deleteFile: { samples: sdk('await client.files.delete(id)', 'client.files.delete(id)') },
  createRun: {
    description: 'Returns as soon as the message is stored. Follow the run with its events, or ask for it by its id.',
    request: { input: 'Summarise report.md in three sentences.' },
  },
  streamRunEvents: {
    description: 'Each event has a name and a number. `Last-Event-ID` continues without a gap.',
  },
  streamSessionEvents: {
    description:
      'All events of the session, over server-sent events or, on upgrade, a WebSocket. ' +
      '`Last-Event-ID` continues without a gap; without it only new events are sent.',
  },
  decideRunApproval: { request: { decision: 'once' } },
  decideApproval: {
    description: '`once` allows this call, `session` and `always` also later ones like it. A second answer is a 409.',
    request: { decision: 'once' },
  },
  createSession: {
    description: 'A session is a conversation with a workspace of files. It keeps its id for ever.',
    request: { title: 'Quarterly report' },
  },
  updateSession: { request: { title: 'Quarterly report' } },
  sendMessage: {
    description:
      'Waits for the end of the run without a time limit. While a turn runs, `mode` decides: ' +
      '`queue` waits, `interrupt` stops it, `steer` adds the message to it.',
    request: { input: 'Summarise report.md in three sentences.' },
  },
  streamMessage: {
    description: 'The same as `sendMessage`, as a stream of events that ends with the end of the run.',
    request: { input: 'Summarise report.md in three sentences.' },
  },
  steerSession: { request: { input: 'Only the first chapter.' } },
  steerRun: { request: { input: 'Only the first chapter.' } },
  forkSession: { request: { title: 'Another way' } },
  undoTurns: { request: { n: 1 } },
  rollbackSession: { request: { n: 1 } },
  compressSession: { request: { focus: 'the findings of the report' } },
  updateSettings: {
    description: 'Any part of the settings. What policy protects needs a key with the scope `approve`.',
    request: { model: { default: 'openai/gpt-5.2' }, timezone: 'Europe/Berlin' },
  },
  answerQuestion: { request: { answer: 'main' } },
  searchMessages: {
    description: '`a b` finds both words, `a OR b` either, `"a b"` a phrase. `-a` excludes a word, `abc*` is a prefix.',
  },
  createCredential: { request: { provider: 'openai', key: 'sk-example' } },
  storeSecret: { request: { name: 'DEPLOY_TOKEN', value: 'an-example-value' } },
  createChannel: {
    request: {
      platform: 'telegram',
      secrets: { bot_token: '123456:AAExampleExampleExampleExampleExample' },
      settings: { allow_users: ['4711'] },
    },
  },
  updateChannel: { request: { name: 'support' } },
  createWebhook: {
    request: {
      name: 'Pull requests',
      signature: 'github',
      secret: 'an-example-secret-of-yours',
      events: ['pull_request.opened'],
      prompt: 'Summarise this pull request: {pull_request.title}',
    },
  },
  updateWebhook: { request: { prompt: 'Review this pull request: {pull_request.title}' } },
  approvePairing: { request: { platform: 'telegram', code: 'ABCD2345' } },
  createTenant: { request: { id: 'acme', name: 'Acme' } },
  updateTenant: { request: { limits: { usd_per_day: 20 } } },
  createKey: { request: { tenant_id: 'acme', scopes: ['chat', 'read'], name: 'laptop' } },
  createLogin: {
    request: {
      tenant_id: 'acme',
      issuer: 'https://team.cloudflareaccess.com',
      audience: '4714c1358e65fe4b408ad6d432a5f878',
      claim: 'email',
      value: 'ann@example.com',
      scopes: ['read', 'chat'],
    },
  },
  receiveWebhook: { description: 'For messaging platforms. The platform signs its requests; no key is needed.' },
}
