/** Tests the voice mode in Chromium, whose microphone hears a file: a tone of 1.2 s, and 8 s of silence, again and again. */

import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import { type Browser, chromium, launchBrowser, readBoxes } from './support/chromium.ts'
import { type Client, newTenant } from './support/client.ts'
import { owner } from './support/here.ts'
import { audit, fits, leave, origin, signIn } from './support/page.ts'
import { createSound } from './support/sound.ts'

describe.skipIf(chromium === undefined)('the voice mode', () => {
  let browser: Browser
  let client: Client
  const answers = [createSound([[0.5, 0.1]]), createSound([[40, 0.1]])]

  const open = async (locale: string, width: number): Promise<Page> => {
    const page = await signIn(browser, client, {
      locale,
      viewport: { width, height: 740 },
      permissions: ['microphone'],
    })
    await page.evaluate(`{
      globalThis.played = []
      for (const name of ['play', 'pause']) {
        const work = HTMLMediaElement.prototype[name]
        HTMLMediaElement.prototype[name] = function () { played.push(name); return work.call(this) }
      }
    }`)
    return page
  }
  const listPlayed = (page: Page): Promise<readonly string[]> => page.evaluate('played')
  /** Answers of the vendors: words of what was said, and sounds of these seconds. */
  const answerBy = async (page: Page, words: readonly string[], sound: Buffer | undefined) => {
    const asked: string[] = []
    let heard = 0
    await page.route('**/v1/audio/transcriptions', (route) => route.fulfill({ json: { text: words[heard++] ?? '' } }))
    await page.route('**/v1/audio/speech', async (route) => {
      asked.push((route.request().postDataJSON() as { input: string }).input)
      await route.fulfill({ body: sound ?? '', contentType: 'audio/wav' })
    })
    return asked
  }

  beforeAll(async () => {
    browser = await launchBrowser()
    client = (await newTenant(owner)).client
  })
  afterAll(async () => browser?.close())

  it('hears, sends, speaks the sentences of the answer in order, and hears again, in a new chat', async () => {
    const page = await open('de-DE', 320)
    const loaded: string[] = []
    page.on('request', (request) => loaded.push(request.url()))
    const spoken = await answerBy(page, ['[[say Erster Satz. Zweiter `Satz`.]]'], answers[0])
    expect(loaded.filter((url) => url.includes('voice-mode'))).toEqual([])
    await page.getByRole('button', { name: 'Sprachmodus', exact: true }).click()
    const bar = page.getByRole('region', { name: 'Sprachmodus' })
    await bar.getByText('Ich höre zu.').waitFor()
    const [box] = await readBoxes(bar)
    expect([box.x >= 0, box.x + box.width <= 320, await fits(page)]).toEqual([true, true, true])
    await audit(page)
    await page.locator('.block.text', { hasText: 'Erster Satz.' }).waitFor()
    await expect.poll(() => spoken).toEqual(['Erster Satz.', 'Zweiter Satz .'])
    await expect.poll(() => listPlayed(page)).toEqual(['play', 'pause', 'play', 'pause'])
    await bar.getByText('Ich höre zu.').waitFor()
    const id = page.url().split('/').at(-1) ?? ''
    expect((await client.messages(id)).map(({ role }) => role)).toEqual(['user', 'assistant'])
    await page.keyboard.press('Escape')
    await bar.waitFor({ state: 'detached' })
    await leave(page)
  })

  itInTurn('is interrupted by a voice, and by its button', async () => {
    const page = await open('en-US', 1280)
    const words = ['[[say A long answer.]]', '[[say Second.]]']
    const spoken = await answerBy(page, words, answers[1])
    await page.goto(`${origin}/#/chat/${await client.newSession()}`)
    await page.getByRole('button', { name: 'Voice mode', exact: true }).click()
    const bar = page.getByRole('region', { name: 'Voice mode' })
    await expect.poll(() => spoken).toEqual(['A long answer.'])
    // The sound lasts 40 s. The microphone hears the next tone after 8 s of silence.
    await expect.poll(() => spoken).toEqual(['A long answer.', 'Second.'])
    await bar.getByRole('button', { name: 'Interrupt' }).click()
    await bar.getByText('I am listening.').waitFor()
    await bar.getByRole('button', { name: 'End the voice mode' }).click()
    await bar.waitFor({ state: 'detached' })
    const played = await listPlayed(page)
    expect(played.filter((one) => one === 'play')).toHaveLength(2)
    expect(played.filter((one) => one === 'pause')).toHaveLength(2)
    await leave(page)
  })

  itInTurn('goes on with the voice of the browser when the vendor fails, and says why', async () => {
    const page = await open('de-DE', 390)
    await answerBy(page, ['[[say Trotzdem gesagt.]]'], undefined)
    await page.route('**/v1/audio/speech', (route) =>
      route.fulfill({ status: 502, json: { error: { code: 'provider_error', message: 'no voice', param: null } } }),
    )
    await page.evaluate(`{
      globalThis.said = []
      speechSynthesis.speak = (one) => { said.push(one.lang + ' ' + one.text); setTimeout(() => one.dispatchEvent(new Event('end')), 50) }
    }`)
    await page.getByRole('button', { name: 'Sprachmodus', exact: true }).click()
    await expect.poll(() => page.evaluate('said')).toEqual(['de Trotzdem gesagt.'])
    await page.getByText('Der Anbieter des Modells hat einen Fehler gemeldet.').waitFor()
    await page.getByRole('region', { name: 'Sprachmodus' }).getByText('Ich höre zu.').waitFor()
    await leave(page)
  })

  itInTurn('takes the voices of the browser where no vendor is configured', async () => {
    const { client: other } = await newTenant(owner)
    const change = { stt: { provider: 'deepgram' }, tts: { provider: 'elevenlabs' } }
    expect((await other.send('PATCH', '/api/settings', { body: change })).status).toBe(200)
    await expect.poll(async () => (await other.get('/api/me')).json.features).not.toContain('speech')
    const page = await signIn(browser, other, { locale: 'en-US', permissions: ['microphone'] })
    await page.evaluate(`{
      globalThis.said = []
      speechSynthesis.speak = (one) => { said.push(one.text); setTimeout(() => one.dispatchEvent(new Event('end')), 50) }
      globalThis.webkitSpeechRecognition = class extends EventTarget {
        start() {
          if (globalThis.wasHeard) return
          globalThis.wasHeard = true
          const results = [Object.assign([{ transcript: '[[say By the browser.]]' }], { isFinal: true })]
          this.dispatchEvent(Object.assign(new Event('result'), { results }))
          // The tone of the microphone would interrupt the answer.
          setTimeout(() => this.dispatchEvent(new Event('end')), 2_500)
        }
        stop() {}
        abort() { this.dispatchEvent(new Event('end')) }
      }
    }`)
    await page.getByRole('button', { name: 'Voice mode', exact: true }).click()
    await page.getByText('The browser recognises speech').waitFor()
    await expect.poll(() => page.evaluate('said')).toEqual(['By the browser.'])
    await leave(page)
  })
})
