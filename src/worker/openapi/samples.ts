/** Lists the snippets for SDKs that the reference shows beside an operation, by its id. They are no part of the core. */

/** `$URL` in the source is replaced by the address of the deployment. */
type Sample = { readonly lang: string; readonly label: string; readonly source: string }

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

export const samples: Readonly<Record<string, readonly Sample[]>> = {
  createChatCompletion: [
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
  listModels: sdk(
    'for await (const model of client.models.list()) console.log(model.id)',
    'for model in client.models.list():\n    print(model.id)',
  ),
  getModel: sdk(`const model = await client.models.retrieve('talaria')`, 'model = client.models.retrieve("talaria")'),
  createResponse: sdk(
    `const response = await client.responses.create({
  model: 'talaria',
  input: 'Summarise report.md in three sentences.',
})
console.log(response.output_text)`,
    `response = client.responses.create(model="talaria", input="Summarise report.md in three sentences.")
print(response.output_text)`,
  ),
  getResponse: sdk('const response = await client.responses.retrieve(id)', 'response = client.responses.retrieve(id)'),
  deleteResponse: sdk('await client.responses.delete(id)', 'client.responses.delete(id)'),
  cancelResponse: sdk('const response = await client.responses.cancel(id)', 'response = client.responses.cancel(id)'),
  listResponseInputItems: sdk(
    'for await (const item of client.responses.inputItems.list(id)) console.log(item)',
    'for item in client.responses.input_items.list(id):\n    print(item)',
  ),
  createFile: sdk(
    `import { createReadStream } from 'node:fs'

const file = await client.files.create({ file: createReadStream('report.md'), purpose: 'assistants' })`,
    'file = client.files.create(file=open("report.md", "rb"), purpose="assistants")',
  ),
  listFiles: sdk(
    'for await (const file of client.files.list()) console.log(file.filename)',
    'for file in client.files.list():\n    print(file.filename)',
  ),
  getFileContent: sdk(
    'const text = await (await client.files.content(id)).text()',
    'text = client.files.content(id).text',
  ),
  deleteFile: sdk('await client.files.delete(id)', 'client.files.delete(id)'),
}
