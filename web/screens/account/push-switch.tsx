/** Turns push messages to this device on and off. */

import { Button } from '../../parts/button.tsx'
import { Panel, useLoad } from '../../parts/load.tsx'
import { disablePush, enablePush, readPushState } from '../../api/push.ts'
import { t, wordsOf } from '../../words/words.ts'

export function PushSwitch() {
  const state = useLoad(async () => ({ is: await readPushState() }), '')
  const change = async (work: () => Promise<void>) => {
    await work()
    state.reload()
  }
  return (
    <section class="card">
      <h2>{t('push')}</h2>
      <Panel of={state}>
        {({ is }) => (
          <>
            <p class="note">
              {is === 'denied' ? say('pushDenied') : is === 'missing' ? say('pushMissing') : say('pushText')}
            </p>
            <div class="row">
              {is === 'off' && <Button onClick={() => change(enablePush)}>{t('pushOn')}</Button>}
              {is === 'on' && <Button onClick={() => change(disablePush)}>{say('pushOff')}</Button>}
            </div>
          </>
        )}
      </Panel>
    </section>
  )
}

const { say } = wordsOf(
  {
    pushDenied: 'The browser does not allow notifications of this page. Its settings can.',
    pushMissing: 'This browser has no push messages here. On iOS the page must be on the home screen.',
    pushOff: 'Turn off',
    pushText:
      'When a session needs you or a run ends, and no page is open. A message has the title of the session, never its content.',
  },
  {
    pushDenied: 'Der Browser erlaubt dieser Seite keine Meldungen. Seine Einstellungen können es.',
    pushMissing:
      'Dieser Browser hat hier keine Push-Nachrichten. Unter iOS muss die Seite auf dem Home-Bildschirm sein.',
    pushOff: 'Ausschalten',
    pushText:
      'Wenn eine Sitzung dich braucht oder ein Lauf endet und keine Seite offen ist. Eine Nachricht enthält den Titel der Sitzung, nie ihren Inhalt.',
  },
)
