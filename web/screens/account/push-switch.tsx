/** Turns push messages to this device on and off. */

import { Button } from '../../parts/button.tsx'
import { Panel, useLoad } from '../../parts/load.tsx'
import { disablePush, enablePush, readPushState } from '../../api/push.ts'
import { t } from '../../words/words.ts'

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
              {is === 'denied' ? t('pushDenied') : is === 'missing' ? t('pushMissing') : t('pushText')}
            </p>
            <div class="row">
              {is === 'off' && <Button onClick={() => change(enablePush)}>{t('pushOn')}</Button>}
              {is === 'on' && <Button onClick={() => change(disablePush)}>{t('pushOff')}</Button>}
            </div>
          </>
        )}
      </Panel>
    </section>
  )
}
