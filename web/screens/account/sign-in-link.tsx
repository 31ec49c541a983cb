/** Makes a link that signs another device in, and draws it as a QR code for its camera. */

import { useState } from 'preact/hooks'
import { encode } from 'uqr'
import { api } from '../../api/client.ts'
import { Button } from '../../parts/button.tsx'
import { copyText } from '../../parts/copy-once.tsx'
import { formatTime } from '../../words/format.ts'
import { t, wordsOf } from '../../words/words.ts'

type Link = { readonly url: string; readonly expires_at: string }

const isLocal = /^https?:\/\/(?:localhost|127\.|\[::1\])/

export function SignInLink() {
  const [link, setLink] = useState<Link | undefined>(undefined)
  const create = async () => setLink(await api<Link>('POST', '/api/login/links', { body: {} }))
  return (
    <section class="card">
      <h2>{say('otherDevice')}</h2>
      <p class="note">{say('otherDeviceText')}</p>
      {link && isLocal.test(link.url) && <p class="note">{say('otherDeviceLocal')}</p>}
      {link && (
        <>
          <Code text={link.url} />
          <code class="link-text">{link.url}</code>
        </>
      )}
      <div class="row">
        <Button onClick={create}>{t('createLink')}</Button>
        {link && <Button onClick={() => copyText(link.url)}>{t('copy')}</Button>}
        {link && <span class="note">{t('validUntil', { at: formatTime(link.expires_at) })}</span>}
      </div>
    </section>
  )
}

/** A path of one square a dark module. The lowest error correction keeps the modules of a long link large. */
function Code({ text }: { readonly text: string }) {
  const { data, size } = encode(text, { ecc: 'L', border: 4 })
  const dark = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])))
  return (
    <svg class="qr-code" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={say('qrCode')}>
      <path d={dark.join('')} />
    </svg>
  )
}

const { say } = wordsOf(
  {
    otherDevice: 'Another device',
    otherDeviceText: 'A link signs in once, within ten minutes, with the rights of your key.',
    otherDeviceLocal:
      'This address is of this computer. A phone needs one that it can reach: a deployment, or npm start -- --host 0.0.0.0 behind https.',
    qrCode: 'QR code of the link',
  },
  {
    otherDevice: 'Ein anderes Gerät',
    otherDeviceText: 'Ein Link meldet einmal an, innerhalb von zehn Minuten, mit den Rechten deines Schlüssels.',
    otherDeviceLocal:
      'Diese Adresse gilt nur auf diesem Rechner. Ein Telefon braucht eine, die es erreicht: ein Deployment, oder npm start -- --host 0.0.0.0 hinter https.',
    qrCode: 'QR-Code des Links',
  },
)
