/** Signs in to a subscription: shows the code and the address, and waits until the person has confirmed there. */

import { useEffect, useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { Choice, Form } from '../../parts/form.tsx'
import { showDone, showError } from '../../parts/toast.ts'
import { t } from '../../words/words.ts'
import { say } from './model-words.ts'

type Pending = {
  readonly status: 'pending'
  readonly sign_in: string
  readonly verification_url: string
  readonly user_code: string
  readonly interval: number
}
type Answer = Pending | { readonly status: 'done'; readonly provider: string }

const services = [
  ['openai-codex', 'ChatGPT'],
  ['copilot', 'GitHub Copilot'],
  ['xai-oauth', 'xAI Grok'],
  ['qwen-oauth', 'Qwen'],
] as const

const ask = (body: object): Promise<Answer> => api<Answer>('POST', '/api/credentials/oauth', { body })

export function Subscription({ onAdded }: { readonly onAdded: () => Promise<void> }) {
  const [provider, setProvider] = useState<string>(services[0][0])
  const [open, setOpen] = useState<Pending>()
  const take = async (answer: Answer) => {
    setOpen(answer.status === 'pending' ? answer : undefined)
    if (answer.status === 'pending') return
    showDone(t('saved'))
    await onAdded()
  }
  useEffect(() => {
    if (!open) return undefined
    const stop = (error: unknown) => {
      setOpen(undefined)
      showError(error)
    }
    const timer = setTimeout(() => void ask({ sign_in: open.sign_in }).then(take).catch(stop), open.interval * 1e3)
    return () => clearTimeout(timer)
  }, [open])
  return (
    <Form label={say('subscription')} action={t('signIn')} onSend={async () => take(await ask({ provider }))}>
      <Choice label={t('provider')} value={provider} options={services} onChange={setProvider} />
      {open && (
        <p role="status">
          {say('enterCode')} <strong>{open.user_code}</strong>{' '}
          <a href={open.verification_url} target="_blank" rel="noreferrer">
            {open.verification_url}
          </a>
        </p>
      )}
    </Form>
  )
}
