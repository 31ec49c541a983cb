/** Builds the snippets for SDKs that the reference shows beside an operation. */

/** `$URL` in the source is replaced by the address of the deployment. */
export type Sample = { readonly lang: string; readonly label: string; readonly source: string }

const js = (source: string): Sample => ({ lang: 'javascript', label: 'OpenAI SDK (JavaScript)', source })
const python = (source: string): Sample => ({ lang: 'python', label: 'OpenAI SDK (Python)', source })
export const aiSdk = (source: string): Sample => ({ lang: 'typescript', label: 'AI SDK', source })

const jsClient = `import OpenAI from 'openai'

const client = new OpenAI({ baseURL: '$URL/v1', apiKey: process.env.TALARIA_API_KEY })
`
const pythonClient = `import os
from openai import OpenAI

client = OpenAI(base_url="$URL/v1", api_key=os.environ["TALARIA_API_KEY"])
`

/** The methods of OpenAI's SDKs take the same arguments in both languages. */
export const sdk = (jsCall: string, pythonCall: string): readonly Sample[] => [
  js(`${jsClient}\n${jsCall}`),
  python(`${pythonClient}\n${pythonCall}`),
]
