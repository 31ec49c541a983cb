/** Imports skills from an address, after a question when the scan asks for caution, and looks for newer versions. */

import { useState } from 'preact/hooks'
import { api, ApiError, get, path } from '../../api/client.ts'
import { Button } from '../../parts/button.tsx'
import { ask } from '../../parts/dialog.tsx'
import { Field, Form } from '../../parts/form.tsx'
import { goTo } from '../../parts/route.ts'
import { explainNow, showDone } from '../../parts/toast.ts'
import { t, wordsOf } from '../../words/words.ts'

/** Sends it again with `accept` when the person agrees to what the scan has found. Undefined: the person says no. */
async function storeWithCare(address: string, body: object): Promise<{ readonly name: string } | undefined> {
  try {
    return await api('POST', address, { body })
  } catch (error) {
    if (!(error instanceof ApiError && error.param === 'accept')) throw error
    const text = await explainNow(error)
    const question = { title: say('cautionTitle'), text, action: say('storeAnyway'), isDangerous: true }
    return (await ask(question)) === undefined ? undefined : api('POST', address, { body: { ...body, accept: true } })
  }
}

export function ImportSkill() {
  const [url, setUrl] = useState('')
  const [name, setName] = useState('')
  const add = async () => {
    const body = { url: url.trim(), ...(name.trim() && { name: name.trim() }) }
    const stored = await storeWithCare(`/api/skills/import`, body)
    if (stored) goTo('skills', stored.name)
  }
  return (
    <Form label={say('title')} action={say('bring')} onSend={add}>
      <Field label={say('address')} value={url} onChange={setUrl} hint={say('addressHint')} />
      <Field label={t('name')} value={name} onChange={setName} hint={say('nameHint')} />
    </Form>
  )
}

type Update = { readonly available: boolean; readonly changed: boolean }
type UpdateProps = { readonly name: string; readonly origin: string; readonly onChange: () => Promise<void> }

export function SkillUpdate({ name, origin, onChange }: UpdateProps) {
  const look = async () => {
    const address = path`/api/skills/${name}/update`
    const { available, changed } = await get<Update>(address)
    if (!available) return showDone(say('newest'))
    const text = say(changed ? 'replacesChanges' : 'replaces')
    if ((await ask({ title: say('newVersion'), text, action: say('update'), isDangerous: changed })) === undefined)
      return
    if (!(await storeWithCare(address, {}))) return
    showDone(t('saved'))
    await onChange()
  }
  return (
    <p class="row">
      <span class="note grow" dir="ltr">
        {origin}
      </span>
      <Button onClick={look}>{say('look')}</Button>
    </p>
  )
}

const { say } = wordsOf(
  {
    address: 'Address',
    addressHint: 'A SKILL.md, an archive, a folder on GitHub, or a site that lists its skills.',
    cautionTitle: 'The scan asks for caution',
    bring: 'Import',
    look: 'Look for a newer version',
    nameHint: 'Which one, where the address has several.',
    newest: 'It is the newest version.',
    newVersion: 'There is a newer version',
    replaces: 'It replaces the files of the skill.',
    replacesChanges: 'The skill was changed here since. The newer version replaces these changes.',
    storeAnyway: 'Store anyway',
    title: 'Import a skill',
    update: 'Update',
  },
  {
    address: 'Adresse',
    addressHint: 'Eine SKILL.md, ein Archiv, ein Ordner auf GitHub oder eine Seite, die ihre Fähigkeiten aufzählt.',
    cautionTitle: 'Die Prüfung rät zur Vorsicht',
    bring: 'Importieren',
    look: 'Nach einer neueren Fassung sehen',
    nameHint: 'Welche, wenn die Adresse mehrere hat.',
    newest: 'Es ist die neueste Fassung.',
    newVersion: 'Es gibt eine neuere Fassung',
    replaces: 'Sie ersetzt die Dateien der Fähigkeit.',
    replacesChanges: 'Die Fähigkeit wurde hier seither geändert. Die neuere Fassung ersetzt diese Änderungen.',
    storeAnyway: 'Trotzdem speichern',
    title: 'Fähigkeit importieren',
    update: 'Aktualisieren',
  },
)
