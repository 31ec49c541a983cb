/** Offers a skill to a repository on GitHub as a pull request. */

import { useState } from 'preact/hooks'
import { api, get, type Page, path } from '../../api/client.ts'
import { Choice, Field, Form } from '../../parts/form.tsx'
import { Panel, useLoad } from '../../parts/load.tsx'
import { addressOf } from '../../parts/route.ts'
import { t, wordsOf } from '../../words/words.ts'

/** No other secret is sent without being chosen. */
const usual = 'GITHUB_TOKEN'

type Offered = { readonly url: string; readonly number: number; readonly created: boolean }

export function PublishSkill({ name }: { readonly name: string }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{say('title')}</summary>
      {isOpen && <WithSecrets name={name} />}
    </details>
  )
}

/** The token is one of the secrets of the tenant. */
function WithSecrets({ name }: { readonly name: string }) {
  const secrets = useLoad(() => get<Page<{ readonly name: string }>>('/api/secrets?limit=200'), '')
  return (
    <Panel of={secrets}>
      {({ data }) =>
        data.length ? (
          <PublishForm name={name} secrets={data.map((one) => one.name)} />
        ) : (
          <p class="note">
            {say('noSecret')} <a href={addressOf('secrets')}>{t('secrets')}</a>
          </p>
        )
      }
    </Panel>
  )
}

function PublishForm({ name, secrets }: { readonly name: string; readonly secrets: readonly string[] }) {
  const [repository, setRepository] = useState('')
  const [secret, setSecret] = useState(secrets.find((one) => one === usual) ?? '')
  const [folder, setFolder] = useState('skills')
  const [into, setInto] = useState('')
  const [offered, setOffered] = useState<Offered>()
  const send = async () => {
    setOffered(undefined)
    if (!secret) throw new Error(say('chooseSecret'))
    const branch = into.trim()
    const body = { repository: repository.trim(), secret, folder: folder.trim(), ...(branch && { into: branch }) }
    setOffered(await api('POST', path`/api/skills/${name}/publish`, { body }))
  }
  return (
    <Form label={say('title')} action={say('send')} onSend={send}>
      <p class="note">{say('about')}</p>
      <Field label={say('repository')} value={repository} onChange={setRepository} hint={say('repositoryHint')} />
      <Choice
        label={say('secret')}
        value={secret}
        options={[...(secret ? [] : ['']), ...secrets].map((one) => [one, one] as const)}
        onChange={setSecret}
      />
      <Field label={say('folder')} value={folder} onChange={setFolder} hint={say('folderHint', { name })} />
      <Field label={say('into')} value={into} onChange={setInto} hint={say('intoHint')} />
      {offered && (
        <p role="status">
          {say(offered.created ? 'opened' : 'openAlready')}{' '}
          <a href={offered.url} target="_blank" rel="noreferrer">
            {say('pull', { number: String(offered.number) })}
          </a>
        </p>
      )}
    </Form>
  )
}

const { say } = wordsOf(
  {
    about:
      'The files become one commit on a branch, and a pull request. Everybody who sees the repository can read them.',
    chooseSecret: 'Choose the secret with the token of GitHub.',
    folder: 'Folder of the repository',
    folderHint: 'Gets the folder {name}. Empty: the top of the repository.',
    into: 'Branch',
    intoHint: 'Empty: the default branch of the repository.',
    noSecret: 'This needs a token of GitHub that may write contents and pull requests, stored as a secret:',
    opened: 'The pull request is open:',
    openAlready: 'These files were offered before:',
    pull: 'Pull request {number}',
    repository: 'Repository',
    repositoryHint: 'On GitHub, such as acme/skills.',
    secret: 'Secret with the token',
    send: 'Open a pull request',
    title: 'Offer to a repository',
  },
  {
    about:
      'Die Dateien werden ein Commit auf einem Zweig und ein Pull Request. Alle, die das Repository sehen, können sie lesen.',
    chooseSecret: 'Wähle das Geheimnis mit dem Token von GitHub.',
    folder: 'Ordner im Repository',
    folderHint: 'Bekommt den Ordner {name}. Leer: die oberste Ebene.',
    into: 'Zweig',
    intoHint: 'Leer: der Standardzweig des Repositorys.',
    noSecret:
      'Das braucht ein Token von GitHub, das Inhalte und Pull Requests schreiben darf, als Geheimnis gespeichert:',
    opened: 'Der Pull Request ist offen:',
    openAlready: 'Diese Dateien wurden schon angeboten:',
    pull: 'Pull Request {number}',
    repository: 'Repository',
    repositoryHint: 'Auf GitHub, etwa acme/skills.',
    secret: 'Geheimnis mit dem Token',
    send: 'Pull Request öffnen',
    title: 'Einem Repository anbieten',
  },
)
